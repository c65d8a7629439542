/*
 * Patterns of file names, prepared for many matches: of Glob, of Grep's filters, of .gitignore. Their syntax is that of
 * policy/path_pattern.h, but here patterns and paths have no leading slash.
 */
#ifndef RINGWALL_TOOLS_GLOB_PATTERN_H
#define RINGWALL_TOOLS_GLOB_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

enum glob_kind {
        GLOB_LITERAL,         /* a literal name */
        WILDCARD_SUFFIX,       /* *.c */
        WILDCARD_NAME_PATTERN, /* any other pattern of names */
        WILDCARD_PATH_PATTERN,
};

struct glob_pattern {
        enum glob_kind kind;
        const char *text;     /* borrowed; of a suffix, what follows the star */
        size_t length;        /* of `text` */
        size_t start, end;    /* of a path pattern: how many bytes at its start and its end are literal */
};

/*
 * Prepares a pattern, which path_pattern_check() must have accepted. With `is_path` it is matched against whole paths,
 * otherwise against names in any directory.
 */
struct glob_pattern glob_pattern_compile(const char *pattern, bool is_path);

/* `name` is the last part of `path`. */
bool wildcard_matches(const struct glob_pattern *w, const char *path, const char *name);

/* Whether something below this directory can match. */
bool wildcard_may_match_below(const struct glob_pattern *w, const char *directory);

/* Matches a pattern that was not prepared. */
bool glob_matches(const char *pattern, const char *path);

/* A filter: one pattern, or several in braces, as in *.{c,h}. */
struct glob_filter {
        char *texts; /* the patterns, each NUL-terminated */
        struct glob_pattern *list;
        size_t count;
};

/*
 * Parses a filter. A pattern with a slash is matched against paths, others against names. Returns NULL, or what is
 * wrong with the filter. Call glob_filter_done() in both cases.
 */
const char *glob_filter_parse(struct glob_filter *w, const char *filter);
void glob_filter_done(struct glob_filter *w);

/* An empty filter matches everything. */
bool wildcards_match(const struct glob_filter *w, const char *path, const char *name);

#endif
