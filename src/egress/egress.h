/*
 * Egress: the process through which a box's connections go. What its parts share. Theory of operation: egress.c.
 */
#ifndef RINGWALL_EGRESS_EGRESS_H
#define RINGWALL_EGRESS_EGRESS_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>

#include "egress/flow.h"
#include "egress/names.h"
#include "egress/resolve.h"
#include "egress/telling.h"
#include "egress/upstream.h"
#include "policy/plan.h"

enum { EGRESS_LISTENERS = 2 * (5 + 2 * CAP_PORTS) };

struct connection;

struct egress {
        struct event_base *base;
        struct plan *plan;
        uint32_t generation; /* of its hosts */
        struct names names;
        struct resolver *resolver;
        struct upstream upstream;
        struct pipes pipes;
        struct telling telling;
        int keeper;
        char token[EGRESS_TOKEN_SIZE]; /* that the proxies want; empty: none */
        bool v6; /* the box has IPv6 */
        struct event *listeners[EGRESS_LISTENERS];
        struct listening {
                struct egress *egress;
                enum egress_entrance entrance;
                uint16_t port;
        } listening[EGRESS_LISTENERS]; /* what they are for */
        size_t listener_count;
        struct connection *connections; /* a list */
        size_t connection_count, connections_most;
        bool full; /* nobody is taken in until somebody goes */
};

/* A TCP socket of the box's own, from the keeper; -errno. */
int egress_take_socket(struct egress *g);

#endif
