/*
 * Regular expressions for Grep: PCRE2 with its JIT, on whole texts, with a time limit. Theory of operation:
 * regex_matcher.c.
 */
#ifndef RINGWALL_TOOLS_REGEX_MATCHER_H
#define RINGWALL_TOOLS_REGEX_MATCHER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* A compiled pattern; threads may share it. */
struct regex_matcher;

struct regex_options {
        bool caseless;
        bool multiline; /* a match may span several lines, and . matches a newline */
};

/* Returns NULL with the reason in `why` on failure. */
struct regex_matcher *regex_matcher_new(const char *pattern, struct regex_options options, char *why, size_t why_size);
void regex_matcher_free(struct regex_matcher *r);

/* The search state of one thread. */
struct matcher_state;
struct matcher_state *matcher_state_new(const struct regex_matcher *r, const atomic_bool *stop);
void matcher_state_free(struct matcher_state *h);

/* Starts a search of a text, which consists of whole lines, at the line that begins at `from`. */
void match_begin(struct matcher_state *h, const char *text, size_t length, size_t from);

/*
 * Finds the lines of the next match. Returns 1 with their start and end, newline included; 0 when there is none; -ETIME
 * when it takes too long; -ECANCELED when *stop became true.
 */
int match_next(struct matcher_state *h, size_t *ret_start, size_t *ret_end);

/* The start and the end of the line at offset `at`. The end is after its newline, or the end of the text. */
size_t line_start_at(const char *text, size_t at);
size_t line_end_at(const char *text, size_t length, size_t at);

#endif
