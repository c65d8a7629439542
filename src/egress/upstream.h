/*
 * The person's own proxy, through which this machine reaches others: what HTTPS_PROXY and NO_PROXY of their environment say.
 * Makes no system call.
 */
#ifndef RINGWALL_EGRESS_UPSTREAM_H
#define RINGWALL_EGRESS_UPSTREAM_H

#include "base/text.h"
#include "egress/destination.h"

struct upstream {
        bool is_set;
        struct destination proxy;
        struct text authorization; /* the value of a header; empty: it wants none */
        struct text exceptions;    /* names that are reached without it, as NO_PROXY lists them */
};

void upstream_done(struct upstream *u);

/*
 * "http://name:password@host:port"; the scheme, the name and the port (80) may be left out. NULL when *ret has it, to be given to
 * upstream_done(); else what is wrong. Both texts may be NULL: then there is no proxy, or no exception.
 */
const char *upstream_read(const char *proxy, const char *exceptions, struct upstream *ret);

/* Is this canonical name reached through it? */
bool upstream_carries(const struct upstream *u, const char *host, uint16_t port);

/* What it is asked for a way to there. */
void upstream_write_request(const struct upstream *u, const char *host, uint16_t port, struct text *out);

#endif
