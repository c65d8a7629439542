/* Names to addresses that may be dialled: looked up outside the box, as the machine's files say, and checked. */
#ifndef RINGWALL_EGRESS_RESOLVE_H
#define RINGWALL_EGRESS_RESOLVE_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/address.h"
#include "base/error.h"
#include "linux/egress_wire.h"

enum { RESOLVE_ADDRESSES = 16 }; /* of one name; what it has beyond is not tried */

struct resolver;
struct resolving;

/* Reads the machine's files: to be called while that can be done. NULL with an error. */
struct resolver *resolver_new(struct event_base *base, struct error *e);

/*
 * What came of it: REASON_NONE with addresses to dial, one family and the other in turn; or REASON_UNKNOWN, or REASON_PRIVATE or
 * REASON_OWN with the address because of which.
 */
typedef void resolve_done(void *data, enum egress_reason reason, const union address *addresses, size_t count);

/*
 * Looks a canonical name up, once, or takes an address as it is, and calls back, at the earliest when this has returned. With `any` every address is good. NULL:
 * no memory, and nobody will be called.
 */
struct resolving *resolve_start(struct resolver *x, const char *name, uint16_t port, bool any, resolve_done *done, void *data);

/* Nobody waits for it any more. */
void resolve_stop(struct resolving *r);

#endif
