/*
 * Captures the output of a command: keeps its head and its tail, and counts the bytes between them. Output goes through
 * a stream filter before it is stored, so a secret is found even where a read or the truncation cuts it.
 */
#ifndef RINGWALL_TOOLS_CAPTURE_H
#define RINGWALL_TOOLS_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* Provided by the worker. */
struct capture_filter {
        void *(*begin)(void *context); /* returns a stream; NULL without memory */
        /* Adds filtered output to `out`; with `bytes` NULL, at the end, the rest. False: nothing more may be shown. */
        bool (*feed)(void *stream, const char *bytes, size_t length, struct text *out);
        void (*end)(void *stream);
        void *context;
};

struct capture {
        int fd;           /* to read from; -1: closed */
        size_t half;      /* bytes kept of the head, and as many of the tail */
        struct text head;
        char *tail;       /* a ring buffer */
        size_t tail_start, tail_length;
        uint64_t written; /* bytes that the command wrote */
        uint64_t bytes;   /* bytes after the filter, kept or not */
        uint64_t shown;   /* how many of these BashOutput has shown */
        const struct capture_filter *filter; /* NULL: none */
        void *stream;     /* of the filter */
};

/* Takes ownership of the descriptor and makes it non-blocking. Returns 0 or -errno; call capture_done() either way. */
int capture_open(struct capture *c, int fd, size_t half, const struct capture_filter *filter);
void capture_done(struct capture *c);

/* Reads what is available, but only so much at a time that a fast writer cannot starve other jobs. */
void capture_read(struct capture *c);

/* Stops reading, and stores what the filter has held back. */
void capture_finish(struct capture *c);

/* Prints the output from offset `from` on: what is left of the head and the tail, and how many bytes are missing. */
void capture_print(const struct capture *c, uint64_t from, struct text *out);

#endif
