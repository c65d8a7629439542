/* What a tree's .gitignore files leave out. Theory of operation: ignore.c. */
#ifndef RINGWALL_TOOLS_IGNORE_H
#define RINGWALL_TOOLS_IGNORE_H

#include <stdbool.h>

/* The rules of one directory; those of the directories around it come after them. */
struct ignore;

/*
 * Reads the .gitignore of a directory, if there is one, beneath the rules of `around` (NULL: none). `path` is the directory's
 * own, from the start of the search on, "" there. Returns `around` itself when there is nothing to add, or no memory.
 */
struct ignore *ignore_enter(struct ignore *around, int directory, const char *path);
void ignore_leave(struct ignore *i, struct ignore *around);

/* `path` as above. */
bool ignore_matches(const struct ignore *i, const char *path, bool is_directory);

/* Does a pattern as policy/pattern.h has it match this path? Both without a slash in front. */
bool glob_matches(const char *pattern, const char *path);

#endif
