/* The text of a notebook; see notebook_text.h. */
#include "tools/notebook_text.h"

#include <stdint.h>
#include <string.h>

#include "tools/json_walk.h"

/* How deep a notebook has its parts, for their indentation. */
enum { DEPTH_TOP = 1, DEPTH_CELL = 2, DEPTH_FIELD = 3, DEPTH_LINE = 4 };

enum { INDENT_MAX = 16 };

const char *const cell_field_names[] = {
        [FIELD_ATTACHMENTS] = "attachments", [FIELD_CELL_TYPE] = "cell_type",
        [FIELD_EXECUTION_COUNT] = "execution_count", [FIELD_ID] = "id",
        [FIELD_METADATA] = "metadata", [FIELD_OUTPUTS] = "outputs",
        [FIELD_SOURCE] = "source",
};

void cell_change_done(struct cell_change *c)
{
        for (size_t i = 0; i < CELL_FIELDS; i++)
                text_done(&c->values[i]);
}

/* --- the layout --- */

/* The notebook's own first members show it. It has at least two, nbformat and cells. */
void notebook_layout_find(const char *text, struct notebook_layout *ret)
{
        struct json_walk w;
        struct json_item first = { 0 }, second = { 0 };
        json_walk_start(&w, text);
        const char *inside = w.at;
        (void)json_walk_next(&w, &first);
        (void)json_walk_next(&w, &second);
        const char *newline = memchr(inside, '\n', (size_t)(first.key.start - inside));
        *ret = (struct notebook_layout){ .line_end = "", .indent = "" };
        ret->colon = first.value.start - first.key.end == 1 ? ":" : ": ";
        ret->comma = newline || second.key.start - first.value.end == 1 ? "," : ", ";
        if (!newline)
                return;
        ret->line_end = newline > inside && newline[-1] == '\r' ? "\r\n" : "\n";
        ret->indent = newline + 1;
        ret->indent_length = strspn(newline + 1, " \t");
        if (ret->indent_length > INDENT_MAX)
                ret->indent_length = INDENT_MAX;
}

/* Where a line of the layout ends, and the next begins. */
static void add_break(struct text *out, const struct notebook_layout *l, size_t depth)
{
        text_add(out, l->line_end);
        for (size_t i = 0; *l->line_end && i < depth; i++)
                text_add_bytes(out, l->indent, l->indent_length);
}

static void add_separator(struct text *out, const struct notebook_layout *l, size_t depth)
{
        text_add(out, l->comma);
        add_break(out, l, depth);
}

/* --- strings and sources --- */

void notebook_add_string(struct text *out, const char *bytes, size_t length)
{
        static const char special[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
        text_add(out, "\"");
        for (size_t i = 0; i < length; i++) {
                const char *found = bytes[i] ? strchr(special, bytes[i]) : NULL;
                if (found)
                        text_format(out, "\\%c", letters[found - special]);
                else if ((unsigned char)bytes[i] < 0x20)
                        text_format(out, "\\u%04x", (unsigned char)bytes[i]);
                else
                        text_add_bytes(out, &bytes[i], 1);
        }
        text_add(out, "\"");
}

/* The length of the line that starts here, with its end. Jupyter splits lines at the same characters. */
static size_t line_length(const char *p, size_t length)
{
        static const char *const ends[] = { "\r\n", "\n", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e",
                                            "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9" };
        for (size_t at = 0; at < length; at++) {
                for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
                        size_t n = strlen(ends[i]);
                        if (n <= length - at && memcmp(p + at, ends[i], n) == 0)
                                return at + n;
                }
        }
        return length;
}

void notebook_add_source(struct text *out, const struct notebook_layout *l, const json_t *source, bool as_list)
{
        const char *p = json_string_value(source);
        size_t left = json_string_length(source);
        if (!as_list) {
                notebook_add_string(out, p, left);
                return;
        }
        bool is_empty = !left;
        text_add(out, "[");
        for (bool first = true; left; first = false) {
                size_t n = line_length(p, left);
                if (first)
                        add_break(out, l, DEPTH_LINE);
                else
                        add_separator(out, l, DEPTH_LINE);
                notebook_add_string(out, p, n);
                p += n;
                left -= n;
        }
        if (!is_empty)
                add_break(out, l, DEPTH_FIELD);
        text_add(out, "]");
}

/* --- cells --- */

struct cell_printer {
        struct text *out;
        const struct notebook_layout *layout;
        const json_t *cell; /* as it was; NULL: it is new */
        const struct cell_change *change;
        size_t printed;    /* members of the cell */
        size_t next_field; /* the first that could be new and was not printed */
};

static void print_member(struct cell_printer *p, struct json_span key, struct json_span value)
{
        if (p->printed++)
                add_separator(p->out, p->layout, DEPTH_FIELD);
        else
                add_break(p->out, p->layout, DEPTH_FIELD);
        text_add_bytes(p->out, key.start, (size_t)(key.end - key.start));
        text_add(p->out, p->layout->colon);
        text_add_bytes(p->out, value.start, (size_t)(value.end - value.start));
}

static struct json_span span_of(const struct text *t)
{
        return (struct json_span){ t->data, t->data + t->length };
}

/* Prints the new fields whose names come before this one; NULL: all that remain. */
static void print_new_fields(struct cell_printer *p, const char *before)
{
        for (; p->next_field < CELL_FIELDS; p->next_field++) {
                const char *name = cell_field_names[p->next_field];
                const struct text *value = &p->change->values[p->next_field];
                CLEANUP_TEXT struct text key = { 0 };
                if (before && strcmp(name, before) >= 0)
                        return;
                if (!value->length || json_object_get(p->cell, name))
                        continue;
                notebook_add_string(&key, name, strlen(name));
                if (key.failed)
                        p->out->failed = true;
                else
                        print_member(p, span_of(&key), span_of(value));
        }
}

static void print_old_field(struct cell_printer *p, const char *name, const struct json_item *item)
{
        struct json_span value = item->value;
        for (size_t i = 0; i < CELL_FIELDS; i++) {
                if (strcmp(cell_field_names[i], name) != 0)
                        continue;
                if (p->change->removed[i])
                        return;
                if (p->change->values[i].length)
                        value = span_of(&p->change->values[i]);
        }
        print_member(p, item->key, value);
}

static void print_cell(struct cell_printer *p, const char *old_text)
{
        struct json_walk w = { 0 };
        struct json_item item;
        const char *name;
        json_t *member;
        text_add(p->out, "{");
        if (p->cell)
                json_walk_start(&w, old_text);
        json_object_foreach ((json_t *)(uintptr_t)p->cell, name, member) {
                print_new_fields(p, name);
                if (json_walk_next(&w, &item))
                        print_old_field(p, name, &item);
        }
        print_new_fields(p, NULL);
        add_break(p->out, p->layout, DEPTH_CELL);
        text_add(p->out, "}");
}

/* --- the notebook --- */

/* Where a cell is, between its neighbours, which are empty where there is none. */
struct cell_place {
        struct json_span cells, before, cell, after;
};

static struct cell_place find_place(const struct notebook *n, const struct text *text, size_t index)
{
        struct json_walk w;
        struct json_item item = { 0 };
        struct cell_place place = { 0 };
        (void)json_walk_find(n->root, text->data, "cells", &item);
        place.cells = item.value;
        json_walk_start(&w, place.cells.start);
        for (size_t i = 0; i <= index + 1 && json_walk_next(&w, &item); i++) {
                if (i < index)
                        place.before = item.value;
                else if (i == index)
                        place.cell = item.value;
                else
                        place.after = item.value;
        }
        return place;
}

static void add_until(struct text *out, const struct text *text, const char *end)
{
        text_add_bytes(out, text->data, (size_t)(end - text->data));
}

static void add_from(struct text *out, const struct text *text, const char *start)
{
        text_add_bytes(out, start, text->length - (size_t)(start - text->data));
}

void notebook_replace_cell(const struct notebook *n, const struct text *text, size_t index,
                           const struct cell_change *change, struct text *out)
{
        const struct cell_place place = find_place(n, text, index);
        struct notebook_layout layout;
        notebook_layout_find(text->data, &layout);
        struct cell_printer p = { .out = out, .layout = &layout, .cell = json_array_get(n->cells, index),
                                  .change = change };
        add_until(out, text, place.cell.start);
        print_cell(&p, place.cell.start);
        add_from(out, text, place.cell.end);
}

void notebook_insert_cell(const struct notebook *n, const struct text *text, size_t index,
                          const struct cell_change *fields, struct text *out)
{
        const struct cell_place place = find_place(n, text, index);
        struct notebook_layout layout;
        notebook_layout_find(text->data, &layout);
        struct cell_printer p = { .out = out, .layout = &layout, .change = fields };
        if (place.cell.start) {
                add_until(out, text, place.cell.start);
                print_cell(&p, NULL);
                add_separator(out, &layout, DEPTH_CELL);
                add_from(out, text, place.cell.start);
        } else if (place.before.start) {
                add_until(out, text, place.before.end);
                add_separator(out, &layout, DEPTH_CELL);
                print_cell(&p, NULL);
                add_from(out, text, place.before.end);
        } else {
                add_until(out, text, place.cells.start + 1);
                add_break(out, &layout, DEPTH_CELL);
                print_cell(&p, NULL);
                add_break(out, &layout, DEPTH_TOP);
                add_from(out, text, place.cells.end - 1);
        }
}

/* The comma that goes with the cell is the one before it; of the first cell, the one after it. */
void notebook_delete_cell(const struct notebook *n, const struct text *text, size_t index, struct text *out)
{
        const struct cell_place place = find_place(n, text, index);
        const char *start = place.before.start ? place.before.end
                          : place.after.start  ? place.cell.start
                                               : place.cells.start + 1;
        const char *end = place.before.start ? place.cell.end
                        : place.after.start  ? place.after.start
                                             : place.cells.end - 1;
        add_until(out, text, start);
        add_from(out, text, end);
}
