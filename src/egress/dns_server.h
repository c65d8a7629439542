/* Answers the box's questions for names: an address that stands for the name, or that there is none. See dns_server.c. */
#ifndef RINGWALL_EGRESS_DNS_SERVER_H
#define RINGWALL_EGRESS_DNS_SERVER_H

#include "egress/egress.h"

/* A packet waits at this socket. */
void dns_server_packets(struct egress *g, int fd);

/* Takes over a connection. */
void dns_server_stream(struct egress *g, int fd);

#endif
