/*
 * URL filter: what a fetch for an agent may be of. A URL is parsed strictly, its name is looked up once, every address
 * that the name has must be public, and the connection goes to an address that was checked. Each redirect comes through
 * here again. Makes no system call: the caller looks names up, and dials. Theory of operation: url.c.
 *
 * It is no boundary: a box reaches only what its network wall lets it reach.
 */
#ifndef RINGWALL_GATE_URL_H
#define RINGWALL_GATE_URL_H

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
        URL_ADDRESSES_MOST = 64, /* of one name */
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

/*
 * Looks a name up, once. Fills `ret` with its addresses, at most URL_ADDRESSES_MOST, ports left out, and returns how
 * many there are; or -errno with an error.
 */
struct url_resolver {
        int (*look_up)(void *context, const char *host, union address ret[URL_ADDRESSES_MOST], struct error *e);
        void *context;
};

/* Checked addresses, with the URL's port, in the order in which the resolver had them: dial these and nothing else. */
struct url_addresses {
        union address list[URL_ADDRESSES_MOST];
        size_t count;
};

/*
 * Asks the resolver exactly once, and not at all when the host is an address. -EACCES when any of the addresses may not
 * be reached; -ENOENT when there is none; -E2BIG when there are too many to check; or the resolver's own error.
 */
int url_resolve(const struct url *u, const struct url_resolver *resolver, struct url_addresses *ret, struct error *e);

#endif
