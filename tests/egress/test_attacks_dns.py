"""Attacks by names and addresses: names that resemble an allowed name, lies of name servers, addresses without a name,
other name servers, and protocols other than TCP."""
import os

import pytest

from fake_internet import GOOD, GATEWAY, HOST, LIES, METADATA, OTHER, PUBLIC_RESOLVER, took_less_than
from fake_dns import Reply

A, NULL, TXT, HTTPS, ANY = 1, 10, 16, 65, 255
NXDOMAIN, FAKE = '3\n', '0 198.1'       # output of dns_query.py; FAKE: the start of an address for a name
TRAP = '10.9.9.9'
UNREACHABLE = {'link-local6', 'multicast', 'multicast6', 'broadcast'}      # also outside a box
PYTHON = '/usr/bin/python3', '-IS'


def ask(run, programs, labels, kind=A, server='127.0.0.1', transport='udp', **options):
    """Queries a name server with dns_query.py, by one of the fixtures outside and boxed, and returns its output."""
    name = '.'.join(label.hex() for label in labels)
    return run(*PYTHON, programs / 'dns_query.py', server, transport, str(kind), name, **options).stdout


def labels_of(name):
    return [label.encode() for label in name.split('.')]


# Names that a careless comparison takes for www.good.example, or that are below or above it.
SIMILAR_NAMES = {
    'suffix': labels_of(f'{GOOD}.other.example'),
    'prefix': labels_of(f'x{GOOD}'),
    'below': labels_of(f'x.{GOOD}'),
    'parent': labels_of('good.example'),
    'top': labels_of('example'),
    'dot-in-a-label': [b'www.good', b'example'],
    'whole-in-a-label': [GOOD.encode()],
    'nul-in-a-label': [b'www', b'good', b'example\0'],
    'nul-and-another': [b'www', b'good', b'example\0', b'other', b'example'],
    'cr-lf-in-a-label': [b'www', b'good', b'example\r\n'],
    'space-in-a-label': [b'www', b'good', b'example '],
    'full-width-dot': ['www\uff0egood'.encode(), b'example'],
    'ideographic-dot': ['www\u3002good'.encode(), b'example'],
    'full-width-letters': ['\uff57\uff57\uff57'.encode(), b'good', b'example'],
    'cyrillic': ['www'.encode(), 'g\u043eod'.encode(), b'example'],
    'punycode': labels_of('www.xn--god-fmc.example'),
    'soft-hyphen': [b'www', 'go\u00adod'.encode(), b'example'],
    'escaped': labels_of('www.good.example\\000'),
    'star': labels_of('*.good.example'),
}


@pytest.mark.parametrize('labels', SIMILAR_NAMES.values(), ids=SIMILAR_NAMES.keys())
def test_name_similar_to_an_allowed_name_does_not_exist(outside, boxed, internet, programs, labels):
    internet.names.zone[b'.'.join(labels).decode('latin-1').lower()] = Reply(TRAP)
    assert ask(outside, programs, labels, server=PUBLIC_RESOLVER[0]) == f'0 {TRAP}\n'
    internet.names.reset()
    assert ask(boxed, programs, labels, domains=[GOOD]) == NXDOMAIN
    assert internet.names.queries == []


def test_allowed_name_exists_in_any_case(boxed, internet, programs):
    assert ask(boxed, programs, labels_of('WwW.gOOd.EXAMPLE'), domains=[GOOD]).startswith(FAKE)
    assert internet.names.queries == []


@pytest.mark.parametrize('name, exists', [('deep.x.good.example', False), ('x.good.example', False),
                                          ('good.example', False), ('y.good.example', True)])
def test_denied_name_below_an_allowed_wildcard(outside, boxed, internet, programs, workspace, name, exists):
    policy = workspace / 'policy.yaml'
    policy.write_text("network: {allowed_domains: ['*.good.example'], "
                      "denied_domains: [x.good.example, '*.x.good.example']}\n")
    internet.names.zone[name] = Reply(TRAP)
    assert ask(outside, programs, labels_of(name), server=PUBLIC_RESOLVER[0]) == f'0 {TRAP}\n'
    answer = ask(boxed, programs, labels_of(name), flags=['-p', policy])
    assert answer.startswith(FAKE) if exists else answer == NXDOMAIN


# Queries as a covert channel: no query leaves, whatever its server and type.

@pytest.mark.parametrize('server', [*PUBLIC_RESOLVER, '93.184.214.53', HOST[0], '10.0.0.1', '198.18.0.77'])
@pytest.mark.parametrize('transport', ['udp', 'tcp'])
def test_query_to_another_name_server_does_not_leave(outside, boxed, internet, programs, server, transport):
    if server in (*PUBLIC_RESOLVER, '93.184.214.53'):
        assert ask(outside, programs, labels_of(OTHER), server=server, transport=transport).startswith('0 93.184.216.')
    internet.visits.clear()
    internet.names.reset()
    assert ask(boxed, programs, labels_of(OTHER), server=server, transport=transport, domains=[GOOD]) == NXDOMAIN
    internet.settle()
    assert (internet.names.queries, internet.visits) == ([], [])


@pytest.mark.parametrize('kind', [NULL, TXT, HTTPS, ANY])
@pytest.mark.parametrize('name', ['secret.tunnel.example', f'secret.{GOOD}', GOOD])
def test_data_in_queries_does_not_leave(outside, boxed, internet, programs, kind, name):
    ask(outside, programs, labels_of(name), kind, server=PUBLIC_RESOLVER[0])
    assert len(internet.names.queries_for(name)) == 1
    internet.names.reset()
    answer = ask(boxed, programs, labels_of(name), kind, domains=[GOOD])
    assert answer.startswith('0') if name == GOOD else answer == NXDOMAIN
    assert internet.names.queries == []


# Lies of name servers.

def fetch(run, name, *options, **others):
    return run('curl', '-sS', '--max-time', '8', *options, f'http://{name}/', **others)


@pytest.mark.parametrize('lie', LIES)
def test_allowed_name_that_resolves_to_a_forbidden_address_is_refused(outside, boxed, internet, lie):
    """An attacker has the allowed name. A mapped address is refused even if it maps a public one."""
    name = f'{lie}.lies.example'
    assert (fetch(outside, name).returncode == 0) == (lie not in UNREACHABLE)
    internet.visits.clear()
    def attempt():
        return fetch(boxed, name, '-f', domains=[name])
    result = attempt()
    assert result.returncode == 22, result.output     # curl got an HTTP error, which egress made
    assert internet.forbidden_visits() == [] and internet.visits == []
    assert name in result.stderr and took_less_than(3, result, attempt)


def test_alias_of_a_name_with_a_private_address_is_refused(outside, boxed, internet):
    assert fetch(outside, 'alias.lies.example').stdout == 'trap over http\n'
    internet.visits.clear()
    assert fetch(boxed, 'alias.lies.example', '-f', domains=['alias.lies.example']).returncode == 22
    assert internet.forbidden_visits() == []


@pytest.mark.parametrize('order', [1, -1])
def test_private_address_beside_a_public_one_is_not_used(outside, boxed, internet, order):
    addresses = [internet.names.zone[GOOD].addresses[0], '10.0.0.1'][::order]
    internet.names.zone['mixed.lies.example'] = Reply(*map(str, addresses))
    outside('curl', '-sS', '--max-time', '2', 'http://10.0.0.1/')
    assert len(internet.forbidden_visits()) == 1
    internet.visits.clear()
    assert fetch(boxed, 'mixed.lies.example', domains=['mixed.lies.example']).stdout == f'{GOOD} over http\n'
    assert internet.forbidden_visits() == []


def test_name_that_is_rebound_to_a_private_address_is_refused(outside, boxed, internet):
    """The address is checked anew for each connection."""
    good = internet.names.zone[GOOD].addresses[0]
    internet.names.zone['rebind.lies.example'] = [Reply(str(good), ttl=0), Reply('10.0.0.1', ttl=0)]
    line = 'curl -sS http://rebind.lies.example/; sleep 1.2; curl -sSf http://rebind.lies.example/'
    assert outside('sh', '-c', line).stdout == f'{GOOD} over http\ntrap over http\n'
    internet.visits.clear()
    internet.names.reset()
    result = boxed('sh', '-c', line, domains=['rebind.lies.example'])
    assert (result.returncode, result.stdout) == (22, f'{GOOD} over http\n'), result.output
    assert internet.forbidden_visits() == []


def test_name_with_the_address_of_an_allowed_site_is_not_allowed(boxed, internet):
    """Names are allowed, not addresses."""
    internet.names.zone['twin.lies.example'] = internet.names.zone[GOOD]
    assert fetch(boxed, 'twin.lies.example', '-f', domains=[GOOD]).returncode == 6
    assert internet.visits == []


# Addresses without a name.

HTTP_REQUEST = f'GET / HTTP/1.0\r\nHost: {GOOD}\r\n\r\n'
SEND_REQUEST = f'send {HTTP_REQUEST.encode().hex()}\n'
ADDRESSES = [
    ('93.184.216.1', 80), ('93.184.216.2', 80), ('2606:2800:220::1', 80), ('::ffff:93.184.216.2', 80), ('10.0.0.1', 80),
    ('10.0.0.1', 22), ('10.0.0.1', 3000), ('192.168.0.1', 8080), (METADATA, 80),
    ('::ffff:169.254.169.254', 80), ('fd00:ec2::254', 80),
    (HOST[0], 80), (HOST[1], 8080), (f'::ffff:{HOST[0]}', 80), (GATEWAY[0], 80), ('127.0.0.1', 80), ('127.0.0.1', 8080),
    ('127.9.9.9', 80), ('::1', 80), ('::ffff:127.0.0.1', 80), ('0.0.0.0', 80), ('::', 80), ('198.18.0.77', 80),
    ('198.19.255.255', 80),
    ('198.18.0.0', 80), ('fd72:696e:6777:616c::4d', 80), ('fd72:696e:6777:616c::1', 80), ('64:ff9b::a00:1', 80),
    ('8.8.8.8', 853),
    ('167772161', 80), ('0xa000001', 80), ('012.0.0.1', 80), ('10.1', 80), ('0', 80),
]


@pytest.mark.quick
@pytest.mark.parametrize('address, port', ADDRESSES, ids=str)
def test_address_without_a_name_is_refused(outside, boxed, internet, programs, address, port):
    command = *PYTHON, programs / 'scripted_client.py', address, str(port)
    assert outside(*command, input=f'{SEND_REQUEST}end\n').stdout != ''
    internet.visits.clear()
    def attempt():
        return boxed(*command, input=SEND_REQUEST, domains=[GOOD])
    result = attempt()
    assert result.stdout == '' or result.stdout.startswith('HTTP/1.1 403'), result.output
    internet.settle()
    assert internet.visits == [] and took_less_than(3, result, attempt)


@pytest.mark.parametrize('address', ['127.0.0.1', '::1'])
def test_direct_connection_to_the_listener_is_reset(boxed, internet, programs, address):
    """All connections of the box are redirected to the listener. One that was made to it has no host to reach."""
    def attempt():
        return boxed(*PYTHON, programs / 'scripted_client.py', address, '1', input=SEND_REQUEST, domains=[GOOD])
    result = attempt()
    assert result.stdout == '' and 'ECONNRE' in result.stderr, result.output
    assert internet.visits == [] and took_less_than(3, result, attempt)


@pytest.mark.quick
def test_allowed_name_is_refused_on_another_port(outside, boxed, internet, programs):
    command = *PYTHON, programs / 'scripted_client.py', GOOD, '22'
    assert outside(*command, input='wait\nend\n').stdout.startswith('SSH')
    internet.visits.clear()
    assert boxed(*command, input='pause\n', domains=[GOOD]).stdout == ''
    assert internet.visits == []


def test_dns_over_https_to_a_host_that_is_not_allowed_is_refused(outside, boxed, internet):
    """DNS over HTTPS is HTTPS: it can reach only allowed hosts."""
    line = 'curl', '-sSk', '--max-time', '3', '--connect-to', f'{OTHER}:443:8.8.8.8:443', f'https://{OTHER}/'
    assert outside(*line).stdout == 'trap over https\n'
    internet.visits.clear()
    result = boxed(*line, domains=[GOOD])
    assert result.returncode != 0 and internet.forbidden_visits() == [], result.output


# Other protocols.

OTHER_PROTOCOLS = [
    # kind for send_non_tcp.py, address, port, the error in a box; echo4, echo6: the addresses of echo.good.example
    ('udp', 'echo4', 443, 'EPERM'),         # QUIC
    ('udp', 'echo6', 443, 'EPERM'),
    ('udp', 'echo4', 4433, 'EPERM'),
    ('udplite', 'echo4', 443, 'EPROTONOSUPPORT'),
    ('ping', '10.0.0.1', 0, 'EPROTONOSUPPORT'),
    ('raw-ping', '10.0.0.1', 0, 'EPERM'),
    ('raw-ping', 'fd12::1', 0, 'EPERM'),
    ('packets', '10.0.0.1', 0, 'EAFNOSUPPORT'),
    ('mptcp', '10.0.0.1', 80, 'EPROTONOSUPPORT'),
    ('sctp', '10.0.0.1', 80, 'EPROTONOSUPPORT'),
]


@pytest.mark.parametrize('kind, address, port, error', OTHER_PROTOCOLS, ids=str)
def test_other_protocols_are_refused(boxed, internet, programs, kind, address, port, error):
    """Outside, a process with every capability in the network namespace tries it, and gets an answer, even if only that
    the port is closed. Not every kernel has SCTP."""
    echo = dict(zip(('echo4', 'echo6'), map(str, internet.names.zone['echo.good.example'].addresses)))
    command = *PYTHON, str(programs / 'send_non_tcp.py'), kind, echo.get(address, address), str(port)
    group = os.getegid()
    internet.host.command('sh', '-c', f'echo {group} {group} >/proc/sys/net/ipv4/ping_group_range')
    result = internet.host.command(*command)
    assert result.startswith(('reached: ', 'ECONNREFUSED')) or (kind, result) == ('sctp', 'EPROTONOSUPPORT\n'), result
    internet.visits.clear()
    def attempt():
        return boxed(*command, domains=['echo.good.example'])
    result = attempt()
    assert result.stdout == f'{error}\n', result.output
    assert internet.forbidden_visits() == [] and internet.visits == []
    assert took_less_than(1.5, result, attempt)


def test_datagram_to_an_allowed_name_is_refused_at_once(boxed, internet, programs):
    line = 'address=$(getent ahostsv4 echo.good.example | head -n1 | cut -d" " -f1); exec "$@" "$address" 443'
    def attempt():
        return boxed('sh', '-c', line, '-', *PYTHON, programs / 'send_non_tcp.py', 'udp', domains=['echo.good.example'])
    result = attempt()
    assert result.stdout == 'EPERM\n' and took_less_than(1.5, result, attempt), result.output
    assert internet.visits == []
