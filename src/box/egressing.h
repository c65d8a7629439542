/*
 * Egress from the front's side: the helper through which a box's connections go, and what it tells.
 */
#ifndef RINGWALL_BOX_EGRESSING_H
#define RINGWALL_BOX_EGRESSING_H

#include "box/proxies.h"
#include "box/report.h"
#include "box/trail.h"

struct egressing {
        pid_t pid;
        int events; /* readable when it has something to say: then egress_hear(); -1: there is none, or it has ended */
        struct report *report;
        struct trail *trail; /* NULL: nobody keeps one */
        uint32_t generation; /* of the hosts that hold */
        uint32_t closed;     /* connections, by the last change */
        struct proxies proxies; /* of a box without a network namespace */
};
#define EGRESS_NONE ((struct egressing){ .events = -1, .proxies = PROXIES_NONE })

/*
 * Starts it for the report's plan. *ret_socket is for the keeper, which hands the entrances over; the caller closes it once the
 * keeper has it. Returns 0 or -errno with an error.
 */
int egress_start(struct report *r, struct trail *trail, struct egressing *ret, int *ret_socket, struct error *e);

/* Takes what it said, into the report and the trail, without waiting. */
void egress_hear(struct egressing *g);

/* After the box has ended, and egress with it: the rest of what it said. Ends it if it does not. */
void egress_end(struct egressing *g);

/*
 * From now on its hosts are those of `plan`, which must live as long as the report; with network.live: all, connections to others end.
 * Returns when that holds, or -errno with an error: -ENOTSUP when there never was a network, otherwise there is none any more.
 */
int egress_change(struct egressing *g, const struct plan *plan, struct error *e);

/*
 * A refusal for a person: what was tried, why it was refused, the rule that did it, which may be NULL, and its source, and the
 * flag that would allow it.
 */
void egress_explain(const struct egress_event *event, const struct host_rule *rule, struct text *out);

/* An event's fields for records and reports; NULL without memory. */
json_t *egress_event_to_json(const struct egress_event *event, const struct host_rule *rule);

#endif
