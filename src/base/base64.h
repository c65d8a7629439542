/* Base64 of RFC 4648, section 4: padded, no line breaks. */
#ifndef RINGWALL_BASE_BASE64_H
#define RINGWALL_BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

void base64_encode(struct text *out, const void *bytes, size_t length);

/* Accepts only the canonical encoding, as base64_encode() writes it. Otherwise returns false and adds nothing. */
bool base64_decode(struct text *out, const char *code, size_t length);

#endif
