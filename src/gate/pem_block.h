/*
 * Blocks of lines that hold a key, such as PEM. The opening marker is a pattern (secret_patterns.h); this code finds
 * where the block ends. It takes the text byte by byte, keeps a few counters and never looks back, so a block of any
 * length needs only constant memory.
 *
 * A marker alone is not a key: programs that parse keys have markers in their source. So the marker must be followed
 * soon by a long run of base64, or by a closing marker with only plain text in between. A truncated key must not hide
 * the text that follows it: the block ends when no key-like run has come for a while.
 */
#ifndef RINGWALL_GATE_PEM_BLOCK_H
#define RINGWALL_GATE_PEM_BLOCK_H

#include <stdbool.h>
#include <stddef.h>

enum {
        BLOCK_DECISION_MAX = 640, /* bytes after the opening marker within which a key must appear */
};

enum pem_state {
        PEM_UNDECIDED,   /* nothing like a key yet */
        PEM_IN_KEY,    /* a key has begun */
        PEM_ENDED_HERE, /* the key has ended, and the last byte taken belongs to it */
        PEM_ENDED_BEFORE,   /* the key has ended, and the last byte taken does not belong to it */
        PEM_NO_KEY,   /* the marker was not followed by a key */
};

struct pem_block {
        enum pem_state state;
        size_t taken;                   /* bytes since the marker */
        size_t quiet;                   /* bytes since the last key-like run */
        size_t run;                     /* length of the current run of base64 */
        bool upper, lower, digit;       /* kinds of characters in the current run */
        bool word;                      /* some run outside a closing marker had RUN_WORD bytes or more */
        bool code;                      /* there were quotes, brackets or the like, which no key contains */
        unsigned dashes;                /* length of the current row of dashes */
        unsigned closing;               /* bytes matched of the closing marker, its dashes excluded */
};

/* Call it at the end of the opening marker. */
void pem_block_init(struct pem_block *b);
/* Takes the next byte. */
enum pem_state pem_block_feed(struct pem_block *b, char c);
/* Call it at the end of the text. Returns PEM_ENDED_HERE or PEM_NO_KEY. */
enum pem_state pem_block_finish(struct pem_block *b);

#endif
