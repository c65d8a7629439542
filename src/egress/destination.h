/*
 * The destination of a connection: a host and a port in canonical spelling, from any protocol that names them. Input
 * that two parsers could interpret differently is refused: user names, percent signs, zones, unusual spellings of
 * addresses and ports. Makes no system call.
 */
#ifndef RINGWALL_EGRESS_DESTINATION_H
#define RINGWALL_EGRESS_DESTINATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/input_limits.h"

struct destination {
        char host[DOMAIN_MAX + 1]; /* a name as from host_name_canonicalize(), or an address as from inet_ntop() */
        uint16_t port;
        bool is_address; /* hosts are allowed by name: the caller must refuse it, unless it is a fake address */
};

/* Each of these returns NULL with *ret, or what is wrong; *ret is then unchanged. */

/* "name", "name:443", "192.0.2.1:443", "[2001:db8::1]:443". `port` is the default port; 0: the text must have one. */
const char *destination_parse(const char *text, size_t length, uint16_t port, struct destination *ret);

/* A name, or an IPv4 address in dotted-quad form. The bytes need not be terminated; a NUL among them is an error. */
const char *destination_from_name(const char *name, size_t length, uint16_t port, struct destination *ret);

/* An address in network byte order, of the family AF_INET or AF_INET6. */
const char *destination_from_address(int family, const void *bytes, uint16_t port, struct destination *ret);

bool destination_equal(const struct destination *a, const struct destination *b);

#endif
