/*
 * A plan's file rules for the guard, which checks thousands of names in a second: the same answers as rules_decide(),
 * through an index, and reduced to denials. Makes no system call.
 */
#ifndef RINGWALL_POLICY_NAME_RULES_H
#define RINGWALL_POLICY_NAME_RULES_H

#include <stdbool.h>

#include "base/memory.h"
#include "policy/plan.h"

struct name_rules;

/*
 * Points into the plan, which must outlive it. NULL if out of memory. Without a mount namespace the private directories
 * are not at the paths of the plan, so private rules are left out; the caller adds the directory that replaces them.
 */
struct name_rules *name_rules_new(struct arena *a, const struct plan *plan);

/*
 * Applies the rule to one more path, to which symbolic links in the rule's own path lead. False if out of memory. After
 * the last one the caller calls name_rules_index().
 */
bool name_rules_add(struct name_rules *n, const struct rule *rule, const char *path);

/* Denies writing to one of those links: replacing it would change what the rule's path resolves to. */
bool name_rules_add_link(struct name_rules *n, const struct rule *rule, const char *path);
bool name_rules_index(struct name_rules *n);

/*
 * The rule that denies reading (or writing) this absolute, normalised path, or NULL: a denial, or, for writing, a
 * read-only grant. A path that no rule matches is not denied here: mounts and Landlock enforce that.
 */
const struct rule *name_rules_denial(struct name_rules *n, const char *path, bool write);

/* The answer of rules_decide(): a path that no rule matches is not allowed. */
bool name_rules_allow(struct name_rules *n, const char *path, bool write);

/* Is this a rule that name_rules_denial() can return? */
bool name_rules_can_deny(const struct rule *rule);

/* The first denial of something strictly below this path whose part without wildcards goes through it, or NULL. */
const struct rule *name_rules_below(const struct name_rules *n, const char *path);

/* Is the path in a private directory of the box, which no process outside sees? */
bool name_rules_is_private(struct name_rules *n, const char *path);

/*
 * Rules of the protected set about files inside git repositories are not part of struct name_rules: the guard judges
 * such changes by what they mean to git. The first function says whether the plan has such a rule, the second whether
 * this rule is one.
 */
bool name_rules_has_git_rule(const struct plan *plan);
bool name_rules_is_git_rule(const struct rule *rule);

/*
 * Could moving a directory from one path to the other change what is denied inside it? If so, the caller checks each
 * name in it.
 */
bool name_rules_differ_below(const struct name_rules *n, const char *from, const char *to);

#endif
