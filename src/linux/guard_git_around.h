/* Files that the repositories around a path name in their configurations; see guard_git_around.c. */
#ifndef RINGWALL_LINUX_GUARD_GIT_AROUND_H
#define RINGWALL_LINUX_GUARD_GIT_AROUND_H

#include <stdbool.h>

struct guard;

/*
 * Does the configuration of a repository around this path name it, as a file to include or a directory of hooks? Or
 * might it, because it cannot be read? `whole`: a directory moves to this path, so that a name below it counts too.
 */
bool guard_git_around_names(const struct guard *g, const char *path, bool whole);

/* Does the configuration of the repository of this work tree name any file? Then its .git must not move. */
bool guard_git_around_has_names(const struct guard *g, const char *top);

/*
 * Would a symlink at this path lead git elsewhere, because the work tree of a submodule is there or below? `moved`: not
 * a symlink, but this directory moves there; NULL: a symlink.
 */
bool guard_git_around_uses(const struct guard *g, const char *path, const char *moved);

#endif
