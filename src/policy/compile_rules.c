/*
 * Adds the file rules: defaults, grants and denials, in this order, so that an explanation goes from broad to narrow
 * rules; then read grants that a denial would close, and ringwall's own files.
 *
 * A managed entry inside a private directory of the box is left out: the real file is not in the box, and a program
 * that looks for it should get ENOENT, not EACCES. A denial that a policy lists itself is always kept.
 */
#include <string.h>

#include "policy/input_limits.h"
#include "policy/compile.h"
#include "policy/defaults.h"
#include "policy/module_rights.h"
#include "policy/path_pattern.h"
#include "policy/rule_index.h"

/* Makes room for `more` rules at once, so that a growing list does not leave shorter copies of itself in the arena. */
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

/*
 * Two paths that are within the limits can exceed them when joined. A component takes at least two bytes, with its
 * slash, so the components of a short path need not be counted.
 */
static bool is_too_long(const char *path)
{
        size_t names = 0, length = strlen(path);
        for (size_t i = 0; length > 2 * PATH_COMPONENTS_MAX - 2 && i < length; i++)
                names += path[i] == '/';
        return length > POLICY_TEXT_MAX || names > PATH_COMPONENTS_MAX;
}

void rules_add(struct compiler *c, struct rules *rules, struct rule rule)
{
        if (++c->rules_in_plan > POLICY_RULES_MAX) {
                if (!c->failed)
                        diagnostic_error(c->messages, rule.from, "use wider patterns, or fewer writable directories",
                                         "the plan has more than %d file and host rules, servers included",
                                         POLICY_RULES_MAX);
                c->failed = true;
                return;
        }
        if (is_too_long(rule.path)) {
                diagnostic_error(c->messages, rule.from, "choose a directory with a shorter path",
                                 "the path of this rule has more than %d bytes or %d components: %.60s…",
                                 POLICY_TEXT_MAX, PATH_COMPONENTS_MAX, rule.path);
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
        if (g->count == POLICY_GRANTS_MAX) {
                if (!c->failed)
                        diagnostic_error(c->messages, from, "grant a directory that contains them",
                                         "more than %d paths are granted", POLICY_GRANTS_MAX);
                c->failed = true;
                return;
        }
        struct grant *slot = arena_array_push(c->arena, &g->list, &g->count, sizeof *slot);
        if (slot)
                *slot = (struct grant){ c->denied & RIGHT_WRITE ? ACCESS_READ_ONLY : access, path, set, from };
        c->no_memory |= !slot;
}

/* Does this setting grant a path to the agent's own box? */
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

/* A missing path is an error in a flag, but a warning in a policy file, which may serve several machines. */
static void report_missing(struct compiler *c, const struct setting *s, const char *path)
{
        CLEANUP_TEXT struct text hint = { 0 };
        text_format(&hint, "create it, or write '%.200s?' if it may be missing", s->text);
        if (s->from.line) {
                diagnostic_warning(c->messages, s->from, hint.data, "%s does not exist, so it is not in the box", path);
                return;
        }
        diagnostic_error(c->messages, s->from, hint.data, "%s does not exist", path);
        c->failed = true;
}

void compile_grants(struct compiler *c, struct grants *ret)
{
        const struct plan_value *n = c->plan->scalar;
        bool read_only = n[PLAN_WORKSPACE].value == PLAN_WORKSPACE_RO;
        if (n[PLAN_READ].value == PLAN_READ_BROAD)
                grants_add(c, ret, ACCESS_READ, "/", NULL, n[PLAN_READ].from);
        const struct setting *workdir = settings_find_last(c->settings, KEY_WORKDIR);
        struct source from = workdir ? compile_source(c, workdir->from) : default_source();
        grants_add(c, ret, read_only ? ACCESS_READ_ONLY : ACCESS_WRITE, c->names.workspace, SET_WORKSPACE, from);
        for (size_t i = 0; i < c->settings->count; i++) {
                const struct setting *s = &c->settings->list[i];
                enum access access = ACCESS_READ;
                if (!grants_path(s, &access))
                        continue;
                const char *path = compile_path(c, s, false);
                if (path && !s->optional && c->facts->is_missing && c->facts->is_missing(path))
                        report_missing(c, s, path);
                if (path)
                        grants_add(c, ret, access, path, NULL, compile_source(c, s->from));
        }
}

/* Is the path inside a grant? Then a default read rule would narrow what the policy granted. */
static bool is_inside_grant(const struct grants *grants, const char *path)
{
        for (size_t i = 0; i < grants->count; i++)
                if (path_is_beneath(path, grants->list[i].path))
                        return true;
        return false;
}

/* Is exactly this path granted? Then the box gets the real directory instead of a private one. */
static bool is_granted_exactly(const struct grants *grants, const char *path)
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
                bool replaced = d->kind == RULE_READ ? is_inside_grant(grants, d->path)
                                                     : d->kind == RULE_PRIVATE && is_granted_exactly(grants, d->path);
                if (!replaced)
                        rules_add(c, rules, (struct rule){ d->kind, d->path, false, d->set, default_source(), false });
        }
}

/* Grants the toolchains in PATH. Unlike other grants, no policy asked for them; see drop_denied_toolchains(). */
static void add_toolchains(struct compiler *c, struct grants *grants)
{
        const char *path = c->facts->path ? c->facts->path : "";
        while (*path) {
                size_t n = strcspn(path, ":");
                const char *entry = arena_strndup(c->arena, path, n);
                const char *root = entry ? toolchain_root_of(c->arena, entry, c->facts) : NULL;
                for (; root; root = default_next_toolchain_part(c->arena, root, c->facts->home))
                        if (!is_inside_grant(grants, root))
                                grants_add(c, grants, ACCESS_READ, root, SET_TOOLCHAIN, default_source());
                c->no_memory |= !entry;
                path += n + (path[n] == ':');
        }
}

/* Adds the denials of one box. */
struct denial_builder {
        struct compiler *c;
        struct rules *rules;               /* of the box; denials are appended */
        struct rule_index *granted;        /* the rules before the first denial */
        struct rule_candidates candidates; /* scratch space of find_grant() */
        size_t patterns;
        const struct managed_set *set; /* cache of format_set_name(): entries of one group are neighbours */
        const char *group, *name;
};

/* The rule that grants this path, or NULL. */
static const struct rule *find_grant(struct denial_builder *d, const char *path)
{
        const struct rule *decided = NULL;
        if (!rule_index_candidates(d->granted, d->c->arena, path, &d->candidates)) {
                d->c->no_memory = true;
                return NULL;
        }
        return rules_decide(&d->candidates.rules, path, false, &decided) ? decided : NULL;
}

static bool is_private(const struct rule *grant)
{
        return grant && grant->kind == RULE_PRIVATE;
}

static bool is_visible(struct denial_builder *d, const char *path)
{
        const struct rule *grant = find_grant(d, path);
        return grant && !is_private(grant);
}

/*
 * A managed entry inside a private directory is not visible in the box. But on the host it may be a symlink into a
 * granted directory (~/.bashrc to ~/dotfiles/bashrc). Then the rule must apply to the target, and each symlink on the
 * way that is visible in the box must be protected, or the box could point ~/.bashrc elsewhere. Returns the target, or
 * NULL if it is not visible in the box.
 */
static const char *protect_links_and_find_target(struct denial_builder *d, const struct rule *rule, const char *path)
{
        struct compiler *c = d->c;
        struct facts_resolved_path resolved;
        bool failed = false;
        if (!c->facts->resolve_links || !c->facts->resolve_links(c->arena, path, &resolved, &failed))
                return NULL;
        if (failed && !c->failed)
                diagnostic_error(c->messages, rule->from, "write the target of the links instead",
                                 "the symbolic links in %s cannot be resolved", path);
        c->failed |= failed;
        for (size_t i = 0; i < resolved.link_count; i++) {
                struct rule link = *rule;
                link.kind = RULE_PROTECT;
                link.path = resolved.links[i];
                if (is_visible(d, link.path))
                        rules_add(c, d->rules, link);
        }
        return resolved.target && is_visible(d, resolved.target) ? resolved.target : NULL;
}

/* The directory below which a pattern can match: its leading components without pattern characters. */
static const char *literal_directory(struct compiler *c, const char *pattern)
{
        size_t n = strcspn(pattern, "*?[");
        while (n > 1 && pattern[n - 1] != '/')
                n--;
        const char *part = arena_strndup(c->arena, pattern, n > 1 ? n - 1 : n);
        return part ? path_pattern_unescape(c->arena, part) : NULL;
}

static void add_denial(struct denial_builder *d, struct rule rule)
{
        struct compiler *c = d->c;
        rule.glob = path_pattern_is_glob(rule.path);
        const char *where = rule.glob ? literal_directory(c, rule.path) : path_pattern_unescape(c->arena, rule.path);
        if (!where) {
                c->no_memory = true;
                return;
        }
        if (rule.set && is_private(find_grant(d, where))) {
                where = rule.glob ? NULL : protect_links_and_find_target(d, &rule, where);
                if (!where)
                        return;
        }
        if (rule.glob && ++d->patterns > POLICY_PATTERNS_MAX) {
                if (!c->failed)
                        diagnostic_error(c->messages, rule.from, "deny a directory, or use a wider pattern",
                                         "there are more than %d glob patterns in denials",
                                         POLICY_PATTERNS_MAX);
                c->failed = true;
                return;
        }
        if (!rule.glob)
                rule.path = where;
        rules_add(c, d->rules, rule);
}

static const char *format_set_name(struct denial_builder *d, const struct managed_set *set,
                                   const struct managed_entry *e)
{
        if (d->set != set || strcmp(d->group, e->group) != 0) {
                d->set = set;
                d->group = e->group;
                d->name = arena_format(d->c->arena, "%s: %s", set->name, e->group);
        }
        d->c->no_memory |= !d->name;
        return d->name;
}

/* Does the managed entry start at a directory that this user does not have? Then it denies nothing. */
static bool lacks_directory(const struct compiler *c, const char *entry)
{
        const char *value = "/";
        if (*entry == '~')
                value = c->names.home;
        else if (strcmp(entry, "{user-data}") == 0)
                value = c->names.user_data;
        else if (strcmp(entry, "{user-state}") == 0)
                value = c->names.user_state;
        return !value || !*value;
}

static void add_entry(struct denial_builder *d, enum rule_kind kind, const struct managed_set *set,
                      const struct entry *e)
{
        struct compiler *c = d->c;
        struct rule rule = { .kind = kind, .of_ceiling = e->of_ceiling };
        if (e->managed) {
                const char *text = e->managed->entry;
                if (lacks_directory(c, text))
                        return;
                rule.path = expand_path(c->arena, &c->names, NULL, text, true, false).path;
                rule.set = set ? format_set_name(d, set, e->managed) : NULL;
                rule.from = e->setting ? compile_source(c, e->setting->from) : default_source();
                c->no_memory |= !rule.path;
        } else {
                rule.path = compile_path(c, e->setting, true);
                rule.from = compile_source(c, e->setting->from);
        }
        if (rule.path)
                add_denial(d, rule);
}

static const char writable[] = "{writable}";

/* False for a relative name in `protect`: it applies below every writable directory. */
static bool names_a_location(const struct entry *e)
{
        if (e->managed)
                return !text_has_prefix(e->managed->entry, writable);
        return strchr("/~{", e->setting->text[0]) != NULL;
}

static bool reject_parent_component(struct compiler *c, const struct setting *s)
{
        for (const char *p = s->text; *p; p += strspn(p, "/")) {
                size_t n = strcspn(p, "/");
                if (n == 2 && p[0] == '.' && p[1] == '.') {
                        diagnostic_error(c->messages, s->from, "write an absolute path for a file elsewhere",
                                         "'%.100s' leads out of the writable directory that it starts from", s->text);
                        c->failed = true;
                        return true;
                }
                p += n;
        }
        return false;
}

/*
 * If the root's path ends with leading components of the name, returns the rest of the name: "/settings.json" for the
 * name "/.claude/settings.json" and the root …/.claude. So the rule also applies where ~/.claude itself is writable.
 * Otherwise NULL.
 */
static const char *strip_prefix_in_root(const char *root, const char *name)
{
        size_t length = strlen(root);
        for (const char *slash = strchr(name + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                size_t part = (size_t)(slash - name);
                if (part <= length && strncmp(root + length - part, name, part) == 0)
                        return slash;
        }
        return NULL;
}

/* Adds one entry of `protect` below every writable directory. Expands it only once, to keep long policies cheap. */
static void add_below_each_root(struct denial_builder *d, const char *const *roots, size_t root_count,
                                const struct entry *e)
{
        struct compiler *c = d->c;
        struct rule rule = { .kind = RULE_PROTECT, .of_ceiling = e->of_ceiling };
        const char *below = NULL;
        if (e->managed) {
                below = e->managed->entry + strlen(writable);
                rule.set = format_set_name(d, &protected_set, e->managed);
                rule.from = e->setting ? compile_source(c, e->setting->from) : default_source();
        } else {
                struct setting from_root = *e->setting;
                from_root.base = "/";
                below = reject_parent_component(c, e->setting) ? NULL : compile_path(c, &from_root, true);
                rule.from = compile_source(c, e->setting->from);
        }
        if (!below)
                return;
        rule.glob = path_pattern_is_glob(below);
        const char *literal = rule.glob ? below : path_pattern_unescape(c->arena, below);
        bool is_root = strcmp(below, "/") == 0; /* the entry is ".": the root itself */
        for (size_t i = 0; literal && i < root_count; i++) {
                const char *root = rule.glob ? path_pattern_escape(c->arena, roots[i]) : roots[i];
                const char *rest = root && e->managed ? strip_prefix_in_root(root, literal) : NULL;
                rule.path = root;
                if (root && !is_root)
                        rule.path = arena_concat(c->arena, strcmp(root, "/") == 0 ? "" : root, literal);
                if (rule.path)
                        rules_add(c, d->rules, rule);
                c->no_memory |= !rule.path;
                if (!rest)
                        continue;
                rule.path = arena_concat(c->arena, root, rest);
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

/* The writable directories, without duplicates. */
static const char *const *writable_roots(struct compiler *c, const struct grants *grants, size_t *ret_count)
{
        const char **roots = NULL;
        *ret_count = 0;
        for (size_t i = 0; i < grants->count; i++) {
                const struct grant *g = &grants->list[i];
                if (g->access != ACCESS_WRITE || is_among(roots, *ret_count, g->path))
                        continue;
                if (*ret_count == POLICY_WRITABLE_MAX) {
                        diagnostic_error(c->messages, g->from, "grant a directory that contains them",
                                         "more than %d directories are writable", POLICY_WRITABLE_MAX);
                        c->failed = true;
                        return roots;
                }
                const char **slot = arena_array_push(c->arena, &roots, ret_count, sizeof(*slot));
                if (!slot) {
                        c->no_memory = true;
                        return NULL;
                }
                *slot = g->path;
        }
        return roots;
}

static void add_protected(struct denial_builder *d, const struct grants *grants)
{
        struct entries entries = compile_entries(d->c, KEY_PROTECT, NULL);
        ceiling_add_entries(d->c, KEY_PROTECT, &entries);
        size_t root_count = 0;
        const char *const *roots = writable_roots(d->c, grants, &root_count);
        if (!rules_reserve(d->c, d->rules, entries.count * (root_count + 1)))
                return;
        for (size_t i = 0; i < entries.count && !d->c->no_memory; i++) {
                if (names_a_location(&entries.list[i]))
                        add_entry(d, RULE_PROTECT, &protected_set, &entries.list[i]);
                else
                        add_below_each_root(d, roots, root_count, &entries.list[i]);
        }
}

static void add_denials(struct compiler *c, const struct grants *grants, struct rules *rules)
{
        struct denial_builder d = { .c = c, .rules = rules };
        struct rules granted = { 0 };
        /* A copy, because the index points into its list and `rules` grows from here on. */
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

/* Do grants let the box write to this path or below it, before denials? */
static bool touches_writable(const struct rules *rules, const char *path)
{
        if (rules_find_write_grant(rules, path))
                return true;
        for (size_t i = 0; i < rules->count; i++)
                if (rules->list[i].kind == RULE_WRITE && path_is_beneath(rules->list[i].path, path))
                        return true;
        return false;
}

/*
 * The agent must not change the files that ringwall trusts: the policies of this run, and those that the next run would
 * read. No policy can release these rules, and they also apply to names that do not exist yet.
 */
static void add_own_files(struct compiler *c, struct rules *rules)
{
        for (size_t i = 0; c->facts->own_files && c->facts->own_files[i]; i++) {
                const char *path = arena_strdup(c->arena, c->facts->own_files[i]);
                c->no_memory |= !path;
                if (path && touches_writable(rules, path))
                        rules_add(c, rules, (struct rule){ RULE_PROTECT, path, false, SET_OWN_FILES,
                                                           default_source(), false });
        }
}

/* Adds how a policy releases a rule of a managed set, whose name is "SET: GROUP". */
static void add_release(const struct rule *rule, struct text *out)
{
        const char *group = rule->set ? strstr(rule->set, ": ") : NULL;
        if (rule->set)
                text_format(out, " (%s)", rule->set);
        if (group && source_is_default(rule->from) && (rule->kind == RULE_DENY_READ || rule->kind == RULE_PROTECT))
                text_format(out, "; to allow it, add -%s to filesystem.%s", group + strlen(": "),
                            rule->kind == RULE_PROTECT ? "protect" : "deny_read");
}

static void warn_if_ineffective(struct compiler *c, const struct grant *g, const struct rules *rules)
{
        const struct rule *by = NULL;
        bool write = g->access == ACCESS_WRITE;
        if (rules_decide(rules, g->path, write, &by) || !by)
                return;
        CLEANUP_TEXT struct text hint = { 0 };
        text_format(&hint, "%s %s, from ", rule_kind_words[by->kind], by->path);
        source_print(by->from, &hint);
        add_release(by, &hint);
        diagnostic_warning(c->messages, g->from, hint.data, "%s cannot be %s: another rule denies it", g->path,
                           write ? "written" : "read");
}

/* Bounds the time that looking for warnings takes. With thousands of patterns, some warnings are omitted. */
enum { WARNING_STEPS_MAX = 200000 };

static int compare_grants(const void *a, const void *b)
{
        const struct grant *x = *(const struct grant *const *)a, *y = *(const struct grant *const *)b;
        return strcmp(x->path, y->path);
}

/*
 * A grant that a denial cancels is almost always a mistake: warn, and name the denial. Grants are sorted by path, so
 * that a binary search finds those at or below a denial's anchor.
 */
static void warn_of_ineffective_grants(struct compiler *c, const struct grants *grants, const struct rules *rules)
{
        size_t steps = 0;
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
                for (; low < grants->count && steps < WARNING_STEPS_MAX &&
                       strncmp(sorted[low]->path, r->path, length) == 0; low++) {
                        steps += 1 + (r->glob ? strlen(r->path) * strlen(sorted[low]->path) / 64 : 0);
                        if (path_pattern_match_depth(r->path, r->glob, sorted[low]->path) < 0)
                                continue;
                        steps += rules->count;
                        warn_if_ineffective(c, sorted[low], rules);
                }
        }
}

/*
 * A read grant inside a write grant changes nothing, unless it is read-only (:ro, --ro). compile_rules() adds a
 * redundant one only if a denial would otherwise close the path.
 */
static bool is_redundant_read(const struct grants *grants, const struct grant *g)
{
        for (size_t i = 0; g->access == ACCESS_READ && i < grants->count; i++)
                if (grants->list[i].access == ACCESS_WRITE && path_is_beneath(g->path, grants->list[i].path))
                        return true;
        return false;
}

static void add_grant(struct compiler *c, const struct grant *g, struct rules *rules)
{
        rules_add(c, rules, (struct rule){ g->access == ACCESS_WRITE ? RULE_WRITE : RULE_READ, g->path, false, g->set,
                                           g->from, false });
}

static bool is_denied_explicitly(const struct rules *rules, const char *path)
{
        for (size_t i = 0; i < rules->count; i++) {
                const struct rule *r = &rules->list[i];
                if (r->kind == RULE_DENY_READ && !source_is_default(r->from) &&
                    path_pattern_match_depth(r->path, r->glob, path) >= 0)
                        return true;
        }
        return false;
}

/* A toolchain is deeper than, say, a denied home and would override it. No policy asked for it, so the denial wins. */
static void drop_denied_toolchains(struct rules *rules)
{
        size_t kept = 0;
        for (size_t i = 0; i < rules->count; i++) {
                const struct rule *r = &rules->list[i];
                bool is_toolchain = r->kind == RULE_READ && rule_is_of_set(r, SET_TOOLCHAIN);
                if (!is_toolchain || !is_denied_explicitly(rules, r->path))
                        rules->list[kept++] = *r;
        }
        rules->count = kept;
}

static void compile_rules(struct compiler *c, const struct grants *grants, struct rules *ret)
{
        if (!rules_reserve(c, ret, default_rule_count + grants->count + protected_set.count + sensitive_set.count))
                return;
        add_defaults(c, grants, ret);
        for (size_t i = 0; i < grants->count; i++)
                if (!is_redundant_read(grants, &grants->list[i]))
                        add_grant(c, &grants->list[i], ret);
        const char *home = c->plan->home;
        if (*home && home_may_be_private(home) && !rules_decide(ret, home, false, NULL))
                rules_add(c, ret, (struct rule){ RULE_PRIVATE, home, false, "home", default_source(), false });
        ceiling_drop_denied_rules(c, ret);
        add_denials(c, grants, ret);
        drop_denied_toolchains(ret);
        for (size_t i = 0; i < grants->count; i++)
                if (is_redundant_read(grants, &grants->list[i]) &&
                    !rules_decide(ret, grants->list[i].path, false, NULL))
                        add_grant(c, &grants->list[i], ret);
        add_own_files(c, ret);
        warn_of_ineffective_grants(c, grants, ret);
}

void compile_box_rules(struct compiler *c, struct grants *grants, const char *box_label, struct rules *ret)
{
        add_toolchains(c, grants);
        if (c->ceiling_count) {
                struct compiler without_ceilings = *c;
                struct rules uncut = { 0 };
                without_ceilings.ceiling_count = 0;
                compile_rules(&without_ceilings, grants, &uncut);
                c->failed |= without_ceilings.failed;
                c->no_memory |= without_ceilings.no_memory;
                if (!c->no_memory)
                        ceiling_cut_grants(c, grants, &uncut, box_label);
        }
        compile_rules(c, grants, ret);
}
