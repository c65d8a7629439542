"""Limits of a box on memory, processor time and processes, enforced by a cgroup: effects, messages, cleanup.

Where a cgroup with controllers can be made, limits must be enforced; elsewhere they must be refused. The tests ask the
kernel which of the two applies, not ringwall.
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

from procfs import files_of_all

pytestmark = pytest.mark.alone      # looks for every janitor and every cgroup

CONTROLLERS = {'cpu', 'memory', 'pids'}
ORDINARY_USER = 64124   # no account has this uid
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


def cgroup_mount():
    """Where cgroup2 is mounted, or None."""
    for line in pathlib.Path('/proc/self/mountinfo').read_text().splitlines():
        fields, kind = line.split(' - ')
        if kind.startswith('cgroup2 '):
            return pathlib.Path(fields.split()[4])
    return None


def can_have_limited_child(group):
    """Whether a child of this cgroup has the controllers, now or after they are enabled."""
    child = group / f'asked-{os.getpid()}'
    try:
        if (group / 'cgroup.type').exists() and (group / 'cgroup.procs').read_text():
            return False   # only the root of the tree may have both processes and controllers for its children
        if not os.access(group / 'cgroup.procs', os.W_OK):
            return False
        child.mkdir()
    except OSError:
        return False
    try:
        with contextlib.suppress(OSError):
            (group / 'cgroup.subtree_control').write_text(' '.join(f'+{c}' for c in sorted(CONTROLLERS)))
        return CONTROLLERS <= set((child / 'cgroup.controllers').read_text().split())
    finally:
        child.rmdir()


def has_manager():
    """Whether a systemd manager of this user listens, and cgroup2 has the controllers."""
    runtime = '/run' if os.geteuid() == 0 else os.environ.get('XDG_RUNTIME_DIR') or f'/run/user/{os.geteuid()}'
    with socket.socket(socket.AF_UNIX) as s:
        try:
            s.connect(f'{runtime}/systemd/private')
        except OSError:
            return False
    top = cgroup_mount()
    return bool(top) and CONTROLLERS <= set((top / 'cgroup.controllers').read_text().split())


def can_limit():
    top = cgroup_mount()
    if not top:
        return False
    if os.path.exists('/run/systemd/system'):
        return has_manager()
    own = top / next(line[4:] for line in pathlib.Path('/proc/self/cgroup').read_text().splitlines()
                     if line.startswith('0::/'))
    return any(can_have_limited_child(group) for group in (own, own.parent, top) if group.is_relative_to(top))


CAN_LIMIT = can_limit()
limited = pytest.mark.skipif(not CAN_LIMIT, reason='no cgroup with controllers can be made here')
refused = pytest.mark.skipif(CAN_LIMIT, reason='a cgroup with controllers can be made here')


def cgroups():
    """The cgroups of ringwall that exist now."""
    top = cgroup_mount()
    return sorted(path for path, _, _ in os.walk(top) if '/ringwall-' in path) if top else []


def janitors():
    return [pid for pid, name in files_of_all('comm') if name in (b'rw-janitor\n', b'rw-scout\n')]


def wait_until(condition, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


@pytest.fixture(autouse=True)
def no_cgroup_is_left():
    """After every test of this file no cgroup of ringwall and no janitor is left. Systemd takes a moment to remove its
    scopes."""
    assert wait_until(lambda: cgroups() == []), cgroups()   # from earlier tests
    yield
    if not os.path.exists('/run/systemd/system'):
        assert janitors() == [] and cgroups() == []
    assert wait_until(lambda: cgroups() == [] and janitors() == []), (cgroups(), janitors())


@pytest.fixture
def start(build, home, workspace):
    """Starts `ringwall run` and does not wait for it: start('--memory', '64M', '--', 'true') -> Popen."""
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
def test_box_over_its_memory_limit_is_killed_and_no_other_process(run):
    other = subprocess.Popen(['sleep', '100'])
    result = run('--memory', '64MiB', '--', 'python3', '-c', HOG)
    assert (result.returncode, result.stdout) == (137, '')
    assert result.stderr == 'ringwall run: the box ran out of memory (limit 64MiB, --memory)\n'
    assert other.poll() is None
    other.kill()
    other.wait()


@limited
def test_every_process_of_a_box_over_its_memory_limit_is_killed(run):
    mark = f'86397.{secrets.randbelow(10 ** 12):012}'
    result = run('--memory', '64MiB', '--', 'sh', '-c', f"(setsid sleep {mark} &); python3 -c '{HOG}'; echo went on")
    assert (result.returncode, result.stdout) == (137, '') and 'ran out of memory' in result.stderr
    assert subprocess.run(['pgrep', '-f', f'^sleep {mark}'], check=False).returncode == 1


@limited
def test_files_in_the_boxs_own_tmp_count_as_memory(run):
    result = run('--memory', '32MiB', '--', 'sh', '-c', 'head -c 200000000 /dev/zero > /tmp/big; echo went on')
    assert (result.returncode, result.stdout) == (137, '') and 'ran out of memory' in result.stderr


@limited
def test_message_about_a_limit_names_its_place_in_the_policy(run, tmp_path):
    policy = tmp_path / 'policy.yaml'
    policy.write_text('security:\n  sandbox:\n    resources:\n      memory: 48MiB\n')
    result = run('-p', policy, '--', 'python3', '-c', HOG)
    assert result.returncode == 137
    assert re.search(r'out of memory \(limit 48MiB, .*policy\.yaml:4:\d+\)', result.stderr), result.stderr


@limited
@pytest.mark.parametrize('script, code', [('exit 0', 0), ('exit 7', 7), ('kill -9 $$', 137), ('kill -TERM $$', 143)])
def test_within_the_limits_the_exit_status_is_that_of_the_command(run, script, code):
    result = run('--memory', '256MiB', '--cpu', '1', '--processes', '50', '--', 'sh', '-c', script)
    assert (result.returncode, result.stdout, result.stderr) == (code, '', '')


@limited
def test_command_under_the_smallest_limit_succeeds_or_fails_with_a_message(run):
    result = run('--memory', '1MiB', '--', 'true')
    assert result.returncode in (0, 137) and (result.returncode == 0) == (result.stderr == ''), result


@limited
@pytest.mark.only_root
def test_box_is_killed_for_memory_even_if_the_front_is_exempt(start):
    def exempt():
        pathlib.Path('/proc/self/oom_score_adj').write_text('-1000')
    process = start('--memory', '64MiB', '--', 'python3', '-c', HOG, preexec_fn=exempt)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (137, '') and 'ran out of memory' in err


# --- processor time ---

@limited
def test_processor_time_is_limited(run):
    script = ('import time\nwall, used = time.time(), time.process_time()\nwhile time.time() - wall < 5: pass\n'
              'print((time.process_time() - used) / (time.time() - wall))')
    result = run('--cpu', '0.25', '--', 'python3', '-c', script)
    assert 0.15 < float(result.stdout) < 0.35, result


# --- processes ---

@limited
def test_process_limit_is_enforced_and_reported_if_the_command_fails(run):
    result = run('--processes', '20', '--', 'python3', '-c', FORK.format(code=3))
    assert (result.returncode, result.stdout) == (3, '19 11\n')
    assert result.stderr == 'ringwall run: the box could not start another process (limit 20, --processes)\n'


@limited
def test_process_limit_is_not_reported_if_the_command_succeeds(run):
    result = run('--processes', '20', '--', 'python3', '-c', FORK.format(code=0))
    assert (result.returncode, result.stdout, result.stderr) == (0, '19 11\n', '')


@limited
def test_fork_bomb_is_bounded(start):
    process = start('--processes', '30', '--timeout', '5s', '--', 'sh', '-c', 'f() { f | f & }; f; sleep 60')
    peak = 0
    while process.poll() is None:
        for path in cgroups():
            with contextlib.suppress(OSError):
                if pathlib.Path(path, 'pids.max').read_text() == '33\n':   # of the box, not of the scope around it
                    peak = max(peak, int(pathlib.Path(path, 'pids.current').read_text()))
        time.sleep(0.02)
    assert process.returncode in (1, 2, 124, 137) and 20 < peak <= 33
    process.communicate()


@limited
def test_command_runs_with_a_limit_of_one_process(run):
    assert run('--processes', '1', '--', 'true').returncode == 0


# --- the cgroup ---

def cgroup_of_box(process):
    """Waits until the command runs. Returns the cgroup of the box."""
    assert process.stdout.readline() == 'ready\n'
    return pathlib.Path(max(cgroups(), key=len))


@limited
@pytest.mark.skipif(os.geteuid() == 0 or not has_manager(), reason='no systemd manager of a user')
def test_front_is_in_a_scope_of_the_users_systemd_manager(start):
    process = start('--memory', '64M', '--', 'sh', '-c', 'echo ready; sleep 60')
    assert process.stdout.readline() == 'ready\n'
    group = pathlib.Path(f'/proc/{process.pid}/cgroup').read_text().strip()
    assert re.search(rf'/ringwall-{process.pid}-[0-9a-f]{{8}}\.scope/front$', group)


@limited
def test_every_process_of_a_box_is_in_its_cgroup_and_sees_it_as_the_root(start):
    process = start('--memory', '64MiB', '--processes', '9', '--cpu', '0.5', '--', 'sh', '-c',
                    'echo ready; cat /proc/self/cgroup; echo; sleep 100')
    box = cgroup_of_box(process)
    assert (process.stdout.readline(), process.stdout.readline()) == ('0::/\n', '\n')
    assert (box / 'memory.max').read_text() == f'{64 << 20}\n'
    assert (box / 'memory.swap.max').read_text() == '0\n'
    assert (box / 'memory.oom.group').read_text() == '1\n'
    assert (box / 'pids.max').read_text() == '12\n'      # 9, and the keeper and two guards
    assert (box / 'cpu.max').read_text() == '50000 100000\n'
    assert wait_until(lambda: (box / 'pids.current').read_text() == '5\n')
    members = {int(pid) for pid in (box / 'cgroup.procs').read_text().split()}
    children = {int(pid)
                for pid in pathlib.Path(f'/proc/{process.pid}/task/{process.pid}/children').read_text().split()}
    assert len(members) == 5 and len(members & children) == 1
    assert process.pid not in members and not members & set(janitors())


@limited
@pytest.mark.parametrize('flags', [['--rw', '/sys/fs/cgroup'], ['--rw', '/sys'], ['--rw', 'link']])
def test_box_that_could_lift_its_limit_is_refused(run, workspace, flags):
    (workspace / 'link').symlink_to('/sys/fs/cgroup')
    result = run('--memory', '64MiB', *flags, '--', 'echo', 'ran')
    assert (result.returncode, result.stdout) == (125, '') and 'lift the limit' in result.stderr


@limited
@pytest.mark.only_root
@pytest.mark.parametrize('granted', ['second', '.'])
def test_box_that_may_write_to_a_second_mount_of_the_cgroups_is_refused(build, home, workspace, granted):
    (home / 'd/second').mkdir(parents=True)

    def run_with_second_mount(*flags):
        return subprocess.run(['unshare', '-m', 'sh', '-c', 'mount -t cgroup2 none ../d/second && exec "$@"', 'sh',
                               build / 'ringwall', 'run', '--memory', '64MiB', *flags, '--', 'echo', 'ran'],
                              cwd=workspace, env={'HOME': str(home), 'PATH': '/usr/bin:/bin'}, capture_output=True,
                              text=True, check=False)
    assert run_with_second_mount('--ro', '../d').stdout == 'ran\n'
    result = run_with_second_mount('--rw', f'../d/{granted}')
    assert (result.returncode, result.stdout) == (125, '') and 'lift the limit' in result.stderr, result


@limited
def test_box_finds_no_file_with_which_to_lift_its_limit(run):
    script = ('for f in $(find / -name memory.max 2>/dev/null) /sys/fs/cgroup/memory.max; do '
              'echo max > $f && echo lifted; done; echo tried')
    result = run('--memory', '256MiB', '--', 'sh', '-c', script)
    assert result.stdout == 'tried\n'


@limited
def test_janitor_keeps_only_its_socket_and_a_cgroup_open(start):
    process = start('--memory', '64MiB', '--', 'sh', '-c', 'echo ready; sleep 100')
    cgroup_of_box(process)
    janitor, = janitors()
    files = {name: os.readlink(f'/proc/{janitor}/fd/{name}') for name in os.listdir(f'/proc/{janitor}/fd')}
    assert set(files) == {'0', '1'} and files['0'].startswith('socket:') and '/cgroup' in files['1']
    assert os.getsid(janitor) == janitor and os.readlink(f'/proc/{janitor}/cwd') == '/'


def test_without_limits_there_is_no_janitor_and_no_cgroup(start):
    process = start('--', 'sh', '-c', 'echo ready; sleep 100')
    assert process.stdout.readline() == 'ready\n'
    assert janitors() == [] and cgroups() == []


# --- cleanup; the fixture no_cgroup_is_left checks the cgroups ---

@limited
def test_killing_ringwall_at_any_moment_leaves_no_cgroup(start):
    flags = ['--memory', '64MiB', '--processes', '20', '--cpu', '1', '--']
    started = time.monotonic()
    assert start(*flags, 'true').wait() == 0
    duration = time.monotonic() - started
    for i in range(40):
        process = start(*flags, 'sh', '-c', '(setsid sleep 100 &); sleep 100' if i % 2 else 'exit 0')
        time.sleep(duration * i / 40)
        process.kill()
        process.wait()
        assert wait_until(lambda: cgroups() == [] and janitors() == []), i


@limited
@pytest.mark.parametrize('level', ['standard'])   # a parameter, so that a kernel that cannot enforce it skips the test
def test_killing_ringwall_leaves_no_scratch_directory(start, level):
    """At level standard the keeper outlives the front and removes the directory. The janitor must not kill the keeper
    before that."""
    for _ in range(10):
        process = start('--level', level, '--memory', '64MiB', '--', 'sh', '-c',
                        'echo $TMPDIR; (setsid sleep 100 &); sleep 100')
        scratch = os.path.dirname(process.stdout.readline().strip())
        assert os.path.isdir(scratch) and scratch.startswith('/tmp/ringwall-')
        process.kill()
        process.wait()
        assert wait_until(lambda: not os.path.exists(scratch)), scratch
        assert wait_until(lambda: cgroups() == [] and janitors() == [])


@limited
def test_killing_the_janitor_leaves_no_cgroup(start, workspace):
    process = start('--memory', '64MiB', '--', 'sh', '-c', 'echo ready; while [ ! -e go ]; do sleep 0.1; done; exit 4')
    cgroup_of_box(process)
    os.kill(janitors()[0], signal.SIGKILL)
    (workspace / 'go').touch()
    process.communicate(timeout=20)
    assert process.returncode == 4


@limited
def test_timeout_leaves_no_cgroup(run):
    result = run('--memory', '64MiB', '--timeout', '1s', '--', 'sh', '-c', 'trap "" TERM; sleep 60; sleep 60')
    assert result.returncode == 124


@limited
def test_command_that_cannot_be_started_leaves_no_cgroup(run):
    assert run('--memory', '64MiB', '--', 'no-such-command').returncode == 127


@limited
def test_eight_limited_boxes_run_at_once(start):
    processes = [start('--memory', '64MiB', '--', 'sh', '-c', 'sleep 0.5; exit 3') for _ in range(8)]
    assert [process.wait(timeout=60) for process in processes] == [3] * 8


# --- an ordinary user with a delegated cgroup ---

@pytest.fixture
def delegated(build):
    """A cgroup that an ordinary user owns, with a child `leaf` for processes; and a directory of that user, with a copy
    of ringwall."""
    group = cgroup_mount() / f'given-{os.getpid()}'
    folder = pathlib.Path(tempfile.mkdtemp(prefix='ringwall-test-', dir='/var/tmp'))
    (group / 'leaf').mkdir(parents=True)
    (folder / 'work').mkdir()
    shutil.copy(build / 'ringwall', folder)
    for path in (group, group / 'leaf', group / 'cgroup.procs', group / 'leaf/cgroup.procs',
                 group / 'cgroup.subtree_control',
                 folder, folder / 'work'):
        os.chown(path, ORDINARY_USER, ORDINARY_USER)
    yield group, folder
    shutil.rmtree(folder)
    (group / 'leaf').rmdir()
    group.rmdir()


def run_as_user(delegated, child, *arguments):
    group, folder = delegated

    def join_cgroup_and_drop_root():
        (group / child / 'cgroup.procs').write_text('0')
        os.setgroups([])
        os.setresgid(*[ORDINARY_USER] * 3)
        os.setresuid(*[ORDINARY_USER] * 3)
    return subprocess.run([folder / 'ringwall', 'run', *arguments], cwd=folder / 'work', capture_output=True, text=True,
                          timeout=60,
                          env={'HOME': str(folder), 'PATH': '/usr/bin:/bin'}, preexec_fn=join_cgroup_and_drop_root)


@limited
@pytest.mark.only_root
@pytest.mark.skipif(os.path.exists('/run/systemd/system'), reason='systemd would not have marked it as delegated')
def test_limits_are_enforced_in_a_cgroup_delegated_to_an_ordinary_user(delegated):
    result = run_as_user(delegated, 'leaf', '--memory', '64MiB', '--cpu', '0.5', '--processes', '20', '--', 'python3',
                         '-c', HOG)
    assert (result.returncode, result.stdout) == (137, '') and 'ran out of memory' in result.stderr, result
    result = run_as_user(delegated, 'leaf', '--processes', '20', '--', 'python3', '-c', FORK.format(code=3))
    assert (result.returncode, result.stdout) == (3, '19 11\n') and '(limit 20, --processes)' in result.stderr


@limited
@pytest.mark.only_root
@pytest.mark.skipif(os.path.exists('/run/systemd/system'), reason='systemd would not have marked it as delegated')
def test_delegated_cgroup_that_contains_processes_is_not_used(delegated):
    result = run_as_user(delegated, '.', '--memory', '64MiB', '--', 'echo', 'ran')
    assert (result.returncode, result.stdout) == (125, '') and 'processes live in' in result.stderr
    assert (delegated[0] / 'cgroup.type').read_text() == 'domain\n'
    result = run_as_user(delegated, '.', '--processes', '20', '--', 'python3', '-c', FORK.format(code=3))
    assert (result.returncode, result.stdout) == (3, '19 11\n')   # by RLIMIT_NPROC
    assert (delegated[0] / 'cgroup.type').read_text() == 'domain\n'


# --- where limits cannot be enforced ---

@refused
@pytest.mark.parametrize('flags, resource', [(['--memory', '1GB'], 'memory'), (['--cpu', '1'], 'processor time'),
                                             (['--memory', '1GB', '--processes', '5'], 'memory')])
def test_limit_that_cannot_be_enforced_is_refused(run, flags, resource):
    result = run(*flags, '--', 'echo', 'ran')
    assert (result.returncode, result.stdout) == (125, '')
    assert f'refused: {resource} cannot be limited here ({flags[0]})' in result.stderr
    assert 'ringwall doctor' in result.stderr


@refused
@pytest.mark.only_root
def test_processes_of_root_cannot_be_limited_without_a_cgroup(run):
    result = run('--processes', '20', '--', 'echo', 'ran')
    assert (result.returncode, result.stdout) == (125, '')
    assert 'refused: the number of processes cannot be limited here (--processes)' in result.stderr


@pytest.mark.only_user
def test_processes_of_a_user_are_limited_with_or_without_a_cgroup(run):
    result = run('--processes', '20', '--', 'python3', '-c', FORK.format(code=0))
    assert result.stdout == '19 11\n', result.stderr


def test_doctor_reports_whether_limits_can_be_enforced(ringwall):
    env = {'XDG_RUNTIME_DIR': os.environ.get('XDG_RUNTIME_DIR')}
    output = ringwall('doctor', env=env).stdout
    assert ('memory and CPU time cannot be limited' in output) == (not CAN_LIMIT)
