/* What the paths of a plan's rules resolve to on this machine; see guard_aliases.c. */
#ifndef RINGWALL_LINUX_GUARD_ALIASES_H
#define RINGWALL_LINUX_GUARD_ALIASES_H

#include <stdbool.h>

#include "policy/name_rules.h"

/* The real path of a rule whose own path leads through symlinks, or one of those symlinks. */
struct guard_alias {
        const struct rule *rule;
        const char *path;
        bool is_link;
};

/* Relative values of core.hooksPath: git looks for such a directory in every work tree. */
struct relative_hooks {
        struct {
                const char *path; /* normalised */
                bool anywhere;    /* counts also where there is no .git: it begins with a dot, or came after ".." */
        } list[16];
        size_t count;
};

struct guard_aliases {
        struct arena *arena;
        struct guard_alias *list;
        size_t count;
        struct relative_hooks hooks;
        const char **work_trees; /* of submodules */
        size_t work_tree_count;
        const char *unreadable; /* after a failure: the configuration or directory of git's that cannot be read */
};

bool guard_is_symlink(const char *path);

/* The part of a rule's path in front of the first pattern. NULL: no memory. */
const char *guard_rule_anchor(struct arena *a, const struct rule *r);

/* Applies the rule to this path too; `link`: to this symlink. Returns 0 or -errno. */
int guard_alias_add(struct guard_aliases *to, const struct rule *r, const char *path, bool link);

/* Applies the rule to what `path` resolves to, with `rest` behind it, and to the symlinks on the way. */
int guard_alias_add_real_path(struct guard_aliases *to, const struct rule *r, const char *path, const char *rest);

/* Resolves the paths in the host's root, so it must run before the box's root is entered. Returns 0 or -errno. */
int guard_find_aliases(const struct plan *plan, struct guard_aliases *ret, struct error *e);

/*
 * Adds these aliases to the rules, and the files that git repositories refer to. Runs in the box's root. Returns 0 or
 * -errno.
 */
int guard_add_aliases(struct name_rules *rules, struct arena *a, const struct plan *plan,
                      const struct guard_aliases *found, struct relative_hooks *ret);

#endif
