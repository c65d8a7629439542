"""Real tools run in a box and outside at the same time, in one workspace: git, hg, npm, pnpm, yarn, cargo, pip, make,
vim, emacs and sed.

Both sides start each round together. Where a tool cannot run twice at once, they use different files, branches or
worktrees, so every command must succeed. Afterwards the work of both sides is complete, protected files are unchanged,
no other file has appeared, and rules still apply to files that were replaced outside. Tests of tools that are not
installed are skipped. tools/prepare installs pnpm and yarn in the build directory, as listed in package-managers/.
"""
import contextlib
import json
import os
import shutil
import signal
import subprocess

import pytest

LEVELS = ['strict', 'maximum']
pytestmark = pytest.mark.heavy
slow = pytest.mark.parametrize('level', ['maximum'], indirect=True)     # for tools that take seconds
PATH = '/usr/local/bin:/usr/bin:/bin'
PROTECTED = ['.git/config', '.git/hooks/pre-commit', '.envrc', '.husky/pre-commit', '.npmrc', '.vscode/settings.json']

# Each line of input is the number of a round. Runs the script with that number as $1, and prints its exit status.
LOOP = 'echo ready; while read -r round; do sh -ec "$0" sh "$round" < /dev/null >&2; echo $?; done'

FUNCTIONS = '''
    # The command must fail.
    refused() { if "$@" > /dev/null 2>&1; then echo "not refused: $*" >&2; exit 1; fi; }
    # git does not wait for the lock of a configuration, so the command must be repeated.
    retry() { tries=0; until "$@"; do tries=$((tries + 1)); [ $tries -lt 200 ] || return 1; sleep 0.01; done; }
'''


@pytest.fixture(params=LEVELS)
def level(request):
    return request.param


def skip_without(*tools, path=PATH):
    missing = [tool for tool in tools if not shutil.which(tool, path=path)]
    if missing:
        pytest.skip(f'{", ".join(missing)} not installed')


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def lines(side, rounds):
    """The lines that a side writes, one in each round. The box runs one more round."""
    return [f'{side} {number}' for number in range(1, rounds + 1 + (side == 'in'))]


@pytest.fixture
def variables(home, tmp_path):
    """The environment outside the box. It has its own TMPDIR, because yarn leaves files there."""
    (tmp_path / 'temporary').mkdir()
    return {'HOME': str(home), 'PATH': PATH, 'LANG': 'C.UTF-8', 'TERM': 'dumb', 'TMPDIR': str(tmp_path / 'temporary')}


@pytest.fixture
def outside(workspace, variables):
    """Runs a script outside, in the workspace, and asserts that it succeeds: outside('git status') -> its output."""
    def run(script, cwd=workspace, **env):
        result = subprocess.run(['sh', '-ec', script], cwd=cwd, env={**variables, **env}, stdin=subprocess.DEVNULL,
                                capture_output=True, text=True, check=False)
        assert result.returncode == 0, f'{script}: {result.stdout}{result.stderr}'
        return result.stdout
    return run


@pytest.fixture
def project(workspace, outside):
    """A repository with protected files. project({'name': 'text'}) adds files to it and commits them."""
    skip_without('git')
    outside('git init -q -b main; git config user.name n; git config user.email e@example.com; git config gc.auto 0')
    write(workspace, {'.envrc': 'export FIRST=1\n', '.npmrc': 'fund=false\n', '.vscode/settings.json': '{}\n',
                      '.husky/pre-commit': 'true\n', '.git/hooks/pre-commit': '#!/bin/sh\nexit 0\n'})
    (workspace / '.git/hooks/pre-commit').chmod(0o755)

    def add(files):
        write(workspace, files)
        outside('git add -A; git commit -qm begin')
        return workspace
    return add


@contextlib.contextmanager
def worker(command, script, log, **options):
    """A process that runs the script in rounds. It and its children are ended with the block."""
    with open(log, 'w', encoding='utf-8') as errors, \
            subprocess.Popen([*command, 'sh', '-c', LOOP, FUNCTIONS + script], text=True, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=errors, start_new_session=True, **options) as process:
        try:
            yield process
            process.stdin.close()
            assert process.wait(timeout=20) == 0, log.read_text()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def start_round(process, number):
    process.stdin.write(f'{number}\n')
    process.stdin.flush()


def state(path):
    """What must not change about a protected file; not even the inode may."""
    status = path.lstat()
    return status.st_ino, status.st_mode, status.st_mtime_ns, path.read_bytes()


def names(top):
    return sorted(str(path.relative_to(top)) for path in top.rglob('*'))


@pytest.fixture
def together(build, workspace, variables, outside, tmp_path, level):
    """Runs one script in a box and one outside, in rounds: together(inside, person, status=[...]).

    The box runs one more round, alone. `changes` are the protected files that the person's script changes. `status` is
    the expected output of git status afterwards.
    """
    def run(inside, person, *flags, rounds=10, changes=(), status=(), path=PATH, env=None):
        kept = {name: state(workspace / name) for name in PROTECTED if name not in changes}
        passed = [word for name in env or {} for word in ('--env', name)]
        box = [build / 'ringwall', 'run', '--level', level, *flags, *passed, '--']
        logs = {'inside': tmp_path / 'inside.log', 'outside': tmp_path / 'outside.log'}
        before = names(workspace)
        options = {'cwd': workspace, 'env': {**variables, 'PATH': path, **(env or {})}}
        with worker(box, inside, logs['inside'], **options) as boxed, \
                worker([], person, logs['outside'], **options) as free:
            sides = {'inside': boxed, 'outside': free}
            for side, process in sides.items():
                assert process.stdout.readline() == 'ready\n', f'{side}: {logs[side].read_text()}'
            assert names(workspace) == before, 'the start of a box created or removed a file'
            for number in range(1, rounds + 2):
                if number > rounds:
                    del sides['outside']
                for process in sides.values():
                    start_round(process, number)
                ends = {side: process.stdout.readline() for side, process in sides.items()}
                for side, end in ends.items():
                    errors = logs[side].read_text()[-4000:]
                    assert end == '0\n', f'{side}, round {number} of {rounds}, status {end.strip()}:\n{errors}'
        for name, previous in kept.items():
            assert state(workspace / name) == previous, f'{name} has changed'
        assert sorted(outside('git status --porcelain --ignored').splitlines()) == sorted(status)
        assert not [name for name in names(workspace / '.git') if name.endswith('.lock') or 'tmp_' in name]
        assert outside('git fsck --full --no-dangling 2>&1') == ''
    return run


# --- git ---

COMMIT = '''
    cd {folder}
    echo "{side} $1" >> {side}.txt
    git add {side}.txt
    git commit -qm "{side} $1"
    git tag -a -m tag {side}-$1
    git branch {side}/$1 HEAD~1
    git stash list
    test -z "$(git status --porcelain -uno)"
'''


@pytest.mark.parametrize('inside, person', [('.', '../other'), ('tree', '.')])
def test_git_commits_in_two_worktrees(project, together, outside, workspace, inside, person):
    rounds = 12
    project({})
    linked = 'tree' if inside == 'tree' else '../other'
    outside(f'git worktree add -q {linked} -b linked')
    together(COMMIT.format(side='in', folder=inside), COMMIT.format(side='out', folder=person) + 'git repack -q -d',
             rounds=rounds, status=['?? tree/'] if inside == 'tree' else [])
    for side, folder in (('in', inside), ('out', person)):
        commits = outside('git log --reverse --format=%s', cwd=workspace / folder).splitlines()
        assert commits == ['begin', *lines(side, rounds)]
        assert (workspace / folder / f'{side}.txt').read_text().splitlines() == lines(side, rounds)
        assert len(outside(f'git tag -l "{side}-*"').splitlines()) == len(lines(side, rounds))
        assert len(outside(f'git branch -l "{side}/*"').splitlines()) == len(lines(side, rounds))


def test_git_config_outside_while_a_box_commits(project, together, outside):
    rounds = 10
    project({})
    together(COMMIT.format(side='in', folder='.') + '''
             refused git config core.fsmonitor evil
             refused git config alias.st '!evil'
             refused sh -c 'echo "[core] pager = evil" >> .git/config'
             ''', '''
             for key in 1 2 3 4; do retry git config "note.round$1" "$key"; done
             retry git config "remote.r$1.url" https://example.com/
             retry git config user.name "name $1"
             ''', rounds=rounds, changes=['.git/config'])
    assert outside('git log --reverse --format=%s').splitlines() == ['begin', *lines('in', rounds)]
    settings = outside('git config --local --list').splitlines()
    for number in range(1, rounds + 1):
        assert f'note.round{number}=4' in settings and f'remote.r{number}.url=https://example.com/' in settings
    assert f'user.name=name {rounds}' in settings and 'evil' not in ''.join(settings)


def test_git_config_on_both_sides_loses_no_change(project, together, outside):
    rounds = 10
    project({})
    together('for key in 1 2 3; do retry git config "branch.in$1.description" "text $key"; done',
             'for key in 1 2 3; do retry git config "note.out$1" "text $key"; done',
             rounds=rounds, changes=['.git/config'])
    settings = outside('git config --local --list').splitlines()
    for prefix, expected in (('branch.', [f'branch.in{number}.description=text 3' for number in range(1, rounds + 2)]),
                             ('note.', [f'note.out{number}=text 3' for number in range(1, rounds + 1)])):
        assert [line for line in settings if line.startswith(prefix)] == expected


def test_git_push_and_fetch_through_one_repository(project, together, outside):
    rounds = 8
    project({})
    outside('''git clone -q --bare . bare.git
               for side in in out; do
                   git clone -q bare.git $side; cd $side; git config user.name n; git config user.email e@example.com
                   git switch -qc $side; cd ..
               done''')
    work = '''
        cd {side}; echo "{side} $1" >> {side}.txt; git add .; git commit -qm "{side} $1"
        git push -q origin {side}
        git fetch -q origin; git merge-base --is-ancestor origin/main HEAD'''
    together(work.format(side='in'), work.format(side='out'), rounds=rounds,
             status=['?? bare.git/', '?? in/', '?? out/'])
    for side in ('in', 'out'):
        commits = outside(f'git -C bare.git log --reverse --format=%s {side}').splitlines()
        assert commits == ['begin', *lines(side, rounds)]
        assert outside(f'git -C {side} fsck --full 2>&1; git -C bare.git fsck --full 2>&1') == ''


# --- Mercurial ---

def test_hg_commits_on_both_sides_in_one_repository(project, together, outside, workspace):
    """hg waits for its lock, which names the owner by host, pid namespace and pid."""
    skip_without('hg')
    rounds = 3
    project({'.gitignore': '/.hg/\n', '.hgignore': 'syntax: glob\n.git/*\n'})
    outside('hg init; printf "[ui]\nusername = n\n" > .hg/hgrc')
    kept = state(workspace / '.hg/hgrc')
    work = '''
        echo "{side} $1" >> {side}.txt; hg add -q {side}.txt; hg commit -q -m "{side} $1" {side}.txt
    '''
    together(work.format(side='in') + "refused sh -c 'echo [hooks] >> .hg/hgrc'", work.format(side='out'),
             rounds=rounds, status=['?? in.txt', '?? out.txt', '!! .hg/'])
    commits = outside('hg log -r : -T "{desc}\\n"').splitlines()
    for side in ('in', 'out'):
        assert [line for line in commits if line.split()[0] == side] == lines(side, rounds)
        assert outside(f'hg cat {side}.txt').splitlines() == lines(side, rounds)
    outside('hg verify')
    assert state(workspace / '.hg/hgrc') == kept
    assert not [name for name in names(workspace / '.hg') if name.endswith('lock')]


# --- package managers for JavaScript ---

JAVASCRIPT = {
    'npm': 'npm ci --offline --cache ../cache',
    'pnpm': 'pnpm install --offline --frozen-lockfile --store-dir ../cache',
    'yarn': 'yarn install --offline --frozen-lockfile --cache-folder ../cache --mutex file:../mutex',
}
LOCKFILES = {'npm': 'package-lock.json', 'pnpm': 'pnpm-lock.yaml', 'yarn': 'yarn.lock'}


@slow
@pytest.mark.parametrize('manager', JAVASCRIPT)
def test_javascript_package_manager_installs_on_both_sides(project, together, outside, build, workspace, manager):
    """Two projects with a dependency in a tarball. They share the cache and, if the manager has one, its lock."""
    managers = build / 'package-managers/node_modules/.bin'
    path = f'{managers}:{PATH}'
    skip_without('node', 'npm', manager, path=path)
    work = project({
        'tiny/package.json': json.dumps({'name': 'tiny', 'version': '1.0.0', 'bin': {'tiny': 'cli.js'},
                                         'scripts': {'postinstall': 'node -e 0'}}),
        'tiny/index.js': 'module.exports = 42\n', 'tiny/cli.js': '#!/usr/bin/env node\n',
        **{f'{side}/package.json': json.dumps({'name': side, 'version': '1.0.0', 'private': True,
                                               'dependencies': {'tiny': 'file:../tiny-1.0.0.tgz'}})
           for side in ('in', 'out')}})
    outside('npm pack --silent ./tiny', PATH=path)
    install = JAVASCRIPT[manager]
    first_install = install.replace('npm ci', 'npm install').replace('--frozen-lockfile', '')
    outside(f'for side in in out; do cd $side; {first_install}; rm -r node_modules; cd ..; done; rm -rf cache',
            PATH=path, CI='true')
    outside('git add .; git commit -qm more')
    script = f'''
        cd {{side}}; export CI=true npm_config_update_notifier=false; rm -rf node_modules
        {install} > /dev/null
        echo 'console.log(require("tiny"))' | node - > output
        test "$(cat output)" = 42
        test -x node_modules/.bin/tiny
    '''
    flags = ['--ro', str(managers.parents[1])] if managers.exists() else []
    together(script.format(side='in'), script.format(side='out'), *flags, rounds=2, path=path,
             status=['?? cache/', '?? in/node_modules/', '?? in/output', '?? out/node_modules/', '?? out/output'])
    for side in ('in', 'out'):
        assert (work / side / 'node_modules/tiny/index.js').read_text() == 'module.exports = 42\n'
        assert (work / side / LOCKFILES[manager]).exists()


# --- cargo ---

@slow
def test_cargo_builds_two_crates_in_one_target_directory(project, together, outside, workspace):
    """Cargo locks the target directory."""
    path = f'{os.environ["PATH"]}:{PATH}'
    skip_without('cargo', 'rustc', 'cc', path=path)
    env = {'RUSTUP_HOME': os.environ.get('RUSTUP_HOME', os.path.expanduser('~/.rustup'))}
    version = subprocess.run(['cargo', '--version'], capture_output=True, text=True, check=False, cwd=workspace,
                             env={'PATH': path, 'HOME': str(workspace.parent), **env})
    if version.returncode:
        pytest.skip(f'cargo does not work here: {version.stderr}')
    rounds = 3
    project({'Cargo.toml': '[workspace]\nmembers = ["in", "out"]\nresolver = "2"\n',
             **{f'{side}/Cargo.toml': f'[package]\nname = "{side}"\nversion = "1.0.0"\nedition = "2021"\n'
                for side in ('in', 'out')},
             **{f'{side}/src/main.rs': 'fn main() {}\n' for side in ('in', 'out')}})
    outside('cargo generate-lockfile --offline; git add .; git commit -qm more', PATH=path, **env)
    script = '''
        echo "fn main() {{ println!(\\"{side} $1\\"); }}" > {side}/src/main.rs
        cargo build -q --offline -p {side}
        test "$(target/debug/{side})" = "{side} $1"
    '''
    flags = ['--ro', env['RUSTUP_HOME']] if os.path.exists(env['RUSTUP_HOME']) else []
    together(script.format(side='in'), script.format(side='out'), *flags, rounds=rounds, path=path, env=env,
             status=[' M in/src/main.rs', ' M out/src/main.rs', '?? target/'])
    for side in ('in', 'out'):
        assert outside(f'target/debug/{side}').strip() == lines(side, rounds)[-1]


# --- pip ---

@pytest.fixture(scope='module')
def environment(tmp_path_factory):
    """A virtual environment with pip and setuptools, which the test copies."""
    skip_without('python3')
    folder = tmp_path_factory.mktemp('pip') / 'v'
    result = subprocess.run(['python3', '-m', 'venv', folder], env={'PATH': PATH}, capture_output=True, text=True,
                            check=False)
    if result.returncode:
        pytest.skip(f'no virtual environment can be made: {result.stdout}{result.stderr}')
    if subprocess.run([folder / 'bin/python', '-c', 'import setuptools'], capture_output=True, check=False).returncode:
        pytest.skip('a virtual environment has no setuptools')
    return folder


@slow
def test_pip_installs_two_packages_into_one_environment(project, together, outside, workspace, environment):
    """The box installs an editable package, the person an ordinary one."""
    rounds = 1
    setup = 'from setuptools import setup\nsetup(name="side_{side}", version="1", py_modules=["side_{side}"])\n'
    project({'.gitignore': '/v/\n__pycache__/\n*.egg-info/\n/out/build/\n',
             **{f'{side}/setup.py': setup.format(side=side) for side in ('in', 'out')},
             **{f'{side}/side_{side}.py': 'number = 0\n' for side in ('in', 'out')}})
    shutil.copytree(environment, workspace / 'v', symlinks=True)
    install = 'v/bin/python -m pip install -q --disable-pip-version-check --no-index --no-deps --no-build-isolation'
    script = '''
        echo "number = $1" > {side}/side_{side}.py
        {install}
        test "$(v/bin/python -Bc "import side_{side}; print(side_{side}.number)")" = $1
    '''
    together(script.format(side='in', install=f'{install} -e ./in'),
             script.format(side='out', install=f'{install} --force-reinstall ./out'), rounds=rounds,
             status=[' M in/side_in.py', ' M out/side_out.py', '!! in/side_in.egg-info/', '!! out/build/',
                     '!! out/side_out.egg-info/', '!! v/'])
    numbers = outside('v/bin/python -Bc "import side_in, side_out; print(side_in.number, side_out.number)"')
    assert numbers == f'{rounds + 1} {rounds}\n'
    outside('v/bin/python -m pip check')


# --- make ---

MAKEFILE = '''
all: $(SIDE)/prog
$(SIDE)/prog: $(SIDE)/a.o $(SIDE)/b.o $(SIDE)/c.o
\t$(CC) -o $@ $^
$(SIDE)/%.o: $(SIDE)/%.c number.h
\t$(CC) -c -DSIDE='"$(SIDE)"' -o $@ $<
'''


def test_make_builds_on_both_sides_while_git_commits(project, together, outside):
    """The person also commits the built files."""
    skip_without('make', 'cc')
    main = 'int main(void) { printf("%s %d\\n", SIDE, b() + c()); }\n'
    sources = {'a.c': f'#include <stdio.h>\nint b(void), c(void);\n{main}', 'c.c': 'int c(void) { return 2; }\n',
               'b.c': '#include "../number.h"\nint b(void) { return NUMBER; }\n'}
    project({'Makefile': MAKEFILE, 'number.h': '#define NUMBER 40\n',
             **{f'{side}/{name}': text for side in ('in', 'out') for name, text in sources.items()}})
    script = 'make -sj2 -B SIDE={side}; test "$({side}/prog)" = "{side} 42"; make -s SIDE={side};'
    together(script.format(side='in'), script.format(side='out') + 'git add out; git commit -qm "out $1" --allow-empty',
             rounds=6, status=['?? in/a.o', '?? in/b.o', '?? in/c.o', '?? in/prog'])
    assert outside('git log --format=%s').splitlines() == [*reversed(lines('out', 6)), 'begin']
    assert outside('in/prog; git stash -q; git checkout -q HEAD out/prog; out/prog') == 'in 42\nout 42\n'


# --- editors ---

# save FILE TEXT adds a line. The editors are configured to replace the file by a new one; `replace` checks that.
EDITORS = {
    'vim': '''save() { vim -es -u NONE -i NONE "$1" +'set backupcopy=no' +"\\$put ='$2'" +wq; }''',
    'emacs': '''save() { emacs --batch -Q "$1" --eval "(progn (setq make-backup-files nil file-precious-flag t)
                    (goto-char (point-max)) (insert \\"$2\\n\\") (save-buffer))"; }''',
    'sed': '''save() { sed -i "\\$a $2" "$1"; }''',
}

REPLACE = 'replace() { inode=$(stat -c %i "$1"); save "$@"; test "$inode" != "$(stat -c %i "$1")"; }'


@pytest.mark.parametrize('editor', EDITORS)
def test_editor_saves_a_file_on_each_side(project, together, outside, workspace, editor):
    skip_without(editor)
    rounds = 10
    project({'in.txt': 'first\n', 'out.txt': 'first\n'})
    functions = f'{EDITORS[editor]}\n{REPLACE}\n'
    together(functions + 'replace in.txt "in $1"', functions + 'replace out.txt "out $1"', rounds=rounds,
             status=[' M in.txt', ' M out.txt'])
    for side in ('in', 'out'):
        assert (workspace / f'{side}.txt').read_text().splitlines() == ['first', *lines(side, rounds)]


def test_sed_on_the_same_file_never_mixes_the_two_sides(project, together, workspace):
    """The last side to save wins."""
    project({'file': 'first\n' * 1000})
    script = '''for time in 1 2 3 4 5; do
                    sed -i "s/.*/{side} $1/" file
                    test "$(sort -u file | wc -l) $(wc -l < file)" = "1 1000"
                done'''
    together(script.replace('{side}', 'in'), script.replace('{side}', 'out'), rounds=10, status=[' M file'])
    assert (workspace / 'file').read_text() == 'in 11\n' * 1000


@pytest.mark.parametrize('editor', EDITORS)
def test_file_that_an_editor_replaces_outside_stays_denied(project, together, workspace, editor):
    """.envrc is protected, and `key` must not be read. The box attacks both while the person saves them, and again
    afterwards."""
    skip_without(editor)
    rounds = 6
    project({'key': 'secret\n', 'evil': 'evil\n'})
    together(f'{EDITORS[editor]}\nlast={rounds}' + '''
             for time in 1 2; do
                 for file in .envrc key; do
                     refused sh -c "echo evil >> $file"; refused sh -c "echo evil > $file"
                     refused sed -i s/^/evil/ $file; refused mv evil $file; refused ln -f evil $file
                     refused rm $file; refused mv $file other; refused ln $file other
                     refused truncate -s 0 $file; refused cp evil $file
                 done
                 refused cat key
                 refused cp key other
             done
             test $1 -gt $last || exit 0
             refused save key evil
             refused save .envrc evil
             rm -f .envr?~ tmp??????     # an editor that fails at the last step leaves its copy
             ''', f'{EDITORS[editor]}\n{REPLACE}\nreplace .envrc "out $1"; replace key "out $1"',
             '--deny-read', 'key', rounds=rounds, changes=['.envrc'], status=[' M .envrc', ' M key'])
    assert (workspace / '.envrc').read_text().splitlines() == ['export FIRST=1', *lines('out', rounds)]
    assert (workspace / 'key').read_text().splitlines() == ['secret', *lines('out', rounds)]
    assert (workspace / 'evil').read_text() == 'evil\n'
