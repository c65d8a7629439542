/* UTF-16 from and to UTF-8; see utf16.h. It does not use iconv(3), which loads its tables from files of the box. */
#include "tools/utf16.h"

#include <stdint.h>

#include "tools/html_entities.h"

static uint32_t get_unit(const char *bytes, bool big_endian)
{
        unsigned char first = (unsigned char)bytes[0], second = (unsigned char)bytes[1];
        return big_endian ? (uint32_t)first << 8 | second : (uint32_t)second << 8 | first;
}

bool utf16_decode(struct text *out, const char *bytes, size_t length, bool big_endian)
{
        bool invalid = length % 2;
        for (size_t i = 0; i + 1 < length; i += 2) {
                char utf8[4];
                uint32_t c = get_unit(bytes + i, big_endian);
                uint32_t low = c >= 0xd800 && c <= 0xdbff && i + 3 < length ? get_unit(bytes + i + 2, big_endian) : 0;
                if (low >= 0xdc00 && low <= 0xdfff) {
                        c = 0x10000 + ((c & 0x3ff) << 10) + (low & 0x3ff);
                        i += 2;
                }
                invalid |= c >= 0xd800 && c <= 0xdfff;
                text_add_bytes(out, utf8, html_write_utf8(c, utf8));
        }
        return invalid;
}

static void add_unit(struct text *out, uint32_t unit, bool big_endian)
{
        const char high = (char)(unit >> 8), low = (char)(unit & 0xff);
        const char bytes[2] = { big_endian ? high : low, big_endian ? low : high };
        text_add_bytes(out, bytes, sizeof bytes);
}

void utf16_encode(struct text *out, const char *text, size_t length, bool big_endian)
{
        static const unsigned char lead_bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
        for (size_t i = 0; i < length;) {
                size_t n = text_utf8_sequence_length(text + i, length - i);
                uint32_t c = (unsigned char)text[i] & lead_bits[n];
                for (size_t j = 1; j < n; j++)
                        c = c << 6 | ((unsigned char)text[i + j] & 0x3f);
                if (c >= 0x10000) {
                        add_unit(out, 0xd800 + ((c - 0x10000) >> 10), big_endian);
                        c = 0xdc00 + ((c - 0x10000) & 0x3ff);
                }
                add_unit(out, c, big_endian);
                i += n;
        }
}
