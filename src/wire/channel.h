/*
 * Frames over a stream socket: a 32-bit length and that many bytes. Never blocks, because two ends that both block in
 * send() would deadlock; the caller polls.
 */
#ifndef RINGWALL_WIRE_CHANNEL_H
#define RINGWALL_WIRE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

enum { CHANNEL_MAX = 64 << 20 }; /* bytes of a frame */

struct channel {
        int fd;               /* a stream socket, owned by the channel */
        struct text received; /* from the peer */
        size_t taken;         /* bytes of `received` that channel_next_frame() has returned */
        struct text queued;   /* for the peer */
        size_t sent;          /* bytes of `queued` that were sent */
        bool peer_closed;     /* the peer has closed its end */
};

/* Takes ownership of the descriptor and makes it non-blocking. Returns 0 or -errno. */
int channel_open(struct channel *ret, int fd);
void channel_close(struct channel *c);

/* The events to poll for: POLLIN, and POLLOUT while bytes are queued. */
short channel_poll_events(const struct channel *c);

/* Queues a frame. Fails with -EMSGSIZE or -ENOMEM. */
int channel_queue_frame(struct channel *c, const void *data, size_t length);

/*
 * Sends and receives as much as possible without blocking. Call channel_next_frame() afterwards until it returns 0,
 * because poll does not report frames that are buffered here. Returns 0 or -errno; a closed peer is not an error, it
 * sets `peer_closed`.
 */
int channel_pump(struct channel *c);

/* As channel_pump(), but only sends. */
int channel_flush(struct channel *c);

/* Returns 1 with the next frame, valid until the next call; 0 if none is complete; -EPROTO if it is too long. */
int channel_next_frame(struct channel *c, const char **ret, size_t *ret_length);

#endif
