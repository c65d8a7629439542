/*
 * The names that a box has resolved, and their fake addresses: one of each family, unchanged as long as the box runs.
 * Makes no system call.
 */
#ifndef RINGWALL_EGRESS_FAKE_IP_H
#define RINGWALL_EGRESS_FAKE_IP_H

#include <stddef.h>
#include <stdint.h>

enum { FAKE_IP_MAX = 16384 }; /* names of one box: a pattern such as *.example.com allows any number */

struct fake_ip_table {
        char **list;     /* by number */
        size_t count, capacity;
        uint32_t *slots; /* a hash table of numbers plus 1; 0: the slot is free */
        size_t slot_count;
};

/* For tests: egress keeps its names until it exits. */
void fake_ip_done(struct fake_ip_table *n);

/* Returns the number of a canonical name, which is added if it is new; -ENOSPC: too many names; -ENOMEM. */
int fake_ip_get_number(struct fake_ip_table *n, const char *name);

/* The fake addresses of a number, in network byte order. */
void fake_ip_v4(size_t number, uint8_t ret[4]);
void fake_ip_v6(size_t number, uint8_t ret[16]);

/* The name whose fake address it is, or NULL. `length` is 4 or 16. */
const char *fake_ip_find(const struct fake_ip_table *n, const uint8_t *address, size_t length);

#endif
