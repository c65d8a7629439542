/*
 * Parser of git configurations; see git_config_parse.h.
 *
 * It follows git's own parser (config.c in git, from 2.9 on) step by step: a key that git sees and this parser misses
 * would be a security hole. git_config_parse(), which is for text that a box wrote, refuses some text that git accepts,
 * because no file needs it: NUL bytes, at which git truncates a name or a value; the byte 0xff, which git takes for EOF
 * when it reads .gitmodules from a commit; keys outside a section; very many settings.
 *
 * What an attacker controls: every byte of the text. One pass, no recursion; names, entries and bytes have caps.
 */
#include "policy/git_config_parse.h"

#include <errno.h>
#include <string.h>

#include "policy/input_limits.h"

struct reader {
        const char *at, *end;
        bool at_end;      /* the newline that git adds after the last byte was read */
        unsigned line;    /* of the next byte */
        char *scratch;    /* a buffer as large as the text */
        struct arena *arena;
        const char *base; /* of the current section, NULL before the first */
        bool strict;      /* refuses some text that git accepts */
        bool no_memory;
        struct git_config *config;
};

/* Git's character classes, which do not depend on the locale. */
static bool is_space(int c)
{
        return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_alpha(int c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_key_byte(int c)
{
        return is_alpha(c) || (c >= '0' && c <= '9') || c == '-';
}

static char to_lower(int c)
{
        return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* The next byte. CR LF counts as one newline, and EOF as a newline. */
static int next_byte(struct reader *r)
{
        if (r->at == r->end) {
                r->at_end = true;
                return '\n';
        }
        int c = (unsigned char)*r->at++;
        if (c == '\r' && r->at < r->end && *r->at == '\n')
                c = (unsigned char)*r->at++;
        r->line += c == '\n';
        return c;
}

/* Notes if an allocation failed. */
static void *allocated(struct reader *r, void *memory)
{
        r->no_memory |= !memory;
        return memory;
}

/* Reads the quoted part of [section "subsection"] into `scratch`. `c` is the white space in front of it. */
static bool read_subsection(struct reader *r, int c, size_t *used)
{
        while (c != '\n' && is_space(c))
                c = next_byte(r);
        if (c != '"')
                return false;
        r->scratch[(*used)++] = '.';
        while ((c = next_byte(r)) != '"') {
                if (c == '\\')
                        c = next_byte(r);
                if (c == '\n')
                        return false;
                r->scratch[(*used)++] = (char)c;
        }
        return next_byte(r) == ']';
}

/* Reads a section header from after its opening bracket. */
static bool read_section(struct reader *r)
{
        size_t used = 0;
        for (int c; (c = next_byte(r)) != ']';) {
                if (is_space(c)) {
                        if (!read_subsection(r, c, &used))
                                return false;
                        break;
                }
                if (!is_key_byte(c) && c != '.')
                        return false;
                r->scratch[used++] = to_lower(c);
        }
        if (used < 1 || (r->strict && used > POLICY_TEXT_MAX))
                return false;
        r->base = allocated(r, arena_strndup(r->arena, r->scratch, used));
        return r->base;
}

enum { LINE_CONTINUES = -1, BAD_ESCAPE = -2 };

/* Reads an escape sequence from after its backslash. Returns the byte that it stands for, or one of the above. */
static int read_escape(struct reader *r)
{
        static const char escapes[][2] = { { 't', '\t' }, { 'b', '\b' }, { 'n', '\n' }, { '\\', '\\' }, { '"', '"' } };
        int c = next_byte(r);
        if (c == '\n')
                return LINE_CONTINUES;
        for (size_t i = 0; i < ARRAY_SIZE(escapes); i++)
                if (c == escapes[i][0])
                        return escapes[i][1];
        return BAD_ESCAPE;
}

/* Reads a value from after the "=" to the end of its last line. */
static bool read_value(struct reader *r, struct git_config_entry *e)
{
        bool quoted = false, comment = false;
        size_t used = 0, trimmed = 0; /* `trimmed`: the length without trailing white space */
        e->raw = r->at;
        for (int c; (c = next_byte(r)) != '\n';) {
                comment = comment || (!quoted && (c == ';' || c == '#'));
                if (comment)
                        continue;
                if (!quoted && is_space(c)) {
                        if (used)
                                r->scratch[used++] = (char)c;
                        continue;
                }
                for (size_t i = trimmed; i < used; i++)
                        e->ambiguous |= r->scratch[i] != ' ';
                if (c == '"')
                        quoted = !quoted;
                else if (c != '\\' || (c = read_escape(r)) >= 0)
                        r->scratch[used++] = (char)c;
                if (c == BAD_ESCAPE)
                        return false;
                trimmed = used;
        }
        e->raw_length = (size_t)(r->at - e->raw);
        e->value = quoted ? NULL : allocated(r, arena_strndup(r->arena, r->scratch, trimmed));
        return e->value;
}

/* Reads a key, whose first byte is `c`, and its value. */
static bool read_entry(struct reader *r, int c)
{
        unsigned line = r->line;
        size_t used = 0;
        if (r->strict && (!r->base || r->config->count == GIT_CONFIG_ENTRIES_MAX))
                return false;
        do {
                r->scratch[used++] = to_lower(c);
                c = next_byte(r);
        } while (is_key_byte(c));
        while (c == ' ' || c == '\t')
                c = next_byte(r);
        struct git_config *config = r->config;
        struct git_config_entry *e =
                allocated(r, arena_array_push(r->arena, &config->entries, &config->count, sizeof *e));
        if (!e)
                return false;
        *e = (struct git_config_entry){
                .base = r->base ? r->base : "",
                .key = allocated(r, arena_strndup(r->arena, r->scratch, used)),
                .line = line,
        };
        if (!e->key)
                return false;
        return c == '\n' || (c == '=' && read_value(r, e));
}

/* Reads a comment, a section header, an entry, or one byte of white space. */
static bool read_item(struct reader *r)
{
        int c = next_byte(r);
        if (is_space(c))
                return true;
        if (c == '#' || c == ';') {
                while (next_byte(r) != '\n')
                        ;
                return true;
        }
        if (c == '[')
                return read_section(r);
        return is_alpha(c) && read_entry(r, c);
}

static bool parse_failed(const struct reader *r, unsigned line, struct text *why)
{
        if (!why)
                return false;
        if (r->config->count == GIT_CONFIG_ENTRIES_MAX)
                text_format(why, "more than %d settings", GIT_CONFIG_ENTRIES_MAX);
        else
                text_format(why, "line %u cannot be parsed", line);
        return false;
}

/* Whether every byte may be in a configuration of a box. */
static bool check_bytes(struct reader *r)
{
        for (const char *p = r->at; p < r->end; p++) {
                if (*p == '\0' || (unsigned char)*p == 0xff)
                        return false;
                r->line += *p == '\n';
        }
        r->line = 1;
        return true;
}

static bool parse(struct reader *r, const char *text, size_t length, struct text *why)
{
        static const char bom[] = "\xef\xbb\xbf";
        *r->config = (struct git_config){ 0 };
        r->at = text;
        r->end = text + length;
        r->line = 1;
        r->scratch = allocated(r, arena_alloc(r->arena, length + 1));
        if (!r->scratch)
                return parse_failed(r, 1, why);
        if (length >= 3 && memcmp(text, bom, 3) == 0)
                r->at += 3;
        if (r->strict && !check_bytes(r))
                return parse_failed(r, r->line, why);
        while (!r->at_end) {
                unsigned line = r->line;
                if (!read_item(r))
                        return parse_failed(r, line, why);
        }
        return true;
}

bool git_config_parse(struct arena *a, const char *text, size_t length, struct git_config *ret, struct text *why)
{
        *ret = (struct git_config){ 0 };
        if (length > GIT_CONFIG_BYTES_MAX) {
                if (why)
                        text_format(why, "longer than %d bytes", GIT_CONFIG_BYTES_MAX);
                return false;
        }
        return parse(&(struct reader){ .arena = a, .config = ret, .strict = true }, text, length, why);
}

int git_config_parse_as_git(struct arena *a, const char *text, size_t length, struct git_config *ret)
{
        struct reader r = { .arena = a, .config = ret };
        return parse(&r, text, length, NULL) ? 0 : r.no_memory ? -ENOMEM : -EINVAL;
}

const char *git_config_last(const struct git_config *config, const char *base, const char *key)
{
        for (size_t i = config->count; i > 0; i--) {
                const struct git_config_entry *x = &config->entries[i - 1];
                if (strcmp(x->base, base) == 0 && strcmp(x->key, key) == 0)
                        return x->value;
        }
        return NULL;
}
