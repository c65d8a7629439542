/*
 * Changes a TOML file; see client_config.h. An entry is the table [section.name]; the client's own tools are switched
 * off by keys of another table.
 *
 * How it works: the text is parsed statement by statement: table headers, and keys with values. A value is not parsed,
 * but its end is found (past strings of all four kinds, brackets, and comments inside arrays), so that no text inside a
 * value is mistaken for a header. The tables of the old entry, [section.name] and its subtables, are removed, each from
 * its header to its last value; comments after that are kept. The new entry takes the place of the first of them, or is
 * appended to the file. A key is added after the last one of its table, or in a new table at the end of the file. What
 * has to change is collected as patches, which are applied in the order of the text.
 *
 * TOML has other forms for the same data: inline tables, dotted keys, arrays of tables. Adding a table to one of these
 * would make the file invalid, so such a file is refused. Values are compared only if their spelling is also valid
 * JSON; any other spelling counts as different. Values of other entries are not validated; the client does that.
 */
#include "cli/client_config.h"

#include <errno.h>
#include <string.h>

enum {
        SPANS_MAX = 64, /* parts of one entry that are separated by other statements */
        PATCHES_MAX = SPANS_MAX,
};

struct span {
        size_t start, end;
};

/* The table with the switches, as it was found. */
struct switch_table {
        bool found;
        struct span header;               /* the line of its header */
        size_t end;                       /* after its last key's line, or after its header */
        size_t key_count;                 /* all its keys */
        struct span lines[SWITCHES_MAX];  /* of the names: the line of the key, */
        struct span values[SWITCHES_MAX]; /* and its value */
        uint32_t off, other;              /* the names with the value false, and those with another value */
};

struct reader {
        const char *text;
        size_t length, at;
        const struct client_entry *entry;        /* what is looked for: this, */
        const struct client_switches *switches; /* or this; the other one is NULL */
        struct edit_result *result;
        struct error *error;

        struct span spans[SPANS_MAX]; /* of the entry */
        size_t span_count;
        json_t *value; /* the existing entry, as far as it could be parsed */
        struct switch_table table;
};

/* The full name of a table or key, compared with "section.name", or the table of the switches, while it is parsed. */
struct path {
        size_t count;     /* number of parts */
        size_t matched;   /* how many leading parts equal the wanted ones, at most two */
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

/* Is it [section], or the table of the switches? */
static bool is_section(const struct path *p)
{
        return p->matched == 1 && p->count == 1;
}

static int fail(struct reader *r, size_t offset, const char *message)
{
        return edit_fail_at(r->result, r->text, offset, r->error, message);
}

/* Fails at the first character of a line that is not a blank. */
static int fail_at_line(struct reader *r, struct span line, const char *message)
{
        return fail(r, line.start + strspn(r->text + line.start, " \t"), message);
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
        const char *const wanted[] = { r->entry ? r->entry->section : r->switches->table,
                                       r->entry ? r->entry->name : NULL };
        size_t wanted_count = r->entry ? 2 : 1;
        for (;; r->at++) {
                skip_blanks(r);
                int failed = read_part(r, &p->last);
                if (failed)
                        return failed;
                if (p->count < wanted_count && p->matched == p->count && p->last.data &&
                    strcmp(p->last.data, wanted[p->count]) == 0)
                        p->matched++;
                p->count++;
                skip_blanks(r);
                if (r->text[r->at] != '.')
                        return 0;
        }
}

/* --- the statements of the entry --- */

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

/* A value that cannot be parsed is stored under the key "", so that the entry never equals the new one. */
static void store_value(struct reader *r, const struct path *table, const struct path *key, struct span value)
{
        json_t *json = NULL;
        if (table->count == 2 && key->count == 3)
                json = json_loadb(r->text + value.start, value.end - value.start, JSON_DECODE_ANY, NULL);
        (void)json_object_set_new(r->value, json && key->last.data ? key->last.data : "", json ? json : json_null());
}

static int take_entry_header(struct reader *r, const struct path *table, bool array, struct span line)
{
        if (array && (is_in_entry(table) || is_section(table)))
                return fail_at_line(r, line, "the servers are an array of tables here");
        return is_in_entry(table) ? add_span(r, line.start, line.end) : 0;
}

static int take_entry_key(struct reader *r, const struct path *table, const struct path *key, struct span line,
                          struct span value)
{
        if (is_in_entry(table)) {
                store_value(r, table, key, value);
                return add_span(r, line.start, line.end);
        }
        if (is_in_entry(key) || is_section(key))
                return fail_at_line(r, line, "the servers are not written as tables here");
        return 0;
}

/* --- the statements of the switches --- */

/* The index of a name of the switches; SWITCHES_MAX if it is none. */
static size_t find_switch(const struct reader *r, const struct text *name)
{
        for (size_t i = 0; i < SWITCHES_MAX && r->switches->names[i] && name->data; i++)
                if (strcmp(r->switches->names[i], name->data) == 0)
                        return i;
        return SWITCHES_MAX;
}

static int take_switch_header(struct reader *r, const struct path *table, bool array, struct span line)
{
        if (!table->matched)
                return 0;
        if (table->count > 1)
                return table->count == 2 && find_switch(r, &table->last) < SWITCHES_MAX
                               ? fail_at_line(r, line, "this setting is a table here")
                               : 0;
        if (array)
                return fail_at_line(r, line, "the settings are an array of tables here");
        if (r->table.found)
                return fail_at_line(r, line, "this table is there twice");
        r->table.found = true;
        r->table.header = line;
        r->table.end = line.end;
        return 0;
}

static int take_switch_key(struct reader *r, const struct path *table, const struct path *key, struct span line,
                           struct span value)
{
        struct switch_table *t = &r->table;
        if (!table->count && key->matched)
                return fail_at_line(r, line, "the settings are not written as a table here");
        if (!is_section(table))
                return 0;
        t->end = line.end;
        t->key_count++;
        size_t i = key->count == 2 ? find_switch(r, &key->last) : SWITCHES_MAX;
        if (i == SWITCHES_MAX)
                return 0;
        if ((t->off | t->other) & (uint32_t)1 << i)
                return fail_at_line(r, line, "this key is there twice");
        while (value.end > value.start && strchr(" \t", r->text[value.end - 1]))
                value.end--;
        t->lines[i] = line;
        t->values[i] = value;
        bool off = value.end - value.start == 5 && strncmp(r->text + value.start, "false", 5) == 0;
        *(off ? &t->off : &t->other) |= (uint32_t)1 << i;
        return 0;
}

/* --- all statements --- */

/* The start of the line, if only blanks are between it and the offset. */
static size_t line_start(const struct reader *r, size_t offset)
{
        while (offset && strchr(" \t", r->text[offset - 1]))
                offset--;
        return offset;
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
        struct span line = { line_start(r, start), r->at };
        return r->entry ? take_entry_header(r, table, array, line) : take_switch_header(r, table, array, line);
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
        struct span line = { line_start(r, start), r->at };
        return r->entry ? take_entry_key(r, table, &key, line, value) : take_switch_key(r, table, &key, line, value);
}

static int read_all(struct reader *r)
{
        CLEANUP_PATH struct path table = { 0 };
        int failed = edit_check_text(r->result, r->text, r->length, r->error);
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
        for (const unsigned char *c = (const unsigned char *)(string ? string : ""); *c; c++) {
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

static void add_keys(struct text *out, const struct client_switches *s, uint32_t which, const char *newline)
{
        for (size_t i = 0; i < SWITCHES_MAX && s->names[i]; i++)
                if (which & (uint32_t)1 << i)
                        text_format(out, "%s = false%s", s->names[i], newline);
}

static void add_switches(struct text *out, const struct client_switches *s, const char *newline)
{
        text_format(out, "[%s]%s", s->table, newline);
        add_keys(out, s, client_switches_all(s), newline);
}

static void print(const struct client_entry *entry, const struct client_switches *s, struct text *out)
{
        if (entry)
                add_section(out, entry, "\n");
        text_add(out, entry && s ? "\n" : "");
        if (s)
                add_switches(out, s, "\n");
}

/* Writes the text, and what separates it from a table that is added to its end. */
static void start_appending(struct reader *r, struct text *out)
{
        const char *newline = edit_newline(r->text);
        text_add_bytes(out, r->text, r->length);
        if (r->length && r->text[r->length - 1] != '\n')
                text_add(out, newline);
        if (r->length)
                text_add(out, newline);
}

/* --- patches --- */

struct patch {
        struct span span;
        const char *text; /* what takes its place */
};

struct patches {
        struct patch list[PATCHES_MAX]; /* in the order of the text; they do not overlap */
        size_t count;
};

static void add_patch(struct patches *p, struct span span, const char *text)
{
        size_t i = p->count++;
        for (; i && p->list[i - 1].span.start > span.start; i--)
                p->list[i] = p->list[i - 1];
        p->list[i] = (struct patch){ span, text };
}

static void apply(const struct reader *r, const struct patches *p, struct text *out)
{
        size_t done = 0;
        for (size_t i = 0; i < p->count; i++) {
                text_add_bytes(out, r->text + done, p->list[i].span.start - done);
                text_add(out, p->list[i].text);
                done = p->list[i].span.end;
        }
        text_add_bytes(out, r->text + done, r->length - done);
}

/* If a table is at the end of the text, or in front of an empty line, takes the empty line before it along. */
static struct span with_empty_line(const struct reader *r, struct span span)
{
        size_t previous = span.start;
        if (span.end < r->length && r->text[span.end] != '\n' && strncmp(r->text + span.end, "\r\n", 2) != 0)
                return span;
        if (previous && r->text[previous - 1] == '\n')
                previous--;
        if (previous < span.start && previous && r->text[previous - 1] == '\r')
                previous--;
        if (previous < span.start && (!previous || r->text[previous - 1] == '\n'))
                span.start = previous;
        return span;
}

/* --- the entry --- */

/* Compares the entry that was found with the new one, and writes the result. */
static int make_change(struct reader *r, bool force)
{
        struct text *out = &r->result->text;
        const char *newline = edit_newline(r->text);
        if (!r->span_count) {
                start_appending(r, out);
                add_section(out, r->entry, newline);
                return EDIT_ADDED;
        }
        if (json_equal(r->value, r->entry->value))
                return EDIT_UNCHANGED;
        if (!force) {
                for (size_t i = 0; i < r->span_count; i++)
                        text_add_bytes(out, r->text + r->spans[i].start, r->spans[i].end - r->spans[i].start);
                return EDIT_CONFLICT;
        }
        CLEANUP_TEXT struct text section = { 0 };
        struct patches patches = { 0 };
        add_section(&section, r->entry, newline);
        out->failed |= section.failed;
        for (size_t i = 0; i < r->span_count; i++)
                add_patch(&patches, r->spans[i], i || !section.data ? "" : section.data);
        apply(r, &patches, out);
        return EDIT_REPLACED;
}

static int set(const struct client_entry *entry, const char *text, size_t length, bool force, struct edit_result *ret,
               struct error *e)
{
        CLEANUP_JSON json_t *value = json_object();
        struct reader r = { .text = text, .length = length, .entry = entry, .result = ret, .error = e, .value = value };
        if (!value)
                return error_errno(e, ENOMEM, "cannot store the entry");
        int failed = read_all(&r);
        return failed ? failed : make_change(&r, force);
}

static int remove_entry(const struct client_entry *entry, const char *text, size_t length, struct edit_result *ret,
                        struct error *e)
{
        CLEANUP_JSON json_t *value = json_object();
        struct reader r = { .text = text, .length = length, .entry = entry, .result = ret, .error = e, .value = value };
        struct patches patches = { 0 };
        if (!value)
                return error_errno(e, ENOMEM, "cannot read the entry");
        int failed = read_all(&r);
        if (failed)
                return failed;
        if (!r.span_count)
                return EDIT_UNCHANGED;
        for (size_t i = 0; i < r.span_count; i++) {
                text_add_bytes(&ret->removed, text + r.spans[i].start, r.spans[i].end - r.spans[i].start);
                add_patch(&patches, with_empty_line(&r, r.spans[i]), "");
        }
        ret->removed_value = json_incref(value);
        apply(&r, &patches, &ret->text);
        return EDIT_REMOVED;
}

/* --- the switches --- */

static int switch_off(const struct client_switches *s, const char *text, size_t length, struct edit_result *ret,
                      struct error *e)
{
        struct reader r = { .text = text, .length = length, .switches = s, .result = ret, .error = e };
        const struct switch_table *t = &r.table;
        const char *newline = edit_newline(text);
        struct patches patches = { 0 };
        CLEANUP_TEXT struct text keys = { 0 };
        int failed = read_all(&r);
        if (failed)
                return failed;
        ret->present = t->off;
        if (t->off == client_switches_all(s))
                return EDIT_UNCHANGED;
        if (!t->found) {
                start_appending(&r, &ret->text);
                add_switches(&ret->text, s, newline);
                return EDIT_ADDED;
        }
        text_add(&keys, text[t->end - 1] == '\n' ? "" : newline);
        add_keys(&keys, s, client_switches_all(s) & ~(t->off | t->other), newline);
        for (size_t i = 0; i < SWITCHES_MAX; i++)
                if (t->other & (uint32_t)1 << i)
                        add_patch(&patches, t->values[i], "false");
        if (client_switches_all(s) & ~(t->off | t->other))
                add_patch(&patches, (struct span){ t->end, t->end }, keys.data ? keys.data : "");
        apply(&r, &patches, &ret->text);
        ret->text.failed |= keys.failed;
        return EDIT_ADDED;
}

/* Would nothing but the header be left of the table, and was the header written as it is added? */
static bool is_table_used_up(const struct reader *r, uint32_t removed)
{
        const struct switch_table *t = &r->table;
        CLEANUP_TEXT struct text header = { 0 };
        size_t count = 0, bytes = 0;
        for (size_t i = 0; i < SWITCHES_MAX; i++)
                if (removed & (uint32_t)1 << i) {
                        count++;
                        bytes += t->lines[i].end - t->lines[i].start;
                }
        text_format(&header, "[%s]%s", r->switches->table, edit_newline(r->text));
        return count == t->key_count && bytes == t->end - t->header.end && header.data &&
               header.length == t->header.end - t->header.start &&
               memcmp(r->text + t->header.start, header.data, header.length) == 0;
}

static int switch_on(const struct client_switches *s, uint32_t which, const char *text, size_t length,
                     struct edit_result *ret, struct error *e)
{
        struct reader r = { .text = text, .length = length, .switches = s, .result = ret, .error = e };
        struct patches patches = { 0 };
        int failed = read_all(&r);
        if (failed)
                return failed;
        uint32_t removed = r.table.off & which;
        ret->present = r.table.off;
        if (!removed)
                return EDIT_UNCHANGED;
        if (is_table_used_up(&r, removed)) {
                add_patch(&patches, with_empty_line(&r, (struct span){ r.table.header.start, r.table.end }), "");
        } else {
                for (size_t i = 0; i < SWITCHES_MAX; i++)
                        if (removed & (uint32_t)1 << i)
                                add_patch(&patches, r.table.lines[i], "");
        }
        apply(&r, &patches, &ret->text);
        return EDIT_REMOVED;
}

const struct client_config_format client_config_toml = { "TOML", print, set, remove_entry, switch_off, switch_on };
