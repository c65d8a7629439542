/*
 * Internet addresses, and the ranges that a fetch for an agent must never reach because no public server is in them.
 * Makes no system call.
 */
#ifndef RINGWALL_BASE_ADDRESS_H
#define RINGWALL_BASE_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

union address {
        struct sockaddr any; /* any.sa_family says which member is valid */
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
};

/* A range of addresses. */
struct address_range {
        const char *text; /* "10.0.0.0/8" */
        const char *what; /* "a private network" */
        uint8_t bits;     /* length of the prefix */
        uint8_t bytes[16]; /* in network byte order */
};

/* The narrowest known range because of which the address is refused; NULL if it may be dialled. */
const struct address_range *address_find_refused_range(const union address *a);

/* All ranges by index, for tests and documentation; NULL after the last. */
const struct address_range *address_blocked_range_at(size_t index);

/* Parses an address, without a port, as inet_pton(3) accepts it. False if it is not an address. */
bool address_parse(const char *text, union address *ret);

/* Prints the address without its port, in its canonical spelling. */
enum { ADDRESS_TEXT_SIZE = INET6_ADDRSTRLEN };
void address_print(const union address *a, char ret[ADDRESS_TEXT_SIZE]);

#endif
