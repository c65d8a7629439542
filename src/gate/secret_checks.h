/*
 * For the table of secret patterns: checks whether a match is a secret or only looks like one, and finds the secret in
 * it.
 */
#ifndef RINGWALL_GATE_SECRET_CHECKS_H
#define RINGWALL_GATE_SECRET_CHECKS_H

#include "gate/secret_patterns.h"

/*
 * True if no character of a word comes before the span. The last letter of an escape does not count: \n and \u0026 in
 * string literals, %3D in URLs, colour codes of a terminal.
 */
bool secret_starts_word(const struct text_span *s);

/* Upper case, lower case and digits: rules out identifiers and words, which a short prefix alone would match. */
bool check_mixed_case(const struct text_span *s);
/* A letter, a digit and many different characters: rules out base64 of zero bytes, and rows of x. */
bool check_distinct_chars(const struct text_span *s);
/* Looks random: many different characters, and mixed case or many digits. */
bool check_random_looking(const struct text_span *s);
/* The value of a setting whose name says that it is a secret: not a reference, code or a placeholder. */
bool check_value(const struct text_span *s);

/* The value of a setting; if it is quoted, up to the closing quote. */
bool extract_value(struct text_span *s);
/* User and password in a URL. */
bool extract_url_password(struct text_span *s);
/* A JWT: the match begins inside its first part, so the span is extended to the left. */
bool extract_jwt(struct text_span *s);

#endif
