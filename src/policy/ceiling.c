/*
 * Ceilings: what a plan can never exceed, whoever wrote the policy. A ceiling is a policy file read for its limits:
 *
 *   numbers      the stricter of the two counts
 *   allow_write  if it has the list, every writable place lies within it, the workspace too ({workspace} allows any)
 *   allow_paths  if it has the list, every path granted beyond the workspace lies within it
 *   deny, protect   added, and nothing narrower takes them back
 *   denied_commands, secrets   added
 *   allowed_domains if it has the list, every allowed host is covered by it; an empty list leaves none. Without a port
 *                   it allows the default ports, so that a policy's example.com:8443 needs a ceiling's own
 *   allow_private, allow_local_ports, publish   likewise; without a port a host that may be private has every port
 *   unix_sockets    if it has the list, every socket is in it or beneath a directory of it
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
                } else if (s->key == KEY_DENY && !s->empty && (permissions[s->number].granted & RIGHT_READ)) {
                        message_error(ceiling->messages, s->from, "name the paths in filesystem.deny_read",
                                      "'%s' cannot be denied as a whole", s->text);
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
        text_drop_malformed(what);
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
        { PLAN_PROXY_VARIABLES, KEY_PROXY_VARIABLES, CAP_LOWEST },
        { PLAN_LIVE, KEY_LIVE, CAP_LOWEST },
        { PLAN_AUDIT, KEY_AUDIT, CAP_HIGHEST },
        { PLAN_MDWE, KEY_MDWE, CAP_HIGHEST },
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
        /* A pool that became too small for its warm boxes keeps fewer of them. */
        const struct plan_value *n = c->plan->number;
        const struct setting *own = settings_last(c->settings, KEY_POOL_MAX);
        if (n[PLAN_POOL_SIZE].number > n[PLAN_POOL_MAX].number && n[PLAN_POOL_MAX].number != (own ? own->number : 8))
                cut_number(c, PLAN_POOL_SIZE, n[PLAN_POOL_MAX].number, n[PLAN_POOL_MAX].from);
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
                if (last && (wanted & ~have))
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

/* The entries of one ceiling's list: what a + names in a managed set, and the rest as written. */
static void add_entries_of(struct compiler *c, const struct settings *ceiling, enum key_id key, struct entries *list)
{
        const struct managed_set *set = managed_set_of(key);
        for (size_t i = 0; i < ceiling->count; i++) {
                const struct setting *s = &ceiling->list[i];
                if (s->key != key || s->empty || s->sign == SIGN_MINUS)
                        continue;
                if (s->sign != SIGN_PLUS || !entries_add_named(c, list, set, s, s->text))
                        entries_add(c, list, (struct entry){ s, NULL });
        }
}

/* A workspace that is read-only by a ceiling stays so, whatever else of it a policy grants. */
static void deny_workspace(struct compiler *c, const struct setting *by, struct entries *list)
{
        struct setting *deny = ARENA_NEW(c->arena, struct setting);
        if (!deny) {
                c->no_memory = true;
                return;
        }
        *deny = (struct setting){ .key = KEY_DENY_WRITE, .text = "{workspace}", .from = by->from };
        entries_add(c, list, (struct entry){ deny, NULL });
}

void ceiling_add_entries(struct compiler *c, enum key_id key, struct entries *list)
{
        for (size_t i = 0; i < c->ceiling_count; i++) {
                const struct setting *workspace = settings_last(c->ceilings[i], KEY_WORKSPACE);
                add_entries_of(c, c->ceilings[i], key, list);
                if (key == KEY_DENY_WRITE && workspace && workspace->number == PLAN_WORKSPACE_RO)
                        deny_workspace(c, workspace, list);
        }
}

/* One ceiling's own view of paths, made anew for each use: ceilings are small. */
struct cap_view {
        struct rules rules; /* its denials of reading and its grants */
        bool limits_reads, limits_writes, limits_workspace;
        struct source reads_by, writes_by;
        struct source listed; /* of `filesystem.read: listed`, if the ceiling says so */
};

/* Marks a grant of the view that was said with :ro. */
#define READ_ONLY "ro"

static void view_add(struct compiler *c, struct cap_view *v, enum rule_kind kind, const char *path, struct source from)
{
        bool deny = kind == RULE_DENY_READ, glob = deny && path && pattern_is_glob(path);
        if (path && deny && !glob)
                path = pattern_unescape(c->arena, path);
        if (path)
                rules_add(c, &v->rules, (struct rule){ kind, path, glob, NULL, compile_source(c, from) });
        else
                c->no_memory |= !c->failed;
}

static void view_add_grant(struct compiler *c, struct cap_view *v, const struct setting *s)
{
        bool write = s->key == KEY_ALLOW_WRITE;
        v->limits_writes = true;
        v->writes_by = s->from;
        v->limits_workspace |= write;
        if (!write) {
                v->limits_reads = true;
                v->reads_by = s->from;
                write = s->number == ACCESS_WRITE;
        }
        if (s->empty)
                return;
        view_add(c, v, write ? RULE_WRITE : RULE_READ, compile_path(c, s, false), s->from);
        if (s->number == ACCESS_READ_ONLY && s->key == KEY_ALLOW_PATHS && v->rules.count)
                v->rules.list[v->rules.count - 1].set = READ_ONLY;
}

/* As in a policy: "may be read" inside what may be written says nothing, only :ro takes writing away. */
static void drop_readable_inside_writable(struct rules *rules)
{
        size_t kept = 0;
        for (size_t i = 0; i < rules->count; i++) {
                const struct rule *r = &rules->list[i];
                bool inside = false;
                for (size_t j = 0; r->kind == RULE_READ && !r->set && j < rules->count && !inside; j++)
                        inside = rules->list[j].kind == RULE_WRITE && path_is_beneath(r->path, rules->list[j].path);
                if (!inside)
                        rules->list[kept++] = *r;
        }
        rules->count = kept;
}

static struct cap_view view_new(struct compiler *c, const struct settings *ceiling)
{
        struct cap_view v = { 0 };
        struct entries denied = { 0 };
        for (size_t i = 0; i < ceiling->count; i++)
                if (ceiling->list[i].key == KEY_ALLOW_WRITE || ceiling->list[i].key == KEY_ALLOW_PATHS)
                        view_add_grant(c, &v, &ceiling->list[i]);
        const struct setting *read = settings_last(ceiling, KEY_READ);
        if (read && read->number == PLAN_READ_LISTED)
                v.listed = read->from;
        drop_readable_inside_writable(&v.rules);
        add_entries_of(c, ceiling, KEY_DENY_READ, &denied);
        for (size_t i = 0; i < denied.count; i++) {
                const struct entry *e = &denied.list[i];
                const char *path = e->managed
                        ? expand_path(c->arena, &c->names, NULL, e->managed->entry, true, false).path
                        : compile_path(c, e->setting, true);
                if (path || !e->managed) /* an entry below a home that nobody has denies nothing */
                        view_add(c, &v, RULE_DENY_READ, path, e->setting->from);
        }
        return v;
}

/* Does the ceiling deny reading this place, none of its own grants being narrower? */
static const struct rule *view_denies(const struct cap_view *v, const char *path)
{
        const struct rule *by = NULL;
        return !rules_decide(&v->rules, path, false, &by) && by ? by : NULL;
}

/* Of the ceiling's grants around a place the deepest counts; NULL when there is none. */
static const struct rule *view_around(const struct cap_view *v, const char *path)
{
        const struct rule *best = NULL;
        for (size_t i = 0; i < v->rules.count; i++) {
                const struct rule *r = &v->rules.list[i];
                if ((r->kind != RULE_WRITE && r->kind != RULE_READ) || !path_is_beneath(path, r->path))
                        continue;
                if (!best || strlen(r->path) > strlen(best->path) ||
                    (strlen(r->path) == strlen(best->path) && r->kind == RULE_WRITE))
                        best = r;
        }
        return best;
}

static bool view_covers(const struct cap_view *v, const char *path, bool write)
{
        const struct rule *around = view_around(v, path);
        return around && (!write || around->kind == RULE_WRITE);
}

/* Was it said that this place may be read and no more? That holds for the workspace too. */
static bool view_says_read_only(const struct cap_view *v, const char *path)
{
        const struct rule *around = view_around(v, path);
        return around && around->kind == RULE_READ && around->set;
}

struct cutter {
        struct compiler *c;
        const struct cap_view *view;
        const struct rules *uncut;
        const char *whose;
        struct grants kept, removed;
};

/* The ceiling's grants that lie inside a grant which is too wide take its place, where the policy allows them too. */
static bool add_narrower(struct cutter *k, const struct grant *g, bool write)
{
        bool added = false;
        for (size_t i = 0; i < k->view->rules.count; i++) {
                const struct rule *r = &k->view->rules.list[i];
                if (r->kind != RULE_WRITE && (write || r->kind != RULE_READ))
                        continue;
                if (!path_is_beneath(r->path, g->path) || view_denies(k->view, r->path) ||
                    !rules_decide(k->uncut, r->path, write, NULL))
                        continue;
                grants_add(k->c, &k->kept, write ? ACCESS_WRITE : ACCESS_READ, r->path, NULL, g->from);
                added = true;
        }
        return added;
}

static void record_cut(struct cutter *k, const struct grant *g, struct source by, const char *result)
{
        CLEANUP_TEXT struct text from = { 0 };
        source_print(g->from, &from);
        plan_add_cut(k->c, by, result, "%s%s %s (from %s)", k->whose, g->access == ACCESS_WRITE ? "write" : "read",
                     g->path, from.data ? from.data : "");
}

/* allow_paths speaks of what lies beyond the workspace; allow_write of every place. */
static bool is_workspace(const struct grant *g)
{
        return g->set && strcmp(g->set, GRANT_WORKSPACE) == 0;
}

static void cut_read(struct cutter *k, const struct grant *g)
{
        bool cut = k->view->limits_reads && !is_workspace(g) && !view_covers(k->view, g->path, false);
        /* Everything at once is what `read: listed` in a ceiling is there to prevent. */
        if (k->view->listed.name && strcmp(g->path, "/") == 0) {
                record_cut(k, g, k->view->listed, "removed");
                return;
        }
        grants_add(k->c, cut ? &k->removed : &k->kept, g->access, g->path, g->set, g->from);
        if (cut)
                record_cut(k, g, k->view->reads_by, add_narrower(k, g, false) ? "narrowed" : "removed");
}

static void cut_grant(struct cutter *k, const struct grant *g)
{
        const struct rule *denied = view_denies(k->view, g->path);
        if (denied) {
                record_cut(k, g, denied->from, "removed");
                return;
        }
        bool limited = (k->view->limits_writes && (k->view->limits_workspace || !is_workspace(g))) ||
                       view_says_read_only(k->view, g->path);
        if (g->access == ACCESS_WRITE) {
                if (!limited || view_covers(k->view, g->path, true)) {
                        grants_add(k->c, &k->kept, ACCESS_WRITE, g->path, g->set, g->from);
                        return;
                }
                record_cut(k, g, k->view->writes_by, add_narrower(k, g, true) ? "narrowed" : "read-only");
        }
        struct grant reading = *g;
        reading.access = g->access == ACCESS_READ ? ACCESS_READ : ACCESS_READ_ONLY;
        cut_read(k, &reading);
}

/* A read-only place that was cut must not fall back to a writable one around it. */
static void keep_read_only(struct cutter *k)
{
        size_t kept = k->kept.count;
        for (size_t i = 0; i < k->removed.count; i++) {
                const struct grant *g = &k->removed.list[i];
                for (size_t j = 0; j < kept; j++)
                        if (k->kept.list[j].access == ACCESS_WRITE && path_is_beneath(g->path, k->kept.list[j].path)) {
                                grants_add(k->c, &k->kept, ACCESS_READ_ONLY, g->path, g->set, g->from);
                                break;
                        }
        }
}

/* What a ceiling allows to be read and no more stays so inside a writable place of the policy's. */
static void add_read_only(struct cutter *k)
{
        size_t kept = k->kept.count;
        for (size_t i = 0; i < k->view->rules.count; i++) {
                const struct rule *r = &k->view->rules.list[i];
                if (r->kind != RULE_READ || !r->set || !rules_decide(k->uncut, r->path, true, NULL))
                        continue;
                for (size_t j = 0; j < kept; j++)
                        if (k->kept.list[j].access == ACCESS_WRITE && strcmp(r->path, k->kept.list[j].path) != 0 &&
                            path_is_beneath(r->path, k->kept.list[j].path)) {
                                grants_add(k->c, &k->kept, ACCESS_READ_ONLY, r->path, NULL, r->from);
                                break;
                        }
        }
}

void ceiling_cut_grants(struct compiler *c, struct grants *grants, const struct rules *uncut, const char *whose)
{
        for (size_t i = 0; i < c->ceiling_count; i++) {
                struct cap_view view = view_new(c, c->ceilings[i]);
                struct cutter k = { .c = c, .view = &view, .uncut = uncut, .whose = whose };
                for (size_t j = 0; j < grants->count; j++)
                        cut_grant(&k, &grants->list[j]);
                keep_read_only(&k);
                add_read_only(&k);
                *grants = k.kept;
        }
}

/* The system's own directories are in every plan, unless a ceiling denies them. */
void ceiling_drop_denied(struct compiler *c, struct rules *rules)
{
        for (size_t i = 0; i < c->ceiling_count; i++) {
                struct cap_view view = view_new(c, c->ceilings[i]);
                size_t kept = 0;
                for (size_t j = 0; j < rules->count; j++) {
                        const struct rule *r = &rules->list[j];
                        bool real = r->kind == RULE_READ || r->kind == RULE_WRITE;
                        if (!real || !view_denies(&view, r->path))
                                rules->list[kept++] = *r;
                }
                rules->count = kept;
        }
}

/* The hosts that one ceiling lists, what a + names included. */
static struct hosts hosts_of(struct compiler *c, const struct settings *ceiling, enum key_id key)
{
        struct entries entries = { 0 };
        struct hosts hosts = { 0 };
        add_entries_of(c, ceiling, key, &entries);
        for (size_t i = 0; i < entries.count; i++) {
                const struct entry *e = &entries.list[i];
                struct domain d = e->setting->domain;
                if (e->managed && domain_parse(c->arena, e->managed->entry, NULL, &d))
                        continue; /* a unit test parses every entry of the table */
                if (!e->managed && e->setting->sign == SIGN_PLUS)
                        hosts_add_signed(c, &hosts, e->setting);
                else
                        hosts_add(c, &hosts, true, &d, NULL, e->setting->from);
        }
        return hosts;
}

/* What remains of one host, in `kept`. True when that is all of it, otherwise whether anything does is told. */
static bool cut_host(struct compiler *c, const struct hosts *listed, enum bare_port bare, const struct host_rule *h,
                     struct hosts *kept, bool *ret_any)
{
        *ret_any = false;
        for (size_t i = 0; i < listed->count; i++)
                if (domain_covers(&listed->list[i].domain, &h->domain, bare)) {
                        hosts_add(c, kept, true, &h->domain, h->set, h->from);
                        return true;
                }
        for (size_t i = 0; i < listed->count; i++) {
                struct domain both;
                if (!domain_intersect(&h->domain, &listed->list[i].domain, bare, &both))
                        continue;
                hosts_add(c, kept, true, &both, h->set, h->from);
                *ret_any = true;
        }
        return false;
}

/* "host a.org (from policy.yaml:4:5)" */
static void record_named_cut(struct compiler *c, struct source by, const char *result, const char *what,
                             const char *name, struct source named)
{
        CLEANUP_TEXT struct text from = { 0 };
        source_print(named, &from);
        plan_add_cut(c, by, result, "%s %s (from %s)", what, name, from.data ? from.data : "");
}

/* Keeps of the hosts that are allowed what this list of the ceiling covers, if the ceiling has it. */
static void cut_hosts(struct compiler *c, const struct settings *ceiling, enum key_id key, struct hosts *hosts,
                      const char *what)
{
        const struct setting *limit = settings_last(ceiling, key);
        enum bare_port bare = key == KEY_ALLOW_PRIVATE ? BARE_EVERY : BARE_DEFAULT;
        struct hosts kept = { 0 }, listed = hosts_of(c, ceiling, key);
        for (size_t i = 0; i < hosts->count; i++) {
                const struct host_rule *h = &hosts->list[i];
                bool any = false;
                if (!h->allow || !limit) {
                        hosts_add(c, &kept, h->allow, &h->domain, h->set, h->from);
                        continue;
                }
                if (cut_host(c, &listed, bare, h, &kept, &any))
                        continue;
                char name[DOMAIN_TEXT_SIZE];
                domain_print(&h->domain, name);
                record_named_cut(c, limit->from, any ? "narrowed" : "removed", what, name, h->from);
        }
        *hosts = kept;
}

static void add_denied_hosts(struct compiler *c, const struct settings *ceiling, struct hosts *hosts)
{
        for (size_t i = 0; i < ceiling->count; i++)
                if (ceiling->list[i].key == KEY_DENIED_DOMAINS && !ceiling->list[i].empty)
                        hosts_add(c, hosts, false, &ceiling->list[i].domain, NULL,
                                  compile_source(c, ceiling->list[i].from));
}

void ceiling_cut_hosts(struct compiler *c, struct hosts *hosts, const char *whose)
{
        const char *what = arena_format(c->arena, "%shost", whose);
        c->no_memory |= !what;
        for (size_t i = 0; what && i < c->ceiling_count; i++) {
                cut_hosts(c, c->ceilings[i], KEY_ALLOWED_DOMAINS, hosts, what);
                add_denied_hosts(c, c->ceilings[i], hosts);
        }
}

void ceiling_cut_private_hosts(struct compiler *c)
{
        for (size_t i = 0; i < c->ceiling_count; i++)
                cut_hosts(c, c->ceilings[i], KEY_ALLOW_PRIVATE, &c->plan->private_hosts, "private host");
}

static bool lists_number(const struct settings *s, enum key_id key, uint64_t number)
{
        for (size_t i = 0; i < s->count; i++)
                if (s->list[i].key == key && !s->list[i].empty && s->list[i].number == number)
                        return true;
        return false;
}

static void cut_ports(struct compiler *c, const struct setting *limit, const struct settings *ceiling,
                      struct ports *ports, const char *what)
{
        size_t kept = 0;
        for (size_t i = 0; i < ports->count; i++) {
                const struct plan_port *p = &ports->list[i];
                char number[8];
                (void)snprintf(number, sizeof number, "%u", p->port);
                if (lists_number(ceiling, limit->key, p->port))
                        ports->list[kept++] = *p;
                else
                        record_named_cut(c, limit->from, "removed", what, number, p->from);
        }
        ports->count = kept;
}

void ceiling_cut_ports(struct compiler *c, enum key_id key, struct ports *ports, const char *what)
{
        for (size_t i = 0; i < c->ceiling_count; i++) {
                const struct setting *limit = settings_last(c->ceilings[i], key);
                if (limit)
                        cut_ports(c, limit, c->ceilings[i], ports, what);
        }
}

/* The places of the ceiling's sockets; all of them are expanded, so that a mistake is found in any case. */
static struct grants sockets_of(struct compiler *c, const struct settings *ceiling)
{
        struct grants listed = { 0 };
        for (size_t i = 0; i < ceiling->count; i++) {
                const struct setting *s = &ceiling->list[i];
                const char *path = s->key == KEY_UNIX_SOCKETS && !s->empty ? compile_path(c, s, false) : NULL;
                if (path)
                        grants_add(c, &listed, ACCESS_WRITE, path, NULL, s->from);
        }
        return listed;
}

static bool lists_socket(const struct grants *listed, const char *path)
{
        for (size_t i = 0; i < listed->count; i++)
                if (path_is_beneath(path, listed->list[i].path))
                        return true;
        return false;
}

/* A socket is a way to whoever listens, so a place that a ceiling denies to be read is denied to it as well. */
static void cut_sockets(struct compiler *c, const struct settings *ceiling)
{
        const struct setting *limit = settings_last(ceiling, KEY_UNIX_SOCKETS);
        struct grants listed = sockets_of(c, ceiling);
        struct plan *p = c->plan;
        size_t kept = 0;
        struct cap_view view = { 0 };
        if (p->unix_socket_count)
                view = view_new(c, ceiling);
        for (size_t i = 0; i < p->unix_socket_count; i++) {
                const struct plan_socket *s = &p->unix_sockets[i];
                const struct rule *denied = view_denies(&view, s->path);
                if (denied)
                        record_named_cut(c, denied->from, "removed", "unix socket", s->path, s->from);
                else if (limit && !lists_socket(&listed, s->path))
                        record_named_cut(c, limit->from, "removed", "unix socket", s->path, s->from);
                else
                        p->unix_sockets[kept++] = *s;
        }
        p->unix_socket_count = kept;
}

void ceiling_cut_sockets(struct compiler *c)
{
        for (size_t i = 0; i < c->ceiling_count; i++)
                cut_sockets(c, c->ceilings[i]);
}
