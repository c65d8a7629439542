/*
 * Ceilings: what a plan can never exceed, whoever wrote the policy. A ceiling is a policy file read for its limits:
 *
 *   numbers      the stricter of the two counts
 *   allow_write  if it has the list, every writable place lies within it, the workspace too ({workspace} allows any)
 *   allow_paths  if it has the list, every path granted beyond the workspace lies within it
 *   deny, protect   added, and nothing narrower takes them back
 *   allowed_domains if it has the list, every allowed host is covered by it; an empty list leaves none
 *
 * The system's own directories and the box's private ones are in every plan and are only cut by a denial. Each cut is
 * recorded with what made it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "policy/caps.h"
#include "policy/compile.h"
#include "policy/modules.h"
#include "policy/pattern.h"

int ceiling_check(const struct settings *ceiling)
{
        int wrong = 0;
        for (size_t i = 0; i < ceiling->count; i++) {
                const struct setting *s = &ceiling->list[i];
                if (!keys[s->key].in_ceiling) {
                        message_error(ceiling->messages, s->from, "a ceiling only limits; put this into a policy",
                                      "%s has no meaning in a ceiling", keys[s->key].path);
                        wrong = 1;
                } else if (s->sign == SIGN_MINUS) {
                        message_error(ceiling->messages, s->from, "a ceiling only limits; put this into a policy",
                                      "'-%.100s' would release an entry", s->text);
                        wrong = 1;
                }
        }
        return wrong;
}

void plan_add_cut(struct compiler *c, struct source by, const char *result, const char *format, ...)
{
        char what[512];
        va_list args;
        va_start(args, format);
        (void)vsnprintf(what, sizeof what, format, args);
        va_end(args);
        struct plan_cut *slot = arena_array_add(c->arena, &c->plan->cuts, &c->plan->cut_count, sizeof *slot);
        if (slot)
                *slot = (struct plan_cut){ arena_string(c->arena, what), arena_string(c->arena, result),
                                           compile_source(c, by) };
        c->no_memory |= !slot || !slot->what || !slot->result;
}

enum cap_rule { CAP_LOWEST, CAP_LOWEST_LIMIT, CAP_HIGHEST };

/* CAP_LOWEST_LIMIT: 0 is no limit, so anything is lower. */
static const struct {
        enum plan_number number;
        enum key_id key;
        enum cap_rule rule;
} cap_rows[] = {
        { PLAN_LEVEL, KEY_LEVEL, CAP_HIGHEST },
        { PLAN_MODE, KEY_MODE, CAP_LOWEST },
        { PLAN_BEST_EFFORT, KEY_BEST_EFFORT, CAP_LOWEST },
        { PLAN_READ, KEY_READ, CAP_LOWEST },
        { PLAN_WORKSPACE, KEY_WORKSPACE, CAP_HIGHEST },
        { PLAN_AUDIT, KEY_AUDIT, CAP_HIGHEST },
        { PLAN_POOL_SIZE, KEY_POOL_SIZE, CAP_LOWEST },
        { PLAN_POOL_MAX, KEY_POOL_MAX, CAP_LOWEST },
        { PLAN_SESSION_TIMEOUT, KEY_SESSION_TIMEOUT, CAP_LOWEST },
        { PLAN_IDLE_TIMEOUT, KEY_IDLE_TIMEOUT, CAP_LOWEST },
        { PLAN_TIMEOUT, KEY_TIMEOUT, CAP_LOWEST_LIMIT },
        { PLAN_MEMORY, KEY_MEMORY, CAP_LOWEST_LIMIT },
        { PLAN_CPU, KEY_CPU, CAP_LOWEST_LIMIT },
        { PLAN_PROCESSES, KEY_PROCESSES, CAP_LOWEST_LIMIT },
};

static bool exceeds(enum cap_rule rule, uint64_t value, uint64_t cap)
{
        if (rule == CAP_LOWEST_LIMIT)
                return value == 0 || value > cap;
        return rule == CAP_HIGHEST ? value < cap : value > cap;
}

static void cut_number(struct compiler *c, enum plan_number number, uint64_t to, struct source by)
{
        struct plan_value *v = &c->plan->number[number];
        CLEANUP_TEXT struct text before = { 0 }, after = { 0 };
        bool unlimited = v->number == 0 && (number == PLAN_TIMEOUT || number == PLAN_MEMORY || number == PLAN_CPU ||
                                            number == PLAN_PROCESSES);
        if (unlimited)
                text_add(&before, "no limit");
        else
                plan_print_number(number, v->number, &before);
        plan_print_number(number, to, &after);
        *v = (struct plan_value){ to, compile_source(c, by) };
        if (before.failed || after.failed)
                c->no_memory = true;
        else
                plan_add_cut(c, by, after.data, "%s %s", plan_numbers[number].name, before.data);
}

void ceiling_cut_numbers(struct compiler *c)
{
        for (size_t i = 0; i < c->ceiling_count; i++)
                for (size_t j = 0; j < ARRAY_SIZE(cap_rows); j++) {
                        const struct setting *s = settings_last(c->ceilings[i], cap_rows[j].key);
                        uint64_t value = c->plan->number[cap_rows[j].number].number;
                        if (s && exceeds(cap_rows[j].rule, value, s->number))
                                cut_number(c, cap_rows[j].number, s->number, s->from);
                }
}

/* Namespaces that ceilings ask for join the plan's, once those are known. */
void ceiling_add_namespaces(struct compiler *c)
{
        for (size_t i = 0; i < c->ceiling_count; i++) {
                const struct setting *last = settings_last(c->ceilings[i], KEY_NAMESPACES);
                uint64_t wanted = 0, have = c->plan->number[PLAN_NAMESPACES].number;
                for (size_t j = 0; last && j < c->ceilings[i]->count; j++)
                        if (c->ceilings[i]->list[j].key == KEY_NAMESPACES && !c->ceilings[i]->list[j].empty)
                                wanted |= 1ULL << c->ceilings[i]->list[j].number;
                if (wanted & ~have)
                        cut_number(c, PLAN_NAMESPACES, wanted | have, last->from);
        }
}

unsigned ceiling_denied_rights(const struct compiler *c, struct source *ret_by)
{
        unsigned rights = 0;
        for (size_t i = 0; i < c->ceiling_count; i++)
                for (size_t j = 0; j < c->ceilings[i]->count; j++) {
                        const struct setting *s = &c->ceilings[i]->list[j];
                        if (s->key != KEY_DENY || s->empty)
                                continue;
                        rights |= permissions[s->number].granted;
                        *ret_by = s->from;
                }
        return rights;
}

/* One ceiling's own view of paths, made anew for each use: ceilings are small. */
struct cap_view {
        struct rules rules;           /* its denials, and its grants for narrower reads */
        bool limits_reads, limits_writes, limits_workspace;
        struct source reads_by, writes_by;
};

static void view_add(struct compiler *c, struct cap_view *v, enum rule_kind kind, const char *path, const char *set,
                     struct source from)
{
        bool glob = path && pattern_is_glob(path);
        if (path && !glob && kind >= RULE_DENY_READ)
                path = pattern_unescape(c->arena, path);
        if (path)
                rules_add(c, &v->rules, (struct rule){ kind, path, kind >= RULE_DENY_READ && glob, set, from });
        else
                c->no_memory |= !c->failed;
}

static void view_add_managed(struct compiler *c, struct cap_view *v, const struct setting *s, enum rule_kind kind)
{
        const struct managed_set *set = managed_set_of(s->key);
        bool found = false;
        for (size_t i = 0; i < set->count; i++) {
                const struct managed_entry *e = &set->entries[i];
                if (!managed_names_entry(set, e, s->text))
                        continue;
                found = true;
                c->names.writable = c->names.workspace;
                struct expanded x = expand_path(c->arena, &c->names, NULL, e->entry, true, false);
                c->names.writable = NULL;
                if (x.path)
                        view_add(c, v, kind, x.path, arena_format(c->arena, "%s: %s", set->name, e->group), s->from);
        }
        if (!found)
                view_add(c, v, kind, compile_path(c, s, true), NULL, s->from);
}

static void view_add_setting(struct compiler *c, struct cap_view *v, const struct setting *s)
{
        static const struct {
                enum key_id key;
                enum rule_kind kind;
        } denials[] = {
                { KEY_DENY_READ, RULE_DENY_READ },
                { KEY_DENY_WRITE, RULE_DENY_WRITE },
                { KEY_PROTECT, RULE_PROTECT },
        };
        bool write = s->key == KEY_ALLOW_WRITE;
        if (write || s->key == KEY_ALLOW_PATHS) {
                v->limits_writes = true;
                v->writes_by = s->from;
                v->limits_workspace |= write;
                v->limits_reads |= !write;
                if (!write)
                        v->reads_by = s->from;
                write |= s->number == ACCESS_WRITE && s->key == KEY_ALLOW_PATHS;
                if (!s->empty)
                        view_add(c, v, write ? RULE_WRITE : RULE_READ, compile_path(c, s, false), NULL, s->from);
        }
        for (size_t i = 0; i < ARRAY_SIZE(denials); i++) {
                if (s->key != denials[i].key || s->empty)
                        continue;
                if (s->sign == SIGN_PLUS)
                        view_add_managed(c, v, s, denials[i].kind);
                else
                        view_add(c, v, denials[i].kind, compile_path(c, s, true), NULL, s->from);
        }
}

static struct cap_view view_new(struct compiler *c, const struct settings *ceiling)
{
        struct cap_view v = { 0 };
        for (size_t i = 0; i < ceiling->count; i++)
                view_add_setting(c, &v, &ceiling->list[i]);
        return v;
}

/* Does the ceiling deny reading this place, none of its own grants being narrower? */
static const struct rule *view_denies(const struct cap_view *v, const char *path)
{
        const struct rule *by = NULL;
        return !rules_decide(&v->rules, path, false, &by) && by ? by : NULL;
}

static bool view_covers(const struct cap_view *v, const char *path, bool write)
{
        for (size_t i = 0; i < v->rules.count; i++) {
                const struct rule *r = &v->rules.list[i];
                if ((r->kind == RULE_WRITE || (r->kind == RULE_READ && !write)) && path_is_beneath(path, r->path))
                        return true;
        }
        return false;
}

/* The ceiling's grants that lie inside a grant which is too wide take its place. */
static size_t add_narrower(struct compiler *c, const struct cap_view *v, const struct grant *g, bool write,
                           struct grants *out)
{
        size_t added = 0;
        for (size_t i = 0; i < v->rules.count; i++) {
                const struct rule *r = &v->rules.list[i];
                if (r->kind != RULE_WRITE && (write || r->kind != RULE_READ))
                        continue;
                if (path_is_beneath(r->path, g->path) && !view_denies(v, r->path)) {
                        grants_add(c, out, write ? ACCESS_WRITE : ACCESS_READ, r->path, g->from);
                        added++;
                }
        }
        return added;
}

static void record_cut(struct compiler *c, const char *whose, const struct grant *g, struct source by, bool narrowed,
                       bool to_read)
{
        CLEANUP_TEXT struct text from = { 0 };
        source_print(g->from, &from);
        plan_add_cut(c, by, narrowed ? "narrowed" : to_read ? "read-only" : "removed", "%s%s %s (from %s)", whose,
                     g->access == ACCESS_WRITE ? "write" : "read", g->path, from.data ? from.data : "");
}

static void cut_read(struct compiler *c, const struct cap_view *v, struct grant g, const char *whose, bool workspace,
                     struct grants *out)
{
        const struct rule *denied = view_denies(v, g.path);
        if (denied) {
                record_cut(c, whose, &g, denied->from, false, false);
        } else if (v->limits_reads && !workspace && !view_covers(v, g.path, false)) {
                bool narrowed = add_narrower(c, v, &g, false, out) > 0;
                record_cut(c, whose, &g, v->reads_by, narrowed, false);
        } else {
                grants_add(c, out, ACCESS_READ, g.path, g.from);
                if (out->count)
                        out->list[out->count - 1].set = g.set;
        }
}

static void cut_grant(struct compiler *c, const struct cap_view *v, struct grant g, const char *whose,
                      struct grants *out)
{
        bool workspace = g.set && strcmp(g.set, "workspace") == 0;
        /* allow_paths speaks of what lies beyond the workspace; allow_write of every place. */
        bool limited = v->limits_writes && !(workspace && !v->limits_workspace);
        if (g.access == ACCESS_WRITE && !view_denies(v, g.path)) {
                if (!limited || view_covers(v, g.path, true)) {
                        grants_add(c, out, ACCESS_WRITE, g.path, g.from);
                        if (out->count)
                                out->list[out->count - 1].set = g.set;
                        return;
                }
                bool narrowed = add_narrower(c, v, &g, true, out) > 0;
                record_cut(c, whose, &g, v->writes_by, narrowed, true);
                g.access = ACCESS_READ;
        }
        cut_read(c, v, g, whose, workspace, out);
}

void ceiling_cut_grants(struct compiler *c, struct grants *grants, const char *whose)
{
        for (size_t i = 0; i < c->ceiling_count; i++) {
                struct cap_view v = view_new(c, c->ceilings[i]);
                struct grants kept = { 0 };
                for (size_t j = 0; j < grants->count; j++)
                        cut_grant(c, &v, grants->list[j], whose, &kept);
                *grants = kept;
        }
}

/* Adds each ceiling's denials, and drops the default rules that lie inside one. */
void ceiling_add_denials(struct compiler *c, struct rules *rules)
{
        for (size_t i = 0; i < c->ceiling_count; i++) {
                struct cap_view v = view_new(c, c->ceilings[i]);
                size_t kept = 0;
                for (size_t j = 0; j < rules->count; j++) {
                        const struct rule *r = &rules->list[j];
                        bool real = r->kind == RULE_READ || r->kind == RULE_WRITE;
                        if (!real || !view_denies(&v, r->path))
                                rules->list[kept++] = *r;
                }
                rules->count = kept;
                for (size_t j = 0; j < v.rules.count; j++)
                        if (v.rules.list[j].kind >= RULE_DENY_READ)
                                rules_add(c, rules, v.rules.list[j]);
        }
}

static bool domain_listed(struct compiler *c, const struct settings *ceiling, const struct domain *d)
{
        for (size_t i = 0; i < ceiling->count; i++) {
                const struct setting *s = &ceiling->list[i];
                struct domain of_set;
                if (s->key != KEY_ALLOWED_DOMAINS || s->empty)
                        continue;
                if (s->sign == SIGN_NONE) {
                        if (domain_covers(&s->domain, d))
                                return true;
                        continue;
                }
                for (size_t j = 0; j < dev_network_set.count; j++)
                        if (managed_names_entry(&dev_network_set, &dev_network_set.entries[j], s->text) &&
                            !domain_parse(c->arena, dev_network_set.entries[j].entry, c->facts->to_ascii, &of_set) &&
                            domain_covers(&of_set, d))
                                return true;
        }
        return false;
}

/* Hosts of the ceiling that a wider pattern of the policy covers take its place. */
static bool add_narrower_hosts(struct compiler *c, const struct settings *ceiling, const struct host_rule *h,
                               struct hosts *out)
{
        bool added = false;
        for (size_t i = 0; i < ceiling->count; i++) {
                const struct setting *s = &ceiling->list[i];
                if (s->key == KEY_ALLOWED_DOMAINS && !s->empty && s->sign == SIGN_NONE &&
                    domain_covers(&h->domain, &s->domain)) {
                        hosts_add(c, out, true, &s->domain, h->set, h->from);
                        added = true;
                }
        }
        return added;
}

static void cut_hosts(struct compiler *c, const struct settings *ceiling, struct hosts *hosts, const char *whose)
{
        const struct setting *limit = settings_last(ceiling, KEY_ALLOWED_DOMAINS);
        struct hosts kept = { 0 };
        for (size_t i = 0; i < hosts->count; i++) {
                const struct host_rule *h = &hosts->list[i];
                if (!h->allow || !limit || domain_listed(c, ceiling, &h->domain)) {
                        hosts_add(c, &kept, h->allow, &h->domain, h->set, h->from);
                        continue;
                }
                char name[DOMAIN_TEXT_SIZE];
                CLEANUP_TEXT struct text from = { 0 };
                domain_print(&h->domain, name);
                source_print(h->from, &from);
                bool narrowed = add_narrower_hosts(c, ceiling, h, &kept);
                plan_add_cut(c, limit->from, narrowed ? "narrowed" : "removed", "%shost %s (from %s)", whose, name,
                             from.data ? from.data : "");
        }
        for (size_t i = 0; i < ceiling->count; i++)
                if (ceiling->list[i].key == KEY_DENIED_DOMAINS && !ceiling->list[i].empty)
                        hosts_add(c, &kept, false, &ceiling->list[i].domain, NULL,
                                  compile_source(c, ceiling->list[i].from));
        *hosts = kept;
}

void ceiling_cut_hosts(struct compiler *c, struct hosts *hosts, const char *whose)
{
        for (size_t i = 0; i < c->ceiling_count; i++)
                cut_hosts(c, c->ceilings[i], hosts, whose);
}
