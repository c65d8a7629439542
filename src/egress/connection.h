/* One connection of a program in the box, from its entrance to its end. Theory of operation: connection.c. */
#ifndef RINGWALL_EGRESS_CONNECTION_H
#define RINGWALL_EGRESS_CONNECTION_H

#include "egress/egress.h"

/* Takes over a connection that came in by an entrance; `port` is the entrance's own, where it has one. */
void connection_begin(struct egress *g, int fd, enum egress_entrance entrance, uint16_t port);

/* The hosts have changed: ends the connections to those that are not allowed any more. Returns how many there were. */
uint32_t connection_end_refused(struct egress *g);

/* The box is gone: what there is to tell of those that still stood. */
void connection_end_all(struct egress *g);

#endif
