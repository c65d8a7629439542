/*
 * The names that a box has asked for, and the addresses that stand for them: one of each family, the same for the box's life.
 * Makes no system call.
 */
#ifndef RINGWALL_EGRESS_NAMES_H
#define RINGWALL_EGRESS_NAMES_H

#include <stddef.h>
#include <stdint.h>

enum { NAMES_MOST = 16384 }; /* of one box; a pattern such as *.example.com allows any number */

struct names {
        char **list;     /* by number */
        size_t count, room;
        uint32_t *slots; /* a number and 1; 0 is free */
        size_t slot_count;
};

void names_done(struct names *n);

/* The number of a canonical name, new or not; -ENOSPC when there are too many, -ENOMEM. */
int names_number(struct names *n, const char *name);

/* The addresses that stand for a number, in network byte order. */
void names_v4(size_t number, uint8_t ret[4]);
void names_v6(size_t number, uint8_t ret[16]);

/* The name that an address stands for; NULL: none. `length` is 4 or 16. */
const char *names_find(const struct names *n, const uint8_t *address, size_t length);

#endif
