"""Attacks on the process that carries a box's connections: too much of everything, its death, and what is left of it;
what it could do if it were taken over; and one box against another."""
import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import time

import pytest

from internet import GOOD, OTHER
from test_attacks_protocols import hello

PYTHON = '/usr/bin/python3', '-IS'
TICKS = os.sysconf('SC_CLK_TCK')
NO_NETWORK = "the process that carries the box's connections has ended: the box has no network any more"
WAIT_FOR_FILE = 'while [ ! -e go ]; do sleep 0.05; done; '


def children(pid):
    return [int(child) for child in pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text().split()]


def name_of(pid):
    try:
        return pathlib.Path(f'/proc/{pid}/comm').read_text().strip()
    except OSError:
        return ''


def until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    assert found
    return found


def is_gone(pid):
    try:
        return ') Z ' in pathlib.Path(f'/proc/{pid}/stat').read_text()
    except OSError:
        return True


def seconds_used(pid):
    fields = pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def busy_seconds(box, seconds):
    """The time of a processor that egress has used after so many seconds, or when its box has ended."""
    used, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError, IndexError):
            used = seconds_used(box.egress)
        time.sleep(0.05)
    return used


def memory_of(pid):
    """What it has in memory, in KB."""
    return int(status_of(pid)['VmRSS'].split()[0])


def status_of(pid):
    lines = pathlib.Path(f'/proc/{pid}/status').read_text().splitlines()
    return {key: value.strip() for key, _, value in (line.partition(':') for line in lines)}


class Box:
    """A running box: its front, and its egress process."""

    def __init__(self, process):
        self.process = process
        self.egress = until(lambda: next((child for child in children(process.pid)
                                          if name_of(child) == 'ringwall-egress'), 0))
        if process.stdin:   # now it may end
            process.stdin.write('go\n')
            process.stdin.flush()

    def end(self, timeout=20):
        said, complaints = self.process.communicate(timeout=timeout)
        return self.process.returncode, said, complaints


@pytest.fixture
def start(internet, programs, build, home, workspace):
    """start(*command, domains=…, before=…): a box beside the test; before: words in front of ringwall's own. One that may be
    over before anybody has looked waits: its first line of input says that it was found."""
    with contextlib.ExitStack() as stack:
        def begin(*command, domains=(GOOD,), before=(), waits=False):
            words = [*before, build / 'ringwall', 'run', '--level=strict', f'--ro={programs}']
            words += [f'--allow-domain={domain}' for domain in domains]
            env = {'HOME': str(home), 'PATH': '/usr/local/bin:/usr/bin:/bin', 'LANG': 'C.UTF-8'}
            process = stack.enter_context(subprocess.Popen(
                [*words, '--', *command], cwd=workspace, env=env, text=True,
                stdin=subprocess.PIPE if waits else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
            stack.callback(process.kill)
            return Box(process)
        yield begin


# Too much.

def test_two_thousand_connections_at_once(start, programs, internet):
    """What is too many waits; it costs no more memory than is planned for, and afterwards all is as before."""
    box = start(*PYTHON, programs / 'crowd.py', GOOD, '80', '2000', 'quiet', '1.5')
    time.sleep(1.2)
    assert memory_of(box.egress) < 4096 + 40 * 1024
    assert box.end() == (0, f'2000\n{GOOD} over http\n', '')


def test_descriptors_that_run_out_do_not_make_it_run_in_circles(start, programs, internet):
    """accept() failed, and was tried again at once, for ever."""
    box = start(*PYTHON, programs / 'crowd.py', 'echo.good.example', '7', '250', 'quiet', '2',
                domains=['echo.good.example:7'], before=('sh', '-c', 'ulimit -n 300; exec "$@"', '-'))
    assert busy_seconds(box, 1.8) < 0.5
    assert box.end()[:2] == (0, '250\ndone\n')


@pytest.mark.parametrize('name, port, lines', [
    ('echo.good.example', 7, ['send 0161', 'wait', 'urgent 62', 'send 63', *['pause'] * 30]),
    ('echo.good.example', 7, ['send 0161', 'wait', 'urgent 6263', *['pause'] * 30]),
    (GOOD, 80, ['send ' + b'GET / HT'.hex(), 'urgent ' + b'T'.hex(), 'send ' + b'P/1.1'.hex(), *['pause'] * 30]),
    ('127.0.0.1', 3128, ['send ' + b'GET '.hex(), 'urgent ' + b'h'.hex(), 'send ' + b'ttp'.hex(), *['pause'] * 30]),
    ('127.0.0.1', 3128, ['send ' + b'GET '.hex(), 'end', *['pause'] * 30]),
], ids=['stream', 'stream-last', 'head', 'proxy', 'proxy-and-the-end'])
def test_urgent_byte_does_not_make_it_run_in_circles(start, programs, internet, name, port, lines, workspace):
    """splice() does not pass an urgent byte, and a peek stops at it, while poll() says that there is something."""
    (workspace / 'lines').write_text(''.join(f'{line}\n' for line in lines))
    box = start('sh', '-c', f'read -r go; exec {" ".join(PYTHON)} {programs}/say.py {name} {port} <lines',
                domains=[GOOD if port == 3128 else f'{name}:{port}'], waits=True)
    assert busy_seconds(box, 1.2) < 0.3
    code, said, _ = box.end()
    assert code == 0
    if port == 7:
        assert said.startswith('\1ab')      # it came, in its place


def test_urgent_byte_of_a_server_does_not_make_it_run_in_circles(start, programs, internet, workspace):
    """In an answer that is looked at before it passes."""
    def answer(connection, _):
        connection.recv(65536)
        connection.sendall(b'\x16\3')
        connection.send(b'\3', socket.MSG_OOB)
        connection.sendall(b'\0')
        time.sleep(3)
    internet.make_place('odd.good.example', (443, answer))
    (workspace / 'lines').write_text(f'send {hello("odd.good.example").hex()}\n' + 'pause\n' * 30)
    box = start('sh', '-c', f'exec {" ".join(PYTHON)} {programs}/say.py odd.good.example 443 <lines', domains=['odd.good.example'])
    assert busy_seconds(box, 1.2) < 0.3
    box.end()


def test_slow_clients_do_not_keep_another_waiting(start, programs, internet):
    box = start(*PYTHON, programs / 'crowd.py', GOOD, '80', '200', 'slow', '1.5')
    assert busy_seconds(box, 1) < 0.5
    assert box.end()[:2] == (0, f'200 {GOOD} over http\n')


def test_twenty_thousand_names(start, programs, internet):
    box = start(*PYTHON, programs / 'crowd.py', 'good.example', '0', '20000', 'names', '0', domains=['*.good.example'])
    most = 0
    while box.process.poll() is None:
        with contextlib.suppress(OSError, KeyError, ValueError):
            most = max(most, memory_of(box.egress))
        time.sleep(0.05)
    code, said, complaints = box.end()
    assert (code, said) == (0, '20000 [0, 2]\n') and most < 8192
    assert 'the box has asked for too many names' in complaints and len(complaints.splitlines()) < 200
    assert internet.names.queries == []


def test_twenty_thousand_names_that_are_not_allowed(start, programs, internet):
    box = start(*PYTHON, programs / 'crowd.py', 'other.example', '0', '20000', 'names', '0')
    code, said, complaints = box.end()
    assert (code, said) == (0, '20000 [3]\n')
    assert len(complaints.splitlines()) < 200
    assert internet.names.queries == []


def test_large_packets_to_the_name_server(start, programs, internet):
    box = start(*PYTHON, programs / 'crowd.py', GOOD, '80', '500', 'packets', '0')
    assert box.end()[:2] == (0, f'{GOOD} over http\n')


# Its death.

def test_box_without_egress_has_no_network(start, internet, workspace):
    """And never an open one; the command goes on, and ends as it ends."""
    line = (f'{WAIT_FOR_FILE} curl -sS --max-time 5 http://{GOOD}/; curl -sS --max-time 5 http://10.0.0.1/; '
            f'curl -sS --max-time 5 -x http://127.0.0.1:3128 http://{GOOD}/; exit 7')
    box = start('sh', '-c', line)
    until(lambda: status_of(box.egress)['Seccomp'] == '2')
    time.sleep(0.2)
    os.kill(box.egress, signal.SIGKILL)
    until(lambda: is_gone(box.egress))
    (workspace / 'go').touch()
    code, said, complaints = box.end()
    assert (code, said) == (7, '') and NO_NETWORK in complaints, complaints
    internet.settle()
    assert internet.visits == [] and internet.names.queries == []


@pytest.mark.parametrize('kind', [signal.SIGKILL, signal.SIGTERM], ids=['kill', 'term'])
def test_nothing_is_left_when_the_front_is_killed(start, kind):
    box = start('sleep', '60')
    until(lambda: status_of(box.egress)['Seccomp'] == '2')
    box.process.send_signal(kind)
    box.process.wait(10)
    until(lambda: is_gone(box.egress))


# What somebody would have who took it over.

def test_egress_is_confined(start, is_root):
    box = start('sleep', '2')
    status = until(lambda: (found := status_of(box.egress))['Seccomp'] == '2' and found)
    assert status['NoNewPrivs'] == '1'
    assert {status[name] for name in ('CapInh', 'CapPrm', 'CapEff', 'CapAmb')} == {'0' * 16}
    if not is_root:     # it is undumpable: its own user cannot look
        with pytest.raises(PermissionError):
            os.listdir(f'/proc/{box.egress}/fd')
        return
    assert pathlib.Path(f'/proc/{box.egress}/environ').read_bytes() == b''
    links = [os.readlink(f'/proc/{box.egress}/fd/{number}') for number in os.listdir(f'/proc/{box.egress}/fd')]
    kinds = 'socket:', 'pipe:', 'anon_inode:[event', '/dev/null'
    assert [link for link in links if not link.startswith(kinds)] == []


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


def test_boxes_do_not_reach_each_other(start, boxed, outside, workspace, internet):
    """Neither what a neighbour listens at, nor a name of its own; its address for the same number is another's."""
    neighbour = start(*PYTHON, '-c', LISTEN, OTHER, domains=[OTHER])
    until((workspace / 'ready').exists)
    result = boxed(*PYTHON, '-c', REACH, OTHER, domains=[GOOD])
    reached, name = result.stdout.splitlines()
    assert set(reached.split()) <= {'ConnectionRefusedError', 'ConnectionResetError', 'PermissionError'}, reached
    assert 'not known' in name
    assert neighbour.end()[:2] == (0, '198.18.0.2\n')
    assert internet.visits == []
