/* Rules for the guard; see name_rules.h. */
#include "policy/name_rules.h"

#include <string.h>

#include "policy/path_pattern.h"
#include "policy/rule_index.h"

struct name_rules {
        struct arena *arena;
        struct rules rules;
        struct rule_index *index;
        struct rule_candidates found; /* of the last lookup */
};

static bool add_rule(struct name_rules *n, struct rule rule)
{
        struct rule *slot = arena_array_push(n->arena, &n->rules.list, &n->rules.count, sizeof *slot);
        if (slot)
                *slot = rule;
        return slot != NULL;
}

static bool is_denial(const struct rule *r)
{
        return r->kind >= RULE_DENY_READ;
}

/*
 * A read grant of a policy or of the workspace, not one of the machine's defaults. A read-only mount enforces it too,
 * but the mount moves along when a parent directory is renamed.
 */
static bool is_read_only_grant(const struct rule *r)
{
        return r->kind == RULE_READ && (!r->set || rule_is_of_set(r, SET_WORKSPACE));
}

bool name_rules_can_deny(const struct rule *r)
{
        return is_denial(r) || is_read_only_grant(r);
}

bool name_rules_is_git_rule(const struct rule *r)
{
        if (r->kind != RULE_PROTECT || !rule_is_of_set(r, SET_GIT))
                return false;
        return strstr(r->path, "/.git/");
}

bool name_rules_has_git_rule(const struct plan *plan)
{
        for (size_t i = 0; i < plan->rules.count; i++)
                if (name_rules_is_git_rule(&plan->rules.list[i]))
                        return true;
        return false;
}

struct name_rules *name_rules_new(struct arena *a, const struct plan *plan)
{
        struct name_rules *n = ARENA_NEW(a, struct name_rules);
        if (!n)
                return NULL;
        n->arena = a;
        for (size_t i = 0; i < plan->rules.count; i++) {
                const struct rule *r = &plan->rules.list[i];
                bool is_elsewhere = r->kind == RULE_PRIVATE && !(plan->scalar[PLAN_NAMESPACES].value & NAMESPACE_MOUNT);
                if (!is_elsewhere && !name_rules_is_git_rule(r) && !add_rule(n, *r))
                        return NULL;
        }
        return n;
}

bool name_rules_add(struct name_rules *n, const struct rule *rule, const char *path)
{
        struct rule alias = *rule;
        alias.path = path;
        return add_rule(n, alias);
}

bool name_rules_add_link(struct name_rules *n, const struct rule *rule, const char *path)
{
        struct rule link = *rule;
        link.path = path;
        link.glob = false;
        link.kind = RULE_DENY_WRITE;
        return add_rule(n, link);
}

bool name_rules_index(struct name_rules *n)
{
        n->index = rule_index_new(n->arena, &n->rules);
        return n->index != NULL;
}

const struct rule *name_rules_denial(struct name_rules *n, const char *path, bool write)
{
        static const struct rule out_of_memory = { .kind = RULE_DENY_READ, .path = "/" };
        const struct rule *by = NULL;
        if (!rule_index_candidates(n->index, n->arena, path, &n->found))
                return &out_of_memory;
        bool allowed = rules_decide(&n->found.rules, path, write, &by);
        return !allowed && by && (is_denial(by) || (write && is_read_only_grant(by))) ? by : NULL;
}

const struct rule *name_rules_below(const struct name_rules *n, const char *path)
{
        size_t length = strlen(path);
        for (size_t i = 0; i < n->rules.count; i++) {
                const struct rule *r = &n->rules.list[i];
                size_t anchor = rule_anchor_length(r);
                bool goes_through = anchor >= length && strncmp(r->path, path, length) == 0 && r->path[length] == '/';
                if (is_denial(r) && goes_through)
                        return r;
        }
        return NULL;
}

bool name_rules_is_private(struct name_rules *n, const char *path)
{
        const struct rule *by = NULL;
        return rule_index_candidates(n->index, n->arena, path, &n->found) &&
               rules_decide(&n->found.rules, path, true, &by) && by->kind == RULE_PRIVATE;
}

bool name_rules_allow(struct name_rules *n, const char *path, bool write)
{
        return rule_index_candidates(n->index, n->arena, path, &n->found) &&
               rules_decide(&n->found.rules, path, write, NULL);
}

bool name_rules_differ_below(const struct name_rules *n, const char *from, const char *to)
{
        for (size_t i = 0; i < n->rules.count; i++) {
                const struct rule *r = &n->rules.list[i];
                if (!pattern_same_below(r->path, r->glob, from, to))
                        return true;
        }
        return false;
}
