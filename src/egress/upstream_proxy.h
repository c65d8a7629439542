/*
 * The upstream proxy, from HTTPS_PROXY and NO_PROXY in the user's environment, for machines that reach others only
 * through a proxy. Makes no system call.
 */
#ifndef RINGWALL_EGRESS_UPSTREAM_PROXY_H
#define RINGWALL_EGRESS_UPSTREAM_PROXY_H

#include "base/text.h"
#include "egress/destination.h"

struct upstream_proxy {
        bool is_set;
        struct destination proxy;
        struct text authorization; /* the value of Proxy-Authorization; empty: none is sent */
        struct text exceptions;    /* the names that are reached without the proxy, in the form of NO_PROXY */
};

void upstream_proxy_done(struct upstream_proxy *u);

/*
 * Parses "http://name:password@host:port"; the scheme, the name and the port (80) may be omitted. Returns NULL with
 * *ret, which the caller frees with upstream_proxy_done(), or what is wrong. Both texts may be NULL: then there is no
 * proxy, or no exception.
 */
const char *upstream_proxy_parse(const char *proxy, const char *exceptions, struct upstream_proxy *ret);

/* Is this canonical name reached through the proxy? */
bool upstream_proxy_applies(const struct upstream_proxy *u, const char *host, uint16_t port);

/* Writes the CONNECT request for a tunnel to the host. */
void upstream_proxy_write_connect(const struct upstream_proxy *u, const char *host, uint16_t port, struct text *out);

#endif
