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

static const char stage[] = "bash";

static int spawn(const char *command, const char *directory, char *const *environment, int output, pid_t *ret)
{
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        sigset_t none, all;
        char name[] = "bash", flag[] = "-c";
        char *const words[] = { name, flag, (char *)(uintptr_t)command, NULL }; /* nobody writes to it */
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
                r = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
        if (r == 0)
                r = posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
        if (r == 0)
                r = posix_spawn_file_actions_addchdir_np(&actions, directory);
        if (r == 0)
                r = posix_spawnattr_setsigmask(&attributes, &none);
        if (r == 0)
                r = posix_spawnattr_setsigdefault(&attributes, &all);
        if (r == 0)
                r = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        if (r == 0)
                r = posix_spawnp(ret, name, &actions, &attributes, words, environment);
        (void)posix_spawnattr_destroy(&attributes);
        (void)posix_spawn_file_actions_destroy(&actions);
        return -r;
}

/* --- as a job --- */

static nfds_t poll_for(const struct job *j, struct pollfd ret[JOB_FDS])
{
        const struct shell *s = shell_of(j);
        ret[0] = (struct pollfd){ .fd = s->output, .events = POLLIN };
        ret[1] = (struct pollfd){ .fd = s->pidfd, .events = POLLIN };
        return s->ended ? 0 : 2;
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
        text_format(message, "%llu bytes of output", (unsigned long long)s->bytes);
        return (uint64_t)(clock_ms() - s->began); /* one that is silent gets on too */
}

static void end(struct job *j)
{
        shell_free(shell_of(j));
}

static const struct job_kind shell_kind = { poll_for, deadline, step, progress, end };

/* --- running it --- */

struct shell *shell_start(const char *command, const char *directory, char *const *environment, int64_t timeout_ms,
                          struct error *e)
{
        int ends[2];
        struct shell *s = calloc(1, sizeof *s);
        if (!s || !(s->tail = malloc(SHELL_TAIL)) || pipe2(ends, O_CLOEXEC) < 0) {
                error_errno(e, s && s->tail ? errno : ENOMEM, stage, "cannot make a pipe");
                if (s)
                        free(s->tail);
                free(s);
                return NULL;
        }
        CLEANUP_FD int theirs = ends[1];
        s->job.kind = &shell_kind;
        s->output = ends[0];
        s->pidfd = -1;
        s->began = clock_ms();
        s->deadline = s->began + timeout_ms;
        int r = fcntl(s->output, F_SETFL, O_NONBLOCK) < 0 ? -errno : spawn(command, directory, environment, theirs, &s->pid);
        if (r == 0 && (s->pidfd = pidfd_open(s->pid, 0)) < 0)
                r = -errno;
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
                (void)kill(-s->pid, SIGKILL);
}

void shell_free(struct shell *s)
{
        if (!s)
                return;
        kill_all(s);
        if (s->pid > 1 && !s->ended)
                (void)waitpid(s->pid, NULL, 0); /* it was killed, so this is no waiting */
        fd_close(&s->pidfd);
        fd_close(&s->output);
        text_done(&s->head);
        free(s->tail);
        free(s);
}

static void keep(struct shell *s, const char *bytes, size_t length)
{
        s->bytes += length;
        if (s->head.length < SHELL_HEAD) {
                size_t room = SHELL_HEAD - s->head.length, n = length < room ? length : room;
                text_add_bytes(&s->head, bytes, n);
                bytes += n;
                length -= n;
        }
        while (length) {
                size_t place = (s->tail_start + s->tail_length) % SHELL_TAIL, room = SHELL_TAIL - place;
                size_t n = length < room ? length : room, kept = s->tail_length + n;
                memcpy(s->tail + place, bytes, n);
                s->tail_start = (s->tail_start + (kept > SHELL_TAIL ? kept - SHELL_TAIL : 0)) % SHELL_TAIL;
                s->tail_length = kept < SHELL_TAIL ? kept : SHELL_TAIL;
                bytes += n;
                length -= n;
        }
}

/* As much as is there now; in bounds, so that one that writes without end does not keep us from the others. */
static void read_output(struct shell *s)
{
        char piece[64 << 10];
        for (int i = 0; i < 16 && s->output >= 0; i++) {
                ssize_t n = read(s->output, piece, sizeof piece);
                if (n > 0)
                        keep(s, piece, (size_t)n);
                else if (n == 0 || errno != EINTR) {
                        if (n == 0 || errno != EAGAIN)
                                fd_close(&s->output);
                        return;
                }
        }
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
        }
        return s->ended;
}

void shell_print(const struct shell *s, uint64_t from, struct text *out)
{
        uint64_t tail_from = s->bytes - s->tail_length;
        if (from < s->head.length)
                text_add_bytes(out, s->head.data + from, s->head.length - (size_t)from);
        uint64_t gap = from > s->head.length ? from : s->head.length;
        if (gap < tail_from)
                text_format(out, "\n... (output truncated, %llu bytes elided)\n", (unsigned long long)(tail_from - gap));
        for (uint64_t at = gap > tail_from ? gap : tail_from; at < s->bytes;) {
                size_t place = (s->tail_start + (size_t)(at - tail_from)) % SHELL_TAIL;
                size_t n = SHELL_TAIL - place < s->bytes - at ? SHELL_TAIL - place : (size_t)(s->bytes - at);
                text_add_bytes(out, s->tail + place, n);
                at += n;
        }
}

int shell_exit_status(const struct shell *s)
{
        return s->timed_out ? 124 : WIFSIGNALED(s->status) ? 128 + WTERMSIG(s->status) : WEXITSTATUS(s->status);
}
