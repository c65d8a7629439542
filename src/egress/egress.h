/*
 * Egress, the process that carries a box's connections: the state that its parts share. Theory of operation: egress.c.
 */
#ifndef RINGWALL_EGRESS_EGRESS_H
#define RINGWALL_EGRESS_EGRESS_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>

#include "egress/event_reporter.h"
#include "egress/flow.h"
#include "egress/placeholders.h"
#include "egress/resolve.h"
#include "egress/upstream.h"
#include "policy/plan.h"

enum { EGRESS_ENTRANCES_MAX = 2 * (5 + 2 * POLICY_PORTS_MAX) };

struct connection;

struct egress {
        struct event_base *base;
        struct plan *plan;
        uint32_t generation; /* of the plan's hosts; the front's number */
        struct placeholders names;
        struct resolver *resolver;
        struct upstream upstream;
        struct pipes pipes;
        struct event_reporter reporter;
        int keeper;
        char token[EGRESS_TOKEN_SIZE]; /* the proxies' password; empty: they need none */
        bool v6; /* the box has IPv6 */
        struct event *entrance_events[EGRESS_ENTRANCES_MAX];
        struct entrance {
                struct egress *egress;
                enum egress_entrance kind;
                uint16_t port;
        } entrances[EGRESS_ENTRANCES_MAX]; /* the data of entrance_events */
        size_t entrance_count;
        struct connection *connections; /* a linked list */
        size_t connection_count, connections_max;
        bool full; /* no connection is accepted until one ends */
};

/* Asks the keeper for a TCP socket in the box's network namespace. Returns the descriptor or -errno. */
int egress_take_socket(struct egress *g);

#endif
