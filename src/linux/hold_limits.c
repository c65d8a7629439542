/*
 * limits: memory, processor time and processes of the whole box, by a cgroup that the keeper was cloned into (cgroup.c).
 * Without one, the processes alone, by RLIMIT_NPROC: it counts those of the box's own user namespace, the keeper among
 * them. uid 0 of the machine is exempt, so limiting.c refuses that.
 */
#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "linux/cgroup.h"
#include "linux/hold.h"

static int prepare(struct site *site, struct error *e)
{
        if (site->request->cgroup)
                return cgroup_settle(site->request->cgroup, e);
        uint64_t processes = site->plan->number[PLAN_PROCESSES].number;
        struct rlimit most = { processes + 1, processes + 1 };
        if (processes && site_has(site->plan, SPACE_USER) && setrlimit(RLIMIT_NPROC, &most) < 0)
                return error_errno(e, errno, "limits", "cannot limit the number of processes");
        return 0;
}

static void report(const struct standing *s, struct text *out)
{
        static const enum plan_number limits[] = { PLAN_MEMORY, PLAN_CPU, PLAN_PROCESSES };
        bool by_user = site_has(s->plan, SPACE_USER) && geteuid() != 0;
        for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
                uint64_t value = s->plan->number[limits[i]].number;
                if (!value || !(s->cgroup || (by_user && limits[i] == PLAN_PROCESSES)))
                        continue;
                text_format(out, "%s%s ", out->length ? ", " : "", plan_numbers[limits[i]].name);
                plan_print_number(limits[i], value, out);
        }
        if (out->length)
                text_add(out, s->cgroup ? " (cgroup)" : " (RLIMIT_NPROC)");
}

const struct hold hold_limits = { "limits", prepare, NULL, report };
