/* Starting a box; see start.h. */
#include "box/start.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "box/limiting.h"
#include "linux/scratch.h"
#include "policy/pattern.h"

/* --- what is refused --- */

/*
 * What no wall holds yet, so that a plan which asks for it is refused instead of run without it. Each has the sentence
 * that a person reads.
 */
static const struct {
        enum plan_number number;
        const char *what;
} not_yet[] = {
        { PLAN_SNAPSHOT, "snapshots cannot be made yet; leave workspace_snapshot out" },
};

static int refuse(struct error *e, struct source from, const char *what)
{
        CLEANUP_TEXT struct text source = { 0 };
        source_print(from, &source);
        return error_set(e, ENOTSUP, "check", "refused: %s (%s)", what, source.data ? source.data : "");
}

int start_check(const struct plan *plan, struct error *e)
{
        const struct plan_value *n = plan->number;
        for (size_t i = 0; i < ARRAY_SIZE(not_yet); i++)
                if (n[not_yet[i].number].number)
                        return refuse(e, n[not_yet[i].number].from, not_yet[i].what);
        for (size_t i = 0; i < plan->hosts.count; i++)
                if (plan->hosts.list[i].allow)
                        return refuse(e, plan->hosts.list[i].from, "hosts cannot be reached yet; run without network");
        uint64_t spaces = n[PLAN_NAMESPACES].number;
        if (!(spaces & SPACE_PID) != !(spaces & SPACE_MOUNT))
                return refuse(e, n[PLAN_NAMESPACES].from, "the namespaces pid and mount only work together, because of /proc");
        if (n[PLAN_ALLOW_NETWORK].number && !(spaces & SPACE_NET))
                return refuse(e, n[PLAN_ALLOW_NETWORK].from, "level standard cannot hold a network yet; use --level strict");
        return 0;
}

/* --- what the command gets --- */

static bool has_private_home(const struct plan *plan)
{
        for (size_t i = 0; i < plan->rules.count; i++)
                if (plan->rules.list[i].kind == RULE_PRIVATE && strcmp(plan->rules.list[i].path, plan->home) == 0)
                        return true;
        return false;
}

static char *variable(struct arena *a, const struct plan *plan, const struct plan_env *env, const char *scratch)
{
        /* Inside, these are the box's own. */
        if (!env->value && strcmp(env->name, "HOME") == 0)
                return scratch && has_private_home(plan) ? arena_format(a, "HOME=%s/home", scratch)
                                                         : arena_format(a, "HOME=%s", *plan->home ? plan->home : "/");
        if (!env->value && strcmp(env->name, "TMPDIR") == 0)
                return arena_format(a, "TMPDIR=%s/tmp", scratch ? scratch : "");
        const char *value = env->value ? env->value : getenv(env->name);
        return value ? arena_format(a, "%s=%s", env->name, value) : NULL;
}

char **start_environment(struct arena *a, const struct plan *plan, const char *scratch)
{
        char **list = arena_alloc(a, (plan->env_count + 1) * sizeof(*list));
        size_t count = 0;
        for (size_t i = 0; list && i < plan->env_count; i++) {
                char *text = variable(a, plan, &plan->env[i], scratch);
                if (text)
                        list[count++] = text;
        }
        return list;
}

/* The current directory if it lies in the workspace, else the workspace. */
static const char *start_directory(struct arena *a, const struct plan *plan)
{
        char *cwd = getcwd(NULL, 0);
        const char *start = cwd && path_is_beneath(cwd, plan->workspace) ? arena_string(a, cwd) : plan->workspace;
        free(cwd);
        return start;
}

int start_box(struct launch_request *request, struct report *r, struct running *ret, struct error *e)
{
        int done = start_check(request->plan, e);
        char name[SCRATCH_LENGTH] = "";
        if (done == 0 && !(request->plan->number[PLAN_NAMESPACES].number & SPACE_MOUNT))
                done = scratch_name(name, e);
        if (done < 0)
                return done;
        request->scratch = *name ? arena_string(r->arena, name) : NULL;
        request->environment = start_environment(r->arena, request->plan, request->scratch);
        if (!request->directory)
                request->directory = start_directory(r->arena, request->plan);
        if (!request->environment || !request->directory || (*name && !request->scratch))
                return error_errno(e, ENOMEM, "start", "no memory");
        done = limits_prepare(r, &ret->cgroup, e);
        if (done < 0)
                return done;
        request->cgroup = ret->cgroup.directory >= 0 ? &ret->cgroup : NULL;
        r->cgroup = request->cgroup != NULL;
        done = launch_box(request, &ret->box, e);
        if (done < 0)
                cgroup_remove(&ret->cgroup);
        return done;
}

void start_finish(struct running *running, struct report *r)
{
        limits_finish(r, &running->cgroup);
        cgroup_remove(&running->cgroup);
}
