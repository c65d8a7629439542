/* The flags that make up a policy, by their long names: the one table behind the command line and the library. */
#ifndef RINGWALL_BOX_FLAGS_H
#define RINGWALL_BOX_FLAGS_H

#include "box/load.h"

/*
 * Makes an item of a flag and its value, which must outlive it. 0; -ENOENT when there is no such flag; -EINVAL when the
 * value is missing or not wanted.
 */
int flags_make_item(const char *name, const char *value, struct load_item *ret);

#endif
