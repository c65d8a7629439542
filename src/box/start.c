/* Starts a box; see start.h. */
#include "box/start.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "box/box_limits.h"
#include "platform/platform.h"
#include "policy/path_pattern.h"

/* --- what is refused --- */

/* Not implemented in any wall: a plan that asks for it is refused, instead of being run without it. */
static const struct {
        enum plan_scalar scalar;
        const char *message;
} unimplemented[] = {
        { PLAN_SNAPSHOT, "snapshots are not implemented yet; remove workspace_snapshot" },
};

int start_check_supported(const struct plan *plan, struct error *e)
{
        const struct plan_value *n = plan->scalar;
        for (size_t i = 0; i < ARRAY_SIZE(unimplemented); i++)
                if (n[unimplemented[i].scalar].value)
                        return error_not_enforceable(n[unimplemented[i].scalar].from, unimplemented[i].message, e);
        return platform_check_plan(plan, e);
}

/* --- the command's environment --- */

static bool has_private_home(const struct plan *plan)
{
        for (size_t i = 0; i < plan->rules.count; i++)
                if (plan->rules.list[i].kind == RULE_PRIVATE && strcmp(plan->rules.list[i].path, plan->home) == 0)
                        return true;
        return false;
}

static bool is_pattern(const struct plan_env *env)
{
        return strchr(env->name, '*');
}

/* Does the plan set a value, or does the front have one to pass on? */
static bool is_set(const struct plan *plan, const struct plan_env *env)
{
        if (env->value || strcmp(env->name, "HOME") == 0 || strcmp(env->name, "TMPDIR") == 0)
                return true;
        const char *outside = is_pattern(env) ? NULL : getenv(env->name);
        const struct rule *rule;
        if (outside && strcmp(env->name, "SHELL") == 0) /* programs start it, so the box must be able to read it */
                return *outside == '/' && rules_decide(&plan->rules, outside, false, &rule) &&
                       rule->kind != RULE_PRIVATE;
        return outside;
}

/* NULL without memory. */
static char *make_variable(struct arena *a, const struct plan *plan, const struct plan_env *env, const char *scratch)
{
        /* Unless the plan sets a value, these are the directories of the box, not those of the front. */
        if (!env->value && strcmp(env->name, "HOME") == 0)
                return scratch && has_private_home(plan) ? arena_format(a, "HOME=%s/home", scratch)
                                                         : arena_format(a, "HOME=%s", *plan->home ? plan->home : "/");
        if (!env->value && strcmp(env->name, "TMPDIR") == 0)
                return arena_format(a, "TMPDIR=%s/tmp", scratch ? scratch : "");
        return arena_format(a, "%s=%s", env->name, env->value ? env->value : getenv(env->name));
}

/* Ignores case, so that a policy's http_proxy counts for HTTP_PROXY too. */
static bool has_variable(const struct plan *plan, const char *name)
{
        for (size_t i = 0; i < plan->env_count; i++)
                if (strcasecmp(plan->env[i].name, name) == 0)
                        return true;
        return false;
}

static bool matches_a_pattern(const struct plan *plan, const char *name)
{
        for (size_t i = 0; i < plan->env_count; i++)
                if (is_pattern(&plan->env[i]) && fnmatch(plan->env[i].name, name, 0) == 0)
                        return true;
        return false;
}

/* For programs that use a proxy; in lower and upper case, because programs read one or the other. */
static const struct {
        const char *name;
        enum { BY_HTTP, BY_SOCKS, BY_NONE } proxy; /* BY_NONE: the hosts to reach without a proxy */
} proxy_variables[] = {
        { "http_proxy", BY_HTTP },  { "HTTP_PROXY", BY_HTTP }, { "https_proxy", BY_HTTP }, { "HTTPS_PROXY", BY_HTTP },
        { "all_proxy", BY_SOCKS },  { "ALL_PROXY", BY_SOCKS }, { "no_proxy", BY_NONE },    { "NO_PROXY", BY_NONE },
};

static char *make_proxy_variable(struct arena *a, size_t index, const struct proxy_endpoints *proxies)
{
        const char *name = proxy_variables[index].name, *user = *proxies->token ? "ringwall:" : "",
                   *at = *proxies->token ? "@" : "";
        switch (proxy_variables[index].proxy) {
        case BY_HTTP:
                return arena_format(a, "%s=http://%s%s%s127.0.0.1:%u", name, user, proxies->token, at, proxies->http);
        case BY_SOCKS:
                return arena_format(a, "%s=socks5h://%s%s%s127.0.0.1:%u", name, user, proxies->token, at,
                                    proxies->socks);
        case BY_NONE:
                break;
        }
        return arena_format(a, "%s=localhost,127.0.0.1,::1", name);
}

static bool is_proxy_variable(const char *name)
{
        for (size_t i = 0; i < ARRAY_SIZE(proxy_variables); i++)
                if (strcmp(proxy_variables[i].name, name) == 0)
                        return true;
        return false;
}

/*
 * Adds the front's variables that match a pattern and have no entry of their own. Leaves out names with bytes other
 * than letters, digits and '_': bash exports its functions as variables with such names.
 */
static int add_matching(struct arena *a, const struct plan *plan, bool proxied, char **list, size_t *count)
{
        static const char name_bytes[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
        for (char **variable = environ; *variable; variable++) {
                size_t length = strspn(*variable, name_bytes);
                const char *name = (*variable)[length] == '=' ? arena_strndup(a, *variable, length) : "";
                if (!name)
                        return -ENOMEM;
                if (!*name || has_variable(plan, name) || (proxied && is_proxy_variable(name)) ||
                    !matches_a_pattern(plan, name))
                        continue;
                if (!(list[(*count)++] = arena_strdup(a, *variable))) /* the keeper clears its own environment */
                        return -ENOMEM;
        }
        return 0;
}

static size_t count_variables(void)
{
        size_t count = 0;
        while (environ[count])
                count++;
        return count;
}

char **start_build_environment(struct arena *a, const struct plan *plan, const char *scratch,
                               const struct proxy_endpoints *proxies)
{
        const struct proxy_endpoints in_namespace = { .http = RESERVED_PORT_HTTP_PROXY, .socks = RESERVED_PORT_SOCKS };
        bool proxied = proxies || (plan->scalar[PLAN_PROXY_VARIABLES].value && plan_needs_egress(plan));
        size_t max = plan->env_count + count_variables() + ARRAY_SIZE(proxy_variables) + 1, count = 0;
        char **list = arena_alloc(a, max * sizeof(*list));
        if (!list)
                return NULL;
        for (size_t i = 0; i < plan->env_count; i++)
                if (is_set(plan, &plan->env[i]) && !(list[count++] = make_variable(a, plan, &plan->env[i], scratch)))
                        return NULL;
        if (add_matching(a, plan, proxied, list, &count) < 0)
                return NULL;
        for (size_t i = 0; proxied && i < ARRAY_SIZE(proxy_variables); i++)
                if (!has_variable(plan, proxy_variables[i].name) && /* a policy's own value wins */
                    !(list[count++] = make_proxy_variable(a, i, proxies ? proxies : &in_namespace)))
                        return NULL;
        return list;
}

/* The command's working directory: the current one if it lies in the workspace, else the workspace. */
static const char *start_directory(struct arena *a, const struct plan *plan)
{
        char *cwd = getcwd(NULL, 0);
        const char *directory = cwd && path_is_beneath(cwd, plan->workspace) ? arena_strdup(a, cwd) : plan->workspace;
        free(cwd);
        return directory;
}

int start_box(struct launch_request *request, struct report *r, struct audit_trail *trail, struct running_box *ret,
              struct error *e)
{
        CLEANUP_FD int egress = -1;
        ret->egress = EGRESS_PROCESS_NONE;
        int done = start_check_supported(request->plan, e);
        char name[SCRATCH_LENGTH] = "";
        if (done == 0 && !(request->plan->scalar[PLAN_NAMESPACES].value & NAMESPACE_MOUNT))
                done = box_scratch_name(name, e);
        if (done < 0)
                return done;
        request->scratch = *name ? arena_strdup(r->arena, name) : NULL;
        if (!request->directory)
                request->directory = start_directory(r->arena, request->plan);
        if (!request->directory || (*name && !request->scratch))
                return error_errno(e, ENOMEM, "no memory");
        done = box_limits_create(r, &ret->resources, e);
        if (done < 0)
                return done;
        request->resources = ret->resources;
        r->enforced.resources = ret->resources != NULL;
        r->enforced.egress = plan_needs_egress(request->plan);
        if (r->enforced.egress)
                done = egress_process_start(r, trail, &ret->egress, &egress, e);
        request->egress = egress;
        request->proxies = ret->egress.proxies.endpoints.http ? &ret->egress.proxies.endpoints : NULL;
        request->environment = start_build_environment(r->arena, request->plan, request->scratch, request->proxies);
        if (done == 0 && !request->environment)
                done = error_errno(e, ENOMEM, "no memory");
        if (done == 0)
                done = launch_box(request, &ret->box, e);
        if (done < 0) {
                fd_close(&egress); /* so that egress sees EOF and exits */
                egress_process_stop(&ret->egress);
                resource_group_remove(ret->resources);
                ret->resources = NULL;
        }
        return done;
}

void running_box_finish(struct running_box *running, struct report *r)
{
        egress_process_stop(&running->egress);
        box_limits_collect(r, running->resources);
        resource_group_remove(running->resources);
        running->resources = NULL;
}
