/*
 * A fetch as a job; see web_fetching.h.
 *
 * How it works: the tools fork, and the child fetches (web_child.c) while they go on. It says nothing until its end, then
 * writes its report into a pipe. The pipe's end is the child's: it is killed then, whatever it still does, and waited for. One
 * whose time is up, or that nobody wants any more, is killed before that.
 *
 * What an attacker controls: what the child says, if it was taken over. It is bounded, and read as if a stranger had
 * written it.
 */
#include "tools/web_fetching.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "tools/web_child.h"

static const char stage[] = "fetch";

static void end_child(struct web_fetching *f)
{
        fd_close(&f->pipe);
        if (f->pid <= 0)
                return;
        (void)kill(f->pid, SIGKILL);
        while (waitpid(f->pid, &f->status, 0) < 0 && errno == EINTR) /* it was killed, so this is no waiting */
                ;
        f->pid = 0;
}

/* --- as a job --- */

static nfds_t poll_for(const struct job *j, struct pollfd ret[JOB_FDS])
{
        const struct web_fetching *f = web_fetching_of(j);
        ret[0] = (struct pollfd){ .fd = f->pipe, .events = POLLIN };
        return f->pipe >= 0;
}

static int64_t deadline(const struct job *j)
{
        const struct web_fetching *f = web_fetching_of(j);
        return f->pipe < 0 ? INT64_MAX : f->deadline;
}

/* What is there now, in bounds. True at its end. */
static bool read_report(struct web_fetching *f)
{
        static char piece[64 << 10]; /* too large for a stack */
        for (int i = 0; i < 16 && !f->said.failed && f->said.length <= WEB_REPORT_MOST; i++) {
                ssize_t n = read(f->pipe, piece, sizeof piece);
                if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
                        return true;
                if (n < 0)
                        return false;
                text_add_bytes(&f->said, piece, (size_t)n);
        }
        return f->said.failed || f->said.length > WEB_REPORT_MOST;
}

static bool step(struct job *j)
{
        struct web_fetching *f = web_fetching_of(j);
        if (f->pipe < 0)
                return true;
        bool over = read_report(f);
        f->timed_out = !over && clock_ms() >= f->deadline;
        if (over || f->timed_out)
                end_child(f);
        return over || f->timed_out;
}

static uint64_t progress(const struct job *j, struct text *message)
{
        const struct web_fetching *f = web_fetching_of(j);
        text_format(message, "waiting for %s", f->url.host);
        return (uint64_t)(clock_ms() - f->began);
}

static void end(struct job *j)
{
        struct web_fetching *f = web_fetching_of(j);
        end_child(f);
        text_done(&f->said);
        free(f);
}

static const struct job_kind fetching_kind = { poll_for, deadline, step, progress, end };

/* --- running it --- */

struct web_fetching *web_fetching_start(const struct url *url, domain_to_ascii *to_ascii, int64_t timeout_ms, struct error *e)
{
        int ends[2] = { -1, -1 };
        struct web_fetching *f = calloc(1, sizeof *f);
        if (f)
                *f = (struct web_fetching){ .job.kind = &fetching_kind, .pipe = -1, .began = clock_ms(), .url = *url };
        if (!f || pipe2(ends, O_CLOEXEC) < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0 || (f->pid = fork()) < 0) {
                (void)error_errno(e, f ? errno : ENOMEM, stage, "cannot start a process that fetches");
                fd_close(&ends[0]);
                fd_close(&ends[1]);
                free(f);
                return NULL;
        }
        if (f->pid == 0)
                web_child_run(url, to_ascii, ends[1]);
        fd_close(&ends[1]);
        f->pipe = ends[0];
        f->deadline = f->began + timeout_ms;
        return f;
}

bool web_fetching_report(const struct web_fetching *f, struct web_report *ret)
{
        return f->pipe < 0 && f->said.length && web_report_read(f->said.data, f->said.length, ret);
}
