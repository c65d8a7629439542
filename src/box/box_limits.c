/*
 * The limits of a box; see box_limits.h.
 *
 * When a box runs out of memory, the kernel kills all its processes at once, the keeper too. The front then sees EOF on
 * the control socket, unless the keeper could still report that the command was killed. The resource group outlives the
 * box, so the reason is read from there.
 */
#include "box/box_limits.h"

#include <errno.h>
#include <signal.h>

#include "base/text.h"

static const struct limit_row {
        enum plan_scalar scalar;
        const char *what;
} limit_rows[] = {
        { PLAN_MEMORY, "memory" },
        { PLAN_CPU, "processor time" },
        { PLAN_PROCESSES, "the number of processes" },
};

/*
 * Fails with an error that names the first limit of the plan and its source. With best effort the error becomes a note,
 * and 0 is returned.
 */
static int refuse_or_note(struct report *r, int code, const char *why, struct error *e)
{
        const struct limit_row *row = limit_rows;
        while (row < limit_rows + ARRAY_SIZE(limit_rows) - 1 && !r->plan->scalar[row->scalar].value)
                row++;
        CLEANUP_TEXT struct text from = { 0 };
        source_print(r->plan->scalar[row->scalar].from, &from);
        bool best_effort = r->plan->scalar[PLAN_BEST_EFFORT].value;
        error_set(e, code, "%s%s cannot be limited here (%.80s): %.300s", best_effort ? "" : "refused: ", row->what,
                  from.data ? from.data : "", why);
        if (!best_effort)
                return -code;
        report_add_note(r, e->text);
        *e = (struct error){ 0 };
        return 0;
}

int box_limits_create(struct report *r, struct resource_group **ret, struct error *e)
{
        struct error why = { 0 };
        int made = resource_group_make(r->plan, ret, &why);
        return made < 0 ? refuse_or_note(r, -made, why.text, e) : 0;
}

static void describe_limit(struct report *r, enum plan_scalar which, const char *event, struct error *e)
{
        CLEANUP_TEXT struct text t = { 0 };
        plan_print_scalar(which, r->plan->scalar[which].value, &t);
        text_add(&t, ", ");
        source_print(r->plan->scalar[which].from, &t);
        error_set(e, ENOMEM, "the box %s (limit %s)", event, t.data ? t.data : "");
}

void box_limits_collect(struct report *r, const struct resource_group *group)
{
        const struct report_ending *end = &r->end;
        struct error e = { 0 };
        if (!group)
                return;
        resource_group_read(group, &r->usage);
        bool killed = (end->how == END_SIGNALLED && end->number == SIGKILL) ||
                      (end->how == END_FAILED && end->error.code == EPIPE) ||
                      (end->how == END_EXITED && end->number == 128 + SIGKILL);
        if (r->usage.oom_kills && killed) {
                if (r->usage.own_ooms)
                        describe_limit(r, PLAN_MEMORY, "ran out of memory", &e);
                else
                        error_set(&e, ENOMEM, "the box was killed because the machine ran out of memory");
                report_set_end(r, END_OUT_OF_MEMORY, &e);
        } else if (r->usage.forks_denied && report_exit_status(r) != 0 && !end->error.code) {
                describe_limit(r, PLAN_PROCESSES, "could not start another process", &r->end.error);
        }
}
