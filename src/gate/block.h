/*
 * Blocks of lines that hold a key, such as PEM: what opens one is a shape (shapes.h), and this finds where it ends.
 * It takes one byte after the other, remembers a few numbers, and never looks back, so a block of any length takes no
 * memory.
 *
 * A marker alone is no key: programs that read keys have it in their source. So there must be something like a key
 * soon after it, which is a long run of base64, or a closing marker with nothing but plain text in between. And a key
 * that was cut off must not swallow what follows: when nothing like a key has come for a while, the block is over.
 */
#ifndef RINGWALL_GATE_BLOCK_H
#define RINGWALL_GATE_BLOCK_H

#include <stdbool.h>
#include <stddef.h>

enum {
        BLOCK_DECIDES = 640, /* bytes behind the opening marker after which it is known whether there is a key */
};

enum block_state {
        BLOCK_OPEN,   /* nothing like a key yet */
        BLOCK_KEY,    /* in one */
        BLOCK_CLOSED, /* the key has ended, with the last byte taken */
        BLOCK_OVER,   /* the key has ended, before the last byte taken */
        BLOCK_NONE,   /* there was none */
};

struct block {
        enum block_state state;
        size_t taken;                   /* bytes since the marker */
        size_t quiet;                   /* bytes since something like a key */
        size_t run;                     /* bytes of base64 up to here */
        bool upper, lower, digit;       /* that the run has */
        bool word;                      /* some run was as long as a word */
        bool code;                      /* quotes, brackets and the like: not the text of a key */
        unsigned dashes;                /* up to here */
        unsigned closing;               /* how much of the closing marker was there */
};

/* A block whose opening marker ended just before. */
void block_start(struct block *b);
enum block_state block_take(struct block *b, char c);
/* The text has ended. */
enum block_state block_finish(struct block *b);

#endif
