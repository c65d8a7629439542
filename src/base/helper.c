/*
 * Helpers; see helper.h. They are looked for relative to the file that this program was started from, so that a build
 * tree and an installation anywhere both work, and neither PATH nor the environment can name another one: beside it,
 * then in the libexec folder of the same installation, then in the one that was configured, for programs of other people
 * that load libringwall. No file is examined first: exec itself says whether it is there.
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

#include "base/fd.h"
#include "base/memory.h"

static const char stage[] = "helper";

enum { HELPER_NOT_STARTED = 125, HELPER_FDS_MOST = 16 };

/* Folders to look in; a relative one begins at the program's own. */
static const char *const folders[] = { ".", RINGWALL_HELPERS_NEAR, RINGWALL_HELPERS };

/* The real directory of this program's file, ending in a slash. */
static int own_folder(char folder[PATH_MAX], struct error *e)
{
        ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
        if (length < 0)
                return error_errno(e, errno, stage, "cannot find my own file (is /proc mounted?)");
        folder[length] = '\0';
        char *slash = strrchr(folder, '/');
        if (!slash)
                return error_set(e, ENOENT, stage, "my own file has no path: '%s'", folder);
        slash[1] = '\0';
        return 0;
}

int helper_exec(const char *name, char *const *arguments, struct error *e)
{
        char own[PATH_MAX], path[2 * PATH_MAX];
        int error = own_folder(own, e);
        if (error < 0)
                return error;

        size_t count = 0;
        while (arguments[count])
                count++;
        CLEANUP_ARENA struct arena *arena = arena_new((count + 2) * sizeof(char *) + NAME_MAX + 64);
        char **argv = arena_alloc(arena, (count + 2) * sizeof *argv);
        char *title = arena_string(arena, name);
        if (!argv || !title)
                return error_errno(e, ENOMEM, stage, "cannot start %s", name);
        argv[0] = title;
        memcpy(argv + 1, arguments, count * sizeof *argv);

        for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
                const char *from = folders[i][0] == '/' ? "" : own;
                int length = snprintf(path, sizeof path, "%s%s/%s", from, folders[i], name);
                if (length < 0 || (size_t)length >= sizeof path)
                        return error_errno(e, ENAMETOOLONG, stage, "cannot start %s", name);
                execv(path, argv);
                if (errno != ENOENT && errno != ENOTDIR)
                        return error_errno(e, errno, stage, "cannot start %s", path);
        }
        return error_set(e, ENOENT, stage, "the program %s is not installed (looked in %s, %s%s and %s)", name, own,
                         RINGWALL_HELPERS_NEAR[0] == '/' ? "" : own, RINGWALL_HELPERS_NEAR, RINGWALL_HELPERS);
}

/* In the child. */
static _Noreturn void become(const char *name, char *const *arguments, int output)
{
        struct error e = { 0 };
        if (dup2(output, STDOUT_FILENO) < 0)
                _exit(HELPER_NOT_STARTED);
        (void)helper_exec(name, arguments, &e);
        (void)fd_write_all(STDOUT_FILENO, e.text, strlen(e.text));
        _exit(HELPER_NOT_STARTED);
}

int helper_run(const char *name, char *const *arguments, char *ret, size_t size, struct error *e)
{
        int ends[2], status = 0;
        size_t used = 0;
        if (pipe2(ends, O_CLOEXEC) < 0)
                return error_errno(e, errno, stage, "cannot make a pipe");
        CLEANUP_FD int ours = ends[0], theirs = ends[1];
        pid_t pid = fork();
        if (pid < 0)
                return error_errno(e, errno, stage, "cannot fork");
        if (pid == 0)
                become(name, arguments, theirs);
        fd_close(&theirs);
        for (ssize_t n; used + 1 < size && ((n = read(ours, ret + used, size - 1 - used)) > 0 || (n < 0 && errno == EINTR));)
                used += n > 0 ? (size_t)n : 0;
        ret[used] = '\0';
        fd_close(&ours); /* more than fits is of no use to anybody */
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return error_errno(e, errno, stage, "cannot wait for %s", name);
        if (!WIFEXITED(status))
                return error_set(e, EIO, stage, "%s ended by signal %d", name, WTERMSIG(status));
        if (WEXITSTATUS(status) == HELPER_NOT_STARTED)
                return error_set(e, ENOENT, stage, "%s", ret);
        return WEXITSTATUS(status);
}

/* In the child: fds[i] to i. None of them may be overwritten before it was moved itself, so all go up first. */
static int move_descriptors(const int *fds, size_t count)
{
        int above[HELPER_FDS_MOST];
        for (size_t i = 0; i < count; i++)
                if ((above[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, HELPER_FDS_MOST)) < 0)
                        return -errno;
        for (size_t i = 0; i < count; i++)
                if (dup2(above[i], (int)i) < 0)
                        return -errno;
        return close_range((unsigned)count, ~0U, 0) < 0 ? -errno : 0;
}

int helper_start(const char *name, const int *fds, size_t count, struct error *e)
{
        struct error why = { 0 };
        if (count > HELPER_FDS_MOST)
                return error_set(e, E2BIG, stage, "too many descriptors for %s", name);
        pid_t front = getpid(), pid = fork();
        if (pid < 0)
                return error_errno(e, errno, stage, "cannot fork");
        if (pid > 0)
                return pid;
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != front || move_descriptors(fds, count) < 0)
                _exit(HELPER_NOT_STARTED);
        environ = (char *[]){ NULL };
        (void)helper_exec(name, (char *[]){ NULL }, &why);
        (void)fd_write_all(STDERR_FILENO, why.text, strlen(why.text));
        (void)fd_write_all(STDERR_FILENO, "\n", 1);
        _exit(HELPER_NOT_STARTED);
}
