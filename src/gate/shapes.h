/*
 * What secrets look like: one table, by which the scrubber (scrub.h) finds them and ringwall-shapes compiles them.
 *
 * A shape is found in two steps. Its expression is one of several hundred in a database of vectorscan, which goes
 * over all text at once, and says where something like it is. What stands around that place, how far the secret goes
 * on, and whether it is one at all, is then seen to here, which is slow and rare.
 *
 * An expression matches within one line, and has the syntax of PCRE without what needs memory: no references back, no
 * looking around. Those of the table match at least as much as makes a secret certain; what follows is the
 * alphabet's.
 */
#ifndef RINGWALL_GATE_SHAPES_H
#define RINGWALL_GATE_SHAPES_H

#include <stdbool.h>
#include <stddef.h>

enum {
        SHAPES_EXTRA_MOST = 64,         /* that a policy adds */
        SHAPE_NAME_MOST = 48,           /* bytes */
        SHAPE_EXPRESSION_MOST = 1024,   /* bytes */
        SHAPE_WIDTH_MOST = 2048,        /* that an expression of the table can match */
        SHAPES_DATABASE_MOST = 8 << 20, /* bytes, compiled */
};

/* Characters that a secret is made of: letters, digits, and these. */
enum alphabet {
        ALPHABET_NONE,   /* it ends where it was said to end */
        ALPHABET_WORD,   /* _ */
        ALPHABET_DASHED, /* _ - */
        ALPHABET_DOTTED, /* _ - . */
        ALPHABET_BASE64, /* + / = */
        ALPHABET_ANY64,  /* + / = _ - . ~ %: either of base64's alphabets, with what a URL makes of it */
        ALPHABET_VALUE,  /* all but white space, quotes, < and > */
        ALPHABET_SINGLE, /* all but the quote that closes it */
        ALPHABET_DOUBLE,
        ALPHABET_ESCAPED, /* within a string of a string: \"…\" */
        ALPHABETS,
};

enum shape_end {
        SHAPE_LONGER, /* what follows of its alphabet belongs to it */
        SHAPE_EXACT,  /* nothing of its alphabet may follow */
        SHAPE_BLOCK,  /* it opens a block of lines, whose end block.h finds */
};

/* A place in a text. */
struct span {
        const char *text;
        size_t length;   /* of the text */
        size_t from, to; /* in it */
        enum alphabet alphabet;
};

struct shape {
        const char *name;
        const char *expression;
        enum alphabet alphabet;
        enum shape_end end;
        /* Which part of the match is secret: its last characters; 0: all of it, and it must start a word. */
        size_t last;
        /* Or, instead: moves the span from the match to the secret; false: there is none. */
        bool (*part)(struct span *s);
        /* Sees the whole secret; false: it only looks like one. */
        bool (*check)(const struct span *s);
};

extern const struct shape shapes[];
extern const size_t shape_count;

/* Can a character be one of it? Never the end of a line. */
bool alphabet_has(enum alphabet alphabet, char c);

/* How far characters of an alphabet went on in a text when that was last asked, so that nobody goes there twice. */
struct grown {
        size_t from[ALPHABETS], to[ALPHABETS];
};

/*
 * From where an expression matched to what is secret there; false: nothing. What it looks at lies in the span's text.
 * `shape` NULL: a shape that a policy added, which is taken as it is.
 */
bool shape_settle(const struct shape *shape, struct span *s, struct grown *grown);

#endif
