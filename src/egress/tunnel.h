/* Asking a proxy, over a connection to it, for a way to a host (CONNECT). */
#ifndef RINGWALL_EGRESS_TUNNEL_H
#define RINGWALL_EGRESS_TUNNEL_H

#include <event2/event.h>

#include "egress/upstream.h"

struct tunnel;

/*
 * The socket is the callee's, and what is read from it next is the host's. -1: there is no way; `status` is what the proxy answered
 * with, 0 if that was no answer.
 */
typedef void tunnel_done(void *data, int fd, int status);

/*
 * Takes the socket over, whatever comes of it. Calls back once, at the earliest when this has returned, unless it is stopped. NULL:
 * no memory.
 */
struct tunnel *tunnel_start(struct event_base *base, int fd, const struct upstream *u, const char *host, uint16_t port,
                            tunnel_done *done, void *data);

/* Nobody waits for it any more. */
void tunnel_stop(struct tunnel *t);

#endif
