/*
 * Egress, the process that carries a box's connections: the state that its parts share. Theory of operation: egress.c.
 */
#ifndef RINGWALL_EGRESS_EGRESS_H
#define RINGWALL_EGRESS_EGRESS_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>

#include "egress/event_reporter.h"
#include "egress/splice_relay.h"
#include "egress/fake_ip.h"
#include "egress/resolve.h"
#include "egress/upstream_proxy.h"
#include "policy/plan.h"

/* For IPv4 and IPv6 each: two for DNS, two proxies, the transparent one, and one per local port and published port. */
enum { EGRESS_LISTENERS_MAX = 2 * (5 + 2 * POLICY_PORTS_MAX) };

struct connection;

struct egress {
        struct event_base *base;
        struct plan *plan;
        uint32_t generation; /* the front's number for the present hosts of the plan */
        struct fake_ip_table names;
        struct resolver *resolver;
        struct upstream_proxy upstream;
        struct pipe_pool pipes;
        struct event_reporter reporter;
        int keeper; /* a socket to it */
        char token[EGRESS_TOKEN_SIZE]; /* the proxies' password; empty: they need none */
        bool v6; /* the box has IPv6 */
        struct event *listener_events[EGRESS_LISTENERS_MAX];
        struct listener {
                struct egress *egress;
                enum egress_listener_kind kind;
                uint16_t port;
        } listeners[EGRESS_LISTENERS_MAX]; /* the data of listener_events */
        size_t listener_count;
        struct connection *connections; /* a linked list */
        size_t connection_count, connections_max;
        bool full; /* no connection is accepted until one ends */
};

/* Asks the keeper for a TCP socket in the box's network namespace. Returns the descriptor or -errno. */
int egress_request_socket(struct egress *g);

#endif
