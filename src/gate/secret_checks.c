/* Checks of possible secrets; see secret_checks.h. They look only at the line of the match. */
#include "gate/secret_checks.h"

#include <string.h>
#include <strings.h>

#include "base/memory.h"

enum {
        DIFFERENT_MIN = 8, /* different characters; twenty random characters almost always have as many */
        COLOUR_MAX = 16,   /* bytes between the ESC and the letter that ends a colour code */
        RANDOM_MIN = 16,   /* characters; a shorter credential may be made of few different ones */
        NUMBER_MIN = 23,   /* characters of base64 of a number of 17 to 20 digits */
        NUMBER_MAX = 40,   /* … with what may come before it: \\n */
        DECODED_MAX = 96,  /* characters of base64 that are decoded */
};

static bool is_digit(char c)
{
        return c >= '0' && c <= '9';
}

static bool is_lower(char c)
{
        return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
        return c >= 'A' && c <= 'Z';
}

static bool is_hex(char c)
{
        return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* --- words --- */

/* ESC [ 1 ; 31 m */
static bool ends_colour(const char *text, size_t end)
{
        for (size_t i = end - 1; i > 0 && end - i < COLOUR_MAX; i--) {
                if (text[i - 1] == '[')
                        return i > 1 && text[i - 2] == '\033';
                if (!is_digit(text[i - 1]) && text[i - 1] != ';')
                        return false;
        }
        return false;
}

static bool ends_escape(const char *text, size_t end)
{
        const char *p = text + end;
        if (end >= 2 && p[-2] == '\\' && strchr("nrtbfv", p[-1]))
                return true;
        if (end >= 3 && p[-3] == '%' && is_hex(p[-2]) && is_hex(p[-1]))
                return true;
        if (end >= 6 && p[-6] == '\\' && p[-5] == 'u' && is_hex(p[-4]) && is_hex(p[-3]) && is_hex(p[-2]) &&
            is_hex(p[-1]))
                return true;
        return ends_colour(text, end);
}

bool secret_starts_word(const struct text_span *s)
{
        return s->from == 0 || !alphabet_contains(ALPHABET_WORD, s->text[s->from - 1]) || ends_escape(s->text, s->from);
}

/* --- randomness --- */

struct kinds {
        size_t upper, lower, digit, different;
};

static size_t examined_length(const struct text_span *s)
{
        return s->to - s->from < EXAMINED_MAX ? s->to - s->from : EXAMINED_MAX;
}

static struct kinds count_kinds(const struct text_span *s)
{
        struct kinds k = { 0 };
        bool seen[256] = { 0 };
        for (size_t i = 0; i < examined_length(s); i++) {
                char c = s->text[s->from + i];
                k.upper += is_upper(c);
                k.lower += is_lower(c);
                k.digit += is_digit(c);
                k.different += !seen[(unsigned char)c];
                seen[(unsigned char)c] = true;
        }
        return k;
}

bool check_mixed_case(const struct text_span *s)
{
        struct kinds k = count_kinds(s);
        return k.upper && k.lower && k.digit;
}

bool check_both_cases(const struct text_span *s)
{
        struct kinds k = count_kinds(s);
        return k.upper && k.lower;
}

bool check_distinct_chars(const struct text_span *s)
{
        struct kinds k = count_kinds(s);
        return k.digit && k.upper + k.lower && k.different >= DIFFERENT_MIN;
}

bool check_random_looking(const struct text_span *s)
{
        struct kinds k = count_kinds(s);
        return k.digit > 1 && k.different >= DIFFERENT_MIN &&
               ((k.upper && k.lower) || 4 * k.digit >= examined_length(s));
}

/* --- values --- */

bool secret_contains(const char *text, size_t length, const char *word)
{
        size_t l = strlen(word);
        for (size_t i = 0; i + l <= length; i++)
                if ((text[i] == *word || (is_upper(text[i]) && (text[i] | ' ') == *word)) &&
                    strncasecmp(text + i, word, l) == 0)
                        return true;
        return false;
}

/* Text that was scrubbed already is not scrubbed again. */
static const char scrubbed[] = "[REDACTED:";

bool secret_is_placeholder(const char *text, size_t length)
{
        static const char *const inside[] = {
                scrubbed, "example", "placeholder", "changeme", "change-me", "change_me", "your", "xxxx", "****",
                "....", "replace", "insert", "-here", "_here",
                "\xe2\x80\xa6", "\xe2\x80\xa2",
        };
        for (size_t i = 0; i < ARRAY_SIZE(inside); i++)
                if (secret_contains(text, length, inside[i]))
                        return true;
        return false;
}

bool secret_is_reference(const char *text, size_t length, char quote)
{
        static const char *const starts[] = {
                "$", "{", "<", "%", "/", "./", "../", "~/", "http:", "https:", "arn:", "vault:", "env:", "file:",
                "op:", "ref+", "ENC[",
        };
        static const char *const inside[] = { "${", "$(", "{{", "#{", "%(", "://" };
        for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
                if (length >= strlen(starts[i]) && memcmp(text, starts[i], strlen(starts[i])) == 0)
                        return true;
        for (size_t i = 0; i < ARRAY_SIZE(inside); i++)
                if (secret_contains(text, length, inside[i]))
                        return true;
        /* Without quotes, a bracket is a call or an index. */
        return !quote && (memchr("*&@", *text, 3) || memchr(text, '(', length) || memchr(text, '[', length));
}

bool secret_is_identifier(const char *text, size_t length)
{
        bool capitals = true, parts = false;
        while (length && strchr(")}],;", text[length - 1]))
                length--;
        for (size_t i = 0; i < length; i++) {
                if (!alphabet_contains(ALPHABET_WORD, text[i]) && text[i] != '.')
                        return false;
                capitals &= !is_lower(text[i]);
                parts |= text[i] == '.' && i + 1 < length && !is_digit(text[i + 1]);
        }
        return parts || (capitals && memchr(text, '_', length)) || (length > 1 && text[0] == '0' && text[1] == 'x');
}

bool secret_is_sample(const char *text, size_t length)
{
        static const char *const samples[] = {
                "password", "passwd", "passw", "pass", "pwd", "pw", "secret", "token", "pa55", "foo", "bar",
        };
        for (size_t i = 0; i < ARRAY_SIZE(samples); i++)
                if (length == strlen(samples[i]) && strncasecmp(text, samples[i], length) == 0)
                        return true;
        return false;
}

bool check_no_placeholder(const struct text_span *s)
{
        return count_kinds(s).different >= DIFFERENT_MIN &&
               !secret_is_placeholder(s->text + s->from, examined_length(s));
}

/* --- credentials --- */

static int base64_digit(char c)
{
        if (is_upper(c))
                return c - 'A';
        if (is_lower(c))
                return c - 'a' + 26;
        if (is_digit(c))
                return c - '0' + 52;
        return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

/* base64 of user:password. */
static bool is_basic_credentials(const char *text, size_t length)
{
        unsigned bits = 0, count = 0;
        size_t bytes = 0, colon = 0;
        for (size_t i = 0; i < length && i < DECODED_MAX && base64_digit(text[i]) >= 0; i++) {
                bits = (bits << 6 | (unsigned)base64_digit(text[i])) & 0xffff;
                count += 6;
                if (count < 8)
                        continue;
                count -= 8;
                unsigned byte = bits >> count & 0xff;
                if (byte < ' ' || byte == 0x7f)
                        return false;
                colon = byte == ':' && !colon ? bytes : colon;
                bytes++;
        }
        return colon && colon + 1 < bytes;
}

bool check_credential(const struct text_span *s)
{
        const char *text = s->text + s->from;
        size_t length = examined_length(s);
        struct kinds k = count_kinds(s);
        if (secret_is_placeholder(text, length))
                return false;
        if (is_basic_credentials(text, length))
                return true;
        if (secret_is_identifier(text, length) && length < RANDOM_MIN)
                return false;
        return k.digit && k.upper + k.lower && (length < RANDOM_MIN || k.different >= DIFFERENT_MIN);
}

/* --- URLs --- */

static bool in_authority(char c)
{
        return alphabet_contains(ALPHABET_VALUE, c) && !strchr("/?#<>\\", c);
}

/* Passwords as documentation has them. */
static bool is_documentation(const char *text, size_t length)
{
        return secret_is_sample(text, length) || secret_is_placeholder(text, length) ||
               secret_is_reference(text, length, '\0');
}

bool extract_url_password(struct text_span *s)
{
        while (memcmp(s->text + s->from, "://", 3) != 0)
                s->from++;
        s->from += 3;
        const char *start = s->text + s->from, *end = s->text + s->length;
        const char *colon = memchr(start, ':', s->length - s->from), *at = NULL;
        for (const char *p = start; p < end && in_authority(*p); p++)
                if (*p == '@' && p + 1 < end && (alphabet_contains(ALPHABET_WORD, p[1]) || p[1] == '['))
                        at = p; /* the last @ with a host after it: a password may contain others */
        if (!colon || !at || at < colon + 2 || is_documentation(colon + 1, (size_t)(at - colon) - 1))
                return false;
        if (secret_contains(start, (size_t)(at - start), scrubbed))
                return false;
        s->to = (size_t)(at - s->text);
        s->alphabet = ALPHABET_NONE;
        return true;
}

/* --- tokens --- */

bool extract_discord(struct text_span *s)
{
        size_t dot = s->from;
        while (s->from && dot - s->from < NUMBER_MAX && alphabet_contains(ALPHABET_DASHED, s->text[s->from - 1]))
                s->from--;
        /* M, N and O: what the ASCII digits at the beginning encode to */
        while (dot - s->from >= NUMBER_MIN && (!strchr("MNO", s->text[s->from]) || !secret_starts_word(s)))
                s->from++;
        return dot - s->from >= NUMBER_MIN;
}

bool extract_jwt(struct text_span *s)
{
        static const char start[] = "eyJ"; /* {" in base64 */
        size_t dot = s->from;
        while (s->text[dot] != '.')
                dot++;
        while (s->from > 0 && alphabet_contains(ALPHABET_DASHED, s->text[s->from - 1]))
                s->from--;
        const char *header = memmem(s->text + s->from, dot - s->from, start, strlen(start));
        if (!header)
                return false;
        struct text_span there = *s;
        there.from = (size_t)(header - s->text);
        if (secret_starts_word(&there))
                s->from = there.from;
        return true;
}
