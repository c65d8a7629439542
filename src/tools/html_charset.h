/* Converts a server's answer to UTF-8. */
#ifndef RINGWALL_TOOLS_HTML_CHARSET_H
#define RINGWALL_TOOLS_HTML_CHARSET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/*
 * Adds the bytes as UTF-8. Their charset is given by, in this order, a byte order mark, the header (`content_type`,
 * which may be NULL), or a <meta> near the start of HTML; otherwise it is UTF-8 if the bytes are valid UTF-8, and
 * Windows-1252 if not. Supported are UTF-8, UTF-16, and Windows-1252, which also stands for Latin-1 and ASCII, as in
 * browsers; any other charset is read as UTF-8. Returns true when something was invalid and became U+FFFD.
 */
bool html_decode(const char *bytes, size_t length, const char *content_type, bool is_html, struct text *out);

#endif
