/* What a program is told that is refused, in a language that it understands. Makes no system call. */
#ifndef RINGWALL_EGRESS_REFUSAL_H
#define RINGWALL_EGRESS_REFUSAL_H

#include "base/text.h"
#include "linux/egress_wire.h"

/*
 * An HTTP answer, a TLS alert or a SOCKS reply, by the entrance and by the byte with which the program began (-1: it has said nothing
 * yet). Nothing, when there are no words for it.
 */
void refusal_write(const struct egress_event *event, int first, struct text *out);

/* To a client of the HTTP proxy that has no token, or a wrong one. Some wait for it before they give theirs. */
void refusal_write_challenge(struct text *out);

#endif
