/*
 * Running a command; see shell.h.
 *
 * How it works: bash runs in a session and process group of its own, with nothing to read and one pipe to write to. Nobody
 * waits: the caller polls the pipe and the process, and calls shell_step(). When bash has ended, what is in the pipe is
 * read and the rest is left: a program that it started in the background may hold the pipe for ever.
 *
 * What an attacker controls: the command, how much it writes and when it ends. Memory is bounded: the head and the tail of
 * the output are kept.
 */
#include "tools/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/memory.h"
#include "tools/family.h"

static const char stage[] = "bash";

static int spawn(const struct shell_request *request, const int outputs[2], pid_t *ret)
{
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        sigset_t none, all;
        char name[] = "bash", flag[] = "-c";
        char *const words[] = { name, flag, (char *)(uintptr_t)request->command, NULL }; /* nobody writes to it */
        (void)sigemptyset(&none);
        (void)sigfillset(&all);
        if (posix_spawn_file_actions_init(&actions) != 0)
                return -ENOMEM;
        if (posix_spawnattr_init(&attributes) != 0) {
                (void)posix_spawn_file_actions_destroy(&actions);
                return -ENOMEM;
        }
        int r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        if (r == 0)
                r = posix_spawn_file_actions_adddup2(&actions, outputs[0], STDOUT_FILENO);
        if (r == 0)
                r = posix_spawn_file_actions_adddup2(&actions, outputs[1], STDERR_FILENO);
        if (r == 0)
                r = posix_spawn_file_actions_addchdir_np(&actions, request->directory);
        if (r == 0)
                r = posix_spawnattr_setsigmask(&attributes, &none);
        if (r == 0)
                r = posix_spawnattr_setsigdefault(&attributes, &all);
        if (r == 0)
                r = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        if (r == 0)
                r = posix_spawnp(ret, name, &actions, &attributes, words, request->environment);
        (void)posix_spawnattr_destroy(&attributes);
        (void)posix_spawn_file_actions_destroy(&actions);
        return -r;
}

/* --- as a job --- */

static nfds_t poll_for(const struct job *j, struct pollfd ret[JOB_FDS])
{
        const struct shell *s = shell_of(j);
        ret[0] = (struct pollfd){ .fd = s->streams[0].fd, .events = POLLIN };
        ret[1] = (struct pollfd){ .fd = s->streams[1].fd, .events = POLLIN };
        ret[2] = (struct pollfd){ .fd = s->pidfd, .events = POLLIN };
        return s->ended ? 0 : 3;
}

static int64_t deadline(const struct job *j)
{
        const struct shell *s = shell_of(j);
        return s->ended || s->timed_out ? INT64_MAX : s->deadline; /* one that was killed ends when it can */
}

static bool step(struct job *j)
{
        return shell_step(shell_of(j));
}

static uint64_t progress(const struct job *j, struct text *message)
{
        const struct shell *s = shell_of(j);
        unsigned long long written = s->streams[0].written + s->streams[1].written;
        text_format(message, "%llu bytes of output", written);
        return (uint64_t)(clock_ms() - s->began); /* one that is silent gets on too */
}

static void end(struct job *j)
{
        shell_free(shell_of(j));
}

static const struct job_kind shell_kind = { poll_for, deadline, step, progress, end };

/* --- running it --- */

/* The ends that the command writes to: one for both of its streams, or one for each. */
static int open_streams(struct shell *s, const struct shell_request *request, int ret[2])
{
        size_t kept = request->background ? SHELL_KEPT_BACKGROUND : SHELL_KEPT;
        for (size_t i = 0; i < (request->background ? 2 : 1); i++) {
                int ends[2];
                if (pipe2(ends, O_CLOEXEC) < 0)
                        return -errno;
                ret[i] = ends[1];
                int r = capture_open(&s->streams[i], ends[0], kept / 2, request->filter);
                if (r < 0)
                        return r;
        }
        return 0;
}

struct shell *shell_start(const struct shell_request *request, struct error *e)
{
        int outputs[2] = { -1, -1 };
        struct shell *s = calloc(1, sizeof *s);
        if (!s) {
                error_errno(e, ENOMEM, stage, "cannot start bash");
                return NULL;
        }
        *s = (struct shell){ .job.kind = &shell_kind, .pidfd = -1, .background = request->background, .began = clock_ms(),
                             .streams = { { .fd = -1 }, { .fd = -1 } } };
        s->deadline = s->began + request->timeout_ms;
        int r = open_streams(s, request, outputs);
        const int theirs[] = { outputs[0], request->background ? outputs[1] : outputs[0] };
        if (r == 0)
                r = spawn(request, theirs, &s->pid);
        if (r == 0 && (s->pidfd = pidfd_open(s->pid, 0)) < 0)
                r = -errno;
        fd_close(&outputs[0]);
        fd_close(&outputs[1]);
        if (r < 0) {
                error_errno(e, -r, stage, "cannot start bash");
                shell_free(s);
                return NULL;
        }
        return s;
}

static void kill_all(const struct shell *s)
{
        if (s->pid > 1 && !s->ended)
                family_kill(s->pid);
}

void shell_free(struct shell *s)
{
        if (!s)
                return;
        kill_all(s);
        if (s->pid > 1 && !s->ended)
                (void)waitpid(s->pid, NULL, 0); /* it was killed, so this is no waiting */
        fd_close(&s->pidfd);
        for (size_t i = 0; i < ARRAY_SIZE(s->streams); i++)
                capture_done(&s->streams[i]);
        free(s->command);
        free(s);
}

static void read_output(struct shell *s)
{
        for (size_t i = 0; i < ARRAY_SIZE(s->streams); i++)
                capture_read(&s->streams[i]);
}

bool shell_step(struct shell *s)
{
        read_output(s);
        if (!s->ended && !s->timed_out && clock_ms() >= s->deadline) {
                s->timed_out = true;
                kill_all(s);
        }
        if (!s->ended && waitpid(s->pid, &s->status, WNOHANG) == s->pid) {
                s->ended = true;
                read_output(s); /* what it wrote last */
                for (size_t i = 0; i < ARRAY_SIZE(s->streams); i++)
                        capture_finish(&s->streams[i]);
        }
        return s->ended;
}

int shell_exit_status(const struct shell *s)
{
        return s->timed_out ? 124 : WIFSIGNALED(s->status) ? 128 + WTERMSIG(s->status) : WEXITSTATUS(s->status);
}
