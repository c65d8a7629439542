/*
 * Paths and path patterns as text; nothing here accesses a file system.
 *
 * A pattern is an absolute path whose names may contain * and ? (any bytes, one character; never a slash), [a-z] and
 * [!a-z], and ** as a whole name (any number of names, none included). A backslash escapes the next byte.
 * Unlike in a shell, a star matches a leading dot: a rule that denies files must not miss hidden ones.
 *
 * A rule on a directory applies to everything below it, so matching returns the depth of the longest parent of a path,
 * or of the path itself, that the pattern matches: the deeper, the narrower the rule.
 */
#ifndef RINGWALL_POLICY_PATH_PATTERN_H
#define RINGWALL_POLICY_PATH_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"

/* Does the text use pattern characters (an escaped one does not count)? */
bool path_pattern_is_glob(const char *text);

/* NULL when it is well-formed, else what is wrong with it. */
const char *path_pattern_check(const char *text);

/*
 * The absolute path in its canonical spelling: no //, no /./, no trailing slash, `..` resolved lexically (`..` of the
 * root is the root). `text` is absolute. NULL if out of memory or beyond PATH_COMPONENTS_MAX names.
 */
char *path_normalize(struct arena *a, const char *text);

/* A literal path: removes the escapes. */
char *path_pattern_unescape(struct arena *a, const char *text);
/* The reverse: a literal path as a pattern that matches only it. */
char *path_pattern_escape(struct arena *a, const char *path);

/* Does the pattern match this whole path? Both normalised. Time: at most the product of their lengths. */
bool path_pattern_match(const char *pattern, const char *path);

/*
 * The number of names of the longest parent-or-self of `path` that the pattern matches; -1 when none does. The root
 * itself has depth 0. With glob false the pattern is a literal path.
 */
int path_pattern_match_depth(const char *pattern, bool glob, const char *path);

/*
 * Does the pattern match the same names strictly below the directory `a` as strictly below `b`? Then a directory can be
 * moved from one path to the other without a change in how the rule applies to its contents.
 */
bool pattern_same_below(const char *pattern, bool glob, const char *a, const char *b);

/* Is `path` equal to `parent` or below it? Literal, normalised. */
bool path_is_beneath(const char *path, const char *parent);

#endif
