/*
 * One direction of a connection that is passed on: bytes go from one socket to another through a pipe, without coming to this
 * process. Theory of operation: flow.c.
 */
#ifndef RINGWALL_EGRESS_FLOW_H
#define RINGWALL_EGRESS_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* Pipes that nobody uses at the moment. */
struct pipes {
        int (*idle)[2];
        size_t count;
        size_t large; /* of all that there are */
};

void pipes_done(struct pipes *p);

enum { FLOW_ALL = -1 };

struct flow {
        int from, to;      /* the connection's */
        int pipe[2];       /* while bytes are in it; otherwise -1 */
        size_t held;       /* bytes that are */
        struct text ahead; /* to be sent before anything else */
        size_t ahead_sent;
        int64_t allowance; /* bytes that may still pass; FLOW_ALL: any number */
        uint64_t passed;
        bool ended;        /* no more comes; the other side knows it once nothing is held */
        bool done;
};

enum flow_result {
        FLOW_READ = 1, /* waits for bytes */
        FLOW_WRITE,  /* waits until some can be written */
        FLOW_SPENT,  /* waits for an allowance */
        FLOW_DONE,   /* the end was passed on */
        FLOW_BROKEN, /* one of the two is gone */
        FLOW_AGAIN,  /* there is more, and others have waited long enough */
};

void flow_begin(struct flow *f, int from, int to);

/* Moves what can be moved now. */
enum flow_result flow_move(struct flow *f, struct pipes *pipes);

/* Gives its pipe back, or away with what is in it. */
void flow_end(struct flow *f, struct pipes *pipes);

#endif
