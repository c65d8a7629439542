"""Limits of a box: memory, processor time, processes, held by a cgroup; what is told; and that nothing is left of it.

Where a cgroup can be had, limits must hold. Where none can be had, they must be refused. Which of the two it is, the
tests find out from the kernel and not from ringwall.
"""
import contextlib
import os
import pathlib
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pytest

from processes import files_of_all

pytestmark = pytest.mark.alone      # looks for every janitor and every cgroup

CONTROLLERS = {'cpu', 'memory', 'pids'}
ORDINARY_USER = 64124   # nobody's
FORK = '''
import os, sys, time
n = 0
try:
    while n < 99:
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
        n += 1
except OSError as e:
    print(n, e.errno)
sys.exit({code})
'''
HOG = 'x = bytearray(300 << 20); print("survived")'


def top_of_the_tree():
    """Where cgroup2 is mounted, or None."""
    for line in pathlib.Path('/proc/self/mountinfo').read_text().splitlines():
        fields, kind = line.split(' - ')
        if kind.startswith('cgroup2 '):
            return pathlib.Path(fields.split()[4])
    return None


def can_divide(place):
    """Does a cgroup that is made here get the controllers, now or after they were asked for?"""
    name = place / f'asked-{os.getpid()}'
    try:
        if (place / 'cgroup.type').exists() and (place / 'cgroup.procs').read_text():
            return False   # only the whole tree's root may hold processes and divide
        if not os.access(place / 'cgroup.procs', os.W_OK):
            return False
        name.mkdir()
    except OSError:
        return False
    try:
        with contextlib.suppress(OSError):
            (place / 'cgroup.subtree_control').write_text(' '.join(f'+{c}' for c in sorted(CONTROLLERS)))
        return CONTROLLERS <= set((name / 'cgroup.controllers').read_text().split())
    finally:
        name.rmdir()


def has_manager():
    """Does a systemd manager of ours listen, with controllers to give away?"""
    runtime = '/run' if os.geteuid() == 0 else os.environ.get('XDG_RUNTIME_DIR') or f'/run/user/{os.geteuid()}'
    with socket.socket(socket.AF_UNIX) as s:
        try:
            s.connect(f'{runtime}/systemd/private')
        except OSError:
            return False
    top = top_of_the_tree()
    return bool(top) and CONTROLLERS <= set((top / 'cgroup.controllers').read_text().split())


def can_limit():
    top = top_of_the_tree()
    if not top:
        return False
    if os.path.exists('/run/systemd/system'):
        return has_manager()
    own = top / next(line[4:] for line in pathlib.Path('/proc/self/cgroup').read_text().splitlines() if line.startswith('0::/'))
    return any(can_divide(place) for place in (own, own.parent, top) if place.is_relative_to(top))


LIMITED = can_limit()
limited = pytest.mark.skipif(not LIMITED, reason='no cgroup with controllers can be had here')
refused = pytest.mark.skipif(LIMITED, reason='a cgroup can be had here')


def cgroups():
    """All cgroups of ringwall's, now."""
    top = top_of_the_tree()
    return sorted(path for path, _, _ in os.walk(top) if '/ringwall-' in path) if top else []


def janitors():
    return [pid for pid, name in files_of_all('comm') if name in (b'rw-janitor\n', b'rw-scout\n')]


def soon(condition, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


@pytest.fixture(autouse=True)
def nothing_is_left():
    """After every test here: no cgroup of ours, and no janitor. systemd removes its scopes in its own time."""
    assert cgroups() == []
    yield
    if not os.path.exists('/run/systemd/system'):
        assert janitors() == [] and cgroups() == []
    assert soon(lambda: cgroups() == [] and janitors() == []), (cgroups(), janitors())


@pytest.fixture
def start(build, home, workspace):
    """Starts ringwall run and does not wait: start('--memory', '64M', '--', 'true') -> Popen."""
    processes = []

    def run(*arguments, **options):
        env = {'HOME': str(home), 'PATH': '/usr/local/bin:/usr/bin:/bin', **{
            name: os.environ[name] for name in ('XDG_RUNTIME_DIR',) if name in os.environ}}
        options = {'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, **options}
        processes.append(subprocess.Popen([build / 'ringwall', 'run', *arguments], cwd=workspace, env=env, text=True,
                                          stdin=subprocess.DEVNULL, **options))
        return processes[-1]
    yield run
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture
def run(start):
    def wait(*arguments):
        process = start(*arguments)
        out, err = process.communicate(timeout=100)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)
    return wait


# --- memory ---

@limited
def test_a_box_that_wants_too_much_memory_is_killed_and_nobody_else(run):
    other = subprocess.Popen(['sleep', '100'])
    result = run('--memory', '64MiB', '--', 'python3', '-c', HOG)
    assert (result.returncode, result.stdout) == (137, '')
    assert result.stderr == 'ringwall run: the box ran out of memory (limit 64MiB, --memory)\n'
    assert other.poll() is None
    other.kill()
    other.wait()


@limited
def test_all_of_a_box_dies_when_its_memory_is_gone(run):
    mark = f'86397.{secrets.randbelow(10 ** 12):012}'
    result = run('--memory', '64MiB', '--', 'sh', '-c', f"(setsid sleep {mark} &); python3 -c '{HOG}'; echo went on")
    assert (result.returncode, result.stdout) == (137, '') and 'ran out of memory' in result.stderr
    assert subprocess.run(['pgrep', '-f', f'^sleep {mark}'], check=False).returncode == 1


@limited
def test_files_in_the_boxs_own_tmp_count_as_memory(run):
    result = run('--memory', '32MiB', '--', 'sh', '-c', 'head -c 200000000 /dev/zero > /tmp/big; echo went on')
    assert (result.returncode, result.stdout) == (137, '') and 'ran out of memory' in result.stderr


@limited
def test_a_limit_from_a_policy_is_told_with_its_place(run, tmp_path):
    policy = tmp_path / 'policy.yaml'
    policy.write_text('security:\n  sandbox:\n    resources:\n      memory: 48MiB\n')
    result = run('-p', policy, '--', 'python3', '-c', HOG)
    assert result.returncode == 137
    assert re.search(r'out of memory \(limit 48MiB, .*policy\.yaml:4:\d+\)', result.stderr), result.stderr


@limited
@pytest.mark.parametrize('script, code', [('exit 0', 0), ('exit 7', 7), ('kill -9 $$', 137), ('kill -TERM $$', 143)])
def test_an_end_within_the_limits_is_the_commands_own(run, script, code):
    result = run('--memory', '256MiB', '--cpu', '1', '--processes', '50', '--', 'sh', '-c', script)
    assert (result.returncode, result.stdout, result.stderr) == (code, '', '')


@limited
def test_the_smallest_limit_ends_in_words(run):
    result = run('--memory', '1MiB', '--', 'true')
    assert result.returncode in (0, 137) and (result.returncode == 0) == (result.stderr == ''), result


@limited
@pytest.mark.only_root
def test_a_front_that_may_not_be_killed_for_memory_has_a_box_that_may(start):
    def exempt():
        pathlib.Path('/proc/self/oom_score_adj').write_text('-1000')
    process = start('--memory', '64MiB', '--', 'python3', '-c', HOG, preexec_fn=exempt)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (137, '') and 'ran out of memory' in err


# --- processor time ---

@limited
def test_processor_time_is_shared_out(run):
    script = ('import time\nwall, used = time.time(), time.process_time()\nwhile time.time() - wall < 5: pass\n'
              'print((time.process_time() - used) / (time.time() - wall))')
    result = run('--cpu', '0.25', '--', 'python3', '-c', script)
    assert 0.15 < float(result.stdout) < 0.35, result


# --- processes ---

@limited
def test_processes_are_counted_and_the_limit_is_told_after_a_failure(run):
    result = run('--processes', '20', '--', 'python3', '-c', FORK.format(code=3))
    assert (result.returncode, result.stdout) == (3, '19 11\n')
    assert result.stderr == 'ringwall run: the box could not start another process (limit 20, --processes)\n'


@limited
def test_a_command_that_coped_with_the_limit_is_left_in_peace(run):
    result = run('--processes', '20', '--', 'python3', '-c', FORK.format(code=0))
    assert (result.returncode, result.stdout, result.stderr) == (0, '19 11\n', '')


@limited
def test_a_fork_bomb_is_bounded(start):
    process = start('--processes', '30', '--timeout', '5s', '--', 'sh', '-c', 'f() { f | f & }; f; sleep 60')
    most = 0
    while process.poll() is None:
        for path in cgroups():
            with contextlib.suppress(OSError):
                if pathlib.Path(path, 'pids.max').read_text() == '31\n':   # the box's, not a scope around it
                    most = max(most, int(pathlib.Path(path, 'pids.current').read_text()))
        time.sleep(0.02)
    assert process.returncode in (1, 2, 124, 137) and 20 < most <= 31
    process.communicate()


@limited
def test_one_process_is_enough_for_a_command(run):
    assert run('--processes', '1', '--', 'true').returncode == 0


# --- the cgroup ---

def box_of(process):
    """The box's cgroup, once the command runs."""
    assert process.stdout.readline() == 'ready\n'
    return pathlib.Path(max(cgroups(), key=len))


@limited
@pytest.mark.skipif(os.geteuid() == 0 or not has_manager(), reason='no systemd manager of a user')
def test_the_front_lives_in_a_scope_of_the_manager(start):
    process = start('--memory', '64M', '--', 'sh', '-c', 'echo ready; sleep 60')
    assert process.stdout.readline() == 'ready\n'
    place = pathlib.Path(f'/proc/{process.pid}/cgroup').read_text().strip()
    assert re.search(rf'/ringwall-{process.pid}-[0-9a-f]{{8}}\.scope/front$', place)


@limited
def test_every_process_is_inside_and_sees_itself_at_the_root(start):
    process = start('--memory', '64MiB', '--processes', '9', '--cpu', '0.5', '--', 'sh', '-c',
                    'echo ready; cat /proc/self/cgroup; echo; sleep 100')
    box = box_of(process)
    assert (process.stdout.readline(), process.stdout.readline()) == ('0::/\n', '\n')
    assert (box / 'memory.max').read_text() == f'{64 << 20}\n'
    assert (box / 'memory.swap.max').read_text() == '0\n'
    assert (box / 'memory.oom.group').read_text() == '1\n'
    assert (box / 'pids.max').read_text() == '10\n'
    assert (box / 'cpu.max').read_text() == '50000 100000\n'
    assert soon(lambda: (box / 'pids.current').read_text() == '3\n')
    inside = {int(pid) for pid in (box / 'cgroup.procs').read_text().split()}
    children = {int(pid) for pid in pathlib.Path(f'/proc/{process.pid}/task/{process.pid}/children').read_text().split()}
    assert len(inside) == 3 and len(inside & children) == 1   # keeper, sh, sleep; and the keeper is the front's
    assert process.pid not in inside and not inside & set(janitors())


@limited
@pytest.mark.parametrize('flags', [['--rw', '/sys/fs/cgroup'], ['--rw', '/sys']])
def test_a_box_that_could_lift_its_limit_is_refused(run, flags):
    result = run('--memory', '64MiB', *flags, '--', 'echo', 'ran')
    assert (result.returncode, result.stdout) == (125, '') and 'lift the limit' in result.stderr


@limited
def test_inside_there_is_no_way_to_the_cgroup(run):
    script = 'for f in $(find / -name memory.max 2>/dev/null); do echo max > $f && echo lifted; done; ls /sys/fs/cgroup 2>&1 | head -3'
    result = run('--memory', '256MiB', '--', 'sh', '-c', script)
    assert 'lifted' not in result.stdout


@limited
def test_the_janitor_keeps_nothing_open(start):
    process = start('--memory', '64MiB', '--', 'sh', '-c', 'echo ready; sleep 100')
    box_of(process)
    janitor, = janitors()
    files = {name: os.readlink(f'/proc/{janitor}/fd/{name}') for name in os.listdir(f'/proc/{janitor}/fd')}
    assert set(files) == {'0', '1'} and files['0'].startswith('socket:') and '/cgroup' in files['1']
    assert os.getsid(janitor) == janitor and os.readlink(f'/proc/{janitor}/cwd') == '/'


def test_without_limits_there_is_no_janitor_and_no_cgroup(start):
    process = start('--', 'sh', '-c', 'echo ready; sleep 100')
    assert process.stdout.readline() == 'ready\n'
    assert janitors() == [] and cgroups() == []


# --- the end ---

@limited
def test_killing_ringwall_at_any_moment_leaves_no_cgroup(start):
    flags = ['--memory', '64MiB', '--processes', '20', '--cpu', '1', '--']
    begin = time.monotonic()
    assert start(*flags, 'true').wait() == 0
    whole = time.monotonic() - begin
    for i in range(40):
        process = start(*flags, 'sh', '-c', '(setsid sleep 100 &); sleep 100' if i % 2 else 'exit 0')
        time.sleep(whole * i / 40)
        process.kill()
        process.wait()
        assert soon(lambda: cgroups() == [] and janitors() == []), i


@limited
def test_killing_the_janitor_leaves_no_cgroup(start, workspace):
    process = start('--memory', '64MiB', '--', 'sh', '-c', 'echo ready; while [ ! -e go ]; do sleep 0.1; done; exit 4')
    box_of(process)
    os.kill(janitors()[0], signal.SIGKILL)
    (workspace / 'go').touch()
    process.communicate(timeout=20)
    assert process.returncode == 4


@limited
def test_time_that_runs_out_leaves_no_cgroup(run):
    result = run('--memory', '64MiB', '--timeout', '1s', '--', 'sh', '-c', 'trap "" TERM; sleep 60; sleep 60')
    assert result.returncode == 124


@limited
def test_a_command_that_cannot_be_started_leaves_no_cgroup(run):
    assert run('--memory', '64MiB', '--', 'no-such-command').returncode == 127


@limited
def test_many_boxes_at_once(start):
    processes = [start('--memory', '64MiB', '--', 'sh', '-c', 'sleep 0.5; exit 3') for _ in range(8)]
    assert [process.wait(timeout=60) for process in processes] == [3] * 8


# --- an ordinary user in a part of the tree that was given to them ---

@pytest.fixture
def delegated(build):
    """A cgroup that belongs to an ordinary user, with a leaf to live in; and a folder of theirs with ringwall in it."""
    place = top_of_the_tree() / f'given-{os.getpid()}'
    folder = pathlib.Path(tempfile.mkdtemp(prefix='ringwall-test-', dir='/var/tmp'))
    (place / 'leaf').mkdir(parents=True)
    (folder / 'work').mkdir()
    shutil.copy(build / 'ringwall', folder)
    for path in (place, place / 'leaf', place / 'cgroup.procs', place / 'leaf/cgroup.procs', place / 'cgroup.subtree_control',
                 folder, folder / 'work'):
        os.chown(path, ORDINARY_USER, ORDINARY_USER)
    yield place, folder
    shutil.rmtree(folder)
    (place / 'leaf').rmdir()
    place.rmdir()


def run_as_user(delegated, where, *arguments):
    place, folder = delegated

    def become():
        (place / where / 'cgroup.procs').write_text('0')
        os.setgroups([])
        os.setresgid(*[ORDINARY_USER] * 3)
        os.setresuid(*[ORDINARY_USER] * 3)
    return subprocess.run([folder / 'ringwall', 'run', *arguments], cwd=folder / 'work', capture_output=True, text=True, timeout=60,
                          env={'HOME': str(folder), 'PATH': '/usr/bin:/bin'}, preexec_fn=become)


@limited
@pytest.mark.only_root
@pytest.mark.skipif(os.path.exists('/run/systemd/system'), reason='systemd would not have marked it as delegated')
def test_an_ordinary_user_with_a_delegated_cgroup(delegated):
    result = run_as_user(delegated, 'leaf', '--memory', '64MiB', '--cpu', '0.5', '--processes', '20', '--', 'python3', '-c', HOG)
    assert (result.returncode, result.stdout) == (137, '') and 'ran out of memory' in result.stderr, result
    result = run_as_user(delegated, 'leaf', '--processes', '20', '--', 'python3', '-c', FORK.format(code=3))
    assert (result.returncode, result.stdout) == (3, '19 11\n') and '(limit 20, --processes)' in result.stderr


@limited
@pytest.mark.only_root
@pytest.mark.skipif(os.path.exists('/run/systemd/system'), reason='systemd would not have marked it as delegated')
def test_a_delegated_cgroup_that_processes_live_in_is_no_place(delegated):
    result = run_as_user(delegated, '.', '--memory', '64MiB', '--', 'echo', 'ran')
    assert (result.returncode, result.stdout) == (125, '') and 'processes live in' in result.stderr
    assert (delegated[0] / 'cgroup.type').read_text() == 'domain\n'
    result = run_as_user(delegated, '.', '--processes', '20', '--', 'python3', '-c', FORK.format(code=3))
    assert (result.returncode, result.stdout) == (3, '19 11\n')   # by RLIMIT_NPROC
    assert (delegated[0] / 'cgroup.type').read_text() == 'domain\n'


# --- where it cannot be done ---

@refused
@pytest.mark.parametrize('flags, what', [(['--memory', '1GB'], 'memory'), (['--cpu', '1'], 'processor time'),
                                         (['--memory', '1GB', '--processes', '5'], 'memory')])
def test_a_limit_that_cannot_be_held_is_refused(run, flags, what):
    result = run(*flags, '--', 'echo', 'ran')
    assert (result.returncode, result.stdout) == (125, '')
    assert f'refused: {what} cannot be limited here ({flags[0]})' in result.stderr and 'ringwall doctor' in result.stderr


@refused
@pytest.mark.only_root
def test_the_processes_of_root_cannot_be_limited_without_a_cgroup(run):
    result = run('--processes', '20', '--', 'echo', 'ran')
    assert (result.returncode, result.stdout) == (125, '')
    assert 'refused: the number of processes cannot be limited here (--processes)' in result.stderr


@pytest.mark.only_user
def test_the_processes_of_a_user_are_limited_with_a_cgroup_or_without(run):
    result = run('--processes', '20', '--', 'python3', '-c', FORK.format(code=0))
    assert result.stdout == '19 11\n', result.stderr


def test_the_doctor_agrees(ringwall):
    env = {'XDG_RUNTIME_DIR': os.environ.get('XDG_RUNTIME_DIR')}
    said = ringwall('doctor', env=env).stdout
    assert ('memory and CPU time cannot be limited' in said) == (not LIMITED)
