/* The files of a repository that are checked by their content; see guard_git.c. */
#ifndef RINGWALL_LINUX_GUARD_GIT_CONTENT_H
#define RINGWALL_LINUX_GUARD_GIT_CONTENT_H

#include "linux/guard.h"

enum guard_git_file {
        GUARD_GIT_CONFIG,
        GUARD_GIT_CONFIG_WORKTREE,
        GUARD_GIT_TODO,    /* the to-do list of a rebase or cherry-pick */
        GUARD_GIT_OPTIONS, /* the options of a cherry-pick, in the format of a configuration */
        GUARD_GIT_RERERE,  /* MERGE_RR */
        GUARD_GIT_REF,     /* an object id, or the name of another ref */
        GUARD_GIT_UPDATES, /* rebase-merge/update-refs: names of refs, each followed by two ids */
        GUARD_GIT_INDEX,
};

/* Names of new files while the guard fills them. No box may open one: not even another box in the same directory. */
#define GUARD_GIT_COPY_PREFIX ".ringwall-"

/* Records the refusal with its reason, and returns -EACCES. */
int guard_git_refuse(struct guard *g, const char *path, const char *why);

/* Does the name exist? Also true if that cannot be found out. */
bool guard_git_has(const char *directory, const char *name);

/* Does the directory have names with this prefix? Also true if that cannot be found out. */
bool guard_git_has_names(const char *directory, const char *prefix);

/* The path without its last `count` names. */
void guard_git_strip_names(const char *path, unsigned count, char ret[PATH_MAX]);

/* Does a `protect` rule of the plan name this path? Those are made for the top of each writable directory. */
bool guard_git_is_protected(const struct guard *g, const char *path);

/*
 * Checks the content of `from` as the new content of `path`. Returns 1, and the guard keeps the content for
 * guard_git_install(); or -EACCES.
 */
int guard_git_check_content(struct guard *g, enum guard_git_file file, const char *repository, const char *path,
                         const char *from);

/*
 * The same for a file in a directory that becomes a repository. If it exists, it is replaced by a copy. Returns 0 or
 * -errno.
 */
int guard_git_adopt(struct guard *g, enum guard_git_file file, const char *repository, const char *name);

/* Does the repository have an index that git would misread without the configuration? */
bool guard_git_index_needs_config(const char *repository);

#endif
