/* The rules of a tree's .gitignore files. Theory of operation: ignore.c. */
#ifndef RINGWALL_TOOLS_IGNORE_H
#define RINGWALL_TOOLS_IGNORE_H

#include <stdbool.h>

/* The rules of one directory, with a reference to those of its parents. Reference-counted, also across threads. */
struct ignore;

/* Bits for .git/info/exclude, .gitignore and .ignore. In one directory, the rules of a later file win. */
enum { IGNORE_EXCLUDE = 1, IGNORE_GITIGNORE = 2, IGNORE_IGNORE = 4, IGNORE_ALL = 7 };

/* The bit of the file that a directory entry of this name is or may contain; 0: none. */
unsigned ignore_file_bit(const char *name);

/*
 * Reads the rules in these `files` of a directory, on top of the rules of its parents (NULL: none). `path` is relative
 * to the same directory as the paths of ignore_matches(), and "" there. Returns a new reference: to the new rules, or
 * to `parent` when there is nothing to add or no memory.
 */
struct ignore *ignore_enter(struct ignore *parent, int directory, const char *path, unsigned files);

struct ignore *ignore_hold(struct ignore *i);
void ignore_drop(struct ignore *i);

/* Whether the path is excluded. `path` as above. */
bool ignore_matches(const struct ignore *i, const char *path, bool is_directory);

#endif
