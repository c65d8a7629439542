/*
 * For the table of secret patterns: checks whether a match is a secret or only looks like one, and finds the secret in
 * it.
 */
#ifndef RINGWALL_GATE_SECRET_CHECKS_H
#define RINGWALL_GATE_SECRET_CHECKS_H

#include "gate/secret_patterns.h"

enum {
        /* Bytes of a secret that are examined. A cap, because a secret may begin at every sixth byte of a text. */
        EXAMINED_MAX = 256,
};

/* Ignores case; the word is in lower case. */
bool secret_contains(const char *text, size_t length, const char *word);
/* Has a word that people write in place of a secret. */
bool secret_is_placeholder(const char *text, size_t length);
/* A variable, a template, a path, a URL: where the secret is. Without quotes (`quote` is 0) also a call or an index. */
bool secret_is_reference(const char *text, size_t length, char quote);
/* OTHER_NAME, object.name or 0x10400, and the punctuation that follows in code. */
bool secret_is_identifier(const char *text, size_t length);
/* Is it a word such as "password"? */
bool secret_is_sample(const char *text, size_t length);

/*
 * True if no character of a word comes before the span. The last letter of an escape does not count: \n and \u0026 in
 * string literals, %3D in URLs, colour codes of a terminal.
 */
bool secret_starts_word(const struct text_span *s);

/* Upper case, lower case and digits: rules out identifiers and words, which a short prefix alone would match. */
bool check_mixed_case(const struct text_span *s);
/* Upper and lower case. */
bool check_both_cases(const struct text_span *s);
/* Many different characters, and no word that people write in place of a secret. */
bool check_no_placeholder(const struct text_span *s);
/* A letter, a digit and many different characters: rules out base64 of zero bytes, and rows of x. */
bool check_distinct_chars(const struct text_span *s);
/* Looks random: many different characters, and mixed case or many digits. */
bool check_random_looking(const struct text_span *s);
/* A token in a header or a file of a tool: user:password in base64, or letters and digits that are no placeholder. */
bool check_credential(const struct text_span *s);

/* User and password in a URL. */
bool extract_url_password(struct text_span *s);
/* A Discord token: the match begins at its first dot, and the part before is the base64 of a number. */
bool extract_discord(struct text_span *s);
/* A JWT: the match begins inside its first part, so the span is extended to the left. */
bool extract_jwt(struct text_span *s);

#endif
