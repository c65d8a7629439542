/*
 * The seccomp wall's table: what happens to each system call.
 *
 * What it is for: the kernel offers some 470 calls, and a box needs about 330 of them. The rest is attack surface or a
 * way round another wall. Every call is named here once, in a group that has one verdict; a few are decided by their
 * arguments first. A call that is not named fails with ENOSYS, as on a kernel that does not have it, and so does every
 * call that is still to be invented: programs are written to live with that, and a unit test fails when libseccomp
 * learns a name that stands in no group.
 *
 * A refusal that a person would want to know of is told: the keeper of the box is notified, counts it, and answers with
 * the errno that stands in the verdict's lower half, which the kernel leaves to us.
 *
 * How the verdicts are chosen: what programs need is allowed. What would reach out of the box, or into the kernel's own
 * matters, is EPERM, which names the sandbox as the reason. What programs can do without, and try first, is ENOSYS or
 * the errno that makes them take the other way. Calls in the numbering of another ABI kill the process: no program
 * makes them by accident, and their numbers mean other calls.
 *
 * What it trusts: the other walls, for files (mounts, Landlock), for processes (pid namespace, Landlock's scopes), for
 * capabilities (none are left, so what needs one is refused by the kernel too). What an attacker controls: numbers and
 * arguments. Memory behind pointers is never looked at; a filter cannot, and what cannot be decided is not allowed.
 */
#include "linux/filter_table.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/ioprio.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "linux/filter_install.h"

#define ALLOW SECCOMP_RET_ALLOW
#define FAIL(code) (SECCOMP_RET_ERRNO | (code))
#define TELL(code) (SECCOMP_RET_USER_NOTIF | (code))
#define GIVE TELL(0) /* the keeper answers with a socket: socket_giver.c */
#define ALWAYS(action) .with = (action), .without = (action)

const uint32_t filter_unknown = FAIL(ENOSYS);

const struct filter_abi filter_abis[FILTER_ARCHES] = {
        [FILTER_X86_64] = { "x86_64", AUDIT_ARCH_X86_64, 0x40000000 /* x32 */ },
        [FILTER_AARCH64] = { "aarch64", AUDIT_ARCH_AARCH64, 0 },
};

/* --- what programs need --- */

/* name_to_handle_at only tells a number; opening by it is another matter. ioctl and mknod have conditions. */
static const char *const files[] = {
        "access", "chdir", "chmod", "chown", "close", "close_range", "copy_file_range", "creat", "dup", "dup2", "dup3",
        "faccessat", "faccessat2", "fadvise64", "fallocate", "fchdir", "fchmod", "fchmodat", "fchmodat2", "fchown",
        "fchownat", "fcntl", "fdatasync", "fgetxattr", "flistxattr", "flock", "fremovexattr", "fsetxattr", "fstat",
        "fstatfs", "fsync", "ftruncate", "futimesat", "getcwd", "getdents", "getdents64", "getxattr", "getxattrat",
        "ioctl", "lchown", "lgetxattr", "link", "linkat", "listxattr", "listxattrat", "llistxattr", "lremovexattr",
        "lseek", "lsetxattr", "lstat", "mkdir", "mkdirat", "mknod", "mknodat", "name_to_handle_at", "newfstatat",
        "open", "openat", "openat2", "pipe", "pipe2", "pread64", "preadv", "preadv2", "pwrite64", "pwritev",
        "pwritev2", "read", "readahead", "readlink", "readlinkat", "readv", "removexattr", "removexattrat", "rename",
        "renameat", "renameat2", "rmdir", "sendfile", "setxattr", "setxattrat", "splice", "stat", "statfs", "statx",
        "symlink", "symlinkat", "sync", "sync_file_range", "syncfs", "tee", "truncate", "umask", "unlink", "unlinkat",
        "utime", "utimensat", "utimes", "vmsplice", "write", "writev", NULL,
};

static const char *const aio[] = {
        "io_cancel", "io_destroy", "io_getevents", "io_pgetevents", "io_setup", "io_submit", NULL,
};

static const char *const events[] = {
        "epoll_create", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait", "eventfd",
        "eventfd2", "inotify_add_watch", "inotify_init", "inotify_init1", "inotify_rm_watch", "poll", "ppoll",
        "pselect6", "select", "signalfd", "signalfd4", "timerfd_create", "timerfd_gettime", "timerfd_settime", NULL,
};

/* Memory policies too, which concern the caller's own pages and which numa-aware programs use without asking. */
static const char *const memory[] = {
        "brk", "get_mempolicy", "madvise", "map_shadow_stack", "mbind", "memfd_create", "mincore", "mlock", "mlock2",
        "mlockall", "mmap", "mprotect", "mremap", "mseal", "msync", "munlock", "munlockall", "munmap", "pkey_alloc",
        "pkey_free", "pkey_mprotect", "set_mempolicy", "set_mempolicy_home_node", NULL,
};

static const char *const threads[] = {
        "arch_prctl", "futex", "futex_requeue", "futex_wait", "futex_waitv", "futex_wake", "get_robust_list", "getcpu",
        "gettid", "membarrier", "rseq", "sched_get_priority_max", "sched_get_priority_min", "sched_getaffinity",
        "sched_getattr", "sched_getparam", "sched_getscheduler", "sched_rr_get_interval",
        "sched_yield", "set_robust_list", "set_tid_address",
        NULL,
};

static const char *const clocks[] = {
        "alarm", "clock_getres", "clock_gettime", "clock_nanosleep", "getitimer", "gettimeofday", "nanosleep",
        "setitimer", "time", "timer_create", "timer_delete", "timer_getoverrun", "timer_gettime", "timer_settime",
        "times", NULL,
};

static const char *const signals[] = {
        "kill", "pause", "pidfd_open", "pidfd_send_signal", "restart_syscall", "rt_sigaction", "rt_sigpending",
        "rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait", "rt_tgsigqueueinfo",
        "sigaltstack", "tgkill", "tkill", NULL,
};

static const char *const process[] = {
        "exit", "exit_group", "getpgid", "getpgrp", "getpid", "getppid", "getpriority", "getrandom", "getrlimit",
        "getrusage", "getsid", "ioprio_get", "setpgid", "setrlimit", "setsid", "sysinfo",
        "uname", "wait4", "waitid", NULL,
};

static const char *const identity[] = {
        "capget", "capset", "getegid", "geteuid", "getgid", "getgroups", "getresgid", "getresuid", "getuid", "setfsgid",
        "setfsuid", "setgid", "setgroups", "setregid", "setresgid", "setresuid", "setreuid", "setuid", NULL,
};

/* A program may shut itself in further. */
static const char *const restriction[] = {
        "landlock_add_rule", "landlock_create_ruleset", "landlock_restrict_self", "prctl", "seccomp", NULL,
};

/* On sockets that exist: which ones can be made is decided in `families`. */
static const char *const sockets[] = {
        "accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt", "listen", "recvfrom",
        "recvmmsg", "recvmsg", "sendmmsg", "sendmsg", "sendto", "setsockopt", "shutdown", NULL,
};

/* --- what depends on the plan --- */

/* A family that no condition allows. */
static const char *const families[] = { "socket", NULL };
static const char *const pairs[] = { "socketpair", NULL };

/* Without a namespace of the box's own these reach every process of the same user, and no other wall stands there. */
static const char *const ipc[] = {
        "mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive", "mq_timedsend", "mq_unlink", "msgctl", "msgget",
        "msgrcv", "msgsnd", "semctl", "semget", "semop", "semtimedop", "shmat", "shmctl", "shmdt", "shmget", NULL,
};

/* Without a pid namespace of the box's own these slow down any process of the same user. */
static const char *const scheduling[] = {
        "ioprio_set", "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler", "setpriority", NULL,
};

static const char *const execs[] = { "execve", "execveat", NULL };
static const char *const forks[] = { "fork", "vfork", NULL };

/* Allowed as a condition says, and not otherwise. */
static const char *const listed[] = { "clone", "personality", "prlimit64", NULL };

/* --- what would reach out --- */

/* Other roots, mounts and namespaces. */
static const char *const spaces[] = {
        "chroot", "fsconfig", "fsmount", "fsopen", "fspick", "mount", "mount_setattr", "move_mount",
        "open_by_handle_at", "open_tree", "open_tree_attr", "pivot_root", "setns", "umount2", "unshare", NULL,
};

/* Other processes' memory, descriptors, pages. */
static const char *const neighbours[] = {
        "kcmp", "migrate_pages", "move_pages", "pidfd_getfd", "process_madvise", "process_mrelease",
        "process_vm_readv", "process_vm_writev", "ptrace", NULL,
};

/* The machine: its clock, names, modules, keys, devices; and userfaultfd, which holds the kernel up at will. */
static const char *const machine[] = {
        "acct", "add_key", "adjtimex", "bpf", "clock_adjtime", "clock_settime", "create_module", "delete_module",
        "fanotify_init", "fanotify_mark", "finit_module", "get_kernel_syms", "init_module", "ioperm", "iopl",
        "kexec_file_load", "kexec_load", "keyctl", "lookup_dcookie", "nfsservctl", "perf_event_open", "query_module",
        "quotactl", "quotactl_fd", "reboot", "request_key", "setdomainname", "sethostname", "settimeofday", "swapoff",
        "swapon", "syslog", "userfaultfd", "vhangup", NULL,
};

/* --- what is not there --- */

/*
 * clone3: its flags lie in memory, so libc shall fall back to clone. io_uring: makes calls that no filter sees.
 * remap_file_pages: has gone past the hooks that mmap has. modify_ldt: as on kernels built without it. The others are
 * obsolete, or so new that nothing depends on them; uprobe and uretprobe are made by the kernel's own trampolines, and
 * kernels that use them let them pass before any filter is asked.
 */
static const char *const absent[] = {
        "_sysctl", "afs_syscall", "cachestat", "clone3", "epoll_ctl_old", "epoll_wait_old", "file_getattr",
        "file_setattr", "get_thread_area", "getpmsg", "io_uring_enter", "io_uring_register", "io_uring_setup",
        "listmount", "listns", "lsm_get_self_attr", "lsm_list_modules", "lsm_set_self_attr", "memfd_secret",
        "modify_ldt", "putpmsg", "remap_file_pages", "rseq_slice_yield", "security", "set_thread_area", "statmount",
        "sysfs", "tuxcall", "uprobe", "uretprobe", "uselib", "ustat", "vserver", NULL,
};

const struct filter_group filter_groups[] = {
        { "files", ALWAYS(ALLOW), .calls = files },
        { "aio", ALWAYS(ALLOW), .calls = aio },
        { "events", ALWAYS(ALLOW), .calls = events },
        { "memory", ALWAYS(ALLOW), .calls = memory },
        { "threads", ALWAYS(ALLOW), .calls = threads },
        { "clocks", ALWAYS(ALLOW), .calls = clocks },
        { "signals", ALWAYS(ALLOW), .calls = signals },
        { "process", ALWAYS(ALLOW), .calls = process },
        { "identity", ALWAYS(ALLOW), .calls = identity },
        { "restriction", ALWAYS(ALLOW), .calls = restriction },
        { "sockets", ALWAYS(ALLOW), .calls = sockets },
        { "families", FILTER_NETWORK, .with = FAIL(EAFNOSUPPORT), .without = TELL(EACCES), .calls = families },
        { "pairs", ALWAYS(FAIL(EACCES)), .calls = pairs },
        { "ipc", FILTER_IPC, .with = ALLOW, .without = TELL(EPERM), .calls = ipc },
        { "scheduling", FILTER_PIDS, .with = ALLOW, .without = TELL(EPERM), .calls = scheduling },
        { "exec", FILTER_EXEC, .with = ALLOW, .without = TELL(EPERM), .calls = execs },
        { "fork", FILTER_FORK, .with = ALLOW, .without = TELL(EPERM), .calls = forks },
        { "listed", ALWAYS(TELL(EPERM)), .calls = listed },
        { "spaces", ALWAYS(TELL(EPERM)), .calls = spaces },
        { "neighbours", ALWAYS(TELL(EPERM)), .calls = neighbours },
        { "machine", ALWAYS(TELL(EPERM)), .calls = machine },
        { "absent", ALWAYS(FAIL(ENOSYS)), .calls = absent },
};
const size_t filter_group_count = ARRAY_SIZE(filter_groups);

/* --- what depends on arguments --- */

#define IS(index, number) { .argument = (index), .mask = ~0U, .value = (uint32_t)(number) }
#define BITS(index, bits, number) { .argument = (index), .mask = (bits), .value = (number) }
#define HAS(index, bits) BITS(index, bits, bits)

enum {
        /* New namespaces; and children that become their creator's siblings, under a parent that did not ask for them. */
        CLONE_REFUSED = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
                        CLONE_NEWNET | CLONE_PARENT,
        SOCKET_TYPE = 0xf, /* SOCK_CLOEXEC and SOCK_NONBLOCK lie above */
        IOCTL_NEW_USERFAULTFD = 0xaa00,
        ASK_PERSONALITY = -1,
};

/* AF_INET and AF_INET6 differ in one bit, so that one test sees both. */
#define INET BITS(0, ~(uint32_t)(AF_INET ^ AF_INET6), AF_INET)
_Static_assert((AF_INET | 8) == AF_INET6 && !(AF_INET & 8), "one bit apart");

const struct filter_condition filter_conditions[] = {
        { "clone", FILTER_FORK, .tests = { BITS(0, CLONE_REFUSED, 0) }, .action = ALLOW },
        { "clone", .without = FILTER_FORK, .tests = { BITS(0, CLONE_REFUSED | CLONE_THREAD, CLONE_THREAD) },
          .action = ALLOW },

        /* The calling thread itself. */
        { "ioprio_set", .without = FILTER_PIDS, .tests = { IS(0, IOPRIO_WHO_PROCESS), IS(1, 0) }, .action = ALLOW },
        { "sched_setaffinity", .without = FILTER_PIDS, .tests = { IS(0, 0) }, .action = ALLOW },
        { "sched_setattr", .without = FILTER_PIDS, .tests = { IS(0, 0) }, .action = ALLOW },
        { "sched_setparam", .without = FILTER_PIDS, .tests = { IS(0, 0) }, .action = ALLOW },
        { "sched_setscheduler", .without = FILTER_PIDS, .tests = { IS(0, 0) }, .action = ALLOW },
        { "setpriority", .without = FILTER_PIDS, .tests = { IS(0, PRIO_PROCESS), IS(1, 0) }, .action = ALLOW },

        /* Of filters that notify, the newest is heard: a program could let its own calls continue. The kernel refuses a
           second listener while ours is open; this holds also when it is not. */
        { "seccomp", .tests = { HAS(1, SECCOMP_FILTER_FLAG_NEW_LISTENER) }, .action = FAIL(EBUSY) },
        { "prctl", .tests = { IS(0, PR_SET_MM) }, .action = FAIL(EPERM) }, /* what /proc says that it runs */

        /* Linux, a 32-bit name, an old version; never READ_IMPLIES_EXEC or a fixed layout. */
        { "personality", .tests = { IS(0, 0x0) }, .action = ALLOW },
        { "personality", .tests = { IS(0, 0x8) }, .action = ALLOW },
        { "personality", .tests = { IS(0, 0x20000) }, .action = ALLOW },
        { "personality", .tests = { IS(0, 0x20008) }, .action = ALLOW },
        { "personality", .tests = { IS(0, ASK_PERSONALITY) }, .action = ALLOW },

        /* Of itself only: a limit on its time kills any process of the same user, past Landlock's scopes. */
        { "prlimit64", .tests = { IS(0, 0) }, .action = ALLOW },

        /* Typing into a terminal, its selection, the console's output, line disciplines; userfaultfd's second door. */
        { "ioctl", .tests = { IS(1, TIOCSTI) }, .action = TELL(EPERM) },
        { "ioctl", .tests = { IS(1, TIOCLINUX) }, .action = TELL(EPERM) },
        { "ioctl", .tests = { IS(1, TIOCCONS) }, .action = TELL(EPERM) },
        { "ioctl", .tests = { IS(1, TIOCSETD) }, .action = TELL(EPERM) },
        { "ioctl", .tests = { IS(1, IOCTL_NEW_USERFAULTFD) }, .action = TELL(EPERM) },

        /* Devices, and with them overlayfs's whiteouts. */
        { "mknod", .tests = { BITS(1, S_IFMT, S_IFCHR) }, .action = FAIL(EPERM) },
        { "mknod", .tests = { BITS(1, S_IFMT, S_IFBLK) }, .action = FAIL(EPERM) },
        { "mknodat", .tests = { BITS(2, S_IFMT, S_IFCHR) }, .action = FAIL(EPERM) },
        { "mknodat", .tests = { BITS(2, S_IFMT, S_IFBLK) }, .action = FAIL(EPERM) },

        /* A pair is connected for good, except one of datagrams, which can be sent anywhere. */
        { "socketpair", FILTER_UNIX, .tests = { IS(0, AF_UNIX) }, .action = ALLOW },
        { "socketpair", .tests = { IS(0, AF_UNIX), BITS(1, SOCKET_TYPE, SOCK_STREAM) }, .action = ALLOW },
        { "socketpair", .tests = { IS(0, AF_UNIX), BITS(1, SOCKET_TYPE, SOCK_SEQPACKET) }, .action = ALLOW },
        { "socketpair", .without = FILTER_UNIX, .tests = { IS(0, AF_UNIX) }, .action = TELL(EPERM) },
        { "socket", FILTER_UNIX, .tests = { IS(0, AF_UNIX) }, .action = ALLOW },
        { "socket", .without = FILTER_UNIX, .tests = { IS(0, AF_UNIX) }, .action = TELL(EPERM) },
        /* On the host's network: what looks for another family or protocol as a matter of course goes on without; that it
           looks up a name, or sends packets, is told. */
        { "socket", FILTER_GIVEN, .tests = { IS(0, AF_INET), BITS(1, SOCKET_TYPE, SOCK_STREAM), IS(2, 0) }, .action = GIVE },
        { "socket", FILTER_GIVEN, .tests = { IS(0, AF_INET), BITS(1, SOCKET_TYPE, SOCK_STREAM), IS(2, IPPROTO_TCP) },
          .action = GIVE },
        { "socket", FILTER_GIVEN, .tests = { IS(0, AF_INET), BITS(1, SOCKET_TYPE, SOCK_STREAM) }, .action = FAIL(EPROTONOSUPPORT) },
        { "socket", FILTER_GIVEN, .tests = { IS(0, AF_INET6) }, .action = FAIL(EAFNOSUPPORT) },
        { "socket", FILTER_GIVEN, .tests = { IS(0, AF_INET) }, .action = TELL(EACCES) },
        { "socket", FILTER_GIVEN, .tests = { IS(0, AF_NETLINK), IS(2, NETLINK_ROUTE) }, .action = ALLOW },
        { "socket", FILTER_GIVEN, .tests = { IS(0, AF_NETLINK) }, .action = FAIL(EPROTONOSUPPORT) },
        /* It would be the host's loopback; a unix socket may, where there are such, and a filter cannot tell them apart. */
        { "listen", FILTER_GIVEN, .without = FILTER_UNIX, .tests = { BITS(0, 1U << 31, 0) }, .action = FAIL(EACCES) },
        { "socket", FILTER_NETWORK, .tests = { INET, BITS(1, SOCKET_TYPE, SOCK_STREAM), IS(2, 0) }, .action = ALLOW },
        { "socket", FILTER_NETWORK, .tests = { INET, BITS(1, SOCKET_TYPE, SOCK_STREAM), IS(2, IPPROTO_TCP) },
          .action = ALLOW },
        { "socket", FILTER_NETWORK, .tests = { INET, BITS(1, SOCKET_TYPE, SOCK_DGRAM), IS(2, 0) }, .action = ALLOW },
        { "socket", FILTER_NETWORK, .tests = { INET, BITS(1, SOCKET_TYPE, SOCK_DGRAM), IS(2, IPPROTO_UDP) },
          .action = ALLOW },
        /* Which addresses there are; libc asks in getifaddrs. */
        { "socket", FILTER_NETWORK, .tests = { IS(0, AF_NETLINK), IS(2, NETLINK_ROUTE) }, .action = ALLOW },
        { "socket", FILTER_NETWORK, .tests = { INET, BITS(1, SOCKET_TYPE, SOCK_RAW) }, .action = FAIL(EPERM) },
        { "socket", FILTER_NETWORK, .tests = { INET }, .action = FAIL(EPROTONOSUPPORT) }, /* MPTCP, SCTP, ICMP, SMC */
        { "socket", FILTER_NETWORK, .tests = { IS(0, AF_NETLINK) }, .action = FAIL(EPROTONOSUPPORT) },

        /* Connecting while sending goes past the rules for connecting. As where fast open is switched off. */
        { "sendto", .tests = { HAS(3, MSG_FASTOPEN) }, .action = FAIL(EOPNOTSUPP) },
        { "sendmsg", .tests = { HAS(2, MSG_FASTOPEN) }, .action = FAIL(EOPNOTSUPP) },
        { "sendmmsg", .tests = { HAS(3, MSG_FASTOPEN) }, .action = FAIL(EOPNOTSUPP) },
        /* Another protocol under a TCP socket, SMC among them, which the rules for TCP do not see. */
        { "setsockopt", .tests = { IS(1, IPPROTO_TCP), IS(2, TCP_ULP) }, .action = FAIL(ENOPROTOOPT) },
};
const size_t filter_condition_count = ARRAY_SIZE(filter_conditions);

/* Since 424 all architectures number new calls alike. libseccomp 2.5.0 knows them up to faccessat2. */
#define BOTH(number) { (number), (number) }

const struct filter_number filter_numbers[] = {
        { "uretprobe", { 335, -1 } },
        { "uprobe", { 336, -1 } },
        { "close_range", BOTH(436) },
        { "process_madvise", BOTH(440) },
        { "epoll_pwait2", BOTH(441) },
        { "mount_setattr", BOTH(442) },
        { "quotactl_fd", BOTH(443) },
        { "landlock_create_ruleset", BOTH(444) },
        { "landlock_add_rule", BOTH(445) },
        { "landlock_restrict_self", BOTH(446) },
        { "memfd_secret", BOTH(447) },
        { "process_mrelease", BOTH(448) },
        { "futex_waitv", BOTH(449) },
        { "set_mempolicy_home_node", BOTH(450) },
        { "cachestat", BOTH(451) },
        { "fchmodat2", BOTH(452) },
        { "map_shadow_stack", BOTH(453) },
        { "futex_wake", BOTH(454) },
        { "futex_wait", BOTH(455) },
        { "futex_requeue", BOTH(456) },
        { "statmount", BOTH(457) },
        { "listmount", BOTH(458) },
        { "lsm_get_self_attr", BOTH(459) },
        { "lsm_set_self_attr", BOTH(460) },
        { "lsm_list_modules", BOTH(461) },
        { "mseal", BOTH(462) },
        { "setxattrat", BOTH(463) },
        { "getxattrat", BOTH(464) },
        { "listxattrat", BOTH(465) },
        { "removexattrat", BOTH(466) },
        { "open_tree_attr", BOTH(467) },
        { "file_getattr", BOTH(468) },
        { "file_setattr", BOTH(469) },
        { "listns", BOTH(470) },
        { "rseq_slice_yield", BOTH(471) },
};
const size_t filter_number_count = ARRAY_SIZE(filter_numbers);
