"""The launch, with one of its system calls going wrong, or one of its processes killed there: each in turn.

Whatever goes wrong, the box is the box that was asked for, or there is none: 125 and a sentence that says why. Nothing
hangs, and nothing is left. tests/helpers/inject.c does it; its first run lists the calls.

A launch makes some 1000 calls, most of them in loops. A call is tried when its surroundings, the names of the calls before
and after it, are new. RINGWALL_FAULTS=all tries every call.
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

from processes import with_word

pytestmark = pytest.mark.alone      # looks at what is new in /tmp and elsewhere, a thousand times

ERRORS = {
    'EMFILE': 'open openat openat2 socket socketpair open_tree fsopen fsmount signalfd4 landlock_create_ruleset dup dup2 dup3 pipe2',
    'ENOMEM': 'mmap mount_setattr move_mount landlock_add_rule mkdirat mknodat mknod symlinkat pread64',
    'EAGAIN': 'clone clone3 fork',
    'EINTR': 'wait4',
    'EIO': 'read write readlink newfstatat fstat getdents64 close sendto sendmsg recvfrom recvmsg',
}
ERROR_OF = {call: error for error, calls in ERRORS.items() for call in calls.split()}
# These have no way to say that they failed.
NEVER_FAIL = {'brk', 'exit_group', 'getegid', 'geteuid', 'getpgrp', 'getpid', 'getppid', 'rt_sigreturn'}

# What a command in a box can find out about its walls without starting another program, which would take longer.
PROBE = '''
exec 2>/dev/null
steal() { x=; read -r x < "$1"; test "$x" && echo "$1 read"; }
harm() { echo evil > "$1" && echo "$1 written"; }
for f in ~/secret closed/a alias/a other/a deep/er/k.pem /etc/shadow /proc/keys /proc/kmsg /proc/1/environ; do steal "$f"; done
for f in ../../planted .git/hooks/pre-commit .git/config .vscode/x closed/open/a /etc/planted /dev/planted; do harm "$f"; done
kill -0 $OUTSIDE && echo "$OUTSIDE can be reached"; test -e /proc/$OUTSIDE && echo "$OUTSIDE can be seen"
steal closed/open/a; harm made; harm /tmp/made; echo $PPID $SECRET "$PWD" /proc/self/fd/*
test -t 1 && test /proc/self/fd/1 -ef /dev/pts/0 && echo its own terminal
while read -r key value; do case $key in Cap*|NoNew*|Seccomp:|Groups:) echo "$key $value";; esac; done < /proc/self/status
while read -r id parent device root point options rest; do echo "$point $options"; done < /proc/self/mountinfo
while read -r name rest; do case $name in *:) echo "$name";; esac; done < /proc/self/net/dev
read -r name < /proc/sys/kernel/hostname; echo "$name"; ulimit -u; umask
if test -z "$ALONE"; then sleep 300 & fi; echo ran
'''


class Host:
    """Something worth attacking, and ringwall started on it with a fault."""

    def __init__(self, build, folder, *flags, terminal=False):
        self.inject, self.folder, self.terminal = build / 'tests/helpers/inject', folder, terminal
        home, work = folder / 'home', folder / 'home/work'
        for path in (work / 'closed/open', work / 'other', work / 'deep/er', work / '.git/hooks', work / '.vscode'):
            path.mkdir(parents=True)
        for name in ('secret', 'work/closed/a', 'work/closed/open/a', 'work/other/a', 'work/deep/er/k.pem', 'work/.git/config',
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
        """Returns the exit status (None: it hangs), what was said, the calls that were written down, and what still runs."""
        log = self.folder / f'log-{next(self.runs)}'
        command = [self.inject, log, place, action, '--', *self.command, log]   # which names its processes
        options = {'cwd': self.work, 'env': self.env, 'stderr': subprocess.PIPE, 'text': True}
        for _ in range(3):  # one that hangs does so again; a tracer that lost its way does not
            if self.terminal:
                status, out, err = self.run_on_terminal(command, **options)
            else:
                status, out, err = finish(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **options))
            if status is not None:
                break
        calls = [line.split(' ', 3) for line in log.read_text().splitlines()] if log.exists() else []
        log.unlink(missing_ok=True)
        return status, out, err, calls, still_running(log)

    @staticmethod
    def run_on_terminal(command, **options):
        """Standard input and output are a terminal; it is read when all is over, and holds more than is said."""
        master, slave = pty.openpty()
        process = subprocess.Popen(command, stdin=slave, stdout=slave, start_new_session=True, **options)
        os.close(slave)
        status, _, err = finish(process)
        out = b''
        try:
            while piece := os.read(master, 65536):
                out += piece
        except OSError:   # the end
            pass
        os.close(master)
        return status, out.decode().replace('\r', ''), err

    def traces(self):
        """What could be left behind. Other programs change some of it too; compilers, for example, all the time."""
        names = {f'{place}/{name}' for place in ('/tmp', '/run', '/dev/shm', self.work, self.work.parent, self.work.parents[1])
                 for name in os.listdir(place) if not re.match(r'log-\d+$|cc\w{6}\.|of-a-test-', name)}
        return names | set(pathlib.Path('/proc/self/mountinfo').read_text().splitlines())

    def learn(self):
        """The run in which nothing goes wrong, against which the others are held."""
        status, self.expected, err, calls, running = self.run()
        assert (status, err, running) == (0, '', []) and self.expected.endswith('\nran\n'), (status, self.expected, err)
        assert 'closed/open/a read' in self.expected and 'made written' in self.expected and 'evil' not in self.expected
        # The C library's own start is not ringwall's, which begins with asking where it is. On a terminal, what follows the start is an
        # exchange of bytes, and a line that is cut is nothing unheard of.
        first = next(i for i, call in enumerate(calls) if call[2] == 'getcwd')
        end = next(i for i, call in enumerate(calls) if call[2] == 'execve') + 1 if self.terminal else len(calls)
        self.calls = calls[first:end]

    def places(self, seen, process, width=2):
        """The calls to try, as (process, number, name, text)."""
        calls = [call for call in self.calls if call[0] == process]
        for i, call in enumerate(calls):
            around = tuple(other[2] for other in calls[max(0, i - width):i + width + 1])
            if call[2] not in NEVER_FAIL and (around not in seen or os.environ.get('RINGWALL_FAULTS') == 'all'):
                yield call
            seen.add(around)

    def try_out(self, call, action):
        """What is wrong with the outcome, or None."""
        before = self.traces()
        status, out, err, hit, running = self.run(f'{call[0]}:{call[1]}', action)
        wrong = f'left running: {running}' if running else judge(self.expected, status, out, err, call, action)
        left, end = self.traces() - before, time.monotonic() + 60
        while left and time.monotonic() < end:      # another program's goes, sooner or later
            time.sleep(0.05)
            left &= self.traces()
        wrong = f'left behind: {left}' if left else wrong
        return f'{" ".join(call)} ({action}{"" if hit else ", not reached"}): {wrong}' if wrong else None


def finish(process):
    """Everything that has the command's output open must end, too."""
    try:
        out, err = process.communicate(timeout=10)
        return process.returncode, out, err
    except subprocess.TimeoutExpired:
        process.kill()
        return None, '', ''


def still_running(mark):
    """The processes with this word in their command, after a moment for them to end."""
    for _ in range(200):
        found = with_word(mark)
        if not found:
            break
        time.sleep(0.01)
    return found


def judge(expected, status, out, err, call, action):
    if status is None:
        return 'it hangs'
    if status == 0:
        return None if out == expected and not err else f'not the same box: {difference(expected, out)} {err}'
    if action == 'kill=front' and status == 128 + 9:
        return None if set(out.splitlines()[:-1]) <= set(expected.splitlines()) else f'not the same box: {difference(expected, out)}'
    if action.startswith('kill=') or call[0] != 'command' or status not in (126, 127):
        if status != 125:
            return f'it ends with {status}: {err}'
    return None if re.match(r'ringwall run: \w|.*error: \w', err) else f'{status} without a reason: {err!r}'


def difference(expected, found):
    old, new = expected.splitlines(), found.splitlines()
    return [f'-{line}' for line in old if line not in new] + [f'+{line}' for line in new if line not in old]


SCENES = {
    'strict': ['--level', 'strict'],
    'maximum': ['--level', 'maximum'],
    'without exec': ['--env', 'ALONE=1', '-p', '../../without-exec.yaml'],
    'terminal': [],
}
if os.geteuid() != 0:
    SCENES['processes'] = ['--processes', '50']


@pytest.fixture(scope='module')
def hosts(build, tmp_path_factory):
    made = {}

    def host(name):
        if name not in made:
            made[name] = Host(build, tmp_path_factory.mktemp('host'), *SCENES[name], terminal=name == 'terminal')
            made[name].learn()
        return made[name]
    yield host
    for each in made.values():
        each.close()


@pytest.fixture(scope='module')
def seen():
    """Surroundings that were tried, for each action."""
    return {}


def try_all(calls, attempt):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = [text for text in pool.map(attempt, calls) if text]
    assert not wrong, f'{len(wrong)} of {len(calls)}:\n' + '\n'.join(wrong)


@pytest.mark.parametrize('process', ['front', 'keeper', 'command'])
@pytest.mark.parametrize('scene', SCENES)
def test_a_call_that_fails_changes_nothing_or_ends_the_launch(hosts, seen, scene, process):
    host = hosts(scene)
    try_all(list(host.places(seen.setdefault(process, set()), process)),
            lambda call: host.try_out(call, ERROR_OF.get(call[2], 'EPERM')))


@pytest.mark.parametrize('process', ['front', 'keeper', 'command'])
@pytest.mark.parametrize('victim', ['front', 'keeper'])
@pytest.mark.parametrize('scene', SCENES)
def test_killed_at_any_call_nothing_is_left(hosts, seen, scene, victim, process):
    host = hosts(scene)
    try_all(list(host.places(seen.setdefault((victim, process), set()), process, width=1)),
            lambda call: host.try_out(call, f'kill={victim}'))
