/* What a tree's .gitignore files leave out. Theory of operation: ignore.c. */
#ifndef RINGWALL_TOOLS_IGNORE_H
#define RINGWALL_TOOLS_IGNORE_H

#include <stdbool.h>

/* The rules of one directory; those of the directories around it come after them. Many may hold it, on several threads. */
struct ignore;

/* The files that rules come from, as a set of bits; of two rules in one directory that of the later file decides. */
enum { IGNORE_EXCLUDE = 1, IGNORE_GIT = 2, IGNORE_OWN = 4, IGNORE_ALL = 7 };

/* Which of them an entry of a directory with this name is or leads to; 0: none. */
unsigned ignore_file(const char *name);

/*
 * Reads those `files` of a directory, beneath the rules of `around` (NULL: none). `path` is the directory's own, from where
 * the paths begin that ignore_matches() gets; "" there. The caller holds what is returned: `around` itself when there
 * is nothing to add, or no memory.
 */
struct ignore *ignore_enter(struct ignore *around, int directory, const char *path, unsigned files);

struct ignore *ignore_hold(struct ignore *i);
void ignore_drop(struct ignore *i);

/* `path` as above. */
bool ignore_matches(const struct ignore *i, const char *path, bool is_directory);

#endif
