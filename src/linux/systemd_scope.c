/*
 * A scope of a systemd manager: how an ordinary user gets a cgroup on most machines.
 *
 * How it works: a helper asks the manager for a transient scope that is delegated to us, and to move us into it
 * (systemd_scope_helper.c). Then the front moves into a child of the scope's cgroup: a cgroup that enables controllers
 * for its children may have no processes itself.
 *
 * The front itself has to be in the scope: an ordinary user may move or clone a process only within a subtree that they
 * own, and a login session's cgroup is not in it.
 *
 * The limits are set on the box's cgroup inside the scope (cgroup.c), not on the scope, so they are written, enforced
 * and read in the same way everywhere, and the front and its janitor are not counted.
 *
 * Nothing stays behind: systemd removes a scope, and the cgroups in it, when its last process has exited.
 */
#include "linux/systemd_scope.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/helper.h"
#include "linux/cgroup_files.h"

int systemd_find_socket(char *ret_path, size_t size)
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

int dbus_escape_path(const char *path, char *ret, size_t size)
{
        static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/.";
        size_t used = 0;
        for (; *path; path++) {
                int n = snprintf(ret + used, size - used, strchr(safe, *path) ? "%c" : "%%%02x", (unsigned char)*path);
                used += n < 0 ? size : (size_t)n;
                if (used >= size)
                        return -ENAMETOOLONG;
        }
        ret[used] = '\0';
        return 0;
}

/* Has the helper ask for the scope and move this process into it. */
static int ask_helper(const char *name, struct error *e)
{
        char path[PATH_MAX] = "", number[16], scope[64], output[200];
        int r = systemd_find_socket(path, sizeof path);
        if (r < 0 || access(path, F_OK) < 0)
                return error_errno(e, r < 0 ? -r : errno, "no systemd manager at %.160s", path);
        (void)snprintf(number, sizeof number, "%d", (int)getpid());
        (void)snprintf(scope, sizeof scope, "%s", name);
        r = helper_run("ringwall-scope", (char *[]){ scope, number, NULL }, output, sizeof output, e);
        return r > 0 ? error_set(e, EIO, "%s", output) : r;
}

int systemd_scope_enter(struct error *e)
{
        char name[64], path[PATH_MAX];
        uint32_t number = 0;
        if (getrandom(&number, sizeof number, 0) != sizeof number)
                return error_errno(e, errno, "cannot get random bytes");
        (void)snprintf(name, sizeof name, "ringwall-%d-%08" PRIx32 ".scope", (int)getpid(), number);
        size_t top;
        int r = ask_helper(name, e);
        if (r < 0)
                return r;
        r = cgroup_path_of_self(path, sizeof path, &top);
        const char *last = r == 0 ? strrchr(path, '/') : NULL;
        if (!last || strcmp(last + 1, name) != 0)
                return error_set(e, EPROTO, "systemd did not move ringwall into a scope");
        CLEANUP_FD int scope = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (scope < 0 || mkdirat(scope, "front", 0755) < 0)
                return error_errno(e, errno, "cannot make a cgroup in %.160s", path);
        r = cgroup_write(scope, "front/cgroup.procs", "0");
        return r < 0 ? error_errno(e, -r, "cannot move into a child of %.160s", path) : 0;
}
