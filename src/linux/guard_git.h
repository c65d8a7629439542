/* Protects files that git would run or trust later, outside the box; see guard_git.c. */
#ifndef RINGWALL_LINUX_GUARD_GIT_H
#define RINGWALL_LINUX_GUARD_GIT_H

#include "linux/guard.h"

enum guard_git_change {
        GUARD_GIT_CREATE_FILE,      /* a file that the caller will write */
        GUARD_GIT_CREATE_DIRECTORY, /* an empty directory */
        GUARD_GIT_CREATE_OTHER,     /* a symlink, hard link, FIFO or socket */
        GUARD_GIT_MOVE_HERE,        /* an existing file or directory is renamed to this name */
        GUARD_GIT_WRITE,            /* an existing file is opened for writing, or linked */
        GUARD_GIT_METADATA,         /* mode, owner, times or attributes change */
        GUARD_GIT_TOGGLE_EXEC,      /* only the owner's execute bit changes; git tries that on its configuration */
        GUARD_GIT_REMOVE,           /* removed, or renamed to another name */
};

enum {
        GUARD_GIT_INSTALL = 1, /* allowed, but guard_git_install() has to do the rename */
        /* the file may be created or truncated, but the caller gets a descriptor to /dev/null */
        GUARD_GIT_KEEP_EMPTY = 2,
};

/*
 * Checks a change of this name. `source` is the file that is moved, for GUARD_GIT_MOVE_HERE. Returns 0, -EACCES (with
 * the refusal recorded), GUARD_RETRY_EXCLUSIVE, GUARD_GIT_INSTALL or GUARD_GIT_KEEP_EMPTY.
 */
int guard_git_judge(struct guard *g, const struct guard_name *n, enum guard_git_change change,
                    const struct guard_name *source);

/* Checks a new symlink with this target; "" if the target is not known. */
int guard_git_check_link(struct guard *g, const struct guard_name *n, const char *target);

/*
 * Does the rename that guard_git_judge() answered with GUARD_GIT_INSTALL: puts a new file with the checked content in
 * the place of the destination, and removes the source. A process that still has the source open cannot change the new
 * file. The lock must still be held. Returns 0 or -errno.
 */
int guard_git_install(struct guard *g, const struct guard_name *source, const struct guard_name *destination,
                      unsigned flags);

#endif
