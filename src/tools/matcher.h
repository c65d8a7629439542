/*
 * Regular expressions for Grep: PCRE2 with its JIT, over whole texts, with bounds of time. Theory of operation: matcher.c.
 */
#ifndef RINGWALL_TOOLS_MATCHER_H
#define RINGWALL_TOOLS_MATCHER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* A pattern; many threads may use it. */
struct matcher;

struct matcher_options {
        bool caseless;
        bool multiline; /* a match may go over several lines, and . matches a newline */
};

/* NULL with a sentence that says why. */
struct matcher *matcher_new(const char *pattern, struct matcher_options options, char *why, size_t why_size);
void matcher_free(struct matcher *r);

/* What one thread needs to search with it. */
struct matcher_hand;
struct matcher_hand *matcher_hand_new(const struct matcher *r, const atomic_bool *stop);
void matcher_hand_free(struct matcher_hand *h);

/* Sets out to search a text, which begins and ends with whole lines, from the line on that begins at `from`. */
void matcher_begin(struct matcher_hand *h, const char *text, size_t length, size_t from);

/*
 * The lines of the next match: 1 with where they begin and end, newline included; 0 when there is none; -ETIME when it
 * takes too long, -ECANCELED when *stop became true.
 */
int matcher_next(struct matcher_hand *h, size_t *ret_start, size_t *ret_end);

/* Where the line around a place begins, and where it ends: behind its newline, or with the text. */
size_t matcher_line_start(const char *text, size_t at);
size_t matcher_line_end(const char *text, size_t length, size_t at);

#endif
