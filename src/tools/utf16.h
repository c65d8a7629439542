/* UTF-16 from and to UTF-8. */
#ifndef RINGWALL_TOOLS_UTF16_H
#define RINGWALL_TOOLS_UTF16_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/* Adds the bytes, which are UTF-16, as UTF-8. Returns true when something was invalid and became U+FFFD. */
bool utf16_decode(struct text *out, const char *bytes, size_t length, bool big_endian);

/* Adds the text, which is valid UTF-8, as UTF-16. */
void utf16_encode(struct text *out, const char *text, size_t length, bool big_endian);

#endif
