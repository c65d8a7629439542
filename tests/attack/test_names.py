"""Rules about file names: a denied file cannot be created if it does not exist, and cannot be changed or read if it
does, whatever system call or path is used."""
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

from name_attack import (LEVELS, NAMESPACE_LEVELS, NameAttack, assert_name_attack_stopped, box, difference, git,
                         name_rows, running, snapshot)
from attack_host import changed, exists

# --- files that do not exist: no system call creates them ---

CREATE = ('by_open', 'by_open_for_reading', 'by_creat', 'create', 'by_raw_open', 'by_raw_creat', 'by_raw_mkdir',
          'by_open_with_high_bits', 'by_openat', 'by_openat2', 'by_openat2_beneath', 'by_openat2_in_root', 'mkdir',
          'by_mkdirat', 'mkfifo', 'mknod', 'by_mknodat', 'by_mknod_socket', 'symlink', 'by_symlinkat', 'by_link',
          'by_linkat', 'by_link_of_symlink', 'by_rename', 'by_renameat', 'by_rename_noreplace',
          'by_rename_of_directory', 'by_rename_of_symlink', 'by_bind', 'by_bind_of_datagrams', 'by_bind_unterminated',
          'by_linking_tmpfile', 'by_linking_tmpfile_descriptor', 'by_symlinked_parent', 'by_dangling_symlink',
          'by_two_dangling_symlinks', 'by_proc_descriptor', 'by_dev_descriptor', 'by_thread_descriptor',
          'by_path_descriptor', 'by_chdir', 'by_grandchild', 'by_posix_spawn', 'by_thread_with_its_own_directory',
          'by_path_at_page_end', 'by_path_in_shared_memory', 'by_longest_path', 'from_deep_directory',
          'from_removed_directory', 'with_streams_closed')
CREATE_FEW = ('by_open', 'mkdir', 'by_rename', 'by_link', 'symlink', 'by_linking_tmpfile', 'by_bind')
LACKS = 'this kernel or file system does not support the call'


def absent(way, name, rules, *more, **options):
    """A row for a file that must not be created."""
    return NameAttack(way, (name, *more), rules, effect=exists(f'{{work}}/{options.pop("created", name)}'), lacks=LACKS,
                      **options)


@name_rows(*(absent(way, 'absent.txt', {'deny_write': ['absent.txt']}) for way in CREATE))
def test_denied_file_is_not_created_by_any_call(stages, attack, level):
    assert_name_attack_stopped(stages, attack, level)


@name_rows(
    *(absent(way, 'absent.txt', {kind: ['absent.txt']}) for kind in ('deny_read', 'protect') for way in CREATE_FEW),
    *(absent(way, name, {kind: [rule]}) for kind in ('deny_read', 'deny_write') for rule, name in (
        ('**/*.pem', 'key.pem'), ('**/*.pem', 'deep/er/.pem'), ('secret*', 'secret-more'),
        ('deep/*/name[0-9]', 'deep/er/name7'),
        ('deep/er/absent.txt', 'deep/er/absent.txt')) for way in CREATE_FEW),
    *(absent(way, name, {'protect': [rule]}) for rule, name in (
        ('**/*.pem', 'deep/er/key.pem'), ('secret*', 'secrets')) for way in CREATE_FEW[:3]),
    absent('by_open', 'below', {'deny_write': ['{work}/below']}, title='an absolute rule'),
    absent('by_open', 'below', {'deny_write': ['{work}//./deep/../below/']}, title='a rule with . and ..'),
    absent('mkdir', 'below/', {'deny_write': ['below']}, title='mkdir with a trailing slash'),
    absent('by_rename_of_directory', 'below/', {'deny_write': ['below']}, title='rename with a trailing slash'),
)
def test_denied_file_is_not_created_whatever_the_kind_of_rule(stages, attack, level):
    assert_name_attack_stopped(stages, attack, level)


PATHS = ('./absent.txt', './/absent.txt', 'deep/../absent.txt', 'deep/er/../../absent.txt', '{work}/absent.txt',
             '/{work}/absent.txt', '{work}/../work/./absent.txt', '/proc/self/cwd/absent.txt',
             '/proc/thread-self/cwd/absent.txt',
             '/proc/self/root{work}/absent.txt', '/proc/self/task/../cwd/absent.txt', '/../..{work}/absent.txt',
             '/dev/fd/../cwd/absent.txt')


@name_rows(*(NameAttack(way, (path,), {'deny_write': ['absent.txt']}, effect=exists('{work}/absent.txt'))
             for path in PATHS for way in ('by_open', 'mkdir', 'by_rename')))
def test_denied_file_is_not_created_by_another_path_to_it(stages, attack, level):
    assert_name_attack_stopped(stages, attack, level)


DEEP = {'deny_write': ['dir/sub/name']}


def deep(way, *arguments, title, **more):
    return NameAttack(way, arguments, more.pop('rules', DEEP), effect=more.pop('effect', exists('{work}/dir/sub/name')),
                      tree_may_change=True, title=title, **more)


def path_resolves(stage):
    """An effect: dir/sub/name resolves, through a symlink, to a file of the box."""
    return (stage.work / 'dir/sub/name').exists()


@name_rows(
    *(absent(way, 'dir/sub/name', {kind: [rule]}, *more, tree_may_change=True)
      for kind, rule in (('deny_write', 'dir/sub/name'), ('protect', 'dir/sub/name'), ('deny_read', 'dir/**/na*'))
      for way, *more in (('by_making_parents',), ('by_moving_tree', '1'), ('by_moving_tree', '2'))),
    deep('in_moved_directory', 'dir/sub', 'name', title='through a descriptor of a directory that is renamed'),
    deep('in_moved_working_directory', 'dir/sub', 'name', title='in a working directory that is renamed'),
    deep('script', 'mkdir -p t/sub && ln -s x t/sub/name && mv t dir', title='a directory with a symlink is renamed'),
    deep('script', 'mkdir -p dir/sub t/sub && echo x > t/sub/name && mv -T t/sub dir/sub',
         title='a directory with the file replaces an empty one'),
    deep('script', 'mkdir t dir && echo x > t/name && ln -s ../t dir/sub && test -e dir/sub/name',
         title='a symlink instead of the parent',
         effect=path_resolves),
    deep('script', 'mkdir -p t/sub && echo x > t/sub/name && ln -s t dir && test -e dir/sub/name',
         title='a symlink instead of the grandparent', effect=path_resolves),
    deep('script', 'echo x > dir', rules={'deny_write': ['dir']}, title='a file instead of a denied directory',
         effect=exists('{work}/dir')),
    absent('by_making_parents', 'dir/sub/name', {'deny_write': ['dir']},
           title='below a denied directory that does not exist'),
    absent('by_moving_tree', 'dir/sub/name', {'deny_write': ['dir']}, '2',
           title='a directory is renamed to a denied one'),
    absent('by_moving_tree', 'deep/er/name', {'deny_write': ['deep/er/name']}, '1',
           title='the parent is exchanged for one with the file'),
    absent('by_moving_tree', 'deep/er/name', {'deny_write': ['deep/er/name']}, '2',
           title='the grandparent is exchanged'),
)
def test_denied_file_is_not_created_together_with_its_directory(stages, attack, level):
    """The directory may be created, renamed and removed; the file in it must not appear."""
    assert_name_attack_stopped(stages, attack, level)


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('rule, name', [
    ('absent.txt', 'Absent.txt'), ('absent.txt', 'absent.tx'), ('absent.txt', 'absent.txt2'),
    ('absent.txt', 'deep/absent.txt'),
    ('absent.txt', 'absent.txt '), ('secret*', 'deep/secret'), ('**/*.pem', 'key.pem2'), ('**/*.pem', 'pem'),
    ('a?c', 'ac'),
    ('dir/sub/name', 'dir'), ('absent.txt', 'n' * 255), ('n' * 255, 'n' * 254), ('absent.txt', 'absent.txt\udcff')])
def test_rule_denies_no_similar_name(stages, rule, name, level):
    """Case matters on this file system, so Absent.txt is another file than absent.txt."""
    stage = stages('in')
    stage.run(['true'])
    result = stage.run([*box(stage, level, {'deny_write': [rule]}), str(stage.program), 'by_open', name])
    assert result.returncode == 0 and os.path.exists(os.path.join(stage.work, name)), result.stdout + result.stderr


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('name', ['n' * 255, 'absent\udcff\udcfe', 'new\nline', 'back\\slash', '-dash', ' blank ', '…'])
def test_denied_name_may_have_any_bytes_and_any_length(stages, name, level):
    """A policy cannot contain a name that is not UTF-8 or has a newline, so a pattern denies it."""
    rule = {'n' * 255: 'n' * 255, 'absent\udcff\udcfe': 'absent*', 'new\nline': 'new*',
            'back\\slash': 'back*'}.get(name, name)
    stage = stages('in')
    outside = stage.run([str(stage.program), 'by_open', name])
    assert outside.returncode == 0
    os.unlink(os.path.join(stage.work, name))
    before = snapshot(stage.home)
    result = stage.run([*box(stage, level, {}, '--deny-write', rule), str(stage.program), 'by_open', name])
    assert result.stdout in ('failed: EACCES\n', 'failed: EPERM\n'), result.stdout + result.stderr
    assert {line for line in difference(before, snapshot(stage.home)) if 'policy' not in line} == set()


@pytest.mark.parametrize('level', LEVELS)
def test_each_rule_prevents_only_the_file_that_it_names(stages, level):
    for rules in ({'deny_write': ['absent.txt']}, {'deny_read': ['absent.txt']}, {'protect': ['absent.txt']},
                  {'deny_write': ['**/*.pem']}, {'deny_read': ['dir/sub/name']}):
        stage = stages(f'in-{"-".join(rules)}-{len(rules[next(iter(rules))][0])}')
        script = 'mkdir -p dir/sub; echo x > absent.txt; echo x > k.pem; echo x > dir/sub/name'
        result = stage.run([*box(stage, level, rules), 'sh', '-c', script])
        denied = next(iter(rules.values()))[0].replace('**/*', 'k')
        missing = {name for name in ('absent.txt', 'k.pem', 'dir/sub/name') if not (stage.work / name).exists()}
        assert missing == {denied}, f'{rules}: {missing} {result.stderr}'


# --- rules leave no placeholder, inside or outside ---

MANY_RULES = {'deny_write': ['absent.txt', 'dir/sub/name', 'deep/absent'],
              'deny_read': ['.env', '**/*.pem', 'other/.env'], 'protect': ['locks', 'deep/er/x*']}


@pytest.mark.parametrize('level', LEVELS)
def test_no_placeholder_appears_inside_or_outside_or_in_git_status(stages, level):
    stage = stages('in')
    shutil.rmtree(stage.work / '.git')
    git(stage.work, 'init', '-q', '-b', 'main')
    git(stage.work, 'add', '.')
    git(stage.work, 'commit', '-qm', 'one')
    command = box(stage, level, MANY_RULES)
    before, status = snapshot(stage.home, False), git(stage.work, 'status', '--porcelain', '--ignored').stdout
    script = 'find . | sort; echo --; git status --porcelain --ignored; echo ready-of-attack; read x < go-of-attack'
    os.mkfifo(stage.work / 'go-of-attack')
    with open(stage.work / '.git/info/exclude', 'a', encoding='utf-8') as file:
        file.write('go-of-attack\n')
    before = snapshot(stage.home, False)
    with running([*command, 'sh', '-c', script], cwd=stage.work, env=stage.environment()) as process:
        inside = []
        for line in process.stdout:
            if 'ready-of-attack' in line:
                break
            inside.append(line.rstrip('\n'))
        during = snapshot(stage.home, False)
        (stage.work / 'go-of-attack').write_text('x')
        process.wait(20)
    names = sorted('./' + os.fsdecode(name) for name in snapshot(stage.work, False))
    names_inside = [name for name in inside[:inside.index('--')] if name not in ('.', './go-of-attack')]
    assert sorted(names_inside) == names
    assert [line for line in inside[inside.index('--') + 1:] if 'go-of-attack' not in line] == status.splitlines() == []
    ignored = ('.git/index', )
    assert not [line for line in difference(before, during) if not any(name in line for name in ignored)]
    after = snapshot(stage.home, False)
    assert not [line for line in difference(before, after) if not any(name in line for name in ignored)]


# --- files that exist: they cannot be changed ---

LOCKED = changed('{locked}', 'locked')
LOCK = {'deny_write': ['locked.txt']}


def status_changed(path):
    def effect(stage):
        status = os.lstat(stage.fill(path))
        return (status.st_mtime < 1000 or bool(status.st_mode & 0o002) or
                'user.attacked' in os.listxattr(stage.fill(path)))
    return effect


def add_attribute(stage):
    try:
        os.setxattr(stage.locked, 'user.kept', b'yes')
    except OSError:
        pytest.skip('this file system has no extended attributes')


def attribute_removed(stage):
    return 'user.kept' not in os.listxattr(stage.locked)


def locked(name, *arguments, effect=LOCKED, **more):
    effect = status_changed('{locked}') if name in STATUS else effect
    return NameAttack(name, arguments or ('locked.txt',), more.pop('rules', LOCK), effect=effect, lacks=LACKS, **more)


CONTENT = ('write', 'append', 'truncate', 'truncate_by_read_only_open', 'write_by_reopening', 'write_by_symlink',
           'unlink', 'rename_over', 'exchange', 'link_over', 'write_by_creat', 'write_by_open_create',
           'write_by_openat2', 'truncate_by_descriptor', 'truncate_by_descriptor_path', 'write_by_mmap',
           'write_by_copy', 'write_by_read_descriptor', 'punch_hole', 'write_by_linked_descriptor_path',
           'rename_noreplace', 'rename_by_descriptors', 'unlink_by_descriptor')
STATUS = ('chmod', 'chmod_by_descriptor', 'chmod_by_path_descriptor', 'fchmodat', 'fchmodat2', 'fchmodat2_descriptor',
          'utimensat', 'futimens', 'utime', 'utimes', 'futimesat', 'utimensat_nofollow', 'setxattr', 'lsetxattr',
          'fsetxattr', 'setxattrat')
OWNER = ('chown', 'chown_by_descriptor', 'lchown', 'chown_by_empty_path', 'set_flags', 'file_setattr')


@name_rows(
    *(locked(name) for name in CONTENT + STATUS),
    *(locked(name, effect=None) for name in OWNER),
    locked('removexattr', before=add_attribute, effect=attribute_removed),
    locked('fremovexattr', before=add_attribute, effect=attribute_removed),
    locked('write_by_hard_link', 'locked.txt', 'alias-of-attack'),
    locked('write_by_linked_descriptor', 'locked.txt', 'alias-of-attack'),
    locked('rename', 'locked.txt', 'taken-of-attack'),
    locked('link', 'locked.txt', 'alias-of-attack', effect=exists('{work}/alias-of-attack')),
    *(locked(name, 'locked.txt', rules=rules) for name in ('write', 'unlink', 'rename_over', 'exchange', 'chmod',
                                                           'truncate')
      for rules in ({'protect': ['locked.txt']}, {'deny_write': ['**/*.txt']}, {'protect': ['lock*']},
                    {'deny_read': ['locked.txt']})),
    *(locked(name, path) for name in ('write', 'unlink', 'chmod') for path in (
        './/locked.txt', 'deep/../locked.txt', '/proc/self/cwd/locked.txt', '/proc/self/root{locked}',
        '{work}/../work/locked.txt')),
)
def test_denied_file_cannot_be_changed(stages, attack, level):
    assert_name_attack_stopped(stages, attack, level)


DEEP_LOCK = {'deny_write': ['deep/er/locked.txt']}
DEEP_CHANGED = changed('{work}/deep/er/locked.txt', 'deep')


def add_empty_directory(stage):
    (stage.work / 'hollow').mkdir()


def below(name, *arguments, rules=None, effect=DEEP_CHANGED, **more):
    return NameAttack(name, arguments, rules or DEEP_LOCK, effect=effect, **more)


REBUILD = 'mv {0} {0}-of-attack && cp -r {0}-of-attack {0} && chmod -R u+w {0} && echo evil > {1}'


@name_rows(
    below('rename', 'deep/er', 'taken-of-attack'),
    below('rename', 'deep', 'taken-of-attack'),
    below('script', REBUILD.format('deep/er', 'deep/er/locked.txt'), title='the parent is renamed and copied back'),
    below('script', REBUILD.format('deep', 'deep/er/locked.txt'), title='the grandparent is renamed and copied back'),
    below('script', 'mkdir -p x-of-attack/er && echo evil > x-of-attack/er/locked.txt && python3 -c "import ctypes; '
          'exit(ctypes.CDLL(None).renameat2(-100, b\'x-of-attack\', -100, b\'deep\', 2))"',
          title='the grandparent is exchanged'),
    below('script', 'mv deep deep-of-attack && ln -s deep-of-attack deep',
          title='the grandparent is replaced by a symlink', effect=lambda stage: (stage.work / 'deep').is_symlink()),
    below('script', 'rm -rf deep; mkdir -p deep/er && echo evil > deep/er/locked.txt',
          title='the grandparent is removed and made again', tree_may_change=True),
    below('rmdir', 'hollow', rules={'deny_write': ['hollow']}, before=add_empty_directory,
          effect=lambda stage: not (stage.work / 'hollow').exists()),
    below('rmdir', 'hollow', rules={'protect': ['hol*']}, before=add_empty_directory, title='rmdir by a pattern',
          effect=lambda stage: not (stage.work / 'hollow').exists()),
    below('rename_directory_over', 'hollow', rules={'deny_write': ['hollow']}, before=add_empty_directory,
          effect=lambda stage: not (stage.work / 'directory-of-attack').exists() and (stage.work / 'hollow').exists()),
    below('create', 'hollow/new', rules={'deny_write': ['hollow']}, before=add_empty_directory,
          effect=exists('{work}/hollow/new')),
    below('create', 'hollow/new', rules={'deny_write': ['hollow/**']}, before=add_empty_directory,
          effect=exists('{work}/hollow/new'), title='create below a pattern'),
    below('chmod', 'hollow', rules={'deny_write': ['hollow']}, before=add_empty_directory,
          effect=status_changed('{work}/hollow')),
)
def test_rule_cannot_be_bypassed_by_changing_a_parent_directory(stages, attack, level):
    assert_name_attack_stopped(stages, attack, level)


def move_workspace_into_grant(stage):
    """Moves the workspace to home/A/w; home/A is granted too."""
    (stage.home / 'A').mkdir()
    shutil.move(stage.work, stage.home / 'A/w')
    stage.work = stage.home / 'A/w'
    stage.program, stage.hook = stage.work / 'attacks', stage.work / '.git/hooks/pre-commit'
    stage.config, stage.locked = stage.work / '.git/config', stage.work / 'locked.txt'


REBUILD_WORKSPACE = 'cd .. && mv w w-of-attack && cp -r w-of-attack w && '


@name_rows(*(NameAttack('script', (script,), rules, ('--rw', '{home}/A'), effect=effect,
                        before=move_workspace_into_grant, title=title)
             for title, script, rules, effect in (
    ('the workspace is copied, a hook', REBUILD_WORKSPACE + 'echo evil > w/.git/hooks/pre-commit', {},
     changed('{home}/A/w/.git/hooks/pre-commit', '#!/bin/sh\n')),
    ('the workspace is copied, the configuration', REBUILD_WORKSPACE + 'echo evil > w/.git/config', {},
     changed('{home}/A/w/.git/config', '[core]\n')),
    ('the workspace is copied, a denied file', REBUILD_WORKSPACE + 'echo evil > w/locked.txt',
     {'deny_write': ['locked.txt']}, changed('{home}/A/w/locked.txt', 'locked')),
    ('the workspace is copied, a denied file that does not exist', REBUILD_WORKSPACE + 'echo evil > w/absent',
     {'deny_write': ['absent']}, exists('{home}/A/w/absent')),
    ('the workspace is renamed and read',
     'cd .. && mv w w-of-attack && test "$(cat w-of-attack/locked.txt)" = locked && mkdir w',
     {'deny_read': ['locked.txt']}, exists('{home}/A/w-of-attack')),
    ('the workspace is exchanged',
     'cd .. && mkdir n-of-attack && echo evil > n-of-attack/locked.txt && python3 -c "import ctypes; '
     'exit(ctypes.CDLL(None).renameat2(-100, b\'n-of-attack\', -100, b\'w\', 2))"', {'deny_write': ['locked.txt']},
     changed('{home}/A/w/locked.txt', 'locked')),
    ('a denied file above the workspace', 'cd .. && echo x > absent', {'deny_write': ['{home}/A/absent']},
     exists('{home}/A/absent')),
)))
def test_rules_are_enforced_in_a_workspace_below_another_writable_grant(stages, attack, level):
    """A box could once rename the workspace itself: parents were pinned only up to the deepest grant."""
    assert_name_attack_stopped(stages, attack, level)


@name_rows(*(NameAttack('script', (script,), rules, ('--rw', '{work}/deep/er'), effect=exists('{work}/deep/er/new'),
                        title=f'{title} above a grant')
             for title, rules in (('deny_write', {'deny_write': ['deep']}), ('protect', {'protect': ['deep']}))
             for script in ('echo hi > deep/er/new',)))
def test_denial_above_a_writable_grant_is_enforced(stages, attack, level):
    """The grant was once a writable mount below the read-only one of the denial."""
    assert_name_attack_stopped(stages, attack, level)


# --- files that exist: they cannot be read ---

SECRET = {'deny_read': ['vault/secret.txt']}


def secret(name, *arguments, **more):
    return NameAttack(name, arguments or ('vault/secret.txt',), more.pop('rules', SECRET),
                      secret=more.pop('secret', True), **more)


READS = ('read', 'read_by_symlink', 'read_by_hard_link', 'read_by_reopening', 'read_by_openat2', 'read_by_read_write',
         'read_by_open_create', 'read_by_raw_open', 'read_by_path_descriptor_of_directory',
         'read_by_descriptor_symlink',
         'read_after_exchange')


def make_executable(stage):
    stage.vault_secret.write_text(f'#!/bin/sh\necho did: {stage.secret}\n')
    stage.vault_secret.chmod(0o755)


@name_rows(
    *(secret(name, rules=rules) for name in READS for rules in (
        {'deny_read': ['vault/secret.txt']}, {'deny_read': ['**/secret.*']}, {'deny_read': ['vault']})),
    secret('read_beneath', 'vault', 'secret.txt'),
    secret('read_in_root', 'vault', '/secret.txt'),
    secret('read_by_symlinked_parent', 'vault', 'secret.txt'),
    secret('read_by_changing_directory', 'vault', 'secret.txt'),
    secret('read_after_rename', 'vault', 'moved-of-attack', 'secret.txt'),
    secret('read', '/proc/self/cwd/vault/secret.txt'),
    secret('read', '/proc/self/root{vault_secret}'),
    secret('read', 'deep/../vault//secret.txt'),
    secret('script', 'cp vault/secret.txt copy-of-attack && echo did: $(cat copy-of-attack)'),
    secret('script', 'mv vault/secret.txt taken-of-attack && echo did: $(cat taken-of-attack)'),
    secret('script', 'mv vault v-of-attack && echo did: $(cat v-of-attack/secret.txt)', rules={'deny_read': ['vault']}),
    # A guard cannot execute a program for its caller, so only a mount over the program prevents the execution.
    secret('execute', before=make_executable, levels=NAMESPACE_LEVELS, title='execute a denied file'),
    secret('execute_by_descriptor', before=make_executable, levels=NAMESPACE_LEVELS,
           title='execute a denied file by a descriptor'),
    secret('execute', before=make_executable, levels=NAMESPACE_LEVELS, rules={'deny_read': ['**/secret.*']},
           title='execute a file that a pattern denies'),
)
def test_denied_file_cannot_be_read(stages, attack, level):
    assert_name_attack_stopped(stages, attack, level)


# --- setuid and setgid bits ---

def has_setuid_file(stage):
    return any(os.lstat(path).st_mode & 0o6000 for path in stage.work.iterdir() if path.is_file())


@name_rows(*(NameAttack('script', (script,), effect=has_setuid_file, may_succeed=True, tree_may_change=True,
                        title=title) for title, script in (
    ('chmod 4755', 'cp /bin/true sb-of-attack && chmod 4755 sb-of-attack'),
    ('chmod u+s', 'cp /bin/true sb-of-attack && chmod u+s,g+s sb-of-attack'),
    ('install -m 4755', 'install -m 4755 /bin/true sb-of-attack'),
    ('open with 04755', 'python3 -c "import os; os.umask(0); os.open(\'sb-of-attack\', os.O_CREAT | os.O_WRONLY, '
                        '0o4755)"'),
    ('mknod with 04755', 'python3 -c "import os; os.umask(0); os.mknod(\'sb-of-attack\', 0o104755)"'),
    ('fchmod', 'python3 -c "import os; f = os.open(\'sb-of-attack\', os.O_CREAT | os.O_WRONLY, 0o755); os.fchmod(f, '
               '0o4755)"'),
    ('fchmodat2', 'touch sb-of-attack && python3 -c "import ctypes; '
                  'exit(ctypes.CDLL(None).syscall(452, -100, b\'sb-of-attack\', 0o4755, 0x100) != 0)"'),
    ('openat2', 'python3 -c "import ctypes; h = (ctypes.c_uint64 * 3)(0o101, 0o4755, 0); '
                'exit(ctypes.CDLL(None).syscall(437, -100, b\'sb-of-attack\', h, 24) < 0)"'),
    ('O_TMPFILE', 'python3 -c "import os; f = os.open(\'.\', os.O_TMPFILE | os.O_RDWR, 0o4755); os.fchmod(f, '
                        '0o4755); '
                        'import ctypes; exit(ctypes.CDLL(None).linkat(-100, b\'/proc/self/fd/%d\' % f, -100, '
                        'b\'sb-of-attack\', 0x400))"'),
    ('tar', 'cp /bin/true sb-of-attack; chmod 755 sb-of-attack; tar --mode=4755 -cf t-of-attack sb-of-attack && rm '
            'sb-of-attack && tar -xpf t-of-attack'),
)))
def test_box_cannot_leave_a_setuid_file(stages, attack, level):
    """Another user who runs such a file outside would get the rights of the user who started the box."""
    assert_name_attack_stopped(stages, attack, level)


@pytest.mark.parametrize('level', LEVELS)
def test_setgid_bit_of_a_directory_is_allowed(stages, level):
    stage = stages('in')
    result = stage.run([*box(stage, level, {}), 'sh', '-c', 'mkdir d && chmod 2775 d && stat -c %a d'])
    assert (result.returncode, result.stdout.strip()) == (0, '2775'), result.stderr


# --- abstract addresses ---

def can_connect(name):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(2)
        try:
            client.connect('\0' + name)
            return client.recv(100) != b''
        except OSError:
            return False


@pytest.mark.parametrize('level', LEVELS)
def test_abstract_socket_of_a_box_is_not_reachable_from_outside(stages, level):
    """A box that binds the address of an X server could impersonate that server."""
    stage = stages('in')
    name = f'/tmp/.X11-unix/X{os.getpid()}{LEVELS.index(level)}'
    for inside in (False, True):
        command = [*(box(stage, level, {}) if inside else ()), str(stage.program), 'serve_abstract_socket', name, '10']
        with running(command, cwd=stage.work, env=stage.environment()) as process:
            line = process.stdout.readline()
            assert inside or line == 'did: listening\n'
            assert can_connect(name) == (not inside), f'{level}: {line}'


# --- the guard is killed, stopped or overloaded ---

def run_unchanged(stage, level, *arguments, rules=None, flags=(), limits='', timeout=25):
    """Runs an attack in a box and checks that no file has changed, whether or not the box survives."""
    rules = rules or {'deny_write': ['absent.txt', 'locked.txt'], 'deny_read': ['vault/secret.txt']}
    command = [*box(stage, level, rules, *flags), str(stage.program), *arguments]
    before, start = snapshot(stage.home), time.monotonic()
    result = stage.run(['sh', '-c', f'{limits} exec "$@"', 'sh', *command], timeout=timeout)
    assert not difference(before, snapshot(stage.home)), result.stdout + result.stderr
    assert time.monotonic() - start < timeout
    assert stage.secret not in result.stdout
    return result


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('number', [9, 19, 15, 6, 11, 23])
def test_signals_to_every_process_do_not_disable_the_rules(stages, level, number):
    """If a signal can kill or stop the guard, calls are denied or the box ends."""
    result = run_unchanged(stages('in'), level, 'create_after_signals', str(number), 'absent.txt')
    assert result.returncode != 0 and 'did:' not in result.stdout


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('arguments, errors', [
    (('create_among_many_processes', '200', 'absent.txt'), ('EACCES', 'EPERM')),
    (('create_without_free_descriptors', '20', 'absent.txt'), ('EACCES', 'EPERM', 'EMFILE', 'ENFILE')),
    (('create_without_memory', 'absent.txt'), ('EACCES', 'EPERM', 'ENOMEM')),
    (('create_while_fifos_block', '100', 'absent.txt'), ('EACCES', 'EPERM')),
])
def test_rules_are_enforced_in_an_overloaded_box(stages, level, arguments, errors):
    outside = stages('out')
    result = outside.run([str(outside.program), *arguments], timeout=25)
    assert result.returncode == 0 and (outside.work / 'absent.txt').exists(), result.stdout
    result = run_unchanged(stages('in'), level, *arguments)
    assert result.stdout.strip() in [f'failed: {error}' for error in errors], result.stdout + result.stderr


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('limits', ['ulimit -n 16;', 'ulimit -n 32;', 'ulimit -n 64;', 'ulimit -v 100000;',
                                    'ulimit -v 20000;',
                                    'ulimit -f 0;', 'ulimit -s 256;', 'ulimit -l 0;', 'ulimit -u 60;'])
def test_with_low_resource_limits_a_box_enforces_its_rules_or_is_refused(stages, level, limits):
    result = run_unchanged(stages('in'), level, 'by_open', 'absent.txt', limits=limits)
    assert result.returncode != 0 and 'did:' not in result.stdout, result.stdout + result.stderr


# --- symlinks on the path of a rule ---

# name -> (the link in the home, its target, how a box would change the target)
HOME_LINKS = {
    'a file': ('.bashrc', 'work/bashrc', 'echo evil > bashrc'),
    'a missing file': ('.zshrc', 'work/later', 'echo evil > later'),
    'a file behind two links': ('.profile', 'second', 'echo evil > profile'),
    'a directory': ('.config', 'work/config', 'mkdir -p config/fish; echo evil > config/fish/config.fish'),
    'a directory that is replaced': ('.config', 'work/config',
                                     'mkdir -p c-of-attack/fish; echo evil > c-of-attack/fish/config.fish; '
                                     'rmdir config && mv c-of-attack config'),
    'a file behind an absolute link': ('.bash_profile', '{work}/bashrc', 'echo evil > bashrc'),
}


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('case', HOME_LINKS)
def test_target_of_a_protected_link_in_the_home_is_protected(stages, level, case):
    """Dotfiles may be in a workspace, with links to them in the home; the shell executes them outside."""
    name, target, script = HOME_LINKS[case]
    for place in ('out', 'in'):
        stage = stages(place)
        (stage.work / 'config').mkdir()
        (stage.home / 'second').symlink_to('work/profile')
        (stage.home / name).unlink(missing_ok=True)
        (stage.home / name).symlink_to(stage.fill(target))
        command = ['sh', '-c', script]
        result = stage.run(command if place == 'out' else [*box(stage, level, {}), *command])
        executed = stage.home / name / 'fish/config.fish' if name == '.config' else stage.home / name
        assert executed.exists() == (place == 'out'), f'{place}: {result.stdout}{result.stderr}'


@pytest.mark.parametrize('level', LEVELS)
def test_target_of_a_sensitive_link_in_the_home_cannot_be_read(stages, level):
    for place in ('out', 'in'):
        stage = stages(place)
        keys = stage.work / 'keys'
        keys.mkdir()
        (keys / 'id_rsa').write_text(stage.secret)
        for name in ('.ssh', '.aws'):
            shutil.rmtree(stage.home / name, ignore_errors=True)
            (stage.home / name).symlink_to('work/keys')
        command = ['cat', 'keys/id_rsa']
        result = stage.run(command if place == 'out' else [*box(stage, level, {}), *command])
        assert (stage.secret in result.stdout) == (place == 'out'), f'{place}: {result.stdout}{result.stderr}'


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('kind', ['protect', 'deny_write', 'deny_read'])
def test_rule_for_a_link_outside_of_the_workspace_applies_to_its_target(stages, level, kind):
    """The box cannot see the link, so its guard once did not follow it."""
    script = 'cat locked.txt; echo evil > locked.txt'
    for place in ('out', 'in'):
        stage = stages(place)
        (stage.other / 'link').symlink_to(stage.locked)
        result = stage.run([*([] if place == 'out' else box(stage, level, {kind: ['{other}/link']})), 'sh', '-c',
                            script])
        assert (stage.locked.read_text() == 'evil\n') == (place == 'out'), result.stdout + result.stderr
        assert ('locked' in result.stdout) == (place == 'out' or kind != 'deny_read'), result.stdout + result.stderr


# name -> (the links, outside of the workspace or in it; the rule; the file that the rule then denies)
DANGLING = {
    'a link outside': ({'{other}/link': '{work}/absent'}, '{other}/link', 'absent'),
    'a relative link outside': ({'{other}/link': '../work/absent'}, '{other}/link', 'absent'),
    'a link inside': ({'{work}/link': 'absent'}, 'link', 'absent'),
    'a link to a link': ({'{other}/link': 'next', '{other}/next': '{work}/absent'}, '{other}/link', 'absent'),
    'a link as the parent directory': ({'{other}/link': '{work}/folder'}, '{other}/link/absent', 'folder/absent'),
    'a link as the grandparent directory': ({'{work}/link': 'folder'}, 'link/deeper/absent', 'folder/deeper/absent'),
    'a link to a file in a missing directory': ({'{work}/link': 'folder/absent'}, 'link', 'folder/absent'),
    'a link as the parent of a pattern': ({'{other}/link': '{work}/folder'}, '{other}/link/*.txt', 'folder/absent.txt'),
}


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('kind', ['protect', 'deny_write', 'deny_read'])
@pytest.mark.parametrize('case', DANGLING)
def test_rule_for_a_dangling_link_applies_to_its_target(stages, level, kind, case):
    """The box tries to create the target, or to read it after the host has created it."""
    links, rule, target = DANGLING[case]
    create = 'mkdir -p "$(dirname T)"; echo evil > T'.replace('T', target)
    read = 'mkdir -p "$(dirname T)"; echo ready; read x; cat T'.replace('T', target)
    for place in ('out', 'in'):
        stage = stages(place)
        for name, leads_to in links.items():
            Path(name.format(other=stage.other, work=stage.work)).symlink_to(leads_to.format(other=stage.other,
                                                                                             work=stage.work))
        prefix = [] if place == 'out' else box(stage, level, {kind: [rule]})
        result = stage.run([*prefix, 'sh', '-c', create])
        assert (stage.work / target).exists() == (place == 'out'), result.stdout + result.stderr
        if kind != 'deny_read':
            continue
        (stage.work / target).unlink(missing_ok=True)
        with subprocess.Popen([*prefix, 'sh', '-c', read], cwd=stage.work, env=stage.environment(), text=True,
                              stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            assert process.stdout.readline() == 'ready\n'
            (stage.work / target).parent.mkdir(parents=True, exist_ok=True)
            (stage.work / target).write_text(stage.secret)
            output, _ = process.communicate('\n', timeout=60)
        assert (stage.secret in output) == (place == 'out'), output


EXCHANGE = '''/usr/bin/python3 -c 'import ctypes; ctypes.CDLL(None).renameat2(-100, b"x", -100, b"b", 2)' '''
# name -> (the links; the rule; the file that the links lead to, or None; how a box would replace one of the links, so
# that the path of the rule leads to a file of the box)
LINK_CHAINS = {
    'a link to a link': ({'a': 'b', 'b': 'c'}, 'a', 'c', 'rm -f b; echo evil > b'),
    'a link to a dangling link': ({'a': 'b', 'b': 'c'}, 'a', None, 'rm -f b; echo evil > b'),
    'a link to a link, replaced by rename': ({'a': 'b', 'b': 'c'}, 'a', 'c', 'echo evil > x; mv -f x b'),
    'a link to a link, replaced by symlink': ({'a': 'b', 'b': 'c'}, 'a', 'c', 'echo evil > x; ln -sfT x b'),
    'a link to a link, exchanged': ({'a': 'b', 'b': 'c'}, 'a', 'c', 'echo evil > x; ' + EXCHANGE),
    'the last of three links': ({'a': 'b', 'b': 'd', 'd': 'c'}, 'a', 'c', 'rm -f d; echo evil > d'),
    'a loop of links': ({'a': 'b', 'b': 'b'}, 'a', None, 'rm -f b; echo evil > b'),
    'a directory that is a link': ({'a': 'b/c', 'b': 'e'}, 'a', 'e/c', 'rm -f b; mkdir b; echo evil > b/c'),
    'a directory that is a dangling link': ({'a': 'b/c', 'b': 'e'}, 'a', None, 'rm -f b; mkdir b; echo evil > b/c'),
    'a directory in the rule that is a link': ({'b': 'e'}, 'b/c', 'e/c', 'rm -f b; mkdir b; echo evil > b/c'),
    'a link outside to a link in the workspace': ({'{other}/a': '{work}/b', 'b': 'c'}, '{other}/a', 'c',
                                                  'rm -f b; echo evil > b'),
    'a link as the parent of a pattern': ({'{other}/a': '{work}/b', 'b': 'e'}, '{other}/a/*', 'e/c',
                                          'rm -f b; mkdir b; echo evil > b/c'),
}


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('kind', ['protect', 'deny_write', 'deny_read'])
@pytest.mark.parametrize('replaced', [False, True], ids=['as it was', 'replaced by the host'])
@pytest.mark.parametrize('case', LINK_CHAINS)
def test_link_on_the_path_of_a_rule_cannot_be_replaced(stages, level, kind, replaced, case):
    """A box that replaces the link decides which file the rule means. A mount on the link is lost when the host replaces
    the link, so a mount does not help."""
    links, rule, real, script = LINK_CHAINS[case]
    for place in ('out', 'in'):
        stage = stages(place)
        where = {'other': stage.other, 'work': stage.work}
        paths = {stage.work / name.format(**where): target.format(**where) for name, target in links.items()}
        for path, target in paths.items():
            path.symlink_to(target)
        if real:
            (stage.work / real).parent.mkdir(exist_ok=True)
            (stage.work / real).write_text('real')
        prefix = [] if place == 'out' else [*box(stage, level, {kind: [rule]})]
        with subprocess.Popen([*prefix, 'sh', '-c', f'echo ready; read x; {script}'], cwd=stage.work,
                              env=stage.environment(), text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            assert process.stdout.readline() == 'ready\n'
            for path, target in paths.items() if replaced else ():
                path.unlink()
                path.symlink_to(target)
            output, _ = process.communicate('\n', timeout=60)
        named = stage.work / rule.format(**where).replace('*', 'c')
        assert (named.exists() and named.read_text() == 'evil\n') == (place == 'out'), output


# name -> (links in the home, the first one to a file that the shell or ringwall reads; the file that they lead to, or
# None; how a box would replace that file). The script runs in ~/dotfiles, which the box may write.
DOTFILE_LINKS = {
    'a link to a link': ({'.bashrc': 'dotfiles/rc', 'dotfiles/rc': 'v2'}, 'dotfiles/v2', 'rm rc; echo evil > rc'),
    'a link to a dangling link': ({'.bashrc': 'dotfiles/rc', 'dotfiles/rc': 'v2'}, None, 'rm rc; echo evil > rc'),
    'a dangling link': ({'.bashrc': 'dotfiles/rc'}, None, 'echo evil > rc'),
    'a link to a link that leads out of dotfiles': ({'.bashrc': 'dotfiles/rc', 'dotfiles/rc': '../kept'}, 'kept',
                                                    'rm rc; echo evil > rc'),
    'a loop of links': ({'.bashrc': 'dotfiles/rc', 'dotfiles/rc': 'rc'}, None, 'rm rc; echo evil > rc'),
    'the policy of ringwall is a link to a link': (
        {'.config/ringwall/policy.yaml': '../../dotfiles/p', 'dotfiles/p': 'v2'}, 'dotfiles/v2', 'rm p; echo evil > p'),
    'the policy of ringwall is a dangling link': ({'.config/ringwall/policy.yaml': '../../dotfiles/p'}, None,
                                                  'echo evil > p'),
    'the directory of the policy is a link': ({'.config/ringwall': '../dotfiles/r', 'dotfiles/r': 'v2'}, None,
                                              'rm r; mkdir r; echo evil > r/policy.yaml'),
}


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('case', DOTFILE_LINKS)
def test_box_cannot_replace_a_file_that_a_link_in_the_home_leads_to(stages, level, case):
    links, real, script = DOTFILE_LINKS[case]
    for place in ('out', 'in'):
        stage = stages(place)
        dotfiles = stage.home / 'dotfiles'
        for name, target in links.items():
            path = stage.home / name
            path.unlink(missing_ok=True)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(target)
        if real:
            (stage.home / real).write_text('filesystem: {deny_read: []}\n')
        command = ['sh', '-c', f'cd {dotfiles}; {script}']
        dotfiles.mkdir(exist_ok=True)
        result = stage.run(command if place == 'out' else [*box(stage, level, {}, '--rw', str(dotfiles)), *command])
        named = stage.home / next(iter(links))
        named = named / 'policy.yaml' if named.is_dir() else named
        assert (named.exists() and named.read_text() == 'evil\n') == (place == 'out'), result.stdout + result.stderr


@pytest.mark.parametrize('level', LEVELS)
def test_target_of_a_protected_dangling_link_cannot_be_created(stages, level):
    for place in ('out', 'in'):
        stage = stages(place)
        (stage.work / '.mcp.json').symlink_to('config/servers.json')
        (stage.work / 'config').mkdir()
        result = stage.run([*([] if place == 'out' else box(stage, level, {})), 'sh', '-c',
                            'echo evil > config/servers.json'])
        assert (stage.work / '.mcp.json').exists() == (place == 'out'), result.stdout + result.stderr


# --- ordinary calls have the same results as without rules ---

# A guard cannot make a terminal the controlling terminal of its caller by opening it (docs/decisions/guard.md). Unix
# datagram sockets are refused in plans where a socket could be in a readable tree.
DIFFERENT = ('a controlling terminal by open()', 'socketpair of datagrams', 'datagram')
# Without a mount namespace the root cannot be listed, /tmp, where the checks create unix sockets, is that of the host,
# and no terminals can be created.
DIFFERENT_AT_STANDARD = ('open / ', 'open /dev/', 'open /proc/', 'openpty', 'open a terminal', 'write to a terminal',
                         'read from its other side', 'mkdtemp', 'tmpfile', 'unix ')

ORDINARY = {'deny_write': ['absent.txt', 'locked.txt', 'dir/sub/name'], 'deny_read': ['**/*.pem', 'vault'],
            'protect': ['guarded*']}


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('rules', [{'deny_write': ['absent.txt']}, ORDINARY], ids=['writes', 'reads and writes'])
def test_ordinary_calls_have_the_same_results_as_outside(stages, build, level, rules):
    """The program prints one line for each check; the lines have to be the same inside and outside."""
    lines = {}
    for place in ('out', 'in'):
        stage = stages(place)
        shutil.copy(build / 'tests/attack/ordinary', stage.work)
        command = ['./ordinary'] if place == 'out' else [*box(stage, level, rules), './ordinary']
        result = stage.run(command, timeout=60)
        lines[place] = result.stdout.splitlines()
        assert result.returncode == 0 and lines[place][-1:] == ['end: 0'], f'{place}: {result.stdout}{result.stderr}'
        if level == 'standard':
            lines[place] = [line for line in lines[place] if not line.startswith(DIFFERENT_AT_STANDARD)]
            assert len(lines[place]) > 250
    different = [pair for pair in zip(lines['out'], lines['in'])
                 if pair[0] != pair[1] and pair[0].split(':')[0] not in DIFFERENT]
    assert not different, '\n'.join(f'outside {a}\ninside  {b}' for a, b in different)
    assert len(lines['out']) == len(lines['in']), '\n'.join(f'outside {a}\ninside  {b}' for a, b in different)


@pytest.mark.parametrize('level', LEVELS)
def test_connect_to_an_allowed_port_works_with_a_guard(stages, level):
    """The guard handles connect() because of unix sockets; TCP connections must still work."""
    stage = stages('in')
    with socket.create_server(('127.0.0.1', 0)) as server:
        port = server.getsockname()[1]
        script = f'import socket; s = socket.create_connection(("127.0.0.1", {port}), 5); print(s.getpeername())'
        result = stage.run([*box(stage, level, ORDINARY, '--allow-local-port', str(port)), '/usr/bin/python3', '-c',
                            script])
    assert result.stdout == f"('127.0.0.1', {port})\n", result.stdout + result.stderr
