/* Finds a part of a pattern that must match somewhere inside every match. Theory of operation: regex_prefilter.c. */
#ifndef RINGWALL_TOOLS_REGEX_PREFILTER_H
#define RINGWALL_TOOLS_REGEX_PREFILTER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Finds the fragment of a valid pattern that is best to search for first. It starts with literal characters and
 * compiles alone with the same options. False: there is none, or the pattern starts with it, so it would save nothing.
 */
bool regex_prefilter_find(const char *pattern, bool caseless, size_t *ret_start, size_t *ret_length);

/* True if the pattern certainly matches in linear time: it has only literal characters. False: unknown. */
bool regex_is_linear(const char *pattern);

#endif
