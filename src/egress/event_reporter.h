/* Reports events to the front. A repeated refusal is reported ever more rarely, with a count. */
#ifndef RINGWALL_EGRESS_EVENT_REPORTER_H
#define RINGWALL_EGRESS_EVENT_REPORTER_H

#include <stddef.h>

#include "wire/egress_protocol.h"

enum {
        REFUSALS_REMEMBERED_MAX = 256, /* refusals whose repetition is recognised */
        REFUSALS_REPORTED_MAX = 4096,  /* different refusals that are reported; further ones are only counted */
};

struct event_reporter {
        int front; /* a socket to it */
        size_t reported, next;
        uint32_t unreported; /* refusals beyond REFUSALS_REPORTED_MAX */
        struct denied_event {
                struct egress_event event;
                uint32_t total;
        } *remembered; /* a ring buffer; `next` is the oldest once it is full */
        size_t count;
};

/* Blocks until there is room in the front's socket. Exits the process when the front has closed it. */
void report_event(struct event_reporter *reporter, const struct egress_event *event);

/* Counts a refusal, and reports it if due; event->kind and event->count are ignored. */
void report_refusal(struct event_reporter *reporter, const struct egress_event *event);

/* Reports all refusals that were only counted so far, and frees the reporter's memory. */
void event_reporter_end(struct event_reporter *reporter);

#endif
