/*
 * The proxies of a box without a network namespace: they are on the host's own loopback, where everybody can connect to them, so they
 * want a token that only the box has. Theory of operation: proxies.c.
 */
#ifndef RINGWALL_BOX_PROXIES_H
#define RINGWALL_BOX_PROXIES_H

#include "base/error.h"
#include "linux/egress_wire.h"

struct proxies {
        struct egress_proxies where; /* its ports are 0 while there are none */
        int http, socks;             /* that listen; -1 */
};
#define PROXIES_NONE ((struct proxies){ .http = -1, .socks = -1 })

/* Makes them. Returns 0 or -errno with an error. */
int proxies_open(struct proxies *ret, struct error *e);

/* To the process that serves them, over the socket by which it gets its entrances. */
int proxies_hand_over(const struct proxies *p, int egress, struct error *e);

/* Nobody serves them any more: connections are refused from now on, and the ports stay taken. */
void proxies_silence(const struct proxies *p);

void proxies_close(struct proxies *p);

#endif
