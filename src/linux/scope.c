/*
 * A scope of a systemd manager: how an ordinary user gets a cgroup on most machines.
 *
 * How it works: the manager is asked over its own socket (no message bus is needed) for a transient scope with
 * Delegate=yes, and to move us into it. Then we step into a child of the scope's cgroup: a cgroup that divides its
 * controllers among children may have no processes itself.
 *
 * A scope begins with a process. This is not us but a scout, a child that outlives us if need be: if the first process
 * is killed while systemd is about to move it, the scope fails and its cgroup stays.
 *
 * We have to go there ourselves: an ordinary user may move or clone a process only inside a part of the tree that is
 * theirs, and a login session's cgroup is not.
 *
 * The limits themselves are not the scope's but those of the box's cgroup in it (cgroup.c), so they are written, held
 * and read in one way everywhere, and the front and its janitor are not counted.
 *
 * What it trusts: the manager, and $XDG_RUNTIME_DIR, which is the person's own.
 *
 * Nothing stays behind: systemd removes a scope, and the cgroups in it, when its last process has ended.
 *
 * libsystemd is loaded when it is needed (docs/decisions/limits.md).
 */
#include "linux/scope.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "linux/cgroup_files.h"
#include "linux/detach.h"

static const char stage[] = "limits";

enum { ANSWER_SECONDS = 10, MOVE_SECONDS = 5, MOVE_STEP_NS = 1000000 };

/* What is used of libsystemd. */
struct bus_calls {
        __typeof__(&sd_bus_new) make;
        __typeof__(&sd_bus_set_address) set_address;
        __typeof__(&sd_bus_start) start;
        __typeof__(&sd_bus_set_method_call_timeout) set_timeout;
        __typeof__(&sd_bus_call_method) call;
        __typeof__(&sd_bus_error_free) error_free;
        __typeof__(&sd_bus_flush_close_unref) done;
};

#define FIND(library, name) ((__typeof__(&(name)))dlsym((library), #name))

/* The library stays loaded: unloading it gains nothing. */
static bool load_calls(struct bus_calls *ret)
{
        void *library = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
        if (!library)
                return false;
        *ret = (struct bus_calls){
                .make = FIND(library, sd_bus_new),
                .set_address = FIND(library, sd_bus_set_address),
                .start = FIND(library, sd_bus_start),
                .set_timeout = FIND(library, sd_bus_set_method_call_timeout),
                .call = FIND(library, sd_bus_call_method),
                .error_free = FIND(library, sd_bus_error_free),
                .done = FIND(library, sd_bus_flush_close_unref),
        };
        return ret->make && ret->set_address && ret->start && ret->set_timeout && ret->call && ret->error_free &&
               ret->done;
}

int scope_find_socket(char *ret_path, size_t size)
{
        const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
        int n;
        if (geteuid() == 0)
                n = snprintf(ret_path, size, "/run/systemd/private");
        else if (runtime && runtime[0] == '/')
                n = snprintf(ret_path, size, "%s/systemd/private", runtime);
        else
                n = snprintf(ret_path, size, "/run/user/%u/systemd/private", geteuid());
        return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

int scope_escape(const char *path, char *ret, size_t size)
{
        static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/.";
        size_t used = 0;
        for (; *path; path++) {
                int n = snprintf(ret + used, size - used, strchr(plain, *path) ? "%c" : "%%%02x", (unsigned char)*path);
                used += n < 0 ? size : (size_t)n;
                if (used >= size)
                        return -ENAMETOOLONG;
        }
        ret[used] = '\0';
        return 0;
}

#define MANAGER "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"

static int connect_to_manager(const struct bus_calls *b, sd_bus **ret, struct error *e)
{
        char path[PATH_MAX], address[3 * PATH_MAX + 16] = "unix:path=";
        size_t used = strlen(address);
        int r = scope_find_socket(path, sizeof path);
        if (r == 0)
                r = scope_escape(path, address + used, sizeof address - used);
        if (r == 0)
                r = b->make(ret);
        if (r >= 0)
                r = b->set_address(*ret, address);
        if (r >= 0)
                r = b->set_timeout(*ret, ANSWER_SECONDS * UINT64_C(1000000));
        if (r >= 0)
                r = b->start(*ret);
        return r < 0 ? error_errno(e, -r, stage, "cannot speak to systemd at %.160s", path) : 0;
}

/* Waits until systemd has put a process into the scope. */
static int await_arrival(pid_t pid, const char *name)
{
        struct timespec now, end;
        (void)clock_gettime(CLOCK_MONOTONIC, &end);
        end.tv_sec += MOVE_SECONDS;
        do {
                char path[PATH_MAX];
                size_t top;
                int r = cgroup_find_of(pid, path, sizeof path, &top);
                const char *last = r == 0 ? strrchr(path, '/') : NULL;
                if (last && strcmp(last + 1, name) == 0)
                        return 0;
                (void)nanosleep(&(struct timespec){ .tv_nsec = MOVE_STEP_NS }, NULL);
                (void)clock_gettime(CLOCK_MONOTONIC, &now);
        } while (now.tv_sec < end.tv_sec);
        return -ETIMEDOUT;
}

/* A new scope with the scout in it, and then us. */
static int ask_for_scope(const struct bus_calls *b, sd_bus *bus, const char *name, pid_t scout, struct error *e)
{
        sd_bus_error why = SD_BUS_ERROR_NULL;
        int r = b->call(bus, MANAGER, "StartTransientUnit", &why, NULL, "ssa(sv)a(sa(sv))", name, "fail",
                        4, /* properties: */
                        "Description", "s", "a box of ringwall",
                        "PIDs", "au", 1, (uint32_t)scout,
                        "Delegate", "b", 1,
                        "CollectMode", "s", "inactive-or-failed",
                        0 /* further units */);
        if (r >= 0)
                r = await_arrival(scout, name);
        if (r >= 0)
                r = b->call(bus, MANAGER, "AttachProcessesToUnit", &why, NULL, "ssau", name, "", 1, (uint32_t)getpid());
        if (r < 0)
                error_errno(e, -r, stage, "systemd makes no scope%s%.160s", why.message ? ": " : "",
                            why.message ? why.message : "");
        b->error_free(&why);
        return r < 0 ? r : 0;
}

/* Runs as: the scout. It ends after the front has arrived or ended, and not before it has arrived itself. */
static _Noreturn void go_ahead(int ended, const char *name)
{
        detach("rw-scout", ended, -1);
        detach_await_end(0);
        (void)await_arrival(getpid(), name);
        _exit(0);
}

static int move_into(const struct bus_calls *b, sd_bus *bus, const char *name, struct error *e)
{
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
                return error_errno(e, errno, stage, "cannot make a socket");
        CLEANUP_FD int ended = ends[0];
        CLEANUP_FD int hold = ends[1];
        pid_t scout = fork();
        if (scout < 0)
                return error_errno(e, errno, stage, "cannot fork");
        if (scout == 0)
                go_ahead(ended, name);
        int r = ask_for_scope(b, bus, name, scout, e);
        if (r < 0)
                (void)kill(scout, SIGKILL); /* there is nowhere to go */
        fd_close(&hold);
        while (waitpid(scout, NULL, 0) < 0 && errno == EINTR)
                ;
        return r;
}

static int enter(const char *name, struct error *e)
{
        struct bus_calls b;
        char path[PATH_MAX] = "";
        sd_bus *bus = NULL;
        int r = scope_find_socket(path, sizeof path);
        if (r < 0 || access(path, F_OK) < 0)
                return error_errno(e, r < 0 ? -r : errno, stage, "no systemd manager at %.160s", path);
        if (!load_calls(&b))
                return error_set(e, ENOSYS, stage, "libsystemd.so.0 (240 or newer) is needed for a scope");
        r = connect_to_manager(&b, &bus, e);
        if (r == 0)
                r = move_into(&b, bus, name, e);
        b.done(bus);
        return r;
}

int scope_enter(struct error *e)
{
        char name[64], path[PATH_MAX];
        uint32_t number = 0;
        if (getrandom(&number, sizeof number, 0) != sizeof number)
                return error_errno(e, errno, stage, "no random numbers");
        (void)snprintf(name, sizeof name, "ringwall-%d-%08" PRIx32 ".scope", (int)getpid(), number);
        size_t top;
        int r = enter(name, e);
        if (r < 0)
                return r;
        r = cgroup_find_own(path, sizeof path, &top);
        const char *last = r == 0 ? strrchr(path, '/') : NULL;
        if (!last || strcmp(last + 1, name) != 0)
                return error_set(e, EPROTO, stage, "systemd did not move us into a scope");
        CLEANUP_FD int scope = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (scope < 0 || mkdirat(scope, "front", 0755) < 0)
                return error_errno(e, errno, stage, "cannot divide %.160s", path);
        r = cgroup_write(scope, "front/cgroup.procs", "0");
        return r < 0 ? error_errno(e, -r, stage, "cannot move inside %.160s", path) : 0;
}
