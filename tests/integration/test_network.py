"""Boxes with a network, tested without any other host: ports of the host's loopback, published ports, unix sockets,
names and addresses, and the process egress. tests/egress has hosts to connect_program to."""
import json
import os
import pathlib
import secrets
import signal
import socket
import subprocess
import threading
import time

import pytest

from procfs import files_of_all, with_word

LEVELS = pytest.mark.parametrize('level', ['strict', 'maximum'])


@pytest.fixture
def service():
    """A service on the host's loopback that sends a greeting. Returns its port."""
    listener = socket.create_server(('127.0.0.1', 0))

    def serve():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.sendall(b'the host greets\n')
    threading.Thread(target=serve, daemon=True).start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def free_port():
    with socket.create_server(('127.0.0.1', 0)) as listener:
        return listener.getsockname()[1]


def connect_program(host, port):
    """A program that connects and prints what it receives, or the error."""
    return f'''
import socket
try:
    with socket.create_connection(({host!r}, {port}), timeout=5) as s:
        print(s.recv(100).decode(), end='')
except OSError as e:
    print(type(e).__name__, e.errno)
'''


@pytest.fixture
def python(ringwall):
    """Runs a Python program in a box."""
    def run(program, *flags, level='strict', **options):
        return ringwall('run', '--level', level, *flags, '--', '/usr/bin/python3', '-c', program, **options)
    return run


def egress_of(pid):
    children = set(map(int, pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text().split()))
    return [child for child, name in files_of_all('comm') if child in children and name == b'ringwall-egress\n']


def wait_for(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


# --- ports of the host's loopback ---

@LEVELS
@pytest.mark.parametrize('host', ['127.0.0.1', 'localhost', '::1'])
def test_allowed_port_of_the_host_can_be_reached(python, service, level, host):
    result = python(connect_program(host, service), '--allow-local-port', str(service), level=level)
    assert (result.returncode, result.stdout, result.stderr) == (0, 'the host greets\n', '')


@LEVELS
def test_other_ports_of_the_host_cannot_be_reached(python, service, level):
    other = free_port()
    assert python(connect_program('127.0.0.1', service), '--allow-local-port', str(other),
                  level=level).stdout == 'ConnectionRefusedError 111\n'
    assert python(connect_program('127.0.0.1', service), '--allow-domain', 'example.com',
                  level=level).stdout == 'ConnectionRefusedError 111\n'


def test_allowed_port_without_a_service_is_reported(python):
    port = free_port()
    result = python(connect_program('127.0.0.1', port), '--allow-local-port', str(port))
    assert result.stdout.startswith('ConnectionResetError')
    assert f'localhost port {port}, it cannot be reached' in result.stderr


# --- published ports ---

SERVER = '''
import socket
with socket.create_server(('127.0.0.1', {port})) as listener:
    print('ready', flush=True)
    for _ in range({times}):
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b'the box greets ' + connection.makefile('rb').readline())
'''


@LEVELS
def test_published_port_can_be_reached_from_the_host(build, home, workspace, level):
    port = free_port()
    with subprocess.Popen([build / 'ringwall', 'run', '--level', level, '--publish', str(port), '--',
                           '/usr/bin/python3', '-c',
                           SERVER.format(port=port, times=20)], cwd=workspace, stdout=subprocess.PIPE, text=True,
                          env={'HOME': str(home), 'PATH': '/usr/bin:/bin'}) as process:
        assert process.stdout.readline() == 'ready\n'
        for i in range(20):
            with socket.create_connection(('127.0.0.1', port), timeout=5) as connection:
                connection.sendall(f'{i}\n'.encode())
                assert connection.makefile('rb').readline() == f'the box greets {i}\n'.encode()
    assert process.returncode == 0
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(('127.0.0.1', port), timeout=5)


def test_port_in_use_cannot_be_published(ringwall, service):
    result = ringwall('run', '--publish', str(service), '--', 'echo', 'ran')
    assert (result.returncode, result.stdout) == (125, '')
    assert f'cannot publish port {service}: Address already in use' in result.stderr


# --- unix sockets ---

@LEVELS
def test_allowed_unix_socket_can_be_reached_and_its_neighbour_cannot(python, level):
    program = '''
import socket, sys
for path in {paths!r}:
    with socket.socket(socket.AF_UNIX) as s:
        try:
            s.connect(path)
            print(s.recv(100).decode())
        except OSError as e:
            print(type(e).__name__)
'''
    with socket.socket(socket.AF_UNIX) as named, socket.socket(socket.AF_UNIX) as other:
        paths = [f'/tmp/.ringwall-{name}-{os.getpid()}-{level}' for name in ('named', 'other')]
        for listener, path in zip((named, other), paths):
            listener.bind(path)
            listener.listen(5)

        def serve(listener):
            connection, _ = listener.accept()
            connection.sendall(b'an agent')
            connection.close()
        threading.Thread(target=serve, args=(named,), daemon=True).start()
        result = python(program.format(paths=paths), '--unix-socket', paths[0], level=level)
        for path in paths:
            os.unlink(path)
    assert result.stdout == 'an agent\nFileNotFoundError\n'


# --- names and addresses ---

@LEVELS
def test_allowed_name_has_fixed_addresses_and_other_names_do_not_exist(python, level):
    result = python('''
import socket
def look_up(name):
    try:
        return sorted({row[4][0] for row in socket.getaddrinfo(name, 443, type=socket.SOCK_STREAM)})
    except socket.gaierror as e:
        return e.strerror
for name in ('one.example.com', 'ONE.example.com.', 'two.example.com', 'example.com', 'one.example.com.evil.org', 'evil.org', 'localhost'):
    print(name, look_up(name))
''', '--allow-domain', '*.example.com', level=level)
    assert result.stdout.splitlines() == [
        "one.example.com ['198.18.0.2', 'fd72:696e:6777:616c::2']",
        "ONE.example.com. ['198.18.0.2', 'fd72:696e:6777:616c::2']",
        "two.example.com ['198.18.0.3', 'fd72:696e:6777:616c::3']",
        'example.com Name or service not known',
        'one.example.com.evil.org Name or service not known',
        'evil.org Name or service not known',
        "localhost ['127.0.0.1', '::1']",
    ]
    assert 'refused 2 times: evil.org, no rule allows it; to allow it: --allow-domain evil.org\n' in result.stderr


@LEVELS
@pytest.mark.parametrize('address', ['192.0.2.1', '2001:db8::1', '198.18.0.77', 'fd72:696e:6777:616c::77',
                                     '::ffff:192.0.2.1'])
def test_connection_to_an_address_without_a_name_is_refused(python, level, address):
    result = python(f'''
import socket
s = socket.create_connection(({address!r}, 80), timeout=5)
s.sendall(b'GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n')
print(s.recv(1000).decode().splitlines()[0])
''', '--allow-domain', 'example.com', level=level)
    reported = address.removeprefix('::ffff:')
    assert result.stdout == 'HTTP/1.1 403 Forbidden\n'
    assert f'refused: {reported} port 80, hosts must be reached by name, not by address\n' in result.stderr


@LEVELS
@pytest.mark.parametrize('family, address', [('AF_INET', '192.0.2.1'), ('AF_INET6', '2001:db8::1')])
def test_sockets_other_than_tcp_fail_at_once(python, level, family, address):
    result = python(f'''
import socket, time
start = time.monotonic()
with socket.socket(socket.{family}, socket.SOCK_DGRAM) as s:
    try:
        s.sendto(b'quic', ({address!r}, 443))
        print('sent')
    except OSError as e:
        print(type(e).__name__, time.monotonic() - start < 1)
for kind, number in ((socket.SOCK_RAW, socket.IPPROTO_ICMP), (socket.SOCK_STREAM, 132), (socket.SOCK_STREAM, 262)):
    try:
        socket.socket(socket.{family}, kind, number)
        print('made')
    except OSError as e:
        print(type(e).__name__)
''', '--allow-domain', 'example.com', level=level)
    assert result.stdout.splitlines() == ['PermissionError True', 'PermissionError', 'OSError', 'OSError']


def test_allowed_and_denied_connections_are_recorded_and_denied_ones_reported(python, service, home, workspace):
    python(connect_program('127.0.0.1', service) + '\nimport socket\ntry:\n socket.getaddrinfo("evil.org", 80)\nexcept '
                                           'OSError: pass\n',
           '--allow-domain', 'example.com', '--allow-local-port', str(service), '--audit', str(home / 'audit'),
           '--json-report', 'r.json')
    records = [json.loads(line) for line in (home / 'audit').read_text().splitlines()]
    decisions = [{key: value for key, value in record.items() if key not in ('time', 'session', 'count')}
                 for record in records if record['event'].startswith('network_')]
    denied = {'event': 'network_denied', 'host': 'evil.org', 'way': 'dns', 'reason': 'name', 'why': 'no rule allows it',
              'allow': '--allow-domain evil.org'}
    assert {'event': 'network_allowed', 'host': 'localhost', 'port': service, 'address': '127.0.0.1',
            'way': 'local_port', 'sent': 0,
            'received': 16} in decisions
    assert denied in decisions
    assert [row['host'] for row in json.loads((workspace / 'r.json').read_text())['denied']] == ['evil.org']


# --- proxies ---

def test_proxy_variables_are_set_only_if_a_policy_asks_for_them(ringwall, workspace):
    (workspace / 'p.yaml').write_text('network: {proxy_variables: true, allowed_domains: [example.com]}\n')
    variables = ringwall('run', '-p', 'p.yaml', '--env', 'NO_PROXY=mine', '--', 'env').stdout.splitlines()
    assert {'http_proxy=http://127.0.0.1:3128', 'HTTPS_PROXY=http://127.0.0.1:3128',
            'ALL_PROXY=socks5h://127.0.0.1:1080',
            'NO_PROXY=mine'} <= set(variables) and not any(line.startswith('no_proxy=') for line in variables)
    assert not any('_proxy=' in line.lower() for line in ringwall('run', '--allow-domain', 'example.com', '--',
                                                                  'env').stdout.splitlines())


def test_without_nftables_the_proxies_work_and_a_warning_is_printed(build, home, workspace, service):
    program = f'''
import socket
with socket.create_connection(('127.0.0.1', 3128)) as s:
    s.sendall(b'CONNECT evil.org:443 HTTP/1.1\\r\\nHost: evil.org:443\\r\\n\\r\\n')
    print(s.recv(1000).decode().splitlines()[0])
try:
    socket.create_connection(('192.0.2.1', 80), timeout=5)
except OSError as e:
    print(e.strerror)
''' + connect_program('127.0.0.1', service)
    deny_syscalls, = build.glob('**/deny_syscalls')
    result = subprocess.run([deny_syscalls, 'socket:16=EPROTONOSUPPORT', '--', build / 'ringwall', 'run',
                             '--allow-domain',
                             'example.com',
                             '--allow-local-port', str(service), '--', '/usr/bin/python3', '-c', program],
                            cwd=workspace, text=True,
                            capture_output=True, timeout=60, check=False,
                            env={'HOME': str(home), 'PATH': '/usr/bin:/bin'})
    assert result.stdout.splitlines() == ['HTTP/1.1 403 Forbidden', 'Network is unreachable', 'the host greets']
    assert 'without nftables only programs that use a proxy reach hosts' in result.stderr


# --- egress itself ---

@pytest.fixture
def waiting_box(build, home, workspace):
    """A box whose command waits for a line on its standard input."""
    process = subprocess.Popen([build / 'ringwall', 'run', '--allow-domain', 'example.com', '--', 'sh', '-c',
                                'echo; read x; getent hosts example.com; exit 7'],
                               cwd=workspace, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True,
                               env={'HOME': str(home), 'PATH': '/usr/bin:/bin', 'ATTACK_TOKEN': 'secret'})
    assert process.stdout.readline() == '\n'
    yield process
    process.kill()
    process.communicate()


def test_egress_has_no_capabilities_no_environment_and_no_files(waiting_box):
    egress, = egress_of(waiting_box.pid)
    status = dict(line.split(':\t', 1) for line in pathlib.Path(f'/proc/{egress}/status').read_text().splitlines()
                  if ':\t' in line)
    assert (status['Seccomp'], status['NoNewPrivs'], status['CapEff'],
            status['CapBnd'] if os.geteuid() == 0 else '0' * 16) == \
        ('2', '1', '0' * 16, '0' * 16)
    if os.geteuid() == 0:   # only root may read these files
        assert pathlib.Path(f'/proc/{egress}/environ').read_bytes() == b''
        kinds = {os.readlink(f'/proc/{egress}/fd/{fd}').split(':')[0] for fd in os.listdir(f'/proc/{egress}/fd')}
        assert kinds <= {'socket', 'pipe', 'anon_inode', '/dev/null'}


def test_killed_egress_leaves_the_box_without_network(waiting_box):
    egress, = egress_of(waiting_box.pid)
    os.kill(egress, signal.SIGKILL)
    while_it_runs = iter(waiting_box.stderr.readline, '')
    assert any('egress exited: the box has no network from now on' in line for line in while_it_runs)
    assert wait_for(lambda: not os.path.exists(f'/proc/{egress}'))      # ringwall has noticed, and reaped it
    out, _ = waiting_box.communicate('\n', timeout=20)
    assert (waiting_box.returncode, out) == (7, '')


@pytest.mark.parametrize('number', [signal.SIGKILL, signal.SIGTERM])
def test_egress_exits_when_the_front_does(waiting_box, number):
    egress, = egress_of(waiting_box.pid)
    waiting_box.send_signal(number)
    assert wait_for(lambda: not pathlib.Path(f'/proc/{egress}').exists())


@pytest.fixture
def run_with_egress(build, home, workspace):
    """Runs a box with a copy of ringwall whose ringwall-egress is this script, or is missing if the script is None."""
    def run(script, *flags):
        program, egress = home / 'ringwall', home / 'ringwall-egress'
        program.write_bytes((build / 'ringwall').read_bytes())
        program.chmod(0o755)
        if script:
            egress.write_text(f'#!/bin/sh\n{script}\n')
            egress.chmod(0o755)
        return subprocess.run([program, 'run', *flags, '--allow-domain', 'example.com', '--', 'echo', 'ran'],
                              cwd=workspace,
                              capture_output=True, text=True, env={'HOME': str(home), 'PATH': '/usr/bin:/bin'},
                              timeout=30, check=False)
    return run


def test_missing_egress_is_an_error(run_with_egress):
    result = run_with_egress(None)
    assert (result.returncode, result.stdout) == (125, '') and 'ringwall-egress is not installed' in result.stderr


@pytest.mark.parametrize('script', ['exec sleep MARK', 'echo nonsense >&3; exec sleep MARK',
                                    'exec 3>&-; exec sleep MARK',
                                    'exec 4>&-; exec sleep MARK', 'exit 1',
                                    'head -c 100000 /dev/zero >&3; exec sleep MARK'],
                         ids=['silent', 'nonsense', 'closes-socket-to-front', 'closes-socket-to-keeper', 'exits',
                              'zeros'])
def test_egress_that_does_not_serve_is_an_error(run_with_egress, script):
    """If egress was replaced, or is hostile from the start, the command does not run, and egress does not survive."""
    flags = ['--timeout', '3s'] if script.startswith('exec sleep') else []
    mark = f'86395.{secrets.randbelow(10 ** 12):012}'
    result = run_with_egress(script.replace('MARK', mark), *flags)
    assert result.returncode == (124 if flags else 125) and result.stdout == '' and result.stderr, result
    assert with_word(mark) == []
