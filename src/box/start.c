/* Starting a box; see start.h. */
#include "box/start.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/fd.h"
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
        uint64_t spaces = n[PLAN_NAMESPACES].number;
        if (plan->unix_socket_count && !(spaces & SPACE_MOUNT))
                return refuse(e, plan->unix_sockets[0].from,
                              "a unix socket can only be shown to a box with a mount namespace; use --level strict");
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

static bool has_variable(const struct plan *plan, const char *name)
{
        for (size_t i = 0; i < plan->env_count; i++)
                if (strcasecmp(plan->env[i].name, name) == 0)
                        return true;
        return false;
}

/* For programs that want a proxy; in both cases, because they read the one or the other. */
static const struct {
        const char *name, *text;
} proxy_variables[] = {
        { "http_proxy", "http_proxy=http://127.0.0.1:3128" },     { "HTTP_PROXY", "HTTP_PROXY=http://127.0.0.1:3128" },
        { "https_proxy", "https_proxy=http://127.0.0.1:3128" },   { "HTTPS_PROXY", "HTTPS_PROXY=http://127.0.0.1:3128" },
        { "all_proxy", "all_proxy=socks5h://127.0.0.1:1080" },    { "ALL_PROXY", "ALL_PROXY=socks5h://127.0.0.1:1080" },
        { "no_proxy", "no_proxy=localhost,127.0.0.1,::1" },       { "NO_PROXY", "NO_PROXY=localhost,127.0.0.1,::1" },
};
_Static_assert(BOX_PORT_HTTP == 3128 && BOX_PORT_SOCKS == 1080, "the ports are those of the entrances");

char **start_environment(struct arena *a, const struct plan *plan, const char *scratch)
{
        bool proxied = plan->number[PLAN_PROXY_VARIABLES].number && plan_reaches_out(plan);
        char **list = arena_alloc(a, (plan->env_count + ARRAY_SIZE(proxy_variables) + 1) * sizeof(*list));
        size_t count = 0;
        for (size_t i = 0; list && i < plan->env_count; i++) {
                char *text = variable(a, plan, &plan->env[i], scratch);
                if (text)
                        list[count++] = text;
        }
        for (size_t i = 0; list && proxied && i < ARRAY_SIZE(proxy_variables); i++)
                if (!has_variable(plan, proxy_variables[i].name)) /* a policy's own wins */
                        list[count++] = arena_string(a, proxy_variables[i].text);
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

int start_box(struct launch_request *request, struct report *r, struct trail *trail, struct running *ret, struct error *e)
{
        CLEANUP_FD int egress = -1;
        ret->egress = EGRESS_NONE;
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
        r->egress = plan_reaches_out(request->plan);
        if (r->egress)
                done = egress_start(r, trail, &ret->egress, &egress, e);
        request->egress = egress;
        if (done == 0)
                done = launch_box(request, &ret->box, e);
        if (done < 0) {
                fd_close(&egress);
                egress_end(&ret->egress);
                cgroup_remove(&ret->cgroup);
        }
        return done;
}

void start_finish(struct running *running, struct report *r)
{
        egress_end(&running->egress);
        limits_finish(r, &running->cgroup);
        cgroup_remove(&running->cgroup);
}
