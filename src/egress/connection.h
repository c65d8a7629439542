/* One connection of a program in the box, from accept to close. Theory of operation: connection.c. */
#ifndef RINGWALL_EGRESS_CONNECTION_H
#define RINGWALL_EGRESS_CONNECTION_H

#include "egress/egress.h"

/* Takes ownership of a connection that a listener accepted; `port` is the listener's. */
void connection_accept(struct egress *g, int fd, enum egress_listener_kind listener, uint16_t port);

/* After a change of the hosts: aborts the connections to hosts that are not allowed any more. Returns how many. */
uint32_t connection_close_denied(struct egress *g);

/* After the end of the box: closes all connections, and reports those that had reached their host. */
void connection_close_all(struct egress *g);

#endif
