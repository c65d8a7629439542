/*
 * Runs a command; see shell_job.h.
 *
 * How it works: bash runs in its own session and process group, with /dev/null as stdin and a pipe for its output (two
 * pipes in the background). The caller polls the pipes and the pidfd, and calls shell_job_advance(), which never
 * blocks. When bash has exited, the pipes are read once more and closed without waiting for EOF: a process that it
 * started may keep them open forever.
 *
 * What an attacker controls: the command, how much it writes and when it exits. Memory is bounded: only the head and
 * the tail of the output are kept.
 */
#include "tools/shell_job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/memory.h"
#include "platform/platform.h"
#include "tools/process_tree.h"

struct spawn_data {
        const struct shell_job_request *request;
        const int *outputs;
        int error; /* errno, set by the child, which shares our memory until it calls exec */
};

/*
 * Runs in the child. In a box with a guard the worker is dumpable, so that commands could ptrace it. Therefore they run
 * in a nested Landlock domain, from which they cannot. Returns errno; does not return on success.
 */
static int become_bash(struct spawn_data *s)
{
        sigset_t none;
        char name[] = "bash", flag[] = "-c";
        char *const arguments[] = { name, flag, (char *)(uintptr_t)s->request->command, NULL }; /* not modified */
        (void)sigemptyset(&none);
        for (int number = 1; number < NSIG; number++)
                (void)signal(number, SIG_DFL); /* fails for SIGKILL and SIGSTOP, which is harmless */
        int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (setsid() < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(s->outputs[0], STDOUT_FILENO) < 0 ||
            dup2(s->outputs[1], STDERR_FILENO) < 0 || chdir(s->request->directory) < 0)
                return errno;
        int r = prctl(PR_GET_DUMPABLE) == 1 ? platform_enter_nested_domain() : 0;
        if (r < 0)
                return -r;
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)execvpe(name, arguments, s->request->environment);
        return errno;
}

static int run_child(void *data)
{
        struct spawn_data *s = data;
        s->error = become_bash(s);
        _exit(127);
}

static int spawn(const struct shell_job_request *request, const int outputs[2], pid_t *ret)
{
        struct spawn_data s = { .request = request, .outputs = outputs };
        sigset_t all, before;
        (void)sigfillset(&all);
        (void)sigprocmask(SIG_BLOCK, &all, &before); /* signal handlers must not run in the child */
        pid_t pid = platform_vfork(run_child, &s);
        int code = pid < 0 ? errno : s.error;
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
        if (pid > 0 && code)
                (void)waitpid(pid, NULL, 0);
        *ret = code ? -1 : pid; /* a reaped pid may belong to another process soon */
        return -code;
}

/* --- as a job --- */

static nfds_t poll_for(const struct job *j, struct pollfd ret[JOB_POLL_FDS_MAX])
{
        const struct shell_job *s = shell_job_from(j);
        ret[0] = (struct pollfd){ .fd = s->streams[0].fd, .events = POLLIN };
        ret[1] = (struct pollfd){ .fd = s->streams[1].fd, .events = POLLIN };
        ret[2] = (struct pollfd){ .fd = s->pidfd, .events = POLLIN };
        return s->ended ? 0 : 3;
}

static int64_t deadline(const struct job *j)
{
        const struct shell_job *s = shell_job_from(j);
        return s->ended || s->timed_out ? INT64_MAX : s->deadline; /* after the kill, only the pidfd matters */
}

static bool step(struct job *j)
{
        return shell_job_advance(shell_job_from(j));
}

static uint64_t progress(const struct job *j, struct text *message)
{
        const struct shell_job *s = shell_job_from(j);
        unsigned long long written = s->streams[0].written + s->streams[1].written;
        text_format(message, "%llu bytes of output", written);
        return (uint64_t)(clock_ms() - s->began); /* time counts as progress, even without output */
}

static void free_job(struct job *j)
{
        shell_job_free(shell_job_from(j));
}

static const struct job_ops shell_kind = { poll_for, deadline, step, progress, free_job };

/* --- running it --- */

/* Creates the pipes and stores their write ends: one for stdout and stderr, or one for each in the background. */
static int open_streams(struct shell_job *s, const struct shell_job_request *request, int ret[2])
{
        size_t kept = request->background ? SHELL_BACKGROUND_OUTPUT_MAX : SHELL_OUTPUT_MAX;
        for (size_t i = 0; i < (request->background ? 2 : 1); i++) {
                int pipe_ends[2];
                if (pipe2(pipe_ends, O_CLOEXEC) < 0)
                        return -errno;
                ret[i] = pipe_ends[1];
                int r = output_capture_init(&s->streams[i], pipe_ends[0], kept / 2, request->filter);
                if (r < 0)
                        return r;
        }
        return 0;
}

struct shell_job *shell_job_start(const struct shell_job_request *request, struct error *e)
{
        int outputs[2] = { -1, -1 };
        struct shell_job *s = calloc(1, sizeof *s);
        if (!s) {
                error_errno(e, ENOMEM, "cannot start bash");
                return NULL;
        }
        *s = (struct shell_job){ .job.kind = &shell_kind,
                             .pidfd = -1,
                             .background = request->background,
                             .began = clock_ms(),
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
                error_errno(e, -r, "cannot start bash");
                shell_job_free(s);
                return NULL;
        }
        return s;
}

static void kill_all(const struct shell_job *s)
{
        if (s->pid > 1 && !s->ended)
                process_tree_kill(s->pid);
}

void shell_job_free(struct shell_job *s)
{
        if (!s)
                return;
        kill_all(s);
        if (s->pid > 1 && !s->ended)
                (void)waitpid(s->pid, NULL, 0); /* does not block for long: it was killed */
        fd_close(&s->pidfd);
        for (size_t i = 0; i < ARRAY_SIZE(s->streams); i++)
                output_capture_done(&s->streams[i]);
        free(s->command);
        free(s);
}

static void read_output(struct shell_job *s)
{
        for (size_t i = 0; i < ARRAY_SIZE(s->streams); i++)
                output_capture_read(&s->streams[i]);
}

bool shell_job_advance(struct shell_job *s)
{
        read_output(s);
        if (!s->ended && !s->timed_out && clock_ms() >= s->deadline) {
                s->timed_out = true;
                kill_all(s);
        }
        if (!s->ended && waitpid(s->pid, &s->status, WNOHANG) == s->pid) {
                s->ended = true;
                read_output(s); /* its last output */
                for (size_t i = 0; i < ARRAY_SIZE(s->streams); i++)
                        output_capture_finish(&s->streams[i]);
        }
        return s->ended;
}

int shell_job_exit_status(const struct shell_job *s)
{
        return s->timed_out ? 124 : WIFSIGNALED(s->status) ? 128 + WTERMSIG(s->status) : WEXITSTATUS(s->status);
}
