"""Launches of a box in which one system call fails, or in which a process is killed at one system call: each in turn.

After every fault either the box has all of its walls, or ringwall exits with 125 and gives a reason. Nothing hangs and
nothing is left behind. tests/helpers/inject_fault.c injects the faults; a run without a fault lists the calls.

A launch makes some 1000 calls, most of them in loops. A call is tried only if the names of the calls around it are a
new sequence. RINGWALL_FAULTS=all tries every call.
"""
import concurrent.futures
import itertools
import os
import pathlib
import pty
import re
import subprocess
import time

import pytest

from procfs import with_word

pytestmark = pytest.mark.alone      # looks at what is new in /tmp and elsewhere, a thousand times

ERRORS = {
    'EMFILE': 'open openat openat2 socket socketpair open_tree fsopen fsmount signalfd4 landlock_create_ruleset dup '
              'dup2 dup3 pipe2',
    'ENOMEM': 'mmap mount_setattr move_mount landlock_add_rule mkdirat mknodat mknod symlinkat pread64',
    'EAGAIN': 'clone clone3 fork',
    'EINTR': 'wait4',
    'EIO': 'read write readlink newfstatat fstat getdents64 close sendto sendmsg recvfrom recvmsg',
}
ERROR_OF = {call: error for error, calls in ERRORS.items() for call in calls.split()}
# These calls cannot fail.
NEVER_FAIL = {'brk', 'exit_group', 'getegid', 'geteuid', 'getpgrp', 'getpid', 'getppid', 'rt_sigreturn'}

# Prints what a command can find out about the walls of its box. Uses only the shell itself: other programs take longer.
PROBE = '''
exec 2>/dev/null
try_read() { x=; read -r x < "$1"; test "$x" && echo "$1 read"; }
try_write() { echo evil > "$1" && echo "$1 written"; }
for f in ~/secret closed/a alias/a other/a deep/er/k.pem /etc/shadow /proc/keys /proc/kmsg /proc/1/environ; do try_read "$f"; done
for f in ../../planted .git/hooks/pre-commit .git/config .vscode/x closed/open/a /etc/planted /dev/planted; do try_write "$f"; done
kill -0 $OUTSIDE && echo "$OUTSIDE can be reached"; test -e /proc/$OUTSIDE && echo "$OUTSIDE can be seen"
try_read closed/open/a; try_write made; try_write /tmp/made; echo $PPID $SECRET "$PWD" /proc/self/fd/*
test -t 1 && test /proc/self/fd/1 -ef /dev/pts/0 && echo its own terminal
while read -r key value; do case $key in Cap*|NoNew*|Seccomp:|Groups:) echo "$key $value";; esac; done < /proc/self/status
while read -r id parent device root point options rest; do echo "$point $options"; done < /proc/self/mountinfo
while read -r name rest; do case $name in *:) echo "$name";; esac; done < /proc/self/net/dev
read -r name < /proc/sys/kernel/hostname; echo "$name"; ulimit -u; umask
if test -z "$ALONE"; then sleep 300 & fi; echo ran
'''


class Host:
    """Files and a process that a box must not reach, and launches of ringwall there, with or without a fault."""

    def __init__(self, build, folder, *flags, terminal=False):
        self.inject, self.folder, self.terminal = build / 'tests/helpers/inject_fault', folder, terminal
        home, work = folder / 'home', folder / 'home/work'
        for path in (work / 'closed/open', work / 'other', work / 'deep/er', work / '.git/hooks', work / '.vscode'):
            path.mkdir(parents=True)
        for name in ('secret', 'work/closed/a', 'work/closed/open/a', 'work/other/a', 'work/deep/er/k.pem',
                     'work/.git/config',
                     'work/made'):
            (home / name).write_text('something\n')
        (work / 'alias').symlink_to('other')
        self.neighbour = subprocess.Popen(['sleep', '1000'])
        self.runs = itertools.count()
        (folder / 'without-exec.yaml').write_text('tools: {modules: {filesystem: }}\n')
        self.command = [build / 'ringwall', 'run', *flags, '--deny-read', 'closed', '--ro', 'closed/open',
                        '--deny-read', '**/*.pem', '--deny-read', 'alias', '--env', f'OUTSIDE={self.neighbour.pid}',
                        '--', 'sh', '-c', PROBE]
        self.env = {'HOME': str(home), 'PATH': '/usr/bin:/bin', 'SECRET': 'something'}
        self.work = work
        self.calls, self.expected = [], None

    def close(self):
        self.neighbour.kill()
        self.neighbour.wait()

    def run(self, place='-', action='-'):
        """Returns the exit status (None if it hangs), output, errors, the calls in the log, and the pids of processes
        that are left."""
        log = self.folder / f'log-{next(self.runs)}'
        command = [self.inject, log, place, action, '--', *self.command, log]   # the log's name marks its processes
        options = {'cwd': self.work, 'env': self.env, 'stderr': subprocess.PIPE, 'text': True}
        for _ in range(2):  # a launch that hangs does so again; a tracer that got stuck does not
            if self.terminal:
                status, out, err = self.run_on_terminal(command, **options)
            else:
                status, out, err = finish(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                                           **options))
            if status is not None:
                break
        calls = [line.split(' ', 3) for line in log.read_text().splitlines()] if log.exists() else []
        log.unlink(missing_ok=True)
        return status, out, err, calls, still_running(log)

    @staticmethod
    def run_on_terminal(command, **options):
        """Runs with a terminal as standard input and output. The terminal is read only after the command has exited:
        its buffer is larger than the output."""
        master, slave = pty.openpty()
        process = subprocess.Popen(command, stdin=slave, stdout=slave, start_new_session=True, **options)
        os.close(slave)
        status, _, err = finish(process)
        out = b''
        try:
            while piece := os.read(master, 65536):
                out += piece
        except OSError:   # EIO: every process has closed the terminal
            pass
        os.close(master)
        return status, out.decode().replace('\r', ''), err

    def names_and_mounts(self):
        """The files and mounts among which a launch could leave something behind. Other programs change them too, so
        temporary files of compilers are left out."""
        names = {f'{top}/{name}' for top in ('/tmp', '/run', '/dev/shm', self.work, self.work.parent,
                                             self.work.parents[1])
                 for name in os.listdir(top) if not re.match(r'log-\d+$|cc\w{6}\.|of-a-test-', name)}
        return names | set(pathlib.Path('/proc/self/mountinfo').read_text().splitlines())

    def record_expected(self):
        """Runs without a fault, and records the calls and the output with which the other runs are compared."""
        status, self.expected, err, calls, running = self.run()
        assert (status, err, running) == (0, '', []) and self.expected.endswith('\nran\n'), (status, self.expected, err)
        assert 'closed/open/a read' in self.expected and 'made written' in self.expected and 'evil' not in self.expected
        # Before getcwd(), ringwall's own first call, the C library starts. On a terminal only the calls up to the
        # command's execve() are tried: after it ringwall copies bytes, and a fault there may cut the output short.
        first = next(i for i, call in enumerate(calls) if call[2] == 'getcwd')
        end = next(i for i, call in enumerate(calls) if call[2] == 'execve') + 1 if self.terminal else len(calls)
        self.calls = calls[first:end]

    def calls_to_try(self, seen, process, width=2):
        """Yields the calls whose context is not in `seen`: [process, number, name, text]."""
        calls = [call for call in self.calls if call[0] == process]
        for i, call in enumerate(calls):
            context = tuple(other[2] for other in calls[max(0, i - width):i + width + 1])
            if call[2] not in NEVER_FAIL and (context not in seen or os.environ.get('RINGWALL_FAULTS') == 'all'):
                yield call
            seen.add(context)

    def check_fault(self, call, action):
        """Runs with this fault. Returns what is wrong with the outcome, or None. Other programs also leave names in /tmp:
        what a box leaves behind, it leaves each time."""
        for _ in range(3):
            wrong, left, hit = self.run_with_fault(call, action)
            if wrong or not left:
                break
        wrong = wrong or (f'left behind: {left}' if left else None)
        return f'{" ".join(call)} ({action}{"" if hit else ", not reached"}): {wrong}' if wrong else None

    def run_with_fault(self, call, action):
        """Returns what is wrong or None, the names and mounts that stay, and whether the call was reached."""
        before = self.names_and_mounts()
        status, out, err, hit, running = self.run(f'{call[0]}:{call[1]}', action)
        wrong = f'left running: {running}' if running else find_failure(self.expected, status, out, err, call, action)
        left, deadline = self.names_and_mounts() - before, time.monotonic() + 20
        while left and time.monotonic() < deadline:     # a killed front's keeper removes the names that it made
            time.sleep(0.05)
            left &= self.names_and_mounts()
        return wrong, left, hit


def finish(process):
    """Waits for the command, and for every process that has its output open. Status None: that took too long."""
    try:
        out, err = process.communicate(timeout=10)
        return process.returncode, out, err
    except subprocess.TimeoutExpired:
        process.kill()
        return None, '', ''


def still_running(mark):
    """The processes with this word in their command line. They get two seconds to exit."""
    for _ in range(200):
        found = with_word(mark)
        if not found:
            break
        time.sleep(0.01)
    return found


def find_failure(expected, status, out, err, call, action):
    if status is None:
        return 'it hangs'
    if status == 0:
        return None if out == expected and not err else f'not the same box: {difference(expected, out)} {err}'
    if action == 'kill=front' and status == 128 + 9:
        same = set(out.splitlines()[:-1]) <= set(expected.splitlines())
        return None if same else f'not the same box: {difference(expected, out)}'
    if action.startswith('kill=') or call[0] != 'command' or status not in (126, 127):
        if status != 125:
            return f'it ends with {status}: {err}'
    return None if re.search(r'^(ringwall run: \w|.*error: \w)', err, re.M) else f'{status} without a reason: {err!r}'


def difference(expected, found):
    old, new = expected.splitlines(), found.splitlines()
    return [f'-{line}' for line in old if line not in new] + [f'+{line}' for line in new if line not in old]


SCENARIOS = {
    'strict': ['--level', 'strict'],
    'maximum': ['--level', 'maximum'],
    'without exec': ['--env', 'ALONE=1', '-p', '../../without-exec.yaml'],
    'terminal': [],
}
if os.geteuid() != 0:
    SCENARIOS['processes'] = ['--processes', '50']


@pytest.fixture(scope='module')
def hosts(build, tmp_path_factory):
    created = {}

    def host(name):
        if name not in created:
            created[name] = Host(build, tmp_path_factory.mktemp('host'), *SCENARIOS[name], terminal=name == 'terminal')
            created[name].record_expected()
        return created[name]
    yield host
    for started in created.values():
        started.close()


@pytest.fixture(scope='module')
def seen():
    """The contexts of calls that were tried, for each action."""
    return {}


def check_all(calls, check):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = [text for text in pool.map(check, calls) if text]
    assert not wrong, f'{len(wrong)} of {len(calls)}:\n' + '\n'.join(wrong)


@pytest.mark.parametrize('process', ['front', 'keeper', 'command'])
@pytest.mark.parametrize('scenario', SCENARIOS)
def test_failing_call_makes_the_launch_fail_or_changes_nothing(hosts, seen, scenario, process):
    host = hosts(scenario)
    check_all(list(host.calls_to_try(seen.setdefault(process, set()), process)),
              lambda call: host.check_fault(call, ERROR_OF.get(call[2], 'EPERM')))


@pytest.mark.parametrize('process', ['front', 'keeper', 'command'])
@pytest.mark.parametrize('victim', ['front', 'keeper'])
@pytest.mark.parametrize('scenario', SCENARIOS)
def test_process_killed_at_any_call_leaves_nothing_behind(hosts, seen, scenario, victim, process):
    host = hosts(scenario)
    check_all(list(host.calls_to_try(seen.setdefault((victim, process), set()), process, width=1)),
              lambda call: host.check_fault(call, f'kill={victim}'))
