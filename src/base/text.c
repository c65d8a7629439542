/* Text; see text.h. */
#include "base/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static bool reserve(struct text *t, size_t more)
{
        if (t->failed || more > SIZE_MAX / 4 - t->length) {
                t->failed = true;
                return false;
        }
        size_t need = t->length + more + 1;
        if (need <= t->size)
                return true;
        size_t size = t->size ? t->size : 128;
        while (size < need)
                size *= 2;
        char *grown = realloc(t->data, size);
        if (!grown) {
                t->failed = true;
                return false;
        }
        t->data = grown;
        t->size = size;
        return true;
}

void text_add_bytes(struct text *t, const char *bytes, size_t length)
{
        if (!reserve(t, length))
                return;
        if (length)
                memcpy(t->data + t->length, bytes, length);
        t->length += length;
        t->data[t->length] = '\0';
}

void text_add(struct text *t, const char *piece)
{
        text_add_bytes(t, piece, strlen(piece));
}

void text_format(struct text *t, const char *format, ...)
{
        va_list args;
        va_start(args, format);
        int length = vsnprintf(NULL, 0, format, args);
        va_end(args);
        if (length < 0 || !reserve(t, (size_t)length)) {
                t->failed = true;
                return;
        }
        va_start(args, format);
        (void)vsnprintf(t->data + t->length, (size_t)length + 1, format, args);
        va_end(args);
        t->length += (size_t)length;
}

void text_done(struct text *t)
{
        free(t->data);
        *t = (struct text){ 0 };
}

char *text_take(struct text *t)
{
        text_add_bytes(t, "", 0);
        char *data = t->failed ? NULL : TAKE_PTR(t->data);
        text_done(t);
        return data;
}

/* The length of the sequence that this lead byte begins, its bits, and the smallest code point of that length. */
static size_t lead_length(unsigned char c, uint32_t *ret_bits, uint32_t *ret_min)
{
        if (c >= 0xc2 && c <= 0xdf) {
                *ret_bits = c & 0x1fU;
                *ret_min = 0x80;
                return 2;
        }
        if (c >= 0xe0 && c <= 0xef) {
                *ret_bits = c & 0x0fU;
                *ret_min = 0x800;
                return 3;
        }
        if (c >= 0xf0 && c <= 0xf4) {
                *ret_bits = c & 0x07U;
                *ret_min = 0x10000;
                return 4;
        }
        return 0;
}

/* The length of the well-formed sequence at the start, 0 if there is none. */
static size_t utf8_sequence(const unsigned char *s, size_t length)
{
        if (s[0] < 0x80)
                return 1;
        uint32_t value = 0, min = 0;
        size_t need = lead_length(s[0], &value, &min);
        if (need == 0 || need > length)
                return 0;
        for (size_t i = 1; i < need; i++) {
                if ((s[i] & 0xc0U) != 0x80)
                        return 0;
                value = value << 6 | (s[i] & 0x3fU);
        }
        if (value < min || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
                return 0;
        return need;
}

size_t text_utf8_valid_length(const char *bytes, size_t length)
{
        const unsigned char *s = (const unsigned char *)bytes;
        size_t i = 0;
        while (i < length) {
                size_t step = utf8_sequence(s + i, length - i);
                if (step == 0)
                        return i;
                i += step;
        }
        return length;
}

void text_remove_invalid_utf8(char *text)
{
        char *to = text;
        for (size_t length = strlen(text), step = 0; length; text += step, length -= step) {
                step = utf8_sequence((const unsigned char *)text, length);
                if (step)
                        memmove(to, text, step);
                to += step;
                step += !step;
        }
        *to = '\0';
}

size_t text_utf8_sequence_length(const char *bytes, size_t length)
{
        size_t step = length ? utf8_sequence((const unsigned char *)bytes, length) : 0;
        return step ? step : 1;
}

/* Control characters (U+0080–U+009F too), Unicode's line separators, and characters that reorder displayed text. */
static bool is_hostile(const unsigned char *s, size_t step)
{
        if (step == 1)
                return s[0] < 0x20 || s[0] == 0x7f;
        if (step == 2)
                return (s[0] == 0xc2 && s[1] < 0xa0) || (s[0] == 0xd8 && s[1] == 0x9c);
        if (step == 3 && s[0] == 0xe2 && s[1] == 0x80)
                return (s[2] >= 0xa8 && s[2] <= 0xae) || s[2] == 0x8e || s[2] == 0x8f;
        if (step == 3 && s[0] == 0xe2 && s[1] == 0x81)
                return s[2] >= 0xa6 && s[2] <= 0xa9;
        return false;
}

void text_add_escaped(struct text *t, const char *bytes, size_t length)
{
        const unsigned char *s = (const unsigned char *)bytes;
        for (size_t i = 0; i < length;) {
                size_t step = utf8_sequence(s + i, length - i);
                if (step && !is_hostile(s + i, step)) {
                        text_add_bytes(t, bytes + i, step);
                        i += step;
                        continue;
                }
                for (size_t end = i + (step ? step : 1); i < end; i++)
                        text_format(t, "\\x%02x", s[i]);
        }
}

enum { LONGEST_WORD = 48 };

/* Edits (insert, delete, change, swap of neighbours) from a to b; SIZE_MAX beyond LONGEST_WORD. */
static size_t edit_distance(const char *a, const char *b)
{
        size_t la = strlen(a), lb = strlen(b);
        if (la > LONGEST_WORD || lb > LONGEST_WORD)
                return SIZE_MAX;
        size_t rows[3][LONGEST_WORD + 1];
        size_t *two_back = rows[0], *previous = rows[1], *current = rows[2];
        for (size_t j = 0; j <= lb; j++)
                previous[j] = two_back[j] = j;
        for (size_t i = 1; i <= la; i++) {
                current[0] = i;
                for (size_t j = 1; j <= lb; j++) {
                        size_t best = previous[j - 1] + (a[i - 1] != b[j - 1]);
                        if (previous[j] + 1 < best)
                                best = previous[j] + 1;
                        if (current[j - 1] + 1 < best)
                                best = current[j - 1] + 1;
                        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                            two_back[j - 2] + 1 < best)
                                best = two_back[j - 2] + 1;
                        current[j] = best;
                }
                size_t *spare = two_back;
                two_back = previous;
                previous = current;
                current = spare;
        }
        return previous[lb];
}

const char *text_suggest(const char *word, const char *const *candidates, size_t count)
{
        const char *nearest = NULL;
        size_t limit = strlen(word) / 3 + 2; /* a nearer candidate has a smaller distance */
        for (size_t i = 0; i < count; i++) {
                size_t d = edit_distance(word, candidates[i]);
                if (d < limit) {
                        limit = d;
                        nearest = candidates[i];
                }
        }
        return nearest;
}

bool text_has_prefix(const char *text, const char *prefix)
{
        return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends(const char *text, const char *suffix)
{
        size_t length = strlen(text), end = strlen(suffix);
        return length >= end && memcmp(text + length - end, suffix, end) == 0;
}

bool text_parse_unsigned(const char *text, size_t length, unsigned long long *ret)
{
        unsigned long long value = 0;
        if (length == 0)
                return false;
        for (size_t i = 0; i < length; i++) {
                if (text[i] < '0' || text[i] > '9')
                        return false;
                if (__builtin_mul_overflow(value, 10ULL, &value) ||
                    __builtin_add_overflow(value, (unsigned long long)(text[i] - '0'), &value))
                        return false;
        }
        *ret = value;
        return true;
}
