/* File types by name: c, py, markdown. */
#ifndef RINGWALL_TOOLS_TYPES_H
#define RINGWALL_TOOLS_TYPES_H

#include "base/text.h"

/* The patterns of a type's file names, for wildcards_read(); NULL with an error in `why` when the type is not known. */
const char *types_find(const char *name, struct text *why);

#endif
