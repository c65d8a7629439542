/*
 * What is said to the kernel to set up the network namespace of a box that may reach hosts, as netlink messages that were
 * put together when ringwall was built (net_generate.c). They never change: addresses and ports are the same in every box.
 */
#ifndef RINGWALL_LINUX_NET_MESSAGES_H
#define RINGWALL_LINUX_NET_MESSAGES_H

#include <stddef.h>

struct net_messages {
        const unsigned char *bytes;
        size_t length;
        unsigned acknowledgements; /* that the kernel gives when all went well */
};

/* Generated. The addresses and routes of one family on the loopback, and the nftables rules. */
extern const struct net_messages net_routes_v4, net_routes_v6, net_rules;

#endif
