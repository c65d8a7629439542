/*
 * JSON; see json.h. The text is untrusted. Before jansson sees it, one pass over the bytes counts how deep the brackets
 * nest: jansson's parser recurses, and so does our code that walks the value, so depth costs stack. Up to its first
 * syntax error jansson is never deeper than this count, because it agrees with the pass on where strings begin and end.
 */
#include "base/json.h"

#include <errno.h>
#include <string.h>

struct text_position {
        unsigned line, column;
};

/* Line and character of the byte at offset. */
static struct text_position position_of(const char *text, size_t offset)
{
        struct text_position p = { 1, 1 };
        for (size_t i = 0; i < offset; i++) {
                if (text[i] == '\n')
                        p = (struct text_position){ p.line + 1, 1 };
                else if (((unsigned char)text[i] & 0xc0) != 0x80) /* not a continuation byte */
                        p.column++;
        }
        return p;
}

/* Offset of the first bracket that opens one level too many, or length. */
static size_t find_too_deep(const char *text, size_t length, size_t cap)
{
        size_t depth = 0;
        bool quoted = false;
        for (size_t i = 0; i < length; i++) {
                char c = text[i];
                if (quoted && c == '\\')
                        i++;
                else if (c == '"')
                        quoted = !quoted;
                else if (!quoted && (c == '[' || c == '{') && ++depth > cap)
                        return i;
                else if (!quoted && (c == ']' || c == '}') && depth > 0)
                        depth--;
        }
        return length;
}

static int fail_at(struct error *e, int code, struct text_position p, const char *message)
{
        return error_set(e, code, "line %u, column %u: %s", p.line, p.column, message);
}

/* jansson's messages quote the input, so they are escaped. It reports column 0 for the start of a line. */
static int fail_from_jansson(struct error *e, const json_error_t *why, struct text_position *ret)
{
        if (json_error_code(why) == json_error_out_of_memory)
                return error_errno(e, ENOMEM, "cannot store the JSON value");
        ret->line = why->line > 0 ? (unsigned)why->line : 1;
        ret->column = why->column > 0 ? (unsigned)why->column : 1;
        if (json_error_code(why) == json_error_null_character)
                return fail_at(e, EINVAL, *ret, "\\u0000 is not allowed in a string");
        CLEANUP_TEXT struct text message = { 0 };
        text_add_escaped(&message, why->text, strnlen(why->text, sizeof why->text));
        return fail_at(e, EINVAL, *ret, message.data ? message.data : "not JSON");
}

static int parse(const char *text, size_t length, size_t cap_bytes, size_t cap_depth, json_t **ret, struct error *e,
                 struct text_position *ret_position)
{
        if (length > cap_bytes)
                return error_set(e, EFBIG, "%zu bytes of JSON, more than the %zu allowed", length, cap_bytes);
        const char *nul = memchr(text, '\0', length); /* jansson misses a NUL after a number */
        if (nul) {
                *ret_position = position_of(text, (size_t)(nul - text));
                return fail_at(e, EINVAL, *ret_position, "a NUL byte");
        }
        size_t too_deep = find_too_deep(text, length, cap_depth);
        if (too_deep < length) {
                *ret_position = position_of(text, too_deep);
                return fail_at(e, ELOOP, *ret_position, "nested too deeply");
        }
        json_error_t why;
        json_t *value = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
        if (!value)
                return fail_from_jansson(e, &why, ret_position);
        *ret = value;
        return 0;
}

int json_parse_bounded(const char *text, size_t length, size_t cap_bytes, size_t cap_depth, json_t **ret,
                       struct error *e, unsigned *ret_line, unsigned *ret_column)
{
        struct text_position position = { 0 };
        int error = parse(text, length, cap_bytes, cap_depth, ret, e, &position);
        if (ret_line)
                *ret_line = position.line;
        if (ret_column)
                *ret_column = position.column;
        return error;
}

struct writer {
        struct text *text;
        size_t left;
        int error;
};

/* jansson stops at any nonzero result but does not return it, so the writer keeps the error. */
static int write_piece(const char *bytes, size_t length, void *data)
{
        struct writer *w = data;
        if (length > w->left)
                return w->error = -EFBIG;
        w->left -= length;
        for (const char *del; (del = memchr(bytes, 0x7f, length));) { /* jansson escapes all other control characters */
                size_t before = (size_t)(del - bytes);
                text_add_bytes(w->text, bytes, before);
                text_add(w->text, "\\u007f");
                bytes += before + 1;
                length -= before + 1;
        }
        text_add_bytes(w->text, bytes, length);
        return w->error = w->text->failed ? -ENOMEM : 0;
}

int json_write(const json_t *value, struct text *t, bool pretty)
{
        struct writer w = { .text = t, .left = JSON_WRITE_MAX };
        size_t before = t->length;
        size_t flags = JSON_ENCODE_ANY | JSON_ENSURE_ASCII | (pretty ? JSON_INDENT(2) : JSON_COMPACT);
        if (json_dump_callback(value, write_piece, &w, flags) == 0)
                return 0;
        t->length = before;
        if (t->data)
                t->data[before] = '\0';
        return w.error ? w.error : -EINVAL;
}
