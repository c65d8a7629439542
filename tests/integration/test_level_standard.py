"""Level standard, which uses Landlock and seccomp but no namespace: what differs from the other levels, and cleanup."""
import os
import pathlib
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time

import pytest

from leftovers import left_since, leftovers
from procfs import with_word

LEVEL = 'standard'


@pytest.fixture
def standard(ringwall):
    def run(script, *flags, **options):
        return ringwall('run', '--level', 'standard', *flags, '--', 'sh', '-c', script, **options)
    return run


@pytest.fixture
def without_guard(build, home, workspace):
    """The same on a kernel without SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, where no guard is possible."""
    deny_syscalls = next(build.glob('**/deny_syscalls'))

    def run(script, *flags):
        return subprocess.run([deny_syscalls, 'seccomp&0x20=EINVAL', '--', build / 'ringwall', 'run', '--level',
                               'standard',
                               *flags, '--',
                               'sh', '-c', script], cwd=workspace,
                              env={'HOME': str(home), 'PATH': '/usr/local/bin:/usr/bin:/bin'},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return run


# --- the scratch directory ---

def test_home_and_tmpdir_are_private_and_removed_with_the_box(standard):
    result = standard('echo $HOME; echo $TMPDIR; echo x > ~/kept; cat ~/kept; mktemp; stat -c %a $HOME')
    assert result.returncode == 0
    home, tmp, kept, made, mode = result.stdout.split()
    assert os.path.dirname(home) == os.path.dirname(tmp) and made.startswith(f'{tmp}/') and (kept, mode) == ('x', '700')
    assert not os.path.exists(os.path.dirname(home))


@pytest.mark.parametrize('script', [
    'mkdir -p a/b/c; chmod 0 a/b; chmod 0500 a',
    'mkdir a; touch a/f; chmod 0500 a; chmod 0 $TMPDIR',
    # One process, not one for each directory: on a slow virtual machine that would take a minute.
    'exec python3 -c "import os\nfor i in range(240): os.mkdir(15 * chr(100)); os.chdir(15 * chr(100))"',
    'mkdir -p .0/.1/.2 .1/.0; touch .2 .0/x; ln -s / root; ln -s . loop; mkfifo p',
    'mkdir a; (while :; do mktemp -p a; done) & sleep 0.1',
])
def test_scratch_directory_with_any_content_is_removed(standard, script):
    result = standard(f'echo $TMPDIR; cd $TMPDIR; ({script}) >/dev/null 2>&1')
    assert result.returncode == 0 and result.stdout.startswith('/tmp/ringwall-')
    assert not os.path.exists(os.path.dirname(result.stdout.strip()))


def test_granted_home_is_the_real_home(standard, home):
    (home / 'mine').write_text('here')
    result = standard('cat ~/mine; echo $HOME', '--ro', str(home))
    assert result.stdout == f'here{home}\n'


# --- rules that Landlock can enforce, and rules that need a guard ---

def test_denied_path_inside_a_readable_directory_is_denied(standard, home):
    for name in ('given/sub/secret', 'given/sub/other', 'given/file'):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(name)
    given = home / 'given'
    result = standard(f'cat {given}/file {given}/sub/other {given}/sub/secret', '--ro', str(given), '--deny-read',
                      str(given / 'sub/secret'))
    assert result.stdout == 'given/filegiven/sub/other' and 'ermission denied' in result.stderr


IN_WRITABLE = pytest.mark.parametrize('flags', [
    ['--deny-read', 'inner'], ['--deny-write', 'inner'], ['--ro', 'inner'], ['--deny-read', '**/*.pem'],
    ['-p', '../own.yaml'],
])


def make_inner(workspace):
    (workspace / 'inner').mkdir()
    (workspace / 'inner/k.pem').write_text('x')
    (workspace.parent / 'own.yaml').write_text('filesystem: {protect: [inner]}\n')


@IN_WRITABLE
def test_rule_inside_a_writable_directory_is_enforced_by_a_guard(standard, workspace, flags):
    make_inner(workspace)
    result = standard('echo y > inner/k.pem || echo y > inner/new.pem || echo denied; echo z > other && cat other',
                      *flags)
    assert (result.returncode, result.stdout) == (0, 'denied\nz\n'), result.stderr
    assert (workspace / 'inner/k.pem').read_text() == 'x' and os.listdir(workspace / 'inner') == ['k.pem']


@IN_WRITABLE
def test_without_a_guard_a_rule_inside_a_writable_directory_is_refused(without_guard, workspace, flags):
    make_inner(workspace)
    result = without_guard('echo ran', *flags)
    assert (result.returncode, result.stdout) == (125, '')
    assert 'inner' in result.stderr or '*.pem' in result.stderr
    assert '--level strict' in result.stderr
    result = without_guard('echo ran', '--best-effort', *flags)
    assert (result.returncode, result.stdout) == (0, 'ran\n') and 'is not protected' in result.stderr


def test_default_protections_are_enforced_or_a_warning_is_printed(standard, without_guard, workspace):
    assert without_guard('true').stderr == ''        # nothing here needs protection
    (workspace / '.git/hooks').mkdir(parents=True)
    result = without_guard('true')
    assert result.returncode == 0 and f'{workspace}/.git/hooks is not protected' in result.stderr
    (workspace / '.git/config').write_text('')
    assert 'nor are others' in without_guard('true').stderr
    result = standard('echo x > .git/hooks/pre-commit || echo denied')
    assert result.stdout == 'denied\n' and 'not protected' not in result.stderr
    assert not os.listdir(workspace / '.git/hooks')


SOCKETS = """
import os, socket
a, b = socket.socketpair(); a.send(b"x"); print(b.recv(1))
def listen():
    global server
    server = socket.socket(socket.AF_UNIX); server.bind("here"); server.listen()
def connect():
    client = socket.socket(socket.AF_UNIX); client.connect("here"); client.send(b"y"); print(server.accept()[0].recv(1))
for make in (listen, connect, lambda: socket.socket(socket.AF_UNIX).bind("\\0name"),
             lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)):
    try: make()
    except (PermissionError, NameError): print("refused")
"""


def test_box_reaches_its_own_unix_sockets_and_without_a_guard_only_pairs(standard, without_guard):
    assert standard(f"python3 -c '{SOCKETS}'").stdout == "b'x'\nb'y'\nrefused\nrefused\n"
    assert without_guard(f"python3 -c '{SOCKETS}'").stdout == "b'x'\nrefused\nrefused\nrefused\nrefused\n"


def test_allowed_unix_socket_can_be_reached_and_no_other(standard, home):
    """Both are in a directory that the box may read."""
    folder = home / 'sockets'
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as named, socket.socket(socket.AF_UNIX) as other:
        for server, name in (named, 'named'), (other, 'other'):
            server.bind(str(folder / name))
            server.listen()
        script = (f'import socket\nfor name in "named", "other":\n    try: '
                  f'socket.socket(socket.AF_UNIX).connect("{folder}/" + name); '
                  'print(name)\n    except PermissionError: print("refused")')
        result = standard(f"python3 -c '{script}'", '--ro', str(folder), '--unix-socket', str(folder / 'named'))
    assert result.stdout == 'named\nrefused\n', result.stderr


@pytest.mark.parametrize('path, error', [('/run/x', 'cannot open the unix socket /run/x: No such file or directory'),
                                         ('/etc/passwd', '/etc/passwd is not a unix socket')])
def test_path_that_is_not_a_unix_socket_is_refused(standard, path, error):
    result = standard('echo ran', '--unix-socket', path)
    assert (result.returncode, result.stdout) == (125, '') and error in result.stderr


def test_without_a_guard_no_unix_socket_can_be_allowed(without_guard, home):
    result = without_guard('echo ran', '--unix-socket', str(home / 'socket'))
    assert (result.returncode, result.stdout) == (125, '') and 'cannot deny the other unix sockets' in result.stderr
    assert '--level strict' in result.stderr


def test_modes_owners_and_times_outside_writable_directories_cannot_be_changed(standard, home):
    """Landlock has no right for these calls, so the guard checks whether the path is writable."""
    file = home / 'mine'
    file.write_text('x')
    before = file.stat()
    subprocess.run(['chmod', '600', str(file)], check=True)
    file.chmod(before.st_mode)
    result = standard(f'chmod 600 {file} || touch {file} || chown $(id -u) {file} || chmod 777 {home} || echo denied')
    assert result.stdout == 'denied\n' and file.stat().st_mode == before.st_mode
    assert file.stat().st_mtime == before.st_mtime


@pytest.mark.only_root
@pytest.mark.parametrize('scope', [0, 1, 2])
def test_with_yama_the_keeper_reads_memory_for_the_guard_or_the_box_is_refused(build, scope):
    """With ptrace_scope 1 only an ancestor may read a process's memory, and the guard is not an ancestor. With 2 only a
    process with CAP_SYS_PTRACE may."""
    switch = pathlib.Path('/proc/sys/kernel/yama/ptrace_scope')
    if not switch.exists():
        pytest.skip('this kernel has no Yama; the kernel of vm-6.12 has it')
    before = switch.read_text()
    script = ('echo x > free; mv free moved; cat moved; '
              'python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\'s\')"; echo y > denied')
    with tempfile.TemporaryDirectory(dir=next(filter(os.path.isdir, ('/home', '/srv', '/')))) as folder:
        shutil.copy(build / 'ringwall', folder)
        workspace = pathlib.Path(folder) / 'work'
        workspace.mkdir()
        os.chmod(folder, 0o755)
        os.chown(workspace, 65534, 65534)
        try:
            switch.write_text(str(scope))
            result = subprocess.run(
                ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', f'{folder}/ringwall', 'run', '--level',
                 'standard',
                 '--deny-write', 'denied', '--', 'sh', '-c', script],
                cwd=workspace, env={'HOME': '/nonexistent', 'PATH': '/usr/bin:/bin'}, capture_output=True, text=True,
                check=False)
        finally:
            switch.write_text(before)
        created = set(os.listdir(workspace))
    if scope < 2:
        assert (result.stdout, created) == ('x\n', {'moved', 's'}) and 'cannot create denied' in result.stderr, \
            result.stderr
    else:
        assert (result.returncode, created) == (125, set()) and 'deny_write' in result.stderr, result.stderr
        assert '--level strict' in result.stderr, result.stderr


# --- cleanup ---

def test_process_that_forks_all_the_time_is_killed(standard):
    mark = f'86397.{secrets.randbelow(10 ** 12):012}'
    chain = ('import os, time\n'
             'if os.fork(): os._exit(0)\n'
             'os.setsid()\n'
             'end = time.time() + 20\n'
             'while time.time() < end:\n'
             '    if os.fork(): os._exit(0)\n')
    assert standard(f"python3 -c '{chain}' {mark}").returncode == 0
    time.sleep(0.2)
    assert with_word(mark) == []


def test_sibling_of_ringwall_is_not_ended(standard):
    """The keeper kills every process that it may signal: these must be only the processes of the box."""
    with subprocess.Popen(['sleep', '60']) as sibling:
        assert standard('sleep 60 & exit 0').returncode == 0
        assert sibling.poll() is None
        sibling.kill()


@pytest.mark.parametrize('delay', [0, 0.001, 0.003, 0.01, 0.1])
def test_killed_ringwall_leaves_no_scratch_directory(build, home, workspace, delay):
    before = leftovers()
    process = subprocess.Popen([build / 'ringwall', 'run', '--level', 'standard', '--', 'sh', '-c', 'mktemp; sleep 60'],
                               cwd=workspace, env={'HOME': str(home), 'PATH': '/usr/bin:/bin'},
                               stdout=subprocess.DEVNULL)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not left_since(before), subprocess.run(['ps', '-eo', 'uid,pid,ppid,lstart,stat,wchan,args'],
                                                  stdout=subprocess.PIPE, text=True, check=True).stdout


@pytest.mark.parametrize('victim', ['keeper', 'watchdog', 'guard'])
def test_killed_keeper_watchdog_or_guard_leaves_no_process_and_no_directory(build, home, workspace, victim):
    before, mark = leftovers(), f'86396.{secrets.randbelow(10 ** 12):012}'
    process = subprocess.Popen([build / 'ringwall', 'run', '--level', 'standard', '--', 'sh', '-c',
                                f'setsid sleep {mark} & echo; sleep {mark}'], cwd=workspace, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, env={'HOME': str(home), 'PATH': '/usr/bin:/bin'})
    process.stdout.readline()
    keeper, = children(process.pid)
    victims, deadline = {}, time.monotonic() + 10
    # each process sets its name when it starts to run
    while not {'rw-watchdog', 'rw-guard'} <= victims.keys() and time.monotonic() < deadline:
        victims = {pathlib.Path(f'/proc/{pid}/comm').read_text().strip(): pid for pid in children(keeper)}
    os.kill({'keeper': keeper, 'watchdog': victims['rw-watchdog'], 'guard': victims['rw-guard']}[victim],
            signal.SIGKILL)
    if victim == 'watchdog':
        process.terminate()
    process.wait(timeout=10)
    process.stdout.close()

    deadline = time.monotonic() + 10
    while with_word(mark) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert with_word(mark) == [] and not left_since(before)


def children(pid):
    return [int(word) for word in pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text().split()]


def test_scratch_directory_is_private_and_has_a_random_name(standard):
    result = standard('dirname $HOME')
    name = result.stdout.strip()
    assert len(name) == len('/tmp/ringwall-') + 16
    result = standard('stat -c %f:%u $(dirname $HOME)')
    mode, user = result.stdout.strip().split(':')
    assert stat.S_IMODE(int(mode, 16)) == 0o700 and int(user) == os.geteuid()
