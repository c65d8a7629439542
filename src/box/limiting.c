/*
 * Limits; see limiting.h.
 *
 * When memory runs out the kernel kills every process of the box at once, the keeper among them: the control socket
 * ends, or the keeper has just time to say that the command was killed. What happened is read from the cgroup, which
 * outlives the box.
 */
#include "box/limiting.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/text.h"

static const struct limit_row {
        enum plan_number number;
        const char *what;
} rows[] = {
        { PLAN_MEMORY, "memory" },
        { PLAN_CPU, "processor time" },
        { PLAN_PROCESSES, "the number of processes" },
};

/* Names the first limit that the plan asks for, with its source. */
static int refuse(struct report *r, int code, const char *why, struct error *e)
{
        const struct limit_row *row = rows;
        while (row < rows + ARRAY_SIZE(rows) - 1 && !r->plan->number[row->number].number)
                row++;
        CLEANUP_TEXT struct text from = { 0 };
        source_print(r->plan->number[row->number].from, &from);
        bool accepted = r->plan->number[PLAN_BEST_EFFORT].number;
        error_set(e, code, "limits", "%s%s cannot be limited here (%.80s): %.300s", accepted ? "" : "refused: ", row->what,
                  from.data ? from.data : "", why);
        if (!accepted)
                return -code;
        report_note(r, e->text);
        *e = (struct error){ 0 };
        return 0;
}

/*
 * Could the box lift its limits by itself? The files of its cgroup belong to its user, and so may other cgroups that it
 * could move to; so none may be written.
 */
static bool is_in_reach(const struct plan *plan, const struct cgroup *c)
{
        const struct rules *rules = &plan->rules;
        for (size_t i = 0; i < rules->count; i++)
                if (rules->list[i].kind == RULE_WRITE && text_starts(rules->list[i].path, c->tree))
                        return true;
        return rules_decide(rules, c->tree, true, NULL);
}

int limits_prepare(struct report *r, struct cgroup *ret, struct error *e)
{
        const struct plan_value *n = r->plan->number;
        const struct cgroup_limits limits = {
                .memory = n[PLAN_MEMORY].number,
                .cpu = n[PLAN_CPU].number,
                .processes = n[PLAN_PROCESSES].number,
                /* launch.c: have_a_second(), have_a_giver() */
                .keepers = n[PLAN_NAMESPACES].number & SPACE_PID ? 1 : n[PLAN_ALLOW_NETWORK].number ? 3 : 2,
        };
        struct error why = { 0 };
        *ret = CGROUP_NONE;
        if (!limits.memory && !limits.cpu && !limits.processes)
                return 0;
        int made = cgroup_make(&limits, ret, &why);
        if (made == 0 && is_in_reach(r->plan, ret)) {
                cgroup_remove(ret);
                *ret = CGROUP_NONE;
                return refuse(r, EPERM, "the box may write to the tree of cgroups and lift the limit itself", e);
        }
        if (made == 0)
                return 0;
        /* Processes alone can be counted without a cgroup: hold_limits.c. The machine's root is exempt from that. */
        bool by_user = (n[PLAN_NAMESPACES].number & SPACE_USER) && geteuid() != 0;
        if (!limits.memory && !limits.cpu && by_user)
                return 0;
        return refuse(r, -made, why.text, e);
}

static void tell_limit(struct report *r, enum plan_number which, const char *what, struct error *e)
{
        CLEANUP_TEXT struct text t = { 0 };
        plan_print_number(which, r->plan->number[which].number, &t);
        text_add(&t, ", ");
        source_print(r->plan->number[which].from, &t);
        error_set(e, ENOMEM, "limits", "the box %s (limit %s)", what, t.data ? t.data : "");
}

void limits_finish(struct report *r, const struct cgroup *cgroup)
{
        struct cgroup_usage usage;
        struct error e = { 0 };
        if (cgroup->directory < 0)
                return;
        cgroup_read_usage(cgroup, &usage);
        r->memory_peak = usage.memory_peak;
        r->cpu_time = usage.cpu_time;
        bool killed = (r->end == END_SIGNALLED && r->number == SIGKILL) || (r->end == END_FAILED && r->error.code == EPIPE) ||
                      (r->end == END_EXITED && r->number == 128 + SIGKILL);
        if (usage.oom_kills && killed) {
                if (usage.own_ooms)
                        tell_limit(r, PLAN_MEMORY, "ran out of memory", &e);
                else
                        error_set(&e, ENOMEM, "limits", "the box was killed because the machine ran out of memory");
                report_stop(r, END_OUT_OF_MEMORY, &e);
        } else if (usage.forks_denied && report_status(r) != 0 && !r->error.code) {
                tell_limit(r, PLAN_PROCESSES, "could not start another process", &r->error);
        }
}
