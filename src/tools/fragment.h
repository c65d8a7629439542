/* A part of a regular expression that each of its matches has in it. Theory of operation: fragment.c. */
#ifndef RINGWALL_TOOLS_FRAGMENT_H
#define RINGWALL_TOOLS_FRAGMENT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Finds the part of a well-formed pattern that is the best to look for first: it begins with plain characters, and is a
 * pattern itself, for the same options. False when there is none, or the pattern begins with it anyway.
 */
bool fragment_find(const char *pattern, bool caseless, size_t *ret_start, size_t *ret_length);

/* Is the time that it takes in proportion to the text, whatever that is? True only for the simplest. */
bool fragment_is_simple(const char *pattern);

#endif
