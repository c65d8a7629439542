/* Finds a part of a regular expression that every match contains. Theory of operation: fragment.c. */
#ifndef RINGWALL_TOOLS_FRAGMENT_H
#define RINGWALL_TOOLS_FRAGMENT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Finds the fragment of a valid pattern that is best to search for first. It begins with literal characters and is a
 * pattern itself, for the same options. Returns false when there is none, or when the whole pattern begins with it.
 */
bool fragment_find(const char *pattern, bool caseless, size_t *ret_start, size_t *ret_length);

/* Whether matching takes time linear in the text, for every text. True only for the simplest patterns. */
bool fragment_is_simple(const char *pattern);

#endif
