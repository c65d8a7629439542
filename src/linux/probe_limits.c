/*
 * Probes limits on memory, processor time and the number of processes.
 *
 * What it is for: cgroup v2 enforces these limits. ringwall gets a cgroup in one of two ways (cgroup.c): it makes one
 * where a part of the tree is delegated to this user, or asks a systemd manager for a scope. Without a cgroup,
 * RLIMIT_NPROC in a user namespace still limits processes. This file asks which of these work.
 *
 * How it works: makes a cgroup with the same code as for a box, and clones a process into it that must fail to fork
 * past its limit: a limit that can be written but is not enforced must not count as working.
 *
 * What it trusts: /proc, and the systemd manager.
 *
 * Nothing is left behind, whichever process is killed: cgroup.c has a janitor process that removes the cgroup.
 *
 * Needs of the kernel: what cgroup.c needs; per-namespace process counts 5.14.
 */
#include "linux/probes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "linux/probe_child.h"
#include "linux/cgroup.h"
#include "linux/cgroup_files.h"
#include "linux/kernel_abi.h"
#include "linux/probe_namespaces.h"

static int open_own_cgroup(char *path, size_t size, struct probe_answer *a)
{
        size_t top;
        int r = cgroup_path_of_self(path, size, &top);
        if (r < 0)
                return probe_fail_with(a, -r, "find our cgroup in a cgroup2 mount");
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 ? probe_fail(a, "open our cgroup") : fd;
}

enum { DIRECTLY, BY_SCOPE }; /* how to get a cgroup */

static const char *const controllers_needed[] = { "memory", "pids", "cpu" };

static int ask_cgroup2(unsigned long unused, struct probe_answer *a)
{
        (void)unused;
        char path[PATH_MAX], controllers[256];
        CLEANUP_FD int own = open_own_cgroup(path, sizeof path, a);
        if (own < 0)
                return own;
        int r = cgroup_read_line(own, "cgroup.controllers", controllers, sizeof controllers);
        if (r < 0)
                return probe_fail_with(a, -r, "read cgroup.controllers");
        char missing[64] = "";
        size_t used = 0;
        for (size_t i = 0; i < ARRAY_SIZE(controllers_needed); i++)
                if (!cgroup_has_controller(controllers, controllers_needed[i]))
                        used += (size_t)snprintf(missing + used, sizeof missing - used, " %s", controllers_needed[i]);
        if (used) {
                probe_describe(a, "%.90s lacks%s", path, missing);
                return PROBE_PARTIAL;
        }
        probe_describe(a, "%.90s has %.70s", path, controllers);
        return 0;
}

static pid_t clone_into(int cgroup)
{
        struct clone_args args = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (unsigned int)cgroup };
        return (pid_t)syscall(SYS_clone3, &args, sizeof args);
}

static int do_nothing(void *unused)
{
        (void)unused;
        return 0;
}

static int expect_fork_to_fail(void *unused)
{
        (void)unused;
        return probe_in_grandchild(do_nothing, NULL) == -EAGAIN ? 0 : EPROTO;
}

/* The limit is two processes: the one that is cloned into the cgroup can fork once, but its child cannot. */
static int exceed_process_limit(const struct cgroup *c)
{
        pid_t parent = getpid(), pid = clone_into(c->directory);
        if (pid == 0) {
                probe_die_with_parent(parent);
                _exit(-probe_in_grandchild(expect_fork_to_fail, NULL));
        }
        return pid < 0 ? -errno : probe_wait_child(pid);
}

/* Makes a cgroup as a launch does, sets limits, and checks that the kernel enforces them. */
static int ask_limits(unsigned long way, struct probe_answer *a)
{
        static const struct cgroup_limits limits = {
                .memory = 64 << 20, .cpu = 500, .processes = 1, .own_processes = 1
        };
        struct cgroup c = CGROUP_NONE;
        struct error e = { 0 };
        int r = way == BY_SCOPE ? cgroup_create_in_scope(&limits, &c, &e) : cgroup_create_direct(&limits, &c, &e);
        if (r < 0) {
                (void)probe_fail_with(a, -r, "make a cgroup");
                probe_describe(a, "%.170s", e.text);
        } else if ((r = exceed_process_limit(&c)) < 0) {
                (void)probe_fail_with(a, -r, "verify that the limit is enforced");
        } else {
                probe_describe(a, "made %s, and its limits are enforced", way == BY_SCOPE ? "a scope" : "one");
        }
        cgroup_remove(&c);
        return r;
}

static int ask_into_cgroup(unsigned long unused, struct probe_answer *a)
{
        (void)unused;
        if (clone_into(INT_MAX) >= 0 || errno != EBADF) /* a kernel that knows the flag checks the descriptor */
                return probe_fail(a, "use clone3 with CLONE_INTO_CGROUP");
        char path[PATH_MAX];
        CLEANUP_FD int own = open_own_cgroup(path, sizeof path, a);
        if (own < 0) {
                probe_describe(a, "the kernel supports it, but there is no cgroup to try it in");
                return PROBE_PARTIAL;
        }
        pid_t pid = clone_into(own);
        if (pid == 0)
                _exit(0);
        if (pid < 0) {
                (void)probe_fail(a, "clone into our cgroup");
                probe_describe(a, "the kernel supports it, but this user may not use its own cgroup");
                return PROBE_PARTIAL;
        }
        int r = probe_wait_child(pid);
        return r < 0 ? probe_fail_with(a, -r, "run a child in our cgroup") : 0;
}

enum { NPROC_LIMIT = 3, NPROC_TRIES = 8 };

static int ask_nproc(unsigned long unused, struct probe_answer *a)
{
        (void)unused;
        int r = probe_enter_namespaces(0, a);
        if (r < 0)
                return r;
        const struct rlimit limit = { NPROC_LIMIT, NPROC_LIMIT };
        if (setrlimit(RLIMIT_NPROC, &limit) < 0)
                return probe_fail(a, "set RLIMIT_NPROC");
        pid_t parent = getpid(), pids[NPROC_TRIES];
        int started = 0, error = 0;
        while (started < NPROC_TRIES) {
                pid_t pid = fork();
                if (pid == 0) {
                        probe_die_with_parent(parent);
                        for (;;)
                                (void)pause();
                }
                if (pid < 0) {
                        error = errno;
                        break;
                }
                pids[started++] = pid;
        }
        for (int i = 0; i < started; i++) {
                (void)kill(pids[i], SIGKILL);
                (void)probe_wait_child(pids[i]);
        }
        if (!error) {
                (void)probe_fail_with(a, EPERM, "verify that the limit is enforced");
                probe_describe(a, "this user is exempt from RLIMIT_NPROC: only a cgroup can limit processes");
                return -EPERM;
        }
        if (started == 0)
                return probe_fail_with(a, error, "start a process within the limit");
        probe_describe(a, "counts only the processes of the box");
        return 0;
}

void probe_limits(struct probe_report *report)
{
        static const struct probe_question questions[] = {
                { FEATURE_CGROUP2, ask_cgroup2, 0 },
                { FEATURE_CLONE_INTO_CGROUP, ask_into_cgroup, 0 },
                { FEATURE_CGROUP_DELEGATION, ask_limits, DIRECTLY },
                { FEATURE_SYSTEMD_SCOPE, ask_limits, BY_SCOPE },
                { FEATURE_NPROC, ask_nproc, 0 },
        };
        probe_features(report, questions, ARRAY_SIZE(questions));
}
