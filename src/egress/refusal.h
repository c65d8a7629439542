/* The answer to a refused program, in its own protocol. Makes no system call. */
#ifndef RINGWALL_EGRESS_REFUSAL_H
#define RINGWALL_EGRESS_REFUSAL_H

#include "base/text.h"
#include "wire/egress_wire.h"

/*
 * Adds an HTTP answer, a TLS alert or a SOCKS reply. The entrance and the first byte that the program sent (-1: none
 * yet) decide which. Adds nothing for any other protocol.
 */
void refusal_write(const struct egress_event *event, int first_byte, struct text *out);

/* The answer of the HTTP proxy to a missing or wrong token (407). Some clients send theirs only after it. */
void refusal_write_challenge(struct text *out);

#endif
