/*
 * Where a program wants to go, whichever way it says so: a host and a port, each in its one spelling. What two readers
 * could understand differently is refused: user names, percent signs, zones, addresses and ports in odd spellings.
 * Makes no system call.
 */
#ifndef RINGWALL_EGRESS_DESTINATION_H
#define RINGWALL_EGRESS_DESTINATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/caps.h"

struct destination {
        char host[CAP_DOMAIN + 1]; /* a name as domain_canonical() has it; or an address as inet_ntop() has it */
        uint16_t port;
        bool is_address; /* hosts are allowed by name: the caller refuses it, or knows which name it stands for */
};

/* Each of these returns NULL when *ret has it; else what is wrong, and *ret is as it was. */

/* "name", "name:443", "192.0.2.1:443", "[2001:db8::1]:443". No port is `port`, or is missed when that is 0. */
const char *destination_read(const char *text, size_t length, uint16_t port, struct destination *ret);

/* A name, or an IPv4 address in its four parts. There may be a NUL among the bytes. */
const char *destination_from_name(const char *name, size_t length, uint16_t port, struct destination *ret);

/* The address's bytes, in network order, of the family AF_INET or AF_INET6. */
const char *destination_from_address(int family, const void *bytes, uint16_t port, struct destination *ret);

bool destination_equal(const struct destination *a, const struct destination *b);

#endif
