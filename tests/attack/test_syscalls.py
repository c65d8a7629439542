"""System calls that a box refuses: namespaces, mounts, execution, other ABIs, and risky parts of the kernel."""
from attack_host import DIED_OF_SIGSYS, NAMESPACE_LEVELS, Attack, assert_stopped, rows

NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET, NEWTIME = (
    '0x20000', '0x2000000', '0x4000000', '0x8000000', '0x10000000', '0x20000000', '0x40000000', '0x80')
REFUSED = 'EPERM ENOSYS'


def call(name, *arguments, stopped=REFUSED, **more):
    return Attack(name, arguments, stopped, **more)


@rows(
    call('unshare', NEWUSER),
    *(call('unshare', flag, only='root') for flag in (NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWPID, NEWNET, NEWTIME)),
    call('clone_user_namespace'),
    call('clone3_user_namespace', stopped='ENOSYS'),
    call('nest_user_namespaces'),
    call('rejoin_own_namespace'),
    call('join_namespace', '{victim}', 'uts', stopped='EPERM ENOSYS EACCES ENOENT', only='root'),
    call('join_namespace', '{victim}', 'mnt', stopped='EPERM ENOSYS EACCES ENOENT', only='root'),
    call('join_namespace', '{first}', 'net', stopped='EPERM ENOSYS EACCES ENOENT', only='root'),
    call('join_namespaces_by_pidfd', '{victim}', stopped='EPERM ENOSYS ESRCH', only='root'),
)
def test_namespaces_cannot_be_created_or_joined(stages, attack, level):
    assert_stopped(stages, attack, level)


@rows(
    call('mount_tmpfs'),
    call('bind_mount_proc'),
    call('mount_overlay'),
    call('unmount', 'mount-of-attack'),
    call('remount_writable', 'mount-of-attack'),
    call('mount_setattr', 'mount-of-attack'),
    call('fsopen'),
    call('fspick'),
    call('move_mount', '{other}'),
    call('chroot', '.'),
    call('chroot', '/proc/self/root'),
    call('pivot_root'),
    call('sethostname'),
    call('setdomainname'),
)
def test_mounts_the_root_and_the_host_name_cannot_be_changed(stages, attack, level):
    assert_stopped(stages, attack, level)


ADDR_NO_RANDOMIZE, READ_IMPLIES_EXEC, MMAP_PAGE_ZERO = '0x0040000', '0x0400000', '0x0100000'


@rows(
    call('io_uring'),
    call('perf_event_open', stopped='EPERM ENOSYS EACCES'),
    call('create_bpf_map', only='root'),
    call('userfaultfd'),
    call('set_personality', ADDR_NO_RANDOMIZE),
    call('set_personality', READ_IMPLIES_EXEC),
    call('set_personality', MMAP_PAGE_ZERO),
    call('kexec_load', only='root', lacks='this kernel cannot load another'),
    call('reboot', only='root'),
    call('load_module', only='root', lacks='this kernel has no modules'),
    call('load_module_file', '/proc/self/exe', only='root', lacks='this kernel has no modules'),
    call('read_kernel_log', only='root'),
    call('set_clock', only='root'),
    call('adjust_clock', only='root'),
    call('stop_accounting', only='root', lacks='this kernel has no accounting'),
    call('swapoff', '{keep}', only='root', lacks='this kernel has no swap'),
    call('ioperm', only='root', lacks='this architecture has no I/O ports'),
    call('watch_filesystem', '{work}'),
    call('setresuid', '64123', only='root', stopped='EPERM EINVAL'),
    call('setgroups', only='root', stopped='EPERM'),
    call('have_capabilities', stopped='EPERM', levels=NAMESPACE_LEVELS, why='bounding'),
    call('set_securebits', only='root', stopped='EPERM'),
    call('lack_no_new_privs', stopped='EPERM'),
)
def test_privileged_and_risky_system_calls_are_refused(stages, attack, level):
    assert_stopped(stages, attack, level)


@rows(
    call('x32', stopped=DIED_OF_SIGSYS, lacks='this machine has another architecture'),
    call('i386', stopped=DIED_OF_SIGSYS, lacks='this machine has another architecture'),
)
def test_system_calls_of_another_abi_kill_the_process(stages, attack, level):
    assert_stopped(stages, attack, level)


WITHOUT_EXEC = 'tools:\n  modules:\n    filesystem: {}\n'
WITHOUT_FORK = WITHOUT_EXEC     # a plan has both rights, to execute and to fork, or neither


@rows(*(
    call(name, '{program}', stopped='EACCES EPERM ENOSYS', policy=WITHOUT_EXEC)
    for name in ('execute', 'execute_without_fork', 'execute_memfd', 'execute_script')
))
def test_without_the_right_no_program_can_be_executed(stages, attack, level):
    assert_stopped(stages, attack, level)


@rows(
    call('fork', stopped='EPERM EACCES EAGAIN', policy=WITHOUT_FORK),
    call('vfork', stopped='EPERM EACCES EAGAIN', policy=WITHOUT_FORK),
    call('clone3', stopped='EPERM EACCES EAGAIN ENOSYS', policy=WITHOUT_FORK),
)
def test_without_the_right_no_process_can_be_forked(stages, attack, level):
    assert_stopped(stages, attack, level)
