/* Functions of ours in boxes; see cell.h. */
#include "session/cell.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"
#include "policy/caps.h"

static const char stage[] = "cell";

enum { LAST_WORDS_MS = 1000 };

int cell_start(struct cell *c, const struct cell_request *asked, struct error *e)
{
        int ends[2];
        *c = (struct cell){ .trail.fd = -1, .arena = arena_new(CAP_ARENA_BYTES) };
        char **words = c->arena ? arena_alloc(c->arena, 2 * sizeof *words) : NULL;
        if (words)
                words[0] = arena_string(c->arena, asked->name);
        if (!words || !words[0] || socketpair(AF_UNIX, asked->type | SOCK_CLOEXEC, 0, ends) < 0) {
                int code = words ? errno : ENOMEM;
                cell_free(c);
                return error_errno(e, code, stage, "cannot prepare %s", asked->name);
        }
        CLEANUP_FD int ours = ends[0], theirs = ends[1];
        report_begin(&c->report, c->arena, asked->plan, words);
        struct launch_request request = { .plan = asked->plan, .command = words, .serve = asked->serve, .data = asked->data,
                                          .directory = asked->directory,
                                          .socket = theirs, .streams = asked->streams };
        int r = trail_begin(&c->trail, NULL, &c->report, e);
        if (r == 0)
                r = start_box(&request, &c->report, &c->trail, &c->running, e);
        c->alive = r == 0;
        if (r == 0)
                return TAKE_FD(ours);
        report_stop(&c->report, END_FAILED, e);
        (void)cell_end(c); /* the failure is told already */
        cell_free(c);
        return r;
}

int cell_fd(const struct cell *c)
{
        return c->alive && !c->said_all ? c->running.box.control : -1;
}

int cell_egress_fd(const struct cell *c)
{
        return c->alive ? c->running.egress.events : -1;
}

void cell_hear(struct cell *c)
{
        if (c->alive)
                egress_hear(&c->running.egress);
        while (c->alive && !c->said_all) {
                struct box_message m;
                CLEANUP_FD int fd = -1;
                ssize_t n = box_receive(&c->running.box, &m, &fd);
                if (n == -EAGAIN)
                        return;
                if (n == -EINTR)
                        continue;
                c->said_all = n != sizeof m || report_take(&c->report, &m);
                if (n == sizeof m && m.kind == BOX_STARTED)
                        trail_started(&c->trail, &c->report);
        }
}

int cell_change_hosts(struct cell *c, const struct plan *plan, struct error *e)
{
        return c->alive ? egress_change(&c->running.egress, plan, e) : 0;
}

int cell_end(struct cell *c)
{
        int64_t now = clock_ms(), until = now + LAST_WORDS_MS;
        for (cell_hear(c); cell_fd(c) >= 0 && now < until; cell_hear(c), now = clock_ms()) {
                struct pollfd keeper = { .fd = cell_fd(c), .events = POLLIN };
                (void)poll(&keeper, 1, (int)(until - now));
        }
        if (c->alive) {
                box_end(&c->running.box);
                start_finish(&c->running, &c->report);
        }
        c->alive = false;
        return c->arena ? trail_end(&c->trail, &c->report) : 0;
}

void cell_free(struct cell *c)
{
        arena_free(c->arena);
        *c = (struct cell){ .trail.fd = -1 };
}
