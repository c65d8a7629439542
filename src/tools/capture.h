/*
 * What a command writes: its head and its tail are kept, what is between them is counted. Before it is kept it goes through
 * a filter, piece by piece as it comes, so that a secret which is cut by a piece, or by the edge of what is kept, is one all
 * the same.
 */
#ifndef RINGWALL_TOOLS_CAPTURE_H
#define RINGWALL_TOOLS_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* Given by who runs the tools. */
struct capture_filter {
        void *(*begin)(void *context); /* NULL without memory */
        /* Adds what can be given out to `out`; at the end, with bytes NULL, the rest. False: nothing more can be shown. */
        bool (*feed)(void *stream, const char *bytes, size_t length, struct text *out);
        void (*end)(void *stream);
        void *context;
};

struct capture {
        int fd;           /* to read from; -1: it has ended */
        size_t half;      /* how much is kept of the head, and as much of the tail */
        struct text head;
        char *tail;       /* a ring */
        size_t tail_start, tail_length;
        uint64_t written; /* bytes that came */
        uint64_t bytes;   /* that are left of them behind the filter, kept or not */
        uint64_t told;    /* of these, to who asks again and again */
        const struct capture_filter *filter; /* NULL: none */
        void *stream;     /* the filter's */
};

/* Takes the descriptor over, and makes it non-blocking. Returns 0 or -errno; capture_done() either way. */
int capture_open(struct capture *c, int fd, size_t half, const struct capture_filter *filter);
void capture_done(struct capture *c);

/* What is there now, in bounds, so that a writer without end does not keep anybody from others. */
void capture_read(struct capture *c);

/* Nothing more will come: what the filter held back is let out. */
void capture_finish(struct capture *c);

/* From a byte on: all of it, or what is left of its head and its tail and how much is missing between them. */
void capture_print(const struct capture *c, uint64_t from, struct text *out);

#endif
