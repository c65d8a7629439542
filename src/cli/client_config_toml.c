/*
 * Adds an entry to a TOML file, as the table [section.name]; see client_config.h.
 *
 * How it works: the text is parsed statement by statement: table headers, and keys with values. A value is not parsed,
 * but its end is found (past strings of all four kinds, brackets, and comments inside arrays), so that no text inside a
 * value is mistaken for a header. The tables of the old entry, [section.name] and its subtables, are removed, each from
 * its header to its last value; comments after that are kept. The new entry takes the place of the first of them, or is
 * appended to the file.
 *
 * TOML has other forms for the same data: inline tables, dotted keys, arrays of tables. Adding a table to one of these
 * would make the file invalid, so such a file is refused. Values are compared only if their spelling is also valid
 * JSON; any other spelling counts as different. Values of other entries are not validated; the client does that.
 */
#include "cli/client_config.h"

#include <errno.h>
#include <string.h>

enum { SPANS_MAX = 64 }; /* parts of one entry that are separated by other statements */

struct span {
        size_t start, end;
};

struct reader {
        const char *text;
        size_t length, at;
        const struct client_entry *entry;
        struct edit_result *result;
        struct error *error;

        struct span spans[SPANS_MAX];
        size_t span_count;
        json_t *value; /* the existing entry, as far as it could be parsed */
};

/* The full name of a table or key, compared with "section.name" while it is parsed. */
struct path {
        size_t count;     /* number of parts */
        size_t matched;   /* how many leading parts equal those of the entry, at most two */
        struct text last; /* the last part */
};

static void path_done(struct path *p)
{
        text_done(&p->last);
}
#define CLEANUP_PATH CLEANUP(path_done)

static bool is_in_entry(const struct path *p)
{
        return p->matched == 2;
}

static bool is_section(const struct path *p)
{
        return p->matched == 1 && p->count == 1;
}

static int fail(struct reader *r, size_t offset, const char *message)
{
        return edit_fail_at(r->result, r->text, offset, r->error, message);
}

static void skip_blanks(struct reader *r)
{
        r->at += strspn(r->text + r->at, " \t");
}

/* Skips to the next line; only a comment may precede the line end. */
static int finish_line(struct reader *r)
{
        skip_blanks(r);
        if (r->text[r->at] == '#')
                r->at += strcspn(r->text + r->at, "\n");
        if (r->text[r->at] == '\r' && r->text[r->at + 1] == '\n')
                r->at++;
        if (r->at < r->length && r->text[r->at] != '\n')
                return fail(r, r->at, "expected the end of the line");
        r->at += r->at < r->length;
        return 0;
}

/* --- values --- */

/* A multi-line string, which ends with three quotes; up to two quotes before those belong to its text. */
static int skip_long_string(struct reader *r, char quote)
{
        size_t start = r->at;
        for (r->at += 3; r->at < r->length; r->at++) {
                if (quote == '"' && r->text[r->at] == '\\') {
                        r->at += r->at + 1 < r->length;
                } else if (r->text[r->at] == quote) {
                        const char quotes[] = { quote, '\0' };
                        size_t n = strspn(r->text + r->at, quotes);
                        r->at += n < 5 ? n : 5;
                        if (n >= 3)
                                return 0;
                        r->at--;
                }
        }
        return fail(r, start, "this string does not end");
}

static int skip_string(struct reader *r)
{
        size_t start = r->at;
        char quote = r->text[start];
        if (r->text[start + 1] == quote && r->text[start + 2] == quote)
                return skip_long_string(r, quote);
        for (r->at++; r->at < r->length && r->text[r->at] != '\n'; r->at++) {
                if (r->text[r->at] == quote) {
                        r->at++;
                        return 0;
                }
                if (quote == '"' && r->text[r->at] == '\\' && r->text[r->at + 1] != '\n')
                        r->at += r->at + 1 < r->length;
        }
        return fail(r, start, "this string does not end on its line");
}

/* Moves to the first byte after the value and the blanks that follow it. */
static int skip_value(struct reader *r)
{
        size_t start = r->at, depth = 0;
        do {
                char c = r->text[r->at];
                int failed = 0;
                if (c == '"' || c == '\'')
                        failed = skip_string(r);
                else if (c == '#')
                        r->at += strcspn(r->text + r->at, "\n");
                else if ((c == ']' || c == '}') && !depth)
                        failed = fail(r, r->at, "unmatched closing bracket");
                else
                        r->at++;
                if (failed)
                        return failed;
                depth += c == '[' || c == '{';
                depth -= c == ']' || c == '}';
        } while (r->at < r->length && (depth || !strchr("#\r\n", r->text[r->at])));
        return depth ? fail(r, start, "this bracket is not closed") : 0;
}

/* --- names --- */

static int read_part(struct reader *r, struct text *ret)
{
        size_t start = r->at;
        char quote = r->text[start];
        text_done(ret);
        if (quote != '"' && quote != '\'') {
                r->at += strspn(r->text + r->at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");
                text_add_bytes(ret, r->text + start, r->at - start);
                return r->at > start ? 0 : fail(r, start, "expected a name");
        }
        int failed = skip_string(r);
        if (failed)
                return failed;
        if (quote == '\'') {
                text_add_bytes(ret, r->text + start + 1, r->at - start - 2);
                return 0;
        }
        CLEANUP_JSON json_t *part = json_loadb(r->text + start, r->at - start, JSON_DECODE_ANY, NULL);
        if (!part)
                return fail(r, start, "this name is invalid");
        text_add(ret, json_string_value(part));
        return 0;
}

/* Parses a dotted name and appends it to the path. */
static int read_path(struct reader *r, struct path *p)
{
        const char *const wanted[] = { r->entry->section, r->entry->name };
        for (;; r->at++) {
                skip_blanks(r);
                int failed = read_part(r, &p->last);
                if (failed)
                        return failed;
                if (p->count < ARRAY_SIZE(wanted) && p->matched == p->count && p->last.data &&
                    strcmp(p->last.data, wanted[p->count]) == 0)
                        p->matched++;
                p->count++;
                skip_blanks(r);
                if (r->text[r->at] != '.')
                        return 0;
        }
}

/* --- statements --- */

/* Records a part of the entry; joins it with the previous one if only white space is between them. */
static int add_span(struct reader *r, size_t start, size_t end)
{
        struct span *last = r->span_count ? &r->spans[r->span_count - 1] : NULL;
        if (last && last->end + strspn(r->text + last->end, " \t\r\n") >= start) {
                last->end = end;
                return 0;
        }
        if (r->span_count == SPANS_MAX)
                return fail(r, start, "the entry has too many parts");
        r->spans[r->span_count++] = (struct span){ start, end };
        return 0;
}

static int read_header(struct reader *r, struct path *table)
{
        size_t start = r->at;
        bool array = r->text[start + 1] == '[';
        path_done(table);
        *table = (struct path){ 0 };
        r->at += array ? 2 : 1;
        int failed = read_path(r, table);
        if (!failed && strncmp(r->text + r->at, array ? "]]" : "]", array ? 2 : 1) != 0)
                failed = fail(r, r->at, "expected the end of the table's name");
        r->at += array ? 2 : 1;
        if (!failed)
                failed = finish_line(r);
        if (failed)
                return failed;
        if (array && (is_in_entry(table) || is_section(table)))
                return fail(r, start, "the servers are an array of tables here");
        if (!is_in_entry(table))
                return 0;
        while (start && strchr(" \t", r->text[start - 1]))
                start--;
        return add_span(r, start, r->at);
}

/* A value that cannot be parsed is stored under the key "", so that the entry never equals the new one. */
static void store_value(struct reader *r, const struct path *table, const struct path *key, struct span value)
{
        json_t *json = NULL;
        if (table->count == 2 && key->count == 3)
                json = json_loadb(r->text + value.start, value.end - value.start, JSON_DECODE_ANY, NULL);
        (void)json_object_set_new(r->value, json && key->last.data ? key->last.data : "", json ? json : json_null());
}

static int read_key(struct reader *r, const struct path *table)
{
        CLEANUP_PATH struct path key = { .count = table->count, .matched = table->matched };
        size_t start = r->at;
        int failed = read_path(r, &key);
        if (!failed && r->text[r->at] != '=')
                failed = fail(r, r->at, "expected '='");
        if (failed)
                return failed;
        r->at++;
        skip_blanks(r);
        if (r->at >= r->length || strchr("#\r\n", r->text[r->at]))
                return fail(r, r->at, "expected a value");
        struct span value = { .start = r->at };
        failed = skip_value(r);
        value.end = r->at;
        if (!failed)
                failed = finish_line(r);
        if (failed)
                return failed;
        if (is_in_entry(table)) {
                store_value(r, table, &key, value);
                return add_span(r, start, r->at);
        }
        if (is_in_entry(&key) || is_section(&key))
                return fail(r, start, "the servers are not written as tables here");
        return 0;
}

static int read_all(struct reader *r)
{
        CLEANUP_PATH struct path table = { 0 };
        int failed = 0;
        if (strncmp(r->text, "\xef\xbb\xbf", 3) == 0)
                r->at = 3;
        while (!failed && r->at < r->length) {
                skip_blanks(r);
                if (r->at >= r->length || strchr("#\r\n", r->text[r->at]))
                        failed = finish_line(r);
                else if (r->text[r->at] == '[')
                        failed = read_header(r, &table);
                else
                        failed = read_key(r, &table);
        }
        return failed;
}

/* --- writing --- */

/* Writes a basic string. TOML requires control characters and DEL to be escaped. */
static void add_string(struct text *out, const char *string)
{
        text_add(out, "\"");
        for (const unsigned char *c = (const unsigned char *)string; *c; c++) {
                if (*c < ' ' || *c == 0x7f)
                        text_format(out, "\\u%04X", *c);
                else
                        text_format(out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
        }
        text_add(out, "\"");
}

static void add_section(struct text *out, const struct client_entry *entry, const char *newline)
{
        const char *key;
        json_t *value;
        text_format(out, "[%s.%s]%s", entry->section, entry->name, newline);
        json_object_foreach(entry->value, key, value) {
                text_format(out, "%s = %s", key, json_is_array(value) ? "[" : "");
                for (size_t i = 0; i < json_array_size(value); i++) {
                        text_add(out, i ? ", " : "");
                        add_string(out, json_string_value(json_array_get(value, i)));
                }
                if (json_is_array(value))
                        text_add(out, "]");
                else
                        add_string(out, json_string_value(value));
                text_add(out, newline);
        }
}

static void print(const struct client_entry *entry, struct text *out)
{
        add_section(out, entry, "\n");
}

static void append(struct reader *r, struct text *out)
{
        const char *newline = edit_newline(r->text);
        text_add_bytes(out, r->text, r->length);
        if (r->length && r->text[r->length - 1] != '\n')
                text_add(out, newline);
        if (r->length)
                text_add(out, newline);
        add_section(out, r->entry, newline);
}

static void replace(struct reader *r, struct text *out)
{
        size_t done = 0;
        for (size_t i = 0; i < r->span_count; i++) {
                text_add_bytes(out, r->text + done, r->spans[i].start - done);
                if (i == 0)
                        add_section(out, r->entry, edit_newline(r->text));
                done = r->spans[i].end;
        }
        text_add_bytes(out, r->text + done, r->length - done);
}

/* --- the format --- */

/* Compares the entry that was found with the new one, and writes the result. */
static int make_change(struct reader *r, bool force)
{
        struct text *out = &r->result->text;
        if (!r->span_count) {
                append(r, out);
                return EDIT_ADDED;
        }
        if (json_equal(r->value, r->entry->value))
                return EDIT_UNCHANGED;
        if (force) {
                replace(r, out);
                return EDIT_REPLACED;
        }
        for (size_t i = 0; i < r->span_count; i++)
                text_add_bytes(out, r->text + r->spans[i].start, r->spans[i].end - r->spans[i].start);
        return EDIT_CONFLICT;
}

static int set(const struct client_entry *entry, const char *text, size_t length, bool force, struct edit_result *ret,
               struct error *e)
{
        CLEANUP_JSON json_t *value = json_object();
        struct reader r = { .text = text, .length = length, .entry = entry, .result = ret, .error = e, .value = value };
        if (!value)
                return error_errno(e, ENOMEM, "cannot store the entry");
        int failed = edit_check_text(ret, text, length, e);
        if (!failed)
                failed = read_all(&r);
        return failed ? failed : make_change(&r, force);
}

const struct client_config_format client_config_toml = { "TOML", print, set };
