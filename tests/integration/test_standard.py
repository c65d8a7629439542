"""Level standard: Landlock and seccomp without any namespace. What differs from the other levels, and how it ends."""
import os
import pathlib
import secrets
import signal
import stat
import subprocess
import time

import pytest

from leftovers import left_since, leftovers
from processes import with_word

LEVEL = 'standard'


@pytest.fixture
def standard(ringwall):
    def run(script, *flags, **options):
        return ringwall('run', '--level', 'standard', *flags, '--', 'sh', '-c', script, **options)
    return run


# --- a home and a place for temporary files, elsewhere ---

def test_home_and_tmpdir_are_private_and_go_with_the_box(standard):
    before = leftovers()
    result = standard('echo $HOME; echo $TMPDIR; echo x > ~/kept; cat ~/kept; mktemp; stat -c %a $HOME')
    assert result.returncode == 0
    home, tmp, kept, made, mode = result.stdout.split()
    assert os.path.dirname(home) == os.path.dirname(tmp) and made.startswith(f'{tmp}/') and (kept, mode) == ('x', '700')
    assert not os.path.exists(os.path.dirname(home)) and not left_since(before)


@pytest.mark.parametrize('script', [
    'mkdir -p a/b/c; chmod 0 a/b; chmod 0500 a',
    'mkdir a; touch a/f; chmod 0500 a; chmod 0 $TMPDIR',
    'i=0; while [ $i -lt 400 ]; do mkdir ddddddddddddddd; cd ddddddddddddddd; i=$((i + 1)); done; touch end',
    'mkdir -p .0/.1/.2 .1/.0; touch .2 .0/x; ln -s / root; ln -s . loop; mkfifo p',
    'mkdir a; (while :; do mktemp -p a; done) & sleep 0.1',
])
def test_whatever_lies_there_is_removed(standard, script):
    before = leftovers()
    result = standard(f'cd $TMPDIR; pwd; {script} >/dev/null 2>&1')
    assert result.returncode == 0
    assert not os.path.exists(os.path.dirname(result.stdout.strip())) and not left_since(before)


def test_a_home_that_is_granted_is_the_real_one(standard, home):
    (home / 'mine').write_text('here')
    result = standard('cat ~/mine; echo $HOME', '--rw', str(home))
    assert result.stdout == f'here{home}\n'


# --- what Landlock alone can hold, and what it cannot ---

def test_a_denied_path_is_carved_out_of_what_may_be_read(standard, home):
    for name in ('given/sub/secret', 'given/sub/other', 'given/file'):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(name)
    given = home / 'given'
    result = standard(f'cat {given}/file {given}/sub/other {given}/sub/secret', '--ro', str(given), '--deny-read',
                      str(given / 'sub/secret'))
    assert result.stdout == 'given/filegiven/sub/other' and 'ermission denied' in result.stderr


@pytest.mark.parametrize('flags', [
    ['--deny-read', 'inner'], ['--deny-write', 'inner'], ['--ro', 'inner'], ['--deny-read', '**/*.pem'], ['-p', 'own.yaml'],
])
def test_what_lies_in_a_writable_directory_is_refused_by_name(standard, workspace, flags):
    (workspace / 'inner').mkdir()
    (workspace / 'inner/k.pem').write_text('x')
    (workspace / 'own.yaml').write_text('filesystem: {protect: [inner]}\n')
    result = standard('echo ran', *flags)
    assert (result.returncode, result.stdout) == (125, '')
    assert 'inner' in result.stderr or '*.pem' in result.stderr
    assert '--level strict' in result.stderr
    result = standard('echo ran', '--best-effort', *flags)
    assert (result.returncode, result.stdout) == (0, 'ran\n') and 'is not protected' in result.stderr


def test_what_is_protected_by_default_is_said_to_be_open(standard, workspace):
    assert standard('true').stderr == ''        # there is nothing to protect
    (workspace / '.git/hooks').mkdir(parents=True)
    result = standard('true')
    assert result.returncode == 0 and f'{workspace}/.git/hooks is not protected' in result.stderr
    (workspace / '.git/config').write_text('')
    assert 'nor are others' in standard('true').stderr


def test_unix_sockets_can_be_had_in_pairs_only(standard):
    result = standard("python3 -c '\n"
                      "import socket\n"
                      "a, b = socket.socketpair(); a.send(b\"x\"); print(b.recv(1))\n"
                      "for make in (lambda: socket.socket(socket.AF_UNIX),\n"
                      "             lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)):\n"
                      "    try: make()\n"
                      "    except PermissionError: print(\"refused\")\n'")
    assert result.stdout == "b'x'\nrefused\nrefused\n", result.stderr


# --- the end ---

def test_what_forks_faster_than_it_is_found_ends_too(standard):
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


def test_a_sibling_of_ringwall_is_not_ended(standard):
    """The keeper ends everybody whom it can reach: that must be the box and nobody else."""
    with subprocess.Popen(['sleep', '60']) as sibling:
        assert standard('sleep 60 & exit 0').returncode == 0
        assert sibling.poll() is None
        sibling.kill()


@pytest.mark.parametrize('delay', [0, 0.001, 0.003, 0.01, 0.1])
def test_a_killed_ringwall_leaves_no_directory(build, home, workspace, delay):
    before = leftovers()
    process = subprocess.Popen([build / 'ringwall', 'run', '--level', 'standard', '--', 'sh', '-c', 'mktemp; sleep 60'],
                               cwd=workspace, env={'HOME': str(home), 'PATH': '/usr/bin:/bin'}, stdout=subprocess.DEVNULL)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not left_since(before), subprocess.run(['ps', '-eo', 'uid,pid,ppid,lstart,stat,wchan,args'], stdout=subprocess.PIPE, text=True,
                                                 check=True).stdout


@pytest.mark.parametrize('victim', ['keeper', 'second'])
def test_a_killed_keeper_leaves_nothing(build, home, workspace, victim):
    before, mark = leftovers(), f'86396.{secrets.randbelow(10 ** 12):012}'
    process = subprocess.Popen([build / 'ringwall', 'run', '--level', 'standard', '--', 'sh', '-c',
                                f'setsid sleep {mark} & echo; sleep {mark}'], cwd=workspace, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, env={'HOME': str(home), 'PATH': '/usr/bin:/bin'})
    process.stdout.readline()
    keeper, = children(process.pid)
    second, _ = children(keeper)
    os.kill(keeper if victim == 'keeper' else second, signal.SIGKILL)
    if victim == 'second':
        process.terminate()
    process.wait(timeout=10)
    process.stdout.close()

    deadline = time.monotonic() + 10
    while with_word(mark) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert with_word(mark) == [] and not left_since(before)


def children(pid):
    return [int(word) for word in pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text().split()]


def test_the_scratch_directory_is_nobody_elses(standard):
    result = standard('dirname $HOME')
    name = result.stdout.strip()
    assert len(name) == len('/tmp/ringwall-') + 16
    result = standard('stat -c %f:%u $(dirname $HOME)')
    mode, user = result.stdout.strip().split(':')
    assert stat.S_IMODE(int(mode, 16)) == 0o700 and int(user) == os.geteuid()
