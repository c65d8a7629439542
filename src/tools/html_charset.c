/*
 * Converts charsets; see html_charset.h.
 *
 * It does not use iconv(3), which loads its tables from files: the box controls the files here.
 */
#include "tools/html_charset.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "tools/html_entities.h"
#include "tools/html_token.h"
#include "tools/tool.h"
#include "tools/utf16.h"

enum { META_BYTES_MAX = 1024 }; /* in which a <meta> is looked for */

enum charset { CHARSET_NONE, CHARSET_OTHER, CHARSET_UTF_8, CHARSET_WINDOWS_1252, CHARSET_UTF_16LE, CHARSET_UTF_16BE };

static const struct {
        const char *label;
        enum charset charset;
} labels[] = {
        { "utf-8", CHARSET_UTF_8 },
        { "utf8", CHARSET_UTF_8 },
        { "windows-1252", CHARSET_WINDOWS_1252 },
        { "cp1252", CHARSET_WINDOWS_1252 },
        { "iso-8859-1", CHARSET_WINDOWS_1252 },
        { "iso8859-1", CHARSET_WINDOWS_1252 },
        { "iso_8859-1", CHARSET_WINDOWS_1252 },
        { "latin1", CHARSET_WINDOWS_1252 },
        { "latin-1", CHARSET_WINDOWS_1252 },
        { "l1", CHARSET_WINDOWS_1252 },
        { "us-ascii", CHARSET_WINDOWS_1252 },
        { "ascii", CHARSET_WINDOWS_1252 },
        { "utf-16", CHARSET_UTF_16LE },
        { "utf-16le", CHARSET_UTF_16LE },
        { "utf-16be", CHARSET_UTF_16BE },
};

static const struct {
        const char *bytes;
        size_t length;
        enum charset charset;
} boms[] = {
        { "\xef\xbb\xbf", 3, CHARSET_UTF_8 },
        { "\xff\xfe", 2, CHARSET_UTF_16LE },
        { "\xfe\xff", 2, CHARSET_UTF_16BE },
};

static enum charset find_by_label(const char *label, size_t length)
{
        for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
                if (html_equals(label, length, labels[i].label))
                        return labels[i].charset;
        return length ? CHARSET_OTHER : CHARSET_NONE;
}

/* Finds "charset=utf-8" in a content type, with or without quotes. */
static enum charset find_by_parameter(const char *text, size_t length)
{
        static const char word[] = "charset";
        const char *end = text + length;
        for (const char *p = text; (size_t)(end - p) > sizeof word; p++) {
                if (strncasecmp(p, word, strlen(word)) != 0)
                        continue;
                p += strlen(word);
                while (p < end && *p == ' ')
                        p++;
                if (p == end)
                        break;
                if (*p != '=')
                        continue;
                do
                        p++;
                while (p < end && strchr(" \"'", *p) && *p);
                size_t n = 0;
                while (p + n < end && p[n] && !strchr(" \"';,", p[n]))
                        n++;
                return find_by_label(p, n);
        }
        return CHARSET_NONE;
}

static enum charset find_by_meta(const char *bytes, size_t length)
{
        struct html_reader reader = { .at = bytes, .end = bytes + (length < META_BYTES_MAX ? length : META_BYTES_MAX) };
        struct html_token token;
        struct html_attribute a;
        while (html_next(&reader, &token)) {
                if (token.kind != HTML_OPEN || !html_equals(token.bytes, token.length, "meta"))
                        continue;
                for (const char *at = token.attributes; html_next_attribute(&at, token.end, &a);) {
                        enum charset found = CHARSET_NONE;
                        if (html_equals(a.name, a.name_length, "charset"))
                                found = find_by_label(a.value, a.value_length);
                        else if (html_equals(a.name, a.name_length, "content"))
                                found = find_by_parameter(a.value, a.value_length);
                        if (found == CHARSET_UTF_16LE || found == CHARSET_UTF_16BE)
                                return CHARSET_UTF_8; /* this <meta> was readable as ASCII, so the page is not UTF-16 */
                        if (found != CHARSET_NONE)
                                return found;
                }
        }
        return CHARSET_NONE;
}

static void add_windows_1252(struct text *out, const char *bytes, size_t length)
{
        for (size_t i = 0, n; i < length; i += n) {
                char utf8[4];
                for (n = 0; i + n < length && (unsigned char)bytes[i + n] < 0x80;)
                        n++;
                text_add_bytes(out, bytes + i, n);
                if (n == 0) {
                        text_add_bytes(out, utf8, html_write_utf8(html_windows_1252((unsigned char)bytes[i]), utf8));
                        n = 1;
                }
        }
}

/* Also true when all but a last, truncated character is UTF-8 with at least one character beyond ASCII. */
static bool is_utf8(const char *bytes, size_t length)
{
        size_t good = text_utf8_valid_length(bytes, length), i = 0;
        while (i < good && (unsigned char)bytes[i] < 0x80)
                i++;
        return good == length || (i < good && length - good < 4);
}

bool html_decode(const char *bytes, size_t length, const char *content_type, bool is_html, struct text *out)
{
        enum charset charset = CHARSET_NONE;
        for (size_t i = 0; i < ARRAY_SIZE(boms) && charset == CHARSET_NONE; i++) {
                if (length < boms[i].length || memcmp(bytes, boms[i].bytes, boms[i].length) != 0)
                        continue;
                charset = boms[i].charset;
                bytes += boms[i].length;
                length -= boms[i].length;
        }
        if (charset == CHARSET_NONE && content_type)
                charset = find_by_parameter(content_type, strlen(content_type));
        if (charset == CHARSET_NONE && is_html)
                charset = find_by_meta(bytes, length);
        if (charset == CHARSET_NONE)
                charset = is_utf8(bytes, length) ? CHARSET_UTF_8 : CHARSET_WINDOWS_1252;
        if (charset == CHARSET_WINDOWS_1252)
                add_windows_1252(out, bytes, length);
        else if (charset == CHARSET_UTF_16LE || charset == CHARSET_UTF_16BE)
                return utf16_decode(out, bytes, length, charset == CHARSET_UTF_16BE);
        else
                return tool_add_utf8(out, bytes, length);
        return false;
}
