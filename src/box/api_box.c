/* libringwall's boxes; see include/ringwall/ringwall.h, which says what each function does. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <ringwall/ringwall.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "box/diagnosis.h"
#include "box/report.h"
#include "box/start.h"
#include "box/trail.h"
#include "linux/restrict.h"
#include "policy/caps.h"

enum { GRACE_MS = 2000, POLL_MS = 60000 };

struct ringwall_box {
        struct arena *arena;
        struct running box;
        bool running;
        struct report report;
        struct trail trail;
};

static char **copy_words(struct arena *a, char *const *words)
{
        size_t count = 0;
        while (words[count])
                count++;
        char **copy = arena_alloc(a, (count + 1) * sizeof(*copy));
        for (size_t i = 0; copy && i < count; i++)
                if (!(copy[i] = arena_string(a, words[i])))
                        return NULL;
        return copy;
}

char *ringwall_machine_to_json(void)
{
        struct diagnosis *d = malloc(sizeof *d); /* too large for somebody else's stack */
        CLEANUP_TEXT struct text out = { 0 };
        if (!d)
                return NULL;
        diagnosis_make(d);
        CLEANUP_JSON json_t *json = diagnosis_to_json(d);
        free(d);
        return json && json_write(json, &out, true) == 0 ? text_take(&out) : NULL;
}

int ringwall_spawn(const struct ringwall_plan *plan, char *const command[], const int streams[3],
                   struct ringwall_box **ret)
{
        struct ringwall_box *b = calloc(1, sizeof *b);
        struct error e = { 0 };
        if (b)
                b->arena = arena_new(CAP_ARENA_BYTES);
        char **words = b && b->arena ? copy_words(b->arena, command) : NULL;
        if (!words || !words[0]) {
                ringwall_box_free(b);
                return words ? -EINVAL : -ENOMEM;
        }
        report_begin(&b->report, b->arena, (const struct plan *)plan, words);
        struct launch_request request = { .plan = b->report.plan, .command = words, .streams = streams };
        int r = trail_begin(&b->trail, NULL, &b->report, &e);
        if (r == 0)
                r = start_box(&request, &b->report, &b->trail, &b->box, &e);
        if (r < 0)
                report_stop(&b->report, END_FAILED, &e);
        b->running = r == 0;
        if (r < 0)
                (void)trail_end(&b->trail, &b->report); /* the failure is told already */
        *ret = b;
        return r;
}

int ringwall_box_pidfd(const struct ringwall_box *box)
{
        return box->running ? box->box.box.pidfd : -1;
}

int ringwall_box_signal(struct ringwall_box *box, int number)
{
        struct box_message m = { .kind = BOX_SIGNAL, .number = number };
        if (!box->running)
                return -ESRCH;
        return send(box->box.box.control, &m, sizeof m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int ringwall_box_change_hosts(struct ringwall_box *box, const struct ringwall_plan *plan)
{
        struct error e = { 0 };
        return box->running ? egress_change(&box->box.egress, (const struct plan *)plan, &e) : -ESRCH;
}

/* True when it has ended. */
static bool take_message(struct ringwall_box *b)
{
        struct box_message m;
        CLEANUP_FD int fd = -1;
        ssize_t n = box_receive(&b->box.box, &m, &fd);
        if (n == -EAGAIN || n == -EINTR)
                return false;
        if (n == sizeof m) {
                if (m.kind == BOX_STOPPED) /* there is no terminal, and nobody to continue it */
                        (void)ringwall_box_signal(b, SIGCONT);
                bool over = report_take(&b->report, &m);
                if (m.kind == BOX_STARTED)
                        trail_started(&b->trail, &b->report);
                return over;
        }
        struct error e;
        error_set(&e, EPIPE, "wait", "the box was killed from outside");
        report_stop(&b->report, END_FAILED, &e);
        return true;
}

static void end_box(struct ringwall_box *b)
{
        if (!b->running)
                return;
        box_end(&b->box.box);
        start_finish(&b->box, &b->report);
        b->running = false;
        if (trail_end(&b->trail, &b->report) < 0) {
                struct error e;
                error_set(&e, EIO, "audit", "the record could not be written to its end");
                report_stop(&b->report, END_FAILED, &e);
        }
}

int ringwall_box_wait(struct ringwall_box *b, int *ret_status)
{
        uint64_t seconds = b->report.plan->number[PLAN_TIMEOUT].number;
        int64_t end = seconds ? b->report.began + (int64_t)seconds * 1000 : -1;
        bool late = false, over = !b->running;
        while (!over) {
                struct pollfd events[] = { { .fd = b->box.box.control, .events = POLLIN },
                                           { .fd = b->box.egress.events, .events = POLLIN } };
                int64_t left = end < 0 ? POLL_MS : end - clock_ms();
                if (left <= 0 && late)
                        break;
                if (left <= 0) {
                        late = true;
                        end = clock_ms() + GRACE_MS;
                        (void)ringwall_box_signal(b, SIGTERM);
                        continue;
                }
                int n = poll(events, ARRAY_SIZE(events), left > POLL_MS ? POLL_MS : (int)left);
                if (n < 0)
                        return -errno; /* EINTR is for the caller, who may want to go on waiting */
                egress_hear(&b->box.egress);
                over = events[0].revents && take_message(b);
        }
        if (b->running && late)
                report_stop(&b->report, END_TIMED_OUT, NULL);
        end_box(b);
        if (ret_status)
                *ret_status = report_status(&b->report);
        return 0;
}

char *ringwall_box_report(const struct ringwall_box *box)
{
        CLEANUP_JSON json_t *json = report_to_json(&box->report);
        CLEANUP_TEXT struct text out = { 0 };
        return json && json_write(json, &out, true) == 0 ? text_take(&out) : NULL;
}

void ringwall_box_free(struct ringwall_box *box)
{
        if (!box)
                return;
        end_box(box);
        arena_free(box->arena);
        free(box);
}

int ringwall_restrict_self(const struct ringwall_plan *plan)
{
        struct error e = { 0 };
        int r = start_check((const struct plan *)plan, &e);
        return r < 0 ? r : restrict_self((const struct plan *)plan, &e);
}
