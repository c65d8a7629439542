/* Asking the kernel one question in a child; see ask.h. */
#include "linux/ask.h"

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

_Static_assert(sizeof(struct answer) <= 512, "an answer must go through a pipe in one piece (POSIX: 512 bytes)");

int ask_failed_with(struct answer *answer, int error, const char *stage)
{
        answer->error = error;
        (void)snprintf(answer->stage, sizeof answer->stage, "%s", stage);
        return -error;
}

int ask_failed(struct answer *answer, const char *stage)
{
        return ask_failed_with(answer, errno, stage);
}

void ask_say(struct answer *answer, const char *format, ...)
{
        va_list args;
        va_start(args, format);
        (void)vsnprintf(answer->text, sizeof answer->text, format, args);
        va_end(args);
}

void ask_die_with_parent(pid_t parent)
{
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        /* The parent may have died before that. In a new pid namespace it is outside, and reads as 0. */
        pid_t now = getppid();
        if (now != parent && now != 0)
                _exit(ECANCELED);
}

int ask_wait(pid_t pid)
{
        int status;
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return -errno;
        return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

int ask_in_fork(int (*function)(void *context), void *context)
{
        pid_t parent = getpid();
        pid_t pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0) {
                ask_die_with_parent(parent);
                _exit(function(context));
        }
        return ask_wait(pid);
}

static _Noreturn void run_child(ask_function *function, unsigned long argument, int out, pid_t parent)
{
        ask_die_with_parent(parent);
        (void)alarm(ASK_SECONDS);
        struct answer answer = { 0 };
        answer.result = function(argument, &answer);
        (void)fd_write_all(out, &answer, sizeof answer);
        _exit(0);
}

/* True when a whole answer came. A grandchild may hold the other end, so the end of the file is not waited for. */
static bool read_answer(int in, struct answer *ret)
{
        struct pollfd p = { .fd = in, .events = POLLIN };
        int n;
        do
                n = poll(&p, 1, (ASK_SECONDS + 1) * 1000);
        while (n < 0 && errno == EINTR);
        return n == 1 && read(in, ret, sizeof *ret) == (ssize_t)sizeof *ret;
}

/* The child is gone and left no word: the kernel killed it, or time did. */
static enum feature_state judge_silence(int status, struct answer *ret)
{
        *ret = (struct answer){ .error = ETIMEDOUT, .stage = "wait for an answer" };
        if (WIFSIGNALED(status) && WTERMSIG(status) != SIGALRM && WTERMSIG(status) != SIGKILL) {
                ret->error = EINTR;
                ask_say(ret, "the attempt was killed by SIG%s", sigabbrev_np(WTERMSIG(status)));
                return FEATURE_NO;
        }
        return FEATURE_UNASKED;
}

enum feature_state ask(ask_function *function, unsigned long argument, struct answer *ret)
{
        *ret = (struct answer){ 0 };
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) < 0) {
                (void)ask_failed(ret, "make a pipe");
                return FEATURE_UNASKED;
        }
        CLEANUP_FD int in = ends[0];
        CLEANUP_FD int out = ends[1];
        pid_t parent = getpid();
        pid_t pid = fork();
        if (pid < 0) {
                (void)ask_failed(ret, "fork");
                return FEATURE_UNASKED;
        }
        if (pid == 0)
                run_child(function, argument, out, parent);
        fd_close(&out);

        bool answered = read_answer(in, ret);
        if (!answered)
                (void)kill(pid, SIGKILL); /* too late, or dead already: then this changes nothing */
        int status = 0;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        if (!answered)
                return judge_silence(status, ret);
        if (ret->result < 0)
                return FEATURE_NO;
        return ret->result == ANSWER_PARTLY ? FEATURE_PARTLY : FEATURE_YES;
}

void ask_enter(struct probe_report *report, enum feature_id id, enum feature_state state, const struct answer *answer)
{
        const char *why = strerrordesc_np(answer->error);
        if (answer->text[0] || !answer->error)
                feature_set(report, id, state, answer->error, "%s", answer->text);
        else if (answer->error == EPROTO)
                feature_set(report, id, state, answer->error, "the kernel agreed, but it did not %s", answer->stage);
        else
                feature_set(report, id, state, answer->error, "cannot %s: %s", answer->stage,
                            why ? why : "unknown error");
}

void ask_feature(struct probe_report *report, const struct question *question)
{
        struct answer answer;
        enum feature_state state = ask(question->ask, question->argument, &answer);
        ask_enter(report, question->feature, state, &answer);
}

void ask_all(struct probe_report *report, const struct question *questions, size_t count)
{
        for (size_t i = 0; i < count; i++)
                ask_feature(report, &questions[i]);
}
