/*
 * Checks files of a repository by their content; see guard_git.c.
 *
 * A file is read once, and the bytes that were read are both checked and installed, in a new file. So a process that
 * still has the old file open cannot change them.
 *
 * How an index is parsed depends on the length of its object ids, which the configuration sets. So that length cannot
 * change once an index exists. The index of a worktree is parsed with the configuration of the repository that
 * `commondir` names, which must be the repository that contains the worktree's directory.
 */
#include "linux/guard_git_content.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/random.h"
#include "base/text.h"
#include "linux/git_config_file.h"
#include "linux/guard_git.h"
#include "policy/git_config.h"
#include "policy/git_index.h"
#include "policy/git_names.h"
#include "policy/path_pattern.h"

enum { CONTENT_MAX = 1 << 20, INDEX_MAX = 1 << 27 };

static const char not_checked[] = "its content could not be checked";
static const char not_read[] = "it cannot be read, or is too large to check";
static const char not_replaced[] = "it could not be replaced by a checked copy";

int guard_git_refuse(struct guard *g, const char *path, const char *why)
{
        (void)snprintf(g->git_why, sizeof g->git_why, "git files: %s", why); /* the report prints "protect" first */
        g->git_rule = (struct rule){
                .kind = RULE_PROTECT, .path = g->git_why, .set = SET_GIT, .from.name = SOURCE_DEFAULT
        };
        g->denied_by = &g->git_rule;
        (void)snprintf(g->denied_path, sizeof g->denied_path, "%s", path);
        return -EACCES;
}

void guard_git_strip_names(const char *path, unsigned count, char ret[PATH_MAX])
{
        memcpy(ret, path, strlen(path) + 1);
        for (; count > 0 && *ret; count--)
                *strrchr(ret, '/') = '\0';
}

bool guard_git_has(const char *directory, const char *name)
{
        char path[PATH_MAX];
        struct stat st;
        if ((size_t)snprintf(path, sizeof path, "%s/%s", directory, name) >= sizeof path)
                return true;
        return lstat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

bool guard_git_has_names(const char *directory, const char *prefix)
{
        int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        bool found = !dir;
        if (!dir)
                fd_close(&fd);
        for (struct dirent *d; !found && (d = readdir(dir));) // cppcheck-suppress readdirCalled
                found = strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0 &&
                        text_has_prefix(d->d_name, prefix);
        if (dir)
                (void)closedir(dir);
        return found;
}

bool guard_git_is_protected(const struct guard *g, const char *path)
{
        for (size_t i = 0; i < g->plan->rules.count; i++) {
                const struct rule *r = &g->plan->rules.list[i];
                if (r->kind == RULE_PROTECT &&
                    (r->glob ? path_pattern_match_depth(r->path, true, path) >= 0 : strcmp(r->path, path) == 0))
                        return true;
        }
        return false;
}

/* --- reading and writing --- */

/* Reads a file into g->git_text. Fails for a file that is larger than git's own files are. */
static int read_text(struct guard *g, const char *path, size_t max)
{
        struct error e;
        memory_free_pointer(&g->git_text);
        g->git_text = NULL;
        return fd_read_file(path, max, &g->git_text, &g->git_length, &e);
}

/*
 * Writes g->git_text to a new file and renames that to `name`. The file has the old one's times, because git compares
 * the index's time with others.
 */
static int put_copy(struct guard *g, int directory, const char *name, unsigned flags, const struct stat *old)
{
        enum { DIGITS = 16 };
        const struct timespec times[] = { old->st_atim, old->st_mtim };
        char copy[sizeof GUARD_GIT_COPY_PREFIX + DIGITS] = GUARD_GIT_COPY_PREFIX;
        int r = random_hex(copy + strlen(copy), DIGITS + 1);
        if (r < 0)
                return r;
        guard_set_umask(g, 0);
        CLEANUP_FD int fd =
                openat(directory, copy, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, old->st_mode & 0777);
        if (fd < 0)
                return -errno;
        r = fd_write_all(fd, g->git_text, g->git_length);
        if (r == 0 && (futimens(fd, times) < 0 || renameat2(directory, copy, directory, name, flags) < 0))
                r = -errno;
        if (r < 0)
                (void)unlinkat(directory, copy, 0);
        return r;
}

static void note_installed(struct guard *g);

int guard_git_install(struct guard *g, const struct guard_name *source, const struct guard_name *destination,
                      unsigned flags)
{
        struct stat st;
        if (fstat(source->object, &st) < 0)
                return -errno;
        int r = put_copy(g, destination->parent, destination->name, flags, &st);
        if (r < 0)
                return r;
        note_installed(g);
        return unlinkat(source->parent, source->name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

/* Replaces the file that g->git_text was read from by a copy with that text. */
static int replace_by_copy(struct guard *g, const char *repository, const char *name, const struct stat *old)
{
        CLEANUP_FD int directory = open(repository, O_PATH | O_DIRECTORY | O_CLOEXEC);
        return directory < 0 ? -errno : put_copy(g, directory, name, 0, old);
}

/* The path of a name in a repository, which must be a regular file. */
static int find_regular_file(struct guard *g, const char *repository, const char *name, char path[PATH_MAX],
                             struct stat *ret)
{
        if ((size_t)snprintf(path, PATH_MAX, "%s/%s", repository, name) >= PATH_MAX)
                return -ENAMETOOLONG;
        if (lstat(path, ret) < 0 || !S_ISREG(ret->st_mode))
                return guard_git_refuse(g, path, "must be a regular file");
        return 0;
}

/* --- the index --- */

/* The length of object ids in this repository. 0: unknown. */
static size_t id_bytes_of(const struct git_config *config)
{
        const char *format = git_config_last(config, "extensions", "objectformat");
        const char *version = git_config_last(config, "core", "repositoryformatversion");
        if (!format || strcmp(format, "sha1") == 0)
                return GIT_ID_SHA1;
        return strcmp(format, "sha256") == 0 && version && strcmp(version, "1") == 0 ? GIT_ID_SHA256 : 0;
}

static size_t id_bytes_of_text(const char *text, size_t length)
{
        CLEANUP_ARENA struct arena *a = arena_new(GIT_CONFIG_ARENA_BYTES);
        struct git_config config;
        return a && git_config_parse(a, text, length, &config, NULL) ? id_bytes_of(&config) : 0;
}

static size_t id_bytes_of_repository(const char *repository)
{
        char path[PATH_MAX];
        CLEANUP_ARENA struct arena *a = arena_new(GIT_CONFIG_ARENA_BYTES);
        struct git_config config;
        if (!a || (size_t)snprintf(path, sizeof path, "%s/config", repository) >= sizeof path)
                return 0;
        int r = git_config_file_read(a, path, &config);
        return r == -ENOENT ? GIT_ID_SHA1 : r < 0 ? 0 : id_bytes_of(&config);
}

/*
 * The repository whose configuration git reads: for a worktree, the one that contains its directory. Checks the
 * worktree's commondir and replaces it by a copy, so that it cannot name another.
 */
static int find_common_directory(struct guard *g, const char *repository, char ret[PATH_MAX])
{
        static const char commondir[] = "../..\n";
        char path[PATH_MAX];
        struct stat st;
        guard_git_strip_names(repository, 0, ret);
        if (!guard_git_has(repository, "commondir"))
                return 0;
        int r = find_regular_file(g, repository, "commondir", path, &st);
        if (r < 0)
                return r;
        if (read_text(g, path, CONTENT_MAX) < 0 || g->git_length != strlen(commondir) ||
            memcmp(g->git_text, commondir, g->git_length) != 0)
                return guard_git_refuse(g, path, "must contain ../.. before an index is written");
        if (replace_by_copy(g, repository, "commondir", &st) < 0)
                return guard_git_refuse(g, path, not_replaced);
        guard_git_strip_names(repository, 1, ret);
        if (!text_ends(ret, "/worktrees"))
                return guard_git_refuse(g, path, "is only allowed in the directory of a worktree");
        guard_git_strip_names(repository, 2, ret);
        return 0;
}

static int check_index(struct guard *g, const char *repository, const char *path, const char *from)
{
        CLEANUP_TEXT struct text why = { 0 };
        char common[PATH_MAX];
        int r = find_common_directory(g, repository, common);
        if (r < 0)
                return r;
        size_t id = id_bytes_of_repository(common);
        if (id == 0)
                return guard_git_refuse(g, path,
                                        "the index cannot be checked, because the repository's configuration cannot "
                                        "be read");
        if (read_text(g, from, INDEX_MAX) < 0)
                return guard_git_refuse(g, path, not_read);
        if (git_index_is_harmless(g->git_text, g->git_length, id, common, &why))
                return GUARD_GIT_INSTALL;
        return guard_git_refuse(g, path, why.data ? why.data : not_checked);
}

static bool has_index(const char *repository)
{
        return guard_git_has(repository, "index") || guard_git_has(repository, "worktrees") ||
               guard_git_has_names(repository, "sharedindex.");
}

bool guard_git_index_needs_config(const char *repository)
{
        return has_index(repository) && id_bytes_of_repository(repository) != GIT_ID_SHA1;
}

/* --- configurations --- */

/*
 * Finds or takes the snapshot of what the user left: the content before this box first changed the file, or the
 * current content if another process has changed it since. So a box may undo its own additions, but cannot do in two
 * steps what it may not do in one. NULL: too large, or too many.
 */
static struct guard_git_snapshot *take_snapshot(struct guard *g, const char *path, const char *current, size_t length)
{
        for (size_t i = 0; i < GUARD_GIT_SNAPSHOTS_MAX; i++) {
                struct guard_git_snapshot *m = &g->git_snapshots[i];
                if (*m->path && strcmp(m->path, path) != 0)
                        continue;
                bool unchanged = *m->path && length == m->installed_length &&
                                 memcmp(current, m->installed, length) == 0;
                if (unchanged || length > sizeof m->original || strlen(path) >= sizeof m->path)
                        return unchanged ? m : NULL;
                memcpy(m->path, path, strlen(path) + 1);
                memcpy(m->original, current, length);
                m->original_length = length;
                m->installed_length = SIZE_MAX;
                return m;
        }
        return NULL;
}

static bool may_change(enum guard_git_file file, const char *repository, const char *old, size_t old_length,
                       const char *text, size_t length, struct text *why)
{
        const char *module = file == GUARD_GIT_CONFIG ? strstr(repository, "/.git/modules/") : NULL;
        if (module)
                return git_config_may_change_submodule(module + 1, old, old_length, text, length, why);
        enum git_config_kind kind = file == GUARD_GIT_CONFIG    ? GIT_CONFIG_REPOSITORY
                                    : file == GUARD_GIT_OPTIONS ? GIT_CONFIG_OPTIONS
                                                                : GIT_CONFIG_WORKTREE;
        return git_config_may_change(kind, old, old_length, text, length, why);
}

/*
 * Does core.worktree of a submodule's configuration name a directory, without a symlink on the way? git would write the
 * files of the submodule there.
 */
static bool has_direct_work_tree(struct guard *g, const char *repository)
{
        char path[PATH_MAX];
        struct git_config config;
        CLEANUP_ARENA struct arena *a = arena_new(GIT_CONFIG_ARENA_BYTES);
        if (!a || !git_config_parse(a, g->git_text, g->git_length, &config, NULL))
                return false;
        const char *value = git_config_last(&config, "core", "worktree");
        if (!value)
                return true;
        if ((size_t)snprintf(path, sizeof path, "%s/%s", repository, value) >= sizeof path)
                return false;
        CLEANUP_FD int fd = fd_open_no_symlinks(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0);
        return fd >= 0;
}

/* Checks g->git_text as the new content of the configuration at `path`. */
static bool check_config(struct guard *g, enum guard_git_file file, const char *repository, const char *path,
                         struct text *why)
{
        CLEANUP_FREE char *current = NULL;
        size_t current_length = 0;
        struct error e;
        int r = fd_read_file(path, CONTENT_MAX, &current, &current_length, &e);
        if (r < 0 && r != -ENOENT)
                return false;
        /* If the file does not exist yet, the user left nothing. */
        struct guard_git_snapshot *m = take_snapshot(g, path, current ? current : "", current_length);
        if (!m && current && guard_git_is_protected(g, path)) {
                text_add(why, "it is too large to check, or this box has changed too many git configurations");
                return false;
        }
        if (file == GUARD_GIT_CONFIG && has_index(repository) &&
            id_bytes_of_text(g->git_text, g->git_length) != id_bytes_of_text(current ? current : "", current_length)) {
                text_add(why, "extensions.objectformat: it cannot change while the repository has an index");
                return false;
        }
        const char *old = m ? m->original : current;
        if (!may_change(file, repository, old, m ? m->original_length : current_length, g->git_text, g->git_length,
                        why))
                return false;
        if (file == GUARD_GIT_CONFIG && strstr(repository, "/.git/modules/") && !has_direct_work_tree(g, repository)) {
                text_add(why, "core.worktree: it does not exist, or leads through a symbolic link");
                return false;
        }
        g->git_pending = m;
        return true;
}

/*
 * Only once the file is in place: if the rename fails, the file still has the content that the guard installed before,
 * and the snapshot must say so, or the box's own changes would pass for the user's.
 */
static void note_installed(struct guard *g)
{
        struct guard_git_snapshot *m = g->git_pending;
        g->git_pending = NULL;
        if (!m || g->git_length > sizeof m->installed)
                return;
        memcpy(m->installed, g->git_text, g->git_length);
        m->installed_length = g->git_length;
}

int guard_git_check_content(struct guard *g, enum guard_git_file file, const char *repository, const char *path,
                         const char *from)
{
        CLEANUP_TEXT struct text why = { 0 };
        g->git_pending = NULL;
        if (file == GUARD_GIT_INDEX)
                return check_index(g, repository, path, from);
        if (read_text(g, from, CONTENT_MAX) < 0)
                return guard_git_refuse(g, path, not_read);
        if (file == GUARD_GIT_REF || file == GUARD_GIT_UPDATES) {
                bool harmless = file == GUARD_GIT_REF ? git_ref_is_harmless(g->git_text, g->git_length)
                                                      : git_updates_are_harmless(g->git_text, g->git_length);
                return harmless ? 1 : guard_git_refuse(g, path, "git would write a file that is not in refs");
        }
        if (file == GUARD_GIT_RERERE)
                return g->git_length == 0 ? 1 : guard_git_refuse(g, path, "git would write to the files that it names");
        bool may = file == GUARD_GIT_TODO      ? git_todo_is_harmless(g->git_text, g->git_length, &why)
                   : file == GUARD_GIT_OPTIONS ? may_change(file, repository, NULL, 0, g->git_text, g->git_length, &why)
                                               : check_config(g, file, repository, path, &why);
        return may ? 1 : guard_git_refuse(g, path, why.data ? why.data : not_checked);
}

/* --- a directory that becomes a repository --- */

int guard_git_adopt(struct guard *g, enum guard_git_file file, const char *repository, const char *name)
{
        CLEANUP_TEXT struct text why = { 0 };
        char path[PATH_MAX];
        struct stat st;
        if (!guard_git_has(repository, name))
                return 0;
        int r = find_regular_file(g, repository, name, path, &st);
        if (r < 0)
                return r;
        if (file == GUARD_GIT_INDEX)
                r = check_index(g, repository, path, path);
        else if (read_text(g, path, CONTENT_MAX) < 0 ||
                 !may_change(file, repository, NULL, 0, g->git_text, g->git_length, &why))
                r = guard_git_refuse(g, path, why.data ? why.data : not_checked);
        if (r < 0)
                return r;
        return replace_by_copy(g, repository, name, &st) < 0 ? guard_git_refuse(g, path, not_replaced) : 0;
}
