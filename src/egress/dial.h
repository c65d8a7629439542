/* Connects to the first of several addresses that answers (happy eyeballs, RFC 8305). */
#ifndef RINGWALL_EGRESS_DIAL_H
#define RINGWALL_EGRESS_DIAL_H

#include <event2/event.h>
#include <stddef.h>

#include "base/address.h"

struct dial_request;

/* The callback gets ownership of the connected socket, with its address; or -1 and the last address if all failed. */
typedef void dial_callback(void *data, int fd, const union address *address);

/* Calls `done` once, never before this has returned, unless dial_cancel() is called first. NULL: no memory. */
struct dial_request *dial_addresses(struct event_base *base, const union address *addresses, size_t count,
                                    dial_callback *done, void *data);

/* The same with one address and the caller's socket, which it takes ownership of. */
struct dial_request *dial_with_socket(struct event_base *base, int fd, const union address *address,
                                      dial_callback *done, void *data);

/* Cancels: frees `d`, and `done` is not called. */
void dial_cancel(struct dial_request *d);

#endif
