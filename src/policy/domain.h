/*
 * Host patterns, and the one canonical spelling of a host name that every entrance to the network shares.
 *
 * A pattern is a name (exact, label by label) or `*.` and a name of at least two labels (any name below it, never the
 * name itself), with an optional `:port`. Addresses in any spelling are not names and are refused.
 */
#ifndef RINGWALL_POLICY_DOMAIN_H
#define RINGWALL_POLICY_DOMAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "policy/caps.h"

struct domain {
        const char *name; /* lower case, A-labels, no trailing dot */
        bool wildcard;    /* below `name`, not `name` itself */
        uint16_t port;    /* 0: none was written, and enum bare_port says what that means */
};

/* What a pattern without a port stands for. */
enum bare_port {
        BARE_EVERY,   /* every port: where it denies or describes */
        BARE_DEFAULT, /* the default ports of the name that is asked for (default_ports.h): where it allows */
};

/*
 * UTF-8 host name to its ASCII form (IDNA 2008 with UTS 46 mapping); false when it has none. The caller provides it,
 * so that only a program that meets such a name loads the tables.
 */
typedef bool domain_to_ascii(const char *name, char *ret, size_t size);

/* NULL when it is a pattern, which is then in *ret, its name in the arena; else what is wrong. to_ascii may be NULL. */
const char *domain_parse(struct arena *a, const char *text, domain_to_ascii *to_ascii, struct domain *ret);

/* The same for a name to be looked up or dialled: no wildcard, no port. */
const char *domain_canonical(const char *text, domain_to_ascii *to_ascii, char ret[CAP_DOMAIN + 1]);

/* Does the pattern match this canonical name, on any port? */
bool domain_match_name(const struct domain *pattern, const char *name);

/* Does it cover the name and the port? */
bool domain_match(const struct domain *pattern, enum bare_port bare, const char *name, uint16_t port);

/* Is everything that `inner` covers covered by `outer`? */
bool domain_covers(const struct domain *outer, const struct domain *inner, enum bare_port bare);

/*
 * What both cover, into *ret; false when that is nothing. Names are shared with the arguments. One pattern cannot say
 * which names below *.example.com are git hosts, so *.example.com:22 and *.example.com have nothing in common here.
 */
bool domain_intersect(const struct domain *a, const struct domain *b, enum bare_port bare, struct domain *ret);

bool domain_equal(const struct domain *a, const struct domain *b);

/* "*.name:port", into a buffer of DOMAIN_TEXT_SIZE. */
enum { DOMAIN_TEXT_SIZE = CAP_DOMAIN + 16 };
void domain_print(const struct domain *d, char ret[DOMAIN_TEXT_SIZE]);

#endif
