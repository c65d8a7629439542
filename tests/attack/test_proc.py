"""/proc, /sys and cgroups: the kernel's own files, and other processes as files."""
import contextlib
import os

import pytest

from stage import SPACES, Attack, hold, rows

# Not there in a pid namespace; there but closed by Landlock's rule on tracing.
APART = {'standard': 'EACCES EPERM', 'strict': 'ENOENT', 'maximum': 'ENOENT'}
SETTING = 'EACCES EROFS EPERM'


def log_something(stage):
    """Whoever reads the kernel's log takes from it, and at its end there is nothing."""
    with open('/dev/kmsg', 'w', encoding='ascii') as log:
        log.write('a line for a test\n')


@rows(
    Attack('read_of', ('{victim}', 'environ'), APART, secret=True),
    Attack('read_of', ('{victim}', 'maps'), APART),
    Attack('read_of', ('{victim}', 'auxv'), APART),
    Attack('read_of', ('{victim}', 'io'), APART),
    Attack('read_of', ('{victim}', 'syscall'), APART),
    Attack('read_memory_file', ('{victim}', '{address}'), APART),
    Attack('link_of', ('{victim}', 'cwd'), APART),
    Attack('link_of', ('{victim}', 'exe'), APART),
    Attack('link_of', ('{victim}', 'root'), APART),
    Attack('link_of', ('{victim}', 'fd/3'), APART),
    Attack('link_of', ('{victim}', 'ns/user'), APART),
    Attack('list', ('/proc/{victim}/fd',), APART, SPACES, why='visible'),
    Attack('list', ('/proc/{victim}/task/{victim}/fd',), APART, SPACES, why='visible'),
    Attack('list', ('/proc/{victim}/map_files',), APART, SPACES, why='visible'),
    Attack('list', ('/proc/{victim}/cwd/',), APART),
    Attack('list', ('/proc/{victim}/root/',), APART),
    Attack('offer_to_oom', ('{victim}',), APART),
    Attack('read_of', ('{victim}', 'cmdline'), 'ENOENT', SPACES, secret=True, why='visible'),
    Attack('read_of', ('{victim}', 'status'), 'ENOENT', SPACES, why='visible'),
    Attack('read_of', ('{victim}', 'mountinfo'), 'ENOENT', SPACES, why='visible'),
    Attack('search_processes', ('cmdline', '{backwards}'), 'ENOENT', SPACES, why='visible',
           title='search every command line', before=lambda stage: stage.start_victim()),
    Attack('see_process', ('{victim}',), 'ESRCH', SPACES, why='visible'),
)
def test_other_processes_are_closed(stages, attack, level):
    hold(stages, attack, level)


@rows(
    Attack('open_memory_of_parent', (), 'EACCES EPERM ENOENT'),
    Attack('read_of', ('parent', 'maps'), 'EACCES EPERM ENOENT'),
    Attack('link_of', ('parent', 'cwd'), 'EACCES EPERM ENOENT'),
    Attack('link_of', ('parent', 'root'), 'EACCES EPERM ENOENT'),
    Attack('link_of', ('{first}', 'fd/0'), 'EACCES EPERM ENOENT'),
    Attack('link_of', ('{first}', 'exe'), 'EACCES EPERM ENOENT'),
    Attack('link_of', ('{first}', 'ns/mnt'), 'EACCES EPERM ENOENT'),
    Attack('list', ('/proc/{first}/root/',), 'EACCES EPERM ENOENT'),
    Attack('read_of', ('{first}', 'environ'), 'EACCES EPERM ENOENT'),
    Attack('read_of', ('{first}', 'maps'), 'EACCES EPERM ENOENT'),
    Attack('trace', ('{first}',), 'EPERM ENOSYS'),
    Attack('steal_descriptor', ('{first}', '3'), 'EPERM ENOSYS EBADF'),
)
def test_the_keeper_of_the_box_is_closed(stages, attack, level):
    hold(stages, attack, level)


def present(path):
    return '' if os.path.exists(path) else f'this kernel has no {path}'


@rows(
    Attack('read', ('/proc/kcore',), 'EACCES EPERM ENOENT', only='root', lacks=present('/proc/kcore')),
    Attack('open_for_writing', ('/proc/sysrq-trigger',), SETTING, only='root', lacks=present('/proc/sysrq-trigger')),
    Attack('rewrite', ('/proc/sys/kernel/core_pattern',), SETTING, only='root'),
    Attack('rewrite', ('/proc/sys/kernel/hostname',), SETTING, only='root'),
    Attack('rewrite', ('/proc/sys/kernel/panic',), SETTING, only='root'),
    Attack('rewrite', ('/proc/sys/kernel/randomize_va_space',), SETTING, only='root'),
    Attack('rewrite', ('/proc/sys/vm/overcommit_memory',), SETTING, only='root'),
    Attack('rewrite', ('/proc/sys/fs/protected_symlinks',), SETTING, only='root'),
    Attack('open_for_writing', ('/proc/sys/vm/drop_caches',), SETTING, only='root'),
    Attack('open_for_writing', ('/proc/irq/default_smp_affinity',), SETTING + ' ENOENT', only='root'),
    Attack('read', ('/proc/kmsg',), 'EACCES EPERM ENOENT', only='root', before=log_something),
    Attack('read', ('/dev/kmsg',), 'EACCES EPERM ENOENT', only='root'),
    Attack('read', ('/proc/timer_list',), 'EACCES EPERM ENOENT', SPACES, only='root', why='proc',
           lacks=present('/proc/timer_list')),
    Attack('read', ('/proc/keys',), 'EACCES EPERM ENOENT', SPACES, why='proc'),
    Attack('open_for_writing', ('/sys/kernel/mm/ksm/run',), SETTING + ' ENOENT', only='root',
           lacks=present('/sys/kernel/mm/ksm/run')),
    Attack('read', ('/sys/kernel/notes',), 'EACCES EPERM ENOENT', lacks=present('/sys/kernel/notes')),
    Attack('list', ('/sys/firmware',), 'EACCES EPERM ENOENT', lacks=present('/sys/firmware')),
    Attack('list', ('/sys/class/net',), 'EACCES EPERM ENOENT', lacks=present('/sys/class/net')),
    Attack('read', ('/dev/loop0',), 'EACCES EPERM ENOENT', only='root', lacks=present('/dev/loop0'), title='loop device'),
    Attack('open_for_writing', ('/dev/ttyS0',), 'EACCES EPERM ENOENT', only='root', lacks=present('/dev/ttyS0')),
    Attack('open_for_writing', ('/dev/fuse',), 'EACCES EPERM ENOENT', only='root', lacks=present('/dev/fuse')),
    Attack('open_for_writing', ('/dev/loop-control',), 'EACCES EPERM ENOENT', only='root',
           lacks=present('/dev/loop-control')),
)
def test_the_kernel_is_closed(stages, attack, level):
    if attack.lacks:
        pytest.skip(attack.lacks)
    hold(stages, attack, level)


def cgroup_root():
    """Where the v2 tree is: its own mount, or beside the v1 controllers."""
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


GROUP = cgroup_root()


@rows(
    Attack('mkdir', (f'{GROUP}/ringwall-attack',), 'EACCES EROFS EPERM ENOENT', only='root', before=remove_group,
           effect=lambda stage: os.path.exists(f'{GROUP}/ringwall-attack')),
    Attack('open_for_writing', (f'{GROUP}/cgroup.procs',), 'EACCES EROFS EPERM ENOENT', only='root'),
    Attack('open_for_writing', (f'{own_cgroup()}/cgroup.procs',), 'EACCES EROFS EPERM ENOENT', only='root',
           title='move to its own cgroup of the host'),
    Attack('clone3_into_cgroup', (GROUP,), 'EACCES EPERM ENOSYS ENOENT', only='root'),
    Attack('mount_cgroup', (), 'EPERM ENOSYS'),
)
def test_cgroups_are_closed(stages, attack, level):
    hold(stages, attack, level)
