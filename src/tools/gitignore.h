/* The rules of a tree's .gitignore files. Theory of operation: gitignore.c. */
#ifndef RINGWALL_TOOLS_GITIGNORE_H
#define RINGWALL_TOOLS_GITIGNORE_H

#include <stdbool.h>

/* The rules of one directory, with a reference to those of its parents. Reference-counted, also across threads. */
struct gitignore;

/* Bits for .git/info/exclude, .gitignore and .ignore. In one directory, the rules of a later file win. */
enum { GITIGNORE_INFO_EXCLUDE = 1, IGNORE_GITIGNORE = 2, IGNORE_IGNORE = 4, GITIGNORE_ALL = 7 };

/* The bit of the file that a directory entry of this name is or may contain; 0: none. */
unsigned ignore_file_bit(const char *name);

/*
 * Reads the rules in these `files` of a directory, on top of the rules of its parents (NULL: none). `path` is relative
 * to the same directory as the paths of gitignore_matches(), and "" there. Returns a new reference: to the new rules,
 * or to `parent` when there is nothing to add or no memory.
 */
struct gitignore *gitignore_push(struct gitignore *parent, int directory, const char *path, unsigned files);

struct gitignore *gitignore_ref(struct gitignore *i);
void gitignore_unref(struct gitignore *i);

/* Whether the path is excluded. `path` as above. */
bool gitignore_matches(const struct gitignore *i, const char *path, bool is_directory);

#endif
