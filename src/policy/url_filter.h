/*
 * URL filter: decides which URLs may be fetched for an agent. A URL is parsed strictly, and the request is made from
 * the parsed form; each redirect is filtered again. Egress checks the host's addresses. Theory of operation:
 * url_filter.c.
 *
 * The filter is not a boundary: the network wall decides what a box can reach.
 */
#ifndef RINGWALL_POLICY_URL_FILTER_H
#define RINGWALL_POLICY_URL_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "base/address.h"
#include "policy/input_limits.h"
#include "policy/host_pattern.h"

enum {
        URL_MAX = 8192,         /* bytes of a URL, and of a request's target */
        URL_REDIRECTS_MAX = 10,
};

struct url {
        bool secure;               /* https */
        char host[DOMAIN_MAX + 1]; /* canonical: a name, or an address without brackets */
        uint16_t port;
        bool is_address;           /* the host is an address, which is in `address` */
        union address address;
        char target[URL_MAX + 1]; /* of the request: path and query, in ASCII */
        size_t path_length;        /* of target, without "?" and the query */
        unsigned redirects;        /* that were followed to get here */
};

/*
 * Returns 0; -EINVAL for a malformed or ambiguous URL; -EACCES when its host may not be fetched from, whatever it
 * resolves to. to_ascii as for host_pattern_parse().
 */
int url_parse(const char *text, to_ascii_function *to_ascii, struct url *ret, struct error *e);

/*
 * Resolves a redirect: `location` as the server sent it, relative to `from`. Returns the same as url_parse(), and
 * -ELOOP after URL_REDIRECTS_MAX redirects, -EACCES for one from https to http. `ret` may be `from`.
 */
int url_follow_redirect(const struct url *from, const char *location, to_ascii_function *to_ascii, struct url *ret,
                        struct error *e);

/* Prints the URL; parsing the text gives an equal URL. */
void url_print(const struct url *u, struct text *out);

#endif
