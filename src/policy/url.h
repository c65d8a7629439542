/*
 * URL filter: what a fetch for an agent may be of. A URL is parsed strictly, and what is asked for is what was parsed;
 * each redirect comes through here again. What its name leads to is egress's to check. Theory of operation: url.c.
 *
 * It is no boundary: a box reaches only what its network wall lets it reach.
 */
#ifndef RINGWALL_POLICY_URL_H
#define RINGWALL_POLICY_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "base/address.h"
#include "policy/caps.h"
#include "policy/domain.h"

enum {
        URL_MOST = 8192,         /* bytes of a URL, and of what a request asks for */
        URL_REDIRECTS_MOST = 10,
};

struct url {
        bool secure;               /* https */
        char host[CAP_DOMAIN + 1]; /* canonical: a name, or an address without brackets */
        uint16_t port;
        bool is_address;           /* the host; it is in `address` */
        union address address;
        char target[URL_MOST + 1]; /* what to ask for: path and query, in ASCII, as a request has it */
        size_t path_length;        /* of target; "?" and the query are behind it */
        unsigned redirects;        /* that led here */
};

/*
 * Returns 0; -EINVAL when it is no URL that we understand; -EACCES when its host may not be reached, whatever it
 * resolves to. to_ascii as for domain_parse().
 */
int url_parse(const char *text, domain_to_ascii *to_ascii, struct url *ret, struct error *e);

/*
 * Where a redirect leads: `location` as the server sent it, relative to `from`. As url_parse(), and -ELOOP after
 * URL_REDIRECTS_MOST of them, -EACCES from https to http.
 */
int url_redirect(const struct url *from, const char *location, domain_to_ascii *to_ascii, struct url *ret,
                 struct error *e);

/* The same URL as text: parsed again, it is equal. */
void url_print(const struct url *u, struct text *out);

#endif
