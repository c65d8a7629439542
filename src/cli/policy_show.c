/*
 * Prints a plan. Rules of the same kind and source form one paragraph, so that the managed sets take one paragraph per
 * group; a rule that the user wrote has its own, with its line.
 */
#include "cli/policy_show.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "platform/platform.h"
#include "policy/path_pattern.h"
#include "policy/rule_index.h"

enum { LABEL_WIDTH = 18, VALUE_WIDTH = 36, ANCHOR_BYTES_MAX = 1 << 16 };

struct show {
        struct text *out;
        bool styled;
};

static void add_heading(struct show *s, const char *title)
{
        text_format(s->out, "\n%s%s%s\n", s->styled ? "\033[1m" : "", title, s->styled ? "\033[0m" : "");
}

static void add_source(struct show *s, struct source from, const char *set)
{
        text_add(s->out, s->styled ? "\033[2m" : "");
        source_print(from, s->out);
        if (set)
                text_format(s->out, " (%s)", set);
        text_add(s->out, s->styled ? "\033[0m" : "");
}

enum section { SECTION_WALLS, SECTION_SESSIONS, SECTION_LIMITS };

/* A new key is shown without a change here: among the limits, or else among the walls. */
static enum section section_of(enum plan_scalar n)
{
        static const enum plan_scalar sessions[] = { PLAN_POOL_SIZE,    PLAN_POOL_MAX, PLAN_SESSION_TIMEOUT,
                                                     PLAN_IDLE_TIMEOUT, PLAN_SNAPSHOT, PLAN_AUDIT };
        for (size_t i = 0; i < ARRAY_SIZE(sessions); i++)
                if (sessions[i] == n)
                        return SECTION_SESSIONS;
        return plan_scalar_is_limit(n) ? SECTION_LIMITS : SECTION_WALLS;
}

static void show_numbers(struct show *s, const struct plan *plan, enum section section)
{
        for (enum plan_scalar n = 0; n < PLAN_SCALAR_COUNT; n++) {
                if (section_of(n) != section)
                        continue;
                CLEANUP_TEXT struct text value = { 0 };
                if (plan_scalar_is_limit(n) && plan->scalar[n].value == 0)
                        text_add(&value, "no limit");
                else
                        plan_print_scalar(n, plan->scalar[n].value, &value);
                const char *shown = value.data ? value.data : "";
                text_format(s->out, "  %-*s ", LABEL_WIDTH, plan_scalar_name(n));
                /* If the value is too wide for its column, the source goes on the next line. */
                if (strlen(shown) > VALUE_WIDTH)
                        text_format(s->out, "%s\n  %*s %*s ", shown, LABEL_WIDTH, "", VALUE_WIDTH, "");
                else
                        text_format(s->out, "%-*s ", VALUE_WIDTH, shown);
                add_source(s, plan->scalar[n].from, NULL);
                text_add(s->out, "\n");
        }
}

static bool same_paragraph(const struct rule *a, const struct rule *b)
{
        if (a->kind != b->kind || a->from.line != b->from.line || a->from.column != b->from.column ||
            strcmp(a->from.name, b->from.name) != 0)
                return false;
        return a->set && b->set ? strcmp(a->set, b->set) == 0 : a->set == b->set;
}

static size_t columns_of(const char *text)
{
        size_t width = 0, length = strlen(text);
        for (size_t i = 0; i < length; width++)
                i += text_utf8_sequence_length(text + i, length - i);
        return width;
}

/* Prints several paths per line, up to OPTIONS_WIDTH; each line is indented. */
static void show_paths(struct show *s, const struct rule *rules, size_t count)
{
        size_t column = 0;
        for (size_t i = 0; i < count; i++) {
                CLEANUP_TEXT struct text path = { 0 };
                text_add_escaped(&path, rules[i].path, strlen(rules[i].path));
                size_t width = columns_of(path.data ? path.data : "");
                if (column == 0 || column + 2 + width > OPTIONS_WIDTH) {
                        text_add(s->out, column ? "\n      " : "      ");
                        column = 6;
                } else {
                        text_add(s->out, "  ");
                        column += 2;
                }
                text_add(s->out, path.data ? path.data : "");
                column += width;
        }
        text_add(s->out, "\n");
}

/*
 * Without a guard, no rule can deny anything inside a writable directory. Some of these rules make `run` refuse the
 * plan; of the others it prints a note (landlock_only_check()).
 */
static bool is_unenforced(const struct plan *plan, const struct rule *rule)
{
        if (rule->kind < RULE_DENY_READ || platform_enforces_names(plan))
                return false;
        if (!rule->glob)
                return rules_find_write_grant(&plan->rules, rule->path);
        CLEANUP_ARENA struct arena *a = arena_new(ANCHOR_BYTES_MAX);
        const char *anchor = a ? arena_strndup(a, rule->path, rule_anchor_length(rule)) : NULL;
        for (size_t i = 0; anchor && i < plan->rules.count; i++) {
                const struct rule *r = &plan->rules.list[i];
                bool overlaps = path_is_beneath(r->path, *anchor ? anchor : "/") || path_is_beneath(anchor, r->path);
                if (r->kind == RULE_WRITE && overlaps)
                        return true;
        }
        return !anchor;
}

static void show_rules(struct show *s, const struct plan *plan)
{
        const struct rules *rules = &plan->rules;
        for (size_t i = 0, n; i < rules->count; i += n) {
                const struct rule *first = &rules->list[i];
                bool unenforced = is_unenforced(plan, first);
                for (n = 1; i + n < rules->count && same_paragraph(first, &first[n]) &&
                            is_unenforced(plan, &first[n]) == unenforced;)
                        n++;
                text_format(s->out, "  %-12s ", rule_kind_words[first->kind]);
                add_source(s, first->from, first->set);
                text_add(s->out, unenforced ? "  not enforced at level standard on this kernel\n" : "\n");
                show_paths(s, first, n);
        }
}

/* One line: "  allow   example.com   policy.yaml:3:4". */
static void show_entry(struct show *s, const char *kind, const char *what, struct source from, const char *set)
{
        text_format(s->out, "  %-7s %-40s ", kind, what);
        add_source(s, from, set);
        text_add(s->out, "\n");
}

static void show_hosts(struct show *s, const struct hosts *hosts, const char *allow)
{
        for (size_t i = 0; i < hosts->count; i++) {
                char name[HOST_PATTERN_TEXT_SIZE];
                host_pattern_print(&hosts->list[i].domain, name);
                show_entry(s, hosts->list[i].allow ? allow : "deny", name, hosts->list[i].from, hosts->list[i].set);
        }
}

static void show_ports(struct show *s, const struct ports *ports, const char *kind)
{
        for (size_t i = 0; i < ports->count; i++) {
                char number[8];
                (void)snprintf(number, sizeof number, "%u", ports->list[i].port);
                show_entry(s, kind, number, ports->list[i].from, NULL);
        }
}

static void show_network(struct show *s, const struct plan *plan)
{
        if (plan->hosts.count + plan->local_ports.count + plan->published.count == 0)
                text_add(s->out, "  none: no network\n");
        show_hosts(s, &plan->hosts, "allow");
        show_hosts(s, &plan->private_hosts, "private");
        show_ports(s, &plan->local_ports, "local");
        show_ports(s, &plan->published, "publish");
        for (size_t i = 0; i < plan->unix_socket_count; i++) {
                CLEANUP_TEXT struct text path = { 0 };
                text_add_escaped(&path, plan->unix_sockets[i].path, strlen(plan->unix_sockets[i].path));
                show_entry(s, "socket", path.data ? path.data : "", plan->unix_sockets[i].from, NULL);
        }
}

static void show_env(struct show *s, const struct plan *plan)
{
        for (size_t i = 0; i < plan->env_count; i++) {
                text_format(s->out, "  %-*s ", LABEL_WIDTH, plan->env[i].name);
                CLEANUP_TEXT struct text value = { 0 };
                if (plan->env[i].value)
                        text_add_escaped(&value, plan->env[i].value, strlen(plan->env[i].value));
                else
                        text_add(&value, "passed on");
                text_format(s->out, "%-*s ", VALUE_WIDTH, value.data ? value.data : "");
                add_source(s, plan->env[i].from, NULL);
                text_add(s->out, "\n");
        }
}

static bool same_line(const struct plan_denied_command *a, const struct plan_denied_command *b)
{
        return a->set && b->set && strcmp(a->set, b->set) == 0 && strcmp(a->from.name, b->from.name) == 0 &&
               a->from.line == b->from.line && a->from.column == b->from.column;
}

/* Commands of the same group and source are printed on one line. */
static void show_gate(struct show *s, const struct plan *plan)
{
        for (size_t i = 0, n; i < plan->denied_command_count; i += n) {
                const struct plan_denied_command *first = &plan->denied_commands[i];
                CLEANUP_TEXT struct text names = { 0 };
                text_add_escaped(&names, first->name, strlen(first->name));
                for (n = 1; i + n < plan->denied_command_count && same_line(first, &first[n]); n++)
                        text_format(&names, " %s", first[n].name);
                show_entry(s, "deny", names.data ? names.data : "", first->from, first->set);
        }
        for (size_t i = 0; i < plan->secret_count; i++) {
                CLEANUP_TEXT struct text pattern = { 0 };
                text_format(&pattern, "%s: ", plan->secrets[i].name);
                text_add_escaped(&pattern, plan->secrets[i].expression, strlen(plan->secrets[i].expression));
                show_entry(s, "redact", pattern.data ? pattern.data : "", plan->secrets[i].from, NULL);
        }
}

/* Prints only the rules that the server declared: its defaults and denials are the same as those of every box. */
static void show_server(struct show *s, const struct plan_server *server)
{
        CLEANUP_TEXT struct text title = { 0 };
        text_add(&title, "MCP server ");
        text_add_escaped(&title, server->name, strlen(server->name));
        add_heading(s, title.data ? title.data : "");
        text_format(s->out, "  over %s; exec %s, fork %s, network %s   ",
                    server->transport == TRANSPORT_STDIO ? "stdio"
                    : server->transport == TRANSPORT_SSE ? "sse"
                                                         : "http",
                    server->allow_exec ? "yes" : "no", server->allow_fork ? "yes" : "no",
                    server->allow_network ? "yes" : "no");
        add_source(s, server->from, NULL);
        text_add(s->out, "\n");
        for (size_t i = 0; i < server->rules.count; i++) {
                const struct rule *r = &server->rules.list[i];
                if ((r->kind == RULE_READ || r->kind == RULE_WRITE) && r->from.line) {
                        text_format(s->out, "  %-12s ", rule_kind_words[r->kind]);
                        add_source(s, r->from, r->set);
                        text_add(s->out, "\n");
                        show_paths(s, r, 1);
                }
        }
        if (server->hosts.count == 0)
                text_add(s->out, "  no host\n");
        show_hosts(s, &server->hosts, "allow");
}

static void show_cuts(struct show *s, const struct plan *plan)
{
        if (plan->cut_count == 0)
                return;
        add_heading(s, "Cut by a ceiling");
        for (size_t i = 0; i < plan->cut_count; i++) {
                text_add(s->out, "  ");
                text_add_escaped(s->out, plan->cuts[i].what, strlen(plan->cuts[i].what));
                text_format(s->out, " -> %s   ", plan->cuts[i].result);
                add_source(s, plan->cuts[i].by, NULL);
                text_add(s->out, "\n");
        }
}

void policy_show_plan(const struct plan *plan, struct text *out, bool styled)
{
        struct show s = { out, styled };
        text_format(out, "%sPlan for ", styled ? "\033[1m" : "");
        text_add_escaped(out, plan->workspace, strlen(plan->workspace));
        text_format(out, "%s\n", styled ? "\033[0m" : "");

        add_heading(&s, "Walls");
        show_numbers(&s, plan, SECTION_WALLS);
        add_heading(&s, "Sessions");
        show_numbers(&s, plan, SECTION_SESSIONS);
        add_heading(&s, "Limits");
        show_numbers(&s, plan, SECTION_LIMITS);
        add_heading(&s, "Files");
        show_rules(&s, plan);
        add_heading(&s, "Network");
        show_network(&s, plan);
        add_heading(&s, "Environment");
        show_env(&s, plan);
        add_heading(&s, "Gate");
        show_gate(&s, plan);
        for (size_t i = 0; i < plan->server_count; i++)
                show_server(&s, &plan->servers[i]);
        show_cuts(&s, plan);
}
