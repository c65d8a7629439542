/* Kinds of files by what people call them: c, py, markdown. */
#ifndef RINGWALL_TOOLS_TYPES_H
#define RINGWALL_TOOLS_TYPES_H

#include "base/text.h"

/* The patterns of its names, for wildcards_read(); NULL, with a sentence that names near ones, when it is not known. */
const char *types_find(const char *name, struct text *why);

#endif
