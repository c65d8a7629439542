/*
 * Internet addresses, and those that a fetch for an agent never reaches: what is no public server's. Makes no system
 * call.
 */
#ifndef RINGWALL_BASE_ADDRESS_H
#define RINGWALL_BASE_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

union address {
        struct sockaddr any; /* any.sa_family tells which */
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
};

/* A range, in network byte order. */
struct address_range {
        const char *text; /* "10.0.0.0/8" */
        const char *what; /* "a private network" */
        uint8_t bits;
        uint8_t bytes[16];
};

/* The range because of which it is refused, the narrowest that we know; NULL: it may be dialled. */
const struct address_range *address_refused(const union address *a);

/* All of them, for tests and documentation; NULL behind the last. */
const struct address_range *address_range_at(size_t index);

/* An address in one of the spellings that inet_pton(3) has, without a port; false: it is none. */
bool address_read(const char *text, union address *ret);

/* The address without its port, in its one spelling. */
enum { ADDRESS_TEXT_SIZE = INET6_ADDRSTRLEN };
void address_print(const union address *a, char ret[ADDRESS_TEXT_SIZE]);

#endif
