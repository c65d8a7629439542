"""System calls that build a way out: namespaces, mounts, programs, foreign ABIs, and the kernel's soft spots."""
from stage import DIED_OF_SIGSYS, SPACES, Attack, hold, rows

NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET, NEWTIME = (
    '0x20000', '0x2000000', '0x4000000', '0x8000000', '0x10000000', '0x20000000', '0x40000000', '0x80')
REFUSED = 'EPERM ENOSYS'


def call(name, *arguments, stopped=REFUSED, **more):
    return Attack(name, arguments, stopped, **more)


@rows(
    call('unshare', NEWUSER),
    *(call('unshare', flag, only='root') for flag in (NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWPID, NEWNET, NEWTIME)),
    call('clone_user'),
    call('clone3_user', stopped='ENOSYS'),
    call('nest_users'),
    call('rejoin_own_space'),
    call('join_space', '{victim}', 'uts', stopped='EPERM ENOSYS EACCES ENOENT', only='root'),
    call('join_space', '{victim}', 'mnt', stopped='EPERM ENOSYS EACCES ENOENT', only='root'),
    call('join_space', '{first}', 'net', stopped='EPERM ENOSYS EACCES ENOENT', only='root'),
    call('join_process', '{victim}', stopped='EPERM ENOSYS ESRCH', only='root'),
)
def test_no_namespace_is_made_or_joined(stages, attack, level):
    hold(stages, attack, level)


@rows(
    call('mount_tmpfs'),
    call('mount_proc'),
    call('mount_overlay'),
    call('unmount', 'mount-of-attack'),
    call('remount_writable', 'mount-of-attack'),
    call('set_mount', 'mount-of-attack'),
    call('open_filesystem'),
    call('pick_filesystem'),
    call('move_tree', '{other}'),
    call('change_root', '.'),
    call('change_root', '/proc/self/root'),
    call('pivot'),
    call('name_host'),
    call('name_domain'),
)
def test_nothing_is_mounted_or_renamed(stages, attack, level):
    hold(stages, attack, level)


ADDR_NO_RANDOMIZE, READ_IMPLIES_EXEC, MMAP_PAGE_ZERO = '0x0040000', '0x0400000', '0x0100000'


@rows(
    call('io_uring'),
    call('perf', stopped='EPERM ENOSYS EACCES'),
    call('bpf_map', only='root'),
    call('fault_handler'),
    call('set_personality', ADDR_NO_RANDOMIZE),
    call('set_personality', READ_IMPLIES_EXEC),
    call('set_personality', MMAP_PAGE_ZERO),
    call('load_kernel', only='root', lacks='this kernel cannot load another'),
    call('restart', only='root'),
    call('load_module', only='root', lacks='this kernel has no modules'),
    call('load_module_file', '/proc/self/exe', only='root', lacks='this kernel has no modules'),
    call('read_log', only='root'),
    call('set_clock', only='root'),
    call('adjust_clock', only='root'),
    call('stop_accounting', only='root', lacks='this kernel has no accounting'),
    call('swap_off', '{keep}', only='root', lacks='this kernel has no swap'),
    call('touch_port', only='root', lacks='no ports here'),
    call('watch_filesystem', '{work}'),
    call('become', '64123', only='root', stopped='EPERM EINVAL'),
    call('drop_groups', only='root', stopped='EPERM'),
    call('have_capabilities', stopped='EPERM', levels=SPACES, why='bounding'),
    call('regain_capability', only='root', stopped='EPERM'),
    call('gain_new_privileges', stopped='EPERM'),
)
def test_the_kernel_answers_no(stages, attack, level):
    hold(stages, attack, level)


@rows(
    call('x32', stopped=DIED_OF_SIGSYS, lacks='another architecture'),
    call('i386', stopped=DIED_OF_SIGSYS, lacks='another architecture'),
)
def test_foreign_calls_are_killed(stages, attack, level):
    hold(stages, attack, level)


WITHOUT_EXEC = 'tools:\n  modules:\n    filesystem: {}\n'
WITHOUT_FORK = WITHOUT_EXEC     # a module that starts programs has both rights, one that does not has neither


@rows(*(
    call(name, '{program}', stopped='EACCES EPERM ENOSYS', policy=WITHOUT_EXEC)
    for name in ('execute', 'execute_here', 'execute_memory', 'execute_script')
))
def test_without_the_right_no_program_is_started(stages, attack, level):
    hold(stages, attack, level)


@rows(
    call('fork', stopped='EPERM EACCES EAGAIN', policy=WITHOUT_FORK),
    call('vfork', stopped='EPERM EACCES EAGAIN', policy=WITHOUT_FORK),
    call('clone3', stopped='EPERM EACCES EAGAIN ENOSYS', policy=WITHOUT_FORK),
)
def test_without_the_right_no_process_is_started(stages, attack, level):
    hold(stages, attack, level)
