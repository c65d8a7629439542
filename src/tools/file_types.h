/* File types by name: c, py, markdown. */
#ifndef RINGWALL_TOOLS_FILE_TYPES_H
#define RINGWALL_TOOLS_FILE_TYPES_H

#include "base/text.h"

/*
 * The patterns of a type's file names, for glob_filter_parse(); NULL with an error in `why` when the type is not known.
 */
const char *file_type_patterns(const char *name, struct text *why);

#endif
