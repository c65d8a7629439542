"""Races for a file name. The box tries to read or write a denied file in a loop while the host replaces the file, as
editors, git and credential helpers do; and threads of the box change the path of a call while the guard checks it. The
box must never succeed.

RINGWALL_ROUNDS is the number of replacements in the most important cases, by default a thousand.
"""
import ctypes
import os
import shutil
import signal
import subprocess
import time

import pytest

from name_attack import LEVELS, NameAttack, assert_name_attack_stopped, box, git, name_rows, running
from inconclusive import SetUpFailed
from attack_host import RACE_INSIDE, ROUNDS, changed, exists

FEW_ROUNDS = max(300, ROUNDS // 10)             # in the other cases
SLOW_ROUNDS = max(12, ROUNDS // 300)            # where each round starts a program
libc = ctypes.CDLL(None, use_errno=True)


@pytest.fixture(autouse=True)
def no_time_limit_for_many_rounds(time_limit):
    """Many rounds take longer than the time limit of a test."""
    if ROUNDS > 10000:
        signal.alarm(0)


class Host:
    """The host, which replaces a file again and again. Each round has new content, with the secret in it."""

    def __init__(self, stage, path):
        self.stage, self.path, self.round = stage, path, 0
        self.stash = stage.home / '.gnupg/stash'    # no box may read it, so the secret can be in it under another name
        self.stash.mkdir(parents=True, exist_ok=True)
        self.fresh = self.stash / 'fresh'

    def content(self):
        return f'{self.stage.secret} round {self.round}\n'

    def write_fresh(self):
        self.round += 1
        self.fresh.write_text(self.content())

    def by_rename(self):
        self.write_fresh()
        os.rename(self.fresh, self.path)

    def by_unlink(self):
        self.round += 1
        if self.path.exists():
            os.unlink(self.path)
        descriptor = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        os.write(descriptor, self.content().encode())
        os.close(descriptor)

    def by_exchange(self):
        if not self.path.exists():
            self.by_rename()
        self.write_fresh()
        assert libc.renameat2(-100, os.fsencode(self.fresh), -100, os.fsencode(self.path), 2) == 0
        os.unlink(self.fresh)

    def by_link(self):
        self.write_fresh()
        if self.path.exists():
            os.unlink(self.path)
        os.link(self.fresh, self.path)
        os.unlink(self.fresh)

    def by_directory(self):
        """Removes the directory and creates it again."""
        self.round += 1
        shutil.rmtree(self.path.parent, ignore_errors=True)
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_text(self.content())

    def by_parent(self):
        """Creates a new directory elsewhere and exchanges it for the old one."""
        self.round += 1
        other = self.stash / 'folder'
        other.mkdir()
        (other / self.path.name).write_text(self.content())
        if self.path.parent.exists():
            assert libc.renameat2(-100, os.fsencode(other), -100, os.fsencode(self.path.parent), 2) == 0
            shutil.rmtree(other)
        else:
            other.rename(self.path.parent)

    def by_create_and_unlink(self):
        """Creates the file and removes it again."""
        self.by_rename()
        time.sleep(0.001)
        os.unlink(self.path)

    def by_sed(self):
        self.round += 1
        subprocess.run(['sed', '-i', f's/.*/{self.content().strip()}/', self.path], check=True)

    def by_git_config(self):
        self.round += 1
        git(self.stage.work, 'config', 'a.b', self.content().strip())

    def by_git_checkout(self):
        self.round += 1
        git(self.stage.work, 'checkout', '-q', '-f', f'branch{self.round % 2}')

    def by_credential_store(self):
        self.round += 1
        secret = f'protocol=https\nhost=example{self.round}.com\nusername=u\npassword={self.stage.secret}\n\n'
        subprocess.run(['git', 'credential-store', 'store'], input=secret, text=True, check=True, cwd=self.stage.home,
                       env=self.stage.environment())

    def was_changed(self):
        """Whether the box has changed the file: the attack writes "attacked" and truncates files to zero bytes."""
        text = self.path.read_text() if self.path.is_file() else None
        return text is not None and (text == '' or 'attacked' in text)


SLOW = ('by_sed', 'by_git_config', 'by_git_checkout', 'by_credential_store')


def with_repository(stage):
    """Creates a repository with two branches that have different versions of .env."""
    shutil.rmtree(stage.work / '.git')
    git(stage.work, 'init', '-q', '-b', 'main')
    git(stage.work, 'config', 'a.b', stage.secret)
    for branch in (0, 1):
        git(stage.work, 'checkout', '-q', '--orphan', f'branch{branch}')
        (stage.work / '.env').write_text(f'{stage.secret} {branch}\n' * (branch + 1))
        git(stage.work, 'add', '-f', '.env')
        git(stage.work, 'commit', '-qm', 'one')


def replace_while_running(stage, command, host, method, rounds, watch):
    """Replaces the file in a loop while the command runs. watch: whether to check if the command has changed the file.
    Returns the exit status and the two outputs of the command, and the round of such a change or None."""
    stop = stage.work / 'stop-of-attack'
    with running(command, cwd=stage.work, env=stage.environment()) as process:
        end = time.monotonic() + 20
        while not (stage.work / 'ready-of-attack').exists() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.002)
        changed_in = None
        for number in range(rounds):
            if process.poll() is not None:
                break
            if watch and host.was_changed():
                changed_in = number
                break
            try:
                getattr(host, method)()
            except (OSError, AssertionError) as error:      # the box has created or removed the file
                changed_in = f'{number}: {error}'
                break
        if watch and changed_in is None and host.was_changed():
            changed_in = rounds
        time.sleep(0.01)
        stop.touch()
        out, err = process.communicate(timeout=30)
    return process.returncode, out, err, changed_in


def assert_loop_stopped(stages, level, path, method, loop, rules=None, flags=(), before=None, rounds=FEW_ROUNDS):
    """The loop of the attack succeeds outside. Inside it never succeeds, in any round."""
    rounds = SLOW_ROUNDS if method in SLOW else rounds
    for place in ('out', 'in'):
        stage = stages(place)
        if before:
            before(stage)
        target = type(stage.work)(stage.fill(path))
        host = Host(stage, target)
        if target.parent.exists() and not any(word in path for word in ('absent', '.oci', '.pem', '{config}')):
            target.write_text(host.content())
        attack = [str(stage.program), loop, str(target), str(stage.work / 'stop-of-attack')]
        command = attack if place == 'out' else [*box(stage, level, rules or {}, *flags), *attack]
        code, out, err, changed_in = replace_while_running(stage, command, host, method, rounds,
                                                           loop == 'write_until_stopped')
        output = f'{place}, after {host.round} of {rounds} rounds: {out}{err}'
        if place == 'out':
            if code != 0 or not out.startswith('did:'):
                raise SetUpFailed(output)
            continue
        assert stage.secret not in out, f'the secret leaked: {output}'
        assert changed_in is None, f'changed in round {changed_in}: {output}'
        assert (code, out) == (1, 'failed: EACCES\n') and host.round == rounds, output


METHODS = ('by_rename', 'by_unlink', 'by_exchange', 'by_link')
ENV = {'deny_read': ['.env']}


def add_env_files(stage):
    (stage.work / '.env').write_text(f'{stage.secret} old\n')
    for folder in ('conf', 'other'):
        (stage.work / folder).mkdir()
        (stage.work / folder / '.env').write_text(f'{stage.secret} old\n')


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('path, method, rules', [
    *(('{work}/.env', method, ENV) for method in METHODS),
    *(('{work}/conf/.env', method, {'deny_read': ['**/.env']}) for method in (*METHODS, 'by_directory', 'by_parent')),
    ('{work}/conf/.env', 'by_directory', {'deny_read': ['conf']}),
    ('{work}/conf/.env', 'by_parent', {'deny_read': ['conf']}),
    ('{work}/conf/.env', 'by_parent', {'deny_read': ['conf/.env']}),
    ('{work}/conf/.env', 'by_directory', {'deny_read': ['conf/.env']}),
    ('{work}/.env', 'by_sed', ENV),
])
def test_denied_file_is_never_read_however_it_is_replaced(stages, level, path, method, rules):
    """A mount that covers the file is lost when the host renames another file over it."""
    rounds = ROUNDS if path == '{work}/.env' else FEW_ROUNDS
    assert_loop_stopped(stages, level, path, method, 'read_until_stopped', rules, before=add_env_files, rounds=rounds)


@pytest.mark.parametrize('level', LEVELS)
def test_denied_file_is_never_read_while_git_replaces_it(stages, level):
    assert_loop_stopped(stages, level, '{work}/.env', 'by_git_checkout', 'read_until_stopped', ENV,
                        before=with_repository)


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('method', [*METHODS, 'by_directory', 'by_parent'])
@pytest.mark.parametrize('rule', ['{given}/inner/secret.txt', '{given}/**/secret*'])
def test_denied_file_in_a_readable_tree_is_never_read_however_it_is_replaced(stages, level, method, rule):
    assert_loop_stopped(stages, level, '{given_secret}', method, 'read_until_stopped', {'deny_read': [rule]},
                        ('--ro', '{given}'))


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('path, method', [
    ('{home}/.netrc', 'by_rename'), ('{home}/.netrc', 'by_unlink'), ('{home}/.ssh/id_ed25519', 'by_rename'),
    ('{home}/.ssh/id_ed25519', 'by_parent'), ('{home}/.ssh/id_ed25519', 'by_directory'),
    ('{home}/.oci/config', 'by_directory'),
    ('{home}/.oci/config', 'by_parent'), ('{home}/.git-credentials', 'by_credential_store')])
def test_sensitive_files_are_never_read_with_broad_reading(stages, level, path, method):
    """A credential helper may replace the file, or create it after the box has started."""
    assert_loop_stopped(stages, level, path, method, 'read_until_stopped', {}, ('--read', 'broad'))


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('path, method, rules, flags', [
    ('{work}/key.pem', 'by_create_and_unlink', {'deny_read': ['**/*.pem']}, ()),
    ('{work}/key.pem', 'by_unlink', {'deny_read': ['**/*.pem']}, ()),
    ('{work}/deep/er/key.pem', 'by_rename', {'deny_read': ['**/*.pem']}, ()),
    ('{given}/key.pem', 'by_create_and_unlink', {'deny_read': ['{given}/**/*.pem']}, ('--ro', '{given}')),
    ('{given}/new/key.pem', 'by_directory', {'deny_read': ['{given}/**/*.pem']}, ('--ro', '{given}')),
    ('{work}/absent/name', 'by_directory', {'deny_read': ['absent/name']}, ()),
    ('{work}/absent/name', 'by_parent', {'deny_read': ['absent']}, ()),
    ('{work}/absent', 'by_create_and_unlink', {'deny_read': ['absent']}, ()),
])
def test_denied_file_that_is_created_later_is_never_read(stages, level, path, method, rules, flags):
    assert_loop_stopped(stages, level, path, method, 'read_until_stopped', rules, flags)


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('path, method, rules', [
    *(('{locked}', method, {'deny_write': ['locked.txt']}) for method in METHODS),
    *(('{locked}', method, {'protect': ['lock*']}) for method in METHODS[:2]),
    ('{work}/conf/.env', 'by_parent', {'deny_write': ['conf/.env']}),
    ('{work}/conf/.env', 'by_directory', {'deny_write': ['conf']}),
    ('{locked}', 'by_sed', {'deny_write': ['locked.txt']}),
    ('{hook}', 'by_rename', {}), ('{hook}', 'by_unlink', {}), ('{config}', 'by_rename', {}),
    ('{work}/absent', 'by_unlink', {'deny_write': ['absent']}), ('{work}/absent', 'by_rename', {'protect': ['absent']}),
    ('{work}/.mcp.json', 'by_rename', {}), ('{work}/.envrc', 'by_unlink', {}),
])
def test_protected_file_is_never_written_however_it_is_replaced(stages, level, path, method, rules):
    def before(stage):
        add_env_files(stage)
        stage.locked.write_text('locked')
    rounds = ROUNDS if rules == {'deny_write': ['locked.txt']} else FEW_ROUNDS
    assert_loop_stopped(stages, level, path, method, 'write_until_stopped', rules, before=before, rounds=rounds)


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('path, method, rules', [
    ('{config}', 'by_git_config', {}), ('{work}/.env', 'by_git_checkout', {'deny_write': ['.env']})])
def test_protected_file_is_never_written_while_git_replaces_it(stages, level, path, method, rules):
    """git config writes a new file and renames it over the old one."""
    assert_loop_stopped(stages, level, path, method, 'write_until_stopped', rules, before=with_repository)


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('loop, rule', [('read_until_stopped', 'deny_read'), ('write_until_stopped', 'deny_write')])
@pytest.mark.parametrize('method', METHODS[:3])
def test_file_denied_by_a_ceiling_is_never_read_or_written(stages, level, loop, rule, method):
    def before(stage):
        add_env_files(stage)
        (stage.home / 'ceiling.yaml').write_text(f'filesystem: {{{rule}: [{stage.work}/.env]}}\n')
    assert_loop_stopped(stages, level, '{work}/.env', method, loop, {}, ('--ceiling', '{home}/ceiling.yaml'), before)


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('method', METHODS[:3])
@pytest.mark.parametrize('live', [('--live', 'all'), ()], ids=['followed', 'named'])
def test_policy_in_the_workspace_is_never_written(stages, level, method, live):
    """A box could once write the live policy that applied to it."""
    def before(stage):
        (stage.work / 'policy.yaml').write_text('network: {allowed_domains: [example.com]}\n')

    def policy_text(host):
        return f'network: {{allowed_domains: [example{host.round}.com]}}\n'
    original, Host.content = Host.content, policy_text
    try:
        assert_loop_stopped(stages, level, '{work}/policy.yaml', method, 'write_until_stopped', {},
                            ('-p', '{work}/policy.yaml', *live), before)
    finally:
        Host.content = original


# --- races inside of the box ---

def add_both_files(stage):
    """Creates the allowed and the denied file; their names differ in one letter."""
    (stage.work / 'x-of-attack').write_text('public')
    (stage.work / 'x-of-attacc').write_text(stage.secret)


def string_race(operation, by='thread', **more):
    needs_file = operation in ('write', 'unlink', 'rename_away', 'truncate', 'chmod', 'read')
    kind = 'deny_read' if operation == 'read' else more.pop('kind', 'deny_write')
    return NameAttack('race_path_string', (operation, by, 'x-of-attack', 'x-of-attacc', '{milliseconds}'),
                      {kind: ['x-of-attacc']},
                      secret=operation == 'read', before=add_both_files if needs_file else None,
                      title=f'{operation} by a {by}, {kind}',
                      effect=None if needs_file else exists('{work}/x-of-attacc'), **more)


@name_rows(
    *(string_race(operation) for operation in (
        'open', 'mkdir', 'mknod', 'symlink', 'link', 'rename', 'bind', 'write', 'unlink', 'rename_away', 'truncate',
        'chmod', 'read')),
    *(string_race(operation, 'process') for operation in ('open', 'rename', 'unlink', 'read')),
    *(string_race(operation, kind='deny_read') for operation in ('open', 'rename')),
    *(string_race(operation, kind='protect') for operation in ('mkdir', 'link')),
)
def test_path_that_another_thread_changes_is_read_only_once(stages, attack, level):
    """The guard copies the path once, checks the copy and uses the copy."""
    assert_name_attack_stopped(stages, attack, level)


DENIED_FOLDER = {'deny_write': ['closed']}
DENIED_NAME = {'deny_write': ['closed/name']}


def add_denied_folder(stage):
    (stage.work / 'closed').mkdir()


def add_denied_file(stage):
    add_denied_folder(stage)
    (stage.work / 'closed/name').write_text(stage.secret)


@name_rows(
    *(NameAttack('race_symlink', (operation, 'closed', 'name', '{milliseconds}'), rules, before=add_denied_folder,
                 tree_may_change=True, effect=exists('{work}/closed/name'),
                 title=f'{operation} through a directory that is a link by turns, {title}')
      for operation in ('open', 'mkdir', 'mknod', 'symlink', 'rename', 'link')
      for title, rules in (('folder', DENIED_FOLDER), ('name', DENIED_NAME))
      if operation != 'link' or title == 'folder'),
    *(NameAttack('race_symlink', (operation, 'closed', 'name', '{milliseconds}'), DENIED_NAME, before=add_denied_file,
                 title=f'{operation} through a directory that is a link by turns') for operation in (
        'write', 'unlink', 'truncate', 'chmod', 'rename_away')),
    NameAttack('race_symlink', ('read', 'closed', 'name', '{milliseconds}'), {'deny_read': ['closed/name']},
               before=add_denied_file,
               secret=True, title='read through a directory that is a link by turns'),
    *(NameAttack('race_directory', (by, 'closed', 'name', '{milliseconds}'), rules, before=add_denied_folder,
                 effect=exists('{work}/closed/name'), title=f'a {by} that is the denied one by turns, {title}')
      for by in ('descriptor', 'directory') for title, rules in (('folder', DENIED_FOLDER), ('name', DENIED_NAME))),
)
def test_directory_that_changes_during_the_check_gives_no_access(stages, attack, level):
    assert_name_attack_stopped(stages, attack, level)


@name_rows(*(
    NameAttack('race_moved_parent', ('tree-of-attack', 'dir', 'sub', 'name', str(min(ROUNDS, 20000) // 2)), rules,
               tree_may_change=True, effect=exists('{work}/dir/sub/name'),
               title=f'a directory is renamed while a file is created in it, {title}')
    for title, rules in (('literal', {'deny_write': ['dir/sub/name']}), ('pattern', {'deny_write': ['dir/**/name']}),
                         ('protect', {'protect': ['dir/sub/name']}),
                         ('denied reading', {'deny_read': ['dir/*/na?e']}))))
def test_two_allowed_calls_at_once_do_not_create_a_denied_file(stages, attack, level):
    """One thread creates tree/sub/name, the other renames tree to dir. Each call alone is allowed."""
    assert_name_attack_stopped(stages, attack, level)


LOCKED_CHANGED = changed('{locked}', 'locked')


@name_rows(*(NameAttack('script', (script,), {'deny_write': ['locked.txt']}, effect=LOCKED_CHANGED,
                        may_succeed=True, title=title)
             for title, script in (
    ('many at once', 'for i in 1 2 3 4 5 6 7 8; do (for j in 1 2 3 4 5 6 7 8 9 10; do echo evil > locked.txt; mv '
                     'm-of-attack.$i '
                     'locked.txt; rm -f locked.txt; echo x > m-of-attack.$i; done) & done 2>/dev/null; wait'),
)))
def test_many_processes_at_once_do_not_change_a_denied_file(stages, attack, level):
    assert_name_attack_stopped(stages, attack, level)


CREATE_NAME = ('echo x > is/sub/name', 'cd is/sub; echo x > name', 'mkdir is/sub/name',
               'mv first-of-attack is/sub/name', 'ln -s first-of-attack is/sub/name', 'ln first-of-attack is/sub/name',
               'mkfifo is/sub/name', 'echo x > was/sub/name', 'echo x > ./is//sub/../sub/name',
               'cp first-of-attack is/sub/name', 'exec 3< is/sub; echo x > /proc/self/fd/3/name')


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('way', CREATE_NAME)
@pytest.mark.parametrize('link', [True, False])
def test_rules_for_a_directory_that_the_host_renames_apply_by_its_new_path(stages, level, way, link):
    """The box has already used the directory. The host renames it, and may leave a link with the old name."""
    script = (': > first-of-attack; : > was/sub/one; (cd was/sub; : > ready-of-attack); '
              f'while [ ! -e go-of-attack ]; do :; done; {way}')
    for place in ('out', 'in'):
        stage = stages(place)
        (stage.work / 'was/sub').mkdir(parents=True)
        attack = ['sh', '-c', script]
        command = attack if place == 'out' else [*box(stage, level, {'deny_write': ['is/sub/name']}), *attack]
        with running(command, cwd=stage.work, env=stage.environment()) as process:
            end = time.monotonic() + 20
            ready = stage.work / 'was/sub/ready-of-attack'
            while not ready.exists() and process.poll() is None and time.monotonic() < end:
                time.sleep(0.002)
            os.rename(stage.work / 'was', stage.work / 'is')
            if link or 'was' in way:
                os.symlink('is', stage.work / 'was')
            (stage.work / 'go-of-attack').touch()
            output = process.communicate(timeout=30)
        assert os.path.lexists(stage.work / 'is/sub/name') == (place == 'out'), f'{place}: {output}'


# One process creates files although it has no free descriptor, so that the guard removes each new file again. The other
# process exchanges the directory of these files for a link to a directory with a denied file.
NO_DESCRIPTORS = '''
import ctypes, os, resource, sys, time
libc = ctypes.CDLL(None)
os.symlink('../vault', 'a/link')
child = os.fork()
while child == 0:
    libc.renameat2(-100, b'a/b', -100, b'a/link', 2)
end = time.monotonic() + float(sys.argv[1])
resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
tried = 0
while time.monotonic() < end:
    try:
        os.open('a/b/name', os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600)
        print('opened')
    except OSError:
        tried += 1
os.kill(child, 9)
print(tried > 100)
'''


@pytest.mark.parametrize('level', LEVELS)
def test_guard_removes_no_other_file_if_the_caller_has_no_free_descriptor(stages, level):
    stage = stages('in')
    (stage.work / 'a/b').mkdir(parents=True)
    (stage.work / 'vault').mkdir(exist_ok=True)
    (stage.work / 'vault/name').write_text('mine')
    result = stage.run([*box(stage, level, {'protect': ['vault/name']}), '/usr/bin/python3', '-c', NO_DESCRIPTORS,
                        str(RACE_INSIDE / 200)])
    assert result.stdout == 'True\n', result.stdout + result.stderr
    assert (stage.work / 'vault/name').read_text() == 'mine', 'the denied file was removed'
