/*
 * Frames over a stream: each is its length and that many bytes. Never waits, so that two ends which both have much to say
 * do not wait for each other; the caller polls.
 */
#ifndef RINGWALL_WIRE_CHANNEL_H
#define RINGWALL_WIRE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

enum { CHANNEL_MOST = 64 << 20 }; /* bytes of a frame */

struct channel {
        int fd;            /* a stream socket; the channel's own */
        struct text in;    /* what came and was not taken yet */
        size_t taken;      /* of it */
        struct text out;   /* what has to go */
        size_t sent;       /* of it */
        bool ended;        /* the other end has closed */
};

/* Takes the descriptor over and makes it non-blocking. Returns 0 or -errno. */
int channel_open(struct channel *ret, int fd);
void channel_close(struct channel *c);

/* What poll should wait for: POLLIN, and POLLOUT while something has to go. */
short channel_events(const struct channel *c);

/* Puts a frame into the queue. Fails with -EMSGSIZE or -ENOMEM. */
int channel_put(struct channel *c, const void *data, size_t length);

/*
 * Moves what can be moved, both ways; then take what has come, for poll does not know of it any more. Returns 0 or -errno;
 * the end of the other side is no failure: `ended`.
 */
int channel_move(struct channel *c);

/* Only sends. */
int channel_flush(struct channel *c);

/* The next frame that has come: 1 with it (valid until the next call), 0 when none is complete, -EPROTO for nonsense. */
int channel_take(struct channel *c, const char **ret, size_t *ret_length);

#endif
