/*
 * Setting up the network namespace of a box: for wall_net.c, which does it, and probe_net.c, which asks whether it is
 * possible.
 *
 * The kernel is configured by netlink messages that were generated when ringwall was built (net_generate.c). They never
 * change: addresses and ports are the same in every box.
 */
#ifndef RINGWALL_LINUX_NET_SETUP_H
#define RINGWALL_LINUX_NET_SETUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct net_messages {
        const unsigned char *bytes;
        size_t length;
        unsigned acknowledgements; /* that the kernel sends on success */
};

/*
 * Generated. The address and the route of one address family on the loopback (NETLINK_ROUTE), and the nftables rules
 * (NETLINK_NETFILTER).
 */
extern const struct net_messages net_routes_v4, net_routes_v6, net_rules;

/* These run in a process with every capability in its own network namespace. They return -errno on failure. */

int net_loopback_up(void);

/* Sends the messages to the kernel. Returns 0, or the first error of the kernel. */
int net_send_messages(int protocol, const struct net_messages *m);

/* A non-blocking socket of this type, bound to this port of the loopback; a stream socket listens. */
int net_listen(int type, bool v6, uint16_t port);

/*
 * How often the processes of this network namespace tried to reach an address that has no route: in a namespace with
 * only a loopback, any address but its own. 0 if the kernel's counters cannot be read.
 */
unsigned net_count_unroutable(void);

#endif
