/*
 * Probes the system calls that the walls are built on.
 *
 * What it is for: openat2 resolves paths without races, a pidfd identifies a process even after its pid is reused,
 * clone3 makes a box in one step, close_range closes inherited descriptors.
 *
 * How it works: each call is made as ringwall will use it, and where it exists to refuse something, the refusal is
 * tested too.
 *
 * What it trusts: nothing; an attacker controls nothing.
 *
 * Needs of the kernel: pidfd 5.4, clone3 5.3, openat2 5.6, close_range 5.9. An outer seccomp filter may hide any of
 * them.
 */
#include "linux/probes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "linux/probe_child.h"
#include "linux/kernel_abi.h"

static int open_beneath(int directory, const char *path)
{
        struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH };
        return (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
}

static int ask_openat2(unsigned long unused, struct probe_answer *a)
{
        (void)unused;
        CLEANUP_FD int root = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (root < 0)
                return probe_fail(a, "open /proc");
        CLEANUP_FD int inside = open_beneath(root, ".");
        if (inside < 0)
                return probe_fail(a, "use openat2");
        CLEANUP_FD int outside = open_beneath(root, "..");
        if (outside >= 0 || errno != EXDEV)
                return probe_fail_with(a, EPROTO, "verify that RESOLVE_BENEATH refuses '..'");
        return 0;
}

static int kill_by_pidfd(pid_t pid, struct probe_answer *a)
{
        CLEANUP_FD int fd = (int)syscall(SYS_pidfd_open, pid, 0);
        if (fd < 0)
                return probe_fail(a, "use pidfd_open");
        if (syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) < 0)
                return probe_fail(a, "use pidfd_send_signal");
        struct pollfd p = { .fd = fd, .events = POLLIN };
        if (poll(&p, 1, PROBE_TIMEOUT_SECONDS * 1000) != 1)
                return probe_fail(a, "poll a pidfd");
        siginfo_t info;
        if (waitid(P_PIDFD, (id_t)fd, &info, WEXITED | WNOWAIT) < 0)
                return probe_fail(a, "wait for a pidfd");
        return 0;
}

static int ask_pidfd(unsigned long unused, struct probe_answer *a)
{
        (void)unused;
        pid_t parent = getpid();
        pid_t pid = fork();
        if (pid < 0)
                return probe_fail(a, "fork");
        if (pid == 0) {
                probe_die_with_parent(parent);
                for (;;)
                        (void)pause();
        }
        int r = kill_by_pidfd(pid, a);
        (void)kill(pid, SIGKILL); /* in case pidfd_send_signal failed; an unreaped child's pid is not reused */
        (void)probe_wait_child(pid);
        return r;
}

static int ask_clone3(unsigned long unused, struct probe_answer *a)
{
        (void)unused;
        int pidfd = -1;
        struct clone_args args = {
                .flags = CLONE_PIDFD,
                .pidfd = (uintptr_t)&pidfd,
                .exit_signal = SIGCHLD,
        };
        pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
        if (pid < 0)
                return probe_fail(a, "use clone3");
        if (pid == 0)
                _exit(0);
        int r = probe_wait_child(pid);
        fd_close(&pidfd);
        return r < 0 ? probe_fail_with(a, -r, "run a child of clone3") : 0;
}

static int ask_close_range(unsigned long unused, struct probe_answer *a)
{
        (void)unused;
        int fd = open("/", O_PATH | O_CLOEXEC);
        if (fd < 0)
                return probe_fail(a, "open a descriptor");
        if (syscall(SYS_close_range, fd, fd, CLOSE_RANGE_CLOEXEC) < 0)
                return probe_fail(a, "use CLOSE_RANGE_CLOEXEC");
        if (syscall(SYS_close_range, fd, fd, 0) < 0)
                return probe_fail(a, "use close_range");
        if (fcntl(fd, F_GETFD) >= 0)
                return probe_fail_with(a, EPROTO, "verify that the descriptor is closed");
        return 0;
}

void probe_syscalls(struct probe_report *report)
{
        static const struct probe_question questions[] = {
                { FEATURE_OPENAT2, ask_openat2, 0 },
                { FEATURE_PIDFD, ask_pidfd, 0 },
                { FEATURE_CLONE3, ask_clone3, 0 },
                { FEATURE_CLOSE_RANGE, ask_close_range, 0 },
        };
        probe_features(report, questions, ARRAY_SIZE(questions));
}
