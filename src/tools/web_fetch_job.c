/*
 * Runs a fetch as a job; see web_fetch_job.h.
 *
 * How it works: the worker forks, and the child fetches (web_fetch_child.c). When it is done, the child writes its
 * report into a pipe. At EOF the child is killed, whatever it still does, and reaped. After a timeout, or when the call
 * is cancelled, it is killed before that.
 *
 * What an attacker controls: the report, if the child was taken over. Its size is limited, and it is parsed as
 * untrusted input.
 */
#include "tools/web_fetch_job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "tools/web_fetch_child.h"

static void kill_child(struct web_fetch_job *f)
{
        fd_close(&f->pipe);
        if (f->pid <= 0)
                return;
        (void)kill(f->pid, SIGKILL);
        while (waitpid(f->pid, &f->status, 0) < 0 && errno == EINTR) /* does not block for long: it was killed */
                ;
        f->pid = 0;
}

/* --- as a job --- */

static nfds_t poll_for(const struct job *j, struct pollfd ret[JOB_POLL_FDS_MAX])
{
        const struct web_fetch_job *f = web_fetch_job_from(j);
        ret[0] = (struct pollfd){ .fd = f->pipe, .events = POLLIN };
        return f->pipe >= 0;
}

static int64_t deadline(const struct job *j)
{
        const struct web_fetch_job *f = web_fetch_job_from(j);
        return f->pipe < 0 ? INT64_MAX : f->deadline;
}

/* Reads what is available, up to a limit. Returns true at EOF, and when the report is too long. */
static bool read_report(struct web_fetch_job *f)
{
        static char piece[64 << 10]; /* too large for a stack */
        for (int i = 0; i < 16 && !f->report.failed && f->report.length <= WEB_REPORT_MAX; i++) {
                ssize_t n = read(f->pipe, piece, sizeof piece);
                if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
                        return true;
                if (n < 0)
                        return false;
                text_add_bytes(&f->report, piece, (size_t)n);
        }
        return f->report.failed || f->report.length > WEB_REPORT_MAX;
}

static bool step(struct job *j)
{
        struct web_fetch_job *f = web_fetch_job_from(j);
        if (f->pipe < 0)
                return true;
        bool over = read_report(f);
        f->timed_out = !over && clock_ms() >= f->deadline;
        if (over || f->timed_out)
                kill_child(f);
        return over || f->timed_out;
}

static uint64_t progress(const struct job *j, struct text *message)
{
        const struct web_fetch_job *f = web_fetch_job_from(j);
        text_format(message, "waiting for %s", f->url.host);
        return (uint64_t)(clock_ms() - f->began);
}

static void free_job(struct job *j)
{
        struct web_fetch_job *f = web_fetch_job_from(j);
        kill_child(f);
        text_done(&f->report);
        free(f);
}

static const struct job_ops fetching_kind = { poll_for, deadline, step, progress, free_job };

/* --- running it --- */

struct web_fetch_job *web_fetch_job_start(const struct url *url, to_ascii_function *to_ascii, int64_t timeout_ms,
                                          struct error *e)
{
        int fds[2] = { -1, -1 };
        struct web_fetch_job *f = calloc(1, sizeof *f);
        if (f)
                *f = (struct web_fetch_job){ .job.kind = &fetching_kind, .pipe = -1, .began = clock_ms(), .url = *url };
        if (!f || pipe2(fds, O_CLOEXEC) < 0 || fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0 || (f->pid = fork()) < 0) {
                (void)error_errno(e, f ? errno : ENOMEM, "cannot start the fetch process");
                fd_close(&fds[0]);
                fd_close(&fds[1]);
                free(f);
                return NULL;
        }
        if (f->pid == 0)
                web_fetch_child_main(url, to_ascii, fds[1]);
        fd_close(&fds[1]);
        f->pipe = fds[0];
        f->deadline = f->began + timeout_ms;
        return f;
}

bool web_fetch_job_report(const struct web_fetch_job *f, struct web_report *ret)
{
        return f->pipe < 0 && f->report.length && web_report_parse(f->report.data, f->report.length, ret);
}
