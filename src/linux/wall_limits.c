/*
 * limits: memory, CPU time and processes of the whole box, by a cgroup that the keeper was cloned into (cgroup.c).
 * Without a cgroup only the number of processes, by RLIMIT_NPROC, which counts those in the box's own user namespace,
 * with the keeper. uid 0 of the machine is exempt from it, so resource_group.c refuses that.
 */
#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "linux/box_setup.h"
#include "linux/guard.h"
#include "linux/probes.h"
#include "linux/resource_group.h"

static int prepare(struct box_setup *setup, struct error *e)
{
        if (setup->request->resources)
                return cgroup_prepare_keeper(&setup->request->resources->cgroup,
                                             !plan_has_namespace(setup->plan, NAMESPACE_PID), e);
        uint64_t processes = setup->plan->scalar[PLAN_PROCESSES].value;
        uint64_t own_processes = 1 + GUARDS_WITH_PROCESS_LIMIT; /* keeper and guard */
        struct rlimit limit = { processes + own_processes, processes + own_processes };
        if (processes && plan_has_namespace(setup->plan, NAMESPACE_USER) && setrlimit(RLIMIT_NPROC, &limit) < 0)
                return error_errno(e, errno, "cannot limit the number of processes");
        return 0;
}

static void report(const struct enforced_state *s, struct text *out)
{
        static const enum plan_scalar limits[] = { PLAN_MEMORY, PLAN_CPU, PLAN_PROCESSES };
        bool by_user = plan_has_namespace(s->plan, NAMESPACE_USER) && geteuid() != 0;
        for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
                uint64_t value = s->plan->scalar[limits[i]].value;
                if (!value || !(s->resources || (by_user && limits[i] == PLAN_PROCESSES)))
                        continue;
                text_format(out, "%s%s ", out->length ? ", " : "", plan_scalar_name(limits[i]));
                plan_print_scalar(limits[i], value, out);
        }
        if (out->length)
                text_add(out, s->resources ? " (cgroup)" : " (RLIMIT_NPROC)");
}

const struct wall_ops wall_limits = { "limits", .probe = probe_limits, .prepare = prepare, .report = report };
