/* See plan_checks.h. */
#include "plan_checks.h"

#include <string.h>

#include "base/json.h"
#include "fuzz.h"
#include "idn.h"
#include "policy/input_limits.h"
#include "policy/compile.h"
#include "policy/path_pattern.h"
#include "policy/rule_index.h"

enum { TESTED_MAX = 60 }; /* rules of a plan that are tested; each test evaluates all rules */

static const char *const own_files[] = { "/home/user/project/policy.yaml", "/etc/ringwall/policy.yaml", NULL };

const struct host_facts fuzz_facts = {
        .cwd = "/home/user/project",
        .home = "/home/user",
        .path = "/usr/local/bin:/usr/bin:/home/user/.cargo/bin:/opt/go/bin:relative:",
        .user_data = "/home/user/.local/share/ringwall",
        .user_state = "/home/user/.local/state/ringwall",
        .own_files = own_files,
        .to_ascii = idn_to_ascii,
};

/* ---- comparing two plans ---- */

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
                const struct plan_denied_command *x = &a->denied_commands[i], *y = &b->denied_commands[i];
                if (!same_text(x->name, y->name) || !same_text(x->set, y->set) || !same_source(x->from, y->from))
                        return false;
        }
        for (size_t i = 0; i < a->secret_count; i++) {
                const struct plan_secret_pattern *x = &a->secrets[i], *y = &b->secrets[i];
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
        for (enum plan_scalar n = 0; n < PLAN_SCALAR_COUNT; n++)
                PROMISE(a->scalar[n].value == b->scalar[n].value &&
                        same_source(a->scalar[n].from, b->scalar[n].from));
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

/* ---- checking a plan ---- */

static void check_round_trip(const struct plan *plan)
{
        CLEANUP_JSON json_t *json = plan_to_json(plan), *json_again = NULL;
        CLEANUP_PLAN struct plan *plan_again = NULL;
        struct error e = { 0 };
        PROMISE(json);
        if (plan_from_json(json, &plan_again, &e) < 0) {
                (void)fprintf(stderr, "broken: %s\n", e.text);
                abort();
        }
        promise_same(plan, plan_again);
        json_again = plan_to_json(plan_again);
        PROMISE(json_again && json_equal(json, json_again));
}

static void check_json_text(const struct plan *plan)
{
        CLEANUP_JSON json_t *json = plan_to_json(plan), *parsed = NULL;
        CLEANUP_TEXT struct text text = { 0 };
        PROMISE(json && json_write(json, &text, false) == 0);
        PROMISE(json_parse_bounded(text.data, text.length, text.length, JSON_DEPTH_MAX, &parsed, NULL, NULL, NULL) ==
                0);
        PROMISE(json_equal(json, parsed));
}

/* Every plan has the default rules. For speed, only one in 16 of them is tested. */
static bool is_skipped_default(const struct rules *rules, size_t i)
{
        return strcmp(rules->list[i].from.name, "default") == 0 && i % 16 != 0;
}

static void drop_skipped_defaults(struct arena *a, struct rules *rules)
{
        struct rules kept = { 0 };
        for (size_t i = 0; i < rules->count; i++) {
                struct rule *slot = is_skipped_default(rules, i)
                                            ? NULL
                                            : arena_array_push(a, &kept.list, &kept.count, sizeof *slot);
                if (slot)
                        *slot = rules->list[i];
        }
        *rules = kept;
}

static void check_serialization(const struct plan *plan)
{
        CLEANUP_ARENA struct arena *a = arena_new(ARENA_BYTES_MAX);
        struct plan smaller = *plan;
        smaller.servers = arena_alloc(a, (plan->server_count + 1) * sizeof *smaller.servers);
        PROMISE(smaller.servers);
        drop_skipped_defaults(a, &smaller.rules);
        for (size_t i = 0; i < plan->server_count; i++) {
                smaller.servers[i] = plan->servers[i];
                drop_skipped_defaults(a, &smaller.servers[i].rules);
        }
        check_round_trip(&smaller);
        check_json_text(&smaller);
}

/* Checks that the rules that the index selects give the same decision as all rules. */
static void check_index(struct arena *a, struct rule_index *index, const struct rules *rules, const char *path)
{
        struct rule_candidates candidates = { 0 };
        PROMISE(rule_index_candidates(index, a, path, &candidates));
        for (int write = 0; write < 2; write++) {
                const struct rule *by = NULL, *by_candidates = NULL;
                bool allowed = rules_decide(rules, path, write, &by);
                PROMISE(rules_decide(&candidates.rules, path, write, &by_candidates) == allowed);
                PROMISE(!by == !by_candidates);
        }
}

static void check_decisions(struct arena *a, const struct rules *rules)
{
        struct rule_index *index = rule_index_new(a, rules);
        PROMISE(index);
        for (size_t i = 0, tested = 0; i < rules->count && tested < TESTED_MAX; i++) {
                const struct rule *rule = &rules->list[i], *by = NULL;
                if (is_skipped_default(rules, i))
                        continue;
                tested++;
                check_index(a, index, rules, rule->path);
                if (rule->glob)
                        continue;
                bool read = rules_decide(rules, rule->path, false, &by),
                     write = rules_decide(rules, rule->path, true, NULL);
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
        CLEANUP_ARENA struct arena *a = arena_new(ARENA_BYTES_MAX);
        for (size_t i = 0; i < rules->count; i++) {
                const struct rule *r = &rules->list[i];
                PROMISE(r->path && *r->path == '/' && r->from.name && r->kind < RULE_KIND_COUNT);
                const char *normal = path_normalize(a, r->path);
                PROMISE(normal && strcmp(normal, r->path) == 0 && strlen(r->path) <= POLICY_TEXT_MAX);
                if (r->glob)
                        PROMISE(r->kind >= RULE_DENY_READ && !path_pattern_check(r->path));
        }
        check_decisions(a, rules);
}

static void check_hosts(const struct hosts *hosts)
{
        for (size_t i = 0; i < hosts->count && i < TESTED_MAX; i++) {
                const struct host_rule *h = &hosts->list[i], *by = NULL;
                uint16_t port = h->domain.port ? h->domain.port : 443;
                char name[DOMAIN_MAX + 8];
                (void)snprintf(name, sizeof name, "%s%s", h->domain.wildcard ? "x." : "", h->domain.name);
                bool allowed = hosts_decide(hosts, name, port, &by);
                PROMISE(by && by->allow == allowed);
                PROMISE(h->allow || !allowed);
                PROMISE(hosts_allow_any_port(hosts, name) || !allowed);
                if (!h->allow && !h->domain.port)
                        PROMISE(!hosts_allow_any_port(hosts, name));
                PROMISE(hosts_match(hosts, name, port));
        }
}

static void check_network(const struct plan *plan)
{
        CLEANUP_ARENA struct arena *a = arena_new(ARENA_BYTES_MAX);
        for (size_t i = 0; i < plan->private_hosts.count; i++)
                PROMISE(plan->private_hosts.list[i].allow);
        PROMISE(plan->local_ports.count <= POLICY_PORTS_MAX && plan->published.count <= POLICY_PORTS_MAX);
        for (size_t i = 0; i < plan->local_ports.count; i++) {
                uint16_t port = plan->local_ports.list[i].port;
                PROMISE(port && !port_is_reserved(port) && !ports_contain(&plan->published, port));
        }
        for (size_t i = 0; i < plan->published.count; i++)
                PROMISE(plan->published.list[i].port && !port_is_reserved(plan->published.list[i].port));
        PROMISE(plan->unix_socket_count <= POLICY_SOCKETS_MAX);
        for (size_t i = 0; i < plan->unix_socket_count; i++) {
                const char *path = plan->unix_sockets[i].path, *normal = path_normalize(a, path);
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
        for (enum plan_scalar n = 0; n < PLAN_SCALAR_COUNT; n++) {
                CLEANUP_TEXT struct text printed = { 0 };
                plan_print_scalar(n, plan->scalar[n].value, &printed);
                PROMISE(!printed.failed && printed.length > 0 && plan->scalar[n].from.name);
        }
        check_serialization(plan);
}

static bool has_error(const json_t *diagnostics)
{
        size_t i = 0;
        json_t *diagnostic = NULL;
        json_array_foreach(diagnostics, i, diagnostic) {
                const char *severity = json_string_value(json_object_get(diagnostic, "severity"));
                if (severity && strcmp(severity, "error") == 0)
                        return true;
        }
        return false;
}

void diagnostics_check(const struct diagnostics *m, bool failed)
{
        size_t errors = diagnostics_count(m, DIAGNOSTIC_ERROR);
        size_t total = errors + diagnostics_count(m, DIAGNOSTIC_WARNING) + diagnostics_count(m, DIAGNOSTIC_NOTE);
        PROMISE(failed == (errors > 0));
        CLEANUP_TEXT struct text shown = { 0 }, written = { 0 };
        diagnostics_print(m, &shown, false);
        PROMISE(!shown.failed && (shown.length > 0) == (total > 0));
        if (shown.data)
                promise_printable(shown.data);
        CLEANUP_JSON json_t *json = diagnostics_to_json(m);
        PROMISE(json && json_array_size(json) == (total < POLICY_MESSAGES_MAX ? total : POLICY_MESSAGES_MAX));
        PROMISE(has_error(json) == failed);
        PROMISE(json_write(json, &written, true) == 0);
}

void plans_check_text(settings_reader *read, const char *text, size_t length)
{
        CLEANUP_ARENA struct arena *arena = arena_new(ARENA_BYTES_MAX);
        CLEANUP_DIAGNOSTICS struct diagnostics *m = diagnostics_new();
        CLEANUP_PLAN struct plan *plan = NULL;
        struct settings s;
        PROMISE(arena && m);
        settings_init(&s, arena, m, fuzz_facts.to_ascii);
        int read_failed = read(&s, "policy.yaml", text, length, "/home/user/project/sub");
        PROMISE(read_failed == 0 || read_failed == 1);
        /* Like ringwall itself, compiles after a reading error too, to report more errors at once. */
        int compile_failed = policy_compile(&s, NULL, 0, &fuzz_facts, m, &plan);
        PROMISE(compile_failed == 0 || compile_failed == 1);
        PROMISE(!plan == (compile_failed != 0));
        diagnostics_check(m, read_failed || compile_failed);
        if (plan)
                plan_check(plan);
}
