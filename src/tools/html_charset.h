/* What a server sent, as UTF-8. */
#ifndef RINGWALL_TOOLS_HTML_CHARSET_H
#define RINGWALL_TOOLS_HTML_CHARSET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/*
 * Adds the bytes as UTF-8. Their charset is, in this order, what a byte order mark says, the header (`content_type`,
 * which may be NULL), a <meta> near the start of HTML; else UTF-8 if they are that, and Windows-1252 if not. Known are
 * UTF-8, UTF-16, and Windows-1252 with Latin-1 and ASCII in it, as browsers read them. True when something was not in
 * the charset, or the charset is not known: U+FFFD stands for it.
 */
bool html_decode(const char *bytes, size_t length, const char *content_type, bool is_html, struct text *out);

#endif
