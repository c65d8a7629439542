/* The life of a box; see box_run.h. */
#include "box/box_run.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>

#include "base/clock.h"

enum { GRACE_MS = 2000, POLL_MS_MAX = 60000 };

int box_run_begin(struct box_run *run, struct arena *a, const struct plan *plan, char *const *command,
                  const char *audit, struct error *e)
{
        *run = BOX_RUN_NONE;
        report_init(&run->report, a, plan, command);
        int r = audit_trail_open(&run->trail, audit, &run->report, e);
        if (r < 0)
                box_run_fail(run, e);
        return r;
}

int box_run_start(struct box_run *run, struct launch_request *request, struct error *e)
{
        uint64_t seconds = run->report.plan->scalar[PLAN_TIMEOUT].value;
        int r = start_box(request, &run->report, &run->trail, &run->running, e);
        if (r < 0) {
                box_run_fail(run, e);
                return r;
        }
        run->alive = true;
        run->over = false;
        if (seconds)
                run->deadline = clock_ms() + (int64_t)seconds * 1000;
        return 0;
}

void box_run_fail(struct box_run *run, const struct error *e)
{
        report_set_end(&run->report, END_FAILED, e);
        run->over = true;
}

void box_run_fill_pollfds(const struct box_run *run, struct pollfd ret[BOX_RUN_FDS])
{
        ret[0] = (struct pollfd){ .fd = run->alive && !run->over ? run->running.box.control : -1, .events = POLLIN };
        ret[1] = (struct pollfd){ .fd = run->alive ? run->running.egress.events : -1, .events = POLLIN };
}

bool box_run_receive(struct box_run *run, struct box_message *ret, int *ret_fd)
{
        *ret_fd = -1;
        if (!run->alive)
                return false;
        egress_receive(&run->running.egress);
        if (run->over)
                return false;
        ssize_t n = box_receive(&run->running.box, ret, ret_fd);
        if (n == -EAGAIN || n == -EINTR)
                return false;
        if (n != sizeof *ret) {
                struct error e;
                error_set(&e, EPIPE, "the box was killed, by another process or for lack of memory");
                box_run_fail(run, &e);
                return false;
        }
        run->over = report_add_message(&run->report, ret);
        if (ret->kind == BOX_STARTED)
                audit_trail_log_walls(&run->trail, &run->report);
        return true;
}

int box_run_send(const struct box_run *run, enum box_message_kind kind, int number)
{
        const struct box_message m = { .kind = kind, .number = number };
        if (!run->alive)
                return -ESRCH;
        return send(run->running.box.control, &m, sizeof m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int box_run_wait_ms(const struct box_run *run)
{
        int64_t left = run->deadline < 0 ? POLL_MS_MAX : run->deadline - clock_ms();
        return left < 0 ? 0 : left > POLL_MS_MAX ? POLL_MS_MAX : (int)left;
}

/*
 * First call after the deadline: sends SIGTERM, and SIGCONT, because a stopped process cannot handle SIGTERM. After the
 * grace period the run is over, and box_run_finish() kills the box.
 */
void box_run_check_time(struct box_run *run)
{
        if (run->over || run->deadline < 0 || clock_ms() < run->deadline)
                return;
        run->over = run->timed_out; /* the grace period has expired too */
        run->timed_out = true;
        run->deadline = clock_ms() + GRACE_MS;
        (void)box_run_send(run, BOX_SIGNAL, SIGTERM);
        (void)box_run_send(run, BOX_SIGNAL, SIGCONT);
}

int box_run_finish(struct box_run *run, bool leaving)
{
        if (run->alive) {
                bool ended = run->report.end.how != END_NONE && run->report.end.how != END_FAILED;
                if (leaving && ended)
                        box_close_fds(&run->running.box);
                else
                        box_kill(&run->running.box);
                if (run->timed_out)
                        report_set_end(&run->report, END_TIMED_OUT, NULL);
                running_box_finish(&run->running, &run->report);
        }
        run->alive = false;
        run->over = true;
        return audit_trail_close(&run->trail, &run->report);
}
