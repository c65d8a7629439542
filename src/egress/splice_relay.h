/*
 * One direction of a relayed connection: splice(2) moves bytes from one socket to another through a pipe, without
 * copying them to this process. Theory of operation: splice_relay.c.
 */
#ifndef RINGWALL_EGRESS_SPLICE_RELAY_H
#define RINGWALL_EGRESS_SPLICE_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* The pool of idle pipes. */
struct pipe_pool {
        int (*idle)[2];
        size_t count;
        size_t large; /* pipes of PIPE_BYTES, both idle and in use */
};

enum { RELAY_UNLIMITED = -1 };

struct splice_relay {
        int from, to;      /* sockets, owned by the connection */
        int pipe[2];       /* only while it holds bytes; otherwise -1 */
        size_t in_pipe;    /* bytes in the pipe */
        struct text ahead; /* to be sent before the next bytes of `from` */
        size_t ahead_sent;
        int64_t allowance; /* bytes of `from` that may still pass, or RELAY_UNLIMITED */
        uint64_t passed;   /* bytes that were written to `to` */
        bool ended;        /* `from` is at EOF */
        bool done;         /* EOF was forwarded to `to` */
};

enum relay_status {
        RELAY_WANT_READ = 1,   /* waits until `from` is readable */
        RELAY_WANT_WRITE,      /* waits until `to` is writable */
        RELAY_ALLOWANCE_SPENT, /* waits for a new allowance */
        RELAY_DONE,            /* EOF was forwarded */
        RELAY_BROKEN,          /* a socket failed, or no pipe could be made */
        RELAY_YIELD,           /* more can be moved, but other connections are due: call again later */
};

void splice_relay_init(struct splice_relay *f, int from, int to);

/* Moves as much as possible without blocking, up to a limit for each call. */
enum relay_status splice_relay_pump(struct splice_relay *f, struct pipe_pool *pipes);

/* Returns the pipe to the pool, or closes it if it holds bytes. Does not close the sockets. */
void splice_relay_done(struct splice_relay *f, struct pipe_pool *pipes);

#endif
