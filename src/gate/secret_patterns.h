/*
 * What secrets look like: the table of secret patterns. The scrubber (scrub.h) searches for them;
 * ringwall-secret-patterns compiles them.
 *
 * A pattern is found in two steps. First, vectorscan matches the expressions of all patterns in one pass over the text.
 * Then, for each match, the C code here checks the characters around it, finds the end of the secret, and decides
 * whether it is a secret at all. That is slower, but matches are rare.
 *
 * An expression matches within one line. Its syntax is that of PCRE without back-references and lookaround. Those of
 * the table match only as much as is needed to recognise the secret; the alphabet determines where the secret ends.
 */
#ifndef RINGWALL_GATE_SECRET_PATTERNS_H
#define RINGWALL_GATE_SECRET_PATTERNS_H

#include <stdbool.h>
#include <stddef.h>

enum {
        EXTRA_PATTERNS_MAX = 64,         /* patterns that a policy may add */
        PATTERN_NAME_MAX = 48,           /* bytes */
        PATTERN_EXPRESSION_MAX = 1024,   /* bytes */
        PATTERN_WIDTH_MAX = 2048,        /* bytes that an expression of the table can match */
        PATTERNS_DATABASE_MAX = 8 << 20, /* bytes of the compiled database */
};

/* The characters of a secret: letters, digits, and these. */
enum alphabet {
        ALPHABET_NONE,   /* the secret ends with the match */
        ALPHABET_WORD,   /* _ */
        ALPHABET_DASHED, /* _ - */
        ALPHABET_DOTTED, /* _ - . */
        ALPHABET_BASE64, /* + / = */
        ALPHABET_ANY64,  /* + / = _ - . ~ %: both variants of base64, also percent-encoded */
        ALPHABET_VALUE,  /* not letters and digits, but everything except blanks, quotes, < and > */
        ALPHABET_SINGLE, /* everything except ' */
        ALPHABET_DOUBLE, /* everything except " */
        ALPHABET_ESCAPED, /* inside \"…\", a string within a string: everything except \ and " */
        ALPHABET_COUNT,
};

enum secret_end {
        SECRET_END_GREEDY, /* characters of its alphabet after the match belong to the secret */
        SECRET_END_EXACT,  /* no character of its alphabet may follow the match */
        SECRET_END_PEM_BLOCK,  /* the match opens a block of lines, whose end pem_block.h finds */
};

/* A part of a text. */
struct text_span {
        const char *text;
        size_t length;   /* of the text */
        size_t from, to; /* of the part */
        enum alphabet alphabet;
};

struct secret_pattern {
        const char *name;
        const char *expression;
        enum alphabet alphabet;
        enum secret_end end;
        /* How many characters at the end of the match are secret; 0: all of them, and the match must start a word. */
        size_t last;
        /* Used instead of `last`: moves the span from the match to the secret; false if there is no secret. */
        bool (*part)(struct text_span *s);
        /* Looks at the whole secret; false if it only looks like one. */
        bool (*check)(const struct text_span *s);
};

extern const struct secret_pattern secret_patterns[];
extern const size_t secret_pattern_count;

/* Is the character in the alphabet? Line ends never are. */
bool alphabet_contains(enum alphabet alphabet, char c);

/* A cache: the last run of characters of each alphabet that was scanned, so that no run is scanned twice. */
struct run_cache {
        size_t from[ALPHABET_COUNT], to[ALPHABET_COUNT];
};

/*
 * Moves the span from the expression's match to the secret; false if there is no secret. Looks only at the span's text.
 * `pattern` is NULL for a pattern that a policy added: then the match is the secret.
 */
bool secret_pattern_find(const struct secret_pattern *pattern, struct text_span *s, struct run_cache *runs);

#endif
