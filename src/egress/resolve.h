/* Resolves names outside the box, with the machine's own configuration, to addresses that egress may dial. */
#ifndef RINGWALL_EGRESS_RESOLVE_H
#define RINGWALL_EGRESS_RESOLVE_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/address.h"
#include "base/error.h"
#include "wire/egress_wire.h"

enum { RESOLVE_ADDRESSES = 16 }; /* of one name; further ones are not tried */

struct resolver;
struct resolving;

/* Reads /etc/resolv.conf and /etc/hosts, so it must be called before the process is confined. NULL with an error. */
struct resolver *resolver_new(struct event_base *base, struct error *e);

/*
 * The result: REASON_NONE with the addresses to dial, the families alternating; REASON_UNKNOWN; or REASON_PRIVATE or
 * REASON_OWN with the refused address.
 */
typedef void resolve_done(void *data, enum egress_reason reason, const union address *addresses, size_t count);

/*
 * Resolves a canonical name, or takes an address as it is. Calls `done` once, never before this has returned. With
 * `allow_private` every address is allowed, even this machine's. NULL: no memory; `done` is not called.
 */
struct resolving *resolve_start(struct resolver *resolver, const char *name, uint16_t port, bool allow_private,
                                resolve_done *done, void *data);

/* Cancels: `done` is not called. Frees `r` later, when the answer has come. */
void resolve_stop(struct resolving *r);

#endif
