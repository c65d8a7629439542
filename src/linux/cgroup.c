/*
 * A cgroup for one box.
 *
 * What it is for: limits that hold for all processes of a box together. The box's first process is cloned into its
 * cgroup, so there is no moment outside.
 *
 *   place                   a cgroup that is ours to divide; unless it is the tree's root, no process lives in it
 *   ├─ …                    we, perhaps
 *   └─ ringwall-PID-RANDOM  the box: memory.max, cpu.max, pids.max; memory.oom.group, so that it dies as a whole
 *
 * How a place is found: by trying our own cgroup, the one around it, and the tree's root. A place must have the
 * controllers and let us write. Where systemd runs it divides the tree, and takes controllers away again where it
 * thinks they are not needed; there only a cgroup that it marked as delegated will do. When nothing does, its manager
 * is asked for a scope (scope.c), and that is the place.
 *
 * Controllers that had to be enabled in a place stay enabled: to take one away would lift another box's limits.
 *
 * Nothing stays behind: before the cgroup is made, a janitor is forked. It waits for the end of a socket that the
 * front holds, so for the front's end however it comes, then kills what is left in the cgroup and removes it. Whoever
 * of the two is killed, the other removes it. The janitor is in a session of its own and keeps no descriptor but that
 * socket and the place.
 *
 * What an attacker controls: what happens inside the cgroup. Its files are out of their reach: a box has no cgroup
 * mount unless the plan grants one, and src/box/limiting.c refuses a plan that would let them be written.
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
#include "linux/detach.h"
#include "linux/scope.h"

static const char stage[] = "limits";

enum {
        CPU_PERIOD_US = 100000,    /* the kernel's default */
        PIDS_MOST = 4194304,       /* the kernel's PID_MAX_LIMIT; pids.max takes no more, and there are no more */
        REMOVE_FIRST_US = 200,     /* between two tries to remove a cgroup whose processes are still dying */
        REMOVE_LONGEST_US = 20000,
        REMOVE_TRIES = 1500,       /* half a minute: a dying process may have to wait for a disk */
};

/* --- what to write --- */

static void add(struct cgroup_setting *s, size_t *count, const char *controller, const char *file, uint64_t value)
{
        s[*count] = (struct cgroup_setting){ .controller = controller, .file = file };
        (void)snprintf(s[*count].value, sizeof s[*count].value, "%" PRIu64, value);
        ++*count;
}

size_t cgroup_settings(const struct cgroup_limits *limits, struct cgroup_setting ret[CGROUP_SETTINGS_MAX])
{
        size_t count = 0;
        if (limits->memory) {
                add(ret, &count, "memory", "memory.max", limits->memory);
                add(ret, &count, "memory", "memory.swap.max", 0);
                add(ret, &count, "memory", "memory.oom.group", 1);
        }
        if (limits->processes && limits->processes < PIDS_MOST)
                add(ret, &count, "pids", "pids.max", limits->processes + limits->keepers);
        if (limits->cpu) {
                add(ret, &count, "cpu", "cpu.max", 0);
                (void)snprintf(ret[count - 1].value, sizeof ret[count - 1].value, "%" PRIu64 " %d",
                               limits->cpu * CPU_PERIOD_US / 1000, CPU_PERIOD_US);
        }
        return count;
}

static int write_setting(int directory, const struct cgroup_setting *s)
{
        int r = cgroup_write(directory, s->file, s->value);
        /* A kernel that was built without swap has no such file, and no such need. */
        if (r == -ENOENT && strcmp(s->file, "memory.swap.max") == 0 && access("/proc/swaps", F_OK) < 0)
                return 0;
        return r;
}

/* --- the end --- */

/* Runs as: the front or its janitor, or both at once. */
static void remove_box(int place, const char *name)
{
        char kill_file[96];
        (void)snprintf(kill_file, sizeof kill_file, "%s/cgroup.kill", name);
        long delay = REMOVE_FIRST_US;
        for (int i = 0; i < REMOVE_TRIES; i++) {
                if (unlinkat(place, name, AT_REMOVEDIR) == 0 || errno != EBUSY)
                        return;
                (void)cgroup_write(place, kill_file, "1");
                (void)nanosleep(&(struct timespec){ .tv_nsec = delay * 1000 }, NULL);
                delay = delay * 2 < REMOVE_LONGEST_US ? delay * 2 : REMOVE_LONGEST_US;
        }
}

/* Runs as: a child of the front with the front's rights. */
static _Noreturn void clean_up_after(int ended, int place, const char *name)
{
        detach("rw-janitor", ended, place);
        detach_await_end(0);
        remove_box(1, name);
        _exit(0);
}

static int start_janitor(struct cgroup *c, struct error *e)
{
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
                return error_errno(e, errno, stage, "cannot make a socket");
        CLEANUP_FD int ended = ends[0];
        c->hold = ends[1];
        c->janitor = fork();
        if (c->janitor == 0)
                clean_up_after(ended, c->place, c->name);
        return c->janitor < 0 ? error_errno(e, errno, stage, "cannot fork") : 0;
}

void cgroup_remove(struct cgroup *c)
{
        fd_close(&c->directory);
        if (c->hold >= 0)
                (void)send(c->hold, "", 1, MSG_NOSIGNAL); /* a child of ours may hold it a moment longer */
        fd_close(&c->hold);
        if (c->janitor > 0)
                while (waitpid(c->janitor, NULL, 0) < 0 && errno == EINTR)
                        ;
        if (c->place >= 0 && c->name[0])
                remove_box(c->place, c->name); /* in case that somebody killed it */
        fd_close(&c->place);
        *c = CGROUP_NONE;
}

/* --- the place --- */

/* Did systemd leave this cgroup to whoever runs in it? A user manager has such a one too, and divides it. */
static bool is_delegated(int place, const char *path)
{
        static const char *const marks[] = { "user.delegate", "trusted.delegate" };
        const char *name = strrchr(path, '/');
        if (access("/run/systemd/system", F_OK) < 0)
                return true;
        for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
                char value[2] = "";
                if (fgetxattr(place, marks[i], value, sizeof value) == 1 && value[0] == '1')
                        return !name || !text_starts(name, "/user@");
        }
        return false;
}

/* The tree's own root may hold processes beside limited cgroups. Only it has no type. */
static bool may_hold_processes(int place)
{
        return faccessat(place, "cgroup.type", F_OK, 0) < 0 && errno == ENOENT;
}

static int enable(int place, const char *path, const char *controller, struct error *e)
{
        char text[256], word[32];
        int r = cgroup_read_line(place, "cgroup.controllers", text, sizeof text);
        if (r < 0)
                return error_errno(e, -r, stage, "cannot read %.160s/cgroup.controllers", path);
        if (!cgroup_has_word(text, controller))
                return error_set(e, ENODEV, stage, "%.160s has no %s controller", path, controller);
        r = cgroup_read_line(place, "cgroup.subtree_control", text, sizeof text);
        if (r == 0 && cgroup_has_word(text, controller))
                return 0;
        /* The kernel would refuse some controllers, and with the others turn this into a cgroup for threads. */
        if (r == 0 && !may_hold_processes(place) &&
            (cgroup_read_line(place, "cgroup.procs", text, sizeof text) < 0 || text[0]))
                return error_set(e, EBUSY, stage, "processes live in %.160s", path);
        (void)snprintf(word, sizeof word, "+%s", controller);
        r = r < 0 ? r : cgroup_write(place, "cgroup.subtree_control", word);
        return r < 0 ? error_errno(e, -r, stage, "cannot enable the %s controller in %.160s", controller, path) : 0;
}

static int open_place(const char *path, bool given, const struct cgroup_setting *settings, size_t count,
                      struct error *e)
{
        CLEANUP_FD int place = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (place < 0)
                return error_errno(e, errno, stage, "cannot open %.160s", path);
        /* To move a process, or to clone one into a child, takes the right to write both. */
        if (faccessat(place, ".", W_OK, AT_EACCESS) < 0 || faccessat(place, "cgroup.procs", W_OK, AT_EACCESS) < 0)
                return error_errno(e, errno, stage, "cannot divide %.160s", path);
        if (!given && !is_delegated(place, path))
                return error_set(e, EPERM, stage, "systemd divides %.160s", path);
        for (size_t i = 0; i < count; i++) {
                int r = enable(place, path, settings[i].controller, e);
                if (r < 0)
                        return r;
        }
        return TAKE_FD(place);
}

/* --- the cgroup --- */

static int make_in(const char *path, bool given, const struct cgroup_setting *settings, size_t count,
                   struct cgroup *ret, struct error *e)
{
        uint32_t number = 0;
        ret->place = open_place(path, given, settings, count, e);
        if (ret->place < 0)
                return ret->place;
        if (getrandom(&number, sizeof number, 0) != sizeof number)
                return error_errno(e, errno, stage, "no random numbers");
        (void)snprintf(ret->name, sizeof ret->name, "ringwall-%d-%08" PRIx32, (int)getpid(), number);
        int r = start_janitor(ret, e);
        if (r < 0)
                return r;
        char type[32] = "";
        if (mkdirat(ret->place, ret->name, 0755) < 0 ||
            (ret->directory = openat(ret->place, ret->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
                return error_errno(e, errno, stage, "cannot make a cgroup in %.160s", path);
        r = cgroup_read_line(ret->directory, "cgroup.type", type, sizeof type);
        if (r < 0 || strcmp(type, "domain") != 0)
                return error_set(e, EBUSY, stage, "%.160s is for threads alone", path);
        for (size_t i = 0; i < count; i++) {
                r = write_setting(ret->directory, &settings[i]);
                if (r < 0)
                        return error_errno(e, -r, stage, "cannot write %s in %.160s", settings[i].file, path);
        }
        return 0;
}

/*
 * Tries our own cgroup, the one around it, and the tree's root, in this order. The first error is told: it is about
 * what is nearest to us. `scope`: the one around ours was made for us a moment ago.
 */
static int make_near_us(bool scope, const struct cgroup_limits *limits, struct cgroup *ret, struct error *e)
{
        struct cgroup_setting settings[CGROUP_SETTINGS_MAX];
        size_t count = cgroup_settings(limits, settings), top = 0;
        char path[PATH_MAX];
        int r = cgroup_find_own(path, sizeof path, &top);
        if (r < 0)
                return error_set(e, -r, stage, "no cgroup2 mount shows our cgroup");
        const char *last = strrchr(path, '/');
        enum { OWN, AROUND, ROOT };
        const size_t lengths[] = {
                [OWN] = strlen(path),
                [AROUND] = last && (size_t)(last - path) > top ? (size_t)(last - path) : top,
                [ROOT] = top,
        };
        for (size_t i = OWN; i < ARRAY_SIZE(lengths); i++) {
                struct error why = { 0 };
                if (i != OWN && lengths[i] == lengths[i - 1])
                        continue;
                path[lengths[i]] = '\0';
                int tried = make_in(path, scope && i == AROUND, settings, count, ret, &why);
                if (tried == 0) {
                        path[top] = '\0';
                        memcpy(ret->tree, path, top + 1);
                        return 0;
                }
                cgroup_remove(ret);
                if (i == OWN && e)
                        *e = why;
                r = i == OWN ? tried : r;
        }
        return r;
}

int cgroup_make_directly(const struct cgroup_limits *limits, struct cgroup *ret, struct error *e)
{
        *ret = CGROUP_NONE;
        return make_near_us(false, limits, ret, e);
}

int cgroup_make_in_scope(const struct cgroup_limits *limits, struct cgroup *ret, struct error *e)
{
        *ret = CGROUP_NONE;
        int r = scope_enter(e);
        return r < 0 ? r : make_near_us(true, limits, ret, e);
}

int cgroup_make(const struct cgroup_limits *limits, struct cgroup *ret, struct error *e)
{
        struct error direct = { 0 }, scope = { 0 };
        int r = cgroup_make_directly(limits, ret, &direct);
        if (r == 0 || cgroup_make_in_scope(limits, ret, &scope) == 0)
                return 0;
        return error_set(e, -r, stage, "%.130s; %.130s ('ringwall doctor' says more)", direct.text, scope.text);
}

/* --- in the keeper --- */

int cgroup_settle(struct cgroup *c, struct error *e)
{
        static const char badness[] = "oom_score_adj";
        char text[16] = "";
        fd_close(&c->directory);
        fd_close(&c->place);
        fd_close(&c->hold);
        CLEANUP_FD int self = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int r = self < 0 ? -errno : cgroup_read_line(self, badness, text, sizeof text);
        /* A process that is exempt would survive the end of its box. To be less exempt is anyone's right. */
        if (r == 0 && text[0] == '-')
                r = cgroup_write(self, badness, "0");
        return r < 0 ? error_errno(e, -r, stage, "cannot write /proc/self/%s", badness) : 0;
}

/* --- what was used --- */

void cgroup_read_usage(const struct cgroup *c, struct cgroup_usage *ret)
{
        char text[1024];
        unsigned long long peak = 0;
        *ret = (struct cgroup_usage){ 0 };
        if (c->directory < 0)
                return;
        if (cgroup_read_line(c->directory, "memory.peak", text, sizeof text) == 0 &&
            text_to_number(text, strlen(text), &peak))
                ret->memory_peak = peak;
        if (cgroup_read(c->directory, "memory.events", text, sizeof text) == 0) {
                ret->own_ooms = cgroup_value(text, "oom");
                ret->oom_kills = cgroup_value(text, "oom_kill");
        }
        if (cgroup_read(c->directory, "pids.events", text, sizeof text) == 0)
                ret->forks_denied = cgroup_value(text, "max");
        if (cgroup_read(c->directory, "cpu.stat", text, sizeof text) == 0)
                ret->cpu_time = cgroup_value(text, "usage_usec");
}
