/*
 * File rules: defaults, grants, denials, in this order, so that an explanation reads from the broad to the narrow.
 *
 * A managed entry that would lie in a private directory of the box is left out: the real file is not there, and a
 * program that looks for it should find nothing rather than be refused. What a person denies by name is kept.
 */
#include <string.h>

#include "policy/caps.h"
#include "policy/compile.h"
#include "policy/defaults.h"
#include "policy/modules.h"
#include "policy/pattern.h"
#include "policy/rule_index.h"

/* Room for `more` rules in one piece, so that a long list leaves no shorter copies of itself in the arena. */
static bool rules_reserve(struct compiler *c, struct rules *rules, size_t more)
{
        size_t room = rules->count + more;
        struct rule *larger = arena_alloc(c->arena, room * sizeof *larger);
        if (!larger) {
                c->no_memory = true;
                return false;
        }
        if (rules->count)
                memcpy(larger, rules->list, rules->count * sizeof *larger);
        rules->list = larger;
        rules->room = room;
        return true;
}

/* A path that was joined from two may exceed what each of them kept to. */
static bool is_too_long(const char *path)
{
        size_t names = 0, length = strlen(path);
        for (size_t i = 0; length > 2 * CAP_COMPONENTS - 2 && i < length; i++)
                names += path[i] == '/';
        return length > CAP_TEXT || names > CAP_COMPONENTS;
}

void rules_add(struct compiler *c, struct rules *rules, struct rule rule)
{
        if (++c->rules_in_plan > CAP_RULES) {
                if (!c->failed)
                        message_error(c->messages, rule.from, NULL, "the plan has more than %d file rules", CAP_RULES);
                c->failed = true;
                return;
        }
        if (is_too_long(rule.path)) {
                message_error(c->messages, rule.from, "choose a directory that lies less deep",
                              "a path that is protected below it would be too long");
                c->failed = true;
                return;
        }
        if (rules->count == rules->room && !rules_reserve(c, rules, rules->count + 16))
                return;
        rules->list[rules->count++] = rule;
}

void grants_add(struct compiler *c, struct grants *g, enum access access, const char *path, const char *set,
                struct source from)
{
        if (g->count == CAP_GRANTS) {
                if (!c->failed)
                        message_error(c->messages, from, "grant a directory that holds them",
                                      "more than %d paths are granted", CAP_GRANTS);
                c->failed = true;
                return;
        }
        struct grant *slot = arena_array_add(c->arena, &g->list, &g->count, sizeof *slot);
        if (slot)
                *slot = (struct grant){ c->denied & RIGHT_WRITE ? ACCESS_READ_ONLY : access, path, set, from };
        c->no_memory |= !slot;
}

/* Keys that grant paths to the agent's own box. */
static bool grants_path(const struct setting *s, enum access *ret)
{
        if (s->empty)
                return false;
        if (s->key == KEY_ALLOW_PATHS || s->key == KEY_MODULE_FILESYSTEM_PATHS) {
                *ret = (enum access)s->number;
                return true;
        }
        *ret = ACCESS_WRITE;
        return s->key == KEY_ALLOW_WRITE;
}

void compile_grants(struct compiler *c, struct grants *ret)
{
        const struct plan_value *n = c->plan->number;
        bool read_only = n[PLAN_WORKSPACE].number == PLAN_WORKSPACE_RO;
        if (n[PLAN_READ].number == PLAN_READ_BROAD)
                grants_add(c, ret, ACCESS_READ, "/", NULL, n[PLAN_READ].from);
        const struct setting *workdir = settings_last(c->settings, KEY_WORKDIR);
        struct source from = workdir ? compile_source(c, workdir->from) : compile_default();
        grants_add(c, ret, read_only ? ACCESS_READ_ONLY : ACCESS_WRITE, c->names.workspace, GRANT_WORKSPACE, from);
        for (size_t i = 0; i < c->settings->count; i++) {
                const struct setting *s = &c->settings->list[i];
                enum access access = ACCESS_READ;
                if (!grants_path(s, &access))
                        continue;
                const char *path = compile_path(c, s, false);
                if (path)
                        grants_add(c, ret, access, path, NULL, compile_source(c, s->from));
        }
}

/* Does a grant speak of this place already? Then a default must not narrow what the person said. */
static bool is_granted(const struct grants *grants, const char *path)
{
        for (size_t i = 0; i < grants->count; i++)
                if (path_is_beneath(path, grants->list[i].path))
                        return true;
        return false;
}

/* A private directory gives way to the real one when exactly that is granted. */
static bool is_granted_itself(const struct grants *grants, const char *path)
{
        for (size_t i = 0; i < grants->count; i++)
                if (strcmp(path, grants->list[i].path) == 0)
                        return true;
        return false;
}

static void add_defaults(struct compiler *c, const struct grants *grants, struct rules *rules)
{
        for (size_t i = 0; i < default_rule_count; i++) {
                const struct default_rule *d = &default_rules[i];
                bool replaced = d->kind == RULE_READ ? is_granted(grants, d->path)
                                                     : d->kind == RULE_PRIVATE && is_granted_itself(grants, d->path);
                if (!replaced)
                        rules_add(c, rules, (struct rule){ d->kind, d->path, false, d->why, compile_default() });
        }
}

/* The toolchains that PATH leads to are grants like any other, but that nobody wrote them down. */
static void add_toolchains(struct compiler *c, struct grants *grants)
{
        const char *path = c->facts->path ? c->facts->path : "";
        while (*path) {
                size_t n = strcspn(path, ":");
                const char *entry = arena_copy(c->arena, path, n);
                const char *root = entry ? default_toolchain_of(c->arena, entry, c->facts->home) : NULL;
                for (; root; root = default_companion_of(c->arena, root, c->facts->home))
                        if (!is_granted(grants, root))
                                grants_add(c, grants, ACCESS_READ, root, "toolchain", compile_default());
                c->no_memory |= !entry;
                path += n + (path[n] == ':');
        }
}

/* What the denials of one box are added to, and an index of what was granted before them. */
struct denials {
        struct compiler *c;
        struct rules *rules;
        struct rule_index *granted;
        struct rule_candidates near; /* scratch */
        size_t patterns;
        const struct managed_set *set; /* the last of set_name(): entries of a group stand together */
        const char *group, *name;
};

/* Is this place inside a private directory of the box, with nothing real granted around it? */
static bool lies_in_private(struct denials *d, const char *path)
{
        const struct rule *decided = NULL;
        if (!rule_index_candidates(d->granted, d->c->arena, path, &d->near)) {
                d->c->no_memory = true;
                return false;
        }
        return rules_decide(&d->near.rules, path, false, &decided) && decided->kind == RULE_PRIVATE;
}

/* Literal start of a pattern: where it can match at all. */
static const char *fixed_part(struct compiler *c, const char *pattern)
{
        size_t n = strcspn(pattern, "*?[");
        while (n > 1 && pattern[n - 1] != '/')
                n--;
        const char *part = arena_copy(c->arena, pattern, n > 1 ? n - 1 : n);
        return part ? pattern_unescape(c->arena, part) : NULL;
}

static void add_denial(struct denials *d, struct rule rule)
{
        struct compiler *c = d->c;
        rule.glob = pattern_is_glob(rule.path);
        const char *where = rule.glob ? fixed_part(c, rule.path) : pattern_unescape(c->arena, rule.path);
        if (!where) {
                c->no_memory = true;
                return;
        }
        if (rule.set && lies_in_private(d, where))
                return;
        if (rule.glob && ++d->patterns > CAP_PATTERNS) {
                if (!c->failed)
                        message_error(c->messages, rule.from, "deny a directory, or use a wider pattern",
                                      "there are more than %d patterns", CAP_PATTERNS);
                c->failed = true;
                return;
        }
        if (!rule.glob)
                rule.path = where;
        rules_add(c, d->rules, rule);
}

static const char *set_name(struct denials *d, const struct managed_set *set, const struct managed_entry *e)
{
        if (d->set != set || strcmp(d->group, e->group) != 0) {
                d->set = set;
                d->group = e->group;
                d->name = arena_format(d->c->arena, "%s: %s", set->name, e->group);
        }
        d->c->no_memory |= !d->name;
        return d->name;
}

static void add_entry(struct denials *d, enum rule_kind kind, const struct managed_set *set, const struct entry *e)
{
        struct compiler *c = d->c;
        struct rule rule = { .kind = kind };
        if (e->managed) {
                const char *text = e->managed->entry;
                if (strcmp(text, "{user-data}") == 0 && !(c->names.user_data && *c->names.user_data))
                        return;
                if (*text == '~' && !(c->names.home && *c->names.home))
                        return;
                rule.path = expand_path(c->arena, &c->names, NULL, text, true, false).path;
                rule.set = set ? set_name(d, set, e->managed) : NULL;
                rule.from = e->setting ? compile_source(c, e->setting->from) : compile_default();
                c->no_memory |= !rule.path;
        } else {
                rule.path = compile_path(c, e->setting, true);
                rule.from = compile_source(c, e->setting->from);
        }
        if (rule.path)
                add_denial(d, rule);
}

static const char writable[] = "{writable}";

/* A name to protect without a place of its own belongs to every writable directory. */
static bool is_placed(const struct entry *e)
{
        if (e->managed)
                return !text_starts(e->managed->entry, writable);
        return strchr("/~{", e->setting->text[0]) != NULL;
}

static bool leaves_its_directory(struct compiler *c, const struct setting *s)
{
        for (const char *p = s->text; *p; p += strspn(p, "/")) {
                size_t n = strcspn(p, "/");
                if (n == 2 && p[0] == '.' && p[1] == '.') {
                        message_error(c->messages, s->from, "write the whole path of what lies elsewhere",
                                      "'%.100s' would leave the directory that it is protected in", s->text);
                        c->failed = true;
                        return true;
                }
                p += n;
        }
        return false;
}

/* One entry below every writable directory: the same text behind each, so that a long policy stays cheap. */
static void add_below_each(struct denials *d, const char *const *roots, size_t root_count, const struct entry *e)
{
        struct compiler *c = d->c;
        struct rule rule = { .kind = RULE_PROTECT };
        const char *below = NULL;
        if (e->managed) {
                below = e->managed->entry + strlen(writable);
                rule.set = set_name(d, &protected_set, e->managed);
                rule.from = e->setting ? compile_source(c, e->setting->from) : compile_default();
        } else {
                struct setting from_root = *e->setting;
                from_root.base = "/";
                below = leaves_its_directory(c, e->setting) ? NULL : compile_path(c, &from_root, true);
                rule.from = compile_source(c, e->setting->from);
        }
        if (!below)
                return;
        rule.glob = pattern_is_glob(below);
        const char *literal = rule.glob ? below : pattern_unescape(c->arena, below);
        bool itself = strcmp(below, "/") == 0; /* "." */
        for (size_t i = 0; literal && i < root_count; i++) {
                const char *root = rule.glob ? pattern_escape(c->arena, roots[i]) : roots[i];
                if (root && !itself)
                        root = arena_join(c->arena, strcmp(root, "/") == 0 ? "" : root, literal);
                rule.path = root;
                if (rule.path)
                        rules_add(c, d->rules, rule);
                c->no_memory |= !rule.path;
        }
}

static bool is_among(const char *const *roots, size_t count, const char *path)
{
        for (size_t i = 0; i < count; i++)
                if (strcmp(roots[i], path) == 0)
                        return true;
        return false;
}

/* Every writable directory once. */
static const char *const *writable_roots(struct compiler *c, const struct grants *grants, size_t *ret_count)
{
        const char **roots = NULL;
        *ret_count = 0;
        for (size_t i = 0; i < grants->count; i++) {
                const struct grant *g = &grants->list[i];
                if (g->access != ACCESS_WRITE || is_among(roots, *ret_count, g->path))
                        continue;
                if (*ret_count == CAP_WRITABLE) {
                        message_error(c->messages, g->from, "grant a directory that holds them",
                                      "more than %d directories are writable", CAP_WRITABLE);
                        c->failed = true;
                        return roots;
                }
                const char **slot = arena_array_add(c->arena, &roots, ret_count, sizeof(*slot));
                if (!slot) {
                        c->no_memory = true;
                        return NULL;
                }
                *slot = g->path;
        }
        return roots;
}

static void add_protected(struct denials *d, const struct grants *grants)
{
        struct entries entries = compile_entries(d->c, KEY_PROTECT, NULL);
        ceiling_add_entries(d->c, KEY_PROTECT, &entries);
        size_t root_count = 0;
        const char *const *roots = writable_roots(d->c, grants, &root_count);
        if (!rules_reserve(d->c, d->rules, entries.count * (root_count + 1)))
                return;
        for (size_t i = 0; i < entries.count && !d->c->no_memory; i++) {
                if (is_placed(&entries.list[i]))
                        add_entry(d, RULE_PROTECT, &protected_set, &entries.list[i]);
                else
                        add_below_each(d, roots, root_count, &entries.list[i]);
        }
}

static void add_denials(struct compiler *c, const struct grants *grants, struct rules *rules)
{
        struct denials d = { .c = c, .rules = rules };
        struct rules granted = { 0 };
        /* A copy: the index points into the list, which grows from here on. */
        granted.list = arena_alloc(c->arena, (rules->count + 1) * sizeof *granted.list);
        if (granted.list)
                memcpy(granted.list, rules->list, rules->count * sizeof *granted.list);
        granted.count = rules->count;
        d.granted = granted.list ? rule_index_new(c->arena, &granted) : NULL;
        if (!d.granted) {
                c->no_memory = true;
                return;
        }
        struct entries deny_read = compile_entries(c, KEY_DENY_READ, NULL);
        ceiling_add_entries(c, KEY_DENY_READ, &deny_read);
        for (size_t i = 0; i < deny_read.count; i++)
                add_entry(&d, RULE_DENY_READ, &sensitive_set, &deny_read.list[i]);
        struct entries deny_write = compile_entries(c, KEY_DENY_WRITE, NULL);
        ceiling_add_entries(c, KEY_DENY_WRITE, &deny_write);
        for (size_t i = 0; i < deny_write.count; i++)
                add_entry(&d, RULE_DENY_WRITE, NULL, &deny_write.list[i]);
        add_protected(&d, grants);
}

/* The policy itself must not be the agent's to change. */
static void add_own_files(struct compiler *c, struct rules *rules)
{
        for (size_t i = 0; c->facts->own_files && c->facts->own_files[i]; i++) {
                const char *path = arena_string(c->arena, c->facts->own_files[i]);
                c->no_memory |= !path;
                const struct rule *by = NULL;
                if (path && rules_decide(rules, path, true, &by) && by->kind != RULE_PRIVATE)
                        rules_add(c, rules, (struct rule){ RULE_PROTECT, path, false, "policy file",
                                                           compile_default() });
        }
}

static void warn_if_idle(struct compiler *c, const struct grant *g, const struct rules *rules)
{
        const struct rule *by = NULL;
        bool write = g->access == ACCESS_WRITE;
        if (rules_decide(rules, g->path, write, &by) || !by)
                return;
        CLEANUP_TEXT struct text hint = { 0 };
        text_format(&hint, "%s %s, from ", rule_kind_words[by->kind], by->path);
        source_print(by->from, &hint);
        if (by->set)
                text_format(&hint, " (%s); to allow it, release the entry there with a - in front", by->set);
        message_warning(c->messages, g->from, hint.data, "%s cannot be %s: another rule denies it", g->path,
                        write ? "written" : "read");
}

/* A warning is not worth more than this: a policy that has thousands of patterns gets by without the last of them. */
enum { IDLE_LOOKS = 200000 };

static int compare_grants(const void *a, const void *b)
{
        const struct grant *x = *(const struct grant *const *)a, *y = *(const struct grant *const *)b;
        return strcmp(x->path, y->path);
}

/*
 * A grant that a denial takes back at once is almost always a mistake; say which rule stands in the way. Grants are
 * sorted, so that each denial finds those at or below its anchor without looking at the others.
 */
static void warn_of_idle_grants(struct compiler *c, const struct grants *grants, const struct rules *rules)
{
        size_t looks = 0;
        const struct grant **sorted = arena_alloc(c->arena, (grants->count + 1) * sizeof(*sorted));
        if (!sorted) {
                c->no_memory = true;
                return;
        }
        for (size_t i = 0; i < grants->count; i++)
                sorted[i] = &grants->list[i];
        qsort(sorted, grants->count, sizeof(*sorted), compare_grants);
        for (size_t i = 0; i < rules->count; i++) {
                const struct rule *r = &rules->list[i];
                if (r->kind < RULE_DENY_READ)
                        continue;
                size_t length = rule_anchor_length(r), low = 0, high = grants->count;
                while (low < high) {
                        size_t middle = low + (high - low) / 2;
                        if (strncmp(sorted[middle]->path, r->path, length) < 0)
                                low = middle + 1;
                        else
                                high = middle;
                }
                for (; low < grants->count && looks < IDLE_LOOKS &&
                       strncmp(sorted[low]->path, r->path, length) == 0; low++) {
                        looks += 1 + (r->glob ? strlen(r->path) * strlen(sorted[low]->path) / 64 : 0);
                        if (pattern_depth(r->path, r->glob, sorted[low]->path) < 0)
                                continue;
                        looks += rules->count;
                        warn_if_idle(c, sorted[low], rules);
                }
        }
}

/*
 * "May be read" says nothing new of a place that may be written, while "may only be read" (:ro, --ro) takes writing
 * away there. The first becomes a rule only where a denial would close the place otherwise.
 */
static bool says_nothing_new(const struct grants *grants, const struct grant *g)
{
        for (size_t i = 0; g->access == ACCESS_READ && i < grants->count; i++)
                if (grants->list[i].access == ACCESS_WRITE && path_is_beneath(g->path, grants->list[i].path))
                        return true;
        return false;
}

static void add_grant(struct compiler *c, const struct grant *g, struct rules *rules)
{
        rules_add(c, rules, (struct rule){ g->access == ACCESS_WRITE ? RULE_WRITE : RULE_READ, g->path, false, g->set,
                                           g->from });
}

static void compile_rules(struct compiler *c, const struct grants *grants, struct rules *ret)
{
        if (!rules_reserve(c, ret, default_rule_count + grants->count + protected_set.count + sensitive_set.count))
                return;
        add_defaults(c, grants, ret);
        for (size_t i = 0; i < grants->count; i++)
                if (!says_nothing_new(grants, &grants->list[i]))
                        add_grant(c, &grants->list[i], ret);
        const char *home = c->plan->home;
        if (*home && default_home_is_private(home) && !rules_decide(ret, home, false, NULL))
                rules_add(c, ret, (struct rule){ RULE_PRIVATE, home, false, "home", compile_default() });
        ceiling_drop_denied(c, ret);
        add_denials(c, grants, ret);
        for (size_t i = 0; i < grants->count; i++)
                if (says_nothing_new(grants, &grants->list[i]) && !rules_decide(ret, grants->list[i].path, false, NULL))
                        add_grant(c, &grants->list[i], ret);
        add_own_files(c, ret);
        warn_of_idle_grants(c, grants, ret);
}

void compile_box_rules(struct compiler *c, struct grants *grants, const char *whose, struct rules *ret)
{
        add_toolchains(c, grants);
        if (c->ceiling_count) {
                struct compiler without = *c;
                struct rules uncut = { 0 };
                without.ceiling_count = 0;
                compile_rules(&without, grants, &uncut);
                c->failed |= without.failed;
                c->no_memory |= without.no_memory;
                if (!c->no_memory)
                        ceiling_cut_grants(c, grants, &uncut, whose);
        }
        compile_rules(c, grants, ret);
}
