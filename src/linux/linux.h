/* The walls of Linux: the one table that higher levels see of this folder. */
#ifndef RINGWALL_LINUX_LINUX_H
#define RINGWALL_LINUX_LINUX_H

#include <stddef.h>

#include "wall/wall.h"

/* For wall_probe(). In the order in which they must be asked: surroundings first, remedies last. */
extern const struct wall linux_walls[];
extern const size_t linux_wall_count;

#endif
