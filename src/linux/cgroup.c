/*
 * A cgroup for one box.
 *
 * What it is for: limits on all processes of a box together. The box's first process is cloned into its cgroup, so it
 * is never outside.
 *
 *   parent                  a cgroup that is delegated to us; has no processes, unless it is the root of the tree
 *   ├─ …                    our own cgroup, perhaps
 *   └─ ringwall-PID-RANDOM  the box: memory.max, cpu.max, pids.max; memory.oom.group, so that it is killed as a whole
 *
 * How a parent is found: by trying our own cgroup, its parent, and the root of the tree. The parent must have the
 * controllers and be writable. Where systemd runs, it manages the tree and disables controllers that it considers
 * unused, so only a cgroup that it marked as delegated will do. If there is none, systemd's manager is asked for a
 * scope (systemd_scope.c), which becomes the parent.
 *
 * Controllers that had to be enabled in a parent stay enabled: disabling one would lift the limits of other boxes.
 *
 * Nothing stays behind: before the cgroup is made, the front forks a janitor. The janitor waits for EOF on a socket
 * whose other end the front keeps open until it exits, for whatever reason; then it kills the processes that are left
 * in the cgroup and removes it. If the janitor is killed, the front removes the cgroup. The janitor has its own session
 * and no descriptors but that socket and the parent.
 *
 * What an attacker controls: what happens inside the cgroup. Its files are out of reach: a box has no cgroup mount
 * unless the plan grants one, and resource_group.c refuses a plan that would make them writable.
 *
 * Needs of the kernel: cgroup v2 with the controllers in question, CLONE_INTO_CGROUP (5.7), cgroup.kill (5.14).
 */
#include "linux/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "linux/cgroup_files.h"
#include "linux/daemonize.h"
#include "linux/systemd_scope.h"

enum {
        CPU_PERIOD_US = 100000,    /* the kernel's default */
        PIDS_MAX = 4194304,        /* the kernel's PID_MAX_LIMIT, and the highest value of pids.max */
        REMOVE_WAIT_MIN_US = 200,  /* between two attempts to remove a cgroup whose processes are still exiting */
        REMOVE_WAIT_MAX_US = 20000,
        REMOVE_TRIES = 1500,       /* half a minute: an exiting process may be waiting for a disk */
};

/* --- settings --- */

static void add_entry(struct cgroup_write_entry *list, size_t *count, const char *controller, const char *file,
                      uint64_t value)
{
        list[*count] = (struct cgroup_write_entry){ .controller = controller, .file = file };
        (void)snprintf(list[*count].value, sizeof list[*count].value, "%" PRIu64, value);
        ++*count;
}

size_t cgroup_write_entries(const struct cgroup_limits *limits, struct cgroup_write_entry ret[CGROUP_WRITE_ENTRIES_MAX])
{
        size_t count = 0;
        if (limits->memory) {
                add_entry(ret, &count, "memory", "memory.max", limits->memory);
                add_entry(ret, &count, "memory", "memory.swap.max", 0);
                add_entry(ret, &count, "memory", "memory.oom.group", 1);
        }
        if (limits->processes && limits->processes < PIDS_MAX)
                add_entry(ret, &count, "pids", "pids.max", limits->processes + limits->own_processes);
        if (limits->cpu) {
                add_entry(ret, &count, "cpu", "cpu.max", 0);
                (void)snprintf(ret[count - 1].value, sizeof ret[count - 1].value, "%" PRIu64 " %d",
                               limits->cpu * CPU_PERIOD_US / 1000, CPU_PERIOD_US);
        }
        return count;
}

static int write_setting(int directory, const struct cgroup_write_entry *s)
{
        int r = cgroup_write(directory, s->file, s->value);
        /* A kernel that was built without swap has no such file and does not need it. */
        if (r == -ENOENT && strcmp(s->file, "memory.swap.max") == 0 && access("/proc/swaps", F_OK) < 0)
                return 0;
        return r;
}

/* --- removal --- */

/* Kills the processes in the cgroup and removes it. Runs as: the front or its janitor, perhaps both at once. */
static void remove_cgroup(int parent, const char *name)
{
        char kill_file[96];
        (void)snprintf(kill_file, sizeof kill_file, "%s/cgroup.kill", name);
        long delay = REMOVE_WAIT_MIN_US;
        for (int i = 0; i < REMOVE_TRIES; i++) {
                if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno != EBUSY)
                        return;
                (void)cgroup_write(parent, kill_file, "1");
                (void)nanosleep(&(struct timespec){ .tv_nsec = delay * 1000 }, NULL);
                delay = delay * 2 < REMOVE_WAIT_MAX_US ? delay * 2 : REMOVE_WAIT_MAX_US;
        }
}

/* Runs as: the janitor, a child of the front with the front's rights. */
static _Noreturn void run_janitor(int janitor_end, int parent, const char *name)
{
        daemonize_child("rw-janitor", janitor_end, parent);
        wait_for_eof(0);
        remove_cgroup(1, name);
        _exit(0);
}

static int start_janitor(struct cgroup *c, struct error *e)
{
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
                return error_errno(e, errno, "cannot make a socket");
        CLEANUP_FD int janitor_end = ends[0];
        c->lifeline = ends[1];
        c->janitor = fork();
        if (c->janitor == 0)
                run_janitor(janitor_end, c->parent, c->name);
        return c->janitor < 0 ? error_errno(e, errno, "cannot fork") : 0;
}

void cgroup_remove(struct cgroup *c)
{
        fd_close(&c->directory);
        if (c->lifeline >= 0)
                (void)send(c->lifeline, "", 1,
                           MSG_NOSIGNAL); /* ends the wait even if a child has a copy of the socket open */
        fd_close(&c->lifeline);
        if (c->janitor > 0)
                while (waitpid(c->janitor, NULL, 0) < 0 && errno == EINTR)
                        ;
        if (c->parent >= 0 && c->name[0])
                remove_cgroup(c->parent, c->name); /* in case the janitor was killed */
        fd_close(&c->parent);
        *c = CGROUP_NONE;
}

/* --- the parent --- */

/*
 * Has systemd, where it runs, delegated this cgroup to its processes? user@.service does not count: it is delegated to
 * the user's own systemd.
 */
static bool is_delegated(int parent, const char *path)
{
        static const char *const attributes[] = { "user.delegate", "trusted.delegate" };
        const char *name = strrchr(path, '/');
        if (access("/run/systemd/system", F_OK) < 0)
                return true;
        for (size_t i = 0; i < ARRAY_SIZE(attributes); i++) {
                char value[2] = "";
                if (fgetxattr(parent, attributes[i], value, sizeof value) == 1 && value[0] == '1')
                        return !name || !text_has_prefix(name, "/user@");
        }
        return false;
}

/* Only the root of the tree has no cgroup.type. It alone may have processes and limited child cgroups. */
static bool is_root_cgroup(int parent)
{
        return faccessat(parent, "cgroup.type", F_OK, 0) < 0 && errno == ENOENT;
}

static int enable_controller(int parent, const char *path, const char *controller, struct error *e)
{
        char text[256], word[32];
        int r = cgroup_read_line(parent, "cgroup.controllers", text, sizeof text);
        if (r < 0)
                return error_errno(e, -r, "cannot read %.160s/cgroup.controllers", path);
        if (!cgroup_has_controller(text, controller))
                return error_set(e, ENODEV, "%.160s has no %s controller", path, controller);
        r = cgroup_read_line(parent, "cgroup.subtree_control", text, sizeof text);
        if (r == 0 && cgroup_has_controller(text, controller))
                return 0;
        /* With processes in the parent, the kernel refuses to enable some controllers, and for others makes the parent
           a threaded cgroup. */
        if (r == 0 && !is_root_cgroup(parent) &&
            (cgroup_read_line(parent, "cgroup.procs", text, sizeof text) < 0 || text[0]))
                return error_set(e, EBUSY, "processes live in %.160s", path);
        (void)snprintf(word, sizeof word, "+%s", controller);
        r = r < 0 ? r : cgroup_write(parent, "cgroup.subtree_control", word);
        return r < 0 ? error_errno(e, -r, "cannot enable the %s controller in %.160s", controller, path) : 0;
}

static int open_parent(const char *path, bool is_scope, const struct cgroup_write_entry *settings, size_t count,
                       struct error *e)
{
        CLEANUP_FD int parent = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (parent < 0)
                return error_errno(e, errno, "cannot open %.160s", path);
        /* Moving a process, or cloning one into a child, needs write permission for both. */
        if (faccessat(parent, ".", W_OK, AT_EACCESS) < 0 || faccessat(parent, "cgroup.procs", W_OK, AT_EACCESS) < 0)
                return error_errno(e, errno, "cannot make cgroups in %.160s", path);
        if (!is_scope && !is_delegated(parent, path))
                return error_set(e, EPERM, "systemd manages %.160s and has not delegated it", path);
        for (size_t i = 0; i < count; i++) {
                int r = enable_controller(parent, path, settings[i].controller, e);
                if (r < 0)
                        return r;
        }
        return TAKE_FD(parent);
}

/* --- the cgroup --- */

static int make_below(const char *path, bool is_scope, const struct cgroup_write_entry *settings, size_t count,
                      struct cgroup *ret, struct error *e)
{
        uint32_t number = 0;
        ret->parent = open_parent(path, is_scope, settings, count, e);
        if (ret->parent < 0)
                return ret->parent;
        if (getrandom(&number, sizeof number, 0) != sizeof number)
                return error_errno(e, errno, "cannot get random bytes");
        (void)snprintf(ret->name, sizeof ret->name, "ringwall-%d-%08" PRIx32, (int)getpid(), number);
        int r = start_janitor(ret, e);
        if (r < 0)
                return r;
        char type[32] = "";
        if (mkdirat(ret->parent, ret->name, 0755) < 0 ||
            (ret->directory = openat(ret->parent, ret->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
                return error_errno(e, errno, "cannot make a cgroup in %.160s", path);
        r = cgroup_read_line(ret->directory, "cgroup.type", type, sizeof type);
        if (r < 0 || strcmp(type, "domain") != 0)
                return error_set(e, EBUSY, "%.160s is a threaded cgroup", path);
        for (size_t i = 0; i < count; i++) {
                r = write_setting(ret->directory, &settings[i]);
                if (r < 0)
                        return error_errno(e, -r, "cannot write %s in %.160s", settings[i].file, path);
        }
        return 0;
}

/*
 * Tries our own cgroup, its parent, and the root of the tree, in this order. If all fail, reports the error of our own
 * cgroup. `in_scope`: the parent of our own cgroup is a scope that was just made for us.
 */
static int make_near_own(bool in_scope, const struct cgroup_limits *limits, struct cgroup *ret, struct error *e)
{
        struct cgroup_write_entry settings[CGROUP_WRITE_ENTRIES_MAX];
        size_t count = cgroup_write_entries(limits, settings), top = 0;
        char path[PATH_MAX];
        int r = cgroup_path_of_self(path, sizeof path, &top);
        if (r < 0)
                return error_set(e, -r, "no cgroup2 mount contains our own cgroup");
        const char *last = strrchr(path, '/');
        enum { OWN, PARENT, ROOT };
        const size_t lengths[] = {
                [OWN] = strlen(path),
                [PARENT] = last && (size_t)(last - path) > top ? (size_t)(last - path) : top,
                [ROOT] = top,
        };
        for (size_t i = OWN; i < ARRAY_SIZE(lengths); i++) {
                struct error why = { 0 };
                if (i != OWN && lengths[i] == lengths[i - 1])
                        continue;
                path[lengths[i]] = '\0';
                int tried = make_below(path, in_scope && i == PARENT, settings, count, ret, &why);
                if (tried == 0)
                        return 0;
                cgroup_remove(ret);
                if (i == OWN && e)
                        *e = why;
                r = i == OWN ? tried : r;
        }
        return r;
}

int cgroup_create_direct(const struct cgroup_limits *limits, struct cgroup *ret, struct error *e)
{
        *ret = CGROUP_NONE;
        return make_near_own(false, limits, ret, e);
}

int cgroup_create_in_scope(const struct cgroup_limits *limits, struct cgroup *ret, struct error *e)
{
        *ret = CGROUP_NONE;
        int r = systemd_scope_enter(e);
        return r < 0 ? r : make_near_own(true, limits, ret, e);
}

int cgroup_create(const struct cgroup_limits *limits, struct cgroup *ret, struct error *e)
{
        struct error direct = { 0 }, scope = { 0 };
        int r = cgroup_create_direct(limits, ret, &direct);
        if (r == 0 || cgroup_create_in_scope(limits, ret, &scope) == 0)
                return 0;
        return error_set(e, -r, "%.130s; %.130s ('ringwall doctor' says more)", direct.text, scope.text);
}

/* --- in the keeper --- */

int cgroup_prepare_keeper(struct cgroup *c, bool outlives_front, struct error *e)
{
        static const char oom_file[] = "oom_score_adj";
        char text[16] = "";
        fd_close(&c->directory);
        fd_close(&c->parent);
        if (!outlives_front)
                fd_close(&c->lifeline);
        CLEANUP_FD int self = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int r = self < 0 ? -errno : cgroup_read_line(self, oom_file, text, sizeof text);
        /* A negative value would let the box's processes survive its OOM kill. Raising it needs no privilege. */
        if (r == 0 && text[0] == '-')
                r = cgroup_write(self, oom_file, "0");
        return r < 0 ? error_errno(e, -r, "cannot write /proc/self/%s", oom_file) : 0;
}

/* --- usage --- */

void cgroup_read_usage(const struct cgroup *c, struct resource_usage *ret)
{
        char text[1024];
        unsigned long long peak = 0;
        *ret = (struct resource_usage){ 0 };
        if (c->directory < 0)
                return;
        if (cgroup_read_line(c->directory, "memory.peak", text, sizeof text) == 0 &&
            text_parse_unsigned(text, strlen(text), &peak))
                ret->memory_peak = peak;
        if (cgroup_read(c->directory, "memory.events", text, sizeof text) == 0) {
                ret->own_ooms = cgroup_event_count(text, "oom");
                ret->oom_kills = cgroup_event_count(text, "oom_kill");
        }
        if (cgroup_read(c->directory, "pids.events", text, sizeof text) == 0)
                ret->forks_denied = cgroup_event_count(text, "max");
        if (cgroup_read(c->directory, "cpu.stat", text, sizeof text) == 0)
                ret->cpu_time = cgroup_event_count(text, "usage_usec");
}
