/* Connecting to the first of several addresses that answers, as RFC 8305 (happy eyeballs) has it. */
#ifndef RINGWALL_EGRESS_DIAL_H
#define RINGWALL_EGRESS_DIAL_H

#include <event2/event.h>
#include <stddef.h>

#include "base/address.h"

struct dialling;

/* The socket is the callee's; -1 with the last address that was tried: none of them answers. */
typedef void dial_done(void *data, int fd, const union address *address);

/* Calls back once, at the earliest when this has returned, unless it is stopped. NULL: no memory. */
struct dialling *dial_start(struct event_base *base, const union address *addresses, size_t count, dial_done *done, void *data);

/* The same with one address and a socket that the caller has made, which is its no more. */
struct dialling *dial_with(struct event_base *base, int fd, const union address *address, dial_done *done, void *data);

/* Nobody waits for it any more. */
void dial_stop(struct dialling *d);

#endif
