"""Attacks on files: read a key, change files outside and protected files inside, use inherited descriptors."""
import os
import subprocess

import pytest

from attack_host import LEVELS, NAMESPACE_LEVELS, Attack, assert_stopped, changed, exists, rows

HIDDEN = {'standard': 'EACCES', 'strict': 'ENOENT EACCES', 'maximum': 'ENOENT EACCES'}
# The errors of a link or rename of such a file: Landlock returns EXDEV if the new path would have more rights.
NOT_LINKED = {'standard': 'EACCES EXDEV EPERM', 'strict': 'ENOENT EACCES EXDEV', 'maximum': 'ENOENT EACCES EXDEV'}
NO_OPENAT2 = 'ENOSYS'      # in a box with a guard: the flags of openat2 are in memory, where a filter cannot see them
NO_MOUNTS = 'EPERM ENOSYS'


def key(name, *arguments, **more):
    return Attack(name, arguments, more.pop('stopped', HIDDEN), secret=True, **more)


@rows(
    key('read', '{key}'),
    key('read', '../.ssh/id_ed25519'),
    key('read', 'vault/../../.ssh/id_ed25519'),
    key('read', '/proc/self/root{key}'),
    key('read', '/proc/thread-self/root{key}'),
    key('read', '/proc/self/cwd/../.ssh/id_ed25519'),
    key('read', '/proc/{victim}/cwd/id_ed25519'),
    key('read', '/proc/{victim}/root{key}'),
    key('read', '/proc/{victim}/fd/3'),
    key('read_through_proc', 'parent', 'root{key}'),
    key('read_through_proc', 'parent', 'cwd/../.ssh/id_ed25519'),
    key('read', '/proc/{first}/root{key}'),
    key('read', '/proc/{first}/cwd/id_ed25519'),
    Attack('search_processes', ('root{key}', '{backwards}'), 'ENOENT', title='search every root'),
    Attack('search_processes', ('cwd/../.ssh/id_ed25519', '{backwards}'), 'ENOENT',
           title='search every working directory'),
    key('read_by_symlink', '{key}'),
    key('read_by_symlink', '/proc/self/root{key}'),
    key('read_by_symlinked_parent', '{home}', '.ssh/id_ed25519'),
    key('read_by_hard_link', '{key}', stopped=NOT_LINKED),
    key('read_beneath', '{home}', '.ssh/id_ed25519'),
    key('read_beneath', '/', '{key}'),
    key('read_in_root', '/', '{key}', stopped=NO_OPENAT2),
    key('read_by_reopening', '{key}'),
    key('read_by_changing_directory', '{ssh}', 'id_ed25519'),
    key('read_by_changing_directory', '..', '.ssh/id_ed25519'),
    key('read_after_rename', '{ssh}', '{work}/moved', 'id_ed25519', stopped=NOT_LINKED),
    key('read_after_exchange', '{key}', stopped=NOT_LINKED),
    key('read_by_bind', '{ssh}', 'id_ed25519', stopped=NO_MOUNTS),
    key('read_by_open_tree', '{ssh}', 'id_ed25519', stopped=NO_MOUNTS),
    Attack('list', ('{ssh}',), HIDDEN),
    Attack('list', ('{evil}',), HIDDEN),
)
def test_key_in_the_home_stays_secret(stages, attack, level):
    assert_stopped(stages, attack, level)


def denied(name, *arguments, **more):
    """A row for a denied path in a readable tree: the only error is EACCES."""
    return Attack(name, arguments, 'EACCES', secret=True, **more)


INNER = ('--ro', '{given}', '--deny-read', '{given}/inner')


@rows(*(
    denied(name, *arguments, flags=INNER) for name, *arguments in (
        ('read', '{given_secret}'),
        ('read', '{given}/../given//./inner/secret.txt'),
        ('read', '/proc/self/root{given_secret}'),
        ('read_by_symlink', '{given_secret}'),
        ('read_by_symlinked_parent', '{given}/inner', 'secret.txt'),
        ('read_beneath', '{given}', 'inner/secret.txt'),
        ('read_by_reopening', '{given_secret}'),
        ('read_through_proc', 'parent', 'root{given_secret}'),
    )),
    denied('read', '{given_secret}', flags=('--ro', '{given}', '--deny-read', '{given}/inner/'),
           title='trailing slash'),
    denied('read', '{given_secret}', flags=('--ro', '{given}', '--deny-read', '{given_secret}'), title='denied file'),
    denied('read', '{given_secret}', flags=('--ro', '{given}/', '--deny-read', '{given}//inner/.'), title='spelling'),
    denied('read', '{given_secret}', flags=('--ro', '{given}', '--deny-read', '{given}/inner/*.txt'), title='pattern'),
    Attack('list', ('{given}/inner',), 'EACCES', flags=INNER, title='list a denied directory'),
)
def test_denied_path_in_a_readable_tree_stays_secret(stages, attack, level):
    assert_stopped(stages, attack, level)


WHOLE_HOME, BROAD = ('--rw', '{home}'), ('--read', 'broad')


def sensitive(name, *arguments, flags, **more):
    return Attack(name, arguments, more.pop('stopped', 'EACCES'), secret=True, flags=flags,
                  title=f'{name} {" ".join(arguments)} {" ".join(flags)}', **more)


@rows(*(
    sensitive(name, *arguments, flags=flags)
    for flags in (('--ro', '{home}'), WHOLE_HOME, BROAD)
    for name, *arguments in (
        ('read', '{key}'),
        ('read', '../.ssh/id_ed25519'),
        ('read', '/proc/self/root{key}'),
        ('read_by_symlink', '{key}'),
        ('read_by_symlinked_parent', '{home}', '.ssh/id_ed25519'),
        ('read_beneath', '{home}', '.ssh/id_ed25519'),
        ('read_by_reopening', '{key}'),
    )),
    sensitive('read_by_hard_link', '{key}', flags=WHOLE_HOME, stopped='EACCES EXDEV'),
    sensitive('read_after_rename', '{ssh}', '{home}/moved', 'id_ed25519', flags=WHOLE_HOME,
              stopped='EACCES EBUSY EXDEV'),
    Attack('read', ('/etc/shadow',), 'EACCES', only='root'),
    Attack('read', ('/etc/shadow',), 'EACCES', flags=BROAD, only='root', title='read |etc|shadow with broad reading'),
)
def test_sensitive_files_stay_secret_whatever_is_granted(stages, attack, level):
    assert_stopped(stages, attack, level)


VAULT = ('--deny-read', '{work}/vault')


def vault(name, *arguments, flags=VAULT, **more):
    return Attack(name, arguments, more.pop('stopped', 'EACCES'), secret=True, flags=flags, **more)


@rows(
    vault('read', '{vault_secret}'),
    vault('read', 'vault/secret.txt'),
    vault('read', 'vault/secret.txt', flags=('--deny-read', '{work}/vault/'), title='trailing slash'),
    vault('read', 'vault/secret.txt', flags=('--deny-read', '{vault_secret}'), title='denied file'),
    vault('read', '/proc/self/root{vault_secret}'),
    vault('read', '/proc/self/cwd/vault/secret.txt'),
    vault('read_by_symlink', '{vault_secret}'),
    vault('read_by_symlinked_parent', 'vault', 'secret.txt'),
    vault('read_by_hard_link', '{vault_secret}', stopped='EACCES EXDEV'),
    vault('read_by_hard_link', '{vault_secret}', flags=('--deny-read', '{vault_secret}'), stopped='EACCES EXDEV',
          title='hard link to a denied file'),
    vault('read_by_reopening', '{vault_secret}'),
    vault('read_beneath', '{work}/vault', 'secret.txt'),
    vault('read_after_rename', '{work}/vault', '{work}/moved', 'secret.txt', stopped='EACCES EBUSY'),
    vault('read_after_exchange', '{vault_secret}', flags=('--deny-read', '{vault_secret}'),
          stopped='EACCES EBUSY EXDEV'),
    vault('read_after_rename', '{work}/deep', '{work}/moved', 'er/secret.txt', flags=('--deny-read', '{work}/deep/er'),
          stopped='EACCES EBUSY EXDEV', title='rename a grandparent'),
    vault('read_after_rename', '{work}/deep', '{work}/moved', 'er/secret.txt', flags=('--deny-read', '{deep_secret}'),
          stopped='EACCES EBUSY EXDEV', title='rename a grandparent of a file'),
    vault('read_by_bind', '{work}/vault', 'secret.txt', stopped=NO_MOUNTS),
)
def test_denied_path_in_the_workspace_stays_secret(stages, attack, level):
    assert_stopped(stages, attack, level)


@pytest.mark.only_root
@pytest.mark.parametrize('level', LEVELS)
def test_file_cannot_be_opened_by_its_handle(stages, level, build):
    """open_by_handle_at() opens an inode without a path. Outside only root may call it."""
    def with_handle(stage):
        result = subprocess.run([build / 'tests/attack/attacks', 'print_handle', stage.key], capture_output=True,
                                text=True)
        stage.names['type'], stage.names['handle'] = result.stdout.split()[:2]
    attack = Attack('read_by_handle', ('{type}', '{handle}'), 'EPERM ENOSYS', secret=True, before=with_handle)
    assert_stopped(stages, attack, level)


KEEP = changed('{keep}', 'keep me')
ABSENT = {'standard': 'EACCES', 'strict': 'ENOENT EACCES EROFS', 'maximum': 'ENOENT EACCES EROFS'}
ELSEWHERE = {'standard': 'EACCES EXDEV', 'strict': 'ENOENT EACCES EXDEV EROFS', 'maximum': 'ENOENT EACCES EXDEV EROFS'}


def status_changed(path):
    """An effect: the file is world-writable, has an old time or an attribute."""
    def effect(stage):
        status = os.stat(stage.fill(path))
        return status.st_mtime < 1000 or bool(status.st_mode & 0o002) or bool(os.listxattr(stage.fill(path)))
    return effect


def outside(name, *arguments, effect=None, **more):
    return Attack(name, arguments, more.pop('stopped', ABSENT), effect=effect or KEEP, **more)


NEW = '{other}/new'


@rows(
    outside('write', '{keep}'),
    outside('append', '{keep}'),
    outside('truncate', '{keep}'),
    outside('truncate_by_read_only_open', '{keep}'),
    outside('write_by_reopening', '{keep}'),
    outside('write_by_symlink', '{keep}'),
    outside('write_by_hard_link', '{keep}', '{work}/alias', stopped=ELSEWHERE),
    outside('write', '/proc/self/root{keep}'),
    outside('write', '../other/keep.txt'),
    outside('write', '/proc/{victim}/root{keep}'),
    outside('unlink', '{keep}'),
    outside('rename', '{keep}', '{work}/taken', stopped=ELSEWHERE),
    outside('rename', '{other}', '{work}/taken', stopped=ELSEWHERE),
    outside('rename_over', '{keep}', stopped=ELSEWHERE),
    outside('exchange', '{keep}', stopped=ELSEWHERE),
    outside('create', NEW, effect=exists(NEW)),
    outside('create', '{evil}/new', effect=exists('{evil}/new')),
    outside('create', '{home}/.bashrc', effect=exists('{home}/.bashrc'), may_succeed_at=NAMESPACE_LEVELS),
    outside('mkdir', NEW, effect=exists(NEW)),
    outside('rmdir', '{other}/empty', effect=lambda stage: not exists('{other}/empty')(stage)),
    outside('symlink', NEW, effect=exists(NEW)),
    outside('link', '{work}/notes.txt', NEW, effect=exists(NEW), stopped=ELSEWHERE),
    outside('rename', '{work}/notes.txt', NEW, effect=exists(NEW), stopped=ELSEWHERE),
    outside('mkfifo', NEW, effect=exists(NEW)),
    outside('mknod', NEW, effect=exists(NEW)),
    outside('make_socket', NEW, stopped='ENOENT EACCES EPERM', effect=exists(NEW)),
    outside('link_tmpfile', NEW, effect=exists(NEW), stopped=ELSEWHERE),
    Attack('create_tmpfile', ('{other}',), ABSENT),
)
def test_files_outside_of_the_workspace_cannot_be_changed(stages, attack, level):
    assert_stopped(stages, attack, level)


def given(name, *arguments, effect=None, **more):
    return Attack(name, arguments, more.pop('stopped', 'EACCES EROFS'), flags=('--ro', '{given}'),
                  effect=effect or changed('{given_file}', 'read me'), **more)


def read_only(name, *arguments, **more):
    return given(name, *arguments, stopped='EROFS EACCES EPERM', **more)


GIVEN_NEW = '{given}/new'


@rows(
    given('write', '{given_file}'),
    given('truncate', '{given_file}'),
    given('truncate_by_read_only_open', '{given_file}'),
    given('write_by_reopening', '{given_file}'),
    given('write_by_symlink', '{given_file}'),
    given('write_by_hard_link', '{given_file}', '{work}/alias', stopped='EACCES EXDEV'),
    given('unlink', '{given_file}'),
    given('rename', '{given_file}', '{work}/taken', stopped='EACCES EXDEV EROFS'),
    given('rename_over', '{given_file}', stopped='EACCES EXDEV EROFS'),
    given('create', GIVEN_NEW, effect=exists(GIVEN_NEW)),
    given('mkfifo', GIVEN_NEW, effect=exists(GIVEN_NEW)),
    given('make_socket', GIVEN_NEW, stopped='EACCES EROFS EPERM', effect=exists(GIVEN_NEW)),
    given('link_tmpfile', GIVEN_NEW, effect=exists(GIVEN_NEW), stopped='EACCES EXDEV EROFS'),
    read_only('chmod', '{given_file}', effect=status_changed('{given_file}')),
    read_only('chmod_by_descriptor', '{given_file}', effect=status_changed('{given_file}')),
    read_only('futimens', '{given_file}', effect=status_changed('{given_file}')),
    read_only('utimensat', '{given_file}', effect=status_changed('{given_file}')),
    read_only('setxattr', '{given_file}', effect=status_changed('{given_file}'), lacks='no extended attributes here'),
    Attack('chown', ('{given_file}',), 'EROFS EACCES EPERM', flags=('--ro', '{given}')),
    Attack('set_flags', ('{given_file}',), 'EROFS EACCES EPERM', flags=('--ro', '{given}'),
           lacks='this file system has no flags'),
    Attack('chmod', ('{keep}',), 'ENOENT EACCES', effect=status_changed('{keep}')),
    Attack('utimensat', ('{keep}',), 'ENOENT EACCES', effect=status_changed('{keep}')),
    Attack('setxattr', ('{keep}',), 'ENOENT EACCES', effect=status_changed('{keep}'),
           lacks='no extended attributes here'),
)
def test_files_in_a_read_only_grant_cannot_be_changed(stages, attack, level):
    assert_stopped(stages, attack, level)


def add_link(stage):
    (stage.work / 'way').symlink_to(stage.other)


@rows(
    Attack('write', ('way/keep.txt',), ABSENT, effect=KEEP, before=add_link),
    Attack('create', ('way/new',), ABSENT, effect=exists(NEW), before=add_link),
    Attack('rename', ('notes.txt', 'way/new'), ELSEWHERE, effect=exists(NEW), before=add_link),
    Attack('mkdir', ('way/new',), ABSENT, effect=exists(NEW), before=add_link),
)
def test_symlink_in_the_workspace_does_not_lead_out(stages, attack, level):
    assert_stopped(stages, attack, level)


def granted_link(target):
    def before(stage):
        (stage.work / 'data').symlink_to(stage.fill(target))
    return before


@rows(
    key('read', 'data/id_ed25519', flags=('--ro', '{work}/data'), before=granted_link('../.ssh'), may_refuse=True),
    key('read', '{key}', flags=('--ro', '{work}/data'), before=granted_link('../.ssh'), may_refuse=True,
        title='read the target of a granted symlink by its own path'),
    key('read', 'data/.ssh/id_ed25519', flags=('--ro', '{work}/data'), before=granted_link('..'), may_refuse=True),
    key('read', 'data', flags=('--ro', '{work}/data'), before=granted_link('{key}'), may_refuse=True),
    Attack('write', ('data/id_ed25519',), 'EACCES EROFS ENOENT', flags=('--rw', '{work}/data'), may_refuse=True,
           before=granted_link('../.ssh'), effect=lambda stage: stage.key.read_text() != stage.secret),
)
def test_granted_symlink_does_not_grant_a_denied_target(stages, attack, level):
    """One box can leave a symlink at a path that is granted to the next box."""
    assert_stopped(stages, attack, level)


DENIED = 'EACCES EROFS EBUSY EPERM EXDEV'
HOOK, CONFIG = changed('{hook}', '#!/bin/sh\n'), changed('{config}', '[core]\n')


def protected(name, *arguments, effect=HOOK, **more):
    return Attack(name, arguments, DENIED, effect=effect, **more)


def on_each(*names):
    """Rows with the same attack on the hook and on the configuration."""
    for name in names:
        yield protected(name, '{hook}', effect=HOOK)
        yield protected(name, '{config}', effect=CONFIG)


@rows(
    *on_each('write', 'append', 'truncate', 'truncate_by_read_only_open', 'unlink', 'rename_over', 'exchange',
             'link_over', 'write_by_reopening', 'write_by_symlink'),
    protected('write', '/proc/self/root{hook}'),
    protected('write', '/proc/self/cwd/.git/hooks/pre-commit'),
    protected('write_by_hard_link', '{hook}', '{work}/alias'),
    protected('write_by_hard_link', '{config}', '{work}/alias', effect=CONFIG),
    protected('write_by_linked_descriptor', '{hook}', '{work}/alias'),
    protected('write_by_linked_descriptor', '{config}', '{work}/alias', effect=CONFIG),
    protected('rename', '{hook}', '{work}/away'),
    protected('rename', '{config}', '{work}/away', effect=CONFIG),
    protected('rename', '{work}/.git/hooks', '{work}/.git/away'),
    protected('rename', '{work}/.git', '{work}/away'),
    protected('chmod', '{hook}', effect=status_changed('{hook}')),
    protected('chmod_by_descriptor', '{hook}', effect=status_changed('{hook}')),
    protected('futimens', '{config}', effect=status_changed('{config}')),
    protected('utimensat', '{hook}', effect=status_changed('{hook}')),
    protected('setxattr', '{config}', effect=status_changed('{config}'), lacks='no extended attributes here'),
    protected('create', '{work}/.git/hooks/post-checkout', effect=exists('{work}/.git/hooks/post-checkout')),
    protected('mkdir', '{work}/.git/hooks/new', effect=exists('{work}/.git/hooks/new')),
    protected('symlink', '{work}/.git/hooks/post-merge', effect=exists('{work}/.git/hooks/post-merge')),
    protected('link_tmpfile', '{work}/.git/hooks/update', effect=exists('{work}/.git/hooks/update')),
    protected('rename', '{work}/notes.txt', '{work}/.git/hooks/pre-push', effect=exists('{work}/.git/hooks/pre-push')),
)
def test_hooks_and_configuration_of_a_repository_cannot_be_changed(stages, attack, level):
    assert_stopped(stages, attack, level)


LOCKED = changed('{locked}', 'locked')


DEEP = '{work}/deep/er/locked.txt'


def locked(name, *arguments, effect=LOCKED, flags=('--deny-write', '{locked}'), **more):
    return Attack(name, arguments, DENIED, effect=effect, flags=flags, **more)


@rows(
    locked('write', '{locked}'),
    locked('truncate', '{locked}'),
    locked('unlink', '{locked}'),
    locked('rename_over', '{locked}'),
    locked('rename', '{locked}', '{work}/away'),
    locked('write_by_hard_link', '{locked}', '{work}/alias'),
    locked('chmod', '{locked}', effect=status_changed('{locked}')),
    locked('create', '{work}/vault/new', effect=exists('{work}/vault/new'), flags=('--deny-write', '{work}/vault/')),
    locked('unlink', '{vault_secret}', effect=lambda stage: not stage.vault_secret.exists(),
           flags=('--deny-write', '{work}/vault')),
    locked('rename', '{work}/vault', '{work}/away', effect=exists('{work}/away'),
           flags=('--deny-write', '{work}/vault')),
    locked('rename', '{work}/vault', '{work}/away', effect=exists('{work}/away'),
           flags=('--deny-write', '{vault_secret}'),
           title='rename the parent of an unwritable file'),
    locked('rename', '{work}/deep', '{work}/away', effect=changed(DEEP, 'deep'), flags=('--deny-write', DEEP)),
    locked('rename', '{work}/deep/er', '{work}/away', effect=changed(DEEP, 'deep'), flags=('--deny-write', DEEP)),
    locked('exchange', '{work}/deep', effect=changed(DEEP, 'deep'), flags=('--deny-write', DEEP)),
    locked('write', '{work}/policy.yaml', effect=changed('{work}/policy.yaml', '{}\n'),
           flags=('-p', '{work}/policy.yaml'), title='write the policy of the box',
           before=lambda stage: stage.plant(stage.work / 'policy.yaml', '{}\n')),
    locked('rename_over', '{work}/policy.yaml', effect=changed('{work}/policy.yaml', '{}\n'),
           flags=('-p', '{work}/policy.yaml'), title='replace the policy of the box',
           before=lambda stage: stage.plant(stage.work / 'policy.yaml', '{}\n')),
)
def test_path_with_deny_write_cannot_be_changed(stages, attack, level):
    assert_stopped(stages, attack, level)


def opened(path, flags, number=27):
    """Opens a file that the shell, which starts the box, hands on as this descriptor."""
    def descriptors(stage, stack):
        fd = os.open(stage.fill(path), flags)
        stack.callback(os.close, fd)
        return {number: fd}
    return descriptors


@rows(
    Attack('read_inherited', ('27',), 'EBADF', secret=True, descriptors=opened('{key}', os.O_RDONLY)),
    Attack('write_inherited', ('27',), 'EBADF', effect=KEEP, descriptors=opened('{keep}', os.O_WRONLY)),
    Attack('write_inherited', ('3',), 'EBADF', effect=KEEP, descriptors=opened('{keep}', os.O_WRONLY, 3),
           title='write to descriptor 3'),
    Attack('write_inherited', ('999',), 'EBADF', effect=KEEP, descriptors=opened('{keep}', os.O_WRONLY, 999),
           title='write to descriptor 999'),
    Attack('read_beneath_inherited', ('27', '.ssh/id_ed25519'), 'EBADF', secret=True,
           descriptors=opened('{home}', os.O_RDONLY)),
    Attack('reopen_for_writing', ('27',), 'ENOENT EBADF', effect=KEEP, descriptors=opened('{keep}', os.O_RDONLY)),
    Attack('find_descriptors', (), 'EBADF', descriptors=opened('{keep}', os.O_RDONLY)),
    Attack('read_beneath_inherited', ('0', '.ssh/id_ed25519'), 'EACCES ENOENT', secret=True,
           descriptors=opened('{home}', os.O_RDONLY, 0), title='a directory as standard input'),
    Attack('read_beneath_inherited', ('0', '../.ssh/id_ed25519'), 'EACCES ENOENT', secret=True,
           descriptors=opened('{other}', os.O_RDONLY, 0), title='up from a directory as standard input'),
    Attack('reopen_for_writing', ('0',), 'EACCES ENOENT EROFS', effect=KEEP,
           descriptors=opened('{keep}', os.O_RDONLY, 0),
           title='write to standard input'),
    Attack('reopen_for_reading', ('0',), 'EACCES ENOENT', secret=True, descriptors=opened('{key}', os.O_WRONLY, 0),
           title='read standard input that was opened for writing'),
)
def test_inherited_descriptor_gives_no_access(stages, attack, level):
    assert_stopped(stages, attack, level)


@rows(
    Attack('read_environment', ('ATTACK_TOKEN',), 'ENOENT', secret=True),
    Attack('read_proc_file', ('parent', 'environ'), 'EACCES ENOENT EPERM'),
    Attack('search_processes', ('environ', '{backwards}'), 'ENOENT'),
)
def test_environment_variables_of_the_host_cannot_be_read(stages, attack, level):
    assert_stopped(stages, attack, level)


def with_temporary_file(folder):
    def before(stage):
        path = f'{folder}/attack-{stage.secret}'
        with open(path, 'w', encoding='utf-8') as file:
            file.write(stage.secret)
        stage.closing.callback(os.unlink, path)
        stage.names.update(shared=path, fresh=f'{path}-new')
        stage.closing.callback(lambda: os.path.lexists(f'{path}-new') and os.unlink(f'{path}-new'))
    return before


@rows(*(
    row for folder in ('/tmp', '/var/tmp', '/dev/shm') for row in (
        key('read', '{shared}', before=with_temporary_file(folder), title=f'read in {folder}'),
        Attack('create', ('{fresh}',), 'EACCES', effect=exists('{fresh}'), may_succeed_at=NAMESPACE_LEVELS,
               before=with_temporary_file(folder), title=f'create in {folder}'))
))
def test_temporary_directories_of_the_host_are_not_accessible(stages, attack, level):
    assert_stopped(stages, attack, level)


def has_old_time(path):
    return lambda stage: os.stat(path).st_mtime == 1


def restore_times(path):
    def before(stage):
        now = os.stat(path)
        stage.closing.callback(os.utime, path, ns=(now.st_atime_ns, now.st_mtime_ns))
        os.utime(path)
    return before


@rows(Attack('utimensat', ('/dev/null',), 'EROFS EACCES EPERM', effect=has_old_time('/dev/null'),
             before=restore_times('/dev/null'), only='root'))
def test_times_of_a_device_of_the_host_cannot_be_changed(stages, attack, level):
    """Root owns the devices: a box that can set their times can set their modes too."""
    assert_stopped(stages, attack, level)


def link_hooks(stage):
    (stage.work / '.git/hooks').rename(stage.work / 'scripts')
    (stage.work / '.git/hooks').symlink_to('../scripts')


def link_config(stage):
    stage.config.rename(stage.other / 'gitconfig')
    stage.config.symlink_to(stage.other / 'gitconfig')


@rows(
    protected('write', '{work}/scripts/pre-commit', before=link_hooks, title='hooks that are a symlink'),
    protected('unlink', '{work}/.git/hooks', before=link_hooks, title='remove hooks that are a symlink'),
    protected('rename_over', '{work}/.git/hooks', before=link_hooks, title='replace hooks that are a symlink'),
    protected('unlink', '{config}', before=link_config, effect=lambda stage: not stage.config.is_symlink(),
              title='remove a configuration that is a symlink'),
)
def test_hooks_and_configuration_behind_a_symlink_cannot_be_changed(stages, attack, level):
    assert_stopped(stages, attack, level)


SETUID = '/usr/bin/passwd'


@pytest.mark.only_user
@pytest.mark.parametrize('level', LEVELS)
def test_setuid_program_does_not_run_as_another_user(stages, level):
    assert_stopped(stages, Attack('execute_setuid', (SETUID,), 'EPERM', lacks=f'{SETUID} is missing'), level)


@pytest.mark.only_root
@pytest.mark.parametrize('level', LEVELS)
def test_setuid_copy_in_the_workspace_does_not_run_as_another_user(stages, level):
    def make_setuid_copy(stage):
        copy = stage.work / 'setuid'
        copy.write_bytes(stage.program.read_bytes())
        os.chown(copy, 64123, 64123)
        copy.chmod(0o4755)
        stage.names['setuid'] = str(copy)
        for folder in (stage.work, *stage.work.parents):
            if folder.is_relative_to(stage.top):
                folder.chmod(0o755)
    assert_stopped(stages, Attack('execute_setuid', ('{setuid}',), 'EPERM', before=make_setuid_copy), level)


@rows(Attack('make_device', ('device',), 'EPERM EACCES', only='root'))
def test_root_in_a_box_cannot_create_a_device(stages, attack, level):
    assert_stopped(stages, attack, level)
