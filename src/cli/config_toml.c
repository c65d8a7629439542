/*
 * An entry in a TOML file: a table of its own, [section.name]; see config_edit.h.
 *
 * How it works: the text is read statement by statement: table headers, and keys with their values. Of a value only its
 * end is looked for (strings of all four kinds, brackets, comments in between), so that nothing inside of one is ever
 * taken for a header. The tables of the entry, [section.name] and those below it, are cut out where they stand, each
 * from its header to its last value; comments behind that stay. A new entry goes to the end, where a header is always
 * allowed.
 *
 * TOML can say the same in other ways: as an inline table, with dotted keys, as an array of tables. Adding a table to
 * these would make the file invalid, so they are refused. Values are compared only in the spelling that TOML shares
 * with JSON; any other counts as another entry. Whether values make sense is left to the client, which reads them all.
 */
#include "cli/config_edit.h"

#include <errno.h>
#include <string.h>

enum { SPANS_MAX = 64 }; /* tables of one entry that are not side by side */

struct span {
        size_t start, end;
};

struct reader {
        const char *text;
        size_t length, at;
        const struct config_entry *entry;
        struct config_change *change;
        struct error *error;

        struct span spans[SPANS_MAX];
        size_t span_count;
        json_t *value; /* what the entry says, as far as it is understood */
};

/* A table's or a key's full name, compared with that of the entry while it is read. */
struct path {
        size_t count;   /* parts */
        size_t matched; /* the first parts that are those of the entry, two at most */
        struct text last;
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
        return config_fail_at(r->change, r->text, offset, r->error, message);
}

static void skip_blanks(struct reader *r)
{
        r->at += strspn(r->text + r->at, " \t");
}

/* To the end of the line: nothing but a comment may be there. */
static int finish_line(struct reader *r)
{
        skip_blanks(r);
        if (r->text[r->at] == '#')
                r->at += strcspn(r->text + r->at, "\n");
        if (r->text[r->at] == '\r' && r->text[r->at + 1] == '\n')
                r->at++;
        if (r->at < r->length && r->text[r->at] != '\n')
                return fail(r, r->at, "the line should end here");
        r->at += r->at < r->length;
        return 0;
}

/* --- values --- */

/* A string of several lines, which ends at three quotes; up to two more belong to its text. */
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

/* Leaves the reader behind the value, at what else is on its line. */
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
                        failed = fail(r, r->at, "this bracket closes nothing");
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
                return r->at > start ? 0 : fail(r, start, "a name should stand here");
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
                return fail(r, start, "this name is not understood");
        text_add(ret, json_string_value(part));
        return 0;
}

/* Reads a dotted name; p says what stood in front of it. */
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

/* A part of the entry: joins the one before when there is only white space between them. */
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
                failed = fail(r, r->at, "the name of the table should end here");
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

/* What is not understood stands under a key that no new entry has. */
static void note_value(struct reader *r, const struct path *table, const struct path *key, struct span value)
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
                failed = fail(r, r->at, "a '=' should stand here");
        if (failed)
                return failed;
        r->at++;
        skip_blanks(r);
        if (r->at >= r->length || strchr("#\r\n", r->text[r->at]))
                return fail(r, r->at, "a value should stand here");
        struct span value = { .start = r->at };
        failed = skip_value(r);
        value.end = r->at;
        if (!failed)
                failed = finish_line(r);
        if (failed)
                return failed;
        if (is_in_entry(table)) {
                note_value(r, table, &key, value);
                return add_span(r, start, r->at);
        }
        if (is_in_entry(&key) || is_section(&key))
                return fail(r, start, "the servers are written in another way here than as tables");
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

/* JSON's escapes are TOML's as well, but for characters beyond 16 bits and for DEL. */
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

static void add_section(struct text *out, const struct config_entry *entry, const char *newline)
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

static void print(const struct config_entry *entry, struct text *out)
{
        add_section(out, entry, "\n");
}

static void append(struct reader *r, struct text *out)
{
        const char *newline = config_newline(r->text);
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
                        add_section(out, r->entry, config_newline(r->text));
                done = r->spans[i].end;
        }
        text_add_bytes(out, r->text + done, r->length - done);
}

/* --- the format --- */

static int decide(struct reader *r, bool force)
{
        struct text *out = &r->change->text;
        if (!r->span_count) {
                append(r, out);
                return CONFIG_ADDED;
        }
        if (json_equal(r->value, r->entry->value))
                return CONFIG_SAME;
        if (force) {
                replace(r, out);
                return CONFIG_REPLACED;
        }
        for (size_t i = 0; i < r->span_count; i++)
                text_add_bytes(out, r->text + r->spans[i].start, r->spans[i].end - r->spans[i].start);
        return CONFIG_OTHER;
}

static int set(const struct config_entry *entry, const char *text, size_t length, bool force, struct config_change *ret,
               struct error *e)
{
        CLEANUP_JSON json_t *value = json_object();
        struct reader r = { .text = text, .length = length, .entry = entry, .change = ret, .error = e, .value = value };
        if (!value)
                return error_errno(e, ENOMEM, "configuration", "cannot store the entry");
        int failed = config_check_text(ret, text, length, e);
        if (!failed)
                failed = read_all(&r);
        return failed ? failed : decide(&r, force);
}

const struct config_format config_toml = { "TOML", print, set };
