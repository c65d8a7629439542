/*
 * What secrets look like: the table of shapes. The scrubber (scrub.h) searches for them; ringwall-shapes compiles them.
 *
 * A shape is found in two steps. First, vectorscan matches the expressions of all shapes in one pass over the text.
 * Then, for each match, the C code here checks the characters around it, finds the end of the secret, and decides
 * whether it is a secret at all. That is slower, but matches are rare.
 *
 * An expression matches within one line. Its syntax is that of PCRE without back-references and lookaround. Those of
 * the table match only as much as is needed to recognise the secret; the alphabet determines where the secret ends.
 */
#ifndef RINGWALL_GATE_SHAPES_H
#define RINGWALL_GATE_SHAPES_H

#include <stdbool.h>
#include <stddef.h>

enum {
        SHAPES_EXTRA_MAX = 64,         /* shapes that a policy may add */
        SHAPE_NAME_MAX = 48,           /* bytes */
        SHAPE_EXPRESSION_MAX = 1024,   /* bytes */
        SHAPE_WIDTH_MAX = 2048,        /* bytes that an expression of the table can match */
        SHAPES_DATABASE_MAX = 8 << 20, /* bytes of the compiled database */
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
        ALPHABETS,
};

enum shape_end {
        SHAPE_LONGER, /* characters of its alphabet after the match belong to the secret */
        SHAPE_EXACT,  /* no character of its alphabet may follow the match */
        SHAPE_BLOCK,  /* the match opens a block of lines, whose end block.h finds */
};

/* A part of a text. */
struct span {
        const char *text;
        size_t length;   /* of the text */
        size_t from, to; /* of the part */
        enum alphabet alphabet;
};

struct shape {
        const char *name;
        const char *expression;
        enum alphabet alphabet;
        enum shape_end end;
        /* How many characters at the end of the match are secret; 0: all of them, and the match must start a word. */
        size_t last;
        /* Used instead of `last`: moves the span from the match to the secret; false if there is no secret. */
        bool (*part)(struct span *s);
        /* Looks at the whole secret; false if it only looks like one. */
        bool (*check)(const struct span *s);
};

extern const struct shape shapes[];
extern const size_t shape_count;

/* Is the character in the alphabet? Line ends never are. */
bool alphabet_has(enum alphabet alphabet, char c);

/* A cache: the last run of characters of each alphabet that was scanned, so that no run is scanned twice. */
struct run_cache {
        size_t from[ALPHABETS], to[ALPHABETS];
};

/*
 * Moves the span from the expression's match to the secret; false if there is no secret. Looks only at the span's text.
 * `shape` is NULL for a shape that a policy added: then the match is the secret.
 */
bool shape_find_secret(const struct shape *shape, struct span *s, struct run_cache *runs);

#endif
