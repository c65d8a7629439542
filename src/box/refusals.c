/*
 * Refusals; see refusals.h. An attacker controls which calls, names and hosts are tried, and how often.
 */
#include "box/refusals.h"

#include <string.h>
#include <sys/socket.h>

#include "box/egress_event.h"
#include "platform/platform.h"

void refusals_add_call(struct refusals *r, const struct refused_call *call)
{
        if (r->call_count < REFUSED_CALLS_MAX)
                r->calls[r->call_count++] = *call;
}

void refusals_add_path(struct refusals *r, const struct refused_path *path)
{
        if (r->path_count < REFUSED_PATHS_MAX)
                r->paths[r->path_count++] = *path;
}

/* A refusal that is in the list already is only counted. */
void refusals_add_host(struct refusals *r, struct arena *a, const struct egress_event *event)
{
        size_t i = 0;
        while (i < r->host_count && !egress_event_same(&r->hosts[i], event))
                i++;
        if (i < r->host_count)
                r->hosts[i].count += event->count;
        else if (r->host_count == REFUSED_HOSTS_MAX)
                r->hosts_truncated = true;
        else {
                struct egress_event *slot = arena_array_push(a, &r->hosts, &r->host_count, sizeof *slot);
                if (slot)
                        *slot = *event;
        }
}

/* --- as text --- */

/* For each group of calls (platform_describe_call()): a name for the user, and what would allow the calls. */
static const struct explanation {
        const char *group;
        const char *what;
        enum plan_scalar rule; /* the scalar of the plan that refused it; PLAN_SCALAR_COUNT: no plan can allow it */
        const char *allow;     /* the flag or key that would allow it, or NULL */
} explanations[] = {
        { "ipc", "System V or POSIX IPC", PLAN_NAMESPACES, "--level strict" },
        { "scheduling", "changing the priority of another process", PLAN_NAMESPACES, "--level strict" },
        { "exec", "starting a program", PLAN_ALLOW_EXEC, "process.exec in tools.capabilities.grant" },
        { "fork", "starting a process", PLAN_ALLOW_FORK, "process.* in tools.capabilities.grant" },
        { "conditional", "a process with its own namespaces, limits or memory layout", PLAN_SCALAR_COUNT, NULL },
        { "namespaces", "mounting, or entering a namespace", PLAN_SCALAR_COUNT, NULL },
        { "neighbours", "access to another process", PLAN_SCALAR_COUNT, NULL },
        { "machine", "changing the machine", PLAN_SCALAR_COUNT, NULL },
        { "files", "a refused ioctl, such as typing into a terminal", PLAN_SCALAR_COUNT, NULL },
};
static const struct explanation beyond_loopback = { NULL, "reaching an address outside the box", PLAN_SCALAR_COUNT,
                                                    "--allow-domain HOST" };
/* For a network socket there is one explanation for each reason why it can be refused. */
static const struct explanation no_namespace = { NULL, "a network socket", PLAN_LEVEL,
                                                 "--level strict for the box's own loopback, or --allow-domain HOST" };
static const struct explanation not_listed = { NULL, "a network socket", PLAN_NAMESPACES,
                                               "net in security.sandbox.namespaces" };
static const struct explanation not_granted = { NULL, "a network socket", PLAN_ALLOW_NETWORK,
                                                "net.socket in tools.capabilities.grant" };
static const struct explanation denied = { NULL, "a network socket", PLAN_ALLOW_NETWORK, NULL };
static const struct explanation local_socket = { NULL, "a unix socket", PLAN_NAMESPACES, "--level strict" };
static const struct explanation not_by_proxy = { NULL,
                                                 "a DNS lookup, or a connection that bypasses the proxy in "
                                                 "http_proxy",
                                                 PLAN_NAMESPACES, "--level strict" };
static const struct explanation new_process = { NULL, "starting a process", PLAN_ALLOW_FORK,
                                                "process.* in tools.capabilities.grant" };
static const struct explanation unknown = { NULL, "several other calls", PLAN_SCALAR_COUNT, NULL };

static const struct explanation *explain_socket(const struct plan *plan)
{
        const struct plan_value *n = plan->scalar;
        if (n[PLAN_ALLOW_NETWORK].value)
                return &not_by_proxy;
        if (!source_is_default(n[PLAN_ALLOW_NETWORK].from))
                return &denied;
        if (n[PLAN_LEVEL].value == LEVEL_STANDARD)
                return &no_namespace;
        return n[PLAN_NAMESPACES].value & NAMESPACE_NET ? &not_granted : &not_listed;
}

static const struct explanation *find_explanation(const struct plan *plan, const struct refused_call *d)
{
        const char *call, *group;
        if (d->number == REFUSED_NO_ROUTE)
                return &beyond_loopback;
        if (!platform_describe_call(d->number, &call, &group))
                return &unknown;
        if (strncmp(call, "socket", strlen("socket")) == 0 && d->family == AF_UNIX)
                return &local_socket;
        if (strcmp(group, "families") == 0)
                return explain_socket(plan);
        if (strcmp(call, "clone") == 0 && !plan->scalar[PLAN_ALLOW_FORK].value)
                return &new_process;
        for (size_t i = 0; i < ARRAY_SIZE(explanations); i++)
                if (strcmp(explanations[i].group, group) == 0)
                        return &explanations[i];
        return &unknown;
}

static const char *call_name(const struct refused_call *d)
{
        const char *call, *group;
        if (d->number == REFUSED_NO_ROUTE)
                return "connect";
        return platform_describe_call(d->number, &call, &group) ? call : "others";
}

void refusals_explain_calls_and_paths(const struct refusals *r, const struct plan *plan, const char *prefix,
                                      struct text *out)
{
        for (size_t i = 0; i < r->call_count; i++) {
                const struct refused_call *d = &r->calls[i];
                const struct explanation *x = find_explanation(plan, d);
                text_format(out, "%srefused", prefix);
                if (d->count > 1)
                        text_format(out, " %u times", d->count);
                text_format(out, ": %s (%s)", x->what, call_name(d));
                if (x->rule != PLAN_SCALAR_COUNT) {
                        text_format(out, ", by %s (", plan_scalar_name(x->rule));
                        source_print(plan->scalar[x->rule].from, out);
                        text_add(out, ")");
                }
                if (x->allow)
                        text_format(out, "; to allow it: %s", x->allow);
                text_add(out, "\n");
        }
        for (size_t i = 0; i < r->path_count; i++) {
                text_format(out, "%srefused", prefix);
                if (r->paths[i].count > 1)
                        text_format(out, " %u times", r->paths[i].count);
                text_add(out, ": ");
                text_add_escaped(out, r->paths[i].path, strlen(r->paths[i].path));
                text_add(out, ", by ");
                text_add_escaped(out, r->paths[i].rule, strlen(r->paths[i].rule));
                text_add(out, "\n");
        }
}

const struct host_rule *refusals_host_rule(const struct refusals *r, const struct plan *plan,
                                           const struct egress_event *event)
{
        if (event->rule < 0 || event->generation > r->change_count)
                return NULL;
        const struct hosts *hosts = event->generation ? &r->changes[event->generation - 1] : &plan->hosts;
        return (size_t)event->rule < hosts->count ? &hosts->list[event->rule] : NULL;
}

void refusals_explain_hosts(const struct refusals *r, const struct plan *plan, const char *prefix, struct text *out)
{
        for (size_t i = 0; i < r->host_count; i++) {
                text_add(out, prefix);
                egress_event_explain(&r->hosts[i], refusals_host_rule(r, plan, &r->hosts[i]), out);
                text_add(out, "\n");
        }
        if (r->hosts_truncated)
                text_format(out, "%srefused: other hosts\n", prefix);
}

/* --- as JSON --- */

json_t *refusals_call_to_json(const struct plan *plan, const struct refused_call *d)
{
        const struct explanation *x = find_explanation(plan, d);
        json_t *o = json_pack("{s:s, s:I, s:s}", "call", call_name(d), "count", (json_int_t)d->count, "what", x->what);
        if (o && x->rule != PLAN_SCALAR_COUNT) {
                CLEANUP_TEXT struct text source = { 0 };
                source_print(plan->scalar[x->rule].from, &source);
                json_object_set_new(o, "rule", json_string(plan_scalar_name(x->rule)));
                json_object_set_new(o, "source", json_string(source.data ? source.data : ""));
        }
        if (o && x->allow)
                json_object_set_new(o, "allow", json_string(x->allow));
        return o;
}

json_t *refusals_path_to_json(const struct refused_path *n)
{
        CLEANUP_TEXT struct text path = { 0 }, rule = { 0 };
        text_add_escaped(&path, n->path, strlen(n->path));
        text_add_escaped(&rule, n->rule, strlen(n->rule));
        return json_pack("{s:s, s:s, s:i}", "path", path.data ? path.data : "", "rule", rule.data ? rule.data : "",
                         "count", (int)n->count);
}

json_t *refusals_to_json(const struct refusals *r, const struct plan *plan)
{
        json_t *list = json_array();
        for (size_t i = 0; i < r->call_count; i++)
                json_array_append_new(list, refusals_call_to_json(plan, &r->calls[i]));
        for (size_t i = 0; i < r->path_count; i++)
                json_array_append_new(list, refusals_path_to_json(&r->paths[i]));
        for (size_t i = 0; i < r->host_count; i++)
                json_array_append_new(list, egress_event_to_json(&r->hosts[i],
                                                                 refusals_host_rule(r, plan, &r->hosts[i])));
        return list;
}
