/* Unpredictable names and tokens, from getrandom(2). */
#ifndef RINGWALL_BASE_RANDOM_H
#define RINGWALL_BASE_RANDOM_H

#include <stddef.h>

/* Fills `size` bytes with hexadecimal digits and a NUL. `size` is at most 257. Returns 0 or -errno. */
int random_hex(char *ret, size_t size);

#endif
