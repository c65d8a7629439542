/* The files that the user's git configurations name; see guard_git_paths.c. */
#ifndef RINGWALL_LINUX_GUARD_GIT_PATHS_H
#define RINGWALL_LINUX_GUARD_GIT_PATHS_H

#include "linux/guard_aliases.h"

/*
 * For a rule about a repository: adds what configurations outside the box's view name. Those are the user's and the
 * machine's, and that of the repository if the workspace is a worktree or a part of it. Runs in the host's root.
 * Returns 0 or -errno.
 */
int guard_git_paths_outside(struct guard_aliases *to, const struct rule *r);

/* Adds what the configuration names of the repository whose work tree this is, if it is one. Returns 0 or -errno. */
int guard_git_paths_of(struct guard_aliases *to, const struct rule *r, const char *top);

/* The same for the repository in the workspace, and for its hooks that are symlinks. Runs in the box's root. */
int guard_git_paths_inside(struct guard_aliases *to, const struct rule *r);

#endif
