/*
 * Resolves the paths of a plan's denials; see guard.h.
 *
 * A rule's path may lead through symlinks, but the guard checks real paths. So a denial is applied to its real path
 * too, and the symlinks that its path leads through cannot be changed.
 */
#include "linux/guard_aliases.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "linux/guard_git_paths.h"
#include "path/real_path.h"
#include "policy/input_limits.h"
#include "policy/path_pattern.h"
#include "policy/rule_index.h"

bool guard_is_symlink(const char *path)
{
        char start[1];
        return readlink(path, start, sizeof start) > 0;
}

const char *guard_rule_anchor(struct arena *a, const struct rule *r)
{
        size_t n = rule_anchor_length(r);
        return n ? arena_strndup(a, r->path, n) : "/";
}

int guard_alias_add(struct guard_aliases *to, const struct rule *r, const char *path, bool link)
{
        struct guard_alias *slot = path ? arena_array_push(to->arena, &to->list, &to->count, sizeof *slot) : NULL;
        if (!slot)
                return -ENOMEM;
        *slot = (struct guard_alias){ r, path, link };
        return 0;
}

/* Of a loop of symlinks (ELOOP) only the symlinks are added, so that the box cannot break the loop. */
int guard_alias_add_real_path(struct guard_aliases *to, const struct rule *r, const char *path, const char *rest)
{
        struct followed_links links;
        const char *real;
        int result = real_path(to->arena, path, rest, &real, &links);
        if (result < 0 && result != -ELOOP)
                return result;
        result = !real || strcmp(real, r->path) == 0 ? 0 : guard_alias_add(to, r, real, false);
        for (size_t i = 0; result == 0 && i < links.count; i++)
                if (strcmp(links.paths[i], r->path) != 0)
                        result = guard_alias_add(to, r, links.paths[i], true);
        return result;
}

/* Is the directory of this path free of symlinks? `last` caches it: most rules share it with the rule before. */
static bool has_direct_parent(const char *path, char last[PATH_MAX])
{
        size_t length = (size_t)(strrchr(path, '/') - path);
        if (length == 0 || length >= PATH_MAX)
                return length == 0;
        if (strncmp(last, path, length) == 0 && !last[length])
                return true;
        memcpy(last, path, length);
        last[length] = '\0';
        CLEANUP_FD int fd = fd_open_no_symlinks(AT_FDCWD, last, O_PATH, 0);
        if (fd >= 0 || fd == -ENOENT || fd == -ENOTDIR)
                return true;
        *last = '\0';
        return false;
}

static int find_aliases(const struct plan *plan, struct guard_aliases *ret)
{
        char last[PATH_MAX] = "";
        *ret = (struct guard_aliases){ .arena = arena_new(ARENA_BYTES_MAX) };
        int result = ret->arena ? 0 : -ENOMEM;
        for (size_t i = 0; result == 0 && i < plan->rules.count; i++) {
                const struct rule *r = &plan->rules.list[i];
                if (name_rules_is_git_rule(r))
                        result = guard_git_paths_outside(ret, r);
                if (result < 0 || r->kind < RULE_DENY_READ || name_rules_is_git_rule(r))
                        continue;
                const char *anchor = r->glob ? guard_rule_anchor(ret->arena, r) : r->path;
                if (!anchor)
                        return -ENOMEM;
                /* The last name may be a symlink that does not exist in the box's root. Not for rules of a set: their
                   symlinks are in the workspace, which the box sees, or in the home, where the plan resolved them. */
                bool is_symlink = !r->glob && !r->set && guard_is_symlink(r->path);
                if (is_symlink || (anchor[1] && (r->glob || !has_direct_parent(anchor, last))))
                        result = guard_alias_add_real_path(ret, r, anchor, r->path + strlen(anchor));
        }
        return result;
}

int guard_find_aliases(const struct plan *plan, struct guard_aliases *ret, struct error *e)
{
        int result = find_aliases(plan, ret);
        if (result == -EACCES && ret->unreadable)
                return error_errno(e, EACCES, "cannot read %s, which may name files that git runs; make it readable "
                                   "(chmod u+r), or remove it", ret->unreadable);
        if (result < 0 && ret->unreadable)
                return error_errno(e, -result, "cannot read %s, which may name files that git runs; correct it, or "
                                   "remove it", ret->unreadable);
        return result < 0 ? error_errno(e, -result, "cannot resolve the paths of the rules") : 0;
}

static int add_to_rules(struct name_rules *rules, const struct guard_aliases *found)
{
        bool added = true;
        for (size_t i = 0; added && i < found->count; i++) {
                const struct guard_alias *x = &found->list[i];
                added = (x->is_link ? name_rules_add_link : name_rules_add)(rules, x->rule, x->path);
        }
        return added ? 0 : -ENOMEM;
}

int guard_add_aliases(struct name_rules *rules, struct arena *a, const struct plan *plan,
                      const struct guard_aliases *found, struct relative_hooks *ret)
{
        struct guard_aliases inside = { .arena = a, .hooks = found->hooks };
        int result = 0;
        for (size_t i = 0; result == 0 && i < plan->rules.count; i++) {
                const struct rule *r = &plan->rules.list[i];
                if (r->kind < RULE_DENY_READ || r->glob)
                        continue;
                if (guard_is_symlink(r->path))
                        result = guard_alias_add_real_path(&inside, r, r->path, "");
                if (result == 0 && name_rules_is_git_rule(r))
                        result = guard_git_paths_inside(&inside, r);
        }
        *ret = inside.hooks;
        if (result == 0)
                result = add_to_rules(rules, found);
        return result < 0 ? result : add_to_rules(rules, &inside);
}
