/* See plans.h. */
#include "plans.h"

#include <string.h>

#include "base/json.h"
#include "fuzz.h"
#include "idn.h"
#include "policy/caps.h"
#include "policy/compile.h"
#include "policy/pattern.h"
#include "policy/rule_index.h"

enum { DECIDED = 60 }; /* rules of a plan that are put to the test; each asks all of them */

static const char *const own_files[] = { "/home/user/project/policy.yaml", "/etc/ringwall/policy.yaml", NULL };

const struct facts fuzz_facts = {
        .cwd = "/home/user/project",
        .home = "/home/user",
        .path = "/usr/local/bin:/usr/bin:/home/user/.cargo/bin:/opt/go/bin:relative:",
        .user_data = "/home/user/.local/share/ringwall",
        .own_files = own_files,
        .to_ascii = idn_to_ascii,
};

/* ---- two plans are the same ---- */

static bool same_text(const char *a, const char *b)
{
        return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_source(struct source a, struct source b)
{
        return same_text(a.name, b.name) && a.line == b.line && a.column == b.column;
}

static bool same_rules(const struct rules *a, const struct rules *b)
{
        if (a->count != b->count)
                return false;
        for (size_t i = 0; i < a->count; i++) {
                const struct rule *x = &a->list[i], *y = &b->list[i];
                if (x->kind != y->kind || x->glob != y->glob || !same_text(x->path, y->path) ||
                    !same_text(x->set, y->set) || !same_source(x->from, y->from))
                        return false;
        }
        return true;
}

static bool same_hosts(const struct hosts *a, const struct hosts *b)
{
        if (a->count != b->count)
                return false;
        for (size_t i = 0; i < a->count; i++) {
                const struct host_rule *x = &a->list[i], *y = &b->list[i];
                if (x->allow != y->allow || !same_text(x->domain.name, y->domain.name) ||
                    x->domain.wildcard != y->domain.wildcard || x->domain.port != y->domain.port ||
                    !same_text(x->set, y->set) || !same_source(x->from, y->from))
                        return false;
        }
        return true;
}

static bool same_env(const struct plan_env *a, size_t a_count, const struct plan_env *b, size_t b_count)
{
        if (a_count != b_count)
                return false;
        for (size_t i = 0; i < a_count; i++)
                if (!same_text(a[i].name, b[i].name) || !same_text(a[i].value, b[i].value) ||
                    !same_source(a[i].from, b[i].from))
                        return false;
        return true;
}

static bool same_ports(const struct ports *a, const struct ports *b)
{
        if (a->count != b->count)
                return false;
        for (size_t i = 0; i < a->count; i++)
                if (a->list[i].port != b->list[i].port || !same_source(a->list[i].from, b->list[i].from))
                        return false;
        return true;
}

static bool same_sockets(const struct plan *a, const struct plan *b)
{
        if (a->unix_socket_count != b->unix_socket_count)
                return false;
        for (size_t i = 0; i < a->unix_socket_count; i++)
                if (!same_text(a->unix_sockets[i].path, b->unix_sockets[i].path) ||
                    !same_source(a->unix_sockets[i].from, b->unix_sockets[i].from))
                        return false;
        return true;
}

static bool same_gate(const struct plan *a, const struct plan *b)
{
        if (a->denied_command_count != b->denied_command_count || a->secret_count != b->secret_count)
                return false;
        for (size_t i = 0; i < a->denied_command_count; i++) {
                const struct plan_command *x = &a->denied_commands[i], *y = &b->denied_commands[i];
                if (!same_text(x->name, y->name) || !same_text(x->set, y->set) || !same_source(x->from, y->from))
                        return false;
        }
        for (size_t i = 0; i < a->secret_count; i++) {
                const struct plan_secret *x = &a->secrets[i], *y = &b->secrets[i];
                if (!same_text(x->name, y->name) || !same_text(x->expression, y->expression) ||
                    !same_source(x->from, y->from))
                        return false;
        }
        return true;
}

static bool same_server(const struct plan_server *a, const struct plan_server *b)
{
        if (a->command_count != b->command_count)
                return false;
        for (size_t i = 0; i < a->command_count; i++)
                if (!same_text(a->command[i], b->command[i]))
                        return false;
        return same_text(a->name, b->name) && a->transport == b->transport && same_text(a->url, b->url) &&
               same_env(a->env, a->env_count, b->env, b->env_count) && a->allow_exec == b->allow_exec &&
               a->allow_fork == b->allow_fork && a->allow_network == b->allow_network &&
               same_rules(&a->rules, &b->rules) && same_hosts(&a->hosts, &b->hosts) && same_source(a->from, b->from);
}

static void promise_same(const struct plan *a, const struct plan *b)
{
        PROMISE(same_text(a->workspace, b->workspace) && same_text(a->home, b->home));
        for (enum plan_number n = 0; n < PLAN_NUMBER_COUNT; n++)
                PROMISE(a->number[n].number == b->number[n].number && same_source(a->number[n].from, b->number[n].from));
        PROMISE(same_rules(&a->rules, &b->rules));
        PROMISE(same_hosts(&a->hosts, &b->hosts) && same_hosts(&a->private_hosts, &b->private_hosts));
        PROMISE(same_ports(&a->local_ports, &b->local_ports) && same_ports(&a->published, &b->published));
        PROMISE(same_sockets(a, b));
        PROMISE(same_env(a->env, a->env_count, b->env, b->env_count));
        PROMISE(same_gate(a, b));
        PROMISE(a->server_count == b->server_count && a->cut_count == b->cut_count);
        for (size_t i = 0; i < a->server_count; i++)
                PROMISE(same_server(&a->servers[i], &b->servers[i]));
        for (size_t i = 0; i < a->cut_count; i++)
                PROMISE(same_text(a->cuts[i].what, b->cuts[i].what) &&
                        same_text(a->cuts[i].result, b->cuts[i].result) && same_source(a->cuts[i].by, b->cuts[i].by));
}

/* ---- a plan is what it should be ---- */

static void check_round_trip(const struct plan *plan)
{
        CLEANUP_JSON json_t *json = plan_to_json(plan), *again = NULL;
        CLEANUP_PLAN struct plan *back = NULL;
        struct error e = { 0 };
        PROMISE(json);
        if (plan_from_json(json, &back, &e) < 0) {
                (void)fprintf(stderr, "broken: %s\n", e.text);
                abort();
        }
        promise_same(plan, back);
        again = plan_to_json(back);
        PROMISE(again && json_equal(json, again));
}

static void check_text(const struct plan *plan)
{
        CLEANUP_JSON json_t *json = plan_to_json(plan), *parsed = NULL;
        CLEANUP_TEXT struct text text = { 0 };
        PROMISE(json && json_write(json, &text, false) == 0);
        PROMISE(json_parse_bounded(text.data, text.length, text.length, JSON_DEPTH_MAX, &parsed, NULL, NULL, NULL) == 0);
        PROMISE(json_equal(json, parsed));
}

/* A rule that every plan has; only a sample of them is looked at, for speed. */
static bool is_common(const struct rules *rules, size_t i)
{
        return strcmp(rules->list[i].from.name, "default") == 0 && i % 16 != 0;
}

static void drop_common(struct arena *a, struct rules *rules)
{
        struct rules kept = { 0 };
        for (size_t i = 0; i < rules->count; i++) {
                struct rule *slot = is_common(rules, i) ? NULL : arena_array_add(a, &kept.list, &kept.count, sizeof *slot);
                if (slot)
                        *slot = rules->list[i];
        }
        *rules = kept;
}

static void check_written(const struct plan *plan)
{
        CLEANUP_ARENA struct arena *a = arena_new(CAP_ARENA_BYTES);
        struct plan smaller = *plan;
        smaller.servers = arena_alloc(a, (plan->server_count + 1) * sizeof *smaller.servers);
        PROMISE(smaller.servers);
        drop_common(a, &smaller.rules);
        for (size_t i = 0; i < plan->server_count; i++) {
                smaller.servers[i] = plan->servers[i];
                drop_common(a, &smaller.servers[i].rules);
        }
        check_round_trip(&smaller);
        check_text(&smaller);
}

/* The rules that the index offers decide as all of them do. */
static void check_index(struct arena *a, struct rule_index *index, const struct rules *rules, const char *path)
{
        struct rule_candidates few = { 0 };
        PROMISE(rule_index_candidates(index, a, path, &few));
        for (int write = 0; write < 2; write++) {
                const struct rule *by = NULL, *by_few = NULL;
                bool yes = rules_decide(rules, path, write, &by);
                PROMISE(rules_decide(&few.rules, path, write, &by_few) == yes);
                PROMISE(!by == !by_few);
        }
}

static void check_decisions(struct arena *a, const struct rules *rules)
{
        struct rule_index *index = rule_index_new(a, rules);
        PROMISE(index);
        for (size_t i = 0, asked = 0; i < rules->count && asked < DECIDED; i++) {
                const struct rule *rule = &rules->list[i], *by = NULL;
                if (is_common(rules, i))
                        continue;
                asked++;
                check_index(a, index, rules, rule->path);
                if (rule->glob)
                        continue;
                bool read = rules_decide(rules, rule->path, false, &by), write = rules_decide(rules, rule->path, true, NULL);
                PROMISE(read || !write);
                PROMISE(by || rule->kind == RULE_DENY_WRITE || rule->kind == RULE_PROTECT);
                if (rule->kind == RULE_DENY_READ)
                        PROMISE(!read && by->kind == RULE_DENY_READ);
                else if (rule->kind == RULE_DENY_WRITE || rule->kind == RULE_PROTECT)
                        PROMISE(!write);
                else
                        PROMISE(read || by->kind == RULE_DENY_READ);
        }
}

static void check_rules(const struct rules *rules)
{
        CLEANUP_ARENA struct arena *a = arena_new(CAP_ARENA_BYTES);
        for (size_t i = 0; i < rules->count; i++) {
                const struct rule *r = &rules->list[i];
                PROMISE(r->path && *r->path == '/' && r->from.name && r->kind < RULE_KIND_COUNT);
                const char *normal = pattern_normalise(a, r->path);
                PROMISE(normal && strcmp(normal, r->path) == 0 && strlen(r->path) <= CAP_TEXT);
                if (r->glob)
                        PROMISE(r->kind >= RULE_DENY_READ && !pattern_check(r->path));
        }
        check_decisions(a, rules);
}

static void check_hosts(const struct hosts *hosts)
{
        for (size_t i = 0; i < hosts->count && i < DECIDED; i++) {
                const struct host_rule *h = &hosts->list[i], *by = NULL;
                uint16_t port = h->domain.port ? h->domain.port : 443;
                char name[CAP_DOMAIN + 8];
                (void)snprintf(name, sizeof name, "%s%s", h->domain.wildcard ? "x." : "", h->domain.name);
                bool allowed = hosts_decide(hosts, name, port, &by);
                PROMISE(by && by->allow == allowed);
                PROMISE(h->allow || !allowed);
                PROMISE(hosts_know(hosts, name) || !allowed);
                if (!h->allow && !h->domain.port)
                        PROMISE(!hosts_know(hosts, name));
                PROMISE(hosts_find(hosts, name, port));
        }
}

static void check_network(const struct plan *plan)
{
        CLEANUP_ARENA struct arena *a = arena_new(CAP_ARENA_BYTES);
        for (size_t i = 0; i < plan->private_hosts.count; i++)
                PROMISE(plan->private_hosts.list[i].allow);
        PROMISE(plan->local_ports.count <= CAP_PORTS && plan->published.count <= CAP_PORTS);
        for (size_t i = 0; i < plan->local_ports.count; i++) {
                uint16_t port = plan->local_ports.list[i].port;
                PROMISE(port && !port_is_of_box(port) && !ports_have(&plan->published, port));
        }
        for (size_t i = 0; i < plan->published.count; i++)
                PROMISE(plan->published.list[i].port && !port_is_of_box(plan->published.list[i].port));
        PROMISE(plan->unix_socket_count <= CAP_SOCKETS);
        for (size_t i = 0; i < plan->unix_socket_count; i++) {
                const char *path = plan->unix_sockets[i].path, *normal = pattern_normalise(a, path);
                PROMISE(*path == '/' && normal && strcmp(normal, path) == 0);
        }
}

void plan_check(const struct plan *plan)
{
        PROMISE(plan->workspace && *plan->workspace == '/' && plan->home);
        check_rules(&plan->rules);
        check_hosts(&plan->hosts);
        check_network(plan);
        for (size_t i = 0; i < plan->server_count; i++) {
                check_rules(&plan->servers[i].rules);
                check_hosts(&plan->servers[i].hosts);
        }
        for (enum plan_number n = 0; n < PLAN_NUMBER_COUNT; n++) {
                CLEANUP_TEXT struct text printed = { 0 };
                plan_print_number(n, plan->number[n].number, &printed);
                PROMISE(!printed.failed && printed.length > 0 && plan->number[n].from.name);
        }
        check_written(plan);
}

static bool has_error(const json_t *messages)
{
        size_t i = 0;
        json_t *one = NULL;
        json_array_foreach(messages, i, one) {
                const char *severity = json_string_value(json_object_get(one, "severity"));
                if (severity && strcmp(severity, "error") == 0)
                        return true;
        }
        return false;
}

void messages_check(const struct messages *m, bool failed)
{
        size_t errors = messages_count(m, MESSAGE_ERROR);
        size_t total = errors + messages_count(m, MESSAGE_WARNING) + messages_count(m, MESSAGE_NOTE);
        PROMISE(failed == (errors > 0));
        CLEANUP_TEXT struct text shown = { 0 }, written = { 0 };
        messages_print(m, &shown, false);
        PROMISE(!shown.failed && (shown.length > 0) == (total > 0));
        if (shown.data)
                promise_printable(shown.data);
        CLEANUP_JSON json_t *json = messages_to_json(m);
        PROMISE(json && json_array_size(json) == (total < CAP_MESSAGES ? total : CAP_MESSAGES));
        PROMISE(has_error(json) == failed);
        PROMISE(json_write(json, &written, true) == 0);
}

void plans_check_text(settings_reader *read, const char *text, size_t length)
{
        CLEANUP_ARENA struct arena *arena = arena_new(CAP_ARENA_BYTES);
        CLEANUP_MESSAGES struct messages *m = messages_new();
        CLEANUP_PLAN struct plan *plan = NULL;
        struct settings s;
        PROMISE(arena && m);
        settings_init(&s, arena, m, fuzz_facts.to_ascii);
        int unread = read(&s, "policy.yaml", text, length, "/home/user/project/sub");
        PROMISE(unread == 0 || unread == 1);
        /* As the program does it: what could be read is compiled even after a mistake, for more to say. */
        int uncompiled = policy_compile(&s, NULL, 0, &fuzz_facts, m, &plan);
        PROMISE(uncompiled == 0 || uncompiled == 1);
        PROMISE(!plan == (uncompiled != 0));
        messages_check(m, unread || uncompiled);
        if (plan)
                plan_check(plan);
}
