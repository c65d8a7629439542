/* Finds a part of a regular expression that every match contains. Theory of operation: regex_prefilter.c. */
#ifndef RINGWALL_TOOLS_REGEX_PREFILTER_H
#define RINGWALL_TOOLS_REGEX_PREFILTER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Finds the fragment of a valid pattern that is best to search for first. It begins with literal characters and is a
 * pattern itself, for the same options. Returns false when there is none, or when the whole pattern begins with it.
 */
bool regex_prefilter_find(const char *pattern, bool caseless, size_t *ret_start, size_t *ret_length);

/* Whether matching takes time linear in the text, for every text. True only for the simplest patterns. */
bool regex_is_linear(const char *pattern);

#endif
