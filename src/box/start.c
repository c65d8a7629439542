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
#include "linux/ruleset.h"
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

/* The network of a box that has no namespace of its own for it. */
static int check_proxies(const struct plan *plan, struct error *e)
{
        enum { ABI_WITH_PORTS = 4 };
        const struct source from = plan->number[PLAN_ALLOW_NETWORK].from;
        if (plan->published.count)
                return refuse(e, plan->published.list[0].from, "at level standard no port can be published, because a program that may "
                              "listen there could listen on every address of this machine; use --level strict");
        if (!plan_reaches_out(plan))
                return refuse(e, from, "at level standard a box has no loopback of its own, only hosts that are named; "
                              "use --allow-domain, or --level strict");
        if (ruleset_abi() < ABI_WITH_PORTS)
                return refuse(e, from, "level standard can hold hosts from Linux 6.7 on (Landlock's rules for ports); use --level strict");
        return 0;
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
        return n[PLAN_ALLOW_NETWORK].number && !(spaces & SPACE_NET) ? check_proxies(plan, e) : 0;
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
        const char *name;
        enum { BY_HTTP, BY_SOCKS, BY_NONE } way;
} proxy_variables[] = {
        { "http_proxy", BY_HTTP },  { "HTTP_PROXY", BY_HTTP }, { "https_proxy", BY_HTTP }, { "HTTPS_PROXY", BY_HTTP },
        { "all_proxy", BY_SOCKS },  { "ALL_PROXY", BY_SOCKS }, { "no_proxy", BY_NONE },    { "NO_PROXY", BY_NONE },
};

static char *proxy_variable(struct arena *a, size_t index, const struct egress_proxies *proxies)
{
        const char *name = proxy_variables[index].name, *user = *proxies->token ? "ringwall:" : "", *at = *proxies->token ? "@" : "";
        switch (proxy_variables[index].way) {
        case BY_HTTP:
                return arena_format(a, "%s=http://%s%s%s127.0.0.1:%u", name, user, proxies->token, at, proxies->http);
        case BY_SOCKS:
                return arena_format(a, "%s=socks5h://%s%s%s127.0.0.1:%u", name, user, proxies->token, at, proxies->socks);
        case BY_NONE:
                break;
        }
        return arena_format(a, "%s=localhost,127.0.0.1,::1", name);
}

char **start_environment(struct arena *a, const struct plan *plan, const char *scratch, const struct egress_proxies *proxies)
{
        const struct egress_proxies of_namespace = { .http = BOX_PORT_HTTP, .socks = BOX_PORT_SOCKS };
        bool proxied = proxies || (plan->number[PLAN_PROXY_VARIABLES].number && plan_reaches_out(plan));
        char **list = arena_alloc(a, (plan->env_count + ARRAY_SIZE(proxy_variables) + 1) * sizeof(*list));
        size_t count = 0;
        for (size_t i = 0; list && i < plan->env_count; i++) {
                char *text = variable(a, plan, &plan->env[i], scratch);
                if (text)
                        list[count++] = text;
        }
        for (size_t i = 0; list && proxied && i < ARRAY_SIZE(proxy_variables); i++)
                if (!has_variable(plan, proxy_variables[i].name)) /* a policy's own wins */
                        list[count++] = proxy_variable(a, i, proxies ? proxies : &of_namespace);
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
        if (!request->directory)
                request->directory = start_directory(r->arena, request->plan);
        if (!request->directory || (*name && !request->scratch))
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
        request->proxies = ret->egress.proxies.where.http ? &ret->egress.proxies.where : NULL;
        request->environment = start_environment(r->arena, request->plan, request->scratch, request->proxies);
        if (done == 0 && !request->environment)
                done = error_errno(e, ENOMEM, "start", "no memory");
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
