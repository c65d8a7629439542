/*
 * Captures the output of a command: keeps its head and its tail, and counts the bytes between them. Output goes through
 * a stream filter before it is stored, so a secret is found even where a read or the truncation cuts it.
 */
#ifndef RINGWALL_TOOLS_OUTPUT_CAPTURE_H
#define RINGWALL_TOOLS_OUTPUT_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* Provided by the worker. */
struct output_scrub_ops {
        void *(*begin)(void *context); /* returns a stream; NULL without memory */
        /* Adds filtered output to `out`; with `bytes` NULL, at the end, the rest. False: nothing more may be shown. */
        bool (*feed)(void *stream, const char *bytes, size_t length, struct text *out);
        void (*end)(void *stream);
        void *context;
};

struct output_capture {
        int fd;           /* to read from; -1: closed */
        size_t half;      /* bytes kept of the head, and as many of the tail */
        struct text head;
        char *tail;       /* a ring buffer */
        size_t tail_start, tail_length;
        uint64_t written; /* bytes that the command wrote */
        uint64_t bytes;   /* bytes after the filter, kept or not */
        uint64_t shown;   /* how many of these BashOutput has shown */
        const struct output_scrub_ops *filter; /* NULL: none */
        void *stream;     /* of the filter */
};

/*
 * Takes ownership of the descriptor and makes it non-blocking. Returns 0 or -errno; call output_capture_done() either
 * way.
 */
int output_capture_init(struct output_capture *c, int fd, size_t half, const struct output_scrub_ops *filter);
void output_capture_done(struct output_capture *c);

/* Reads what is available, but only so much at a time that a fast writer cannot starve other jobs. */
void output_capture_read(struct output_capture *c);

/* Stops reading, and stores what the filter has held back. */
void output_capture_finish(struct output_capture *c);

/*
 * Prints at most `max` bytes of the output from offset `from` on: what is left of the head and the tail, and how many
 * bytes are missing. Returns the offset where to go on.
 */
uint64_t output_capture_print(const struct output_capture *c, uint64_t from, uint64_t max, struct text *out);

#endif
