"""Level standard, where a box has no network namespace: its sockets are made so that they cannot leave the machine, and
it reaches the allowed hosts by two proxies on the host's loopback, which require a token.

To make an attack succeed on the host, a server elsewhere in the world listens on the very port that the box may connect
to.
"""
import base64
import contextlib
import dataclasses
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.parse

import pytest

import servers
from fake_internet import GOOD, HOST, OTHER
from mcp_client import Client as McpClient, Stdio
from site_content import CONTENT
from test_attacks_process import NO_NETWORK, PYTHON, children, has_exited, name_of, status_of, wait_until
from test_clients import NPM, PIP, URLLIB

FAR = {4: '203.0.113.7', 6: '2001:db8:7::7'}       # addresses in the world that only these tests use
REACHED = 'reached: a word\n'
PRINT_PROXIES_AND_WAIT = 'echo $http_proxy $all_proxy; read line; '


class Box:
    """A running box. Its command first prints a line, mostly its proxies, and most commands then wait for a line."""

    def __init__(self, process):
        self.process, self.first_line = process, process.stdout.readline()

    @property
    def egress(self):
        return wait_until(
            lambda: next((pid for pid in children(self.process.pid) if name_of(pid) == 'ringwall-egress'), 0))

    def finish(self, timeout=20):
        """Sends the command a line and waits for the box; returns its exit status, output and errors."""
        stdout, stderr = self.process.communicate('go\n', timeout=timeout)
        return self.process.returncode, stdout, stderr


@pytest.fixture(autouse=True)
def skip_without_port_rules(doctor_before):
    if doctor_before['features']['landlock.tcp']['state'] != 'yes':
        pytest.skip('Landlock on this kernel has no rules for ports, so ringwall refuses such plans')


@pytest.fixture
def start_box(internet, programs, build, home, workspace):
    """Starts a Box at level standard: start_box(*command, domains=…, flags=…)."""
    with contextlib.ExitStack() as stack:
        def start(*command, domains=(GOOD,), flags=()):
            words = [build / 'ringwall', 'run', '--level=standard', f'--ro={programs}', *flags]
            words += [f'--allow-domain={domain}' for domain in domains]
            env = {'HOME': str(home), 'PATH': '/usr/local/bin:/usr/bin:/bin', 'LANG': 'C.UTF-8'}
            process = stack.enter_context(subprocess.Popen([*words, '--', *command], cwd=workspace, env=env, text=True,
                                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                                           stderr=subprocess.PIPE))
            stack.callback(process.kill)
            return Box(process)
        yield start


@pytest.fixture
def standard(boxed):
    """Runs a command in a box at level standard, as boxed() does."""
    def run(*command, domains=(GOOD,), **options):
        return boxed(*command, domains=domains, level='standard', **options)
    return run


# Sockets that cannot leave the machine.

WAYS4 = ['connect', 'disconnected', 'bound-anywhere', 'bound-to-own', 'bound-unspecified', 'reused', 'device',
         'any-device',
         'fast-open', 'fast-open-connect', 'multipath', 'datagram', 'high-bits', 'source-route']
ONLY_INSIDE = {'source-route'}      # cannot succeed outside: routers refuse source routes


@pytest.mark.parametrize('way', [*WAYS4, 'six'])
def test_socket_does_not_leave_the_machine(outside, start_box, internet, programs, way):
    address = FAR[6 if way == 'six' else 4]

    def listen(port):
        if way == 'datagram':
            internet.listen_datagrams(address, port, servers.echo_datagrams, 'far', internet.visits)
        else:
            internet.listen(address, port, servers.echo, 'far')
    listen(4000)
    stdout = outside(*PYTHON, programs / 'tcp_escape.py', way, address, '4000', HOST[0]).stdout
    assert stdout == REACHED or way in ONLY_INSIDE, stdout
    internet.visits.clear()
    box = start_box(*PYTHON, programs / 'tcp_escape.py', way, address, 'proxy', HOST[0])
    listen(int(box.first_line))
    code, stdout, stderr = box.finish()
    assert code == 0 and stdout in ('silence\n', 'EACCES\n', 'EINVAL\n', 'EPROTONOSUPPORT\n', 'EAFNOSUPPORT\n',
                                    'ENOTSUP\n'), \
        stdout + stderr
    internet.settle()
    assert internet.visits == []


def test_other_ports_of_the_host_are_closed(standard, outside, internet):
    fetch = 'curl', '-sS', '--noproxy', '*', 'http://127.0.0.1:8080/'
    assert outside(*fetch).stdout == 'host over http\n'
    internet.visits.clear()
    assert standard(*fetch).returncode == 7
    assert internet.forbidden_visits() == []


def test_no_other_service_of_the_machine_can_have_the_port_of_the_proxy(start_box, internet, programs):
    """The box may connect to the port at every address of the machine, so the proxy listens on all of them. It listens
    only on the loopback device, which other machines cannot reach."""
    box = start_box(*PYTHON, programs / 'tcp_escape.py', 'connect', HOST[0], 'proxy')
    port = int(box.first_line)
    for address in ('127.0.0.1', '127.0.0.9', HOST[0], '0.0.0.0'):
        with pytest.raises(OSError, match='in use'):
            internet.host.socket(address, port)
    with pytest.raises(ConnectionRefusedError):
        internet.world.run(socket.create_connection, (HOST[0], port), 5)
    internet.world.run(socket.create_connection, (HOST[0], 8080), 5).close()     # a service of the host is reachable
    internet.settle()
    internet.visits.clear()
    assert box.finish()[:2] == (0, 'silence\n')
    assert internet.visits == []


def test_socket_has_the_flags_and_errors_that_the_program_expects(standard):
    program = '''
import errno, fcntl, os, resource, socket
for kind in (0, socket.SOCK_CLOEXEC, socket.SOCK_NONBLOCK, socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK):
    import ctypes
    fd = ctypes.CDLL(None).socket(socket.AF_INET, socket.SOCK_STREAM | kind, 0)
    print(fcntl.fcntl(fd, fcntl.F_GETFD), bool(fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK))
print(ctypes.CDLL(None).socket(socket.AF_INET, socket.SOCK_STREAM | 0x10, 0))
resource.setrlimit(resource.RLIMIT_NOFILE, (fd + 1, fd + 1))
try:
    socket.socket()
except OSError as error:
    print(errno.errorcode[error.errno])
os.close(fd)
print(socket.socket().getsockname())
'''
    stdout = standard('/usr/bin/python3', '-c', program).stdout
    assert stdout == "0 False\n1 False\n0 True\n1 True\n-1\nEMFILE\n('127.0.0.1', 0)\n"


def test_program_in_the_box_cannot_listen_or_bind(standard):
    program = '''
import socket
for action in (lambda s: s.listen(), lambda s: s.bind(("127.0.0.1", 0)), lambda s: s.bind(("0.0.0.0", 3000))):
    try:
        print("done", action(socket.socket()))
    except PermissionError:
        print("refused")
'''
    assert standard('/usr/bin/python3', '-c', program).stdout == 'refused\n' * 3


def test_keeper_survives_a_storm_of_socket_calls(start_box, programs):
    """Callers are killed during the call, or have no free descriptor. The keeper continues to answer, leaks no
    descriptor, and handles a signal at once."""
    box = start_box('sh', '-c', f'{PRINT_PROXIES_AND_WAIT} exec {" ".join(PYTHON)} {programs}/socket_flood.py 2')
    keeper = wait_until(lambda: next((pid for pid in children(box.process.pid) if pid != box.egress), 0))
    fd_count = None if os.geteuid() else len(os.listdir(f'/proc/{keeper}/fd'))
    code, stdout, stderr = box.finish()
    assert (code, stdout, stderr) == (0, "one more: ('127.0.0.1', 0)\n", '')
    box = start_box('sh', '-c', f'{PRINT_PROXIES_AND_WAIT} exec {" ".join(PYTHON)} {programs}/socket_flood.py 15')
    keeper = wait_until(lambda: next((pid for pid in children(box.process.pid) if pid != box.egress), 0))
    box.process.stdin.write('go\n')
    box.process.stdin.flush()
    time.sleep(1)
    if fd_count is not None:
        assert len(os.listdir(f'/proc/{keeper}/fd')) <= fd_count + 1    # the socket that is being handed over
    start = time.monotonic()
    box.process.terminate()
    box.process.wait(10)
    assert time.monotonic() - start < 5


MAKE_SOCKETS_IN_IDLE_PROCESSES = '''
import os, socket, sys, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
for _ in range(64):
    if not os.fork():
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        while True:
            socket.socket().close()
time.sleep(0.3)
for _ in range(6):
    if not os.fork():
        while True:
            pass
print("going", flush=True)
time.sleep(60)
'''


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGKILL])
def test_callers_that_hardly_run_do_not_delay_the_keeper(start_box, number):
    """Handing over a socket blocks until the caller runs, and these callers have the scheduling policy SCHED_IDLE on a
    busy processor. So another process does it, not the keeper."""
    box = start_box('/usr/bin/python3', '-c', MAKE_SOCKETS_IN_IDLE_PROCESSES)
    assert box.first_line == 'going\n'
    start = time.monotonic()
    box.process.send_signal(number)
    box.process.communicate(timeout=20)     # returns when no process has its output open any more
    assert time.monotonic() - start < 10


# Proxies that require a token.

def ask_http_proxy(proxy, token, path, method='GET'):
    """Sends a request to the HTTP proxy and returns the first line of its answer. token None: without the header."""
    password = base64.b64encode(f'any:{token}'.encode()).decode()
    header = '' if token is None else f'Proxy-Authorization: Basic {password}\r\n'
    host = urllib.parse.urlsplit(path).netloc or path
    with socket.create_connection((proxy.hostname, proxy.port), timeout=5) as connection:
        connection.sendall(f'{method} {path} HTTP/1.1\r\nHost: {host}\r\n{header}\r\n'.encode())
        return connection.makefile('rb').readline().decode()


def ask_socks_proxy(proxy, token):
    """Logs in to the SOCKS proxy and returns its answer. token None: asks for a connection without a login."""
    with socket.create_connection((proxy.hostname, proxy.port), timeout=5) as connection:
        connection.sendall(b'\5\1\0' if token is None else b'\5\1\2')
        answer = connection.recv(2)
        if token is not None:
            connection.sendall(b'\1\3any' + bytes([len(token)]) + token.encode())
            answer += connection.recv(2)
        return answer


def test_proxies_require_the_token(start_box, internet):
    box = start_box('sh', '-c', PRINT_PROXIES_AND_WAIT)
    http, socks = map(urllib.parse.urlsplit, box.first_line.split())
    token = http.password
    assert re.fullmatch('[0-9a-f]{32}', token) and socks.password == token
    assert {http.hostname, socks.hostname} == {'127.0.0.1'}
    assert ask_http_proxy(http, token, f'http://{GOOD}/') == 'HTTP/1.1 200 OK\r\n'
    assert ask_socks_proxy(socks, token) == b'\5\2\1\0'
    internet.visits.clear()
    other = token.upper() if token.upper() != token else token.swapcase() + 'x'
    wrong = '', 'x', token[:-1], token + '0', other, 'f' * 32
    for given in (None, *wrong):
        assert ask_http_proxy(http, given, f'http://{GOOD}/') == 'HTTP/1.1 407 Proxy Authentication Required\r\n'
        assert ask_http_proxy(http, given, f'{GOOD}:443', 'CONNECT') == 'HTTP/1.1 407 Proxy Authentication Required\r\n'
        assert ask_socks_proxy(socks, given) == (b'\5\xff' if given is None else b'\5\2\1\1')
    internet.settle()
    assert internet.visits == []
    code, _, stderr = box.finish()
    assert code == 0 and stderr.splitlines() == [
        f"ringwall run: refused {2 * len(wrong)} times: localhost port {http.port}, a client sent a wrong token to the "
        f"box's proxy",
        f"ringwall run: refused {len(wrong)} times: localhost port {socks.port}, a client sent a wrong token to the "
        f"box's proxy"]


def test_another_box_cannot_use_the_proxies_even_with_the_token(start_box, standard, outside, internet):
    """Each box may connect only to the ports of its own proxies."""
    box = start_box('sh', '-c', PRINT_PROXIES_AND_WAIT, domains=[OTHER])
    http, _ = box.first_line.split()
    fetch = 'curl', '-sS', '-x', http, f'http://{OTHER}/'
    assert outside(*fetch).stdout == f'{OTHER} over http\n'
    internet.visits.clear()
    result = standard(*fetch)
    assert result.returncode == 7 and internet.visits == []
    assert standard('sh', '-c', 'echo $http_proxy').stdout.strip() not in ('', http)


def test_server_never_sees_the_token(standard, internet):
    result = standard('sh', '-c', 'curl -sS --max-time 3 http://echo.good.example/; echo $http_proxy',
                      domains=['echo.good.example'])
    token = urllib.parse.urlsplit(result.stdout.split()[-1]).password
    seen, = [bytes(visit.received) for visit in internet.visits_to('echo.good.example')]
    assert seen.startswith(b'GET / HTTP/1.1\r\nHost: echo.good.example\r\n')
    assert token.encode() not in seen and b'roxy' not in seen


@pytest.mark.parametrize('flags, target, message', [
    ([], f'http://{OTHER}/', f'ringwall: refused: {OTHER} port 80, no rule allows it; to allow it: --allow-domain '
                             f'{OTHER}\n'),
    ([], f'https://{OTHER}/', 'CONNECT tunnel failed, response 403'),
    ([], f'http://{GOOD}:8080/', f'ringwall: refused: {GOOD} port 8080, it is allowed on other ports; '
                                 f'to allow it: --allow-domain {GOOD}:8080\n'),
    ([], 'http://10.0.0.1/', 'ringwall: refused: 10.0.0.1 port 80, hosts must be reached by name, not by address\n'),
    (['-p'], 'http://10.0.0.1/', 'CONNECT tunnel failed, response 403'),
    (['-p'], 'http://93.184.216.1/', 'CONNECT tunnel failed, response 403'),
    (['-p'], f'http://{HOST[0]}:8080/', 'CONNECT tunnel failed, response 403'),
    (['-x', '$all_proxy'], f'https://{OTHER}/', "Can't complete SOCKS5 connection"),
    (['-x', '$all_proxy'], 'http://10.0.0.1/', "Can't complete SOCKS5 connection"),
])
def test_proxy_refuses_hosts_that_are_not_allowed(standard, internet, flags, target, message):
    result = standard('sh', '-c', f'curl -sS {" ".join(flags)} {target}')
    assert message in result.output, result.output
    assert internet.forbidden_visits() == [] and internet.visits == []
    assert internet.names.queries == []


# Clients.

@dataclasses.dataclass(frozen=True)
class Client:
    """A program that finds the proxies by their variables: its output for GOOD, and a regular expression for its error
    for a host that is not allowed."""
    title: str
    line: str
    output: str
    error: str
    needs: str = 'sh'


HTTP, HTTPS = f'{GOOD} over http\n', f'{GOOD} over https\n'
CLIENTS = [
    Client('curl-http', 'curl -sSf http://{name}/', HTTP, 'returned error: 403'),
    Client('curl-https', 'curl -sSf https://{name}/', HTTPS, 'returned error: 403'),
    Client('curl-socks', 'https_proxy= HTTPS_PROXY= curl -sSf https://{name}/', HTTPS,
           "Can't complete SOCKS5 connection"),
    Client('wget-http', 'wget -nv -O- http://{name}/', HTTP, '403: Forbidden|403 Forbidden'),
    Client('wget-https', 'wget -nv --ca-certificate $SSL_CERT_FILE -O- https://{name}/', HTTPS,
           'Proxy tunneling failed: Forbidden'),
    Client('git', 'git clone -q https://{name}/thing.git && cat thing/thing.txt', CONTENT, 'response 403'),
    Client('urllib', URLLIB, HTTPS, '403 Forbidden'),
    Client('pip', PIP, CONTENT, '403 Forbidden', '/usr/share/python-wheels'),
    Client('npm', NPM, CONTENT, '403', '/usr/bin/npm'),
]


@pytest.mark.parametrize('client', CLIENTS, ids=lambda client: client.title)
def test_client_uses_the_proxy_of_its_environment(standard, internet, workspace, client):
    if '/' in client.needs and not os.path.exists(client.needs):
        pytest.skip(f'this machine has no {client.needs}')
    reached = standard('sh', '-c', client.line.replace('{name}', GOOD))
    assert (reached.returncode, reached.stdout) == (0, client.output), reached.output
    assert {visit.server for visit in internet.visits} == {GOOD}
    internet.visits.clear()
    internet.names.reset()
    shutil.rmtree(workspace / 'thing', ignore_errors=True)
    refused = standard('sh', '-c', client.line.replace('{name}', OTHER))
    assert refused.returncode != 0 and re.search(client.error, refused.output), refused.output
    assert f'to allow it: --allow-domain {OTHER}\n' in refused.stderr and refused.seconds < 8
    assert internet.visits == [] and internet.names.queries_for('other.example') == []


def test_program_that_uses_no_proxy_fails_at_once_and_the_user_is_told_why(standard, internet):
    result = standard(*PYTHON, '-c', f'import socket; socket.create_connection(("{GOOD}", 80))')
    assert result.returncode == 1 and result.seconds < 3 and internet.visits == []
    assert 'a DNS lookup, or a connection that bypasses the proxy in http_proxy (socket)' in result.stderr
    assert 'to allow it: --level strict' in result.stderr


# Other features.

def test_only_the_allowed_local_port_is_reached(standard, internet):
    result = standard('sh', '-c', 'curl -sS http://127.0.0.1:8080/; curl -sS http://localhost:8080/; curl -sS '
                                  'http://127.0.0.1/',
                      flags=['--allow-local-port=8080'], domains=())
    assert result.stdout == 'host over http\n' * 2 and result.returncode == 7
    assert {visit.port for visit in internet.visits_to('host')} == {8080}


def test_record_and_report_of_allowed_and_refused_hosts(standard, workspace):
    flags = f'--audit={workspace.parent}/audit.jsonl', '--json-report=report.json'
    result = standard('sh', '-c', f'curl -s http://{GOOD}/; curl -s http://{OTHER}/', flags=flags)
    assert result.returncode == 0, result.output
    records = [json.loads(line) for line in pathlib.Path(f'{workspace.parent}/audit.jsonl').read_text().splitlines()]
    events = {record['event']: record for record in records if record['event'].startswith('network_')}
    allowed, denied = events['network_allowed'], events['network_denied']
    assert {key: allowed[key] for key in ('host', 'port', 'way', 'rule', 'source')} == {
        'host': GOOD, 'port': 80, 'way': 'http_proxy', 'rule': f'allow {GOOD}', 'source': '--allow-domain'}
    assert allowed['received'] > 0 and allowed['address']
    assert {key: denied[key] for key in ('host', 'port', 'way', 'reason', 'allow')} == {
        'host': OTHER, 'port': 80, 'way': 'http_proxy', 'reason': 'name', 'allow': f'--allow-domain {OTHER}'}
    report = json.loads((workspace / 'report.json').read_text())
    assert report['enforced']['walls']['net'] == 'the hosts that are allowed, by name and by proxy'


def test_killed_egress_leaves_no_network_and_its_ports_stay_taken_until_the_box_ends(start_box, internet):
    box = start_box('sh', '-c', f'{PRINT_PROXIES_AND_WAIT} curl -sS --max-time 5 http://{GOOD}/; exit 7')
    ports = [urllib.parse.urlsplit(proxy).port for proxy in box.first_line.split()]
    egress = box.egress
    wait_until(lambda: status_of(egress)['Seccomp'] == '2')
    time.sleep(0.2)     # until the front knows that the command runs
    os.kill(egress, signal.SIGKILL)
    wait_until(lambda: has_exited(egress))
    time.sleep(0.2)
    for address, port, reuse in itertools.product(('127.0.0.1', '0.0.0.0', HOST[0]), ports, (0, 1)):
        with socket.socket() as thief, pytest.raises(OSError, match='in use'):
            thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, reuse)
            thief.bind((address, port))
    code, stdout, stderr = box.finish()
    assert (code, stdout) == (7, '') and NO_NETWORK in stderr
    assert 'Failed to connect to 127.0.0.1' in stderr and internet.visits == []
    with socket.socket() as later_user:     # now the port is free
        later_user.bind(('127.0.0.1', ports[0]))


def test_box_on_a_terminal_reaches_an_allowed_host(outside, build, internet):
    line = f'{build}/ringwall run --level standard --allow-domain {GOOD} -- sh -c "test -t 1 && curl -s http://{GOOD}/"'
    result = outside('script', '-qec', line, '/dev/null')
    assert result.returncode == 0 and f'{GOOD} over http\n' in result.stdout


def test_tools_of_ringwall_mcp_reach_only_the_allowed_host(internet, build, home, workspace):
    """The process of the tools serves calls instead of executing a command."""
    environment = {'HOME': str(home), 'PATH': '/usr/local/bin:/usr/bin:/bin'}
    command = build / 'ringwall', 'mcp', '--level', 'standard', '--allow-domain', GOOD
    client = McpClient(Stdio(command, cwd=workspace, env=environment))
    client.ask('initialize', protocolVersion='2025-06-18', capabilities={}, clientInfo={'name': 'test', 'version': '1'})
    assert client.say('Bash', command=f'curl -s http://{GOOD}/', description='reach') == f'{GOOD} over http\nexit: 0'
    assert f'{OTHER} port 80, no rule allows it' in client.say('Bash', command=f'curl -s http://{OTHER}/',
                                                               description='reach')
    assert client.transport.close() == 0
    assert {visit.server for visit in internet.visits} == {GOOD}
