/* Limits the granted paths by the ceilings: removes grants, narrows them or makes them read-only; see ceiling.c. */
#include <string.h>

#include "policy/ceiling_parts.h"
#include "policy/path_pattern.h"

/* The rule.set of a ceiling's grant that was written with :ro. */
#define SET_READ_ONLY "ro"

static void view_add_rule(struct compiler *c, struct ceiling_view *v, enum rule_kind kind, const char *path,
                          struct source from)
{
        bool deny = kind == RULE_DENY_READ, glob = deny && path && path_pattern_is_glob(path);
        if (path && deny && !glob)
                path = path_pattern_unescape(c->arena, path);
        if (path)
                rules_add(c, &v->rules, (struct rule){ kind, path, glob, NULL, compile_source(c, from), deny });
        else
                c->no_memory |= !c->failed;
}

static void view_add_grant(struct compiler *c, struct ceiling_view *v, const struct setting *s)
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
        view_add_rule(c, v, write ? RULE_WRITE : RULE_READ, compile_path(c, s, false), s->from);
        if (s->number == ACCESS_READ_ONLY && s->key == KEY_ALLOW_PATHS && v->rules.count)
                v->rules.list[v->rules.count - 1].set = SET_READ_ONLY;
}

/* As in a policy: a read grant inside a write grant changes nothing, unless it was written with :ro. */
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

struct ceiling_view ceiling_view_new(struct compiler *c, const struct settings *ceiling)
{
        struct ceiling_view v = { 0 };
        struct entries denied = { 0 };
        for (size_t i = 0; i < ceiling->count; i++)
                if (ceiling->list[i].key == KEY_ALLOW_WRITE || ceiling->list[i].key == KEY_ALLOW_PATHS)
                        view_add_grant(c, &v, &ceiling->list[i]);
        const struct setting *read = settings_find_last(ceiling, KEY_READ);
        if (read && read->number == PLAN_READ_LISTED)
                v.read_listed_by = read->from;
        drop_readable_inside_writable(&v.rules);
        ceiling_collect_entries(c, ceiling, KEY_DENY_READ, &denied);
        for (size_t i = 0; i < denied.count; i++) {
                const struct entry *e = &denied.list[i];
                const char *path = e->managed
                        ? expand_path(c->arena, &c->names, NULL, e->managed->entry, true, false).path
                        : compile_path(c, e->setting, true);
                if (path || !e->managed) /* without a home directory, an entry below it denies nothing */
                        view_add_rule(c, &v, RULE_DENY_READ, path, e->setting->from);
        }
        return v;
}

const struct rule *ceiling_view_denies(const struct ceiling_view *v, const char *path)
{
        const struct rule *by = NULL;
        return !rules_decide(&v->rules, path, false, &by) && by ? by : NULL;
}

/* The deepest grant of the ceiling that contains the path, or NULL. */
static const struct rule *view_find_grant(const struct ceiling_view *v, const char *path)
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

static bool view_covers(const struct ceiling_view *v, const char *path, bool write)
{
        const struct rule *around = view_find_grant(v, path);
        return around && (!write || around->kind == RULE_WRITE);
}

/* Does the ceiling grant this path with :ro? That limits the workspace too. */
static bool view_is_read_only(const struct ceiling_view *v, const char *path)
{
        const struct rule *around = view_find_grant(v, path);
        return around && around->kind == RULE_READ && around->set;
}

struct cutter {
        struct compiler *c;
        const struct ceiling_view *view;
        const struct rules *uncut; /* the rules of the box without ceilings */
        const char *box_label;     /* see ceiling_cut_grants() */
        struct grants kept, removed;
};

/* Replaces a grant that is too wide by the ceiling's grants inside it, as far as the policy allows those too. */
static bool replace_by_narrower(struct cutter *k, const struct grant *g, bool write)
{
        bool added = false;
        for (size_t i = 0; i < k->view->rules.count; i++) {
                const struct rule *r = &k->view->rules.list[i];
                if (r->kind != RULE_WRITE && (write || r->kind != RULE_READ))
                        continue;
                if (!path_is_beneath(r->path, g->path) || ceiling_view_denies(k->view, r->path) ||
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
        plan_record_ceiling_cut(k->c, by, result, "%s%s %s (from %s)", k->box_label,
                                g->access == ACCESS_WRITE ? "write" : "read", g->path, from.data ? from.data : "");
}

/* A ceiling's allow_paths does not limit the workspace; its allow_write does. */
static bool is_workspace(const struct grant *g)
{
        return g->set && strcmp(g->set, SET_WORKSPACE) == 0;
}

static void cut_read(struct cutter *k, const struct grant *g)
{
        bool cut = k->view->limits_reads && !is_workspace(g) && !view_covers(k->view, g->path, false);
        /* `filesystem.read: listed` in a ceiling forbids the grant of the whole root. */
        if (k->view->read_listed_by.name && strcmp(g->path, "/") == 0) {
                record_cut(k, g, k->view->read_listed_by, "removed");
                return;
        }
        grants_add(k->c, cut ? &k->removed : &k->kept, g->access, g->path, g->set, g->from);
        if (cut)
                record_cut(k, g, k->view->reads_by, replace_by_narrower(k, g, false) ? "narrowed" : "removed");
}

static void cut_grant(struct cutter *k, const struct grant *g)
{
        const struct rule *denied = ceiling_view_denies(k->view, g->path);
        if (denied) {
                record_cut(k, g, denied->from, "removed");
                return;
        }
        bool limited = (k->view->limits_writes && (k->view->limits_workspace || !is_workspace(g))) ||
                       view_is_read_only(k->view, g->path);
        if (g->access == ACCESS_WRITE) {
                if (!limited || view_covers(k->view, g->path, true)) {
                        grants_add(k->c, &k->kept, ACCESS_WRITE, g->path, g->set, g->from);
                        return;
                }
                record_cut(k, g, k->view->writes_by, replace_by_narrower(k, g, true) ? "narrowed" : "read-only");
        }
        struct grant reading = *g;
        reading.access = g->access == ACCESS_READ ? ACCESS_READ : ACCESS_READ_ONLY;
        cut_read(k, &reading);
}

/* Keeps a removed grant as read-only if it is inside a writable one: without its :ro it would become writable. */
static void keep_removed_read_only(struct cutter *k)
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

/* Adds the ceiling's :ro grants that are inside a writable grant of the policy, so that they stay read-only. */
static void add_ceiling_read_only(struct cutter *k)
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

void ceiling_cut_grants(struct compiler *c, struct grants *grants, const struct rules *uncut, const char *box_label)
{
        for (size_t i = 0; i < c->ceiling_count; i++) {
                struct ceiling_view view = ceiling_view_new(c, c->ceilings[i]);
                struct cutter k = { .c = c, .view = &view, .uncut = uncut, .box_label = box_label };
                for (size_t j = 0; j < grants->count; j++)
                        cut_grant(&k, &grants->list[j]);
                keep_removed_read_only(&k);
                add_ceiling_read_only(&k);
                *grants = k.kept;
        }
}

/* Removes the grants that a ceiling denies, the system directories included. */
void ceiling_drop_denied_rules(struct compiler *c, struct rules *rules)
{
        for (size_t i = 0; i < c->ceiling_count; i++) {
                struct ceiling_view view = ceiling_view_new(c, c->ceilings[i]);
                size_t kept = 0;
                for (size_t j = 0; j < rules->count; j++) {
                        const struct rule *r = &rules->list[j];
                        bool is_grant = r->kind == RULE_READ || r->kind == RULE_WRITE;
                        if (!is_grant || !ceiling_view_denies(&view, r->path))
                                rules->list[kept++] = *r;
                }
                rules->count = kept;
        }
}
