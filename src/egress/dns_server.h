/* Answers the box's DNS queries with a fake address for the name, or NXDOMAIN. See dns_server.c. */
#ifndef RINGWALL_EGRESS_DNS_SERVER_H
#define RINGWALL_EGRESS_DNS_SERVER_H

#include "egress/egress.h"

/* Answers the packets that wait at this socket. */
void dns_server_read_packets(struct egress *g, int fd);

/* Answers queries over this TCP connection, which it takes ownership of. */
void dns_server_take_stream(struct egress *g, int fd);

#endif
