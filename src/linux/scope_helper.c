/*
 * ringwall-scope NAME PID: asks the systemd manager for a new scope and has it move the process PID there.
 *
 * A program of its own, because it needs libsystemd and ringwall itself has nothing to load (docs/decisions/static.md).
 * Started by scope_enter(), whose process PID is; what went wrong is written to standard output.
 *
 * How it works: the manager is asked over its own socket (no message bus is needed) for a transient scope with
 * Delegate=yes. A scope begins with a process. This is not PID but a scout, a child that outlives us if need be: if the
 * first process is killed while systemd is about to move it, the scope fails and its cgroup stays.
 *
 * What it trusts: the manager, and $XDG_RUNTIME_DIR, which is the person's own.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "linux/cgroup_files.h"
#include "linux/detach.h"
#include "linux/scope.h"

static const char stage[] = "limits";

enum { ANSWER_SECONDS = 10, MOVE_SECONDS = 5, MOVE_STEP_NS = 1000000 };

#define MANAGER "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"

static int connect_to_manager(sd_bus **ret, struct error *e)
{
        char path[PATH_MAX], address[3 * PATH_MAX + 16] = "unix:path=";
        size_t used = strlen(address);
        int r = scope_find_socket(path, sizeof path);
        if (r == 0)
                r = scope_escape(path, address + used, sizeof address - used);
        if (r == 0)
                r = sd_bus_new(ret);
        if (r >= 0)
                r = sd_bus_set_address(*ret, address);
        if (r >= 0)
                r = sd_bus_set_method_call_timeout(*ret, ANSWER_SECONDS * UINT64_C(1000000));
        if (r >= 0)
                r = sd_bus_start(*ret);
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

/* A new scope with the scout in it, and then the front. */
static int ask_for_scope(sd_bus *bus, const char *name, pid_t scout, pid_t front, struct error *e)
{
        sd_bus_error why = SD_BUS_ERROR_NULL;
        int r = sd_bus_call_method(bus, MANAGER, "StartTransientUnit", &why, NULL, "ssa(sv)a(sa(sv))", name, "fail",
                        4, /* properties: */
                        "Description", "s", "a box of ringwall",
                        "PIDs", "au", 1, (uint32_t)scout,
                        "Delegate", "b", 1,
                        "CollectMode", "s", "inactive-or-failed",
                        0 /* further units */);
        if (r >= 0)
                r = await_arrival(scout, name);
        if (r >= 0)
                r = sd_bus_call_method(bus, MANAGER, "AttachProcessesToUnit", &why, NULL, "ssau", name, "", 1, (uint32_t)front);
        if (r < 0)
                error_errno(e, -r, stage, "systemd makes no scope%s%.160s", why.message ? ": " : "",
                            why.message ? why.message : "");
        sd_bus_error_free(&why);
        return r < 0 ? r : 0;
}

/* Runs as: the scout. It ends after the front has arrived, or we have ended, and not before it has arrived itself. */
static _Noreturn void go_ahead(int ended, const char *name)
{
        detach("rw-scout", ended, -1);
        detach_await_end(0);
        (void)await_arrival(getpid(), name);
        _exit(0);
}

static int move_into(sd_bus *bus, const char *name, pid_t front, struct error *e)
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
        int r = ask_for_scope(bus, name, scout, front, e);
        if (r < 0)
                (void)kill(scout, SIGKILL); /* there is nowhere to go */
        fd_close(&hold);
        while (waitpid(scout, NULL, 0) < 0 && errno == EINTR)
                ;
        return r;
}

int main(int argc, char **argv)
{
        struct error e = { 0 };
        unsigned long long front = 0;
        sd_bus *bus = NULL;
        if (argc != 3 || !text_to_number(argv[2], strlen(argv[2]), &front) || front < 2 || front > INT_MAX) {
                (void)fputs("usage: ringwall-scope NAME PID", stdout);
                return EXIT_FAILURE;
        }
        int r = connect_to_manager(&bus, &e);
        if (r == 0)
                r = move_into(bus, argv[1], (pid_t)front, &e);
        sd_bus_flush_close_unref(bus);
        if (r < 0)
                (void)fputs(e.text, stdout);
        return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
