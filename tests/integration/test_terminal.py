"""`ringwall run` in a terminal. The command gets its own terminal, with the size of the person's terminal and with job
control. Afterwards the person's terminal is as it was before, however the command ended.
"""
import contextlib
import fcntl
import hashlib
import os
import pty
import re
import secrets
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

from procfs import with_word

TIOCSTI = 0x5412    # puts a character into the input of a terminal
TIMEOUT = 20


class Terminal:
    """A terminal and the process in it. type() is the keyboard, and .shown is the output since the last expect()."""

    def __init__(self, rows=24, columns=80):
        self.master, self.slave = pty.openpty()
        self.shown = b''
        self.resize(rows, columns)
        self.modes = termios.tcgetattr(self.slave)
        self.process = None
        self.history = b''     # all output, also what expect() has removed from .shown

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack('4H', rows, columns, 0, 0))

    def start(self, command, **options):
        """Starts a command as a terminal emulator does: as the leader of a session with this controlling terminal."""
        def take_terminal():
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
        for name in 'stdin', 'stdout', 'stderr':
            options.setdefault(name, self.slave)
        self.process = subprocess.Popen(command, preexec_fn=take_terminal, **options)
        return self.process

    def type(self, text):
        os.write(self.master, text.encode() if isinstance(text, str) else text)

    def look(self, seconds=0.0):
        """Waits up to this time for output and adds it to .shown and .history. Returns whether there was any."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        with contextlib.suppress(OSError):
            output = os.read(self.master, 65536)
            self.shown += output
            self.history += output
        return True

    def expect(self, pattern):
        """Waits for the pattern in the output. Removes everything up to its end from .shown."""
        end = time.monotonic() + TIMEOUT
        while not (match := re.search(pattern.encode(), self.shown, re.S)):
            if time.monotonic() > end:
                raise AssertionError(f'{pattern!r} is not in {self.shown[-2000:]!r}')
            self.look(0.1)
        self.shown = self.shown[match.end():]
        return match

    def wait(self):
        """Waits until the process exits. Returns its status. The time allowed starts anew with each output."""
        end = time.monotonic() + TIMEOUT
        while self.process.poll() is None:
            assert time.monotonic() < end, f'the process does not exit: {self.shown[-2000:]!r}'
            if self.look(0.05):
                end = time.monotonic() + TIMEOUT
        while self.look(0.05):
            pass
        return self.process.returncode

    def is_raw(self):
        return not termios.tcgetattr(self.slave)[3] & termios.ICANON

    def wait_for_raw(self, raw=True):
        end = time.monotonic() + TIMEOUT
        while self.is_raw() != raw:
            assert time.monotonic() < end, f'raw: {not raw}; {self.shown!r}'
            self.look(0.02)

    def is_restored(self):
        return termios.tcgetattr(self.slave) == self.modes

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
        os.close(self.master)
        os.close(self.slave)
        if self.process:
            self.process.wait()


@pytest.fixture
def terminal():
    created = Terminal()
    yield created
    created.close()


@pytest.fixture
def variables(home):
    return {'HOME': str(home), 'PATH': '/usr/local/bin:/usr/bin:/bin', 'LANG': 'C.UTF-8', 'TERM': 'xterm', 'PS1': '$ '}


@pytest.fixture
def run(terminal, build, workspace, variables):
    """Starts `ringwall run -- command` in the terminal: run('sh', '-c', …, flags=[…], stdin=…)."""
    def start(*command, flags=(), **options):
        return terminal.start([build / 'ringwall', 'run', *flags, '--', *command], cwd=workspace, env=variables,
                              **options)
    return start


@pytest.fixture
def shell(terminal, build, workspace, variables):
    """An interactive bash in the terminal, with a function `r` that runs ringwall. Every command is typed."""
    terminal.start(['bash', '--norc', '--noprofile', '--noediting', '-i'], cwd=workspace, env=variables)
    terminal.expect(r'\$ ')
    # Without line editing, bash does not change the modes: at the prompt they are as ringwall left them.
    terminal.type(f"r() {{ {build / 'ringwall'} run -- \"$@\"; }}; stty -echo\n")
    terminal.expect(r'\$ ')
    terminal.modes = termios.tcgetattr(terminal.slave)
    return terminal


# The command's terminal.

def test_command_has_a_terminal_of_its_own(terminal, run):
    outside = os.stat(os.ttyname(terminal.slave)).st_rdev
    run('sh', '-c', 'tty; test -t 0 && test -t 1 && test -t 2 && echo three; stat -Lc %Hr:%Lr /proc/self/fd/0; ls '
                    '/dev/pts')
    assert terminal.wait() == 0
    name, three, device, listing = terminal.shown.decode().split('\r\n')[:4]
    assert (name, three) == ('/dev/pts/0', 'three')
    assert listing.split() == ['0', 'ptmx']
    assert device.startswith('136:')
    assert os.major(outside) == 136


def test_dev_tty_can_be_written_and_read(terminal, run):
    run('sh', '-c', 'echo question >/dev/tty; read answer </dev/tty; echo "got $answer"', stdin=subprocess.DEVNULL)
    terminal.expect('question')
    terminal.wait_for_raw()
    terminal.type('forty\n')
    terminal.expect('got forty')
    assert terminal.wait() == 0
    assert terminal.is_restored()


def test_without_a_terminal_dev_tty_cannot_be_opened(terminal, run):
    """The standard streams are not terminals, but ringwall itself still has the person's controlling terminal."""
    process = run('sh', '-c', 'echo leaked >/dev/tty', stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                  stderr=subprocess.PIPE)
    _, errors = process.communicate(timeout=TIMEOUT)
    assert process.returncode != 0
    assert b'/dev/tty' in errors
    terminal.look()
    assert terminal.shown == b''


def test_modes_are_those_of_the_persons_terminal(terminal, run):
    modes = termios.tcgetattr(terminal.slave)
    modes[6][termios.VINTR] = b'\x18'
    modes[3] &= ~termios.ECHOE
    termios.tcsetattr(terminal.slave, termios.TCSANOW, modes)
    run('stty', '-a')
    assert terminal.wait() == 0
    assert b'intr = ^X' in terminal.shown
    assert b' -echoe ' in terminal.shown


def test_size_and_its_changes_are_passed_on(terminal, run):
    terminal.resize(33, 101)
    run('bash', '-c', 'trap "stty size; exit" WINCH; stty size; while :; do sleep 0.05; done')
    terminal.expect('33 101\r\n')
    terminal.resize(44, 55)
    terminal.expect('44 55\r\n')
    assert terminal.wait() == 0


@pytest.mark.parametrize('command, status', [
    ('exit 0', 0), ('exit 7', 7), ('kill -KILL $$', 137), ('kill -TERM $$', 143), ('exec /nowhere', 127)])
def test_exit_status_is_passed_on_and_the_terminal_restored(terminal, run, command, status):
    run('sh', '-c', command)
    assert terminal.wait() == status
    assert terminal.is_restored()


def test_after_a_command_that_cannot_be_started_the_terminal_is_restored(terminal, run):
    run('no-such-command')
    assert terminal.wait() == 127
    assert b'no-such-command' in terminal.shown
    assert terminal.is_restored()


# Output and input.

def test_lot_of_output_is_complete(terminal, run):
    last = 200000
    run('seq', str(last))
    terminal.wait()
    assert terminal.shown.replace(b'\r\n', b'\n') == b''.join(b'%d\n' % i for i in range(1, last + 1))


def test_output_of_a_killed_command_is_complete(terminal, run):
    for _ in range(20):
        run('sh', '-c', 'printf "%2000s\n" | tr " " x; kill -9 $$')
        assert terminal.wait() == 137
        assert terminal.shown == b'x' * 2000 + b'\r\n'
        terminal.shown = b''


def test_lot_of_input_is_complete(terminal, run):
    run('sh', '-c', 'stty raw -echo; echo ready; head -c 300000 | md5sum')
    terminal.expect('ready')
    for _ in range(300):
        terminal.type(b'x' * 1000)
        terminal.look()
    terminal.expect(hashlib.md5(b'x' * 300000).hexdigest())
    assert terminal.wait() == 0


def test_every_byte_is_passed_on_if_the_command_sets_raw_mode(terminal, run):
    run('sh', '-c', 'stty raw -echo; echo ready; head -c 256 | od -An -v -tu1 | tr -d "\\n"')
    terminal.expect('ready')
    terminal.type(bytes(range(256)))
    assert terminal.wait() == 0
    assert [int(word) for word in terminal.shown.split()] == list(range(256))


def test_control_d_ends_the_input(terminal, run):
    run('sh', '-c', 'cat; echo over')
    terminal.wait_for_raw()
    terminal.type('one\n\x04')
    terminal.expect('one\r\none\r\nover')
    assert terminal.wait() == 0


def test_password_is_not_echoed(terminal, run):
    run('python3', '-c', 'import getpass; print("got", getpass.getpass("Password: ")[::-1])')
    terminal.expect('Password: ')
    terminal.wait_for_raw()
    terminal.type('secret\n')
    terminal.expect('got terces')
    assert b'secret' not in terminal.history
    assert terminal.wait() == 0


# Pipes beside the terminal.

def test_input_may_be_a_pipe_and_output_a_terminal(terminal, run):
    process = run('sh', '-c', 'test -t 0 || cat; test -t 1 && echo terminal', stdin=subprocess.PIPE)
    process.stdin.write(b'through\n')
    process.stdin.close()
    assert terminal.wait() == 0
    assert terminal.shown == b'through\r\nterminal\r\n'
    assert terminal.is_restored()


def test_input_may_be_a_terminal_and_output_a_pipe(terminal, run):
    """Until the command reads, ringwall leaves the terminal to the programs at the other end of the pipe."""
    process = run('sh', '-c', 'echo first; test -t 0 && sleep 0.5 && read line && echo "got $line"; test -t 1 || echo '
                              'pipe',
                  stdout=subprocess.PIPE)
    assert process.stdout.readline() == b'first\n'
    assert not terminal.is_raw()
    terminal.wait_for_raw()
    terminal.type('typed\n')
    assert process.stdout.read() == b'got typed\npipe\n'
    assert terminal.wait() == 0
    assert terminal.is_restored()


def test_only_standard_error_may_be_a_terminal(terminal, run):
    process = run('sh', '-c', 'cat; echo error >&2', stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    output, _ = process.communicate(b'through', timeout=TIMEOUT)
    assert output == b'through'
    assert terminal.wait() == 0
    assert terminal.shown == b'error\r\n'


def test_command_gets_sigpipe_when_its_output_is_closed(terminal, run):
    process = run('sh', '-c', 'yes; echo $? >&2', stdout=subprocess.PIPE)
    process.stdout.read(10)
    process.stdout.close()
    terminal.expect('141')
    assert terminal.wait() == 0


# Keys.

def test_control_c_interrupts_only_the_command(shell):
    shell.type("r sh -c 'trap \"echo caught; exit 3\" INT; echo ready; while :; do sleep 0.1; done'\n")
    shell.expect('ready')
    shell.type('\x03')
    shell.expect('caught')
    shell.expect(r'\$ ')
    shell.type('echo status $?\n')
    shell.expect('status 3')
    assert shell.is_restored()


def test_control_backslash_ends_the_command(shell):
    shell.type('r sh -c "ulimit -c 0; echo ready; exec sleep 60"\n')
    shell.expect('ready')
    shell.type('\x1c')
    shell.expect(r'\$ ')
    shell.type('echo status $?\n')
    shell.expect('status 131')


def test_control_c_ends_a_pipeline(shell):
    """In a pipeline the terminal is not raw: the key sends SIGINT to ringwall's process group, and ringwall forwards
    it."""
    shell.type('r sh -c "echo ready >&2; exec sleep 60" | cat; echo status ${PIPESTATUS[0]}\n')
    shell.expect('ready')
    assert shell.is_restored()
    shell.type('\x03')
    shell.expect(r'\$ ')
    shell.type('echo alive\n')
    shell.expect('alive')


def test_stopped_command_continues_in_the_foreground(shell):
    shell.type("r sh -c 'echo ready; read a; echo \"first $a\"; read b; echo \"second $b\"'\n")
    shell.expect('ready')
    shell.type('one\n')
    shell.expect('first one')
    for _ in range(3):
        shell.type('\x1a')
        shell.expect('Stopped.*\\$ ')
        assert shell.is_restored()
        shell.type('echo at the prompt\n')
        shell.expect('at the prompt')
        shell.type('fg\n')
        shell.wait_for_raw()
        time.sleep(0.2)     # in every terminal, ^Z has no effect on a process that is just being continued
    shell.type('two\n')
    shell.expect('second two')
    shell.expect(r'\$ ')
    assert shell.is_restored()


def answer_background_job(shell):
    """The background job was stopped when it tried to read. In the foreground it reads a line and exits."""
    time.sleep(0.3)
    shell.type('jobs\n')
    shell.expect('Stopped.*\\$ ')
    shell.type('fg\n')
    shell.wait_for_raw()
    shell.type('it\n')
    shell.expect('got it')
    shell.expect(r'\$ ')
    assert shell.is_restored()


def test_stopped_command_continues_in_the_background(shell):
    """In the background it runs until it reads from the terminal; then it is stopped, as any job is."""
    shell.type("r sh -c 'echo ready; sleep 2; echo \"after\"; read a; echo \"got $a\"'\n")
    shell.expect('ready')
    time.sleep(0.5)     # in every terminal, ^Z does not stop a shell that is between vfork and the exec of its child
    shell.type('\x1a')
    shell.expect('Stopped.*\\$ ')
    shell.type('bg\n')
    shell.expect('after')
    assert shell.is_restored()
    answer_background_job(shell)


def test_command_may_be_started_in_the_background(shell):
    shell.type("r sh -c 'echo \"from behind\"; read a; echo \"got $a\"' &\n")
    shell.expect('from behind\r\n')
    assert shell.is_restored()
    time.sleep(0.3)
    shell.type('jobs\n')
    shell.expect('Stopped.*\\$ ')
    shell.type('fg\n')
    shell.wait_for_raw()
    shell.type('it\n')
    shell.expect('got it')


def test_control_z_stops_a_whole_pipeline(shell):
    shell.type('r sh -c "echo ready >&2; sleep 1; echo done" | cat\n')
    shell.expect('ready')
    time.sleep(0.5)     # as in test_stopped_command_continues_in_the_background
    shell.type('\x1a')
    shell.expect('Stopped.*\\$ ')
    shell.type('fg\n')
    shell.expect('done')
    shell.expect(r'\$ ')
    assert shell.is_restored()


def test_shell_in_the_box_has_job_control(shell):
    shell.type('r env PS1="inside> " bash --norc --noediting -i\n')
    shell.expect('inside> ')
    shell.type('stty -echo; sleep 60\n')
    time.sleep(0.5)
    shell.type('\x1a')
    shell.expect('Stopped.*inside> ')
    shell.type('fg\n')
    time.sleep(0.3)
    shell.type('\x03')
    shell.expect('inside> ')
    shell.type('suspend\n')
    shell.expect('Stopped.*\\$ ')
    shell.type('fg\n')
    shell.wait_for_raw()
    shell.type('echo $((6*7)); exit 9\n')
    shell.expect('42')
    shell.expect(r'\$ ')
    shell.type('echo status $?\n')
    shell.expect('status 9')
    assert shell.is_restored()


# Signals and timeouts.

@pytest.mark.parametrize('name, status', [('TERM', 143), ('HUP', 129), ('INT', 130), ('USR1', 138)])
def test_signals_reach_the_command_and_the_terminal_is_restored(terminal, run, name, status):
    process = run('sh', '-c', 'echo ready; exec sleep 60')
    terminal.expect('ready')
    terminal.wait_for_raw()
    process.send_signal(signal.Signals[f'SIG{name}'])
    assert terminal.wait() == status
    assert terminal.is_restored()


@pytest.mark.parametrize('name', ['ALRM', 'SEGV', 'ABRT', 'XCPU', 'RTMIN'])
def test_terminal_is_restored_when_a_signal_kills_ringwall(terminal, run, name):
    number = signal.Signals[f'SIG{name}']
    process = run('sh', '-c', 'ulimit -c 0; echo ready; exec sleep 60')
    terminal.expect('ready')
    terminal.wait_for_raw()
    process.send_signal(number)
    assert terminal.wait() == -number
    assert terminal.is_restored()


def test_after_a_timeout_the_terminal_is_restored(terminal, run):
    run('sh', '-c', 'echo ready; exec sleep 60', flags=['--timeout', '1'])
    terminal.expect('ready')
    assert terminal.wait() == 124
    assert terminal.is_restored()


def test_timeout_also_ends_a_stopped_command(shell, build):
    """A command that stops itself, and ringwall with it, gets no extra time."""
    shell.type(f'{build}/ringwall run --timeout 2 -- sh -c "echo ready; kill -STOP \\$\\$"\n')
    shell.expect('ready')
    shell.expect('Stopped.*\\$ ')
    time.sleep(2.5)
    shell.type('jobs; echo end\n')
    shell.expect('Exit 124.*end')
    assert shell.is_restored()


def foreground_of(shell):
    """The foreground process group of the terminal; the master end may ask for it."""
    return struct.unpack('i', fcntl.ioctl(shell.master, termios.TIOCGPGRP, b'\0' * 4))[0]


# Not a shell script with `sleep`: no terminal can stop a shell between vfork and exec.
TICK = """
import time
while True:
    with open('ticks', 'a', encoding='ascii') as file:
        file.write('x')
    print('ready', flush=True)
    time.sleep(0.05)
"""


def test_sigtstp_to_ringwall_stops_the_command(shell, workspace):
    (workspace / 'tick.py').write_text(TICK)
    shell.type('r python3 tick.py\n')
    shell.expect('ready')
    shell.wait_for_raw()
    os.kill(foreground_of(shell), signal.SIGTSTP)
    shell.expect('Stopped.*\\$ ')
    assert shell.is_restored()
    before = (workspace / 'ticks').stat().st_size
    time.sleep(0.3)
    assert (workspace / 'ticks').stat().st_size == before
    shell.type('fg\n')
    shell.wait_for_raw()
    deadline = time.monotonic() + 10
    while (workspace / 'ticks').stat().st_size == before and time.monotonic() < deadline:
        shell.look()
    assert (workspace / 'ticks').stat().st_size > before
    shell.type('\x03')
    shell.expect(r'\$ ')


def test_stop_signal_is_ignored_if_no_shell_could_continue_the_command(terminal, run):
    """Here ringwall is the session leader: its process group is orphaned, and the kernel does not stop such a group."""
    run('sh', '-c', 'echo ready; kill -TSTP $$; echo on')
    terminal.expect('ready.*on')
    assert terminal.wait() == 0
    assert terminal.is_restored()


def test_closing_the_terminal_ends_the_command(terminal, run):
    process = run('sh', '-c', 'echo ready; exec sleep 60')
    terminal.expect('ready')
    os.close(terminal.master)
    os.close(terminal.slave)
    assert process.wait(timeout=TIMEOUT) == 129
    terminal.master, terminal.slave = pty.openpty()


def test_no_process_is_left_when_ringwall_is_killed(terminal, run):
    mark = f'61.{secrets.randbelow(10 ** 12):012}'
    process = run('sh', '-c', f'echo ready; exec sleep {mark}')
    terminal.expect('ready')
    process.kill()
    process.wait()
    end = time.monotonic() + TIMEOUT
    while with_word(mark):
        assert time.monotonic() < end
        time.sleep(0.05)


# Attacks by the command.

TYPIST = f'''
import fcntl, os
for fd in 0, 1, 2, os.open("/dev/tty", os.O_RDWR):
    for letter in b"echo evil\\n":
        try:
            fcntl.ioctl(fd, {TIOCSTI}, bytes([letter]))
            print("typed")
        except OSError as error:
            print(error.strerror)
'''


def test_command_cannot_type_into_the_persons_shell(shell, workspace):
    (workspace / 'typist.py').write_text(TYPIST)
    shell.type('r python3 typist.py; echo "end"\n')
    shell.expect('end')
    shell.expect(r'\$ ')
    time.sleep(0.3)
    shell.look()
    assert b'evil' not in shell.history
    assert b'typed' not in shell.history and b'Operation not permitted' in shell.history


def test_input_that_the_command_did_not_read_is_not_left_for_the_shell(shell):
    """A program can query the terminal and exit. The terminal's reply then arrives as if it had been typed."""
    shell.type("r sh -c 'echo question; sleep 0.2'\n")
    shell.expect('question')
    shell.wait_for_raw()
    shell.type('echo evil\n')
    shell.expect(r'\$ ')
    time.sleep(0.3)
    shell.look()
    assert not re.search(rb'^evil', shell.shown, re.M)


def test_modes_that_the_command_sets_do_not_reach_the_persons_terminal(terminal, run):
    run('sh', '-c', 'stty -echo -icanon -opost; echo done')
    assert terminal.wait() == 0
    assert terminal.is_restored()
