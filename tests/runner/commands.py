"""Starts commands, ends all of them at once, and keeps two runs on one machine out of each other's way."""
import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import sys
import threading

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
BUILD = os.path.abspath(os.environ.get('RINGWALL_BUILD') or f'{TOP}/build')
COMMAND_LIMIT = 6 * 3600        # seconds; virtual machines and a million random decisions take hours
MACHINE_LOCK = '/tmp/.test-runs-on-this-machine'

# No account has one of these numbers: Debian gives 1000-59999 to people and daemons.
ORDINARY_USERS = range(64123, 64139)

_groups = set()                 # of the commands that run now
_stopped = threading.Event()    # set once: nothing more is started


def run(command, on_line=None, limit=COMMAND_LIMIT, **options):
    """Runs a command to its end and returns its status and output. on_line is called with each line."""
    if _stopped.is_set():
        return -signal.SIGKILL, 'stopped before it began\n'
    process = subprocess.Popen(command, cwd=options.pop('cwd', TOP), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True, **options)
    _groups.add(process.pid)
    timer = threading.Timer(limit, os.killpg, (process.pid, signal.SIGKILL))
    timer.start()
    lines = []
    try:
        for line in process.stdout:
            lines.append(line.decode(errors='replace'))
            if on_line:
                on_line(lines[-1])
        status = process.wait()
    finally:
        timer.cancel()
        _end_group(process.pid)
        _groups.discard(process.pid)
    if status == -signal.SIGKILL:
        lines.append(f'killed, perhaps because it took more than {limit} seconds\n')
    return status, ''.join(lines)


def _end_group(group):
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _stop(*_):
    """Ends the commands in the handler itself: the main thread waits for threads that wait for them."""
    _stopped.set()
    for group in list(_groups):
        _end_group(group)
    raise KeyboardInterrupt


def start_cleanly():
    """Makes up for the way in which the run was started, so that it is the same without a terminal, with closed
    standard streams, ignored or blocked signals, another umask or no locale."""
    while os.open(os.devnull, os.O_RDWR) <= 2:
        pass
    sys.stdin = open(0, closefd=False, encoding='utf-8')   # it is None if 0 was closed
    os.umask(0o022)
    if not {'LANG', 'LC_ALL'} & os.environ.keys():
        os.environ['LANG'] = 'C.UTF-8'
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    # An exec resets a handler to the default, but passes on that a signal is ignored. Python itself ignores the two
    # excepted, and Popen restores them.
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    for number in signal.SIGTERM, signal.SIGHUP, signal.SIGINT:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _stop)


class MachineLock:
    """Shared while suites run that bear company; exclusive while one runs that looks at the whole machine."""

    def __init__(self):
        before = os.umask(0)
        try:
            self.fd = os.open(MACHINE_LOCK, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o444)
        finally:
            os.umask(before)

    def share(self):
        fcntl.flock(self.fd, fcntl.LOCK_SH)

    def take(self):
        fcntl.flock(self.fd, fcntl.LOCK_EX)

    def release(self):
        fcntl.flock(self.fd, fcntl.LOCK_UN)


def reserve_user():
    """A user number that no other run on this machine uses, and the socket whose name reserves it while it is open."""
    for number in ORDINARY_USERS:
        name = socket.socket(socket.AF_UNIX)
        try:
            name.bind(f'\0user-of-a-test-run-{number}')
            return number, name
        except OSError:
            name.close()
    sys.exit(f'run-suites: {len(ORDINARY_USERS)} other runs are under way on this machine')
