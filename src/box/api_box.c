/* libringwall's boxes. Each function is described in include/ringwall/ringwall.h. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <ringwall/ringwall.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "box/box_run.h"
#include "box/diagnosis.h"
#include "platform/platform.h"
#include "policy/input_limits.h"

struct ringwall_box {
        struct arena *arena;
        struct box_run run;
};

static char **copy_words(struct arena *a, char *const *words)
{
        size_t count = 0;
        while (words[count])
                count++;
        char **copy = arena_alloc(a, (count + 1) * sizeof(*copy));
        for (size_t i = 0; copy && i < count; i++)
                if (!(copy[i] = arena_strdup(a, words[i])))
                        return NULL;
        return copy;
}

char *ringwall_machine_to_json(void)
{
        struct diagnosis *d = malloc(sizeof *d); /* too large for the stack of a caller that we do not know */
        CLEANUP_TEXT struct text out = { 0 };
        if (!d)
                return NULL;
        diagnosis_run(d);
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
                b->arena = arena_new(ARENA_BYTES_MAX);
        char **words = b && b->arena ? copy_words(b->arena, command) : NULL;
        if (!words || !words[0]) {
                ringwall_box_free(b);
                return words ? -EINVAL : -ENOMEM;
        }
        struct launch_request request = { .plan = (const struct plan *)plan, .command = words, .streams = streams };
        int r = box_run_begin(&b->run, b->arena, request.plan, words, NULL, &e);
        if (r == 0)
                r = box_run_start(&b->run, &request, &e);
        if (r < 0)
                (void)box_run_finish(&b->run, false); /* the report has the first failure already */
        *ret = b;
        return r;
}

int ringwall_box_pidfd(const struct ringwall_box *box)
{
        return box->run.alive ? box->run.running.box.pidfd : -1;
}

int ringwall_box_signal(struct ringwall_box *box, int number)
{
        return box_run_send(&box->run, BOX_SIGNAL, number);
}

int ringwall_box_change_hosts(struct ringwall_box *box, const struct ringwall_plan *plan)
{
        struct error e = { 0 };
        return box->run.alive ? egress_set_hosts(&box->run.running.egress, (const struct plan *)plan, &e) : -ESRCH;
}

static void end_box(struct ringwall_box *b)
{
        if (!b->run.alive || box_run_finish(&b->run, false) == 0)
                return;
        struct error e;
        error_set(&e, EIO, "cannot write the audit trail: it is incomplete");
        box_run_fail(&b->run, &e);
}

int ringwall_box_wait(struct ringwall_box *b, int *ret_status)
{
        while (b->run.alive && !b->run.over) {
                struct pollfd events[BOX_RUN_FDS];
                struct box_message m;
                CLEANUP_FD int fd = -1;
                box_run_fill_pollfds(&b->run, events);
                if (poll(events, ARRAY_SIZE(events), box_run_wait_ms(&b->run)) < 0)
                        return -errno; /* EINTR too: the caller decides whether to wait again */
                if (box_run_receive(&b->run, &m, &fd) && m.kind == BOX_STOPPED)
                        (void)ringwall_box_signal(b, SIGCONT); /* no shell is there to continue a stopped command */
                box_run_check_time(&b->run);
        }
        end_box(b);
        if (ret_status)
                *ret_status = report_exit_status(&b->run.report);
        return 0;
}

char *ringwall_box_report(const struct ringwall_box *box)
{
        CLEANUP_JSON json_t *json = report_to_json(&box->run.report);
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
        int r = start_check_supported((const struct plan *)plan, &e);
        return r < 0 ? r : platform_restrict_self((const struct plan *)plan, &e);
}
