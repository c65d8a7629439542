"""A box whose guards are killed, stopped, or short of resources: a denied write never happens."""
import contextlib
import os
import pathlib
import resource
import signal
import subprocess
import time

import pytest

from procfs import with_word

LEVELS = ['standard', 'strict', 'maximum']
LOOP = 'echo x > free; echo ready; while :; do echo y > denied; echo z > free$i; i=$((i + 1)); done 2>/dev/null'


def children(pid):
    return [int(word) for word in pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text().split()]


def guards_of(ringwall):
    """The pids of the guards. Waits for two: the first guard forks the second as soon as it runs."""
    keeper, = children(ringwall)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        found = [pid for pid in children(keeper) if pathlib.Path(f'/proc/{pid}/comm').read_text() == 'rw-guard\n']
        if len(found) >= 2:
            return found
        time.sleep(0.01)
    raise AssertionError('no guards')


@pytest.fixture
def start(build, home, workspace):
    """Starts a box and waits for its first line: start(level, script, flag…)."""
    with contextlib.ExitStack() as cleanup:
        def start_box(level, script, *flags):
            process = subprocess.Popen(
                [build / 'ringwall', 'run', '--level', level, '--deny-write', 'denied', *flags, '--', 'sh', '-c',
                 script], cwd=workspace,
                env={'HOME': str(home), 'PATH': '/usr/bin:/bin'}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True)
            cleanup.callback(process.communicate)
            cleanup.callback(process.kill)
            assert process.stdout.readline() == 'ready\n', process.stderr.read()
            return process
        yield start_box


@pytest.mark.parametrize('level', LEVELS)
def test_killing_a_guard_ends_the_box(start, workspace, level):
    mark = f'7{os.getpid()}'
    process = start(level, f'sleep {mark} & {LOOP}')
    os.kill(guards_of(process.pid)[-1], signal.SIGKILL)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 125 and 'has ended, so the box was killed' in err
    assert with_word(mark) == [] and not (workspace / 'denied').exists()


@pytest.mark.parametrize('level', LEVELS)
def test_nothing_is_written_while_the_guards_are_stopped(start, workspace, level):
    """Calls that no guard checks still work. Once the guards run again, so do all others."""
    process = start(level, 'echo ready; while [ ! -e go ]; do :; done; echo going; echo y > new; (echo z > denied); '
                           'echo end')
    guards = guards_of(process.pid)
    for pid in guards:
        os.kill(pid, signal.SIGSTOP)
    (workspace / 'go').touch()
    assert process.stdout.readline() == 'going\n'
    time.sleep(0.2)
    assert os.listdir(workspace) == ['go'] and process.poll() is None
    for pid in guards:
        with contextlib.suppress(ProcessLookupError):   # the box may end as soon as the first one runs again
            os.kill(pid, signal.SIGCONT)
    out, err = process.communicate(timeout=20)
    assert out == 'end\n' and 'cannot create denied' in err and sorted(os.listdir(workspace)) == ['go', 'new']


@pytest.mark.parametrize('level', LEVELS)
def test_timeout_ends_a_box_whose_guards_are_stopped(start, workspace, level):
    mark = f'8{os.getpid()}'
    process = start(level, f'echo ready; sleep {mark} & while :; do echo y > denied; done', '--timeout', '5s')
    for pid in guards_of(process.pid):
        os.kill(pid, signal.SIGSTOP)
    process.communicate(timeout=20)
    assert process.returncode == 124 and with_word(mark) == [] and os.listdir(workspace) == []


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('limit, value', [(resource.RLIMIT_NOFILE, 5), (resource.RLIMIT_NOFILE, 9),
                                          (resource.RLIMIT_AS, 1 << 20),
                                          (resource.RLIMIT_DATA, 1 << 16), (resource.RLIMIT_FSIZE, 0)])
def test_guard_short_of_descriptors_memory_or_file_size_allows_no_denied_write(start, workspace, level, limit, value):
    """Calls fail, or the box ends; the denied file is never written. A guard that survives works again afterwards."""
    process = start(level, 'echo ready; while [ ! -e over ]; do (echo y > denied) 2>/dev/null; (echo z > free) '
                           '2>/dev/null; done; '
                           'echo last > last && cat last')
    before = {pid: resource.prlimit(pid, limit) for pid in guards_of(process.pid)}
    for pid, (_, hard) in before.items():
        resource.prlimit(pid, limit, (value, hard))
    time.sleep(0.2)
    assert not (workspace / 'denied').exists()
    for pid, limits in before.items():
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, limit, limits)
    (workspace / 'over').touch()
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (0, 'last\n') or 'has ended, so the box was killed' in err, err
    assert not (workspace / 'denied').exists()
