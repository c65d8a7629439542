/* Resolves names outside the box, with the machine's own configuration, to addresses that egress may dial. */
#ifndef RINGWALL_EGRESS_RESOLVE_H
#define RINGWALL_EGRESS_RESOLVE_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/address.h"
#include "base/error.h"
#include "wire/egress_protocol.h"

enum { RESOLVE_ADDRESSES_MAX = 16 }; /* of one name; further ones are not tried */

struct resolver;
struct resolve_request;

/* Reads /etc/resolv.conf and /etc/hosts, so it must be called before the process is confined. NULL with an error. */
struct resolver *resolver_new(struct event_base *base, struct error *e);

/*
 * The result: REASON_NONE with the addresses to dial, the families alternating; REASON_NAME_NOT_FOUND; or
 * REASON_PRIVATE_ADDRESS or REASON_LOCAL_ADDRESS with the refused address.
 */
typedef void resolve_callback(void *data, enum deny_reason reason, const union address *addresses, size_t count);

/*
 * Resolves a canonical name, or takes an address as it is. Calls `done` once, never before this has returned, unless
 * resolve_cancel() is called first. With `allow_private` every address is allowed, even this machine's. NULL: no
 * memory; `done` is not called.
 */
struct resolve_request *resolve_start(struct resolver *resolver, const char *name, uint16_t port, bool allow_private,
                                      resolve_callback *done, void *data);

/* Cancels: `done` is not called. Frees `r` later, when the answer has come. */
void resolve_cancel(struct resolve_request *r);

#endif
