/*
 * The proxies of a box without a network namespace. They listen on the host's own loopback, where every local process
 * can connect, so they require a token that only the box has. Theory of operation: proxies.c.
 */
#ifndef RINGWALL_BOX_PROXIES_H
#define RINGWALL_BOX_PROXIES_H

#include "base/error.h"
#include "wire/egress_wire.h"

struct proxies {
        struct egress_proxies where; /* the ports and the token; the ports are 0 while there are no proxies */
        int http, socks;             /* the listening sockets, or -1 */
};
#define PROXIES_NONE ((struct proxies){ .http = -1, .socks = -1 })

/* Opens both listeners and chooses the token. Returns 0 or -errno with an error. */
int proxies_open(struct proxies *ret, struct error *e);

/* Sends them to egress, over the socket on which it receives its entrances. */
int proxies_send(const struct proxies *p, int egress, struct error *e);

/* Call it when egress has exited: the kernel refuses connections from now on, and the ports stay bound. */
void proxies_stop(const struct proxies *p);

void proxies_close(struct proxies *p);

#endif
