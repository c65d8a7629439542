/*
 * Limits: how much a box may burn.
 *
 * What it is for: memory, processor time and process counts are cgroup v2's. A cgroup can be had in two ways:
 * directly, where a part of the tree is ours, or in a scope of a systemd manager; cgroup.c does both. Without either,
 * RLIMIT_NPROC in a user namespace still counts processes. This file asks which of these work.
 *
 * How it works: a cgroup is made by the same code as a box's, and a process is born in it that must fail to fork past
 * its limit: limits that can be written but hold nobody must not count as working.
 *
 * What it trusts: /proc, and the systemd manager.
 *
 * Nothing stays behind, whoever is killed: cgroup.c has its janitor.
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
#include "linux/ask.h"
#include "linux/cgroup.h"
#include "linux/cgroup_files.h"
#include "linux/kernel_abi.h"
#include "linux/spaces.h"

static int open_own_cgroup(char *path, size_t size, struct answer *a)
{
        size_t top;
        int r = cgroup_find_own(path, size, &top);
        if (r < 0)
                return ask_failed_with(a, -r, "find a cgroup2 mount with our cgroup");
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 ? ask_failed(a, "open our cgroup") : fd;
}

enum { DIRECTLY, BY_SCOPE }; /* how to come by a cgroup */

static const char *const controllers_needed[] = { "memory", "pids", "cpu" };

static int ask_cgroup2(unsigned long unused, struct answer *a)
{
        (void)unused;
        char path[PATH_MAX], controllers[256];
        CLEANUP_FD int own = open_own_cgroup(path, sizeof path, a);
        if (own < 0)
                return own;
        int r = cgroup_read_line(own, "cgroup.controllers", controllers, sizeof controllers);
        if (r < 0)
                return ask_failed_with(a, -r, "read cgroup.controllers");
        char lacking[64] = "";
        size_t used = 0;
        for (size_t i = 0; i < ARRAY_SIZE(controllers_needed); i++)
                if (!cgroup_has_word(controllers, controllers_needed[i]))
                        used += (size_t)snprintf(lacking + used, sizeof lacking - used, " %s", controllers_needed[i]);
        if (used) {
                ask_say(a, "%.90s is without%s", path, lacking);
                return ANSWER_PARTLY;
        }
        ask_say(a, "%.90s has %.70s", path, controllers);
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

static int leave_no_room(void *unused)
{
        (void)unused;
        return ask_in_fork(do_nothing, NULL) == -EAGAIN ? 0 : EPROTO;
}

/* A process is born in the cgroup, where there is room for it and one more, but not for a third. */
static int fill_cgroup(const struct cgroup *c)
{
        pid_t parent = getpid(), pid = clone_into(c->directory);
        if (pid == 0) {
                ask_die_with_parent(parent);
                _exit(-ask_in_fork(leave_no_room, NULL));
        }
        return pid < 0 ? -errno : ask_wait(pid);
}

/*
 * Makes a cgroup as a launch does, limits it, and sees whether it holds. Should the process that does it be killed, its
 * cgroup is removed nevertheless: cgroup.c.
 */
static int ask_limits(unsigned long way, struct answer *a)
{
        static const struct cgroup_limits limits = { .memory = 64 << 20, .cpu = 500, .processes = 1, .keepers = 1 };
        struct cgroup c = CGROUP_NONE;
        struct error e = { 0 };
        int r = way == BY_SCOPE ? cgroup_make_in_scope(&limits, &c, &e) : cgroup_make_directly(&limits, &c, &e);
        if (r < 0) {
                (void)ask_failed_with(a, -r, "make a cgroup");
                ask_say(a, "%.170s", e.text);
        } else if ((r = fill_cgroup(&c)) < 0) {
                (void)ask_failed_with(a, -r, "hold a process to its limits");
        } else {
                ask_say(a, "made %s, limited it, and it held", way == BY_SCOPE ? "a scope" : "one");
        }
        cgroup_remove(&c);
        return r;
}

static int ask_into_cgroup(unsigned long unused, struct answer *a)
{
        (void)unused;
        if (clone_into(INT_MAX) >= 0 || errno != EBADF) /* a kernel that knows the flag looks at the fd */
                return ask_failed(a, "use clone3 with CLONE_INTO_CGROUP");
        char path[PATH_MAX];
        CLEANUP_FD int own = open_own_cgroup(path, sizeof path, a);
        if (own < 0) {
                ask_say(a, "the kernel can; there is no cgroup to try it in");
                return ANSWER_PARTLY;
        }
        pid_t pid = clone_into(own);
        if (pid == 0)
                _exit(0);
        if (pid < 0) {
                (void)ask_failed(a, "be born in our cgroup");
                ask_say(a, "the kernel can; our cgroup is not ours to use");
                return ANSWER_PARTLY;
        }
        int r = ask_wait(pid);
        return r < 0 ? ask_failed_with(a, -r, "run a child there") : 0;
}

enum { NPROC_LIMIT = 3, NPROC_TRIES = 8 };

static int ask_nproc(unsigned long unused, struct answer *a)
{
        (void)unused;
        int r = spaces_enter(0, a);
        if (r < 0)
                return r;
        const struct rlimit limit = { NPROC_LIMIT, NPROC_LIMIT };
        if (setrlimit(RLIMIT_NPROC, &limit) < 0)
                return ask_failed(a, "set RLIMIT_NPROC");
        pid_t parent = getpid(), pids[NPROC_TRIES];
        int started = 0, error = 0;
        while (started < NPROC_TRIES) {
                pid_t pid = fork();
                if (pid == 0) {
                        ask_die_with_parent(parent);
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
                (void)ask_wait(pids[i]);
        }
        if (!error) {
                (void)ask_failed_with(a, EPERM, "be limited");
                ask_say(a, "this user is exempt: only a cgroup counts");
                return -EPERM;
        }
        if (started == 0)
                return ask_failed_with(a, error, "start a process under the limit");
        ask_say(a, "counts the box's processes alone");
        return 0;
}

void limits_probe(struct probe_report *report)
{
        static const struct question questions[] = {
                { FEATURE_CGROUP2, ask_cgroup2, 0 },
                { FEATURE_INTO_CGROUP, ask_into_cgroup, 0 },
                { FEATURE_DELEGATION, ask_limits, DIRECTLY },
                { FEATURE_MANAGER, ask_limits, BY_SCOPE },
                { FEATURE_NPROC, ask_nproc, 0 },
        };
        ask_all(report, questions, ARRAY_SIZE(questions));
}
