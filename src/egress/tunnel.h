/* Asks the upstream proxy, over a connection to it, for a tunnel to a host (CONNECT). */
#ifndef RINGWALL_EGRESS_TUNNEL_H
#define RINGWALL_EGRESS_TUNNEL_H

#include <event2/event.h>

#include "egress/upstream.h"

struct tunnel;

/*
 * The callback gets ownership of the socket, which is now connected to the host. -1: the proxy opened no tunnel;
 * `status` is the HTTP status that it answered with, or 0 without a valid answer.
 */
typedef void tunnel_done(void *data, int fd, int status);

/*
 * Takes ownership of the socket, even on failure. Calls `done` once, never before this has returned, unless
 * tunnel_stop() is called first. NULL: no memory.
 */
struct tunnel *tunnel_start(struct event_base *base, int fd, const struct upstream *u, const char *host, uint16_t port,
                            tunnel_done *done, void *data);

/* Cancels: closes the socket and frees `t`; `done` is not called. */
void tunnel_stop(struct tunnel *t);

#endif
