/*
 * Setting up the network namespace of a box, for hold_net.c, which does it, and net.c, which asks whether it could be done.
 *
 * What is said to the kernel are netlink messages that were put together when ringwall was built (net_generate.c). They never
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
        unsigned acknowledgements; /* that the kernel gives when all went well */
};

/* Generated. The address and the route of one family on the loopback (NETLINK_ROUTE), and the nftables rules (NETLINK_NETFILTER). */
extern const struct net_messages net_routes_v4, net_routes_v6, net_rules;

/* All of these are for a process with every capability in its own network namespace, and return -errno when they fail. */

int net_raise_loopback(void);

/* 0, or what the kernel refused first. */
int net_tell_kernel(int bus, const struct net_messages *m);

/* A socket of the type on the loopback, at this port; it does not block. */
int net_listen(int type, bool v6, uint16_t port);

#endif
