/* Starts the command: applies the walls, finds the program in PATH, executes it; see launch.c. */
#include "linux/command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/exit_status.h"
#include "linux/filter_install.h"
#include "platform/platform.h"

static void reset_signals(void)
{
        enum { FIRST_REALTIME = 32 };
        sigset_t none;
        for (int s = 1; s < FIRST_REALTIME; s++)
                (void)signal(s, SIG_DFL); /* fails for SIGKILL and SIGSTOP, which cannot be changed */
        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * Looks the command up in the PATH of its own environment. execvp() would call exec for each directory, but in a plan
 * without exec only one call is allowed. NULL: not found.
 */
static const char *find_command(const char *name, char *const *environment, char buffer[PATH_MAX])
{
        const char *path = "/usr/local/bin:/usr/bin:/bin";
        if (strchr(name, '/'))
                return name;
        for (; *environment; environment++)
                if (strncmp(*environment, "PATH=", strlen("PATH=")) == 0)
                        path = *environment + strlen("PATH=");
        for (; *path && *name; path += strcspn(path, ":"), path += *path == ':') {
                size_t length = strcspn(path, ":");
                if (*path != '/' || length + 1 + strlen(name) >= PATH_MAX)
                        continue;
                memcpy(buffer, path, length);
                buffer[length] = '/';
                memcpy(buffer + length + 1, name, strlen(name) + 1);
                if (faccessat(AT_FDCWD, buffer, X_OK, AT_EACCESS) == 0)
                        return buffer;
        }
        return NULL;
}

static int describe_exec_failure(struct start_failure *f, int error, const char *name)
{
        f->code = error == ENOENT || error == ENOTDIR ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE;
        return error_errno(&f->error, error, "cannot run %s", name);
}

/*
 * Runs request->serve instead of a command. Closing the other descriptors closes the socket to the keeper, which reads
 * EOF as a successful start, as after exec.
 */
static _Noreturn void call_serve_function(const struct box_setup *setup)
{
        const struct launch_request *request = setup->request;
        enum { SERVE_FD = STDERR_FILENO + 1 };
        /* Close-on-exec: commands must not inherit it. */
        if ((request->socket != SERVE_FD && dup3(request->socket, SERVE_FD, O_CLOEXEC) < 0) ||
            syscall(SYS_close_range, SERVE_FD + 1U, ~0U, 0U) < 0)
                _exit(EXIT_RINGWALL);
        environ = (char **)(uintptr_t)request->environment;
        /* The guard reads this process's memory. Without an exec the memory belongs to the outer user namespace,
           where the guard's CAP_SYS_PTRACE does not count, so the process must be dumpable. Landlock keeps other
           processes of the box from tracing it: platform_enter_nested_domain(). */
        if (setup->guard != FILTER_NO_GUARD && prctl(PR_SET_DUMPABLE, 1) < 0)
                _exit(EXIT_RINGWALL);
        _exit(request->serve(SERVE_FD, request));
}

/* Returns only on failure. */
static struct start_failure start_command(struct box_setup *setup)
{
        struct start_failure f = { .code = EXIT_RINGWALL };
        const struct launch_request *request = setup->request;
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (chdir(request->directory) < 0) {
                error_errno(&f.error, errno, "cannot enter %s", request->directory);
                return f;
        }
        for (size_t i = 0; i < wall_count; i++)
                if (walls[i]->apply && walls[i]->apply(setup, &f.error) < 0)
                        return f;
        reset_signals();
        if (request->serve)
                call_serve_function(setup);
        char buffer[PATH_MAX];
        const char *program = find_command(request->command[0], request->environment, buffer);
        if (program)
                execve(program, request->command, request->environment);
        describe_exec_failure(&f, program ? errno : ENOENT, request->command[0]);
        return f;
}

static int run_command(void *data)
{
        struct box_setup *setup = data;
        struct start_failure f = start_command(setup);
        (void)send(setup->to_keeper, &f, sizeof f, MSG_NOSIGNAL);
        _exit(f.code);
}

pid_t command_fork(struct box_setup *setup, bool like_vfork)
{
        if (like_vfork)
                return platform_vfork(run_command, setup);
        pid_t pid = fork();
        if (pid == 0)
                (void)run_command(setup);
        return pid;
}
