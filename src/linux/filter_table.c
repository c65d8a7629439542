/*
 * The seccomp wall's table: what happens to each system call.
 *
 * What it is for: of the kernel's nearly 400 calls a box needs fewer than 300. The rest is attack surface or a way
 * around another wall. Every call is named here once, in a group with one verdict; for a few, conditions on the
 * arguments come first. A call that is not named fails with ENOSYS, as on a kernel that lacks it, and so will every
 * future call: programs are written to cope with that, and a unit test fails when libseccomp knows a name that is in no
 * group.
 *
 * A refusal that the user wants to know about is notified: a ringwall process counts it and answers with the errno in
 * the verdict's lower half, which the kernel ignores. That process is the guard if the box has one (guard_serve.c),
 * else the socket server if it has one, else the keeper (keeper.c).
 *
 * How the verdicts are chosen: calls that programs need are allowed. Calls that would reach out of the box, or
 * configure the kernel, fail with EPERM, which points to the sandbox. Calls that programs try first but can do without
 * fail with ENOSYS or the errno that makes them fall back. Calls in the numbering of another ABI kill the process: no
 * program makes them by accident, and their numbers mean other calls.
 *
 * What it trusts: the other walls, for files (mounts, Landlock), for processes (pid namespace, Landlock's scopes), for
 * capabilities (none are left, so the kernel also refuses calls that need one). What an attacker controls: numbers and
 * arguments. A filter cannot read memory behind pointers. Paths and addresses there are left to the other walls and the
 * guard. A call whose flags are there is not allowed if the filter would have to check them (clone3).
 */
#include "linux/filter_table.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/fs.h>
#include <linux/fsverity.h>
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
#define NOTIFY(code) (SECCOMP_RET_USER_NOTIF | (code))
#define MAKE_SOCKET NOTIFY(0) /* the answer is a new socket: socket_server.c */
#define ALWAYS(action) .with = (action), .without = (action)

const uint32_t filter_default_action = FAIL(ENOSYS);

const struct filter_abi filter_abis[FILTER_ARCHES] = {
        [FILTER_X86_64] = { "x86_64", AUDIT_ARCH_X86_64, 0x40000000 /* x32 */ },
        [FILTER_AARCH64] = { "aarch64", AUDIT_ARCH_AARCH64, 0 },
};

/* --- what programs need --- */

/*
 * name_to_handle_at only returns a handle; open_by_handle_at is refused below. Some of these calls have conditions,
 * such as ioctl and mknod.
 */
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

/* Includes memory policies, which affect only the caller's pages and which NUMA-aware programs use without a check. */
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

/* A program may confine itself further. */
static const char *const restriction[] = {
        "landlock_add_rule", "landlock_create_ruleset", "landlock_restrict_self", "prctl", "seccomp", NULL,
};

/* Calls on existing sockets. `families` and `pairs`, with their conditions, decide which sockets can be made. */
static const char *const sockets[] = {
        "accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt", "listen", "recvfrom",
        "recvmmsg", "recvmsg", "sendmmsg", "sendmsg", "sendto", "setsockopt", "shutdown", NULL,
};

/* --- what depends on the plan --- */

/* Their groups' verdicts are for address families that no condition below mentions. */
static const char *const families[] = { "socket", NULL };
static const char *const pairs[] = { "socketpair", NULL };

/* Without an IPC namespace these reach every process of the same user, and no other wall stops them. */
static const char *const ipc[] = {
        "mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive", "mq_timedsend", "mq_unlink", "msgctl", "msgget",
        "msgrcv", "msgsnd", "semctl", "semget", "semop", "semtimedop", "shmat", "shmctl", "shmdt", "shmget", NULL,
};

/* Without a pid namespace these can slow down any process of the same user. */
static const char *const scheduling[] = {
        "ioprio_set", "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler", "setpriority", NULL,
};

static const char *const execs[] = { "execve", "execveat", NULL };
static const char *const forks[] = { "fork", "vfork", NULL };

/* Allowed only where a condition below says so. */
static const char *const conditional[] = { "clone", "personality", "prlimit64", NULL };

/* --- what would reach out --- */

/* Other roots, mounts and namespaces. */
static const char *const namespaces[] = {
        "chroot", "fsconfig", "fsmount", "fsopen", "fspick", "mount", "mount_setattr", "move_mount",
        "open_by_handle_at", "open_tree", "open_tree_attr", "pivot_root", "setns", "umount2", "unshare", NULL,
};

/* Memory, descriptors and pages of other processes. */
static const char *const other_processes[] = {
        "kcmp", "migrate_pages", "move_pages", "pidfd_getfd", "process_madvise", "process_mrelease",
        "process_vm_readv", "process_vm_writev", "ptrace", NULL,
};

/*
 * The machine: its clock, names, modules, keys, devices; and userfaultfd, which can stall the kernel in a page fault.
 */
static const char *const machine[] = {
        "acct", "add_key", "adjtimex", "bpf", "clock_adjtime", "clock_settime", "create_module", "delete_module",
        "fanotify_init", "fanotify_mark", "finit_module", "get_kernel_syms", "init_module", "ioperm", "iopl",
        "kexec_file_load", "kexec_load", "keyctl", "lookup_dcookie", "nfsservctl", "perf_event_open", "query_module",
        "quotactl", "quotactl_fd", "reboot", "request_key", "setdomainname", "sethostname", "settimeofday", "swapoff",
        "swapon", "syslog", "userfaultfd", "vhangup", NULL,
};

/* --- what fails as on a kernel that lacks it --- */

/*
 * clone3: its flags are in memory, so libc has to fall back to clone. io_uring: performs operations that no filter
 * sees. remap_file_pages: has bypassed hooks that mmap has. modify_ldt: as on kernels built without it. The others are
 * obsolete, or so new that no program depends on them; uprobe and uretprobe are called by the kernel's own trampolines,
 * and kernels that use them let them pass before any filter runs.
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
        { "families", FILTER_NETWORK, .with = FAIL(EAFNOSUPPORT), .without = NOTIFY(EACCES), .calls = families },
        { "pairs", ALWAYS(FAIL(EACCES)), .calls = pairs },
        { "ipc", FILTER_IPC, .with = ALLOW, .without = NOTIFY(EPERM), .calls = ipc },
        { "scheduling", FILTER_PRIORITIES, .with = ALLOW, .without = NOTIFY(EPERM), .calls = scheduling },
        { "exec", FILTER_EXEC, .with = ALLOW, .without = NOTIFY(EPERM), .calls = execs },
        { "fork", FILTER_FORK, .with = ALLOW, .without = NOTIFY(EPERM), .calls = forks },
        { "conditional", ALWAYS(NOTIFY(EPERM)), .calls = conditional },
        { "namespaces", ALWAYS(NOTIFY(EPERM)), .calls = namespaces },
        { "other_processes", ALWAYS(NOTIFY(EPERM)), .calls = other_processes },
        { "machine", ALWAYS(NOTIFY(EPERM)), .calls = machine },
        { "absent", ALWAYS(FAIL(ENOSYS)), .calls = absent },
};
const size_t filter_group_count = ARRAY_SIZE(filter_groups);

/* --- what depends on arguments --- */

#define IS(index, number) { .argument = (index), .mask = ~0U, .value = (uint32_t)(number) }
#define BITS(index, bits, number) { .argument = (index), .mask = (bits), .value = (number) }
#define HAS(index, bits) BITS(index, bits, bits)

enum {
        /* New namespaces; and CLONE_PARENT: the child would become a sibling, of a parent that does not expect it. */
        CLONE_REFUSED = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
                        CLONE_NEWNET | CLONE_PARENT,
        SOCKET_TYPE = 0xf, /* SOCK_CLOEXEC and SOCK_NONBLOCK are higher bits */
        IOCTL_NEW_USERFAULTFD = 0xaa00,
        ASK_PERSONALITY = -1,
};

/* AF_INET and AF_INET6 differ in one bit, so one test matches both. */
#define INET BITS(0, ~(uint32_t)(AF_INET ^ AF_INET6), AF_INET)
_Static_assert((AF_INET | 8) == AF_INET6 && !(AF_INET & 8), "one bit apart");

#define SET_ID(name, index)                                                                                            \
        { name, .tests = { HAS(index, S_ISUID) }, .action = FAIL(EPERM) },                                             \
        { name, .tests = { HAS(index, S_ISGID) }, .action = FAIL(EPERM) }

#define OPEN_SET_ID(name, flags, mode, creates)                                                                        \
        { name, .tests = { HAS(flags, creates), HAS(mode, S_ISUID) }, .action = FAIL(EPERM) },                         \
        { name, .tests = { HAS(flags, creates), HAS(mode, S_ISGID) }, .action = FAIL(EPERM) }

const struct filter_condition filter_conditions[] = {
        { "clone", FILTER_FORK, .tests = { BITS(0, CLONE_REFUSED, 0) }, .action = ALLOW },
        { "clone", .without = FILTER_FORK, .tests = { BITS(0, CLONE_REFUSED | CLONE_THREAD, CLONE_THREAD) },
          .action = ALLOW },

        /* Only for the calling thread itself. */
        { "ioprio_set", .without = FILTER_PRIORITIES, .tests = { IS(0, IOPRIO_WHO_PROCESS), IS(1, 0) },
          .action = ALLOW },
        { "sched_setaffinity", .without = FILTER_PRIORITIES, .tests = { IS(0, 0) }, .action = ALLOW },
        { "sched_setattr", .without = FILTER_PRIORITIES, .tests = { IS(0, 0) }, .action = ALLOW },
        { "sched_setparam", .without = FILTER_PRIORITIES, .tests = { IS(0, 0) }, .action = ALLOW },
        { "sched_setscheduler", .without = FILTER_PRIORITIES, .tests = { IS(0, 0) }, .action = ALLOW },
        { "setpriority", .without = FILTER_PRIORITIES, .tests = { IS(0, PRIO_PROCESS), IS(1, 0) }, .action = ALLOW },

        /* If several filters notify, the newest one's listener answers: a program could let its own calls continue.
           The kernel refuses a second listener while ours is open; this condition also covers the time after that. */
        { "seccomp", .tests = { HAS(1, SECCOMP_FILTER_FLAG_NEW_LISTENER) }, .action = FAIL(EBUSY) },
        { "prctl", .tests = { IS(0, PR_SET_MM) }, .action = FAIL(EPERM) }, /* it changes what /proc shows */

        /* PER_LINUX, PER_LINUX32, each also with UNAME26, and the query; never READ_IMPLIES_EXEC or
           ADDR_NO_RANDOMIZE. */
        { "personality", .tests = { IS(0, 0x0) }, .action = ALLOW },
        { "personality", .tests = { IS(0, 0x8) }, .action = ALLOW },
        { "personality", .tests = { IS(0, 0x20000) }, .action = ALLOW },
        { "personality", .tests = { IS(0, 0x20008) }, .action = ALLOW },
        { "personality", .tests = { IS(0, ASK_PERSONALITY) }, .action = ALLOW },

        /* Only on the caller itself: a CPU limit kills any process of the same user, past Landlock's scopes. */
        { "prlimit64", .tests = { IS(0, 0) }, .action = ALLOW },

        /* A lease on a read-only file blocks every process outside that opens it for writing. */
        { "fcntl", .tests = { IS(1, F_SETLEASE) }, .action = FAIL(EACCES) },

        /* Type into a terminal; paste its selection; redirect the console's output; set a line discipline; make a
           userfaultfd. */
        { "ioctl", .tests = { IS(1, TIOCSTI) }, .action = NOTIFY(EPERM) },
        { "ioctl", .tests = { IS(1, TIOCLINUX) }, .action = NOTIFY(EPERM) },
        { "ioctl", .tests = { IS(1, TIOCCONS) }, .action = NOTIFY(EPERM) },
        { "ioctl", .tests = { IS(1, TIOCSETD) }, .action = NOTIFY(EPERM) },
        { "ioctl", .tests = { IS(1, IOCTL_NEW_USERFAULTFD) }, .action = NOTIFY(EPERM) },

        /* A box must not make set-user-ID or set-group-ID programs. On a directory S_ISGID only makes new files inherit
           the group: a guard allows that. */
        OPEN_SET_ID("open", 1, 2, O_CREAT),
        OPEN_SET_ID("open", 1, 2, O_TMPFILE),
        OPEN_SET_ID("openat", 2, 3, O_CREAT),
        OPEN_SET_ID("openat", 2, 3, O_TMPFILE),
        SET_ID("creat", 1),
        SET_ID("chmod", 1),
        SET_ID("fchmod", 1),
        SET_ID("fchmodat", 2),
        SET_ID("fchmodat2", 2),
        SET_ID("mknod", 1),
        SET_ID("mknodat", 2),

        /* Devices, which include overlayfs's whiteouts. */
        { "mknod", .tests = { BITS(1, S_IFMT, S_IFCHR) }, .action = FAIL(EPERM) },
        { "mknod", .tests = { BITS(1, S_IFMT, S_IFBLK) }, .action = FAIL(EPERM) },
        { "mknodat", .tests = { BITS(2, S_IFMT, S_IFCHR) }, .action = FAIL(EPERM) },
        { "mknodat", .tests = { BITS(2, S_IFMT, S_IFBLK) }, .action = FAIL(EPERM) },

        /* The ends of a pair stay connected, except datagram sockets, which can send to any address. */
        { "socketpair", FILTER_UNIX, .tests = { IS(0, AF_UNIX) }, .action = ALLOW },
        { "socketpair", .tests = { IS(0, AF_UNIX), BITS(1, SOCKET_TYPE, SOCK_STREAM) }, .action = ALLOW },
        { "socketpair", .tests = { IS(0, AF_UNIX), BITS(1, SOCKET_TYPE, SOCK_SEQPACKET) }, .action = ALLOW },
        { "socketpair", .without = FILTER_UNIX, .tests = { IS(0, AF_UNIX) }, .action = NOTIFY(EPERM) },
        { "socket", FILTER_UNIX, .tests = { IS(0, AF_UNIX) }, .action = ALLOW },
        { "socket", .without = FILTER_UNIX, .tests = { IS(0, AF_UNIX) }, .action = NOTIFY(EPERM) },
        /* On the host's network. Many programs try another family or protocol first: they get an errno that makes them
           continue without it. Any other IPv4 socket, such as one for a DNS query, is notified. */
        { "socket", FILTER_SOCKET_SERVER, .tests = { IS(0, AF_INET), BITS(1, SOCKET_TYPE, SOCK_STREAM), IS(2, 0) },
          .action = MAKE_SOCKET },
        { "socket", FILTER_SOCKET_SERVER,
          .tests = { IS(0, AF_INET), BITS(1, SOCKET_TYPE, SOCK_STREAM), IS(2, IPPROTO_TCP) }, .action = MAKE_SOCKET },
        { "socket", FILTER_SOCKET_SERVER, .tests = { IS(0, AF_INET), BITS(1, SOCKET_TYPE, SOCK_STREAM) },
          .action = FAIL(EPROTONOSUPPORT) },
        { "socket", FILTER_SOCKET_SERVER, .tests = { IS(0, AF_INET6) }, .action = FAIL(EAFNOSUPPORT) },
        { "socket", FILTER_SOCKET_SERVER, .tests = { IS(0, AF_INET) }, .action = NOTIFY(EACCES) },
        { "socket", FILTER_SOCKET_SERVER, .tests = { IS(0, AF_NETLINK), IS(2, NETLINK_ROUTE) }, .action = ALLOW },
        { "socket", FILTER_SOCKET_SERVER, .tests = { IS(0, AF_NETLINK) }, .action = FAIL(EPROTONOSUPPORT) },
        /* A TCP socket would listen on the host's loopback. Unix sockets may listen; where they are allowed, the
           guard decides. */
        { "listen", FILTER_SOCKET_SERVER, .without = FILTER_UNIX, .tests = { BITS(0, 1U << 31, 0) },
          .action = FAIL(EACCES) },
        { "socket", FILTER_NETWORK, .tests = { INET, BITS(1, SOCKET_TYPE, SOCK_STREAM), IS(2, 0) }, .action = ALLOW },
        { "socket", FILTER_NETWORK, .tests = { INET, BITS(1, SOCKET_TYPE, SOCK_STREAM), IS(2, IPPROTO_TCP) },
          .action = ALLOW },
        { "socket", FILTER_NETWORK, .tests = { INET, BITS(1, SOCKET_TYPE, SOCK_DGRAM), IS(2, 0) }, .action = ALLOW },
        { "socket", FILTER_NETWORK, .tests = { INET, BITS(1, SOCKET_TYPE, SOCK_DGRAM), IS(2, IPPROTO_UDP) },
          .action = ALLOW },
        /* libc's getifaddrs() needs it to list the addresses. */
        { "socket", FILTER_NETWORK, .tests = { IS(0, AF_NETLINK), IS(2, NETLINK_ROUTE) }, .action = ALLOW },
        { "socket", FILTER_NETWORK, .tests = { INET, BITS(1, SOCKET_TYPE, SOCK_RAW) }, .action = FAIL(EPERM) },
        { "socket", FILTER_NETWORK, .tests = { INET }, .action = FAIL(EPROTONOSUPPORT) }, /* MPTCP, SCTP, ICMP, SMC */
        { "socket", FILTER_NETWORK, .tests = { IS(0, AF_NETLINK) }, .action = FAIL(EPROTONOSUPPORT) },

        /* Fast open connects while sending, which bypasses the rules for connect(). The errno is that of disabled
           fast open. */
        { "sendto", .tests = { HAS(3, MSG_FASTOPEN) }, .action = FAIL(EOPNOTSUPP) },
        { "sendmsg", .tests = { HAS(2, MSG_FASTOPEN) }, .action = FAIL(EOPNOTSUPP) },
        { "sendmmsg", .tests = { HAS(3, MSG_FASTOPEN) }, .action = FAIL(EOPNOTSUPP) },
        /* Another protocol on a TCP socket, such as SMC, which the rules for TCP do not see. */
        { "setsockopt", .tests = { IS(1, IPPROTO_TCP), IS(2, TCP_ULP) }, .action = FAIL(ENOPROTOOPT) },
};
const size_t filter_condition_count = ARRAY_SIZE(filter_conditions);

/* --- what the guard checks --- */

/*
 * Calls that create, move, remove or change a file by its name, and their variants by descriptor, because a read-only
 * descriptor is enough for some of them. umask is notified and then continues: the guard creates files with the umask
 * of its caller.
 */
const struct filter_guarded filter_guarded[] = {
        { "open", 0, 0 }, { "openat", 0, 0 }, { "creat", 0, 0 }, { "truncate", 0, 0 },
        { "mkdir", 0, 0 }, { "mkdirat", 0, 0 }, { "mknod", 0, 0 }, { "mknodat", 0, 0 }, { "symlink", 0, 0 },
        { "symlinkat", 0, 0 }, { "link", 0, 0 }, { "linkat", 0, 0 }, { "unlink", 0, 0 }, { "unlinkat", 0, 0 },
        { "rmdir", 0, 0 }, { "rename", 0, 0 }, { "renameat", 0, 0 }, { "renameat2", 0, 0 }, { "chmod", 0, 0 },
        { "fchmod", 0, 0 }, { "fchmodat", 0, 0 }, { "fchmodat2", 0, 0 }, { "chown", 0, 0 }, { "fchown", 0, 0 },
        { "lchown", 0, 0 }, { "fchownat", 0, 0 }, { "utime", 0, 0 }, { "utimes", 0, 0 }, { "futimesat", 0, 0 },
        { "utimensat", 0, 0 }, { "setxattr", 0, 0 }, { "lsetxattr", 0, 0 }, { "fsetxattr", 0, 0 },
        { "removexattr", 0, 0 }, { "lremovexattr", 0, 0 }, { "fremovexattr", 0, 0 }, { "umask", 0, 0 },
        { "bind", 0, 0 },
        { "connect", FILTER_GUARD_CONNECT, 0 },
        { "listen", FILTER_GUARD_NO_NAMESPACES, 0 },
        /* Their arguments are in memory; on ENOSYS programs fall back to older calls. */
        { "openat2", 0, FAIL(ENOSYS) }, { "setxattrat", 0, FAIL(ENOSYS) }, { "removexattrat", 0, FAIL(ENOSYS) },
};
const size_t filter_guarded_count = ARRAY_SIZE(filter_guarded);

enum { OPEN_CHANGES = O_ACCMODE | O_CREAT | O_TRUNC };

#define GUARD_MKNOD(name, index)                                                                                       \
        { name, .tests = { BITS(index, S_IFMT, S_IFCHR) }, .action = FILTER_PASS },                                    \
        { name, .tests = { BITS(index, S_IFMT, S_IFBLK) }, .action = FILTER_PASS },                                    \
        { name, .tests = { HAS(index, S_ISUID) }, .action = FILTER_PASS },                                             \
        { name, .tests = { HAS(index, S_ISGID) }, .action = FILTER_PASS }

/*
 * ioctl numbers of btrfs and FAT, whose headers use a name that banned.h forbids. The argument of BTRFS_CHANGE_NAME
 * calls is one page.
 */
#define BTRFS_CHANGE_NAME(number) _IOW(0x94, (number), char[4096])
#define BTRFS_SET_FLAGS _IOW(0x94, 26, uint64_t)
#define FAT_SET_ATTRIBUTES _IOW('r', 0x11, uint32_t)

/* The kernel treats SOCK_RAW as SOCK_DGRAM, so only the connected types pass. */
#define GUARD_STREAMS(name)                                                                                            \
        { name, FILTER_GUARD_CONNECT, .tests = { IS(0, AF_UNIX), BITS(1, SOCKET_TYPE, SOCK_STREAM) },                  \
          .action = FILTER_PASS },                                                                                     \
        { name, FILTER_GUARD_CONNECT, .tests = { IS(0, AF_UNIX), BITS(1, SOCKET_TYPE, SOCK_SEQPACKET) },               \
          .action = FILTER_PASS },                                                                                     \
        { name, FILTER_GUARD_CONNECT, .tests = { IS(0, AF_UNIX) }, .action = FAIL(EPERM) }

#define GUARD_SET_ID(name, flags, mode, creates)                                                                       \
        { name, .tests = { HAS(flags, creates), HAS(mode, S_ISUID) }, .action = FILTER_PASS },                         \
        { name, .tests = { HAS(flags, creates), HAS(mode, S_ISGID) }, .action = FILTER_PASS }

const struct filter_condition filter_guard_conditions[] = {
        /* An O_PATH descriptor allows neither reading nor changing, and the guard cannot pass one to its caller. A
           caller that opens it again, by its descriptor, is checked then (guard_find.c). */
        { "open", .tests = { HAS(1, O_PATH) }, .action = FILTER_PASS },
        { "openat", .tests = { HAS(2, O_PATH) }, .action = FILTER_PASS },
        { "open", .without = FILTER_GUARD_READS, .tests = { BITS(1, OPEN_CHANGES, 0) }, .action = FILTER_PASS },
        { "openat", .without = FILTER_GUARD_READS, .tests = { BITS(2, OPEN_CHANGES, 0) }, .action = FILTER_PASS },
        /* The tables above refuse these calls, with a guard or without. */
        GUARD_SET_ID("open", 1, 2, O_CREAT),
        GUARD_SET_ID("open", 1, 2, O_TMPFILE),
        GUARD_SET_ID("openat", 2, 3, O_CREAT),
        GUARD_SET_ID("openat", 2, 3, O_TMPFILE),
        { "creat", .tests = { HAS(1, S_ISUID) }, .action = FILTER_PASS },
        { "creat", .tests = { HAS(1, S_ISGID) }, .action = FILTER_PASS },
        GUARD_MKNOD("mknod", 1),
        GUARD_MKNOD("mknodat", 2),
        { "chmod", .tests = { HAS(1, S_ISUID) }, .action = FILTER_PASS },
        { "fchmod", .tests = { HAS(1, S_ISUID) }, .action = FILTER_PASS },
        { "fchmodat", .tests = { HAS(2, S_ISUID) }, .action = FILTER_PASS },
        { "fchmodat2", .tests = { HAS(2, S_ISUID) }, .action = FILTER_PASS },
        /* Datagram sockets are refused: each datagram may have its own address, which the guard would have to read and
           check. */
        GUARD_STREAMS("socket"),
        GUARD_STREAMS("socketpair"),
        /* Without CAP_SYS_PTRACE the guard cannot read a process that is not dumpable (ssh-agent). So the call does
           nothing and returns success; no other process of the box may trace it anyway. */
        { "prctl", FILTER_GUARD_NO_NAMESPACES, .tests = { IS(0, PR_SET_DUMPABLE), IS(1, 0) }, .action = FAIL(0) },
        /* The owner of an empty directory could make it case-insensitive, and rules by name would not match. */
        { "ioctl", .tests = { IS(1, FS_IOC_SETFLAGS) }, .action = FAIL(EPERM) },
        { "ioctl", .tests = { IS(1, FS_IOC_FSSETXATTR) }, .action = FAIL(EPERM) },
        /* These change a file, or create and remove names, through a read-only descriptor. */
        { "ioctl", .tests = { IS(1, FS_IOC_SETVERSION) }, .action = FAIL(EPERM) },
        { "ioctl", .tests = { IS(1, FS_IOC_ENABLE_VERITY) }, .action = FAIL(EPERM) },
        { "ioctl", .tests = { IS(1, FAT_SET_ATTRIBUTES) }, .action = FAIL(EPERM) },
        { "ioctl", .tests = { IS(1, BTRFS_CHANGE_NAME(1)) }, .action = FAIL(EPERM) },  /* SNAP_CREATE */
        { "ioctl", .tests = { IS(1, BTRFS_CHANGE_NAME(14)) }, .action = FAIL(EPERM) }, /* SUBVOL_CREATE */
        { "ioctl", .tests = { IS(1, BTRFS_CHANGE_NAME(15)) }, .action = FAIL(EPERM) }, /* SNAP_DESTROY */
        { "ioctl", .tests = { IS(1, BTRFS_CHANGE_NAME(23)) }, .action = FAIL(EPERM) }, /* SNAP_CREATE_V2 */
        { "ioctl", .tests = { IS(1, BTRFS_CHANGE_NAME(24)) }, .action = FAIL(EPERM) }, /* SUBVOL_CREATE_V2 */
        { "ioctl", .tests = { IS(1, BTRFS_CHANGE_NAME(63)) }, .action = FAIL(EPERM) }, /* SNAP_DESTROY_V2 */
        { "ioctl", .tests = { IS(1, BTRFS_SET_FLAGS) }, .action = FAIL(EPERM) },
};
const size_t filter_guard_condition_count = ARRAY_SIZE(filter_guard_conditions);

/* From 424 on all architectures have the same numbers. libseccomp 2.5.0 knows the calls up to faccessat2. */
#define BOTH(number) { (number), (number) }

const struct filter_extra_number filter_extra_numbers[] = {
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
const size_t filter_number_count = ARRAY_SIZE(filter_extra_numbers);
