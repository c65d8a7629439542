/*
 * Patterns of names, prepared for being asked often: Glob's, Grep's filters, the lines of a .gitignore. They mean what
 * policy/pattern.h says; both the pattern and the path here are without a slash in front.
 */
#ifndef RINGWALL_TOOLS_WILDCARD_H
#define RINGWALL_TOOLS_WILDCARD_H

#include <stdbool.h>
#include <stddef.h>

enum wildcard_kind {
        WILDCARD_NAME,    /* a plain name */
        WILDCARD_ENDING,  /* *.c */
        WILDCARD_NAMES,   /* any other pattern of names */
        WILDCARD_PATHS,   /* a pattern of paths */
};

struct wildcard {
        enum wildcard_kind kind;
        const char *text;     /* borrowed; of an ending what stands behind the star */
        size_t length;        /* of it */
        size_t start, end;    /* of a pattern of paths: how much in front and at the end is plain */
};

/* Takes a pattern that pattern_check() found well-formed. Without `paths` it is matched with names, wherever they are. */
struct wildcard wildcard_prepare(const char *pattern, bool paths);

/* `name` is the last part of `path`. */
bool wildcard_fits(const struct wildcard *w, const char *path, const char *name);

/* Can something below this directory fit? */
bool wildcard_may_fit_below(const struct wildcard *w, const char *directory);

/* A pattern that is asked once. */
bool glob_matches(const char *pattern, const char *path);

/* A filter: one pattern, or several by braces, as in *.{c,h}. */
struct wildcards {
        char *texts; /* one behind the other */
        struct wildcard *list;
        size_t count;
};

/*
 * Reads a filter; each of its patterns that has a slash in it is one of paths. Returns NULL, or what is wrong with it. Call
 * wildcards_done() in both cases.
 */
const char *wildcards_read(struct wildcards *w, const char *filter);
void wildcards_done(struct wildcards *w);

/* None at all fit everything. */
bool wildcards_fit(const struct wildcards *w, const char *path, const char *name);

#endif
