/*
 * Protects files that git would run or trust later, outside the box.
 *
 * What it is for: a user runs git in the workspace, and git runs hooks and the programs that its configuration names.
 * git also runs inside the box and has to write there. So a repository is not read-only: each name in it is checked by
 * what it means to git.
 *
 * How it works: git accepts a directory as a repository if it has `objects` and `refs` (and HEAD, or is named by a
 * `commondir`), at any path and however it is reached: as .git, bare, by a file .git, by a symlink. So these rules hold
 * for every such directory, and every .git:
 *
 *   - config and config.worktree are changed only by rename, which is how git changes them. The new content is checked
 *     against what the user left (policy/git_config.h), and the guard installs a copy of it, which a process that
 *     still has the file open cannot change. The same holds for the to-do lists of a rebase, which can contain
 *     commands.
 *   - index is changed only by rename too, because git does not check the paths in it again before it writes to them
 *     (policy/git_index.h).
 *   - hooks is a directory, and only *.sample files are created in it.
 *   - objects/info/alternates, info/attributes, a rebase's strategy, and the old files of remotes and branches are not
 *     created. MERGE_RR (rerere) may only be empty: git writes to the paths in it. The options of `git am` stay empty:
 *     git writes that file in place, so the guard creates it and hands out a descriptor to /dev/null.
 *   - No symlink is created in a repository, because git would write through it.
 *   - commondir is created only for new worktrees, and the directory of a worktree does not move: its commondir would
 *     name another repository. The same holds for a repository with submodules, whose work trees are relative paths.
 *   - A repository, or a part of one, is not a work tree: a `.git` could make it one.
 *   - If the user's core.hooksPath is relative, no such directory is created beside any .git.
 *   - What the configurations of the repositories around a name include, or use as hooks, is not changed
 *     (guard_git_around.c).
 *   - A directory that becomes a repository, because the second of `objects` and `refs` is created or because it is
 *     renamed to .git, must conform to all this at that moment.
 *
 * Such a name changes, and a directory moves, only under the exclusive lock (GUARD_RETRY_EXCLUSIVE). So two processes
 * cannot create the two halves of a repository at once, and a verdict that a directory is not a repository stays true.
 *
 * .gitmodules and .gitattributes in subdirectories come with every clone: git trusts neither.
 *
 * Not protected: files of the work tree that are run by the user's own hooks or by programs of their configuration.
 */
#include "linux/guard_git.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "linux/guard_git_around.h"
#include "linux/guard_git_content.h"
#include "policy/path_pattern.h"

enum { NAMES_MAX = 50000, DEPTH_MAX = 64 };

/* What a name means to git. */
enum meaning {
        MEANS_NOTHING,
        MEANS_GIT,           /* .git */
        MEANS_OBJECTS_OR_REFS,          /* objects, refs: the second of them completes a repository */
        MEANS_COMMONDIR,     /* completes a repository too */
        MEANS_INDEX,
        MEANS_CONFIG,
        MEANS_CONFIG_WORKTREE,      /* config.worktree */
        MEANS_TODO,          /* the to-do list of a rebase or cherry-pick */
        MEANS_OPTIONS,       /* the options of a cherry-pick */
        MEANS_REF,           /* a branch, or a name such as ORIG_HEAD */
        MEANS_UPDATES,       /* the refs that a rebase will update */
        MEANS_RERERE,        /* MERGE_RR: conflicts whose resolution git records */
        MEANS_HOOKS,         /* the directory */
        MEANS_EMPTY_DIRECTORY,        /* may only be created empty, since names in it have a meaning */
        MEANS_HOOK,          /* a name in hooks, other than *.sample */
        MEANS_KEPT_EMPTY,         /* created and written, but stays empty */
        MEANS_FORBIDDEN,        /* must not be created or written */
};

/* Does git accept this directory as a repository, now or once it is complete? The path comes from the kernel. */
static bool is_repository(const char *directory)
{
        return text_ends(directory, "/.git") || guard_git_has(directory, "commondir") ||
               (guard_git_has(directory, "objects") && guard_git_has(directory, "refs"));
}

static const struct {
        const char *name;   /* the end of the path */
        unsigned names;     /* how many names that is; the repository is the path before them */
        enum meaning meaning;
} meanings[] = {
        { "/.git", 1, MEANS_GIT },
        { "/objects", 1, MEANS_OBJECTS_OR_REFS },
        { "/refs", 1, MEANS_OBJECTS_OR_REFS },
        { "/commondir", 1, MEANS_COMMONDIR },
        { "/index", 1, MEANS_INDEX },
        { "/config", 1, MEANS_CONFIG },
        { "/config.worktree", 1, MEANS_CONFIG_WORKTREE },
        { "/hooks", 1, MEANS_HOOKS },
        { "/rebase-merge/git-rebase-todo", 2, MEANS_TODO },
        { "/rebase-merge/git-rebase-todo.backup", 2, MEANS_TODO },
        { "/sequencer/todo", 2, MEANS_TODO },
        { "/sequencer/opts", 2, MEANS_OPTIONS },
        { "/rebase-merge/update-refs", 2, MEANS_UPDATES },
        { "/ORIG_HEAD", 1, MEANS_REF },
        { "/CHERRY_PICK_HEAD", 1, MEANS_REF },
        { "/REVERT_HEAD", 1, MEANS_REF },
        { "/REBASE_HEAD", 1, MEANS_REF },
        { "/BISECT_HEAD", 1, MEANS_REF },
        { "/MERGE_RR", 1, MEANS_RERERE },
        { "/rebase-merge/strategy", 2, MEANS_FORBIDDEN },
        { "/rebase-merge/strategy_opts", 2, MEANS_FORBIDDEN },
        { "/rebase-merge/gpg_sign_opt", 2, MEANS_FORBIDDEN },
        { "/rebase-apply/strategy", 2, MEANS_FORBIDDEN },
        { "/rebase-apply/strategy_opts", 2, MEANS_FORBIDDEN },
        { "/rebase-apply/gpg_sign_opt", 2, MEANS_FORBIDDEN },
        { "/rebase-apply/apply-opt", 2, MEANS_KEPT_EMPTY },
        { "/info/attributes", 2, MEANS_FORBIDDEN },
        { "/objects/info/alternates", 3, MEANS_FORBIDDEN },
        { "/objects/info/http-alternates", 3, MEANS_FORBIDDEN },
        { "/rebase-merge", 1, MEANS_EMPTY_DIRECTORY },
        { "/rebase-apply", 1, MEANS_EMPTY_DIRECTORY },
        { "/sequencer", 1, MEANS_EMPTY_DIRECTORY },
        { "/remotes", 1, MEANS_EMPTY_DIRECTORY },
        { "/branches", 1, MEANS_EMPTY_DIRECTORY },
        { "/worktrees", 1, MEANS_EMPTY_DIRECTORY },
        { "/objects/info", 2, MEANS_EMPTY_DIRECTORY },
        { "/info", 1, MEANS_EMPTY_DIRECTORY },
};

/* What all names in some directories of a repository mean. */
static const struct {
        const char *folder;
        enum meaning meaning;
} contents[] = {
        { "/hooks", MEANS_HOOK },
        { "/remotes", MEANS_FORBIDDEN },
        { "/branches", MEANS_FORBIDDEN },
        { "/worktrees", MEANS_EMPTY_DIRECTORY },
};

static enum meaning meaning_in_folder(const char *path, char repository[PATH_MAX])
{
        char folder[PATH_MAX];
        guard_git_strip_names(path, 1, folder);
        for (size_t i = 0; i < ARRAY_SIZE(contents); i++) {
                if (!text_ends(folder, contents[i].folder))
                        continue;
                guard_git_strip_names(folder, 1, repository);
                bool hook = contents[i].meaning == MEANS_HOOK, sample = hook && text_ends(path, ".sample");
                bool module = hook && strstr(repository, "/.git/modules/");
                return (module || is_repository(repository)) && !sample ? contents[i].meaning : MEANS_NOTHING;
        }
        return MEANS_NOTHING;
}

/* Is it a repository with a HEAD? A work tree may happen to have directories with the names of the other parts. */
static bool is_in_use(const char *directory)
{
        return text_ends(directory, "/.git") || (is_repository(directory) && guard_git_has(directory, "HEAD"));
}

/* Is this path below `refs` of a repository? Also fills in the repository. */
static bool is_ref(const char *path, char repository[PATH_MAX])
{
        for (const char *at = path; (at = strstr(at, "/refs/")); at++) {
                memcpy(repository, path, (size_t)(at - path));
                repository[at - path] = '\0';
                if (is_in_use(repository))
                        return true;
        }
        return false;
}

/*
 * Also fills in the repository; for .git, the directory that contains it. Some names have a meaning even if that is not
 * a repository yet.
 */
static enum meaning meaning_of(const char *path, char repository[PATH_MAX])
{
        for (size_t i = 0; i < ARRAY_SIZE(meanings); i++) {
                if (!text_ends(path, meanings[i].name))
                        continue;
                guard_git_strip_names(path, meanings[i].names, repository);
                bool always = meanings[i].meaning == MEANS_OBJECTS_OR_REFS || meanings[i].meaning == MEANS_COMMONDIR ||
                              meanings[i].meaning == MEANS_GIT;
                /* In .git/modules the user's git may complete any directory to a repository. */
                bool module = (meanings[i].meaning == MEANS_CONFIG || meanings[i].meaning == MEANS_CONFIG_WORKTREE ||
                               meanings[i].meaning == MEANS_HOOKS) && strstr(repository, "/.git/modules/");
                if (always || module || is_repository(repository))
                        return meanings[i].meaning;
        }
        guard_git_strip_names(path, 1, repository);
        const char *name = path + strlen(repository);
        if (text_has_prefix(name, "/" GUARD_GIT_COPY_PREFIX))
                return MEANS_FORBIDDEN;
        if (text_has_prefix(name, "/sharedindex.") && is_repository(repository))
                return MEANS_INDEX;
        enum meaning meaning = meaning_in_folder(path, repository);
        return meaning == MEANS_NOTHING && !text_ends(path, ".lock") && is_ref(path, repository) ? MEANS_REF : meaning;
}

/* Is this path in a repository, at any depth? */
static bool is_in_repository(const char *path)
{
        char directory[PATH_MAX];
        guard_git_strip_names(path, 1, directory);
        for (; *directory; *strrchr(directory, '/') = '\0')
                if (is_repository(directory))
                        return true;
        return false;
}

/* --- the roots of writable directories --- */

/* Is it a directory that a rule makes writable? Its .git is the user's, but if that is a file, no rule names it. */
static bool is_writable_root(const struct guard *g, const char *parent)
{
        for (size_t i = 0; i < g->plan->rules.count; i++)
                if (g->plan->rules.list[i].kind == RULE_WRITE && strcmp(g->plan->rules.list[i].path, parent) == 0)
                        return true;
        return false;
}

/* --- a directory that becomes a repository --- */

/* Checks that a hooks directory contains only samples, or does not exist. */
static int check_hooks(struct guard *g, const char *path)
{
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        int r = dir || errno == ENOENT ? 0 : guard_git_refuse(g, path, "'hooks' must be a readable directory");
        if (!dir)
                fd_close(&fd);
        for (struct dirent *d; r == 0 && dir && (d = readdir(dir));) // cppcheck-suppress readdirCalled
                if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0 && !text_ends(d->d_name, ".sample"))
                        r = guard_git_refuse(g, path, "'hooks' may contain only *.sample files");
        if (dir)
                (void)closedir(dir);
        return r;
}

/* Does this directory contain symlinks, at any depth? Also true if that cannot be found out. */
static bool contains_symlinks(int parent, const char *name, unsigned depth, size_t *names)
{
        int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        if (!dir) {
                fd_close(&fd);
                return true;
        }
        bool found = depth > DEPTH_MAX;
        for (struct dirent *d; !found && (d = readdir(dir));) { // cppcheck-suppress readdirCalled
                struct stat st;
                if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
                        continue;
                found = ++*names > NAMES_MAX || fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
                        S_ISLNK(st.st_mode) ||
                        (S_ISDIR(st.st_mode) && contains_symlinks(fd, d->d_name, depth + 1, names));
        }
        (void)closedir(dir);
        return found;
}

static bool directory_contains_symlinks(const char *path)
{
        size_t names = 0;
        return contains_symlinks(AT_FDCWD, path, 0, &names);
}

/* "branches" may exist, because git init creates it, but it must be empty. */
static bool is_not_empty(const char *directory, const char *name)
{
        char path[PATH_MAX];
        struct stat st;
        if ((size_t)snprintf(path, sizeof path, "%s/%s", directory, name) >= sizeof path || lstat(path, &st) < 0)
                return guard_git_has(directory, name);
        return !S_ISDIR(st.st_mode) || guard_git_has_names(path, "");
}

static const char own_work_tree[] = "a repository must not be its own work tree";

/* A directory .git is a repository of its own. A file .git would make this directory a work tree of any repository. */
static bool has_git_file(const char *directory)
{
        char path[PATH_MAX];
        struct stat st;
        if ((size_t)snprintf(path, sizeof path, "%s/.git", directory) >= sizeof path)
                return true;
        return guard_git_has(directory, ".git") && !(lstat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

/* Checks the content of a directory that becomes a repository. `path` is the name that makes it one. */
static int check_repository(struct guard *g, const char *path, const char *repository)
{
        char hooks[PATH_MAX];
        static const char *const closed[] = { "rebase-merge", "rebase-apply", "sequencer", "MERGE_RR", "worktrees",
                                              "info/attributes", "info/.git", "objects/.git", "objects/info/.git",
                                              "objects/info/alternates", "objects/info/http-alternates" };
        static const char *const folders[] = { "remotes", "branches" };
        for (size_t i = 0; i < ARRAY_SIZE(closed); i++)
                if (guard_git_has(repository, closed[i]))
                        return guard_git_refuse(g, path,
                                                "this directory would become a repository that already contains "
                                                "files which git runs or trusts");
        for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
                if (is_not_empty(repository, folders[i]))
                        return guard_git_refuse(g, path,
                                                "this directory would become a repository with files in 'remotes' "
                                                "or 'branches'");
        if (has_git_file(repository))
                return guard_git_refuse(g, path, own_work_tree);
        if (directory_contains_symlinks(repository))
                return guard_git_refuse(g, path,
                                        "this directory would become a repository that contains symbolic links, or is "
                                        "too large to check");
        if (guard_git_has_names(repository, "sharedindex."))
                return guard_git_refuse(g, path, "this directory would become a repository that has a shared index");
        if ((size_t)snprintf(hooks, sizeof hooks, "%s/hooks", repository) >= sizeof hooks)
                return -ENAMETOOLONG;
        int r = check_hooks(g, hooks);
        if (r == 0)
                r = guard_git_adopt(g, GUARD_GIT_CONFIG, repository, "config");
        if (r == 0)
                r = guard_git_adopt(g, GUARD_GIT_INDEX, repository, "index");
        return r < 0 ? r : guard_git_adopt(g, GUARD_GIT_CONFIG_WORKTREE, repository, "config.worktree");
}

/* `path` is the directory's `objects` or `refs`: with both it is a repository. */
static int check_second_half(struct guard *g, const char *path, const char *repository)
{
        const char *other = text_ends(path, "/refs") ? "objects" : "refs";
        return guard_git_has(repository, other) ? check_repository(g, path, repository) : 0;
}

/* Only a new worktree, in the repository that it belongs to, may get a commondir. */
static int check_commondir(struct guard *g, const char *path, const char *directory)
{
        char worktrees[PATH_MAX], repository[PATH_MAX];
        guard_git_strip_names(directory, 1, worktrees);
        guard_git_strip_names(directory, 2, repository);
        if (!text_ends(worktrees, "/worktrees") || !is_repository(repository))
                return guard_git_refuse(g, path, "'commondir' is only allowed in a new worktree of a repository");
        if (guard_git_has(directory, "index"))
                return guard_git_refuse(g, path, "'commondir' cannot be created where an index exists");
        return check_repository(g, path, directory);
}

/*
 * Is this a directory below a repository that must not become one itself? The user's git can create `refs` there, by
 * a name that the box chose. The repositories of submodules and worktrees are where they should be.
 */
static bool is_inside_repository(const char *directory)
{
        char outer[PATH_MAX];
        if (strstr(directory, "/.git/modules/") || guard_git_has(directory, "commondir"))
                return false;
        guard_git_strip_names(directory, 1, outer);
        for (; *outer; *strrchr(outer, '/') = '\0')
                if (is_in_use(outer))
                        return true;
        return false;
}

/* --- core.hooksPath of the user, if it is relative --- */

/*
 * Is this path in a directory T/HOOKS, where T has a .git? A HOOKS that begins with a dot is no ordinary name, so it
 * counts everywhere: the user's git can make T a work tree later. `whole`: all of the directory moves here, so that
 * the first name of HOOKS counts for all of it.
 */
static bool is_in_relative_hooks(const struct guard *g, const char *path, bool whole)
{
        for (size_t i = 0; i < g->relative_hooks.count; i++) {
                const char *hooks = g->relative_hooks.list[i].path;
                bool anywhere = g->relative_hooks.list[i].anywhere;
                size_t all = strlen(hooks), first = strcspn(hooks, "/");
                for (const char *at = path; (at = strchr(at, '/')); at++) {
                        char top[PATH_MAX];
                        bool inside = strncmp(at + 1, hooks, all) == 0 && (!at[1 + all] || at[1 + all] == '/');
                        bool begins = whole && strncmp(at + 1, hooks, first) == 0 && !at[1 + first];
                        memcpy(top, path, (size_t)(at - path));
                        top[at - path] = '\0';
                        if ((inside || begins) && (anywhere || guard_git_has(top, ".git")))
                                return true;
                }
        }
        return false;
}

/* Would a new .git in this directory turn a directory of the box's into hooks? */
static bool has_relative_hooks(const struct guard *g, const char *top)
{
        for (size_t i = 0; i < g->relative_hooks.count; i++)
                if (guard_git_has(top, g->relative_hooks.list[i].path))
                        return true;
        return false;
}

/* --- the verdict --- */

static const char run_or_trust[] = "git would run or trust it outside the box";
static const char submodule_is_there[] = "the work tree of a submodule is there";
static const char named_by_config[] = "the configuration of a repository names it, or cannot be read";

/* Is this a .git, in one, or a directory such as hooks or info? A .git there would let git write any files into it. */
static bool is_part_of_repository(const char *directory)
{
        char repository[PATH_MAX] = "";
        return strstr(directory, "/.git/") || text_ends(directory, "/.git") ||
               (meaning_of(directory, repository) != MEANS_NOTHING && is_repository(repository));
}

/* Would files that git uses outside the box move with this directory? */
static bool contains_protected(const struct guard *g, const char *path)
{
        struct stat st;
        for (size_t i = 0; i < g->plan->rules.count; i++) {
                const struct rule *r = &g->plan->rules.list[i];
                if (name_rules_is_git_rule(r) && !r->glob && path_is_beneath(r->path, path) &&
                    strcmp(r->path, path) != 0 && lstat(r->path, &st) == 0)
                        return true;
        }
        return false;
}

static enum guard_git_file file_of(enum meaning meaning)
{
        static const enum guard_git_file files[] = {
                [MEANS_CONFIG] = GUARD_GIT_CONFIG,   [MEANS_CONFIG_WORKTREE] = GUARD_GIT_CONFIG_WORKTREE,
                [MEANS_INDEX] = GUARD_GIT_INDEX,     [MEANS_TODO] = GUARD_GIT_TODO,
                [MEANS_OPTIONS] = GUARD_GIT_OPTIONS, [MEANS_RERERE] = GUARD_GIT_RERERE,
                [MEANS_REF] = GUARD_GIT_REF,         [MEANS_UPDATES] = GUARD_GIT_UPDATES,
        };
        return files[meaning];
}

/* For a directory that becomes `objects` or `refs`. */
static bool has_alternates_or_symlinks(const char *directory)
{
        return guard_git_has(directory, "info/alternates") || guard_git_has(directory, "info/http-alternates") ||
               directory_contains_symlinks(directory);
}

static int check_move(struct guard *g, const struct guard_name *n, enum meaning meaning, const char *repository,
                      const struct guard_name *source)
{
        char link[GUARD_LINK_BYTES];
        switch (meaning) {
        case MEANS_CONFIG:
        case MEANS_CONFIG_WORKTREE:
        case MEANS_TODO:
        case MEANS_OPTIONS:
        case MEANS_RERERE:
        case MEANS_REF:
        case MEANS_UPDATES:
        case MEANS_INDEX:
                if (!S_ISREG(source->mode))
                        return guard_git_refuse(g, n->path, "must be a regular file");
                return guard_git_check_content(g, file_of(meaning), repository, n->path,
                                            guard_fd_path(source->object, link));
        case MEANS_HOOKS:
                return S_ISDIR(source->mode) ? check_hooks(g, source->path)
                                             : guard_git_refuse(g, n->path, "'hooks' must be a directory");
        case MEANS_OBJECTS_OR_REFS:
                if (S_ISDIR(source->mode) && has_alternates_or_symlinks(source->path))
                        return guard_git_refuse(g, n->path, "it contains alternates or symbolic links");
                return check_second_half(g, n->path, repository);
        case MEANS_GIT:
                if (n->object >= 0 && is_writable_root(g, repository))
                        break;
                if (is_repository(repository) && (!S_ISDIR(source->mode) || guard_git_has(repository, "HEAD")))
                        return guard_git_refuse(g, n->path, own_work_tree);
                return S_ISDIR(source->mode) ? check_repository(g, n->path, source->path) : 0;
        case MEANS_COMMONDIR:
        case MEANS_EMPTY_DIRECTORY:
        case MEANS_HOOK:
        case MEANS_KEPT_EMPTY:
        case MEANS_FORBIDDEN:
        case MEANS_NOTHING:
                break;
        }
        return guard_git_refuse(g, n->path, run_or_trust);
}

static int check_change(struct guard *g, const struct guard_name *n, enum meaning meaning, const char *repository,
                        enum guard_git_change change)
{
        bool half = meaning == MEANS_OBJECTS_OR_REFS,
             folder = meaning == MEANS_HOOKS || meaning == MEANS_EMPTY_DIRECTORY;
        bool used_outside = meaning == MEANS_HOOK || guard_git_is_protected(g, n->path) ||
                            (meaning == MEANS_GIT && is_writable_root(g, repository));
        if (change == GUARD_GIT_REMOVE && meaning == MEANS_CONFIG && guard_git_index_needs_config(repository))
                return guard_git_refuse(g, n->path, "the index cannot be read without this configuration");
        if (change == GUARD_GIT_REMOVE || change == GUARD_GIT_METADATA)
                return used_outside ? guard_git_refuse(g, n->path, "git uses it outside the box") : 0;
        if (change == GUARD_GIT_TOGGLE_EXEC)
                return meaning == MEANS_HOOK ? guard_git_refuse(g, n->path, "git would run it outside the box") : 0;
        if (half && change == GUARD_GIT_WRITE)
                return 0;
        if (half)
                return check_second_half(g, n->path, repository);
        if (meaning == MEANS_COMMONDIR && change == GUARD_GIT_CREATE_FILE)
                return check_commondir(g, n->path, repository);
        if (meaning == MEANS_GIT && change != GUARD_GIT_WRITE) {
                bool own = is_repository(repository) &&
                           (change != GUARD_GIT_CREATE_DIRECTORY || guard_git_has(repository, "HEAD"));
                return own ? guard_git_refuse(g, n->path, own_work_tree) : 0;
        }
        if (meaning == MEANS_KEPT_EMPTY && (change == GUARD_GIT_CREATE_FILE || change == GUARD_GIT_WRITE))
                return GUARD_GIT_KEEP_EMPTY;
        if (meaning == MEANS_GIT && (S_ISDIR(n->mode) || !used_outside))
                return 0;
        if (folder && (change == GUARD_GIT_CREATE_DIRECTORY || change == GUARD_GIT_WRITE))
                return 0;
        if (meaning == MEANS_REF && (change == GUARD_GIT_CREATE_DIRECTORY || S_ISDIR(n->mode)))
                return 0;
        if (meaning == MEANS_INDEX || meaning == MEANS_OPTIONS || meaning == MEANS_RERERE || meaning == MEANS_REF ||
            meaning == MEANS_UPDATES)
                return guard_git_refuse(g, n->path, "it can only be replaced by rename, as git does it");
        return guard_git_refuse(g, n->path, meaning == MEANS_CONFIG || meaning == MEANS_CONFIG_WORKTREE
                      ? "use 'git config' to change it" : run_or_trust);
}

/* Is it .git/modules or in it, or a .git that has modules? Their core.worktree is relative to where they are. */
static bool has_submodules(const char *path)
{
        return strstr(path, "/.git/modules/") || text_ends(path, "/.git/modules") ||
               (text_ends(path, "/.git") && guard_git_has(path, "modules"));
}

/* Is it the directory of a worktree, or the one that contains them? Their commondir is "../..". */
static bool has_worktree(const char *path)
{
        if (guard_git_has(path, "commondir"))
                return true;
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        bool found = !dir;
        if (!dir)
                fd_close(&fd);
        for (struct dirent *d; !found && (d = readdir(dir));) { // cppcheck-suppress readdirCalled
                char inner[PATH_MAX];
                if ((d->d_type != DT_DIR && d->d_type != DT_UNKNOWN) || strcmp(d->d_name, ".") == 0 ||
                    strcmp(d->d_name, "..") == 0)
                        continue;
                found = (size_t)snprintf(inner, sizeof inner, "%s/%s", path, d->d_name) >= sizeof inner ||
                        guard_git_has(inner, "commondir");
        }
        if (dir)
                (void)closedir(dir);
        return found;
}

/* Is it in a directory that no process outside can see? Without mounts the host sees the scratch directory. */
static bool is_private(const struct guard *g, const char *path)
{
        return g->own_mounts && name_rules_is_private(g->rules, path);
}

static const char join_link_target[] = "git would write through a symbolic link in a repository";

/* Denies moving a symlink, or a directory that contains one, into a repository. */
static int check_moved_symlinks(struct guard *g, const struct guard_name *n, const struct guard_name *source)
{
        if (S_ISLNK(source->mode) && text_ends(n->path, "/.gitmodules") && !is_private(g, n->path))
                return guard_git_refuse(g, n->path, join_link_target);
        if ((S_ISLNK(source->mode) || S_ISDIR(source->mode)) && !is_private(g, n->path) &&
            guard_git_around_uses(g, n->path, S_ISDIR(source->mode) ? source->path : NULL))
                return guard_git_refuse(g, n->path, submodule_is_there);
        if ((!S_ISLNK(source->mode) && !S_ISDIR(source->mode)) || !is_in_repository(n->path) ||
            is_private(g, n->path))
                return 0;
        return S_ISLNK(source->mode) || directory_contains_symlinks(source->path)
                       ? guard_git_refuse(g, n->path, join_link_target)
                       : 0;
}

/* git init tests for symlink support with a symlink .git/tABCDEF to "testing", which does not exist. */
static bool is_symlink_test(const char *path, const char *target)
{
        enum { LETTERS = 7 };
        char directory[PATH_MAX];
        guard_git_strip_names(path, 1, directory);
        const char *name = path + strlen(directory) + 1;
        bool in_repository = is_repository(directory) || strstr(directory, "/.git/modules/"); /* or it will be one */
        return in_repository && strcmp(target, "testing") == 0 && *name == 't' && strlen(name) == LETTERS;
}

int guard_git_check_link(struct guard *g, const struct guard_name *n, const char *target)
{
        if (!g->protects_git || is_private(g, n->path))
                return 0;
        for (const char *p = target; *p; p += strspn(p, "/")) {
                size_t length = strcspn(p, "/");
                if (length == strlen(".git") && strncmp(p, ".git", length) == 0)
                        return guard_git_refuse(g, n->path, "a symbolic link must not lead into .git");
                p += length;
        }
        if (guard_git_around_names(g, n->path, true))
                return guard_git_refuse(g, n->path, named_by_config);
        if (guard_git_around_uses(g, n->path, NULL))
                return guard_git_refuse(g, n->path, submodule_is_there);
        return text_ends(n->path, "/.gitmodules") || (is_in_repository(n->path) && !is_symlink_test(n->path, target))
                       ? guard_git_refuse(g, n->path, join_link_target)
                       : 0;
}

/* Checks moving or removing a directory. One that is removed is empty, and then none of this holds. */
static int check_moved_directory(struct guard *g, const char *path)
{
        if (contains_protected(g, path))
                return guard_git_refuse(g, path, "git uses files in it outside the box");
        if (is_private(g, path))
                return 0;
        if (has_submodules(path))
                return guard_git_refuse(g, path, "the repository of a submodule cannot be moved");
        return has_worktree(path) ? guard_git_refuse(g, path, "the directory of a worktree cannot be moved") : 0;
}

int guard_git_judge(struct guard *g, const struct guard_name *n, enum guard_git_change change,
                    const struct guard_name *source)
{
        char repository[PATH_MAX] = "";
        if (!g->protects_git || !*n->path)
                return 0;
        int r = change == GUARD_GIT_REMOVE && S_ISDIR(n->mode) ? check_moved_directory(g, n->path)
                : change == GUARD_GIT_MOVE_HERE                ? check_moved_symlinks(g, n, source)
                                                               : 0;
        if (r < 0)
                return r;
        if (g->relative_hooks.count && change != GUARD_GIT_REMOVE && !is_private(g, n->path) &&
            is_in_relative_hooks(g, n->path, change == GUARD_GIT_MOVE_HERE))
                return guard_git_refuse(g, n->path, "core.hooksPath makes it a hook of this work tree");
        if (change != GUARD_GIT_REMOVE && !is_private(g, n->path) &&
            guard_git_around_names(g, n->path, change == GUARD_GIT_MOVE_HERE))
                return guard_git_refuse(g, n->path, named_by_config);
        enum meaning meaning = meaning_of(n->path, repository);
        if (meaning == MEANS_NOTHING || is_private(g, n->path))
                return 0;
        if (meaning == MEANS_GIT && change == GUARD_GIT_REMOVE && S_ISDIR(n->mode) &&
            guard_git_around_has_names(g, repository))
                return guard_git_refuse(g, n->path, "its configuration names files");
        if (meaning == MEANS_GIT && change != GUARD_GIT_REMOVE) {
                if (is_part_of_repository(repository))
                        return guard_git_refuse(g, n->path, "a part of a repository must not be a work tree");
                if (change != GUARD_GIT_METADATA && n->object < 0 && has_relative_hooks(g, repository))
                        return guard_git_refuse(g, n->path, "core.hooksPath would run files that are here already");
        }
        if (meaning == MEANS_OBJECTS_OR_REFS && change != GUARD_GIT_REMOVE && change != GUARD_GIT_METADATA &&
            text_ends(n->path, "/objects") && is_inside_repository(repository))
                return guard_git_refuse(g, n->path, "git could take a directory of the repository for another one");
        bool changes_names = change != GUARD_GIT_WRITE && change != GUARD_GIT_METADATA &&
                             change != GUARD_GIT_TOGGLE_EXEC;
        if (changes_names && !g->exclusive)
                return GUARD_RETRY_EXCLUSIVE;
        return change == GUARD_GIT_MOVE_HERE ? check_move(g, n, meaning, repository, source)
                                        : check_change(g, n, meaning, repository, change);
}
