/*
 * Limits: how much a box may burn.
 *
 * What it is for: memory and process counts are cgroup v2's. A cgroup can be had in two ways: the one we are in is
 * ours to divide (delegation), or a systemd manager makes a scope for us. Without either, RLIMIT_NPROC in a user
 * namespace still counts processes. This file asks which of these work.
 *
 * How it works: our own cgroup is found in /proc. A child cgroup is made in it, given limits, and a process is put
 * into it that must fail to fork past them: limits that can be written but hold nobody must not count as working.
 * Everything is undone in reverse.
 *
 * What it trusts: /proc. $XDG_RUNTIME_DIR is the user's own; it is only connected to.
 *
 * Nothing stays behind: the child that makes cgroups does not die with its parent but finishes and undoes by itself, in
 * a moment, and the parent undoes once more; so killing either of them leaves nothing.
 *
 * Needs of the kernel: cgroup v2 with the memory and pids controllers; CLONE_INTO_CGROUP 5.7; per-namespace process
 * counts 5.14.
 */
#include "linux/probes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "linux/ask.h"
#include "linux/kernel_abi.h"
#include "linux/spaces.h"

enum { PROC_CAP = 4 * 1024 * 1024 }; /* a machine with very many mounts */

/* Undoes mountinfo's \040 in place. */
static void unescape(char *text)
{
        char *to = text;
        for (const char *from = text; *from; to++) {
                if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] && from[3]) {
                        *to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
                        from += 4;
                } else {
                        *to = *from++;
                }
        }
        *to = '\0';
}

/* One line of mountinfo: id parent device root point options… - type …. True for a cgroup2. */
static bool parse_mount(const char *line, size_t length, char *root, char *point, size_t size)
{
        char copy[2 * PATH_MAX];
        if (length >= sizeof copy)
                return false;
        memcpy(copy, line, length);
        copy[length] = '\0';
        const char *type = strstr(copy, " - ");
        if (!type || !text_starts(type, " - cgroup2 "))
                return false;
        char *rest = copy, *fields[5];
        for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
                fields[i] = strsep(&rest, " ");
                if (!fields[i])
                        return false;
        }
        unescape(fields[3]);
        unescape(fields[4]);
        int a = snprintf(root, size, "%s", fields[3]);
        int b = snprintf(point, size, "%s", fields[4]);
        return a >= 0 && b >= 0 && (size_t)a < size && (size_t)b < size;
}

/* What is left of path below root: a container may see only a part of the tree. NULL when it is elsewhere. */
static const char *below(const char *path, const char *root)
{
        if (strcmp(root, "/") == 0)
                return path;
        size_t length = strlen(root);
        if (!text_starts(path, root) || (path[length] && path[length] != '/'))
                return NULL;
        return path + length;
}

int limits_find_cgroup(const char *mountinfo, const char *cgroup, char *ret_path, size_t size)
{
        const char *own = text_starts(cgroup, "0::") ? cgroup : strstr(cgroup, "\n0::");
        if (!own)
                return -ENOENT;
        own += *own == '\n' ? 4 : 3;
        char path[PATH_MAX];
        int n = snprintf(path, sizeof path, "%.*s", (int)strcspn(own, "\n"), own);
        if (n < 0 || (size_t)n >= sizeof path)
                return -ENAMETOOLONG;
        for (const char *line = mountinfo; *line;) {
                char root[PATH_MAX], point[PATH_MAX];
                size_t length = strcspn(line, "\n");
                if (parse_mount(line, length, root, point, sizeof root)) {
                        const char *rest = below(path, root);
                        if (rest && !strstr(path, "/..")) { /* "/.." is a cgroup outside our cgroup namespace */
                                n = snprintf(ret_path, size, "%s%s", point, strcmp(rest, "/") == 0 ? "" : rest);
                                return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
                        }
                }
                line += length + (line[length] == '\n');
        }
        return -ENOENT;
}

static int open_own_cgroup(char *path, size_t size, struct answer *a)
{
        CLEANUP_FREE char *mountinfo = NULL;
        CLEANUP_FREE char *cgroup = NULL;
        size_t length;
        int r = fd_read_file("/proc/self/mountinfo", PROC_CAP, &mountinfo, &length, NULL);
        if (r == 0)
                r = fd_read_file("/proc/self/cgroup", PROC_CAP, &cgroup, &length, NULL);
        if (r != 0)
                return ask_failed_with(a, -r, "read /proc");
        r = limits_find_cgroup(mountinfo, cgroup, path, size);
        if (r < 0)
                return ask_failed_with(a, -r, "find a cgroup2 mount with our cgroup");
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 ? ask_failed(a, "open our cgroup") : fd;
}

static int read_at(int directory, const char *name, char *text, size_t size)
{
        CLEANUP_FD int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
        if (n < 0)
                return -errno;
        text[n] = '\0';
        text[strcspn(text, "\n")] = '\0';
        return 0;
}

static int write_at(int directory, const char *name, const char *text)
{
        CLEANUP_FD int fd = openat(directory, name, O_WRONLY | O_CLOEXEC);
        return fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
}

static bool has_word(const char *words, const char *word)
{
        size_t length = strlen(word);
        for (const char *at = words; (at = strstr(at, word)); at += length)
                if ((at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
                        return true;
        return false;
}

/*
 * The controllers that the plan's limits stand on. Memory comes first: it is refused with EBUSY where processes live,
 * while the others would turn our cgroup into one whose children can hold threads alone.
 */
static const struct limit {
        const char *controller, *file, *value;
} limits[] = {
        { "memory", "memory.max", "67108864" },
        { "pids", "pids.max", "1" }, /* room for the process that is put in, none for its child */
        { "cpu", "cpu.max", "50000 100000" },
};

static int ask_cgroup2(unsigned long unused, struct answer *a)
{
        (void)unused;
        char path[PATH_MAX], controllers[256];
        CLEANUP_FD int own = open_own_cgroup(path, sizeof path, a);
        if (own < 0)
                return own;
        int r = read_at(own, "cgroup.controllers", controllers, sizeof controllers);
        if (r < 0)
                return ask_failed_with(a, -r, "read cgroup.controllers");
        char lacking[64] = "";
        size_t used = 0;
        for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
                if (!has_word(controllers, limits[i].controller))
                        used += (size_t)snprintf(lacking + used, sizeof lacking - used, " %s", limits[i].controller);
        if (used) {
                ask_say(a, "%.90s is without%s", path, lacking);
                return ANSWER_PARTLY;
        }
        ask_say(a, "%.90s has %.70s", path, controllers);
        return 0;
}

/*
 * What is tried in our cgroup. A cgroup that is not the root cannot hold processes and limit its children too, so the
 * processes of this program step aside into a child of it, as a box's launcher will.
 */
struct attempt {
        int own;                  /* our cgroup's directory */
        pid_t doctor;             /* the process that asks; the trying is done by a child of it */
        char enabled[256];        /* cgroup.subtree_control as it was found */
        char made[64], aside[64]; /* the cgroups that are made in it */
};

static int begin_attempt(struct attempt *t, struct answer *a)
{
        char path[PATH_MAX];
        *t = (struct attempt){ .own = open_own_cgroup(path, sizeof path, a), .doctor = getpid() };
        if (t->own < 0)
                return t->own;
        (void)snprintf(t->made, sizeof t->made, "ringwall-doctor.%d", (int)t->doctor);
        (void)snprintf(t->aside, sizeof t->aside, "ringwall-doctor.%d.aside", (int)t->doctor);
        int r = read_at(t->own, "cgroup.subtree_control", t->enabled, sizeof t->enabled);
        return r < 0 ? ask_failed_with(a, -r, "read cgroup.subtree_control") : 0;
}

/* The doctor and the caller go into a cgroup of ours. */
static int move_both(const struct attempt *t, const char *cgroup)
{
        char path[96], pid[16];
        (void)snprintf(path, sizeof path, "%s/cgroup.procs", cgroup);
        (void)snprintf(pid, sizeof pid, "%d", (int)t->doctor);
        int r = write_at(t->own, path, pid);
        int self = write_at(t->own, path, "0");
        return self < 0 ? self : r;
}

/* Puts everything back. Both the child that tries and its parent do this, so that either may be killed. */
static void undo_attempt(const struct attempt *t)
{
        (void)unlinkat(t->own, t->made, AT_REMOVEDIR);
        for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
                char word[32];
                (void)snprintf(word, sizeof word, "-%s", limits[i].controller);
                if (!has_word(t->enabled, limits[i].controller))
                        (void)write_at(t->own, "cgroup.subtree_control", word);
        }
        if (faccessat(t->own, t->aside, F_OK, 0) < 0)
                return;
        (void)move_both(t, ".");
        (void)unlinkat(t->own, t->aside, AT_REMOVEDIR);
}

static int enable_controllers(const struct attempt *t)
{
        for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
                char word[32];
                (void)snprintf(word, sizeof word, "+%s", limits[i].controller);
                int r = write_at(t->own, "cgroup.subtree_control", word);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int step_aside(const struct attempt *t)
{
        if (mkdirat(t->own, t->aside, 0700) < 0)
                return -errno;
        return move_both(t, t->aside);
}

static int leave_no_room(void *unused)
{
        (void)unused;
        return 0;
}

/* Runs in a fork: goes into the cgroup, where pids.max leaves no room for a child. */
static int fill_cgroup(void *context)
{
        int r = write_at(*(int *)context, "cgroup.procs", "0");
        if (r < 0)
                return -r;
        return ask_in_fork(leave_no_room, NULL) == -EAGAIN ? 0 : EPROTO;
}

static int try_limits(const struct attempt *t, struct answer *a)
{
        CLEANUP_FD int made = openat(t->own, t->made, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (made < 0)
                return ask_failed(a, "open the new cgroup");
        for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
                int r = write_at(made, limits[i].file, limits[i].value);
                if (r < 0)
                        return ask_failed_with(a, -r, "write its limits");
        }
        int r = ask_in_fork(fill_cgroup, &made);
        return r < 0 ? ask_failed_with(a, -r, "hold a process to them") : 0;
}

static int try_cgroup(const struct attempt *t, struct answer *a)
{
        if (mkdirat(t->own, t->made, 0700) < 0)
                return ask_failed(a, "make a cgroup in ours");
        int r = enable_controllers(t);
        if (r == -EBUSY) {
                r = step_aside(t);
                if (r == 0)
                        r = enable_controllers(t);
        }
        if (r < 0)
                (void)ask_failed_with(a, -r, "enable controllers");
        else if (try_limits(t, a) == 0)
                return 0;
        /* A cgroup can be had, but it limits nothing. */
        if (a->error == EBUSY || a->error == EOPNOTSUPP)
                ask_say(a, "made one, but it cannot be limited: other processes live in ours");
        else if (a->error == ENOENT || a->error == EINVAL)
                ask_say(a, "made one, but it cannot be limited: no controllers");
        else
                ask_say(a, "made one, but cannot %s: %s", a->stage, strerrordesc_np(a->error));
        return ANSWER_PARTLY;
}

static int ask_delegation(unsigned long attempt, struct answer *a)
{
        const struct attempt *t = (const struct attempt *)attempt;
        (void)prctl(PR_SET_PDEATHSIG, 0); /* from here on: finish and undo, whatever becomes of the parent */
        int r = try_cgroup(t, a);
        undo_attempt(t);
        if (r == 0)
                ask_say(a, "made one, limited it, and it held");
        return r;
}

static void probe_delegation(struct probe_report *report)
{
        struct attempt t;
        struct answer answer = { 0 };
        enum feature_state state = FEATURE_NO;
        if (begin_attempt(&t, &answer) == 0) {
                state = ask(ask_delegation, (unsigned long)&t, &answer);
                undo_attempt(&t);
        }
        fd_close(&t.own);
        ask_enter(report, FEATURE_DELEGATION, state, &answer);
}

static pid_t clone_into(int cgroup)
{
        struct clone_args args = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (unsigned int)cgroup };
        return (pid_t)syscall(SYS_clone3, &args, sizeof args);
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

static int connect_to(const char *path)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        size_t length = strlen(path);
        if (length >= sizeof address.sun_path)
                return -ENAMETOOLONG;
        memcpy(address.sun_path, path, length + 1);
        CLEANUP_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        return connect(fd, (const struct sockaddr *)&address, sizeof address) < 0 ? -errno : 0;
}

/* Root asks the system's manager, everybody else their own. */
static int ask_manager(unsigned long unused, struct answer *a)
{
        (void)unused;
        char directory[128];
        const char *runtime = getenv("XDG_RUNTIME_DIR");
        if (geteuid() == 0)
                (void)snprintf(directory, sizeof directory, "/run");
        else if (runtime && runtime[0] == '/')
                (void)snprintf(directory, sizeof directory, "%s", runtime);
        else
                (void)snprintf(directory, sizeof directory, "/run/user/%u", geteuid());
        char path[192];
        (void)snprintf(path, sizeof path, "%s/systemd/private", directory);
        int r = connect_to(path);
        if (r < 0) {
                (void)ask_failed_with(a, -r, "connect");
                ask_say(a, "%s: %s", path, strerrordesc_np(-r));
                return r;
        }
        ask_say(a, "%s answers", path);
        return 0;
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
                { FEATURE_MANAGER, ask_manager, 0 },
                { FEATURE_NPROC, ask_nproc, 0 },
        };
        ask_all(report, questions, ARRAY_SIZE(questions));
        probe_delegation(report);
}
