/* Asks the upstream proxy, over a connection to it, for a tunnel to a host (CONNECT). */
#ifndef RINGWALL_EGRESS_UPSTREAM_CONNECT_H
#define RINGWALL_EGRESS_UPSTREAM_CONNECT_H

#include <event2/event.h>

#include "egress/upstream_proxy.h"

struct upstream_connect;

/*
 * The callback gets ownership of the socket, which is now connected to the host. -1: the proxy opened no tunnel;
 * `status` is the HTTP status that it answered with, or 0 without a valid answer.
 */
typedef void upstream_connect_callback(void *data, int fd, int status);

/*
 * Takes ownership of the socket, even on failure. Calls `done` once, never before this has returned, unless
 * upstream_connect_cancel() is called first. NULL: no memory.
 */
struct upstream_connect *upstream_connect_start(struct event_base *base, int fd, const struct upstream_proxy *u,
                                                const char *host, uint16_t port, upstream_connect_callback *done,
                                                void *data);

/* Cancels: closes the socket and frees `t`; `done` is not called. */
void upstream_connect_cancel(struct upstream_connect *t);

#endif
