"""Attacks on egress, the process that carries a box's connections: overload, its death and that of the front; what it
could do if an attacker took it over; and attacks of one box on another."""
import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import time

import pytest

from fake_internet import GOOD, OTHER
from test_attacks_protocols import hello

PYTHON = '/usr/bin/python3', '-IS'
TICKS = os.sysconf('SC_CLK_TCK')
NO_NETWORK = 'egress exited: the box has no network from now on'
WAIT_FOR_GO_FILE = 'while [ ! -e go ]; do sleep 0.05; done; '


def children(pid):
    return [int(child) for child in pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text().split()]


def name_of(pid):
    try:
        return pathlib.Path(f'/proc/{pid}/comm').read_text().strip()
    except OSError:
        return ''


def wait_until(condition, seconds=20):
    """Waits until the condition is true, and returns its value."""
    deadline = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert value
    return value


def has_exited(pid):
    try:
        return ') Z ' in pathlib.Path(f'/proc/{pid}/stat').read_text()
    except OSError:
        return True


def cpu_seconds(pid):
    fields = pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def egress_cpu_seconds(box, seconds):
    """Waits so many seconds, and returns the processor time that egress has used by then, or before it exited."""
    used, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError, IndexError):
            used = cpu_seconds(box.egress)
        time.sleep(0.05)
    return used


def resident_kb(pid):
    return int(status_of(pid)['VmRSS'].split()[0])


def status_of(pid):
    lines = pathlib.Path(f'/proc/{pid}/status').read_text().splitlines()
    return {key: value.strip() for key, _, value in (line.partition(':') for line in lines)}


class Box:
    """A running box: its front, and its egress process."""

    def __init__(self, process):
        self.process = process
        self.egress = wait_until(lambda: next((child for child in children(process.pid)
                                               if name_of(child) == 'ringwall-egress'), 0))
        if process.stdin:   # now it may end
            process.stdin.write('go\n')
            process.stdin.flush()

    def finish(self, timeout=20):
        """Waits for the box; returns its exit status, output and errors."""
        stdout, stderr = self.process.communicate(timeout=timeout)
        return self.process.returncode, stdout, stderr


@pytest.fixture
def start_box(internet, programs, build, home, workspace):
    """Starts a box: start_box(*command, domains=…, wrapper=…). wrapper: a command that executes ringwall. waits: the
    command reads a line first, which it gets when the egress process has been found."""
    with contextlib.ExitStack() as stack:
        def start(*command, domains=(GOOD,), wrapper=(), waits=False):
            words = [*wrapper, build / 'ringwall', 'run', '--level=strict', f'--ro={programs}']
            words += [f'--allow-domain={domain}' for domain in domains]
            env = {'HOME': str(home), 'PATH': '/usr/local/bin:/usr/bin:/bin', 'LANG': 'C.UTF-8'}
            process = stack.enter_context(subprocess.Popen(
                [*words, '--', *command], cwd=workspace, env=env, text=True,
                stdin=subprocess.PIPE if waits else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
            stack.callback(process.kill)
            return Box(process)
        yield start


# Overload.

def test_two_thousand_connections_at_once_cost_little_memory(start_box, programs, internet):
    """Connections above the limit wait. Egress uses no more memory than planned, and works afterwards."""
    box = start_box(*PYTHON, programs / 'many_connections.py', GOOD, '80', '2000', 'quiet', '1.5')
    time.sleep(1.2)
    assert resident_kb(box.egress) < 4096 + 40 * 1024
    assert box.finish() == (0, f'2000\n{GOOD} over http\n', '')


def test_egress_without_free_descriptors_does_not_busy_loop(start_box, programs, internet):
    """accept() failed and was retried at once, without end."""
    box = start_box(*PYTHON, programs / 'many_connections.py', 'echo.good.example', '7', '250', 'quiet', '2',
                    domains=['echo.good.example:7'], wrapper=('sh', '-c', 'ulimit -n 300; exec "$@"', '-'))
    assert egress_cpu_seconds(box, 1.8) < 0.5
    assert box.finish()[:2] == (0, '250\ndone\n')


@pytest.mark.parametrize('name, port, lines', [
    ('echo.good.example', 7, ['send 0161', 'wait', 'urgent 62', 'send 63', *['pause'] * 30]),
    ('echo.good.example', 7, ['send 0161', 'wait', 'urgent 6263', *['pause'] * 30]),
    (GOOD, 80, ['send ' + b'GET / HT'.hex(), 'urgent ' + b'T'.hex(), 'send ' + b'P/1.1'.hex(), *['pause'] * 30]),
    ('127.0.0.1', 3128, ['send ' + b'GET '.hex(), 'urgent ' + b'h'.hex(), 'send ' + b'ttp'.hex(), *['pause'] * 30]),
    ('127.0.0.1', 3128, ['send ' + b'GET '.hex(), 'end', *['pause'] * 30]),
], ids=['stream', 'stream-last', 'head', 'proxy', 'proxy-and-the-end'])
def test_urgent_byte_does_not_make_egress_busy_loop(start_box, programs, internet, name, port, lines, workspace):
    """splice() does not pass on an urgent byte, and MSG_PEEK stops before it, while poll() reports data."""
    (workspace / 'lines').write_text(''.join(f'{line}\n' for line in lines))
    box = start_box('sh', '-c', 'read -r go; '
                    f'exec {" ".join(PYTHON)} {programs}/scripted_client.py {name} {port} <lines',
                    domains=[GOOD if port == 3128 else f'{name}:{port}'], waits=True)
    assert egress_cpu_seconds(box, 1.2) < 0.3
    code, stdout, _ = box.finish()
    assert code == 0
    if port == 7:
        assert stdout.startswith('\1ab')    # the urgent byte was passed on in its place


def test_urgent_byte_from_a_server_does_not_make_egress_busy_loop(start_box, programs, internet, workspace):
    """It is in the answer to a ClientHello, which egress inspects before it passes it on."""
    def answer(connection, _):
        connection.recv(65536)
        connection.sendall(b'\x16\3')
        connection.send(b'\3', socket.MSG_OOB)
        connection.sendall(b'\0')
        time.sleep(3)
    internet.make_server('odd.good.example', (443, answer))
    (workspace / 'lines').write_text(f'send {hello("odd.good.example").hex()}\n' + 'pause\n' * 30)
    box = start_box('sh', '-c', f'exec {" ".join(PYTHON)} {programs}/scripted_client.py odd.good.example 443 <lines',
                    domains=['odd.good.example'])
    assert egress_cpu_seconds(box, 1.2) < 0.3
    box.finish()


def test_slow_clients_do_not_delay_another_client(start_box, programs, internet):
    box = start_box(*PYTHON, programs / 'many_connections.py', GOOD, '80', '200', 'slow', '1.5')
    assert egress_cpu_seconds(box, 1) < 0.5
    assert box.finish()[:2] == (0, f'200 {GOOD} over http\n')


def test_twenty_thousand_allowed_names_cost_little_memory(start_box, programs, internet):
    box = start_box(*PYTHON, programs / 'many_connections.py', 'good.example', '0', '20000', 'names', '0',
                    domains=['*.good.example'])
    peak_kb = 0
    while box.process.poll() is None:
        with contextlib.suppress(OSError, KeyError, ValueError):
            peak_kb = max(peak_kb, resident_kb(box.egress))
        time.sleep(0.05)
    code, stdout, stderr = box.finish()
    assert (code, stdout) == (0, '20000 [0, 2]\n') and peak_kb < 8192
    assert 'the box has asked for too many names' in stderr and len(stderr.splitlines()) < 200
    assert internet.names.queries == []


def test_twenty_thousand_names_that_are_not_allowed_make_a_short_report(start_box, programs, internet):
    box = start_box(*PYTHON, programs / 'many_connections.py', 'other.example', '0', '20000', 'names', '0')
    code, stdout, stderr = box.finish()
    assert (code, stdout) == (0, '20000 [3]\n')
    assert len(stderr.splitlines()) < 200
    assert internet.names.queries == []


def test_egress_survives_very_large_packets_to_its_name_server(start_box, programs, internet):
    box = start_box(*PYTHON, programs / 'many_connections.py', GOOD, '80', '500', 'packets', '0')
    assert box.finish()[:2] == (0, f'{GOOD} over http\n')


# Death of egress, or of the front.

def test_box_whose_egress_was_killed_has_no_network(start_box, internet, workspace):
    """The command continues, and its exit status is passed on."""
    line = (f'{WAIT_FOR_GO_FILE} curl -sS --max-time 5 http://{GOOD}/; curl -sS --max-time 5 http://10.0.0.1/; '
            f'curl -sS --max-time 5 -x http://127.0.0.1:3128 http://{GOOD}/; exit 7')
    box = start_box('sh', '-c', line)
    wait_until(lambda: status_of(box.egress)['Seccomp'] == '2')
    time.sleep(0.2)
    os.kill(box.egress, signal.SIGKILL)
    wait_until(lambda: has_exited(box.egress))
    (workspace / 'go').touch()
    code, stdout, stderr = box.finish()
    assert (code, stdout) == (7, '') and NO_NETWORK in stderr, stderr
    internet.settle()
    assert internet.visits == [] and internet.names.queries == []


@pytest.mark.parametrize('number', [signal.SIGKILL, signal.SIGTERM], ids=['kill', 'term'])
def test_egress_exits_when_the_front_is_killed(start_box, number):
    box = start_box('sleep', '60')
    wait_until(lambda: status_of(box.egress)['Seccomp'] == '2')
    box.process.send_signal(number)
    box.process.wait(10)
    wait_until(lambda: has_exited(box.egress))


# What an attacker could do who took egress over.

def test_egress_is_confined(start_box, is_root):
    box = start_box('sleep', '2')
    status = wait_until(lambda: (fields := status_of(box.egress))['Seccomp'] == '2' and fields)
    assert status['NoNewPrivs'] == '1'
    assert {status[name] for name in ('CapInh', 'CapPrm', 'CapEff', 'CapAmb')} == {'0' * 16}
    if not is_root:     # egress is not dumpable, so even its own user cannot look into it
        with pytest.raises(PermissionError):
            os.listdir(f'/proc/{box.egress}/fd')
        return
    assert pathlib.Path(f'/proc/{box.egress}/environ').read_bytes() == b''
    links = [os.readlink(f'/proc/{box.egress}/fd/{number}') for number in os.listdir(f'/proc/{box.egress}/fd')]
    expected = 'socket:', 'pipe:', 'anon_inode:[event', '/dev/null'
    assert [link for link in links if not link.startswith(expected)] == []


# Another box.

LISTEN = '''
import socket, sys, time
for address in (("127.0.0.1", 9000), ("0.0.0.0", 9001)):
    s = socket.socket(); s.bind(address); s.listen(); globals()[f"s{address[1]}"] = s
u = socket.socket(socket.AF_UNIX); u.bind("\\0neighbour"); u.listen()
open("ready", "w").close()
print(socket.gethostbyname(sys.argv[1]), flush=True)
time.sleep(2)
'''
REACH = '''
import socket, sys
def attempt(family, address):
    s = socket.socket(family); s.settimeout(1)
    try:
        s.connect(address)
        s.send(b"GET / HTTP/1.0\\r\\n\\r\\n")
        return s.recv(100)[:12].decode() or "closed"
    except OSError as error:
        return type(error).__name__
print(*(attempt(socket.AF_INET, (host, port))
        for host in ("127.0.0.1", "198.18.0.1", "198.18.0.2") for port in (9000, 9001)),
      attempt(socket.AF_UNIX, "\\0neighbour"))
try:
    print(socket.gethostbyname(sys.argv[1]))
except OSError as error:
    print(error)
'''


def test_boxes_do_not_reach_each_other(start_box, boxed, outside, workspace, internet):
    """One box reaches neither the ports and the abstract socket of another, nor a name that only the other may reach.
    The address that stands for that name is not valid in the first box either."""
    neighbour = start_box(*PYTHON, '-c', LISTEN, OTHER, domains=[OTHER])
    wait_until((workspace / 'ready').exists)
    result = boxed(*PYTHON, '-c', REACH, OTHER, domains=[GOOD])
    reached, name = result.stdout.splitlines()
    assert set(reached.split()) <= {'ConnectionRefusedError', 'ConnectionResetError', 'PermissionError'}, reached
    assert 'not known' in name
    assert neighbour.finish()[:2] == (0, '198.18.0.2\n')
    assert internet.visits == []
