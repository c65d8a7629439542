/*
 * Host patterns, and the canonical form of a host name that policies, DNS and the proxies share.
 *
 * A pattern is a name (exact match) or `*.` and a name of at least two labels (any subdomain, but not the name itself),
 * with an optional `:port`. IP addresses in any notation are refused.
 */
#ifndef RINGWALL_POLICY_HOST_PATTERN_H
#define RINGWALL_POLICY_HOST_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "policy/input_limits.h"

struct host_pattern {
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
typedef bool to_ascii_function(const char *name, char *ret, size_t size);

/* Returns NULL and a pattern whose name is in the arena, or what is wrong. Without to_ascii, non-ASCII names fail. */
const char *host_pattern_parse(struct arena *a, const char *text, to_ascii_function *to_ascii,
                               struct host_pattern *ret);

/* The same for a name to resolve or connect to: without wildcard and port. */
const char *host_name_canonicalize(const char *text, to_ascii_function *to_ascii, char ret[DOMAIN_MAX + 1]);

/* Does the pattern match this canonical name, on any port? */
bool host_pattern_match_name(const struct host_pattern *pattern, const char *name);

/* Does the pattern match this canonical name and this port? */
bool host_pattern_match(const struct host_pattern *pattern, enum portless bare, const char *name, uint16_t port);

/* Does `outer` cover everything that `inner` covers? */
bool host_pattern_covers(const struct host_pattern *outer, const struct host_pattern *inner, enum portless bare);

/*
 * Writes what both patterns cover to *ret, whose name belongs to an argument; false if that is nothing. One pattern
 * cannot say which names below *.example.com are git hosts, so *.example.com:22 and *.example.com do not intersect.
 */
bool host_pattern_intersect(const struct host_pattern *a, const struct host_pattern *b, enum portless bare,
                            struct host_pattern *ret);

bool host_pattern_equal(const struct host_pattern *a, const struct host_pattern *b);

/* Prints "*.name:port". */
enum { HOST_PATTERN_TEXT_SIZE = DOMAIN_MAX + 16 };
void host_pattern_print(const struct host_pattern *d, char ret[HOST_PATTERN_TEXT_SIZE]);

#endif
