/*
 * The proxies of a box without a network namespace. They listen on the host's own loopback, where every local process
 * can connect, so they require a token that only the box has. Theory of operation: loopback_proxies.c.
 */
#ifndef RINGWALL_BOX_LOOPBACK_PROXIES_H
#define RINGWALL_BOX_LOOPBACK_PROXIES_H

#include "base/error.h"
#include "wire/egress_protocol.h"

struct loopback_proxies {
        struct proxy_endpoints endpoints; /* the ports and the token; the ports are 0 while there are no proxies */
        int http, socks;                  /* the listening sockets, or -1 */
};
#define LOOPBACK_PROXIES_NONE ((struct loopback_proxies){ .http = -1, .socks = -1 })

/* Opens both listeners and chooses the token. Returns 0 or -errno with an error. */
int loopback_proxies_open(struct loopback_proxies *ret, struct error *e);

/* Sends both sockets to egress, over the socket on which egress receives its listeners. */
int loopback_proxies_send(const struct loopback_proxies *p, int egress, struct error *e);

/* Call it when egress has exited: the kernel refuses connections from now on, and the ports stay bound. */
void loopback_proxies_stop(const struct loopback_proxies *p);

void loopback_proxies_close(struct loopback_proxies *p);

#endif
