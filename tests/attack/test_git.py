"""git outside of a box executes nothing that a box left in a repository, and git works inside.

Each attack is a script that changes a repository so that git executes the canary, a program that creates a mark. If the
script runs outside, git has to execute the canary afterwards, which proves the attack. If it runs in a box, no git
command in any directory may execute the canary.
"""
import os
import shutil
import stat
import subprocess

import pytest

from name_attack import GIT, LEVELS

# The same inside and outside, so that commits are the same and the configuration of the machine does not matter.
GIT_ENVIRONMENT = {
    **GIT,
    'GIT_CONFIG_COUNT': '2',
    'GIT_CONFIG_KEY_0': 'init.defaultBranch',
    'GIT_CONFIG_VALUE_0': 'main',
    'GIT_CONFIG_KEY_1': 'protocol.file.allow',
    'GIT_CONFIG_VALUE_1': 'always',
}

# The git commands that a person runs afterwards. Each may fail; none may execute the canary. The slow ones run only at
# the top of the workspace, unless this is a long run.
LONG = bool(os.environ.get('RINGWALL_LONG'))
COMMANDS = (('status',), ('diff',), ('log', '-p', '-1'), ('commit', '-qam', 'mine', '--allow-empty'),
            ('checkout', '-q', '-'))
COMMANDS_AT_TOP = (*COMMANDS, ('add', '-A'), ('checkout', '-q', 'side'), ('checkout', '-q', 'main'),
                   ('rebase', '--continue'), ('fetch', '--all'), ('submodule', 'update', '--init', '--force'))


class Host:
    """A home with repositories, a workspace and the canary. The mark shows that git has executed the canary."""

    def __init__(self, top, build):
        self.top, self.build = top, build
        self.home, self.work = top / 'home', top / 'home/work'
        self.mark, self.canary = self.home / 'mark', self.home / 'canary'
        self.origin, self.library = self.home / 'origin.git', self.home / 'library'

    def reset(self, repository=True):
        """Restores the home at the same path, with or without a repository: it is made once and then copied."""
        template = self.top.parent / ('template' if repository else 'template-bare')
        if not template.exists():
            shutil.rmtree(self.top, ignore_errors=True)
            self.make_home()
            if repository:
                self.make_repositories()
            subprocess.run(['cp', '-a', self.top, template], check=True)
        shutil.rmtree(self.top, ignore_errors=True)
        subprocess.run(['cp', '-a', template, self.top], check=True)
        if repository:      # the copy has other inodes than the index, and git would write the files again
            self.run(['git', 'update-index', '-q', '--refresh'])
        return self

    def make_home(self):
        self.work.mkdir(parents=True)
        self.canary.write_text(f'#!/bin/sh\necho "$0 $*" >> {self.mark}\nexit 0\n')
        self.canary.chmod(0o755)
        (self.home / '.gitconfig').write_text('[user]\n name = person\n email = p@example.com\n[gc]\n auto = 0\n')
        for folder in ('hooks', 'info'):
            (self.home / 'template' / folder).mkdir(parents=True)

    def make_repositories(self):
        self.library.mkdir()
        template = f'export GIT_TEMPLATE_DIR={self.home}/template\n'     # without sample hooks
        self.script(self.library, template + 'git init -q . && echo lib > l && git add l && git commit -qm lib')
        self.script(self.work, template + f'''
            git init -q . && echo one > f && mkdir deep && echo two > deep/g && git add . && git commit -qm one &&
            git submodule add -q {self.library} sub && git commit -qm sub && echo three >> f && git commit -qam three &&
            git branch side HEAD~1 && git clone -q --bare . {self.origin} && git remote add origin {self.origin} &&
            git remote add distant ssh://127.0.0.1:1/nothing && git fetch -q origin && git worktree add -q --detach tree side &&
            git init -q nested && (cd nested && echo n > n && git add n && git commit -qm nested) &&
            printf 'tree\\nnested\\n' >> .git/info/exclude''')

    def environment(self):
        return {'HOME': str(self.home), 'PATH': '/usr/local/bin:/usr/bin:/bin', 'LANG': 'C.UTF-8', 'TERM': 'dumb',
                **GIT_ENVIRONMENT,
                'GIT_EDITOR': 'true', 'GIT_SEQUENCE_EDITOR': 'true', 'GIT_TERMINAL_PROMPT': '0'}

    def run(self, command, where=None, timeout=60):
        return subprocess.run(command, cwd=where or self.work, env=self.environment(), stdin=subprocess.DEVNULL,
                              capture_output=True,
                              encoding='utf-8', errors='replace', timeout=timeout, check=False)

    def script(self, where, text):
        result = self.run(['sh', '-ec', text], where)
        assert result.returncode == 0, result.stdout + result.stderr

    def box(self, level, *flags):
        """The start of a command line that runs the rest of the line in a box with the variables of GIT_ENVIRONMENT."""
        variables = [word for name, value in GIT_ENVIRONMENT.items() for word in ('--env', f'{name}={value}')]
        return [str(self.build / 'ringwall'), 'run', '--level', level, *variables, *flags, '--']

    def run_git(self, *directories):
        """Changes files and runs git commands in each directory, until the canary is executed. Returns which command
        executed it and its mark, or ''."""
        for directory in directories:
            where = self.work / directory
            if not where.is_dir():
                continue
            for name in ('f', 'n', 'l'):
                if (where / name).is_file():
                    with open(where / name, 'a', encoding='utf-8') as file:
                        file.write('more\n')
            for command in COMMANDS_AT_TOP if directory == '.' or LONG else COMMANDS:
                self.run(['git', *command], where)
                if self.mark.exists():
                    return f'git {" ".join(command)} in {directory}: {self.mark.read_text()}'
        return ''


@pytest.fixture(scope='module')
def host(tmp_path_factory, build):
    """One path for all tests, so that paths in the files of git are the same outside and inside."""
    return Host(tmp_path_factory.mktemp('git') / 'host', build)


PROVEN = {}     # title -> the git command that executed the canary outside

EVIL = '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = {canary}\\n\\thooksPath = {canary}s\\n'
HOOK = '#!/bin/sh\\n{canary} hook\\n'
# Copies of the repository, and new ones, with a configuration that executes the canary.
COPY = 'cp -r .git copy && printf "[core]\\n\\tfsmonitor = {canary}\\n" >> copy/config'
FRESH = 'mkdir -p {at}/objects {at}/refs && echo ref: refs/heads/main > {at}/HEAD && ' \
        'printf "[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tfsmonitor = {{canary}}\\n{more}" ' \
        '> {at}/config'


def fresh(at, more=''):
    """A script that makes a new repository in the directory."""
    return FRESH.format(at=at, more=more)


def setting(*keys):
    """A script that appends settings to the configuration of the repository."""
    return 'printf "' + ''.join(f'[{section}]\\n\\t{key} = {value}\\n' for section, key,
                                value in keys) + '" >> .git/config'


FSMONITOR = setting(('core', 'fsmonitor', '{canary}'))
LINE = '[core]\\n\\tfsmonitor = {canary}\\n'

HOOKS = {
    'a hook': f'printf "{HOOK}" > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit',
    'a post-index-change hook':
        f'printf "{HOOK}" > .git/hooks/post-index-change && '
        'chmod +x .git/hooks/post-index-change',
    'a reference-transaction hook':
        f'printf "{HOOK}" > .git/hooks/reference-transaction && chmod +x '
        f'.git/hooks/reference-transaction',
    'a hook by rename': f'printf "{HOOK}" > h && chmod +x h && mv h .git/hooks/post-checkout',
    'a hook by hard link': f'printf "{HOOK}" > h && chmod +x h && ln h .git/hooks/post-checkout',
    'a hook as a symlink': f'printf "{HOOK}" > h && chmod +x h && ln -s ../../h .git/hooks/post-checkout',
    'a sample renamed to a hook':
        f'printf "{HOOK}" > .git/hooks/pre-commit.sample && chmod +x '
        f'.git/hooks/pre-commit.sample && '
        'mv .git/hooks/pre-commit.sample .git/hooks/pre-commit',
    'the directory of hooks replaced by rename':
        f'mkdir h && printf "{HOOK}" > h/pre-commit && chmod +x h/pre-commit && mv .git/hooks '
        f'.git/old && mv h .git/hooks',
    'the directory of hooks replaced by a symlink':
        f'mkdir h && printf "{HOOK}" > h/pre-commit && chmod +x h/pre-commit && rm -r '
        f'.git/hooks && ln -s ../h .git/hooks',
    'hooks of a submodule':
        f'printf "{HOOK}" > .git/modules/sub/hooks/post-checkout && chmod +x '
        f'.git/modules/sub/hooks/post-checkout && '
        'rm sub/l',
    'a hook in a nested repository':
        f'printf "{HOOK}" > nested/.git/hooks/pre-commit && chmod +x '
        f'nested/.git/hooks/pre-commit',
}

ATTRIBUTES = 'echo "* filter=x diff=x" > .gitattributes'
SETTINGS = {
    'core.fsmonitor': FSMONITOR,
    'core.hooksPath':
        f'mkdir h && printf "{HOOK}" > h/pre-commit && chmod +x h/pre-commit && ' +
        setting(('core', 'hooksPath', 'h')),
    'core.sshCommand': setting(('core', 'sshCommand', '{canary}')),
    'diff.external': setting(('diff', 'external', '{canary}')),
    'gpg.program': setting(('commit', 'gpgSign', 'true'), ('gpg', 'program', '{canary}')),
    'a filter': ATTRIBUTES + ' && ' + setting(('filter \\"x\\"', 'clean', '{canary}')),
    'a filter in info|attributes':
        'mkdir -p .git/info && echo "* filter=x" > .git/info/attributes && ' +
        setting(('filter \\"x\\"', 'clean', '{canary}')),
    'a filter process': ATTRIBUTES + ' && ' + setting(('filter \\"x\\"', 'process', '{canary}')),
    'textconv': ATTRIBUTES + ' && ' + setting(('diff \\"x\\"', 'textconv', '{canary}')),
    'a diff command': ATTRIBUTES + ' && ' + setting(('diff \\"x\\"', 'command', '{canary}')),
    'uploadpack': setting(('remote \\"origin\\"', 'uploadpack', '{canary}')),
    'a submodule\'s update': setting(('submodule \\"sub\\"', 'update', '!{canary}')) + ' && rm -r sub/l',
    'include.path': f'printf "{LINE}" > evil && ' + setting(('include', 'path', '../evil')),
    'includeIf': f'printf "{LINE}" > evil && ' + setting(('includeIf \\"gitdir:**\\"', 'path', '../evil')),
    'url insteadOf':
        setting(('url \\"ext::{canary} \\"', 'insteadOf', 'ssh://'),
                ('protocol \\"ext\\"', 'allow', 'always')),
    'a new remote that executes a command':
        setting(('remote \\"evil\\"', 'url', 'ext::{canary}'),
                ('protocol \\"ext\\"', 'allow', 'always')),
    'core.alternateRefsCommand':
        'mkdir -p .git/objects/info && echo {origin}/objects > .git/objects/info/alternates '
        '&& ' +
        setting(('core', 'alternateRefsCommand', '{canary}'),
                ('remote \\"origin\\"', 'fetch', '+refs/heads/*:refs/remotes/origin/*')),
    'core.worktree': setting(('core', 'worktree', '{work}'), ('core', 'fsmonitor', '{canary}')),
    'a setting with odd spelling': 'printf "[CoRe]fsMonitor={canary} # c\\n" >> .git/config',
    'a setting after a continued line':
        'printf "[user]\\n\\tname = a \\\\\\\\\\n b\\n[core] fsmonitor = '
        '\\"{canary}\\"\\n" >> .git/config',
    'a setting in a nested repository': 'printf "[core]\\n\\tfsmonitor = {canary}\\n" >> nested/.git/config',
    'a setting of a submodule': f'printf "{LINE}" >> .git/modules/sub/config',
    'config.worktree': f'git config extensions.worktreeConfig true && printf "{LINE}" > .git/config.worktree',
    'config.worktree of a worktree':
        f'git config extensions.worktreeConfig true && printf "{LINE}" > '
        f'.git/worktrees/tree/config.worktree',
}

CONFIG_WRITES = {
    'git config': 'git config core.fsmonitor {canary}',
    'git -C config': 'git -C nested config core.fsmonitor {canary}',
    'config by rename': f'cp .git/config c && printf "{LINE}" >> c && mv c .git/config',
    'config by rename of its lock file':
        f'cp .git/config .git/config.lock && printf "{LINE}" >> .git/config.lock && mv '
        f'.git/config.lock .git/config',
    'config by a hard link': f'ln .git/config c && printf "{LINE}" >> c',
    'config as a symlink': f'cp .git/config c && printf "{LINE}" >> c && ln -sf ../c .git/config',
    'config removed and created':
        f'cp .git/config c && rm .git/config && cat c > .git/config && printf "{LINE}" >> '
        f'.git/config',
    'config exchanged':
        f'cp .git/config c && printf "{LINE}" >> c && python3 -c "import ctypes; '
        'exit(ctypes.CDLL(None).renameat2(-100, b\'c\', -100, b\'.git/config\', 2))"',
    'config by sed': 'sed -i "s|\\[core\\]|[core]\\nfsmonitor = {canary}|" .git/config',
    'config by truncation': f'truncate -s 0 .git/config && printf "{LINE}" >> .git/config',
    'config by O_TMPFILE':
        'python3 -c "import os, ctypes; t = open(\'.git/config\').read(); f = '
        'os.open(\'.git\', os.O_TMPFILE | os.O_RDWR); '
        'os.write(f, t.encode() + b\'[core]\\n fsmonitor = {canary}\\n\'); '
        'os.unlink(\'.git/config\'); '
        'exit(ctypes.CDLL(None).linkat(-100, b\'/proc/self/fd/%d\' % f, -100, '
        'b\'.git/config\', 0x400))"',
    'config through an older descriptor':
        'python3 -c "import os; os.system(\'git init -q late\'); os.rename(\'late/.git\', '
        '\'late/g\'); '
        'f = open(\'late/g/config\', \'a\'); os.rename(\'late/g\', \'late/.git\'); '
        'f.write(\'[core]\\n fsmonitor = {canary}\\n\'); f.close()"',
    'config in a directory that is renamed to .git':
        'mkdir -p late/g && git init -q t && mv t/.git/* late/g/ && printf '
        '"[core]\\n\\tfsmonitor = {canary}\\n" '
        '>> late/g/config && mv late/g late/.git',
}

REPLACED_REPOSITORIES = {
    'commondir': COPY + ' && echo ../copy > .git/commondir',
    'commondir, absolute': COPY + ' && echo {work}/copy > .git/commondir',
    'commondir as a symlink': COPY + ' && echo ../copy > c && ln -s ../c .git/commondir',
    'a bare repository at the top':
        COPY + ' && sed -i "s/bare = .*/bare = false/" copy/config && '
        'printf "\\tworktree = {work}\\n" >> copy/config && rm .git/HEAD && cp -r copy/* .',
    '.git renamed, a bare repository at the top':
        COPY + ' && printf "\\tworktree = {work}\\n" >> copy/config && mv '
        '.git g && cp -r copy/* .',
    '.git as a file': COPY + ' && mv .git g && echo gitdir: copy > .git',
    '.git removed and replaced by a file': COPY + ' && rm -rf .git && echo gitdir: {work}/copy > .git',
    '.git as a symlink': COPY + ' && mv .git g && ln -s copy .git',
    '.git exchanged':
        COPY + ' && python3 -c "import ctypes; exit(ctypes.CDLL(None).renameat2(-100, b\'copy\', -100, '
        'b\'.git\', 2))"',
    '.git removed and replaced by a directory': COPY + ' && rm -rf .git && mv copy .git',
    'the .git file of a worktree': COPY + ' && echo gitdir: {work}/copy > tree/.git',
    'the .git file of a worktree by rename': COPY + ' && echo gitdir: ../copy > p && mv p tree/.git',
    'the .git file of a worktree as a symlink': COPY + ' && rm tree/.git && ln -s ../copy tree/.git',
    'commondir of a worktree': COPY + ' && echo {work}/copy > .git/worktrees/tree/commondir',
    'the .git file of a submodule': COPY + ' && echo gitdir: ../copy > sub/.git',
    'a directory instead of the .git file of a submodule':
        'rm sub/.git && cp -r .git/modules/sub sub/.git && sed -i '
        '/worktree/d sub/.git/config && '
        'printf "[core]\\n\\tfsmonitor = {canary}\\n" >> '
        'sub/.git/config',
    'a new worktree with another .git file':
        COPY + ' && git worktree add -q late && '
        'echo gitdir: {work}/copy > late/.git',
    'a nested .git as a file': 'mkdir late && ' + COPY + ' && echo gitdir: ../copy > late/.git',
    'a nested .git as a symlink': 'mkdir late && ' + COPY + ' && ln -s ../copy late/.git',
}

NEW_REPOSITORIES = {
    'git init and a setting': 'git init -q late && git -C late config core.fsmonitor {canary}',
    'git init with a template':
        f'mkdir -p t/hooks && printf "{HOOK}" > t/hooks/pre-commit && chmod +x '
        f't/hooks/pre-commit && '
        'git init -q --template=t late',
    'git init --separate-git-dir':
        'git init -q --separate-git-dir=apart late && printf "[core]\\n\\tfsmonitor = {canary}\\n" >> '
        'apart/config',
    'git clone with a setting': 'git clone -q -c core.fsmonitor={canary} nested late',
    'a repository by hand': fresh('late/.git'),
    'a repository by hand, in a deep directory': fresh('late/a/b/c/d/.git'),
    'a repository by hand, HEAD last':
        'mkdir -p late/.git/objects late/.git/refs && printf '
        '"[core]\\n\\trepositoryformatversion = 0\\n'
        '\\tfsmonitor = {canary}\\n" > late/.git/config && echo ref: '
        'refs/heads/main > late/.git/HEAD',
    'a repository that is renamed to .git': fresh('late/prepared') + ' && mv late/prepared late/.git',
    'a repository in a directory that is renamed': fresh('x/a/prepared') + ' && mv x/a/prepared x/a/.git && mv x late',
    'a bare repository': fresh('late', '\\tworktree = {work}/late\\n'),
    'a bare repository in a directory of the tree': fresh('deep', '\\tworktree = {work}/deep\\n'),
    'a bare repository that is renamed': fresh('x', '\\tworktree = {work}/late\\n') + ' && mv x late',
    'a bare repository, config last':
        'mkdir -p late/objects late/refs && echo ref: refs/heads/main > '
        'late/HEAD && printf "[core]\\n'
        '\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = '
        '{work}/late\\n\\tfsmonitor = {canary}\\n" > late/config',
    'config through a descriptor that is older than the repository':
        'python3 -c "import os; os.makedirs(\'late\'); f = open(\'late/config\', '
        '\'w\'); '
        'os.makedirs(\'late/objects\'); os.makedirs(\'late/refs\'); '
        'open(\'late/HEAD\', \'w\').write(\'ref: refs/heads/main\\n\'); '
        'f.write(\'[core]\\nrepositoryformatversion = 0\\nbare = '
        'false\\nworktree = {work}/late\\nfsmonitor = {canary}\\n\')"',
    'a repository from an archive': fresh('x/.git') + ' && tar -cf a.tar -C x . && mkdir late && tar -xf a.tar -C late',
}

TODO = 'printf "break\\nexec {canary}\\n"'
REBASES = {
    'a rebase that is started inside':
        'GIT_SEQUENCE_EDITOR="sh -c \'' + TODO.replace('"', '\\"').replace('\\\\"',
        '\\"') +
        ' > \\"\\$0\\"\'" git -c user.name=x -c user.email=x rebase -q -i HEAD~1',
    'a rebase by hand':
        'mkdir .git/rebase-merge && cd .git/rebase-merge && echo refs/heads/main > head-name && git '
        'rev-parse HEAD > onto && '
        'git rev-parse HEAD > orig-head && : > interactive && echo 1 > msgnum && echo 1 > end && : > '
        'done && '
        'echo "exec {canary}" > git-rebase-todo',
    'a rebase by rename':
        'mkdir r && cd r && echo refs/heads/main > head-name && git rev-parse HEAD > onto && git '
        'rev-parse HEAD > orig-head && '
        ': > interactive && echo 1 > msgnum && echo 1 > end && : > done && echo "exec {canary}" > '
        'git-rebase-todo && '
        'cd .. && mv r .git/rebase-merge',
}

EVERYWHERE = ('.', 'nested', 'sub', 'tree', 'late', 'deep', 'late/a/b/c/d', 'late/a')


def assert_git_runs_nothing(host, level, title, script, *directories, before='', repository=True):
    """If the script ran outside, git executes the canary; if it ran in a box, git does not, in any directory."""
    script = script.format(canary=host.canary, work=host.work, origin=host.origin)
    if title not in PROVEN:
        host.reset(repository)
        if before:
            host.script(host.work, before)
        result = host.run(['sh', '-ec', script])
        host.mark.unlink(missing_ok=True)
        ran = host.run_git(*directories)
        assert ran, f'outside of the box git did not execute the canary: {result.stdout}{result.stderr}'
        PROVEN[title] = ran
    host.reset(repository)
    if before:
        host.script(host.work, before)
    result = host.run([*host.box(level), 'sh', '-c', script])
    assert result.returncode != 125, f'ringwall refused to run it: {result.stderr}'
    assert not host.mark.exists(), 'the canary ran in the box and could create its mark'
    ran = host.run_git(*directories)
    assert not ran, f'{ran}; inside, at {level}: {result.returncode} {result.stdout}{result.stderr}'


def each_case(table):
    """A decorator that runs a test for each title and script of the table."""
    return pytest.mark.parametrize('title, script',
                                   [pytest.param(title, script, id=title) for title, script in table.items()])


each_level = pytest.mark.parametrize('level', LEVELS)


@each_level
@each_case(HOOKS)
def test_git_outside_executes_no_hook_of_a_box(host, level, title, script):
    assert_git_runs_nothing(host, level, title, script, *EVERYWHERE[:4])


@each_level
@each_case(SETTINGS)
def test_git_outside_executes_no_command_of_a_setting_of_a_box(host, level, title, script):
    assert_git_runs_nothing(host, level, title, script, *EVERYWHERE[:4])


@each_level
@each_case(CONFIG_WRITES)
def test_git_outside_executes_no_setting_however_a_box_writes_the_configuration(host, level, title, script):
    assert_git_runs_nothing(host, level, title, script, *EVERYWHERE[:5])


@each_level
@each_case(REPLACED_REPOSITORIES)
def test_git_outside_executes_nothing_of_a_repository_that_replaces_another(host, level, title, script):
    """The original hooks and configuration stay as they are, which once was all that a box enforced."""
    assert_git_runs_nothing(host, level, title, script, *EVERYWHERE[:5])


@each_level
@each_case(NEW_REPOSITORIES)
def test_git_outside_executes_nothing_of_a_new_repository(host, level, title, script):
    assert_git_runs_nothing(host, level, title, script, '.', *EVERYWHERE[4:])


@each_level
@each_case({f'at the top: {title}': script for title, script in {
    'git init and a setting': 'git init -q . && git config core.fsmonitor {canary}',
    'by hand': fresh('.git'),
    'by rename': fresh('prepared') + ' && mv prepared .git',
    'a .git file': fresh('prepared') + ' && echo gitdir: prepared > .git',
    'a .git symlink': fresh('prepared') + ' && ln -s prepared .git',
    'a bare repository':
        'mkdir objects refs && echo ref: refs/heads/main > HEAD && printf "[core]\\n\\trepositoryformatversion = '
        '0\\n\\tbare = false\\n'
        '\\tworktree = {work}\\n\\tfsmonitor = {canary}\\n" > config',
    'a hook': f'git init -q . && printf "{HOOK}" > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit',
    'a hook, then the repository':
        f'mkdir -p .git/hooks && printf "{HOOK}" > .git/hooks/pre-commit && chmod +x '
        f'.git/hooks/pre-commit && git init -q .',
    'config through an older descriptor':
        'python3 -c "import os; os.mkdir(\'g\'); f = open(\'g/config\', \'w\'); '
        'os.makedirs(\'g/objects\'); '
        'os.makedirs(\'g/refs\'); open(\'g/HEAD\', \'w\').write(\'ref: '
        'refs/heads/main\\n\'); os.rename(\'g\', \'.git\'); '
        'f.write(\'[core]\\nrepositoryformatversion = 0\\nfsmonitor = {canary}\\n\')"',
}.items()})
def test_git_outside_executes_nothing_of_a_repository_in_a_workspace_that_had_none(host, level, title, script):
    assert_git_runs_nothing(host, level, title, script, '.', repository=False)


@each_level
@each_case(REBASES)
def test_git_outside_executes_no_command_of_a_rebase_that_a_box_prepared(host, level, title, script):
    assert_git_runs_nothing(host, level, title, script, '.')


@each_level
@pytest.mark.parametrize('title, before, script', [
    ('a command added to an unfinished rebase', 'GIT_SEQUENCE_EDITOR="sed -i 1ibreak" git rebase -q -i HEAD~1',
     'cd .git/rebase-merge && (echo "exec {canary}"; cat git-rebase-todo) > t && cat t > git-rebase-todo'),
    ('a to-do list renamed into an unfinished rebase', 'GIT_SEQUENCE_EDITOR="sed -i 1ibreak" git rebase -q -i HEAD~1',
     'echo "exec {canary}" > t && mv t .git/rebase-merge/git-rebase-todo'),
    ('hooks are a dangling link', 'rm -r .git/hooks && ln -s ../scripts .git/hooks',
     f'mkdir scripts && printf "{HOOK}" > scripts/pre-commit && chmod +x scripts/pre-commit'),
    ('hooks are a link to a dangling link', 'rm -r .git/hooks && ln -s ../a .git/hooks && ln -s deep/scripts a',
     f'mkdir deep/scripts && printf "{HOOK}" > deep/scripts/pre-commit && chmod +x deep/scripts/pre-commit'),
    ('the configuration is a dangling link', 'rm .git/config && ln -s ../conf .git/config',
     'printf "[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = {canary}\\n" > conf'),
    ('an included file is missing', 'git config include.path ../extra', f'printf "{LINE}" > extra'),
    ('core.hooksPath is a missing directory', 'git config core.hooksPath scripts',
     f'mkdir scripts && printf "{HOOK}" > scripts/pre-commit && chmod +x scripts/pre-commit'),
    ('the directory of hooks is missing', 'rm -r .git/hooks',
     f'mkdir .git/hooks && printf "{HOOK}" > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit'),
    ('config.worktree is missing', 'git config extensions.worktreeConfig true',
     f'printf "{LINE}" > .git/config.worktree'),
    ('config.worktree of a worktree is missing', 'git config extensions.worktreeConfig true',
     f'printf "{LINE}" > .git/worktrees/tree/config.worktree'),
    ('the repository of a submodule is missing', 'rm -rf .git/modules/sub sub && mkdir sub',
     'mkdir -p .git/modules/sub/objects .git/modules/sub/refs && echo ref: refs/heads/main > .git/modules/sub/HEAD && '
     'printf "[core]\\n\\trepositoryformatversion = 0\\n\\tworktree = ../../../sub\\n\\tfsmonitor = {canary}\\n" > '
     '.git/modules/sub/config && '
     'echo gitdir: ../.git/modules/sub > sub/.git'),
], ids=lambda value: None)
def test_git_outside_executes_nothing_that_a_box_adds_to_an_incomplete_repository(host, level, title, before, script):
    assert_git_runs_nothing(host, level, title, script, *EVERYWHERE[:4], before=before)


@each_level
def test_box_cannot_add_alternate_object_directories(host, level):
    """git would take objects from a directory that the box chose."""
    for name in ('alternates', 'http-alternates'):
        host.reset()
        result = host.run([*host.box(level), 'sh', '-c',
                             f'mkdir -p .git/objects/info && echo /nowhere > .git/objects/info/{name}'])
        assert result.returncode != 0 and not (host.work / '.git/objects/info' / name).exists()


# --- git works inside ---

def describe(host):
    """All files of the workspace with their modes, and git's description of each repository; nothing that differs from
    run to run."""
    description, repositories = {}, []
    for folder, folders, files in os.walk(host.work):
        relative = os.path.relpath(folder, host.work)
        if '.git' in folders or '.git' in files:
            repositories.append(relative)
        folders[:] = [name for name in folders if name != 'objects']
        for name in folders + files:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            description[f'{relative}/{name}'] = stat.filemode(status.st_mode)
            if stat.S_ISREG(status.st_mode) and name in ('config', 'HEAD', 'packed-refs', 'commondir', '.gitmodules',
                                                         'gitdir'):
                with open(path, encoding='utf-8', errors='replace') as file:
                    description[f'{relative}/{name}'] += file.read()
    for repository in repositories:
        commands = [('status', '--porcelain', '--branch'), ('log', '--all', '--format=%H %s'),
                    ('config', '-l', '--local')]
        if repository == '.':
            commands += [('branch', '-avv'), ('tag', '-n'), ('stash', 'list'), ('worktree', 'list'),
                         ('fsck', '--no-progress')]
        for command in commands:
            result = host.run(['git', *command], host.work / repository)
            description[f'{repository}: git {" ".join(command)}'] = f'{result.returncode} {result.stdout}'
    return description


WORKING_COMMANDS = {
    'init': 'git init -q new && cd new && echo x > x && git add x && git commit -qm x',
    'init again': 'git init -q .',
    'init, bare': 'git init -q --bare bare.git && git push -q ./bare.git main',
    'clone': 'git clone -q . copy && git -C copy log --oneline',
    'clone, hard links off':
        'git clone -q --no-hardlinks nested copy && cd copy && echo y > y && git add y && git '
        'commit -qm y',
    'clone, bare': 'git clone -q --bare nested copy.git',
    'commit': 'echo more >> f && git commit -qam more && git commit -q --amend -m better',
    'remote add': 'git remote add upstream https://example.com/x.git && git remote -v',
    'remote add by ssh': 'git remote add upstream git@example.com:x/y.git',
    'remote rename': 'git remote add upstream https://example.com/x.git && git remote rename upstream up',
    'remote remove': 'git remote add upstream https://example.com/x.git && git remote remove upstream',
    'branch -u': 'git branch -u origin/main',
    'checkout --track': 'git checkout -q -b follows --track origin/main',
    'switch and branch -m':
        'git switch -q -c topic && git branch -m topic other && git switch -q main && git branch '
        '-q -d other',
    'worktree add': 'git worktree add -q late && cd late && echo x > x && git add x && git commit -qm x',
    'worktree remove': 'git worktree add -q late && git worktree remove late && git worktree prune',
    'submodule add':
        'git -c protocol.file.allow=always submodule --quiet add $PWD/nested module && git commit -qm '
        'module',
    'submodule update': 'git submodule --quiet update --init',
    'config user': 'git config user.name somebody && git config user.email s@example.com && git config user.name',
    'config core':
        'git config core.autocrlf input && git config core.ignorecase false && '
        'git config core.quotepath off',
    'config unset': 'git config user.name x && git config --unset user.name',
    'stash': 'echo more >> f && git stash -q && git stash pop -q && git stash -q',
    'merge': 'git checkout -q side && echo s > s && git add s && git commit -qm s && git merge -q main -m merged',
    'merge with a conflict':
        'git checkout -q side && echo x > f && git commit -qam x && ! git merge -q main && echo y '
        '> f && git add f && '
        'git commit -qm resolved',
    'rebase': 'git checkout -q side && echo s > s && git add s && git commit -qm s && git rebase -q main',
    'rebase with a conflict':
        'git checkout -q side && echo x > f && git commit -qam x && ! git rebase main >/dev/null '
        '2>&1 && echo y > f && '
        'git add f && GIT_EDITOR=true git rebase --continue >/dev/null',
    'rebase, interactive': 'GIT_SEQUENCE_EDITOR=true git rebase -q -i HEAD~1',
    'cherry-pick': 'git checkout -q side && git cherry-pick main >/dev/null',
    'cherry-pick of several commits':
        'for i in 1 2; do echo $i > n$i && git add n$i && git commit -qm n$i; done && git checkout -q side && '
        'git cherry-pick -x -X theirs main~2..main >/dev/null',
    'cherry-pick with a conflict':
        'for i in 1 2; do echo $i > n$i && git add n$i && git commit -qm n$i; done && git checkout -q side && '
        'echo 3 > n1 && git add n1 && git commit -qm n && ! git cherry-pick -x main~2..main >/dev/null 2>&1 && '
        'echo 4 > n1 && git add n1 && GIT_EDITOR=true git cherry-pick --continue >/dev/null 2>&1',
    'branch --edit-description':
        'GIT_EDITOR="printf \'two\\nlines\\n\' >" git branch --edit-description && git config branch.main.description',
    'revert': 'git revert --no-edit HEAD >/dev/null',
    'gc': 'git gc -q --prune=now && git pack-refs --all && git repack -q -a -d',
    'tag': 'git tag light && git tag -a heavy -m words && git tag -d light >/dev/null',
    'reset and clean': 'echo more >> f && echo junk > junk && git reset -q --hard HEAD~1 && git clean -qfd',
    'mv and rm': 'git mv f f2 && git rm -q deep/g && git commit -qm moved',
    'format-patch and am':
        'git format-patch -q -1 -o patches && git reset -q --hard HEAD~1 && git am -q '
        'patches/*.patch',
    'am with a conflict':
        'git format-patch -q -1 -o patches && git reset -q --hard HEAD~1 && echo other > f && git commit -qam o && '
        '! git am -q patches/*.patch >/dev/null 2>&1 && echo y > f && git add f && git am -q --continue',
    'rebase by patches':
        'git checkout -q side && echo s > s && git add s && git commit -qm s && git rebase -q --apply main',
    'apply': 'git diff HEAD~1 HEAD > p && git apply -R p',
    'bisect':
        'git bisect start HEAD HEAD~2 >/dev/null 2>&1 && git bisect good >/dev/null 2>&1 && git bisect reset '
        '>/dev/null 2>&1',
    'notes and replace': 'git notes add -m note && git replace HEAD HEAD~1 && git replace -d HEAD >/dev/null',
    'fetch from a neighbour': 'git fetch -q ./nested main && git log --oneline FETCH_HEAD',
    'push to a neighbour': 'git clone -q --bare nested n.git && git -C nested push -q ../n.git main:topic',
    'archive and bundle': 'git archive -o a.tar HEAD && git bundle create -q b HEAD',
    'remove a clone': 'git clone -q nested copy && rm -rf copy',
    'move a clone': 'git clone -q nested copy && mv copy copy2 && git -C copy2 status',
    'ignore': 'echo junk > .gitignore && git add .gitignore && git commit -qm ignore && git update-index --refresh',
    'an index of version 4':
        'git update-index --index-version 4 && echo x > deep/x && git add deep/x && git commit '
        '-qm x && git status',
    'a split index':
        'git update-index --split-index && echo x > x && git add x && git commit -qm x && git '
        'update-index --no-split-index && '
        'rm .git/sharedindex.*',
    'a sparse index':
        'git sparse-checkout set --cone --sparse-index deep && echo x > deep/x && git add deep/x && git '
        'commit -qm x',
    'an index with offsets':
        'git config index.threads 4 && mkdir many && (cd many && seq 2000 | xargs touch) && '
        'git add many && git commit -qm many && git status && grep -q IEOT .git/index',
    'ids of 32 bytes':
        'git init -q --object-format=sha256 long && cd long && echo x > x && git add x && git commit '
        '-qm x && '
        'git clone -q . ../long2 && cd ../long2 && git worktree add -q w && cd w && echo y > y && git '
        'add y && git commit -qm y',
    'directories with names of a repository':
        'mkdir objects refs worktrees && echo x > refs/x && git add refs '
        '&& git commit -qm x && '
        'mkdir -p d/objects d/refs d/info && git init -q d',
    'read the configuration': 'git config -l >/dev/null && git var GIT_AUTHOR_IDENT >/dev/null',
}


EXPECTED = {}   # title -> the description and the output outside


@each_level
@each_case(WORKING_COMMANDS)
def test_git_works_inside_as_outside(host, level, title, script):
    """The same commands have the same result. The dates are fixed, so the ids of commits are the same too."""
    if title not in EXPECTED:
        host.reset()
        outside = host.run(['sh', '-ec', script])
        assert outside.returncode == 0, f'outside: {outside.stdout}{outside.stderr}'
        EXPECTED[title] = describe(host), outside.stdout
    expected, output = EXPECTED[title]
    host.reset()
    inside = host.run([*host.box(level), 'sh', '-ec', script])
    assert inside.returncode == 0, f'inside: {inside.stdout}{inside.stderr}'
    found = describe(host)
    different = [f'{name}:\noutside {expected.get(name)}\ninside  {found.get(name)}'
                 for name in sorted(expected.keys() | found.keys())
                 if expected.get(name) != found.get(name)]
    assert not different, '\n'.join(different)
    assert inside.stdout == output


@each_level
@pytest.mark.parametrize('script', ['git init -q . && git config user.name x && echo x > x && git add . && git commit '
                                    '-qm x',
                                    'git clone -q other copy && cd copy && git status --porcelain',
                                    'git init -q a && git init -q a/b && cd a/b && echo x > x && git add x && git '
                                    'commit -qm x && rm -rf ../../a'])
def test_git_works_where_there_was_no_repository(host, level, script):
    descriptions = []
    for place in ('out', 'in'):
        host.reset(repository=False)
        host.script(host.work, 'git init -q other && cd other && echo x > x && git add x && git commit -qm x')
        result = host.run([*(host.box(level) if place == 'in' else ()), 'sh', '-ec', script])
        assert result.returncode == 0, f'{place}: {result.stdout}{result.stderr}'
        descriptions.append(describe(host))
    assert descriptions[0] == descriptions[1]
