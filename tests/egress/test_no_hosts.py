"""A box that may reach no host has a loopback of its own, and nothing that it sends arrives anywhere."""
import json

import pytest

from fake_internet import GOOD, HOST, METADATA, PUBLIC_RESOLVER, RESOLVER

OWN_LOOPBACK = ('strict', 'maximum')

# Sends to each address, over TCP and UDP, in each way that a program could try. Prints the attempts that did not fail.
REACH = '''
import contextlib, json, socket, struct, sys
reached = []
def attempt(what, action):
    with contextlib.suppress(OSError):
        action()
        reached.append(what)
def stream(family, address, port, *options):
    with socket.socket(family, socket.SOCK_STREAM) as s:
        s.settimeout(3)
        for option in options:
            with contextlib.suppress(OSError):
                s.setsockopt(*option)
        s.connect((address, port))
        s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')
def datagram(family, address, port, data=b'hello', *options):
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        for option in options:
            s.setsockopt(*option)
        s.sendto(data, (address, port))
QUERY = struct.pack('>6H', 1, 0x100, 1, 0, 0, 0) + b'\\x04leak\\x04good\\x07example\\0' + struct.pack('>2H', 1, 1)
for address in json.loads(sys.argv[1]):
    family = socket.AF_INET6 if ':' in address else socket.AF_INET
    attempt(f'tcp {address}', lambda: stream(family, address, 80))
    attempt(f'tcp by device {address}', lambda: stream(family, address, 80, (socket.SOL_SOCKET, 25, b'eth0\\0')))
    attempt(f'udp {address}', lambda: datagram(family, address, 443))
    attempt(f'dns {address}', lambda: datagram(family, address, 53, QUERY))
    if family == socket.AF_INET:
        attempt(f'tcp mapped {address}', lambda: stream(socket.AF_INET6, '::ffff:' + address, 80))
attempt('broadcast', lambda: datagram(socket.AF_INET, '255.255.255.255', 53, QUERY,
                                      (socket.SOL_SOCKET, socket.SO_BROADCAST, 1)))
attempt('multicast', lambda: datagram(socket.AF_INET, '224.0.0.251', 5353, QUERY))
print(json.dumps(reached))
'''
ADDRESSES = json.dumps([*HOST, *RESOLVER, *PUBLIC_RESOLVER, METADATA, '10.1.2.3'])


def test_outside_these_attempts_arrive(outside, internet):
    reached = json.loads(outside('/usr/bin/python3', '-c', REACH, ADDRESSES).stdout)
    internet.settle()
    assert {f'tcp {HOST[0]}', f'tcp {HOST[1]}', f'tcp {METADATA}', f'udp {PUBLIC_RESOLVER[1]}'} <= set(reached)
    assert internet.names.queries and internet.forbidden_visits()


@pytest.mark.parametrize('level', OWN_LOOPBACK)
def test_nothing_that_a_default_box_sends_arrives(boxed, internet, level):
    result = boxed('/usr/bin/python3', '-c', REACH, ADDRESSES, level=level)
    assert json.loads(result.stdout) == [], result.stderr
    assert (internet.forbidden_visits(), internet.visits, internet.names.queries) == ([], [], [])


@pytest.mark.parametrize('level', OWN_LOOPBACK)
def test_failed_connection_says_how_to_allow_it(boxed, internet, level):
    result = boxed('curl', '-sS', f'https://{GOOD}/', level=level)
    assert result.returncode == 6 and 'Could not resolve host' in result.stderr
    assert 'reaching an address outside the box (connect); to allow it: --allow-domain HOST\n' in result.stderr
    allowed = boxed('curl', '-sS', f'https://{GOOD}/', level=level, domains=[GOOD])
    assert allowed.stdout == f'{GOOD} over https\n' and 'refused' not in allowed.stderr


def test_connection_on_the_loopback_is_no_refusal(boxed, internet):
    script = 'python3 -m http.server 8000 >log 2>&1 & sleep 1; curl -sS http://127.0.0.1:8000/log >/dev/null; exit 3'
    result = boxed('sh', '-c', script)
    assert (result.returncode, result.stderr) == (3, '')


def test_denial_of_the_network_leaves_no_loopback(boxed, internet, workspace):
    (workspace / 'policy.yaml').write_text('tools: {capabilities: {deny: [net.socket]}}')
    result = boxed('python3', '-c', 'import socket; socket.socket()', flags=['-p', workspace / 'policy.yaml'])
    assert 'PermissionError' in result.stderr
    assert 'refused: a network socket (socket), by allow_network (' in result.stderr and 'to allow' not in result.stderr
