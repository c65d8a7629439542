/*
 * Adds an entry to a JSON file; see client_config.h.
 *
 * How it works: jansson parses the text first, strictly. Then the text is known to be valid JSON, so members can be
 * found by skipping strings and brackets. The new text is inserted after the last member of its object, or replaces the
 * old value. It is formatted like its neighbours: with their indentation, or on one line. Parsing and rewriting the
 * whole file would be simpler, but would change numbers, escapes and white space of other entries.
 *
 * A file with comments or trailing commas, which some clients allow, is not JSON and is refused.
 */
#include "cli/client_config.h"

#include <errno.h>
#include <string.h>

static const char space[] = " \t\r\n";

/* --- skipping over JSON that is known to be valid --- */

static size_t skip_space(const char *text, size_t i)
{
        return i + strspn(text + i, space);
}

static size_t skip_string(const char *text, size_t i)
{
        for (i++; text[i] && text[i] != '"'; i++)
                if (text[i] == '\\' && text[i + 1])
                        i++;
        return text[i] ? i + 1 : i;
}

static size_t skip_value(const char *text, size_t i)
{
        size_t depth = 0;
        do {
                if (text[i] == '"') {
                        i = skip_string(text, i);
                        continue;
                }
                depth += text[i] == '{' || text[i] == '[';
                depth -= depth && (text[i] == '}' || text[i] == ']');
                i++;
        } while (text[i] && (depth || !strchr(",}] \t\r\n", text[i])));
        return i;
}

struct member {
        size_t key, value, end; /* offsets of the key and the value, and the offset after the value */
};

struct object {
        size_t open, close;        /* offsets of its brackets */
        struct member first, last; /* first.key is 0 if the object is empty; no member's key has offset 0 */
        struct member found;       /* the wanted member; found.key is 0 if there is none */
};

/* Is the string at this offset equal to `wanted`, however it is escaped? */
static bool is_string(const char *text, size_t i, const char *wanted)
{
        CLEANUP_JSON json_t *string = json_loadb(text + i, skip_string(text, i) - i, JSON_DECODE_ANY, NULL);
        return string && strcmp(json_string_value(string), wanted) == 0;
}

static struct object scan_object(const char *text, size_t open, const char *wanted)
{
        struct object o = { .open = open };
        size_t i = skip_space(text, open + 1);
        while (text[i] == '"') {
                struct member m = { .key = i };
                m.value = skip_space(text, skip_space(text, skip_string(text, i)) + 1);
                m.end = skip_value(text, m.value);
                if (!o.first.key)
                        o.first = m;
                if (!o.found.key && is_string(text, m.key, wanted))
                        o.found = m;
                o.last = m;
                i = skip_space(text, m.end);
                if (text[i] == ',')
                        i = skip_space(text, i + 1);
        }
        o.close = i;
        return o;
}

/* --- writing in the style of the file --- */

struct style {
        const char *newline;
        const char *unit; /* one step of indentation */
        size_t unit_length;
        bool multiline; /* each member is on its own line */
};

/* Where new text goes: each of its lines begins with this margin and `steps` steps of indentation. */
struct slot {
        const char *margin;
        size_t margin_length, steps;
        bool multiline;
};

/* The margin is the white space at the start of the offset's line; multiline if nothing else is before the offset. */
static struct slot slot_at(const char *text, size_t offset)
{
        size_t start = offset;
        while (start && text[start - 1] != '\n')
                start--;
        size_t length = strspn(text + start, " \t");
        return (struct slot){ text + start, length, 0, start && start + length == offset };
}

static struct style detect_style(const char *text, const struct object *root)
{
        struct style s = { edit_newline(text), "  ", 2, true };
        if (!root->first.key)
                return s;
        struct slot line = slot_at(text, root->first.key);
        s.multiline = line.multiline;
        if (line.multiline && line.margin_length) {
                s.unit = line.margin;
                s.unit_length = line.margin_length;
        }
        return s;
}

static void add_line(struct text *out, const struct style *s, const struct slot *slot)
{
        text_add(out, s->newline);
        text_add_bytes(out, slot->margin, slot->margin_length);
        for (size_t i = 0; i < slot->steps; i++)
                text_add_bytes(out, s->unit, s->unit_length);
}

/* Replaces the indentation of json_write(), two spaces per step. In its output a newline is never part of a string. */
static void add_value(struct text *out, const struct style *s, const struct slot *slot, const json_t *value)
{
        CLEANUP_TEXT struct text written = { 0 };
        out->failed |= json_write(value, &written, slot->multiline) < 0;
        const char *p = written.data ? written.data : "";
        while (*p) {
                size_t length = strcspn(p, "\n");
                text_add_bytes(out, p, length);
                p += length;
                if (*p != '\n')
                        continue;
                add_line(out, s, slot);
                for (p++; strncmp(p, "  ", 2) == 0; p += 2)
                        text_add_bytes(out, s->unit, s->unit_length);
        }
}

/* Writes the text with a new last member in an object. */
static void insert_member(struct text *out, const char *text, const struct style *s, const struct object *o,
                          const char *key, const json_t *value)
{
        bool empty = !o->first.key;
        struct slot slot = slot_at(text, empty ? o->open : o->first.key);
        if (empty) {
                slot.multiline = s->multiline;
                slot.steps = 1;
        }
        text_add_bytes(out, text, empty ? o->open + 1 : o->last.end);
        text_add(out, empty ? "" : ",");
        if (slot.multiline)
                add_line(out, s, &slot);
        text_format(out, slot.multiline ? "\"%s\": " : "\"%s\":", key);
        add_value(out, s, &slot, value);
        if (empty && slot.multiline) {
                slot.steps = 0;
                add_line(out, s, &slot);
        }
        text_add(out, text + (empty ? o->close : o->last.end));
}

static void replace_value(struct text *out, const char *text, const struct style *s, const struct member *m,
                          const json_t *value)
{
        struct slot slot = slot_at(text, m->key);
        text_add_bytes(out, text, m->value);
        add_value(out, s, &slot, value);
        text_add(out, text + m->end);
}

/* --- the format --- */

static void print(const struct client_entry *entry, struct text *out)
{
        CLEANUP_JSON json_t *file = json_pack("{s:{s:O}}", entry->section, entry->name, entry->value);
        out->failed |= !file || json_write(file, out, true) < 0;
        text_add(out, "\n");
}

/* Removes the position from the parser's message, because the caller prints the position itself. */
static int parse(const char *text, size_t length, json_t **ret, struct edit_result *c, struct error *e)
{
        int r = edit_check_text(c, text, length, e); /* jansson does not detect every zero byte */
        if (r < 0)
                return r;
        r = json_parse_bounded(text, length, CONFIG_BYTES_MAX, JSON_DEPTH_MAX, ret, e, &c->line, &c->column);
        const char *message = r < 0 && c->line ? strstr(e->text, ": ") : NULL;
        if (message)
                memmove(e->text, message + 2, strlen(message + 2) + 1);
        return r;
}

static int set(const struct client_entry *entry, const char *text, size_t length, bool force, struct edit_result *ret,
               struct error *e)
{
        CLEANUP_JSON json_t *file = NULL;
        size_t start = skip_space(text, 0);
        if (start == length) {
                print(entry, &ret->text);
                return EDIT_ADDED;
        }
        int r = parse(text, length, &file, ret, e);
        if (r < 0)
                return r;
        if (!json_is_object(file))
                return edit_fail_at(ret, text, start, e, "the file is not a JSON object");

        struct object root = scan_object(text, start, entry->section);
        struct style style = detect_style(text, &root);
        if (!root.found.key) {
                CLEANUP_JSON json_t *section = json_pack("{s:O}", entry->name, entry->value);
                insert_member(&ret->text, text, &style, &root, entry->section, section);
                return section ? EDIT_ADDED : error_errno(e, ENOMEM, "cannot store the entry");
        }
        const json_t *entries = json_object_get(file, entry->section);
        if (!json_is_object(entries))
                return edit_fail_at(ret, text, root.found.value, e, "this must be an object");
        struct object section = scan_object(text, root.found.value, entry->name);
        if (!section.found.key) {
                insert_member(&ret->text, text, &style, &section, entry->name, entry->value);
                return EDIT_ADDED;
        }
        if (json_equal(json_object_get(entries, entry->name), entry->value))
                return EDIT_UNCHANGED;
        if (!force) {
                text_add_bytes(&ret->text, text + section.found.value, section.found.end - section.found.value);
                return EDIT_CONFLICT;
        }
        replace_value(&ret->text, text, &style, &section.found, entry->value);
        return EDIT_REPLACED;
}

const struct client_config_format client_config_json = { "JSON", print, set };
