"""Attacks on /proc, /sys, devices and cgroups."""
import contextlib
import os

import pytest

from attack_host import NAMESPACE_LEVELS, Attack, assert_stopped, rows

# In a pid namespace the file does not exist; without one Landlock's restriction of ptrace denies the access.
INACCESSIBLE = {'standard': 'EACCES EPERM', 'strict': 'ENOENT', 'maximum': 'ENOENT'}
READ_ONLY = 'EACCES EROFS EPERM'


def log_something(stage):
    """Writes to the kernel's log, because a read consumes messages and /proc/kmsg may be empty."""
    with open('/dev/kmsg', 'w', encoding='ascii') as log:
        log.write('a line for a test\n')


@rows(
    Attack('read_proc_file', ('{victim}', 'environ'), INACCESSIBLE, secret=True),
    Attack('read_proc_file', ('{victim}', 'maps'), INACCESSIBLE),
    Attack('read_proc_file', ('{victim}', 'auxv'), INACCESSIBLE),
    Attack('read_proc_file', ('{victim}', 'io'), INACCESSIBLE),
    Attack('read_proc_file', ('{victim}', 'syscall'), INACCESSIBLE),
    Attack('read_memory_file', ('{victim}', '{address}'), INACCESSIBLE),
    Attack('read_proc_link', ('{victim}', 'cwd'), INACCESSIBLE),
    Attack('read_proc_link', ('{victim}', 'exe'), INACCESSIBLE),
    Attack('read_proc_link', ('{victim}', 'root'), INACCESSIBLE),
    Attack('read_proc_link', ('{victim}', 'fd/3'), INACCESSIBLE),
    Attack('read_proc_link', ('{victim}', 'ns/user'), INACCESSIBLE),
    Attack('list', ('/proc/{victim}/fd',), INACCESSIBLE, NAMESPACE_LEVELS, why='visible'),
    Attack('list', ('/proc/{victim}/task/{victim}/fd',), INACCESSIBLE, NAMESPACE_LEVELS, why='visible'),
    Attack('list', ('/proc/{victim}/map_files',), INACCESSIBLE, NAMESPACE_LEVELS, why='visible'),
    Attack('list', ('/proc/{victim}/cwd/',), INACCESSIBLE),
    Attack('list', ('/proc/{victim}/root/',), INACCESSIBLE),
    Attack('raise_oom_score', ('{victim}',), INACCESSIBLE),
    Attack('read_proc_file', ('{victim}', 'cmdline'), 'ENOENT', NAMESPACE_LEVELS, secret=True, why='visible'),
    Attack('read_proc_file', ('{victim}', 'status'), 'ENOENT', NAMESPACE_LEVELS, why='visible'),
    Attack('read_proc_file', ('{victim}', 'mountinfo'), 'ENOENT', NAMESPACE_LEVELS, why='visible'),
    Attack('search_processes', ('cmdline', '{backwards}'), 'ENOENT', NAMESPACE_LEVELS, why='visible',
           title='search every command line', before=lambda stage: stage.start_victim()),
    Attack('see_process', ('{victim}',), 'ESRCH', NAMESPACE_LEVELS, why='visible'),
)
def test_processes_of_the_host_cannot_be_read_or_seen(stages, attack, level):
    assert_stopped(stages, attack, level)


@rows(
    Attack('open_memory_of_parent', (), 'EACCES EPERM ENOENT'),
    Attack('read_proc_file', ('parent', 'maps'), 'EACCES EPERM ENOENT'),
    Attack('read_proc_link', ('parent', 'cwd'), 'EACCES EPERM ENOENT'),
    Attack('read_proc_link', ('parent', 'root'), 'EACCES EPERM ENOENT'),
    Attack('read_proc_link', ('{first}', 'fd/0'), 'EACCES EPERM ENOENT'),
    Attack('read_proc_link', ('{first}', 'exe'), 'EACCES EPERM ENOENT'),
    Attack('read_proc_link', ('{first}', 'ns/mnt'), 'EACCES EPERM ENOENT'),
    Attack('list', ('/proc/{first}/root/',), 'EACCES EPERM ENOENT'),
    Attack('read_proc_file', ('{first}', 'environ'), 'EACCES EPERM ENOENT'),
    Attack('read_proc_file', ('{first}', 'maps'), 'EACCES EPERM ENOENT'),
    Attack('trace', ('{first}',), 'EPERM ENOSYS'),
    Attack('steal_descriptor', ('{first}', '3'), 'EPERM ENOSYS EBADF'),
)
def test_keeper_of_the_box_cannot_be_read_or_traced(stages, attack, level):
    assert_stopped(stages, attack, level)


def missing(path):
    """The reason to skip an attack if the file does not exist."""
    return '' if os.path.exists(path) else f'this kernel has no {path}'


@rows(
    Attack('read', ('/proc/kcore',), 'EACCES EPERM ENOENT', only='root', lacks=missing('/proc/kcore')),
    Attack('open_for_writing', ('/proc/sysrq-trigger',), READ_ONLY, only='root', lacks=missing('/proc/sysrq-trigger')),
    Attack('rewrite_setting', ('/proc/sys/kernel/core_pattern',), READ_ONLY, only='root'),
    Attack('rewrite_setting', ('/proc/sys/kernel/hostname',), READ_ONLY, only='root'),
    Attack('rewrite_setting', ('/proc/sys/kernel/panic',), READ_ONLY, only='root'),
    Attack('rewrite_setting', ('/proc/sys/kernel/randomize_va_space',), READ_ONLY, only='root'),
    Attack('rewrite_setting', ('/proc/sys/vm/overcommit_memory',), READ_ONLY, only='root'),
    Attack('rewrite_setting', ('/proc/sys/fs/protected_symlinks',), READ_ONLY, only='root'),
    Attack('open_for_writing', ('/proc/sys/vm/drop_caches',), READ_ONLY, only='root'),
    Attack('open_for_writing', ('/proc/irq/default_smp_affinity',), READ_ONLY + ' ENOENT', only='root'),
    Attack('read', ('/proc/kmsg',), 'EACCES EPERM ENOENT', only='root', before=log_something),
    Attack('read', ('/dev/kmsg',), 'EACCES EPERM ENOENT', only='root'),
    Attack('read', ('/proc/timer_list',), 'EACCES EPERM ENOENT', NAMESPACE_LEVELS, only='root', why='proc',
           lacks=missing('/proc/timer_list')),
    Attack('read', ('/proc/keys',), 'EACCES EPERM ENOENT', NAMESPACE_LEVELS, why='proc'),
    Attack('open_for_writing', ('/sys/kernel/mm/ksm/run',), READ_ONLY + ' ENOENT', only='root',
           lacks=missing('/sys/kernel/mm/ksm/run')),
    Attack('read', ('/sys/kernel/notes',), 'EACCES EPERM ENOENT', lacks=missing('/sys/kernel/notes')),
    Attack('list', ('/sys/firmware',), 'EACCES EPERM ENOENT', lacks=missing('/sys/firmware')),
    Attack('list', ('/sys/class/net',), 'EACCES EPERM ENOENT', lacks=missing('/sys/class/net')),
    Attack('read', ('/dev/loop0',), 'EACCES EPERM ENOENT', only='root', lacks=missing('/dev/loop0'),
           title='loop device'),
    Attack('open_for_writing', ('/dev/ttyS0',), 'EACCES EPERM ENOENT', only='root', lacks=missing('/dev/ttyS0')),
    Attack('open_for_writing', ('/dev/fuse',), 'EACCES EPERM ENOENT', only='root', lacks=missing('/dev/fuse')),
    Attack('open_for_writing', ('/dev/loop-control',), 'EACCES EPERM ENOENT', only='root',
           lacks=missing('/dev/loop-control')),
)
def test_files_and_devices_of_the_kernel_are_not_accessible(stages, attack, level):
    if attack.lacks:
        pytest.skip(attack.lacks)
    assert_stopped(stages, attack, level)


def cgroup_root():
    """The mount point of cgroup v2; beside v1 controllers it is "unified"."""
    return next((path for path in ('/sys/fs/cgroup', '/sys/fs/cgroup/unified')
                 if os.path.exists(f'{path}/cgroup.procs')), '')


def own_cgroup():
    with open('/proc/self/cgroup', encoding='utf-8') as file:
        line = next((line for line in file if line.startswith('0::')), '0::/')
    return cgroup_root() + line.strip()[3:]


def remove_group(stage):
    def remove():
        with contextlib.suppress(OSError):
            os.rmdir(f'{cgroup_root()}/ringwall-attack')
    stage.closing.callback(remove)
    remove()


CGROUP = cgroup_root()


@rows(
    Attack('mkdir', (f'{CGROUP}/ringwall-attack',), 'EACCES EROFS EPERM ENOENT', only='root', before=remove_group,
           effect=lambda stage: os.path.exists(f'{CGROUP}/ringwall-attack')),
    Attack('open_for_writing', (f'{CGROUP}/cgroup.procs',), 'EACCES EROFS EPERM ENOENT', only='root'),
    Attack('open_for_writing', (f'{own_cgroup()}/cgroup.procs',), 'EACCES EROFS EPERM ENOENT', only='root',
           title='move to the cgroup of the test'),
    Attack('clone3_into_cgroup', (CGROUP,), 'EACCES EPERM ENOSYS ENOENT', only='root'),
    Attack('mount_cgroup', (), 'EPERM ENOSYS'),
)
def test_cgroups_cannot_be_changed(stages, attack, level):
    assert_stopped(stages, attack, level)
