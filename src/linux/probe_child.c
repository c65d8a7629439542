/* Asks the kernel one question in a child; see probe_child.h. */
#include "linux/probe_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

_Static_assert(sizeof(struct probe_answer) <= 512,
               "an answer must fit into one atomic write to a pipe (POSIX: 512 bytes)");

int probe_fail_with(struct probe_answer *answer, int error, const char *stage)
{
        answer->error = error;
        (void)snprintf(answer->stage, sizeof answer->stage, "%s", stage);
        return -error;
}

int probe_fail(struct probe_answer *answer, const char *stage)
{
        return probe_fail_with(answer, errno, stage);
}

void probe_describe(struct probe_answer *answer, const char *format, ...)
{
        va_list args;
        va_start(args, format);
        (void)vsnprintf(answer->text, sizeof answer->text, format, args);
        va_end(args);
}

void probe_die_with_parent(pid_t parent)
{
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        /*
         * The parent may have died before prctl(). From a new pid namespace getppid() is always 0, so a dead parent is
         * not noticed there.
         */
        pid_t current = getppid();
        if (current != parent && current != 0)
                _exit(ECANCELED);
}

int probe_wait_child(pid_t pid)
{
        int status;
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return -errno;
        return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

int probe_in_grandchild(int (*function)(void *context), void *context)
{
        pid_t parent = getpid();
        pid_t pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0) {
                probe_die_with_parent(parent);
                _exit(function(context)); /* returns 0 or a positive errno, as an exit status must be */
        }
        return probe_wait_child(pid);
}

static _Noreturn void run_child(probe_function *function, unsigned long argument, int writer, pid_t parent)
{
        probe_die_with_parent(parent);
        (void)alarm(PROBE_TIMEOUT_SECONDS);
        struct probe_answer answer = { 0 };
        answer.result = function(argument, &answer);
        (void)fd_write_all(writer, &answer, sizeof answer);
        _exit(0);
}

/* True when a complete answer was read. Does not wait for EOF: a grandchild may still hold the write end open. */
static bool read_answer(int reader, struct probe_answer *ret)
{
        struct pollfd p = { .fd = reader, .events = POLLIN };
        int n;
        do
                n = poll(&p, 1, (PROBE_TIMEOUT_SECONDS + 1) * 1000);
        while (n < 0 && errno == EINTR);
        return n == 1 && read(reader, ret, sizeof *ret) == (ssize_t)sizeof *ret;
}

/* The child gave no answer: a signal, such as a seccomp filter's SIGSYS, or the timeout killed it. */
static enum feature_state judge_missing_answer(int status, struct probe_answer *ret)
{
        *ret = (struct probe_answer){ .error = ETIMEDOUT, .stage = "wait for an answer" };
        /* SIGKILL is ours (see probe_in_child), SIGALRM is the timeout. */
        if (WIFSIGNALED(status) && WTERMSIG(status) != SIGALRM && WTERMSIG(status) != SIGKILL) {
                ret->error = EINTR;
                probe_describe(ret, "the attempt was killed by SIG%s", sigabbrev_np(WTERMSIG(status)));
                return FEATURE_NO;
        }
        return FEATURE_UNKNOWN;
}

enum feature_state probe_in_child(probe_function *function, unsigned long argument, struct probe_answer *ret)
{
        *ret = (struct probe_answer){ 0 };
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) < 0) {
                (void)probe_fail(ret, "make a pipe");
                return FEATURE_UNKNOWN;
        }
        CLEANUP_FD int reader = ends[0];
        CLEANUP_FD int writer = ends[1];
        pid_t parent = getpid();
        pid_t pid = fork();
        if (pid < 0) {
                (void)probe_fail(ret, "fork");
                return FEATURE_UNKNOWN;
        }
        if (pid == 0)
                run_child(function, argument, writer, parent);
        fd_close(&writer);

        bool answered = read_answer(reader, ret);
        if (!answered)
                (void)kill(pid, SIGKILL); /* it hangs; or it is dead and unreaped, and the signal has no effect */
        int status = 0;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        if (!answered)
                return judge_missing_answer(status, ret);
        if (ret->result < 0)
                return FEATURE_NO;
        return ret->result == PROBE_PARTIAL ? FEATURE_PARTIAL : FEATURE_YES;
}

void probe_record(struct probe_report *report, enum feature_id id, enum feature_state state,
                  const struct probe_answer *answer)
{
        const char *why = strerrordesc_np(answer->error);
        if (answer->text[0] || !answer->error)
                feature_set(report, id, state, answer->error, "%s", answer->text);
        else if (answer->error == EPROTO)
                feature_set(report, id, state, answer->error, "the system calls succeeded, but ringwall could not %s",
                            answer->stage);
        else
                feature_set(report, id, state, answer->error, "cannot %s: %s", answer->stage,
                            why ? why : "unknown error");
}

void probe_feature(struct probe_report *report, const struct probe_question *question)
{
        struct probe_answer answer;
        enum feature_state state = probe_in_child(question->ask, question->argument, &answer);
        probe_record(report, question->feature, state, &answer);
}

void probe_features(struct probe_report *report, const struct probe_question *questions, size_t count)
{
        for (size_t i = 0; i < count; i++)
                probe_feature(report, &questions[i]);
}
