/* Splits HTML into tags and texts; see html_token.h. */
#include "tools/html_token.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "tools/html_entities.h"

static bool is_space(char c)
{
        return c == ' ' || (c >= '\t' && c <= '\r' && c != '\v');
}

static bool is_letter(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool html_equals(const char *bytes, size_t length, const char *word)
{
        return strlen(word) == length && strncasecmp(bytes, word, length) == 0;
}

/* --- attributes --- */

static void read_value(const char **at, const char *end, struct html_attribute *ret)
{
        const char *p = *at;
        while (p < end && is_space(*p))
                p++;
        if (p < end && (*p == '"' || *p == '\'')) {
                const char *quote = memchr(p + 1, *p, (size_t)(end - p - 1));
                ret->value = p + 1;
                ret->value_length = (size_t)((quote ? quote : end) - p - 1);
                *at = quote ? quote + 1 : end;
                return;
        }
        ret->value = p;
        while (p < end && !is_space(*p) && *p != '>')
                p++;
        ret->value_length = (size_t)(p - ret->value);
        *at = p;
}

bool html_next_attribute(const char **at, const char *end, struct html_attribute *ret)
{
        const char *p = *at;
        *ret = (struct html_attribute){ .value = "" };
        while (p < end && (is_space(*p) || *p == '/'))
                p++;
        *at = p;
        if (p == end || *p == '>')
                return false;
        ret->name = p++; /* the first byte may even be a "=" */
        while (p < end && !is_space(*p) && *p != '/' && *p != '>' && *p != '=')
                p++;
        ret->name_length = (size_t)(p - ret->name);
        *at = p;
        while (p < end && is_space(*p))
                p++;
        if (p < end && *p == '=') {
                *at = p + 1;
                read_value(at, end, ret);
        }
        return true;
}

void html_add_attribute_value(struct text *out, const struct html_attribute *attribute)
{
        const char *at = attribute->value, *end = at + attribute->value_length;
        while (at < end) {
                uint32_t character = 0;
                char utf8[4];
                size_t n = *at == '&' ? html_read_entity(at, (size_t)(end - at), true, &character) : 0;
                if (n) {
                        text_add_bytes(out, utf8, html_write_utf8(character, utf8));
                } else {
                        const char *next = memchr(at + 1, '&', (size_t)(end - at - 1));
                        n = (size_t)((next ? next : end) - at);
                        text_add_bytes(out, at, n);
                }
                at += n;
        }
}

/* --- tokens --- */

/* Elements whose content is text up to their end tag. Only in the last two "&" begins a character reference. */
static const char *const raw_elements[] = {
        "script", "style", "xmp", "iframe", "noembed", "noframes", "plaintext", "title", "textarea",
};
enum { RAW_VERBATIM = 7 }; /* how many of them are verbatim */

static const char *const *find_raw(const struct html_token *t)
{
        for (size_t i = 0; i < ARRAY_SIZE(raw_elements); i++)
                if (html_equals(t->bytes, t->length, raw_elements[i]))
                        return &raw_elements[i];
        return NULL;
}

static bool ends_raw(const struct html_reader *r, const char *p)
{
        size_t length = strlen(r->raw), left = (size_t)(r->end - p);
        return left > length + 2 && p[1] == '/' && strncasecmp(p + 2, r->raw, length) == 0 &&
               (is_space(p[length + 2]) || p[length + 2] == '/' || p[length + 2] == '>');
}

/* Reads the content of such an element. Returns false when it is empty. */
static bool read_raw(struct html_reader *r, struct html_token *ret)
{
        const char *p = r->at;
        bool verbatim = true;
        while ((p = memchr(p, '<', (size_t)(r->end - p))) && !ends_raw(r, p))
                p++;
        for (size_t i = RAW_VERBATIM; i < ARRAY_SIZE(raw_elements); i++)
                verbatim = verbatim && r->raw != raw_elements[i];
        if (!p)
                p = r->end;
        *ret = (struct html_token){ .bytes = r->at, .length = (size_t)(p - r->at), .verbatim = verbatim };
        r->at = p;
        r->raw = NULL;
        return ret->length > 0;
}

/* Whether a "<" here begins something other than text. */
static bool begins_markup(const char *p, const char *end)
{
        return *p == '<' && end - p > 1 && (is_letter(p[1]) || p[1] == '/' || p[1] == '!' || p[1] == '?');
}

static const char *skip_comment(const char *p, const char *end)
{
        if (p < end && *p == '>')
                return p + 1;
        if (end - p > 1 && p[0] == '-' && p[1] == '>')
                return p + 2;
        for (; (p = memchr(p, '-', (size_t)(end - p))); p++) {
                if (end - p > 2 && p[1] == '-' && p[2] == '>')
                        return p + 3;
                if (end - p > 3 && p[1] == '-' && p[2] == '!' && p[3] == '>')
                        return p + 4;
        }
        return end;
}

/* Skips "<!…>", "<?…>" and "</1…>", which are not shown. */
static const char *skip_hidden(const char *p, const char *end)
{
        if (end - p >= 4 && memcmp(p, "<!--", 4) == 0)
                return skip_comment(p + 4, end);
        p = memchr(p, '>', (size_t)(end - p));
        return p ? p + 1 : end;
}

/* Reads a tag with its attributes. Returns false when the page ends inside it: then it is ignored. */
static bool read_tag(struct html_reader *r, struct html_token *ret)
{
        struct html_attribute ignored;
        const char *p = r->at + 1;
        ret->kind = *p == '/' ? HTML_CLOSE : HTML_OPEN;
        p += *p == '/';
        ret->bytes = p;
        while (p < r->end && !is_space(*p) && *p != '/' && *p != '>')
                p++;
        ret->length = (size_t)(p - ret->bytes);
        ret->attributes = p;
        const char *last = p;
        while (html_next_attribute(&p, r->end, &ignored))
                last = p;
        ret->end = p;
        ret->is_closed = p > last && p[-1] == '/'; /* the last value's own slash does not count */
        r->at = p < r->end ? p + 1 : p;
        return p < r->end;
}

static void update_state(struct html_reader *r, const struct html_token *t)
{
        if (html_equals(t->bytes, t->length, "svg") && !t->is_closed)
                r->svg_depth = t->kind == HTML_OPEN ? r->svg_depth + 1 : r->svg_depth - (r->svg_depth > 0);
        const char *const *raw = t->kind == HTML_OPEN ? find_raw(t) : NULL;
        r->raw = raw && !(r->svg_depth && t->is_closed) ? *raw : NULL;
}

bool html_next(struct html_reader *r, struct html_token *ret)
{
        *ret = (struct html_token){ 0 };
        if (r->raw && read_raw(r, ret))
                return true;
        while (r->at < r->end) {
                const char *p = r->at;
                while (p < r->end && !begins_markup(p, r->end)) {
                        const char *next = memchr(p + 1, '<', (size_t)(r->end - p - 1));
                        p = next ? next : r->end;
                }
                if (p > r->at) {
                        *ret = (struct html_token){ .bytes = r->at, .length = (size_t)(p - r->at) };
                        r->at = p;
                        return true;
                }
                if (is_letter(p[1]) || (p[1] == '/' && r->end - p > 2 && is_letter(p[2]))) {
                        bool is_complete = read_tag(r, ret);
                        if (is_complete)
                                update_state(r, ret);
                        return is_complete;
                }
                r->at = skip_hidden(p, r->end);
        }
        return false;
}
