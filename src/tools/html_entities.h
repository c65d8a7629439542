/* Character references: "&amp;", "&#8212;". */
#ifndef RINGWALL_TOOLS_HTML_ENTITIES_H
#define RINGWALL_TOOLS_HTML_ENTITIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads the character reference at the start of `bytes`, which begins with "&". Returns its length and stores its
 * character, which is always valid in UTF-8. Returns 0 when the "&" is an ordinary character, as in an attribute with
 * "&copy=1".
 */
size_t html_read_entity(const char *bytes, size_t length, bool in_attribute, uint32_t *ret);

/* The character of a byte in Windows-1252, which has printable characters where Latin-1 has 0x80 to 0x9f. */
uint32_t html_windows_1252(unsigned char byte);

/* Writes a character as UTF-8 and returns its length. An invalid one becomes U+FFFD. */
size_t html_write_utf8(uint32_t character, char ret[4]);

#endif
