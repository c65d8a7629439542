/*
 * Files that the repositories around a path name in their configurations: included files and directories of hooks. git
 * runs or trusts them, so a box must not write them.
 *
 * guard_git_paths.c finds those of the workspace's own repository when the box starts. There may be more repositories
 * in the workspace, and the user may change a configuration while the box runs. So a change of a name is also checked
 * by the configurations of all repositories whose work tree the name is in, as they are now.
 *
 * How it works: every parent directory of the path is asked for a .git. What was found is kept for a moment, because
 * programs create many files in one directory; but not after the box has moved a directory or changed a .git. That
 * weakens nothing: a file that a box writes just after the user names it in a configuration could as well have been
 * written just before.
 *
 * What an attacker controls: everything in the workspace but the configurations, which the guard protects. A box can
 * make a configuration unreadable for a while; until it is readable again, nothing is written around it.
 */
#include "linux/guard_git_around.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/memory.h"
#include "linux/guard.h"
#include "linux/guard_git_content.h"
#include "linux/guard_git_paths.h"
#include "policy/git_config_parse.h"
#include "policy/path_pattern.h"

enum { DIRECTORIES = 64, DIRECTORY_BYTES = 512, WORK_TREES = 8, FRESH_MS = 100 };

/* Directories around which no configuration names anything. */
static struct unnamed {
        char path[DIRECTORY_BYTES];
        int64_t until;  /* of clock_ms() */
        unsigned moves; /* of guard_exclusive_changes() */
} unnamed_directories[DIRECTORIES];

/* Work trees, and what the configurations of their repositories name. */
static struct work_tree {
        char path[PATH_MAX];
        int64_t until;
        unsigned moves;
        bool unreadable;
        struct guard_aliases named;
} work_trees[WORK_TREES];

/* The slot of a directory; NULL if its path is too long to be kept. */
static struct unnamed *find_slot(const char *path, size_t length)
{
        uint32_t hash = 2166136261U; /* FNV-1a */
        for (size_t i = 0; i < length; i++)
                hash = (hash ^ (unsigned char)path[i]) * 16777619U;
        return length < DIRECTORY_BYTES ? &unnamed_directories[hash % DIRECTORIES] : NULL;
}

/* Does it have a .git, or is it a bare repository? */
static bool is_work_tree(const char *directory)
{
        return guard_git_has(directory, ".git") ||
               (guard_git_has(directory, "HEAD") && guard_git_has(directory, "objects"));
}

/* Above writable directories the box cannot change anything, and may be unable to look. */
static bool is_writable(const struct guard *g, const char *directory)
{
        return *directory && rules_find_write_grant(&g->plan->rules, directory);
}

/* A repository outside of the box's view is not readable either, but the box did not make it so. */
static bool is_elsewhere(const struct guard *g, const char *path)
{
        char real[PATH_MAX];
        return !is_writable(g, realpath(path, real) ? real : path);
}

/* Reads the configuration again if that was long ago. The slot is that of this work tree, or the oldest. */
static const struct work_tree *read_work_tree(const struct guard *g, const char *top, int64_t now)
{
        static const struct rule rule = { .kind = RULE_PROTECT, .path = "" };
        struct work_tree *w = &work_trees[0];
        for (size_t i = 0; i < WORK_TREES; i++) {
                if (strcmp(work_trees[i].path, top) == 0) {
                        w = &work_trees[i];
                        break;
                }
                if (work_trees[i].until < w->until)
                        w = &work_trees[i];
        }
        unsigned moves = guard_exclusive_changes(g);
        if (w->until > now && w->moves == moves && strcmp(w->path, top) == 0)
                return w;
        arena_free(w->named.arena);
        w->named = (struct guard_aliases){ .arena = arena_new(GIT_CONFIG_ARENA_BYTES) };
        int result = w->named.arena ? guard_git_paths_of(&w->named, &rule, top) : -ENOMEM;
        w->unreadable = result < 0 && !(w->named.unreadable && is_elsewhere(g, w->named.unreadable));
        w->until = now + FRESH_MS;
        w->moves = moves;
        memcpy(w->path, top, strlen(top) + 1);
        return w;
}

static bool is_named(const struct work_tree *w, const char *path, bool whole)
{
        for (size_t i = 0; i < w->named.count; i++) {
                const char *named = w->named.list[i].path;
                if (path_is_beneath(path, named) || (whole && path_is_beneath(named, path)))
                        return true;
        }
        return w->unreadable;
}

bool guard_git_around_names(const struct guard *g, const char *path, bool whole)
{
        char directory[PATH_MAX];
        const char *slash = strrchr(path, '/');
        if (!slash) /* nothing leads to the directory any more */
                return false;
        size_t length = (size_t)(slash - path);
        int64_t now = clock_ms();
        unsigned moves = guard_exclusive_changes(g);
        struct unnamed *slot = find_slot(path, length);
        if (slot && slot->until > now && slot->moves == moves && strncmp(slot->path, path, length) == 0 &&
            !slot->path[length])
                return false;
        bool any = false;
        memcpy(directory, path, length);
        directory[length] = '\0';
        for (; is_writable(g, directory); *strrchr(directory, '/') = '\0') {
                if (!is_work_tree(directory))
                        continue;
                const struct work_tree *w = read_work_tree(g, directory, now);
                if (is_named(w, path, whole))
                        return true;
                any |= w->named.count > 0;
        }
        if (slot && !any) {
                memcpy(slot->path, path, length);
                slot->path[length] = '\0';
                slot->until = now + FRESH_MS;
                slot->moves = moves;
        }
        return false;
}

bool guard_git_around_has_names(const struct guard *g, const char *top)
{
        const struct work_tree *w = is_writable(g, top) ? read_work_tree(g, top, clock_ms()) : NULL;
        return w && (w->unreadable || w->named.count > 0);
}

/* Does this directory contain a symlink where the work tree is, which has this path from there? */
static bool has_symlink_on_the_way(const char *directory, const char *rest)
{
        char path[PATH_MAX];
        if (!*rest || (size_t)snprintf(path, sizeof path, "%s%s", directory, rest) >= sizeof path)
                return true;
        CLEANUP_FD int fd = fd_open_no_symlinks(AT_FDCWD, path, O_PATH, 0);
        return fd == -ELOOP;
}

bool guard_git_around_uses(const struct guard *g, const char *path, const char *moved)
{
        char directory[PATH_MAX];
        int64_t now = clock_ms();
        memcpy(directory, path, strlen(path) + 1);
        while (is_writable(g, directory)) {
                *strrchr(directory, '/') = '\0';
                const struct work_tree *w =
                        is_writable(g, directory) && is_work_tree(directory) ? read_work_tree(g, directory, now) : NULL;
                for (size_t i = 0; w && i < w->named.work_tree_count; i++) {
                        const char *used = w->named.work_trees[i];
                        if (path_is_beneath(used, path) &&
                            (!moved || has_symlink_on_the_way(moved, used + strlen(path))))
                                return true;
                }
        }
        return false;
}
