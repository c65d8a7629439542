/*
 * Finds the files that the user's git configurations name: included files, directories of hooks, and the template of
 * new repositories. git runs or trusts them, so a box must not write them where they are in a writable directory. The
 * same holds for the targets of hooks that are symlinks.
 *
 * How it works: the configurations are read when the box starts, with their includes, as deep as git follows them: the
 * machine's, the user's (also by GIT_CONFIG_SYSTEM and GIT_CONFIG_GLOBAL), the repository's, and those of its
 * worktrees and submodules. A value may be absolute, begin with "~/" or "~USER/", or be relative: an include to its
 * file, core.hooksPath to the work tree. So a relative core.hooksPath names a directory in every work tree; guard_git.c
 * looks for those when they are created.
 *
 * A workspace may also be a linked worktree, a bare repository, or a directory inside a repository. Then its
 * configuration is elsewhere.
 *
 * What an attacker controls: what earlier boxes left in the workspace. They could not change what these files name.
 */
#include "linux/guard_git_paths.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "linux/git_config_file.h"
#include "policy/path_pattern.h"

static const char repository_hooks[] = "/.git/hooks";

enum { INCLUDES_MAX = 10, GIT_FILE_MAX = 1 << 20 }; /* git's own limits */

static bool is_kind(const char *path, mode_t kind)
{
        struct stat st;
        return stat(path, &st) == 0 && (st.st_mode & S_IFMT) == kind;
}

/* Nothing is there, for git too: no file, or a loop of symlinks. */
static bool is_absent(int error)
{
        return error == ENOENT || error == ENOTDIR || error == ELOOP;
}

/* Keeps the path for the error message. */
static int refuse_unreadable(struct guard_aliases *to, const char *path, int error)
{
        if (error != ENOMEM)
                to->unreadable = path;
        return -error;
}

/* The next name in a directory but "." and ".."; NULL at the end. */
static struct dirent *next_name(DIR *dir)
{
        struct dirent *d;
        do
                d = readdir(dir); // cppcheck-suppress readdirCalled
        while (d && (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0));
        return d;
}

/* Protects a path that git uses, what it resolves to, and the symlinks on the way. */
static int add_path(struct guard_aliases *to, const struct rule *r, const char *path)
{
        int result = guard_alias_add(to, r, path, false);
        return result < 0 ? result : guard_alias_add_real_path(to, r, path, "");
}

/* --- values --- */

/*
 * Resolves "~/…" or "~USER/…". *ret is NULL if there is no such home. Not with getpwnam(), which a static program
 * cannot use.
 */
static int resolve_home(struct arena *a, const char *value, const char **ret)
{
        size_t length = strcspn(value + 1, "/");
        const char *rest = value + 1 + length, *home = length ? NULL : secure_getenv("HOME");
        FILE *users = length ? fopen("/etc/passwd", "re") : NULL;
        for (struct passwd *p; users && !home && (p = fgetpwent(users));) // cppcheck-suppress fgetpwentCalled
                if (strncmp(p->pw_name, value + 1, length) == 0 && !p->pw_name[length])
                        home = p->pw_dir;
        *ret = home ? arena_concat(a, home, rest) : NULL;
        if (users)
                (void)fclose(users);
        return home && !*ret ? -ENOMEM : 0;
}

/* Resolves a value as git does. *ret is NULL if there is no path in it, or an unknown home. */
static int resolve_value(struct arena *a, const char *directory, const char *value, const char **ret)
{
        *ret = NULL;
        if (!value || !*value)
                return 0;
        if (*value == '~')
                return resolve_home(a, value, ret);
        *ret = *value == '/' ? value : arena_format(a, "%s/%s", directory, value);
        return *ret ? 0 : -ENOMEM;
}

/* Adds the targets of hooks that are symlinks. */
static int add_linked_hooks(struct guard_aliases *to, const struct rule *r, const char *directory)
{
        DIR *dir = opendir(directory);
        int result = dir || is_absent(errno) ? 0 : refuse_unreadable(to, directory, errno);
        for (struct dirent *d; dir && result == 0 && (d = next_name(dir));) {
                if (d->d_type != DT_LNK && d->d_type != DT_UNKNOWN)
                        continue;
                const char *hook = arena_format(to->arena, "%s/%s", directory, d->d_name);
                if (!hook)
                        result = -ENOMEM;
                else if (guard_is_symlink(hook))
                        result = guard_alias_add_real_path(to, r, hook, "");
        }
        if (dir)
                (void)closedir(dir);
        return result;
}

/*
 * Remembers a relative core.hooksPath, normalised. Of one that leaves the work tree by "..", the names behind that: the
 * work tree may be anywhere in the workspace. -E2BIG: there are too many of them.
 */
static int note_relative_hooks(struct guard_aliases *to, const char *value)
{
        struct relative_hooks *hooks = &to->hooks;
        char path[PATH_MAX] = "";
        size_t length = 0;
        bool leaves = false;
        if (*value == '/' || *value == '~')
                return 0;
        if (strlen(value) >= sizeof path)
                return -ENAMETOOLONG;
        for (const char *p = value; *p; p += strspn(p, "/")) {
                size_t n = strcspn(p, "/");
                if (n == 2 && memcmp(p, "..", 2) == 0) {
                        length = 0;
                        leaves = true;
                } else if (n && !(n == 1 && *p == '.')) {
                        if (length)
                                path[length++] = '/';
                        memcpy(path + length, p, n);
                        length += n;
                }
                p += n;
        }
        if (!length)
                return 0;
        const char *kept = arena_strndup(to->arena, path, length);
        for (size_t i = 0; kept && i < hooks->count; i++)
                if (strcmp(hooks->list[i].path, kept) == 0)
                        return 0;
        if (!kept || hooks->count == ARRAY_SIZE(hooks->list))
                return kept ? -E2BIG : -ENOMEM;
        hooks->list[hooks->count].path = kept;
        hooks->list[hooks->count++].anywhere = leaves || *kept == '.';
        return 0;
}

static int add_default_hooks(struct guard_aliases *to, const struct rule *r, const char *repository)
{
        const char *hooks = arena_format(to->arena, "%s/hooks", repository);
        return hooks ? add_linked_hooks(to, r, hooks) : -ENOMEM;
}

/* `template`: the directory from which git copies hooks into new repositories. */
static int add_template(struct guard_aliases *to, const struct rule *r, const char *directory, const char *value)
{
        const char *template;
        int result = resolve_value(to->arena, directory, value, &template);
        return result < 0 || !template ? result : add_path(to, r, template);
}

static int add_hooks_path(struct guard_aliases *to, const struct rule *r, const char *top, const char *value)
{
        const char *directory;
        int result = resolve_value(to->arena, top, value, &directory);
        if (result < 0 || !directory)
                return result;
        result = note_relative_hooks(to, value);
        if (result == 0)
                result = add_path(to, r, directory);
        return result < 0 ? result : add_linked_hooks(to, r, directory);
}

/* --- configurations --- */

/* Adds the paths in a configuration, and in the files that it includes. `top` is the work tree. */
static int add_config(struct guard_aliases *to, const struct rule *r, const char *file, const char *top, unsigned depth)
{
        struct git_config config;
        int status = depth > INCLUDES_MAX ? -ELOOP : git_config_file_read(to->arena, file, &config);
        if (is_absent(-status) || status == -EINVAL || status == -EISDIR)
                return 0; /* git cannot read it either */
        if (status < 0) /* git may read it later: a box could make it readable again */
                return refuse_unreadable(to, file, -status);
        const char *directory = arena_strndup(to->arena, file, (size_t)(strrchr(file, '/') - file));
        int result = directory ? 0 : -ENOMEM;
        for (size_t i = 0; result == 0 && i < config.count; i++) {
                const struct git_config_entry *x = &config.entries[i];
                bool include = strcmp(x->key, "path") == 0 && text_has_prefix(x->base, "include");
                if (strcmp(x->key, "hookspath") == 0 && strcmp(x->base, "core") == 0)
                        result = add_hooks_path(to, r, top, x->value);
                if (strcmp(x->key, "templatedir") == 0 && strcmp(x->base, "init") == 0)
                        result = add_template(to, r, top, x->value);
                const char *included = NULL;
                if (include && result == 0)
                        result = resolve_value(to->arena, directory, x->value, &included);
                if (result < 0 || !included)
                        continue;
                result = guard_alias_add_real_path(to, r, included, "");
                if (result == 0)
                        result = add_config(to, r, included, top, depth + 1);
        }
        return result;
}

static int add_config_in(struct guard_aliases *to, const struct rule *r, const char *directory, const char *name,
                         const char *top)
{
        const char *file = arena_format(to->arena, "%s/%s", directory, name);
        return file ? add_config(to, r, file, top, 0) : -ENOMEM;
}

/*
 * A configuration that a variable of git's names: GIT_CONFIG_GLOBAL, GIT_CONFIG_SYSTEM. A relative one is taken from
 * the top, where git changes to before it runs hooks.
 */
static int add_config_of_variable(struct guard_aliases *to, const struct rule *r, const char *variable, const char *top)
{
        const char *value = secure_getenv(variable);
        if (!value || !*value)
                return 0;
        const char *file = *value == '/' ? value : arena_format(to->arena, "%s/%s", top, value);
        int result = file ? add_path(to, r, file) : -ENOMEM;
        return result < 0 ? result : add_config(to, r, file, top, 0);
}

static int add_global_configs(struct guard_aliases *to, const struct rule *r, const char *top)
{
        const char *home = secure_getenv("HOME"), *config = secure_getenv("XDG_CONFIG_HOME");
        int result = add_config_of_variable(to, r, "GIT_CONFIG_GLOBAL", top);
        if (result == 0)
                result = add_config_of_variable(to, r, "GIT_CONFIG_SYSTEM", top);
        if (result < 0)
                return result;
        result = add_config(to, r, "/etc/gitconfig", top, 0);
        if (result == -EACCES)
                result = 0; /* only root can make it readable */
        if (result == 0 && config && *config == '/')
                result = add_config_in(to, r, config, "git/config", top);
        else if (result == 0 && home)
                result = add_config_in(to, r, home, ".config/git/config", top);
        return result == 0 && home ? add_config_in(to, r, home, ".gitconfig", top) : result;
}

/* --- repositories --- */

/* Reads a file that contains a path, such as .git ("gitdir: ") or commondir. *ret is NULL if there is none in it. */
static int read_path_file(struct guard_aliases *to, const char *directory, const char *name, const char *prefix,
                          const char **ret)
{
        struct error e;
        CLEANUP_FREE char *text = NULL;
        size_t length;
        *ret = NULL;
        const char *file = arena_format(to->arena, "%s/%s", directory, name);
        int result = file ? fd_read_file(file, GIT_FILE_MAX, &text, &length, &e) : -ENOMEM;
        if (is_absent(-result) || (result == 0 && !text_has_prefix(text, prefix)))
                return 0;
        if (result < 0)
                return file ? refuse_unreadable(to, file, -result) : result;
        for (length = strlen(text); length && (text[length - 1] == '\n' || text[length - 1] == '\r');)
                text[--length] = '\0'; /* git takes other newlines for a part of the name */
        const char *value = arena_strdup(to->arena, text + strlen(prefix));
        return value ? resolve_value(to->arena, directory, value, ret) : -ENOMEM;
}

/*
 * The repository of a work tree: its .git, or the directory that a file .git names; or the directory itself, if it is a
 * bare repository. *ret is NULL if there is none.
 */
static int find_repository(struct guard_aliases *to, const char *top, const char **ret)
{
        const char *git = arena_format(to->arena, "%s/.git", top), *head = arena_format(to->arena, "%s/HEAD", top),
                   *objects = arena_format(to->arena, "%s/objects", top);
        *ret = NULL;
        if (!git || !head || !objects)
                return -ENOMEM;
        if (is_kind(git, S_IFREG))
                return read_path_file(to, top, ".git", "gitdir: ", ret);
        if (is_kind(git, S_IFDIR))
                *ret = git;
        else if (is_kind(head, S_IFREG) && is_kind(objects, S_IFDIR) && !(*ret = arena_strdup(to->arena, top)))
                return -ENOMEM;
        return 0;
}

/* Adds what the linked worktrees of a repository use: its configuration is theirs too. */
static int add_worktrees(struct guard_aliases *to, const struct rule *r, const char *repository)
{
        const char *folder = arena_format(to->arena, "%s/worktrees", repository);
        DIR *dir = folder ? opendir(folder) : NULL;
        int result = !folder ? -ENOMEM : dir || is_absent(errno) ? 0 : refuse_unreadable(to, folder, errno);
        for (struct dirent *d; dir && result == 0 && (d = next_name(dir));) {
                const char *own = arena_format(to->arena, "%s/%s", folder, d->d_name);
                const char *git = NULL;
                if (own)
                        (void)read_path_file(to, own, "gitdir", "", &git);
                /* Without a usable gitdir the worktree is unknown, but git still reads its configuration. */
                const char *top = git && text_ends(git, "/.git")
                                          ? arena_strndup(to->arena, git, strlen(git) - strlen("/.git"))
                                          : own;
                result = !top ? -ENOMEM : add_config_in(to, r, repository, "config", top);
                if (result == 0)
                        result = add_config_in(to, r, own, "config.worktree", top);
        }
        if (dir)
                (void)closedir(dir);
        return result;
}

/* Adds what one submodule uses, and where its work tree is. */
static int add_module(struct guard_aliases *to, const struct rule *r, const char *repository)
{
        struct git_config config;
        const char *file = arena_format(to->arena, "%s/config", repository);
        int result = file ? add_config(to, r, file, repository, 0) : -ENOMEM;
        if (result == 0)
                result = add_default_hooks(to, r, repository);
        if (result < 0 || git_config_file_read(to->arena, file, &config) < 0)
                return result;
        const char *work_tree;
        result = resolve_value(to->arena, repository, git_config_last(&config, "core", "worktree"), &work_tree);
        if (result < 0 || !work_tree)
                return result;
        const char **slot = arena_array_push(to->arena, &to->work_trees, &to->work_tree_count, sizeof *slot);
        return slot && (*slot = path_normalize(to->arena, work_tree)) ? 0 : -ENOMEM;
}

/* Adds what submodules use, at any depth below .git/modules. Relative paths are relative to their work trees. */
static int add_modules(struct guard_aliases *to, const struct rule *r, const char *folder, unsigned depth)
{
        enum { MODULES_DEPTH_MAX = 32 }; /* names in the name of a submodule; each takes a descriptor */
        if (depth == MODULES_DEPTH_MAX)
                return refuse_unreadable(to, folder, E2BIG);
        DIR *dir = opendir(folder);
        int result = dir || is_absent(errno) ? 0 : refuse_unreadable(to, folder, errno);
        for (struct dirent *d; dir && result == 0 && (d = next_name(dir));) {
                if (d->d_type != DT_DIR && d->d_type != DT_UNKNOWN)
                        continue;
                const char *inner = arena_format(to->arena, "%s/%s", folder, d->d_name);
                const char *objects = inner ? arena_format(to->arena, "%s/objects", inner) : NULL;
                if (!objects)
                        result = -ENOMEM;
                else if (!is_kind(objects, S_IFDIR))
                        result = add_modules(to, r, inner, depth + 1);
                else
                        result = add_module(to, r, inner);
        }
        if (dir)
                (void)closedir(dir);
        return result;
}

/* Adds what a repository uses, and its submodules. *ret_common, if not NULL, is the repository that has its objects. */
static int add_repository_of(struct guard_aliases *to, const struct rule *r, const char *repository,
                             const char *work_tree, const char **ret_common)
{
        const char *common;
        int result = read_path_file(to, repository, "commondir", "", &common);
        common = common ? common : repository;
        if (ret_common)
                *ret_common = common;
        if (result == 0)
                result = add_config_in(to, r, common, "config", work_tree);
        if (result == 0)
                result = add_config_in(to, r, repository, "config.worktree", work_tree);
        if (result == 0)
                result = add_default_hooks(to, r, common);
        const char *modules = result == 0 ? arena_format(to->arena, "%s/modules", common) : NULL;
        return modules ? add_modules(to, r, modules, 0) : result < 0 ? result : -ENOMEM;
}

int guard_git_paths_of(struct guard_aliases *to, const struct rule *r, const char *top)
{
        const char *repository;
        int result = find_repository(to, top, &repository);
        const char *work_tree = repository ? arena_strdup(to->arena, top) : NULL;
        if (!work_tree)
                return repository ? -ENOMEM : result;
        return add_repository_of(to, r, repository, work_tree, NULL);
}

/* Adds what the repository uses whose work tree this directory is, or is in. */
static int add_repository(struct guard_aliases *to, const struct rule *r, const char *directory)
{
        char top[PATH_MAX];
        const char *repository = NULL;
        if (strlen(directory) >= sizeof top)
                return -ENAMETOOLONG;
        memcpy(top, directory, strlen(directory) + 1);
        int result;
        while ((result = find_repository(to, top, &repository)) == 0 && !repository && *top)
                *strrchr(top, '/') = '\0';
        const char *work_tree = repository ? arena_strdup(to->arena, top) : NULL, *common;
        if (!work_tree)
                return repository ? -ENOMEM : result;
        result = add_repository_of(to, r, repository, work_tree, &common);
        return result < 0 ? result : add_worktrees(to, r, common);
}

int guard_git_paths_outside(struct guard_aliases *to, const struct rule *r)
{
        if (r->glob || !text_ends(r->path, repository_hooks))
                return 0; /* one rule for each workspace is enough */
        const char *top = arena_strndup(to->arena, r->path, strlen(r->path) - strlen(repository_hooks));
        int result = top ? add_global_configs(to, r, top) : -ENOMEM;
        return result < 0 ? result : add_repository(to, r, top);
}

int guard_git_paths_inside(struct guard_aliases *to, const struct rule *r)
{
        const char *inner = strstr(r->path, "/.git/");
        const char *top = inner ? arena_strndup(to->arena, r->path, (size_t)(inner - r->path)) : NULL;
        if (!top)
                return inner ? -ENOMEM : 0;
        int result = 0;
        if (text_ends(r->path, "/.git/config") || text_ends(r->path, "/.git/config.worktree"))
                result = add_config(to, r, r->path, top, 0);
        else if (text_ends(r->path, repository_hooks))
                result = add_linked_hooks(to, r, r->path);
        return result < 0 && to->unreadable ? 0 : result; /* it was readable outside, so the box's root hides it */
}
