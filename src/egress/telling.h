/* What the front is told. The same refusal again and again is told ever more rarely, with how often it came. */
#ifndef RINGWALL_EGRESS_TELLING_H
#define RINGWALL_EGRESS_TELLING_H

#include <stddef.h>

#include "linux/egress_wire.h"

enum {
        TELLING_REMEMBERED = 256, /* refusals that are known again */
        TELLING_MOST = 4096,      /* different ones that are told; what comes then is only counted */
};

struct telling {
        int front;
        size_t told, next;
        uint32_t more; /* refusals beyond */
        struct refusal {
                struct egress_event event;
                uint32_t total;
        } *remembered; /* a ring */
        size_t count;
};

/* Waits until the front takes it. The process ends when there is nobody left to tell. */
void tell(struct telling *t, const struct egress_event *event);

/* A refusal; event->count is left out. */
void tell_refusal(struct telling *t, const struct egress_event *event);

/* What was counted and not told yet. */
void telling_end(struct telling *t);

#endif
