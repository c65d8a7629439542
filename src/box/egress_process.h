/*
 * Egress as the front sees it: starts the helper process that carries a box's connections, and receives its events.
 */
#ifndef RINGWALL_BOX_EGRESS_PROCESS_H
#define RINGWALL_BOX_EGRESS_PROCESS_H

#include "box/loopback_proxies.h"
#include "box/report.h"
#include "box/audit_trail.h"

struct egress_process {
        pid_t pid;
        int events; /* a socket; when readable, call egress_receive(); -1: there is no egress, or it has exited */
        struct report *report;
        struct audit_trail *trail; /* NULL: no audit trail is kept */
        uint32_t generation; /* of the hosts that are in force */
        uint32_t closed;     /* the number of connections that the last change closed */
        struct loopback_proxies proxies; /* for a box without a network namespace */
};
#define EGRESS_PROCESS_NONE ((struct egress_process){ .events = -1, .proxies = LOOPBACK_PROXIES_NONE })

/*
 * Starts egress for the report's plan. *ret_socket is for the keeper, which sends the box's listeners over it; the
 * caller closes it once the keeper has a copy. Returns 0 or -errno with an error.
 */
int egress_process_start(struct report *r, struct audit_trail *trail, struct egress_process *ret, int *ret_socket,
                         struct error *e);

/* Receives all pending events into the report and the trail, without blocking. */
void egress_receive(struct egress_process *g);

/* Call it when the box has ended: receives events until egress exits, and kills egress after a timeout. */
void egress_process_stop(struct egress_process *g);

/*
 * Replaces the hosts by those of `plan`, which must live as long as the report; with network.live: all, connections to
 * hosts that are no longer allowed are closed. Returns 0 when the change is in force, or -errno with an error: -ENOTSUP
 * when the box has no network; after any other failure the box has lost its network.
 */
int egress_set_hosts(struct egress_process *g, const struct plan *plan, struct error *e);

#endif
