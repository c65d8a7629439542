/*
 * Helpers; see helper.h. A helper is looked up relative to the file that this program was started from, so that a build
 * tree and an installation in any prefix both work, and neither PATH nor the environment can name another program:
 * first beside that file, then in the libexec folder of the same installation, then in the configured libexec folder,
 * for other programs that load libringwall. No path is checked beforehand: exec reports whether the helper exists.
 */
#include "base/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/exit_status.h"
#include "base/fd.h"
#include "base/memory.h"

enum { HELPER_FDS_MAX = 16 };

/* Folders to look in; a relative one starts at this program's own folder. */
static const char *const folders[] = { ".", RINGWALL_HELPERS_NEAR, RINGWALL_HELPERS };

/* The real directory of this program's file, with a slash at the end. */
static int find_own_folder(char folder[PATH_MAX], struct error *e)
{
        ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
        if (length < 0)
                return error_errno(e, errno, "cannot read /proc/self/exe (is /proc mounted?)");
        folder[length] = '\0';
        char *slash = strrchr(folder, '/');
        if (!slash)
                return error_set(e, ENOENT, "/proc/self/exe is not a path: '%s'", folder);
        slash[1] = '\0';
        return 0;
}

int helper_exec(const char *name, char *const *arguments, struct error *e)
{
        char own_folder[PATH_MAX], path[2 * PATH_MAX];
        int error = find_own_folder(own_folder, e);
        if (error < 0)
                return error;

        size_t count = 0;
        while (arguments[count])
                count++;
        CLEANUP_ARENA struct arena *arena = arena_new((count + 2) * sizeof(char *) + NAME_MAX + 64);
        char **argv = arena_alloc(arena, (count + 2) * sizeof *argv);
        char *title = arena_strdup(arena, name);
        if (!argv || !title)
                return error_errno(e, ENOMEM, "cannot start %s", name);
        argv[0] = title;
        memcpy(argv + 1, arguments, count * sizeof *argv);

        for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
                const char *from = folders[i][0] == '/' ? "" : own_folder;
                int length = snprintf(path, sizeof path, "%s%s/%s", from, folders[i], name);
                if (length < 0 || (size_t)length >= sizeof path)
                        return error_errno(e, ENAMETOOLONG, "cannot start %s", name);
                execv(path, argv);
                if (errno != ENOENT && errno != ENOTDIR)
                        return error_errno(e, errno, "cannot start %s", path);
        }
        return error_set(e, ENOENT, "the program %s is not installed (looked in %s, %s%s and %s)", name, own_folder,
                         RINGWALL_HELPERS_NEAR[0] == '/' ? "" : own_folder, RINGWALL_HELPERS_NEAR, RINGWALL_HELPERS);
}

/* Runs in the child. If exec fails, the parent reads the reason from `output`. */
static _Noreturn void exec_with_output(const char *name, char *const *arguments, int output)
{
        struct error e = { 0 };
        if (dup2(output, STDOUT_FILENO) < 0)
                _exit(EXIT_RINGWALL);
        (void)helper_exec(name, arguments, &e);
        (void)fd_write_all(STDOUT_FILENO, e.text, strlen(e.text));
        _exit(EXIT_RINGWALL);
}

int helper_run(const char *name, char *const *arguments, char *ret, size_t size, struct error *e)
{
        int ends[2], status = 0;
        size_t used = 0;
        if (pipe2(ends, O_CLOEXEC) < 0)
                return error_errno(e, errno, "cannot make a pipe");
        CLEANUP_FD int read_end = ends[0], write_end = ends[1];
        pid_t pid = fork();
        if (pid < 0)
                return error_errno(e, errno, "cannot fork");
        if (pid == 0)
                exec_with_output(name, arguments, write_end);
        fd_close(&write_end);
        for (ssize_t n;
             used + 1 < size && ((n = read(read_end, ret + used, size - 1 - used)) > 0 || (n < 0 && errno == EINTR));)
                used += n > 0 ? (size_t)n : 0;
        ret[used] = '\0';
        fd_close(&read_end); /* output that does not fit is not read */
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return error_errno(e, errno, "cannot wait for %s", name);
        if (!WIFEXITED(status))
                return error_set(e, EIO, "%s was killed by signal %d", name, WTERMSIG(status));
        if (WEXITSTATUS(status) == EXIT_RINGWALL) /* exec_with_output() failed, and `ret` says why */
                return error_set(e, ENOENT, "%s", ret);
        return WEXITSTATUS(status);
}

/*
 * Runs in the child: makes fds[i] its descriptor i. All are first duplicated above the targets, so that no dup2()
 * overwrites a descriptor that is still to be moved.
 */
static int move_descriptors(const int *fds, size_t count)
{
        int above[HELPER_FDS_MAX];
        for (size_t i = 0; i < count; i++)
                if ((above[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, HELPER_FDS_MAX)) < 0)
                        return -errno;
        for (size_t i = 0; i < count; i++)
                if (dup2(above[i], (int)i) < 0)
                        return -errno;
        return close_range((unsigned)count, ~0U, 0) < 0 ? -errno : 0;
}

int helper_spawn(const char *name, const int *fds, size_t count, struct error *e)
{
        struct error why = { 0 };
        if (count > HELPER_FDS_MAX)
                return error_set(e, E2BIG, "too many descriptors for %s", name);
        pid_t parent = getpid(), pid = fork();
        if (pid < 0)
                return error_errno(e, errno, "cannot fork");
        if (pid > 0)
                return pid;
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent || move_descriptors(fds, count) < 0)
                _exit(EXIT_RINGWALL);
        environ = (char *[]){ NULL };
        (void)helper_exec(name, (char *[]){ NULL }, &why);
        (void)fd_write_all(STDERR_FILENO, why.text, strlen(why.text));
        (void)fd_write_all(STDERR_FILENO, "\n", 1);
        _exit(EXIT_RINGWALL);
}
