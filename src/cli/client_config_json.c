/*
 * Changes a JSON file; see client_config.h.
 *
 * How it works: jansson parses the text first, strictly. Then the text is known to be valid JSON, so members can be
 * found by skipping strings and brackets. The new text is inserted after the last member of its object, or replaces the
 * old value. It is formatted like its neighbours: with their indentation, or on one line. A removal takes the comma and
 * the white space in front of a member along, as an insertion would have added them. Parsing and rewriting the whole
 * file would be simpler, but would change numbers, escapes and white space of other entries.
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

/* A member of an object, or an element of a list. */
struct member {
        size_t key, value, end; /* offsets of the key and the value, and the offset after the value */
};

struct object {
        size_t open, close;        /* offsets of its brackets */
        struct member first, last; /* first.key is 0 if the object is empty; no member's key has offset 0 */
        struct member found;       /* the wanted member; found.key is 0 if there is none */
        size_t found_after;        /* the end of the member before it; 0 if it is the first */
        size_t found_before;       /* the key of the member after it; 0 if it is the last */
};

/* Is the string at this offset equal to `wanted`, however it is escaped? */
static bool is_string(const char *text, size_t i, const char *wanted)
{
        CLEANUP_JSON json_t *string = json_loadb(text + i, skip_string(text, i) - i, JSON_DECODE_ANY, NULL);
        return string && strcmp(json_string_value(string), wanted) == 0;
}

/*
 * Reads the member or element at *at, and moves *at to the next one, or to the closing bracket after the last. Returns
 * false at that bracket.
 */
static bool next_member(const char *text, size_t *at, bool in_object, struct member *ret)
{
        size_t i = skip_space(text, *at);
        *at = i;
        if (!text[i] || strchr("}]", text[i]))
                return false;
        ret->key = ret->value = i;
        if (in_object)
                ret->value = skip_space(text, skip_space(text, skip_string(text, i)) + 1);
        ret->end = skip_value(text, ret->value);
        i = skip_space(text, ret->end);
        *at = text[i] == ',' ? skip_space(text, i + 1) : i;
        return true;
}

static struct object scan_object(const char *text, size_t open, const char *wanted)
{
        struct object o = { .open = open };
        struct member m;
        size_t at = open + 1;
        while (next_member(text, &at, true, &m)) {
                if (!o.first.key)
                        o.first = m;
                if (o.found.key && !o.found_before)
                        o.found_before = m.key;
                if (!o.found.key && is_string(text, m.key, wanted)) {
                        o.found = m;
                        o.found_after = o.last.end;
                }
                o.last = m;
        }
        o.close = at;
        return o;
}

/* A list of names that are switched off. */
struct list {
        size_t open;
        struct member first, second, last; /* their keys are 0 if there are not as many elements */
        uint32_t present;                  /* the names that are in it */
        bool has_others;                   /* it has elements that are no such names */
};

/* The bit of the name that this value is; 0 if it is none. */
static uint32_t bit_of(const char *text, size_t value, const struct client_switches *s)
{
        if (text[value] != '"')
                return 0;
        for (size_t i = 0; i < SWITCHES_MAX && s->names[i]; i++)
                if (is_string(text, value, s->names[i]))
                        return (uint32_t)1 << i;
        return 0;
}

static struct list scan_list(const char *text, size_t open, const struct client_switches *s)
{
        struct list list = { .open = open };
        struct member m;
        size_t at = open + 1;
        while (next_member(text, &at, false, &m)) {
                uint32_t bit = bit_of(text, m.value, s);
                list.present |= bit;
                list.has_others |= !bit;
                if (!list.first.key)
                        list.first = m;
                else if (!list.second.key)
                        list.second = m;
                list.last = m;
        }
        return list;
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

/* Writes the text with more names at the end of a list that is not empty, separated as its elements are. */
static void insert_names(struct text *out, const char *text, const struct style *style, const struct list *list,
                         const struct client_switches *s)
{
        struct slot slot = slot_at(text, list->first.key);
        text_add_bytes(out, text, list->last.end);
        for (size_t i = 0; i < SWITCHES_MAX && s->names[i]; i++) {
                if (list->present & (uint32_t)1 << i)
                        continue;
                if (list->second.key)
                        text_add_bytes(out, text + list->first.end, list->second.key - list->first.end);
                else
                        text_add(out, slot.multiline ? "," : ", ");
                if (!list->second.key && slot.multiline)
                        add_line(out, style, &slot);
                text_format(out, "\"%s\"", s->names[i]);
        }
        text_add(out, text + list->last.end);
}

/* --- removing --- */

static void remove_span(struct text *out, const char *text, size_t start, size_t end)
{
        text_add_bytes(out, text, start);
        text_add(out, text + end);
}

static bool has_one_member(const struct object *o)
{
        return o->first.key == o->last.key;
}

static void remove_found(struct text *out, const char *text, const struct object *o)
{
        if (o->found_after)
                remove_span(out, text, o->found_after, o->found.end);
        else
                remove_span(out, text, o->found.key, o->found_before);
}

/* Removes the found member of an inner object; if it is the only one, the inner object; if that is the only one too,
 * nothing but the brackets of the outer object stays. */
static void remove_path(struct text *out, const char *text, const struct object *outer, const struct object *inner)
{
        if (!has_one_member(inner))
                remove_found(out, text, inner);
        else if (!has_one_member(outer))
                remove_found(out, text, outer);
        else
                remove_span(out, text, outer->open + 1, outer->close);
}

/* Removes names from a list in which other elements stay. */
static void remove_names(struct text *out, const char *text, const struct list *list, const struct client_switches *s,
                         uint32_t which)
{
        struct member m;
        size_t at = list->open + 1, copied = 0, previous_end = 0;
        bool kept = false; /* an element before this one stays */
        while (next_member(text, &at, false, &m)) {
                if (bit_of(text, m.value, s) & which) {
                        size_t start = kept ? previous_end : m.key;
                        text_add_bytes(out, text + copied, start - copied);
                        copied = kept ? m.end : at;
                } else {
                        kept = true;
                }
                previous_end = m.end;
        }
        text_add(out, text + copied);
}

/* --- the format --- */

static json_t *make_list(const struct client_switches *s)
{
        json_t *list = json_array();
        for (size_t i = 0; i < SWITCHES_MAX && s->names[i]; i++)
                if (json_array_append_new(list, json_string(s->names[i])) < 0) {
                        json_decref(list);
                        return NULL;
                }
        return list;
}

static void print(const struct client_entry *entry, const struct client_switches *s, struct text *out)
{
        CLEANUP_JSON json_t *file = entry ? json_pack("{s:{s:O}}", entry->section, entry->name, entry->value)
                                          : json_object();
        if (s && json_object_set_new(file, s->table, json_pack("{s:o}", s->key, make_list(s))) < 0)
                out->failed = true;
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

/* A file in which a member of a member of the root is looked for. */
struct file {
        json_t *value;             /* NULL if the file is empty */
        size_t start;              /* of the root */
        struct style style;
        struct object root, inner; /* `inner` only if root.found.key is set */
};

static void file_done(struct file *f)
{
        json_decref(f->value);
}
#define CLEANUP_FILE CLEANUP(file_done)

static int open_file(const char *outer, const char *inner, const char *text, size_t length, struct file *ret,
                     struct edit_result *c, struct error *e)
{
        ret->start = skip_space(text, 0);
        if (ret->start == length)
                return 0;
        int r = parse(text, length, &ret->value, c, e);
        if (r < 0)
                return r;
        if (!json_is_object(ret->value))
                return edit_fail_at(c, text, ret->start, e, "the file is not a JSON object");
        ret->root = scan_object(text, ret->start, outer);
        ret->style = detect_style(text, &ret->root);
        if (!ret->root.found.key)
                return 0;
        if (text[ret->root.found.value] != '{')
                return edit_fail_at(c, text, ret->root.found.value, e, "this must be an object");
        ret->inner = scan_object(text, ret->root.found.value, inner);
        return 0;
}

/* Adds the member `inner` with this value, and the object `outer` if it is missing. */
static int insert_path(const struct file *f, const char *text, const char *outer, const char *inner,
                       const json_t *value, struct edit_result *ret, struct error *e)
{
        if (f->root.found.key) {
                insert_member(&ret->text, text, &f->style, &f->inner, inner, value);
                return EDIT_ADDED;
        }
        CLEANUP_JSON json_t *object = json_object();
        if (json_object_set(object, inner, (json_t *)value) < 0)
                return error_errno(e, ENOMEM, "cannot store the entry");
        insert_member(&ret->text, text, &f->style, &f->root, outer, object);
        return EDIT_ADDED;
}

static int set(const struct client_entry *entry, const char *text, size_t length, bool force, struct edit_result *ret,
               struct error *e)
{
        CLEANUP_FILE struct file f = { 0 };
        int r = open_file(entry->section, entry->name, text, length, &f, ret, e);
        if (r < 0)
                return r;
        if (!f.value) {
                print(entry, NULL, &ret->text);
                return EDIT_ADDED;
        }
        const struct member *found = &f.inner.found;
        if (!found->key)
                return insert_path(&f, text, entry->section, entry->name, entry->value, ret, e);
        const json_t *section = json_object_get(f.value, entry->section);
        if (json_equal(json_object_get(section, entry->name), entry->value))
                return EDIT_UNCHANGED;
        if (!force) {
                text_add_bytes(&ret->text, text + found->value, found->end - found->value);
                return EDIT_CONFLICT;
        }
        replace_value(&ret->text, text, &f.style, found, entry->value);
        return EDIT_REPLACED;
}

static int remove_entry(const struct client_entry *entry, const char *text, size_t length, struct edit_result *ret,
                        struct error *e)
{
        CLEANUP_FILE struct file f = { 0 };
        int r = open_file(entry->section, entry->name, text, length, &f, ret, e);
        if (r < 0)
                return r;
        const struct member *found = &f.inner.found;
        if (!found->key)
                return EDIT_UNCHANGED;
        text_add_bytes(&ret->removed, text + found->value, found->end - found->value);
        ret->removed_value = json_incref(json_object_get(json_object_get(f.value, entry->section), entry->name));
        remove_path(&ret->text, text, &f.root, &f.inner);
        return EDIT_REMOVED;
}

static int open_list(const struct client_switches *s, const char *text, size_t length, struct file *f,
                     struct list *list, struct edit_result *ret, struct error *e)
{
        int r = open_file(s->table, s->key, text, length, f, ret, e);
        if (r < 0 || !f->inner.found.key)
                return r;
        if (text[f->inner.found.value] != '[')
                return edit_fail_at(ret, text, f->inner.found.value, e, "this must be a list");
        *list = scan_list(text, f->inner.found.value, s);
        ret->present = list->present;
        return 0;
}

static int switch_off(const struct client_switches *s, const char *text, size_t length, struct edit_result *ret,
                      struct error *e)
{
        CLEANUP_FILE struct file f = { 0 };
        struct list list = { 0 };
        int r = open_list(s, text, length, &f, &list, ret, e);
        if (r < 0)
                return r;
        if (!f.value) {
                print(NULL, s, &ret->text);
                return EDIT_ADDED;
        }
        if (list.present == client_switches_all(s))
                return EDIT_UNCHANGED;
        if (list.first.key) {
                insert_names(&ret->text, text, &f.style, &list, s);
                return EDIT_ADDED;
        }
        CLEANUP_JSON json_t *names = make_list(s);
        if (!names)
                return error_errno(e, ENOMEM, "cannot store the names");
        if (!f.inner.found.key)
                return insert_path(&f, text, s->table, s->key, names, ret, e);
        replace_value(&ret->text, text, &f.style, &f.inner.found, names);
        return EDIT_ADDED;
}

static int switch_on(const struct client_switches *s, uint32_t which, const char *text, size_t length,
                     struct edit_result *ret, struct error *e)
{
        CLEANUP_FILE struct file f = { 0 };
        struct list list = { 0 };
        int r = open_list(s, text, length, &f, &list, ret, e);
        if (r < 0)
                return r;
        if (!(list.present & which))
                return EDIT_UNCHANGED;
        if (list.has_others || list.present & ~which)
                remove_names(&ret->text, text, &list, s, which);
        else
                remove_path(&ret->text, text, &f.root, &f.inner);
        return EDIT_REMOVED;
}

const struct client_config_format client_config_json = { "JSON", print, set, remove_entry, switch_off, switch_on };
