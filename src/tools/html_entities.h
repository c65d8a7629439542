/* Characters that a page spells out: "&amp;", "&#8212;". */
#ifndef RINGWALL_TOOLS_HTML_ENTITIES_H
#define RINGWALL_TOOLS_HTML_ENTITIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The reference at the front of `bytes`, which begin with "&": returns how many bytes it takes, and its character,
 * which can always be written as UTF-8. 0: it is none, and the "&" is one. In an attribute "&copy=1" is none.
 */
size_t html_entity(const char *bytes, size_t length, bool in_attribute, uint32_t *ret);

/* The characters of Windows-1252 from 0x80 to 0x9f, where Latin-1 has control characters. */
uint32_t html_windows_1252(unsigned char byte);

/* A character as UTF-8; returns its length. What cannot be written becomes U+FFFD. */
size_t html_write_utf8(uint32_t character, char ret[4]);

#endif
