/* The answer to a refused program, in its own protocol. Makes no system call. */
#ifndef RINGWALL_EGRESS_DENY_RESPONSE_H
#define RINGWALL_EGRESS_DENY_RESPONSE_H

#include "base/text.h"
#include "wire/egress_protocol.h"

/*
 * Adds an HTTP answer, a TLS alert or a SOCKS reply. The listener and the first byte that the program sent (-1: none
 * yet) decide which. Adds nothing for any other protocol.
 */
void deny_response_write(const struct egress_event *event, int first_byte, struct text *out);

/* The answer of the HTTP proxy to a missing or wrong token (407). Some clients send theirs only after it. */
void proxy_auth_challenge_write(struct text *out);

#endif
