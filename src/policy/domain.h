/*
 * Host patterns, and the canonical form of a host name that policies, DNS and the proxies share.
 *
 * A pattern is a name (exact match) or `*.` and a name of at least two labels (any subdomain, but not the name itself),
 * with an optional `:port`. IP addresses in any notation are refused.
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
        bool wildcard;    /* matches subdomains of `name`, not `name` itself */
        uint16_t port;    /* 0: the pattern has no port; enum portless says what that means */
};

/* The ports that a pattern without a port covers. */
enum portless {
        PORTLESS_EVERY,   /* every port: in denials and in network.allow_private */
        PORTLESS_DEFAULT, /* the default ports of the requested name (default_ports.h): in rules that allow */
};

/*
 * Converts a UTF-8 host name to ASCII (IDNA 2008 with UTS 46 mapping); false if it has no ASCII form. The caller passes
 * this function, so that only programs that need it load the IDNA tables.
 */
typedef bool domain_to_ascii(const char *name, char *ret, size_t size);

/* Returns NULL and a pattern whose name is in the arena, or what is wrong. Without to_ascii, non-ASCII names fail. */
const char *domain_parse(struct arena *a, const char *text, domain_to_ascii *to_ascii, struct domain *ret);

/* The same for a name to resolve or connect to: without wildcard and port. */
const char *domain_canonical(const char *text, domain_to_ascii *to_ascii, char ret[DOMAIN_MAX + 1]);

/* Does the pattern match this canonical name, on any port? */
bool domain_match_name(const struct domain *pattern, const char *name);

/* Does the pattern match this canonical name and this port? */
bool domain_match(const struct domain *pattern, enum portless bare, const char *name, uint16_t port);

/* Does `outer` cover everything that `inner` covers? */
bool domain_covers(const struct domain *outer, const struct domain *inner, enum portless bare);

/*
 * Writes what both patterns cover to *ret, whose name belongs to an argument; false if that is nothing. One pattern
 * cannot say which names below *.example.com are git hosts, so *.example.com:22 and *.example.com do not intersect.
 */
bool domain_intersect(const struct domain *a, const struct domain *b, enum portless bare, struct domain *ret);

bool domain_equal(const struct domain *a, const struct domain *b);

/* Prints "*.name:port". */
enum { DOMAIN_TEXT_SIZE = DOMAIN_MAX + 16 };
void domain_print(const struct domain *d, char ret[DOMAIN_TEXT_SIZE]);

#endif
