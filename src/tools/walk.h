/* Going through a tree, as Glob and Grep do: by descriptors, following no link, leaving out what .gitignore does. */
#ifndef RINGWALL_TOOLS_WALK_H
#define RINGWALL_TOOLS_WALK_H

#include <stdbool.h>

#include "path/workspace.h"

/*
 * Called for each file, by the descriptor of its directory, its name there, and its path from the start of the search on.
 * False ends the walk.
 */
typedef bool walk_visit(void *data, int directory, const char *name, const char *path);

/* Returns 0, or -errno when the start cannot be read. What cannot be read below it is passed over. */
int walk_tree(const struct spot *start, bool with_ignored, walk_visit *visit, void *data, struct error *e);

#endif
