"""The test internet works as the other tests assume: every server answers, every lie of the name server leads to a
server, no packet leaves, and ringwall on its host works as it does elsewhere."""
import contextlib
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import sys
import time

import pytest

from conftest import ask_doctor
from fake_internet import GOOD, BLACK_HOLE, HOST, LIES, OTHER, PUBLIC_RESOLVER
from fake_dns import NXDOMAIN, Reply

HERE = pathlib.Path(__file__).resolve().parent
LEVELS = ('standard', 'strict', 'maximum')
# Lies with an address that no TCP connection can be made to: multicast, broadcast, and link-local without an interface.
UNREACHABLE = ('link-local6', 'multicast', 'multicast6', 'broadcast')
REACHED_SERVERS = {'mapped-public': GOOD, 'metadata': 'metadata', **dict.fromkeys(
    ('loopback', 'loopback-odd', 'loopback6', 'unspecified', 'unspecified6', 'host', 'host6'), 'host')}


def fetch(outside, *arguments):
    return outside('curl', '-sS', '--max-time', '5', *arguments)


def exchange(name, port, data=b'', family=0):
    """Sends the data, closes its side, and returns everything that came back."""
    address = socket.getaddrinfo(name, port, family, socket.SOCK_STREAM)[0][4]
    with socket.create_connection(address[:2], 5) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile('rb') as stream:
            return stream.read()


@pytest.mark.parametrize('url, options, body', [
    (f'http://{GOOD}/', '-4', f'{GOOD} over http\n'),
    (f'http://{GOOD}/', '-6', f'{GOOD} over http\n'),
    (f'https://{OTHER}/', '-4', f'{OTHER} over https\n'),
    (f'https://{OTHER}/', '-6', f'{OTHER} over https\n'),
    ('https://six.good.example/', '-6', 'six.good.example over https\n'),
    ('https://four.good.example/', '-4', 'four.good.example over https\n'),
    ('https://front.good.example/', '-4', 'front.good.example over https\n'),
    ('https://hidden.other.example/', '-4', 'hidden.other.example over https\n'),
    ('http://slow.good.example/', '-4', 'slow\n'),
    ('http://alias.good.example/', '-4', f'{GOOD} over http\n'),
    ('http://long.good.example/', '-4', f'{GOOD} over http\n'),
    ('http://late.good.example/', '-4', f'{GOOD} over http\n'),
    ('http://169.254.169.254/', '-4', 'metadata over http\n'),
    ('http://127.0.0.1/', '-4', 'host over http\n'),
    (f'http://{HOST[0]}/', '-4', 'host over http\n'),
    (f'http://[{HOST[1]}]:8080/', '-6', 'host over http\n'),
    ('https://10.1.2.3/', '-k', 'trap over https\n'),
])
def test_web_server_answers(outside, url, options, body):
    result = fetch(outside, options, url)
    assert (result.returncode, result.stdout) == (0, body), result.stderr


@pytest.mark.parametrize('host, options, version', [
    (GOOD, '--http2', '2'), (GOOD, '--http1.1', '1.1'), ('old.good.example', '--http2', '1.1')])
def test_http_version_is_negotiated(outside, internet, host, options, version):
    result = fetch(outside, options, '-w', '%{http_version}', f'https://{host}/')
    assert result.stdout == f'{host} over https\n{version}', result.stderr
    visit, = internet.visits_to(host)
    assert visit.sni == host
    assert visit.alpn == {'2': 'h2', '1.1': 'http/1.1'}[version]
    assert [(request.host, request.path) for request in visit.requests] == [(host, '/')]


def test_certificate_is_chosen_by_sni(internet):
    def connect(sni, expected):
        context = internet.authority.client_context()
        context.check_hostname = False
        with (socket.create_connection((GOOD, 443), 5) as plain,
              context.wrap_socket(plain, server_hostname=sni) as tls):
            assert tls.getpeercert()['subjectAltName'] == (('DNS', expected),)
    connect(GOOD, GOOD)
    connect(OTHER, GOOD)
    connect(None, GOOD)
    assert [visit.sni for visit in internet.visits_to(GOOD)] == [GOOD, OTHER, None]
    with socket.create_connection((GOOD, 443), 5) as plain, pytest.raises(ssl.SSLCertVerificationError):
        internet.authority.client_context().wrap_socket(plain, server_hostname=OTHER)


def test_shared_server_chooses_the_site_by_the_host_header(outside, internet):
    result = fetch(outside, '-H', 'Host: hidden.other.example', 'https://front.good.example/')
    assert result.stdout == 'hidden.other.example over https\n'
    visit, = internet.visits_to('front.good.example')
    assert visit.sni == 'front.good.example' and visit.requests[0].host == 'hidden.other.example'


def test_echo_half_closing_resetting_and_slow_servers(outside, internet):
    assert exchange('echo.good.example', 7, b'say it', socket.AF_INET) == b'say it'
    assert exchange('echo.good.example', 7, b'say it', socket.AF_INET6) == b'say it'
    assert exchange('half.good.example', 7001, b'late words') == b'I have said all.\n'
    assert exchange('half.good.example', 7002, b'all words') == b'heard: all words'
    internet.settle()
    first, second = internet.visits_to('half.good.example')
    assert (first.received, first.ended, second.ended) == (b'late words', 'closed', 'closed')
    result = fetch(outside, 'http://reset.good.example/')
    assert (result.returncode, result.stdout) == (56, 'begun') and 'Connection reset by peer' in result.stderr
    start = time.monotonic()
    assert fetch(outside, 'http://slow.good.example/').stdout == 'slow\n'
    assert time.monotonic() - start > 0.4


@pytest.mark.parametrize('family', [socket.AF_INET, socket.AF_INET6], ids=['v4', 'v6'])
def test_datagrams_are_echoed(internet, family):
    address = socket.getaddrinfo('echo.good.example', 443, family, socket.SOCK_DGRAM)[0][4]
    with socket.socket(family, socket.SOCK_DGRAM) as datagrams:
        datagrams.settimeout(5)
        datagrams.sendto(b'like QUIC', address)
        assert datagrams.recv(100) == b'like QUIC'
    assert [visit.received for visit in internet.visits_to('echo.good.example')] == [b'like QUIC']


def test_test_can_add_servers(internet):
    def greet(connection, visit):
        connection.sendall(f'port {visit.port}'.encode())
    ports = range(9000, 9010)
    listeners = [internet.listen('93.184.216.200', port, greet, 'greeter') for port in ports]
    internet.names.zone['greeter.example'] = Reply('93.184.216.200')
    assert [exchange('greeter.example', port) for port in ports] == [b'port %d' % port for port in ports]
    assert len(internet.visits_to('greeter')) == 10
    for listener in listeners:
        listener.close()
    with pytest.raises(ConnectionRefusedError):
        exchange('greeter.example', 9000)


# Names.

def dig(outside, *arguments):
    result = outside('dig', '+tries=1', '+time=3', *arguments)
    assert result.returncode == 0, result.output
    return result.stdout


@pytest.mark.parametrize('name, words', [
    (GOOD, ['status: NOERROR', f'{GOOD}.\t60\tIN\tA\t93.184.216.1']),
    ('missing.good.example', ['status: NXDOMAIN', 'ANSWER: 0']),
    ('failing.good.example', ['status: SERVFAIL', 'ANSWER: 0']),
    ('six.good.example', ['status: NOERROR', 'ANSWER: 0']),
    ('alias.good.example', [f'alias.good.example.\t60\tIN\tCNAME\t{GOOD}.', f'{GOOD}.\t60\tIN\tA\t93.184.216.1']),
    ('mixed.lies.example', ['A\t93.184.216.1', 'A\t10.0.0.1']),
])
@pytest.mark.parametrize('transport', ['+notcp', '+tcp'])
def test_name_server_answers(outside, name, words, transport):
    answer = ' '.join(dig(outside, transport, name).split(' '))
    for word in words:
        assert word in answer.replace('\t\t', '\t'), answer


def test_queries_are_recorded(outside, internet):
    dig(outside, 'WwW.Good.Example', 'AAAA')
    dig(outside, '+tcp', f'@{PUBLIC_RESOLVER[0]}', GOOD, 'TXT')
    queries = internet.names.queries_for('good.example')
    assert [(query.name, query.type_name, query.transport, query.server) for query in queries] == [
        (GOOD, 'AAAA', 'udp', '93.184.214.53'), (GOOD, 'TXT', 'tcp', PUBLIC_RESOLVER[0])]
    assert internet.names.queries_for('other.example') == []


def test_truncated_reply_is_retried_over_tcp(outside, internet):
    assert '93.184.216.1' in dig(outside, 'long.good.example')
    assert [query.transport for query in internet.names.queries_for('long.good.example')] == ['udp', 'tcp']


def test_rebinding_name_gets_another_address_at_the_second_query(outside, internet):
    answers = [dig(outside, '+short', 'rebind.lies.example') for _ in range(3)]
    assert answers == ['93.184.216.1\n', '10.0.0.1\n', '10.0.0.1\n']
    internet.names.reset()
    assert fetch(outside, '-4', 'http://rebind.lies.example/').stdout == f'{GOOD} over http\n'
    assert fetch(outside, '-4', 'http://rebind.lies.example/').stdout == 'trap over http\n'
    assert [visit.address for visit in internet.forbidden_visits()] == ['10.0.0.1']


def test_zone_can_be_changed_while_it_is_served(outside, internet):
    zone = internet.names.zone
    assert 'NXDOMAIN' in dig(outside, 'new.example')
    zone['new.example'] = Reply('93.184.216.77')
    assert dig(outside, '+short', 'new.example') == '93.184.216.77\n'
    zone['new.example'] = Reply(rcode=NXDOMAIN)
    assert 'NXDOMAIN' in dig(outside, 'new.example')


def test_zone_and_records_of_an_earlier_test_are_gone(internet):
    assert 'new.example' not in internet.names.zone and GOOD in internet.names.zone
    assert (internet.visits, internet.names.queries) == ([], [])


@pytest.mark.parametrize('lie', LIES)
def test_lie_leads_to_a_server_that_records_the_visit(outside, internet, lie):
    """Without a box, a client reaches a server at every address that a box must not reach, if TCP can reach it."""
    result = fetch(outside, f'http://{lie}.lies.example/')
    if lie in UNREACHABLE:
        assert (result.returncode, internet.visits) == (7, [])
        return
    server = REACHED_SERVERS.get(lie, 'trap')
    assert result.stdout == f'{server} over http\n', result.stderr
    assert [visit.server for visit in internet.visits] == [server]
    assert len(internet.forbidden_visits()) == (server != GOOD)


# The boundary of this internet.

def test_host_and_world_have_no_other_link(internet):
    """Each has a loopback and its end of the veth pair, and no other interface."""
    def links(namespace):
        lines = namespace.command('ip', '-o', 'link').splitlines()
        return [line.split(':')[1].split('@')[0].strip() for line in lines]
    assert links(internet.world) == ['lo', 'host']
    assert links(internet.host) == ['lo', 'eth0']


@pytest.mark.parametrize('address', ['93.184.216.250', '1.1.1.1', '2606:2800:220::fff', '2a00::1'])
def test_connection_to_a_port_without_a_server_is_refused_at_once(internet, address):
    start = time.monotonic()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address, 12345), 5)
    assert time.monotonic() - start < 4     # and does not run into the timeout


@pytest.mark.parametrize('address', BLACK_HOLE)
def test_black_hole_drops_packets(internet, address):
    with pytest.raises(TimeoutError):
        socket.create_connection((address, 80), 0.5)


def test_programs_on_the_host_do_not_inherit_the_capabilities_of_pytest(internet, outside):
    """They have the uid of the user who runs the tests; only root's have capabilities."""
    lines = outside('cat', '/proc/self/status').stdout.splitlines()
    status = dict(line.split(':\t', 1) for line in lines if ':\t' in line)
    assert status['Uid'].split() == [str(os.geteuid())] * 4
    assert (int(status['CapEff'], 16) != 0) == (os.geteuid() == 0)
    assert int(status['CapAmb'], 16) == int(status['CapInh'], 16) == 0


@pytest.mark.parametrize('level', LEVELS)
def test_box_starts_on_the_host(boxed, level):
    flags = ['--best-effort'] if level == 'standard' else []    # standard cannot enforce everything on every kernel
    result = boxed('echo', 'inside', level=level, flags=flags)
    assert (result.returncode, result.stdout) == (0, 'inside\n'), result.stderr


def test_doctor_reports_the_same_on_the_host_as_before(internet, build, doctor_before):
    """Except for details, such as the number of namespaces, which a new user namespace counts from zero."""
    def without_details(report):
        if isinstance(report, dict):
            return {key: without_details(value) for key, value in report.items() if key != 'detail'}
        return [without_details(value) for value in report] if isinstance(report, list) else report
    assert without_details(ask_doctor(build)) == without_details(doctor_before)


MAKE_INTERNET_AND_SLEEP = '''
import os, pathlib, socket, sys, time
sys.path.insert(0, sys.argv[1])
from fake_internet import GOOD, Internet
made = Internet(pathlib.Path(sys.argv[2]))
connection = socket.create_connection((GOOD, 22))
connection.recv(100)
print(os.readlink(made.world.path), os.readlink("/proc/self/ns/net"), flush=True)
time.sleep(60)
'''


def processes_in(namespaces):
    """The processes that have a thread in one of these network namespaces."""
    found = set()
    for pid in filter(str.isdigit, os.listdir('/proc')):
        with contextlib.suppress(OSError):      # it has exited, or belongs to another user
            found |= {pid for task in os.listdir(f'/proc/{pid}/task')
                      if os.readlink(f'/proc/{pid}/task/{task}/ns/net') in namespaces}
    return found


def test_killed_pytest_leaves_no_process_in_its_namespaces(internet, tmp_path):
    process = subprocess.Popen([sys.executable, '-c', MAKE_INTERNET_AND_SLEEP, HERE, tmp_path],
                               stdout=subprocess.PIPE, text=True)
    with process:
        namespaces = process.stdout.readline().split()
        assert len(namespaces) == 2 and len(processes_in(namespaces)) >= 2      # itself and its SSH server
        process.send_signal(signal.SIGKILL)
    end = time.monotonic() + 5
    while (remaining := processes_in(namespaces)) and time.monotonic() < end:
        time.sleep(0.05)
    assert remaining == set()
