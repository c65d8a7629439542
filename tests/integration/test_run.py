"""`ringwall run`: what a person expects of a command in a box, how it ends, and what is left of it."""
import json
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import time

import pytest

from processes import with_word

LEVELS = ['standard', 'strict', 'maximum']
SPACES = LEVELS[1:]     # those with namespaces
only_spaces = pytest.mark.parametrize('level', SPACES, indirect=True)


@pytest.fixture(params=LEVELS)
def level(request):
    return request.param


@pytest.fixture
def has_mdwe(ringwall):
    return json.loads(ringwall('doctor', '--json').stdout)['features']['harden.mdwe']['state'] == 'yes'


@pytest.fixture
def inside(ringwall, level):
    """Runs a shell command in a box: inside('echo hi') -> CompletedProcess."""
    def run(script, *flags, **options):
        return ringwall('run', '--level', level, *flags, '--', 'sh', '-c', script, **options)
    return run


WRITABLE_CODE = 'python3 -c "import mmap; mmap.mmap(-1, 4096, prot=7); print(1)"'


def test_written_memory_becomes_code_unless_the_plan_says_no(inside, has_mdwe):
    assert inside(WRITABLE_CODE).stdout == '1\n'
    result = inside(WRITABLE_CODE, '--mdwe')
    if has_mdwe:
        assert (result.returncode, result.stdout) == (1, '') and 'PermissionError' in result.stderr
    else:
        assert result.returncode == 125 and 'Linux 6.3' in result.stderr
        assert inside(WRITABLE_CODE, '--mdwe', '--best-effort').stdout == '1\n'


# --- what a newcomer expects to work ---

@pytest.mark.parametrize('script, said', [
    ('echo hi', 'hi'),
    ('pwd', '{workspace}'),
    ('echo a > f; echo b > f; cat f', 'b'),
    ('mkdir d e; echo x > d/f; mv d/f e/g; cat e/g', 'x'),
    ('echo x > f; ln f g; ln -s f h; cat g h', 'x\nx'),
    ('mkfifo p; (echo through > p &); cat p', 'through'),
    ('echo gone > /dev/null; head -c 4 /dev/zero | wc -c', '4'),
    ('test -r /proc/self/status && test -r /proc/meminfo && echo yes', 'yes'),
    ('echo $$; set -- /proc/[0-9]*; test $# -gt 0', None),
    ('echo kept > ~/x && cat ~/x', 'kept'),
])
def test_it_works_inside(inside, home, workspace, script, said):
    result = inside(script)
    assert (result.returncode, result.stderr) == (0, '')
    if said is not None:
        assert result.stdout.strip() == said.format(home=home, workspace=workspace)


@only_spaces
@pytest.mark.parametrize('script, said', [
    ('echo $HOME', '{home}'),
    ('echo $TMPDIR; mktemp -d | cut -c1-5', '/tmp\n/tmp/'),
    ('python3 -c "import socket; s = socket.socket(socket.AF_UNIX); s.bind(\'s\'); print(oct(__import__(\'os\').stat(\'s\').st_mode)[:5])"', '0o140'),
    ('hostname', 'ringwall'),
    ('python3 -c "import os; m, s = os.openpty(); print(os.ttyname(s)[:9])"', '/dev/pts/'),
    ('python3 -c "import multiprocessing as m; print(m.Pool(2).map(abs, [-1, -2]))"', '[1, 2]'),
])
def test_it_works_inside_with_namespaces(inside, home, workspace, script, said):
    test_it_works_inside(inside, home, workspace, script, said)


@pytest.mark.quick
@only_spaces
def test_what_is_written_stays_in_the_workspace_and_nowhere_else(inside, home, workspace):
    assert inside('echo mine > made; echo lost > ~/lost; echo lost > /tmp/lost').returncode == 0
    assert (workspace / 'made').read_text() == 'mine\n'
    assert sorted(path.name for path in home.iterdir()) == ['work']
    assert not pathlib.Path('/tmp/lost').exists()


def test_nothing_is_made_in_the_workspace(inside, workspace):
    for name in ('.git', '.vscode', 'package-lock.json'):
        assert not (workspace / name).exists()
    assert inside('true').returncode == 0
    assert list(workspace.iterdir()) == []


def test_the_environment_is_fresh(inside):
    result = inside('env | cut -d= -f1 | sort', env={'SECRET': 'x', 'KEPT': 'y', 'LANG': 'C'})
    names = set(result.stdout.split()) - {'PWD', 'OLDPWD', 'SHLVL', '_'}
    assert names <= {'PATH', 'HOME', 'LANG', 'TERM', 'USER', 'TMPDIR'}
    result = inside('echo $KEPT $NEW', '--env', 'KEPT', '--env', 'NEW=z', env={'KEPT': 'y'})
    assert result.stdout == 'y z\n'


@pytest.mark.quick
def test_standard_streams_pass_unchanged(inside):
    result = inside('cat; echo err >&2', input='a\x01b\n' * 1000)
    assert result.stdout == 'a\x01b\n' * 1000 and result.stderr == 'err\n'


# --- real work ---

@only_spaces
def test_git_commits_and_clones(inside, workspace):
    subprocess.run(['git', 'init', '-q', workspace], check=True, env={**os.environ, 'HOME': str(workspace.parent)})
    for name, value in (('user.name', 'n'), ('user.email', 'e@example.com')):
        subprocess.run(['git', '-C', workspace, 'config', name, value], check=True)
    result = inside('echo 1 > f && git add f && git commit -qm one && git branch side && git worktree add -q tree side && '
                    'git clone -q . copy && git -C copy log --format=%s')
    assert (result.returncode, result.stdout) == (0, 'one\n'), result.stderr
    for script in ('echo evil > .git/hooks/pre-commit', 'echo evil >> .git/config', 'git config core.fsmonitor evil',
                   'mv .git other', 'rm -rf .git/hooks/pre-commit.sample', 'mv .git/hooks .git/h'):
        assert inside(script).returncode != 0, script
    assert not (workspace / '.git/hooks/pre-commit').exists()


@pytest.mark.parametrize('tools, script, said', [
    (['gcc'], 'echo "int main(void) { return 42; }" > a.c && gcc -o a a.c && ./a; echo $?', '42'),
    (['make'], "printf 'all: a b c\\na b c:\\n\\t@echo $@ > $@.out\\n' > Makefile && make -sj3 && ls *.out | wc -l", '3'),
    (['node'], 'node -e "console.log(1 + 1, require(\'child_process\').execSync(\'echo two\').toString().trim())"', '2 two'),
    (['python3'], 'python3 -m venv --without-pip v && v/bin/python -c "import sys; print(sys.prefix != sys.base_prefix)"', 'True'),
    (['java', 'javac'], 'echo "class A { public static void main(String[] a) { System.out.println(7); } }" > A.java && '
                        'javac A.java && java A', '7'),
])
def test_toolchains_work(inside, tools, script, said):
    path = '/usr/local/bin:/usr/bin:/bin'
    if not all(shutil.which(tool, path=path) for tool in tools):
        pytest.skip(f'{" and ".join(tools)} not installed')
    result = inside(script)
    assert (result.returncode, result.stdout.strip()) == (0, said), result.stderr


# --- what may not be touched ---

@pytest.fixture
def key(home):
    folder = home / '.ssh'
    folder.mkdir(mode=0o700)
    (folder / 'id').write_text('the key')
    return folder / 'id'


@pytest.mark.quick
def test_home_is_empty_and_a_key_is_not_there(inside, key):
    result = inside('cat ~/.ssh/id; ls -A ~')
    assert 'the key' not in result.stdout and 'No such file' in result.stderr


def test_with_broad_reading_a_key_is_denied(inside, level, key):
    result = inside('cat ~/.ssh/id; ls ~/.ssh; cd ~/.ssh', '--read', 'broad')
    # Where the home lies in /tmp, the box has its own /tmp, and the key is not even there. Landlock alone lets one go
    # anywhere, and see nothing.
    refused = [line for line in result.stderr.splitlines() if 'ermission denied' in line or "can't cd" in line or 'No such' in line]
    assert result.stdout == '' and len(refused) == (2 if level == 'standard' else 3), result


@pytest.mark.quick
@pytest.mark.parametrize('script', ['cat secrets/a', 'ls secrets', 'mv secrets s', 'cat link', 'cat /proc/self/cwd/secrets/a'])
def test_a_denied_directory_is_closed_by_every_name(inside, workspace, script):
    (workspace / 'secrets').mkdir()
    (workspace / 'secrets/a').write_text('hidden')
    (workspace / 'link').symlink_to('secrets/a')
    result = inside(script, '--deny-read', 'secrets')
    assert result.returncode != 0 and 'hidden' not in result.stdout


@only_spaces
def test_a_narrower_grant_opens_part_of_a_denied_directory(inside, workspace):
    (workspace / 'secrets/public').mkdir(parents=True)
    (workspace / 'secrets/public/a').write_text('open')
    (workspace / 'secrets/b').write_text('hidden')
    result = inside('cat secrets/public/a; cat secrets/b; ls secrets', '--deny-read', 'secrets', '--ro', 'secrets/public')
    assert result.stdout == 'open' and result.stderr.count('ermission denied') == 2


@only_spaces
def test_read_only_inside_writable(inside, workspace):
    (workspace / 'vendor').mkdir()
    result = inside('echo x > a && echo x > vendor/a', '--ro', 'vendor')
    assert result.returncode != 0 and (workspace / 'a').exists() and not (workspace / 'vendor/a').exists()


@only_spaces
def test_a_pattern_hides_what_it_matches(inside, workspace):
    (workspace / 'deep/er').mkdir(parents=True)
    (workspace / 'deep/er/k.pem').write_text('hidden')
    result = inside('cat deep/er/k.pem', '--deny-read', '**/*.pem')
    assert result.returncode != 0 and 'ermission denied' in result.stderr


def test_a_denial_goes_where_the_kernel_goes(inside, home, workspace):
    """A `..` behind a link is above what the link leads to, not above the link."""
    (home / 'elsewhere/dir').mkdir(parents=True)
    (home / 'elsewhere/key').write_text('secret')
    (workspace / 'sub').symlink_to('../elsewhere/dir')
    (workspace / 'denied').symlink_to('sub/../key')
    assert inside('cat denied', '--ro', '../elsewhere').stdout == 'secret'
    result = inside('cat denied; cat ../elsewhere/key; echo done', '--ro', '../elsewhere', '--deny-read', 'denied')
    assert result.stdout == 'done\n' and result.stderr.count('Permission denied') == 2


def test_a_link_that_leads_to_itself_is_no_reason_to_refuse(inside, workspace):
    (workspace / '.git').mkdir()
    (workspace / '.git/hooks').symlink_to('hooks')
    assert inside('echo ran', '--ro', '.git/hooks').stdout == 'ran\n'


def test_without_exec_the_command_starts_and_starts_nothing(ringwall, level, tmp_path):
    policy = tmp_path / 'policy.yaml'
    policy.write_text('tools: {modules: {filesystem: }}\n')
    result = ringwall('run', '--level', level, '-p', policy, '--', 'sh', '-c', 'echo started; exec ls /')
    assert result.stdout == 'started\n' and result.returncode != 0
    result = ringwall('run', '--level', level, '-p', policy, '--', 'python3', '-c',
                      'import os\ntry:\n os.fork()\nexcept OSError as e:\n print(e.errno)\nimport threading\n'
                      't = threading.Thread(target=print, args=("thread",)); t.start(); t.join()')
    assert result.stdout == '1\nthread\n', result.stderr


# --- how it ends ---

@pytest.mark.quick
@pytest.mark.parametrize('command, code, said', [
    (['sh', '-c', 'exit 7'], 7, ''),
    (['sh', '-c', 'kill -9 $$'], 137, ''),
    (['no-such-command'], 127, 'cannot run no-such-command'),
    (['/etc/passwd'], 126, 'cannot run /etc/passwd'),
    (['./missing'], 127, 'cannot run ./missing'),
])
def test_exit_codes(ringwall, level, command, code, said):
    result = ringwall('run', '--level', level, '--', *command)
    assert result.returncode == code and said in result.stderr


def test_time_runs_out(ringwall, level):
    start = time.monotonic()
    result = ringwall('run', '--level', level, '--timeout', '1s', '--', 'sleep', '60')
    assert result.returncode == 124 and 'ran out of time' in result.stderr and time.monotonic() - start < 10


def test_time_runs_out_for_those_who_do_not_listen(ringwall, level):
    result = ringwall('run', '--level', level, '--timeout', '1s', '--', 'sh', '-c', 'trap "" TERM; sleep 60; sleep 60')
    assert result.returncode == 124


def start(build, home, workspace, level, script, *before):
    return subprocess.Popen([*before, build / 'ringwall', 'run', '--level', level, '--', 'sh', '-c', script], cwd=workspace,
                            env={'HOME': str(home), 'PATH': '/usr/bin:/bin'}, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
def test_signals_reach_the_command(build, home, workspace, level, number):
    name = number.name[3:]
    process = start(build, home, workspace, level, f'trap "echo got {name}; exit 3" {name}; echo ready; while :; do sleep 0.05; done')
    assert process.stdout.readline() == 'ready\n'
    process.send_signal(number)
    assert process.communicate(timeout=20)[0] == f'got {name}\n' and process.returncode == 3


def test_an_ignored_signal_stays_ignored(build, home, workspace, level):
    process = start(build, home, workspace, level, 'echo ready; sleep 0.3; echo alive', 'nohup')
    assert process.stdout.readline() == 'ready\n'
    process.send_signal(signal.SIGHUP)
    assert process.communicate(timeout=20)[0] == 'alive\n' and process.returncode == 0


def gone(mark):
    for _ in range(100):
        if not with_word(mark):
            return True
        time.sleep(0.05)
    return False


def test_a_daemon_ends_with_the_command(inside, level):
    mark = f'86399.{secrets.randbelow(10 ** 12):012}'
    assert inside(f'(setsid sh -c "sleep {mark} & sleep {mark}" >/dev/null 2>&1 &); sleep 0.2').returncode == 0
    assert with_word(mark) == []


@pytest.mark.quick
@pytest.mark.parametrize('delay', [0, 0.001, 0.002, 0.005, 0.02, 0.2])
def test_killing_ringwall_ends_everything(build, home, workspace, level, delay):
    mark = f'86398.{secrets.randbelow(10 ** 12):012}'
    process = start(build, home, workspace, level, f'(setsid sleep {mark} &) ; sleep {mark}')
    time.sleep(delay)
    process.kill()
    process.wait()
    assert gone(mark)
    assert list(workspace.iterdir()) == []


def test_no_mount_is_left(inside):
    before = pathlib.Path('/proc/self/mountinfo').read_text()
    assert inside('true').returncode == 0
    assert pathlib.Path('/proc/self/mountinfo').read_text() == before


# --- what cannot be held is refused ---

@pytest.mark.quick
@pytest.mark.parametrize('flags, said', [
    (['--unix-socket', '/run/x'], 'cannot take the unix socket /run/x: No such file or directory'),
    (['--unix-socket', '/etc/passwd'], '/etc/passwd is no unix socket'),
    (['--level', 'standard', '--unix-socket', '/run/x'], 'refused: a unix socket can only be shown to a box with a mount namespace; use --level strict (--unix-socket)'),
    (['--level', 'standard', '-p', 'network.yaml'],
     'refused: at level standard a box has no loopback of its own, only hosts that are named; use --allow-domain, or --level strict'),
    (['--level', 'standard', '--allow-domain', 'example.com', '--publish', '3000'],
     'refused: at level standard no port can be published'),
])
def test_a_plan_that_cannot_be_held_is_refused(ringwall, workspace, flags, said):
    (workspace / 'network.yaml').write_text('tools: {capabilities: {grant: [net.socket, process.*, fs.*]}}\n')
    result = ringwall('run', *flags, '--', 'sh', '-c', 'echo ran')
    assert (result.returncode, result.stdout) == (125, '') and said in result.stderr


def test_level_off_says_that_nothing_is_confined(ringwall):
    result = ringwall('run', '--level', 'off', '--', 'sh', '-c', 'exit 5')
    assert result.returncode == 5 and 'nothing is confined' in result.stderr


# --- on a kernel with something missing ---

@pytest.mark.parametrize('missing', [
    'landlock_create_ruleset=ENOSYS', 'landlock_restrict_self=EPERM', 'openat2=ENOSYS', 'clone3=ENOSYS', 'clone3=EPERM',
    'mount_setattr=ENOSYS', 'open_tree=ENOSYS', 'move_mount=EPERM', 'fsopen=ENOSYS', 'pivot_root=EPERM', 'seccomp=ENOSYS',
    'close_range=ENOSYS', 'capset=EPERM', 'umount2=EPERM', 'setrlimit=EPERM',
])
def test_degraded_it_holds_or_refuses(ringwall, build, home, workspace, level, missing):
    helper = next(build.glob('**/withhold'))
    (home / 'secret').write_text('the secret')
    result = subprocess.run([helper, missing, '--', build / 'ringwall', 'run', '--level', level, '--', 'sh', '-c',
                             'cat ~/secret; echo x > ~/../planted; echo ran'], cwd=workspace, capture_output=True, text=True,
                            env={'HOME': str(home), 'PATH': '/usr/bin:/bin'}, timeout=60)
    assert 'the secret' not in result.stdout and not (home.parent / 'planted').exists()
    if result.stdout:
        assert result.stdout == 'ran\n'
    else:
        assert result.returncode == 125 and result.stderr.startswith('ringwall run: '), result
