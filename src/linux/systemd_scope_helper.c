/*
 * ringwall-scope NAME PID: asks the systemd manager for a new scope and to move the process PID into it.
 *
 * A separate program, because it needs libsystemd, and ringwall itself loads no libraries (docs/decisions/static.md).
 * systemd_scope_enter() starts it with its own PID; errors are written to standard output.
 *
 * How it works: it asks the manager over the manager's own socket (no message bus is needed) for a transient scope with
 * Delegate=yes. A scope needs a first process. That is not PID but the scout, a child that outlives the helper if
 * necessary: if the first process is killed while systemd is about to move it, the scope fails and its cgroup stays.
 *
 * What it trusts: the manager, and $XDG_RUNTIME_DIR, which belongs to the person.
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
#include "linux/daemonize.h"
#include "linux/systemd_scope.h"

enum { CALL_SECONDS = 10, MOVE_SECONDS = 5, MOVE_STEP_NS = 1000000 };

#define MANAGER "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"

static int connect_to_manager(sd_bus **ret, struct error *e)
{
        char path[PATH_MAX], address[3 * PATH_MAX + 16] = "unix:path=";
        size_t used = strlen(address);
        int r = systemd_find_socket(path, sizeof path);
        if (r == 0)
                r = dbus_escape_path(path, address + used, sizeof address - used);
        if (r == 0)
                r = sd_bus_new(ret);
        if (r >= 0)
                r = sd_bus_set_address(*ret, address);
        if (r >= 0)
                r = sd_bus_set_method_call_timeout(*ret, CALL_SECONDS * UINT64_C(1000000));
        if (r >= 0)
                r = sd_bus_start(*ret);
        return r < 0 ? error_errno(e, -r, "cannot connect to systemd at %.160s", path) : 0;
}

/* Waits until systemd has moved the process into the scope. */
static int await_move(pid_t pid, const char *name)
{
        struct timespec now, end;
        (void)clock_gettime(CLOCK_MONOTONIC, &end);
        end.tv_sec += MOVE_SECONDS;
        do {
                char path[PATH_MAX];
                size_t top;
                int r = cgroup_path_of_pid(pid, path, sizeof path, &top);
                const char *last = r == 0 ? strrchr(path, '/') : NULL;
                if (last && strcmp(last + 1, name) == 0)
                        return 0;
                (void)nanosleep(&(struct timespec){ .tv_nsec = MOVE_STEP_NS }, NULL);
                (void)clock_gettime(CLOCK_MONOTONIC, &now);
        } while (now.tv_sec < end.tv_sec);
        return -ETIMEDOUT;
}

/* Makes a new scope with the scout in it, and moves the front there. */
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
                r = await_move(scout, name);
        if (r >= 0)
                r = sd_bus_call_method(bus, MANAGER, "AttachProcessesToUnit", &why, NULL, "ssau", name, "", 1,
                                       (uint32_t)front);
        if (r < 0)
                error_errno(e, -r, "systemd did not make a scope%s%.160s", why.message ? ": " : "",
                            why.message ? why.message : "");
        sd_bus_error_free(&why);
        return r < 0 ? r : 0;
}

/* Runs as: the scout. Exits after the front was moved or the helper has exited, but not before it was moved itself. */
static _Noreturn void run_scout(int scout_end, const char *name)
{
        daemonize_child("rw-scout", scout_end, -1);
        wait_for_eof(0);
        (void)await_move(getpid(), name);
        _exit(0);
}

static int move_to_scope(sd_bus *bus, const char *name, pid_t front, struct error *e)
{
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
                return error_errno(e, errno, "cannot make a socket");
        CLEANUP_FD int scout_end = ends[0];
        CLEANUP_FD int helper_end = ends[1];
        pid_t scout = fork();
        if (scout < 0)
                return error_errno(e, errno, "cannot fork");
        if (scout == 0)
                run_scout(scout_end, name);
        int r = ask_for_scope(bus, name, scout, front, e);
        if (r < 0)
                (void)kill(scout, SIGKILL); /* no scope was made */
        fd_close(&helper_end);
        while (waitpid(scout, NULL, 0) < 0 && errno == EINTR)
                ;
        return r;
}

int main(int argc, char **argv)
{
        struct error e = { 0 };
        unsigned long long front = 0;
        sd_bus *bus = NULL;
        if (argc != 3 || !text_parse_unsigned(argv[2], strlen(argv[2]), &front) || front < 2 || front > INT_MAX) {
                (void)fputs("usage: ringwall-scope NAME PID", stdout);
                return EXIT_FAILURE;
        }
        int r = connect_to_manager(&bus, &e);
        if (r == 0)
                r = move_to_scope(bus, argv[1], (pid_t)front, &e);
        sd_bus_flush_close_unref(bus);
        if (r < 0)
                (void)fputs(e.text, stdout);
        return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
