/* A cgroup for a plan's limits, or none where RLIMIT_NPROC is enough (wall_limits.c); see platform/limits.h. */
#include "linux/resource_group.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/memory.h"
#include "linux/guard.h"
#include "linux/mountinfo.h"
#include "policy/path_pattern.h"

/* Does the tree have cgroup files in it, by any mount of theirs? */
static bool contains_cgroups(const char *tree, const char *mounts)
{
        struct statfs fs;
        struct mountinfo_entry *m = malloc(sizeof *m);
        bool found = !m || (statfs(tree, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC);
        while (!found && mountinfo_next(&mounts, m))
                found = strcmp(m->type, "cgroup2") == 0 && path_is_beneath(m->point, tree);
        free(m);
        return found;
}

/*
 * Could the box lift its own limits? The files of its cgroup belong to its user, as may other cgroups that it could
 * move to. So the box must not be able to write to any of them.
 */
static bool can_lift_limits(const struct plan *plan)
{
        CLEANUP_FREE char *text = NULL;
        if (mountinfo_read(&text) < 0)
                return true;
        for (size_t i = 0; i < plan->rules.count; i++) {
                const struct rule *r = &plan->rules.list[i];
                CLEANUP_FREE char *real = r->kind == RULE_WRITE && !r->glob ? realpath(r->path, NULL) : NULL;
                if (real && contains_cgroups(real, text))
                        return true;
        }
        return false;
}

static int make_cgroup(const struct cgroup_limits *limits, struct resource_group **ret, struct error *e)
{
        struct resource_group *g = calloc(1, sizeof *g);
        if (!g)
                return error_errno(e, ENOMEM, "no memory");
        g->cgroup = CGROUP_NONE;
        int r = cgroup_create(limits, &g->cgroup, e);
        if (r == 0)
                *ret = g;
        else
                resource_group_remove(g);
        return r;
}

int resource_group_make(const struct plan *plan, struct resource_group **ret, struct error *e)
{
        const struct plan_value *n = plan->scalar;
        const struct cgroup_limits limits = {
                .memory = n[PLAN_MEMORY].value,
                .cpu = n[PLAN_CPU].value,
                .processes = n[PLAN_PROCESSES].value,
                /* keeper.c: the keeper, start_guard(), fork_watchdog(); with a guard there is no
                   fork_socket_server() */
                .own_processes = 1 + GUARDS_WITH_PROCESS_LIMIT + (n[PLAN_NAMESPACES].value & NAMESPACE_PID ? 0 : 1),
        };
        *ret = NULL;
        if (!limits.memory && !limits.cpu && !limits.processes)
                return 0;
        int r = make_cgroup(&limits, ret, e);
        if (r == 0 && can_lift_limits(plan)) {
                resource_group_remove(*ret);
                *ret = NULL;
                return error_set(e, EPERM, "the box may write to the cgroup tree and could lift the limit itself");
        }
        /* A limit on processes alone needs no cgroup (wall_limits.c), except for root, who is exempt from
           RLIMIT_NPROC. */
        bool by_user = (n[PLAN_NAMESPACES].value & NAMESPACE_USER) && geteuid() != 0;
        if (r < 0 && !limits.memory && !limits.cpu && by_user) {
                *e = (struct error){ 0 };
                return 0;
        }
        return r;
}

void resource_group_read(const struct resource_group *g, struct resource_usage *ret)
{
        cgroup_read_usage(&g->cgroup, ret);
}

void resource_group_remove(struct resource_group *g)
{
        if (g)
                cgroup_remove(&g->cgroup);
        free(g);
}
