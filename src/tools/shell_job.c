/*
 * Runs a command; see shell_job.h.
 *
 * How it works: the worker forks a reaper, and the reaper runs bash in a session and process group of its own, with
 * /dev/null as stdin and a pipe for its output (two pipes in the background). The reaper is a subreaper: whatever bash
 * starts stays below it, daemons too. When bash has exited, the reaper reports its status, and exits when nothing is
 * left below it. What still runs after a moment is killed, with the reaper; so is everything after a timeout. The
 * caller polls the pipes and calls shell_job_advance(), which never blocks for longer than a kill takes.
 *
 * When bash ends in the foreground, a trap in front of the command writes bash's working directory to another pipe, so
 * that the next command can start there. Commands inherit that pipe and may write any name to it. That is harmless: the
 * next command could change to that directory too, and the box decides what it finds there.
 *
 * A command that kills its reaper (at level standard without a guard nothing prevents it) is treated as killed; of what
 * it started, only its session and its descendants are found then.
 *
 * What an attacker controls: the command, how much it writes and when it exits. Memory is bounded: only the head and
 * the tail of the output are kept.
 */
#include "tools/shell_job.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/memory.h"
#include "platform/platform.h"
#include "tools/process_tree.h"

enum { LOOK_MS = 1000, START_LOOK_MS = 50 }; /* how often to look whether the command has stopped its reaper */
enum { DIRECTORY_FD = 200 };                 /* in bash: a number that scripts do not use */

struct spawn_data {
        const struct shell_job_request *request;
        const char *command; /* with the trap */
        const int *outputs;
        int directory; /* the pipe for bash's working directory; -1: none */
        int report;
        int error; /* errno, set by the child, which shares our memory until it calls exec */
};

/*
 * The messages on the pipe. The child sends its pid before it becomes bash, because bash may kill the reaper at once.
 * The reaper then says whether that worked, and at the end how bash exited.
 */
struct start_report {
        pid_t bash;
        int error; /* errno; 0: none so far */
};

struct exit_report {
        int status; /* of waitpid() */
        bool left;  /* processes are still running */
};

/*
 * Runs in the child. In a box with a guard the worker is dumpable, so that commands could ptrace it. Therefore they run
 * in a nested Landlock domain, from which they cannot. Returns errno; does not return on success.
 */
static int become_bash(struct spawn_data *s)
{
        sigset_t none;
        char name[] = "bash", flag[] = "-c";
        char *const arguments[] = { name, flag, (char *)(uintptr_t)s->command, NULL }; /* not modified */
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
        if (s->directory >= 0)
                (void)dup2(s->directory, DIRECTORY_FD); /* may fail if the limit on descriptors is lower */
        const struct start_report start = { getpid(), 0 };
        if (write(s->report, &start, sizeof start) != sizeof start)
                return errno;
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

/* Runs as: the reaper. Other threads of the worker may have held locks, so it only makes system calls. */
static _Noreturn void run_reaper(struct spawn_data *s)
{
        int report = s->report;
        struct exit_report end = { 0 };
        pid_t pid = 0;
        (void)prctl(PR_SET_NAME, "rw-reaper");
        if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
                s->error = errno;
        else if ((pid = platform_vfork(run_child, s)) < 0)
                s->error = errno;
        const struct start_report start = { pid, s->error };
        if (write(report, &start, sizeof start) != sizeof start || start.error)
                _exit(1);
        if (report > 0)
                (void)close_range(0, (unsigned)report - 1, 0);
        (void)close_range((unsigned)report + 1, ~0U, 0); /* pipes of others */
        for (pid_t ended; (ended = waitpid(-1, &end.status, 0)) != pid;)
                if (ended < 0 && errno != EINTR)
                        _exit(1);
        pid_t more;
        while ((more = waitpid(-1, NULL, WNOHANG)) > 0)
                ;
        end.left = more == 0;
        if (write(report, &end, sizeof end) != sizeof end)
                _exit(1);
        while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
                ;
        _exit(0);
}

/* Reads a report. Returns 1, 0 if there is none yet, or -EPIPE if the reaper has exited. */
static int read_report(int fd, void *ret, size_t size)
{
        ssize_t n;
        while ((n = read(fd, ret, size)) < 0 && errno == EINTR)
                ;
        return n == (ssize_t)size ? 1 : n < 0 && errno == EAGAIN ? 0 : -EPIPE;
}

/* The command may have stopped its reaper, which would then report nothing. */
static void continue_reaper(const struct shell_job *s)
{
        siginfo_t info = { 0 };
        if (waitid(P_PID, (id_t)s->reaper, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid)
                (void)kill(s->reaper, SIGCONT);
}

/* Waits for a report. Bash runs already, and may have stopped its reaper. */
static int await_report(const struct shell_job *s, void *ret, size_t size)
{
        struct pollfd event = { .fd = s->report, .events = POLLIN };
        while (poll(&event, 1, START_LOOK_MS) <= 0)
                continue_reaper(s);
        return read_report(s->report, ret, size);
}

/* Forks the reaper and waits until bash runs. */
static int spawn(struct spawn_data *s, struct shell_job *ret)
{
        struct start_report start = { 0 };
        sigset_t all, before;
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) < 0)
                return -errno;
        (void)sigfillset(&all);
        (void)sigprocmask(SIG_BLOCK, &all, &before); /* signal handlers must not run in the children */
        ret->report = ends[0];
        ret->reaper = fork();
        int code = errno;
        s->report = ends[1];
        if (ret->reaper == 0)
                run_reaper(s);
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
        fd_close(&ends[1]);
        if (ret->reaper < 0)
                return -code;
        int r = read_report(ret->report, &start, sizeof start);
        ret->bash = start.bash;
        if (r == 1 && !start.error && await_report(ret, &start, sizeof start) < 0)
                start.error = 0; /* bash has killed the reaper: it started */
        if (r < 0 || start.error)
                return r < 0 ? r : -start.error;
        return fcntl(ret->report, F_SETFL, O_RDONLY | O_NONBLOCK) < 0 ? -errno : 0;
}

/* --- as a job --- */

static nfds_t poll_for(const struct job *j, struct pollfd ret[JOB_POLL_FDS_MAX])
{
        const struct shell_job *s = shell_job_from(j);
        ret[0] = (struct pollfd){ .fd = s->streams[0].fd, .events = POLLIN };
        ret[1] = (struct pollfd){ .fd = s->streams[1].fd, .events = POLLIN };
        ret[2] = (struct pollfd){ .fd = s->report, .events = POLLIN };
        return s->ended ? 0 : 3;
}

static int64_t deadline(const struct job *j)
{
        const struct shell_job *s = shell_job_from(j);
        int64_t look = clock_ms() + LOOK_MS;
        return s->ended ? INT64_MAX : s->deadline < look ? s->deadline : look;
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

/* Adds the trap on the first line of the command, so that bash's messages have the command's line numbers. */
static int add_trap(struct shell_job *s, const struct shell_job_request *request, int *ret_pipe, struct text *ret)
{
        int ends[2];
        if (!request->background) {
                if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
                        return -errno;
                s->directory_pipe = ends[0];
                *ret_pipe = ends[1];
                text_format(ret, "trap '{ builtin pwd -P >&%d; } 2>/dev/null' EXIT; ", DIRECTORY_FD);
        }
        text_add(ret, request->command);
        return ret->failed ? -ENOMEM : 0;
}

struct shell_job *shell_job_start(const struct shell_job_request *request, struct error *e)
{
        CLEANUP_TEXT struct text command = { 0 };
        int outputs[2] = { -1, -1 }, directory = -1;
        struct shell_job *s = calloc(1, sizeof *s);
        if (!s) {
                error_errno(e, ENOMEM, "cannot start bash");
                return NULL;
        }
        *s = (struct shell_job){ .job.kind = &shell_kind,
                                 .report = -1,
                                 .directory_pipe = -1,
                                 .background = request->background,
                                 .began = clock_ms(),
                                 .streams = { { .fd = -1 }, { .fd = -1 } } };
        s->deadline = s->began + request->timeout_ms;
        int r = open_streams(s, request, outputs);
        const int theirs[] = { outputs[0], request->background ? outputs[1] : outputs[0] };
        if (r == 0)
                r = add_trap(s, request, &directory, &command);
        struct spawn_data data = { .request = request, .command = command.data, .outputs = theirs,
                                   .directory = directory };
        if (r == 0)
                r = spawn(&data, s);
        fd_close(&outputs[0]);
        fd_close(&outputs[1]);
        fd_close(&directory);
        if (r < 0) {
                error_errno(e, -r, "cannot start bash");
                shell_job_free(s);
                return NULL;
        }
        return s;
}

/* Kills the reaper, bash and what they started, and reaps the reaper. */
static void kill_all(struct shell_job *s, struct text *ret_names)
{
        if (s->reaper <= 1)
                return;
        process_tree_kill(s->reaper, ret_names);
        (void)waitpid(s->reaper, NULL, 0); /* does not block for long: it was killed */
        s->reaper = 0;
}

void shell_job_free(struct shell_job *s)
{
        if (!s)
                return;
        kill_all(s, NULL);
        fd_close(&s->report);
        fd_close(&s->directory_pipe);
        text_done(&s->left);
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

/* Reads the directory in which bash ended. Without one, or with something else, `directory` stays "". */
static void read_directory(struct shell_job *s)
{
        char path[PATH_MAX];
        ssize_t n = read(s->directory_pipe, path, sizeof path);
        const char *end = n > 0 ? memchr(path, '\n', (size_t)n) : NULL;
        if (end && *path == '/' && !memchr(path, '\0', (size_t)(end - path)))
                (void)snprintf(s->directory, sizeof s->directory, "%.*s", (int)(end - path), path);
}

/* Ends the command: kills what is running, and reads the last output. */
static void end_command(struct shell_job *s, struct text *ret_names)
{
        kill_all(s, ret_names);
        s->ended = true;
        read_output(s);
        read_directory(s);
        for (size_t i = 0; i < ARRAY_SIZE(s->streams); i++)
                output_capture_finish(&s->streams[i]);
}

bool shell_job_advance(struct shell_job *s)
{
        struct exit_report end = { 0 };
        read_output(s);
        if (!s->ended)
                continue_reaper(s);
        int r = s->ended ? 0 : read_report(s->report, &end, sizeof end);
        if (r == 1) {
                s->exited = true;
                s->status = end.status;
                s->deadline = clock_ms() + SHELL_GRACE_MS;
                r = end.left ? 0 : -EPIPE;
        }
        if (r < 0) {
                /* Without an exit status the reaper was killed. */
                if (!s->exited) {
                        s->status = SIGKILL;
                        process_tree_kill(s->bash, NULL);
                }
                end_command(s, NULL);
        } else if (!s->ended && clock_ms() >= s->deadline) {
                s->timed_out = !s->exited;
                end_command(s, s->exited ? &s->left : NULL);
        }
        return s->ended;
}

void shell_job_print_left(const struct shell_job *s, struct text *out)
{
        if (s->left.length)
                text_format(out, "bash: killed what was still running: %s; to keep it running, use run_in_background\n",
                            s->left.data);
}

int shell_job_exit_status(const struct shell_job *s)
{
        return s->timed_out ? 124 : WIFSIGNALED(s->status) ? 128 + WTERMSIG(s->status) : WEXITSTATUS(s->status);
}
