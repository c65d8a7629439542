/*
 * The names that a box has resolved, and their placeholder addresses: one of each family, the same as long as the box
 * lives. Makes no system call.
 */
#ifndef RINGWALL_EGRESS_PLACEHOLDERS_H
#define RINGWALL_EGRESS_PLACEHOLDERS_H

#include <stddef.h>
#include <stdint.h>

enum { PLACEHOLDERS_MAX = 16384 }; /* names of one box: a pattern such as *.example.com allows any number */

struct placeholders {
        char **list;     /* by number */
        size_t count, capacity;
        uint32_t *slots; /* a hash table of numbers plus 1; 0: the slot is free */
        size_t slot_count;
};

/* For tests. */
void placeholders_done(struct placeholders *n);

/* Returns the number of a canonical name, which is added if it is new; -ENOSPC: too many names; -ENOMEM. */
int placeholders_get_number(struct placeholders *n, const char *name);

/* The placeholder addresses of a number, in network byte order. */
void placeholder_v4(size_t number, uint8_t ret[4]);
void placeholder_v6(size_t number, uint8_t ret[16]);

/* The name whose placeholder the address is, or NULL. `length` is 4 or 16. */
const char *placeholders_find(const struct placeholders *n, const uint8_t *address, size_t length);

#endif
