"""Ringwall parses git configurations as git does, and its checks allow the harmless changes that git's commands make.

tests/helpers/git_config.c runs ringwall's parser and checks. tests/helpers/keep_renames.c is loaded into git and
records each rename over a configuration: the changes that the guard of a box checks.
"""
import concurrent.futures
import os
import random
import re
import shutil
import subprocess

import pytest

# Git and ringwall parse each of these texts to the same list, or both refuse it.
TEXTS = [
    b'', b'\n', b'\r\n', b'\r', b'# c', b'; c\n[a]b', b'[a]', b'[a]\nb', b'[a]\nb=', b'[a]\nb = \n', b'[a]b=c',
    b'[a]\tb=c[d]e=f', b'[A]\nB=C', b'[a.B]\nc=d', b'[a.b.C]\nc=d', b'[a "B"]\nc=d', b'[a.B "C"]\nc=d',
    b'[a "b.c"]d=e', b'[a ""]b=c', b'[a  \t"b"]c=d', b'[a "b" ]c=d', b'[a "b"', b'[a "b\n"]c=d', b'[a "b\\\n"]c=d',
    b'[a "b\\"c\\\\d\\n"]e=f', b'[a "b]"]c=d', b'[a "#;"]b=c', b'[ "b"]c=d', b'[]a=b', b'[.]a=b', b'[a.]b=c',
    b'[.a]b=c', b'[a..b]c=d', b'[-]a=b', b'[a_b]c=d', b'[a b]c=d', b'[a\n]b=c', b'[a', b'[', b'[a]]', b'[a]b c',
    b'[a]b c=d', b'[a]b-c1=d', b'[a]1b=c', b'[a]-b=c', b'[a]b_c=d', b'[a]b\t=\tc', b'[a]b\r=c', b'[a]b\r\n',
    b'[a]b=c\r\n', b'[a]b=c\r', b'[a]b=c\rd', b'[a]b=\rc', b'[a]b="c\r"\r\n', b'[a]b=c\\\r\nd', b'[a]b=c  d',
    b'[a]b=c\td', b'[a]b= c \t ', b'[a]b=c # d', b'[a]b=c#d', b'[a]b=c;d', b'[a]b="c#d"', b'[a]b="c;d" ; e',
    b'[a]b="c', b'[a]b="c\nd"', b'[a]b="c\\\nd"', b'[a]b=c"d e"f', b'[a]b="" ', b'[a]b="  c  "  ', b'[a]b= "" c "" ',
    b'[a]b=\\n\\t\\b\\"\\\\', b'[a]b=\\a', b'[a]b=\\', b'[a]b=\\\n', b'[a]b=\\\n\\\n', b'[a]b=c\\\nd=e',
    b'[a]b=c \\\n  d \\\n\te', b'[a]b=c # d\\\ne=f', b'[a]# b\\\nc=d', b'[a]b=c\\ d', b'[a]b==c', b'[a]b=c=d',
    b'[a]\nb=1\nb=2\n[c]\nd\n[a]\nb=3', b'\xef\xbb\xbf[a]b=c', b'\xef\xbb[a]b=c', b'\xef', b'[a]\xef\xbb\xbfb=c',
    b'\xef\xbb\xbf', b'[a]b=\xc3\xbc', b'[a "\xc3\xbc"]b=c', b'[\xc3\xbc]b=c', b'[a]\xc3\xbc=b', b'[a]b=\x80',
    b'[a]b=c\x0bd\x0c', b'\x0b[a]b=c', b'[a]b\x0b=c', b'[a]b=\x01', b'[a "\x01\r"]b=c', b'[core]\n\tfsmonitor',
    b'[CoRe]FsMonitor=x', b'[include "x"]path=y', b'[includeIf "gitdir:/"]path=y', b'[include]path=/etc/x',
    b'[core]editor = "a \\\\\\"b\\\\\\" c" # "\n', b'[a]b=c\n\n\n   [d]   e   =   f   \n', b'x' * 5000,
    b'[a]b=' + b'x' * 5000, b'[a]b=' + b' ' * 5000 + b'c' + b' ' * 5000, b'[a]' + b'b=c\n' * 3000,
    b'[core]\n\t# x \\\n\tfsmonitor = y\n',
]

# Git accepts these texts, ringwall refuses them; the head of src/policy/git_config_parse.c says why.
REFUSED_BY_RINGWALL = [
    b'a=b', b'a', b'[a]b=c\x00d', b'[a "b\x00c"]d=e', b'# \x00', b'[a]b=\xff', b'# \xff',
    b'[a "' + b'x' * 5000 + b'"]b=c', b'[a]' + b'b=c\n' * 10001, b'[a]b=' + b'c' * (1 << 20),
]

PIECES = [
    b'[', b']', b'"', b'\\', b'=', b' ', b'\t', b'\n', b'\r', b'\r\n', b'#', b';', b'.', b'-', b'\\\n', b'\\"',
    b'\\n', b'[core]', b'[Core "X"]', b'[remote "o"]\n', b'[a.B]', b'[include]', b'fsmonitor', b'key', b'K1',
    b'value', b'"a b"', b'\n\tname = x', b'\n[', b'\xc3\xbc', b'\xef\xbb\xbf', b'\x0b', b'0', b'_', b'\x00', b'\xff',
    b'true',
]

SECTIONS = [
    b'[a]', b'[B]\n', b'[a "B"] ', b'[a.C]\n\t', b'[a "x\\"y"]\r\n', b'[-.a "]#"]', b'[a] # c\n', b'[ "d"]',
    b'[a ""]',
]

VALUES = [
    b' ', b' ', b'\t', b'x', b'YZ', b'"', b'""', b'" q "', b'\\\\', b'\\n', b'\\"', b'\\\n', b'\\\r\n', b'#', b';',
    b'=', b'[a]', b'\r', b'\xc3\xbc', b'\x0b',
]


def run(*command, **options):
    return subprocess.run(command, capture_output=True, check=False, timeout=60, **options)


@pytest.fixture
def git(home):
    """An environment in which git reads no configuration of this machine."""
    return {'PATH': os.environ['PATH'], 'HOME': str(home), 'GIT_CONFIG_NOSYSTEM': '1', 'LC_ALL': 'C.UTF-8',
            'GIT_AUTHOR_NAME': 'a', 'GIT_AUTHOR_EMAIL': 'a@b', 'GIT_COMMITTER_NAME': 'a', 'GIT_COMMITTER_EMAIL': 'a@b'}


@pytest.fixture(scope='session')
def helper(build):
    return build / 'tests/helpers/git_config'


def keeps_tabs():
    """Whether git keeps a tab inside a value. Before 2.45 it replaces the tab by a space."""
    found = re.search(rb'(\d+)\.(\d+)', run('git', '--version').stdout)
    return (int(found[1]), int(found[2])) >= (2, 45)


def read_with_git(texts, folder, env):
    """The output of `git config --list -z` for each text; None for a text that git refuses."""
    def read(numbered):
        path = folder / f'{numbered[0]}'
        path.write_bytes(numbered[1])
        result = run('git', 'config', '--file', path, '--list', '-z', env=env, cwd=folder)
        path.unlink()
        return result.stdout if result.returncode == 0 else None
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return list(pool.map(read, enumerate(texts)))


def read_with_helper(texts, helper):
    """The same list for each text, by ringwall's parser; None for a text that it refuses."""
    result = run(helper, 'list', input=b''.join(b'%d\n%b' % (len(text), text) for text in texts))
    assert result.returncode == 0, result.stderr
    at, found = 0, []
    while at < len(result.stdout):
        end = result.stdout.index(b'\n', at)
        word, rest = result.stdout[at:end].split(b' ', 1)
        at = end + 1
        found.append(None if word == b'refused' else result.stdout[at:at + int(rest)])
        at += int(rest) if word == b'parsed' else 0
    assert len(found) == len(texts)
    return found


def has_key_before_first_section(text):
    """Whether a letter is the first character after comments and white space."""
    text = text.removeprefix(b'\xef\xbb\xbf')
    return re.match(rb'(?:[ \t\r\n]|[#;][^\n]*(?:\n|$))*[A-Za-z]', text) is not None


def compare(texts, helper, folder, env):
    """Asserts that git and ringwall agree on each text; ringwall may refuse what git_config_parse.c says. Returns the
    number of texts that both accept."""
    normalize = (lambda out: out) if keeps_tabs() else (lambda out: out.replace(b'\t', b' ').replace(b'\r', b' '))
    both = 0
    for text, ours, gits in zip(texts, read_with_helper(texts, helper), read_with_git(texts, folder, env)):
        if ours is None:
            assert gits is None or b'\0' in text or b'\xff' in text or has_key_before_first_section(text), text
        else:
            assert gits is not None, text
            assert normalize(ours) == normalize(gits), text
            both += 1
    return both


def test_known_texts_are_parsed_as_git_parses_them(helper, tmp_path, git):
    assert compare(TEXTS, helper, tmp_path, git) > len(TEXTS) / 2


def test_ringwall_refuses_some_texts_that_git_accepts(helper, tmp_path, git):
    assert read_with_helper(REFUSED_BY_RINGWALL, helper) == [None] * len(REFUSED_BY_RINGWALL)
    assert None not in read_with_git(REFUSED_BY_RINGWALL, tmp_path, git)


def random_configuration(rng):
    """A text that is mostly valid: sections, keys, values."""
    text = b''
    for _ in range(rng.randrange(1, 6)):
        text += rng.choice(SECTIONS) if not text or rng.random() < 0.4 else b''
        text += rng.choice([b'k', b'Key', b'a-1']) + rng.choice([b'', b' ', b'\t', b' \t '])
        if rng.random() < 0.8:
            text += b'=' + b''.join(rng.choices(VALUES, k=rng.randrange(0, 7)))
        text += rng.choice([b'\n', b'\n', b'\r\n', b'\n\t'])
    return text


def random_text(rng):
    """A known text with a few bytes changed, a text of random pieces, or a mostly valid configuration."""
    if rng.random() < 0.4:
        return random_configuration(rng)
    if rng.random() < 0.3:
        start = rng.choice([b'', b'[a]', b'[core]\n\t', b'[a "b"]\n'])
        return start + b''.join(rng.choices(PIECES, k=rng.randrange(1, 16)))
    text = bytearray(rng.choice(TEXTS)[:400])
    for _ in range(rng.randrange(1, 4)):
        at, piece = rng.randrange(len(text) + 1), rng.choice(PIECES)
        text[at:at + rng.choice([0, 0, 1, 3])] = piece
    return bytes(text)


def test_random_texts_are_parsed_as_git_parses_them(helper, tmp_path, git):
    rng = random.Random(int(os.environ.get('RINGWALL_SEED', '1')))
    texts = [random_text(rng) for _ in range(4000)]
    assert compare(texts, helper, tmp_path, git) > 1000


# Configurations that git writes.

class Recorder:
    """Runs git, records its renames over configurations, and asks ringwall's check about each of them."""

    def __init__(self, build, helper, folder, top, env):
        self.helper, self.folder, self.top, self.judged = helper, folder, top, []
        self.env = {**env, 'LD_PRELOAD': str(build / 'tests/helpers/keep_renames.so'), 'KEEP_RENAMES': str(folder)}

    def kind_of(self, name):
        """The argument KIND of `git_config judge`: by the file's name, or the git directory of a submodule."""
        path = os.path.relpath(name, self.top)
        if '/modules/' in path:
            return os.path.dirname(path)
        return {'config': 'repository', 'config.worktree': 'worktree', '.gitmodules': 'modules'}[os.path.basename(name)]

    def judge(self, kind, old, new):
        return run(self.helper, 'judge', kind, old, new).stdout.decode().strip()

    def judge_renames(self):
        """Judges each rename since the last call, compared with the file before the first of these renames. Returns
        (path, text, answer) of each."""
        found, originals = [], {}
        for name in sorted(self.folder.glob('*.name')):
            path, old, new = name.read_text(), name.with_suffix('.old'), name.with_suffix('.new')
            before = originals.setdefault(path, self.folder / f'original{len(originals)}')
            if not before.exists() and old.exists() and not [True for seen, _,
                                                             _ in found if seen == os.path.relpath(path, self.top)]:
                shutil.copy(old, before)
            text = new.read_text()
            found.append((os.path.relpath(path, self.top), text, self.judge(self.kind_of(path), before, new)))
            for file in (name, old, new):
                file.unlink(missing_ok=True)
        for before in originals.values():
            before.unlink(missing_ok=True)
        self.judged += found
        return found

    def git(self, *arguments, cwd):
        result = run('git', *arguments, cwd=cwd, env=self.env)
        assert result.returncode == 0, (arguments, result.stderr)
        return self.judge_renames()

    def accepts(self, *arguments, cwd):
        renames = self.git(*arguments, cwd=cwd)
        assert renames, f'git {arguments} wrote no configuration'
        for path, text, answer in renames:
            assert answer == 'ok', (arguments, path, answer, text)

    def refuses(self, *arguments, cwd, reason):
        assert reason in [answer for _, _, answer in self.git(*arguments, cwd=cwd)], arguments


@pytest.fixture
def recorder(build, helper, tmp_path, workspace, git):
    folder = tmp_path / 'renames'
    folder.mkdir()
    recorder = Recorder(build, helper, folder, workspace, git)
    recorder.accepts('init', '-q', '-b', 'main', 'source', cwd=workspace)
    (workspace / 'source/file').write_text('text\n')
    (workspace / 'source/folder').mkdir()
    (workspace / 'source/folder/file').write_text('text\n')
    recorder.git('add', '.', cwd=workspace / 'source')
    recorder.git('commit', '-q', '-m', 'first', cwd=workspace / 'source')
    recorder.git('branch', 'other', cwd=workspace / 'source')
    return recorder


def test_configurations_of_new_repositories_and_clones_are_allowed(recorder, workspace):
    recorder.accepts('init', '-q', '--bare', 'bare.git', cwd=workspace)
    recorder.accepts('init', '-q', '--object-format=sha256', 'sha256', cwd=workspace)
    recorder.git('init', '-q', 'source', cwd=workspace)
    assert all(answer == 'ok' for _, _, answer in recorder.judged)
    recorder.accepts('clone', '-q', 'source', 'clone', cwd=workspace)
    recorder.accepts('clone', '-q', '--bare', 'source', 'bare-clone', cwd=workspace)
    recorder.accepts('clone', '-q', '--single-branch', '--no-tags', '-o', 'upstream', 'source', 'narrow', cwd=workspace)
    recorder.accepts('clone', '-q', '--no-local', '--filter=blob:none', 'source', 'partial', cwd=workspace)
    recorder.accepts('clone', '-q', '--sparse', 'source', 'sparse', cwd=workspace)


def test_remotes_and_branches_may_be_added_and_existing_addresses_and_upstreams_stay(recorder, workspace):
    clone = workspace / 'clone'
    recorder.accepts('clone', '-q', 'source', 'clone', cwd=workspace)
    recorder.accepts('init', '-q', '--bare', 'bare.git', cwd=workspace)
    recorder.accepts('remote', 'add', 'fork', 'https://example.com/fork.git', cwd=clone)
    recorder.accepts('remote', 'add', '-t', 'main', 'narrow', 'git@example.com:a/b.git', cwd=clone)
    recorder.accepts('remote', 'add', '--no-tags', 'local', '../bare.git', cwd=clone)
    recorder.accepts('remote', 'set-branches', '--add', 'narrow', 'other', cwd=clone)
    recorder.accepts('checkout', '-q', '--track', '-b', 'topic', 'origin/other', cwd=clone)
    recorder.accepts('branch', '-u', 'origin/main', 'topic', cwd=clone)
    recorder.accepts('branch', '-u', 'main', 'topic', cwd=clone)
    # If a box could remove the upstream of a branch, the next box could set another one.
    recorder.refuses('branch', '--unset-upstream', 'topic', cwd=clone,
                     reason='branch.topic.remote: it may not be removed')
    recorder.accepts('push', '-q', '-u', 'local', 'topic', cwd=clone)
    recorder.refuses('branch', '-m', 'topic', 'renamed', cwd=clone, reason='branch.topic.remote: it may not be removed')
    recorder.git('checkout', '-q', 'main', cwd=clone)
    recorder.refuses('branch', '-D', 'renamed', cwd=clone, reason='branch.renamed.remote: it may not be removed')
    recorder.refuses('remote', 'set-url', 'fork', 'https://example.org/', cwd=clone,
                     reason='remote.fork.url: an existing address stays')
    recorder.refuses('remote', 'remove', 'narrow', cwd=clone, reason='remote.narrow.url: an existing address stays')


def test_box_may_rename_and_remove_its_own_remotes(recorder, workspace):
    """Each step is compared with the configuration from before the box, not with the previous step."""
    clone = workspace / 'clone'
    recorder.git('clone', '-q', 'source', 'clone', cwd=workspace)
    config, before = clone / '.git/config', workspace / 'before'
    before.write_bytes(config.read_bytes())
    for arguments in (('add', 'x', 'https://example.com/'), ('rename', 'x', 'y'),
                      ('set-url', 'y', 'https://example.org/'), ('remove', 'y')):
        recorder.git('remote', *arguments, cwd=clone)
        assert recorder.judge('repository', before, config) == 'ok'
    recorder.git('remote', 'remove', 'origin', cwd=clone)
    assert recorder.judge('repository', before, config) == 'branch.main.remote: it may not be removed'


def test_work_trees_and_sparse_checkouts_are_allowed(recorder, workspace):
    clone = workspace / 'clone'
    recorder.git('clone', '-q', 'source', 'clone', cwd=workspace)
    recorder.git('worktree', 'add', '-q', '../tree', 'origin/other', cwd=clone)
    recorder.accepts('worktree', 'add', '-q', '--track', '-b', 'tracked', '../tracked', 'origin/other', cwd=clone)
    recorder.accepts('sparse-checkout', 'set', 'folder', cwd=clone)
    recorder.accepts('sparse-checkout', 'set', '--sparse-index', 'folder', cwd=workspace / 'tree')
    recorder.accepts('sparse-checkout', 'disable', cwd=clone)
    assert {os.path.basename(path) for path, _, _ in recorder.judged} == {'config', 'config.worktree'}
    assert all(answer == 'ok' for _, _, answer in recorder.judged)


def test_submodules_may_be_added_and_existing_addresses_stay(recorder, workspace):
    clone, allowed = workspace / 'clone', ('-c', 'protocol.file.allow=always')
    recorder.git('clone', '-q', 'source', 'clone', cwd=workspace)
    recorder.accepts(*allowed, 'submodule', 'add', '-b', 'main', str(workspace / 'source'), 'lib/sub', cwd=clone)
    assert {'clone/.gitmodules', 'clone/.git/config', 'clone/.git/modules/lib/sub/config'} <= \
        {path for path, _, _ in recorder.judged}
    recorder.git('commit', '-q', '-m', 'sub', cwd=clone)
    recorder.accepts(*allowed, 'clone', '-q', '--recurse-submodules', 'clone', 'again', cwd=workspace)
    recorder.accepts('clone', '-q', 'clone', 'third', cwd=workspace)
    recorder.accepts('submodule', 'init', cwd=workspace / 'third')
    recorder.accepts(*allowed, 'submodule', 'update', cwd=workspace / 'third')
    recorder.accepts('mv', 'lib/sub', 'moved', cwd=clone)
    recorder.refuses('submodule', 'set-url', 'lib/sub', 'https://example.com/', cwd=workspace / 'third',
                     reason='submodule.lib/sub.url: an existing address stays')


def test_harmless_settings_may_be_changed_and_dangerous_ones_may_not(recorder, workspace):
    source = workspace / 'source'
    for name, value in (('user.name', 'Jörg "x" #; \\'), ('user.email', 'a@example.com'), ('core.autocrlf', 'input'),
                        ('pull.rebase', 'true'), ('pull.ff', 'only'), ('push.default', 'current'),
                        ('core.fileMode', 'false'), ('push.autoSetupRemote', 'true'), ('merge.conflictStyle', 'zdiff3'),
                        ('color.ui', 'auto'), ('color.diff.old', 'bold #ff0000'), ('advice.detachedHead', 'false'),
                        ('init.defaultBranch', 'main'), ('branch.main.description', 'one line'),
                        ('branch.main.rebase', 'merges')):
        recorder.accepts('config', name, value, cwd=source)
    recorder.accepts('config', '--unset', 'user.name', cwd=source)
    recorder.accepts('config', '--remove-section', 'pull', cwd=source)
    for name in ('core.fsmonitor', 'core.sshCommand', 'alias.x', 'core.hooksPath', 'filter.x.smudge', 'include.path',
                 'diff.x.textconv', 'url.x.insteadOf', 'credential.helper', 'user.signingKey', 'commit.template'):
        recorder.refuses('config', name, 'x', cwd=source, reason=re.sub(r'[A-Z]', lambda m: m[0].lower(), name))
        recorder.refuses('config', '--unset', name, cwd=source,
                         reason=re.sub(r'[A-Z]', lambda m: m[0].lower(), name) + ': it may not be removed')


def test_rebase_list_made_by_git_is_allowed_unless_it_runs_a_program(recorder, workspace, helper, tmp_path):
    source = workspace / 'source'
    for number in range(2):
        (source / f'{number}').write_text('x')
        recorder.git('add', '.', cwd=source)
        recorder.git('commit', '-q', '-m', f'number {number}', cwd=source)
    for arguments, answer in (([], 'ok'), (['--rebase-merges'], 'ok'), (['-x', 'true'], 'line 2 may run a program')):
        recorder.env['GIT_SEQUENCE_EDITOR'] = f'f() {{ cp "$1" {tmp_path}/todo; false; }}; f'
        run('git', 'rebase', '-i', '--root', *arguments, cwd=source, env=recorder.env)
        assert run(helper, 'todo', tmp_path / 'todo').stdout.decode().strip() == answer
        (tmp_path / 'todo').unlink()
