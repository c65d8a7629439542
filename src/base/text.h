/* Text: a growing buffer, UTF-8, and the nearest known word for a misspelt one. */
#ifndef RINGWALL_BASE_TEXT_H
#define RINGWALL_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"

/*
 * A buffer that grows. A failed allocation sets `failed` and leaves the text as it was, so that a caller can add many
 * pieces and check once at the end.
 */
struct text {
        char *data; /* terminated; NULL until something was added; freed by text_done() */
        size_t length, size;
        bool failed;
};

void text_add(struct text *t, const char *piece);
void text_add_bytes(struct text *t, const char *bytes, size_t length);
void text_format(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_done(struct text *t);
#define CLEANUP_TEXT CLEANUP(text_done)

/* Hands the string over to the caller, NULL only if out of memory; the buffer is empty afterwards. */
char *text_take(struct text *t);

/*
 * Adds untrusted text for a terminal: control characters, characters that reorder the text and invalid UTF-8 are shown
 * as \xNN, so that a file name or a policy line cannot move the cursor or forge a line of our output.
 */
void text_add_escaped(struct text *t, const char *bytes, size_t length);

/* Offset of the first malformed UTF-8 byte (surrogates and overlong forms are malformed), or length if none is. */
size_t text_utf8_valid_length(const char *bytes, size_t length);

/* Removes malformed UTF-8 in place: for texts that were truncated at a byte count. */
void text_remove_invalid_utf8(char *text);

/* Bytes of the UTF-8 sequence that starts here; 1 for anything malformed. */
size_t text_utf8_sequence_length(const char *bytes, size_t length);

/* The candidate nearest to word by edit distance, or NULL when none is near enough. */
const char *text_suggest(const char *word, const char *const *candidates, size_t count);

bool text_has_prefix(const char *text, const char *prefix);
bool text_ends(const char *text, const char *suffix);

/* Parses ASCII digits only, no sign, no space; false on overflow or anything else. */
bool text_parse_unsigned(const char *text, size_t length, unsigned long long *ret);

#endif
