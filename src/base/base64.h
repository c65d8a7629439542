/* Base64, as RFC 4648 section 4 has it: padded, no line breaks. */
#ifndef RINGWALL_BASE_BASE64_H
#define RINGWALL_BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

void base64_encode(struct text *out, const void *bytes, size_t length);

/* False, with nothing added, for anything but the one spelling that the encoder gives. */
bool base64_decode(struct text *out, const char *code, size_t length);

#endif
