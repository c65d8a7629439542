/*
 * Read of a notebook: its cells with their sources, and the text of their outputs.
 *
 * Lines of a source start with their number and a tab, and lines of an output with a tab, so no content looks like the
 * lines that are ours. Of a long source or output, the first lines are shown. A cell is shown as a whole or not at all.
 */
#include <string.h>

#include "base/memory.h"
#include "tools/notebook.h"
#include "tools/tool.h"

enum {
        CELLS_DEFAULT = 2000,
        LINE_SHOWN_MAX = 2000,
        SOURCE_SHOWN_MAX = 12000, /* no line starts after so many bytes */
        OUTPUT_SHOWN_MAX = 2000,
        CELL_SHOWN_MAX = 16000,   /* no output starts after so many bytes */
        NAME_SHOWN_MAX = 80,      /* of an output's type */
        NOTES_MAX = 4500,         /* after the cells; with a path */
        CELLS_SHOWN_MAX = TOOL_TEXT_MAX - NOTES_MAX,
};

struct cell_view {
        struct text text;
        bool cut;
};

/* --- text --- */

/* The end of the terminal's escape sequence that starts here. Colours have the form of the first. */
static const char *skip_escape(const char *p)
{
        if (p[1] == '[') {
                p += 2;
                p += strspn(p, "0123456789:;<=>?");
                p += strspn(p, " !\"#$%&'()*+,-./");
                return *p >= '@' && *p <= '~' ? p + 1 : p;
        }
        if (p[1] == ']') {
                p += 2;
                p += strcspn(p, "\a\x1b\n");
                return *p == '\a' ? p + 1 : *p == '\x1b' && p[1] == '\\' ? p + 2 : p;
        }
        return p + 1;
}

static void add_without_escapes(struct text *out, const char *text)
{
        for (const char *p = text; *p;) {
                size_t n = strcspn(p, "\x1b");
                text_add_bytes(out, p, n);
                p += n;
                if (*p)
                        p = skip_escape(p);
        }
        text_add(out, "");
}

static void add_line(struct cell_view *v, const char *line, size_t length)
{
        size_t shown = length > LINE_SHOWN_MAX ? text_utf8_valid_length(line, LINE_SHOWN_MAX) : length;
        text_add_bytes(&v->text, line, shown);
        if (shown < length) {
                text_format(&v->text, "… (%zu more bytes in this line)", length - shown);
                v->cut = true;
        }
        text_add(&v->text, "\n");
}

/* Adds lines until they have about `room` bytes. */
static void add_lines(struct cell_view *v, const struct text *text, size_t room, bool numbered)
{
        const char *p = text->data, *end = p + text->length;
        size_t start = v->text.length;
        for (size_t number = 1; p < end; number++) {
                const char *newline = memchr(p, '\n', (size_t)(end - p));
                size_t n = (size_t)((newline ? newline : end) - p);
                if (v->text.length - start >= room) {
                        text_format(&v->text, "… (%zu more bytes)\n", (size_t)(end - p));
                        v->cut = true;
                        return;
                }
                if (numbered)
                        text_format(&v->text, "%zu", number);
                text_add(&v->text, "\t");
                add_line(v, p, n - (n && newline && p[n - 1] == '\r'));
                p += n + (newline != NULL);
        }
}

/* --- outputs --- */

static void add_output_lines(struct cell_view *v, const char *name, const struct text *raw)
{
        CLEANUP_TEXT struct text text = { 0 };
        add_without_escapes(&text, raw->data ? raw->data : "");
        text_format(&v->text, "output: %s\n", name);
        if (text.length)
                add_lines(v, &text, OUTPUT_SHOWN_MAX, false);
        v->text.failed |= raw->failed || text.failed;
}

/* Shows text of an output. False if the value is no text. */
static bool add_output_text(struct cell_view *v, const char *name, const json_t *value)
{
        CLEANUP_TEXT struct text raw = { 0 };
        bool is_text = notebook_add_text(value, &raw);
        if (is_text)
                add_output_lines(v, name, &raw);
        return is_text;
}

/* Names the output and its size. */
static void add_output_name(struct cell_view *v, const char *name, const json_t *value)
{
        CLEANUP_TEXT struct text text = { 0 };
        bool is_text = notebook_add_text(value, &text);
        size_t size = is_text ? text.length : json_dumpb(value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY);
        text_add(&v->text, "output: ");
        text_add_escaped(&v->text, name, text_utf8_valid_length(name, strnlen(name, NAME_SHOWN_MAX)));
        text_format(&v->text, ", %zu bytes\n", size);
}

static void add_stream(struct cell_view *v, const json_t *output)
{
        const char *name = json_string_value(json_object_get(output, "name"));
        const json_t *text = json_object_get(output, "text");
        if (!add_output_text(v, name && strcmp(name, "stderr") == 0 ? "stderr" : "stdout", text))
                add_output_name(v, "stream without text", text);
}

static void add_bundle(struct cell_view *v, const json_t *output)
{
        const char *type;
        json_t *value;
        json_object_foreach (json_object_get(output, "data"), type, value) {
                if (v->text.length > CELL_SHOWN_MAX) {
                        text_add(&v->text, "(more types of this output are left out)\n");
                        v->cut = true;
                        return;
                }
                if (strcmp(type, "text/plain") != 0 || !add_output_text(v, type, value))
                        add_output_name(v, type, value);
        }
}

/* The traceback's items are lines, or several, without a newline at the end. */
static void add_error(struct cell_view *v, const json_t *output)
{
        const json_t *traceback = json_object_get(output, "traceback");
        const char *name = json_string_value(json_object_get(output, "ename")),
                   *value = json_string_value(json_object_get(output, "evalue"));
        CLEANUP_TEXT struct text all = { 0 };
        size_t i;
        json_t *line;
        json_array_foreach (traceback, i, line) {
                text_add(&all, i ? "\n" : "");
                (void)notebook_add_text(line, &all);
        }
        if (!all.length)
                text_format(&all, "%s: %s", name ? name : "error", value ? value : "");
        add_output_lines(v, "error", &all);
}

static void add_output(struct cell_view *v, const json_t *output)
{
        static const struct {
                const char *type;
                void (*add)(struct cell_view *v, const json_t *output);
        } types[] = {
                { "stream", add_stream },
                { "execute_result", add_bundle },
                { "display_data", add_bundle },
                { "error", add_error },
        };
        const char *type = json_string_value(json_object_get(output, "output_type"));
        for (size_t i = 0; type && i < ARRAY_SIZE(types); i++) {
                if (strcmp(types[i].type, type) == 0) {
                        types[i].add(v, output);
                        return;
                }
        }
        add_output_name(v, "of unknown type", output);
}

/* --- cells --- */

static void add_cell(struct cell_view *v, const json_t *cell, size_t number)
{
        CLEANUP_TEXT struct text source = { 0 };
        const json_t *outputs = json_object_get(cell, "outputs"), *count = json_object_get(cell, "execution_count");
        size_t i;
        json_t *output;
        text_format(&v->text, "cell %zu: ", number);
        notebook_describe_cell(cell, &v->text);
        if (json_is_integer(count))
                text_format(&v->text, ", execution_count %lld", (long long)json_integer_value(count));
        text_add(&v->text, "\n");
        if (!notebook_add_text(json_object_get(cell, "source"), &source))
                text_add(&v->text, "(its source is neither a string nor a list of strings)\n");
        else if (source.length)
                add_lines(v, &source, SOURCE_SHOWN_MAX, true);
        json_array_foreach (outputs, i, output) {
                if (v->text.length > CELL_SHOWN_MAX) {
                        text_format(&v->text, "(%zu more outputs)\n", json_array_size(outputs) - i);
                        v->cut = true;
                        break;
                }
                add_output(v, output);
        }
        v->text.failed |= source.failed;
}

void notebook_show_cells(const struct notebook *n, const char *path, const json_t *arguments,
                         struct tool_result *answer)
{
        json_int_t first = tool_arg_integer(arguments, "offset", 1), shown = 0,
                   limit = tool_arg_integer(arguments, "limit", CELLS_DEFAULT),
                   count = (json_int_t)json_array_size(n->cells), at = first - 1;
        bool cut = false, unnamed = false, full = false;
        for (; at < count && shown < limit && !full; at += !full) {
                const json_t *cell = json_array_get(n->cells, (size_t)at);
                struct cell_view v = { 0 };
                text_add(&v.text, shown ? "\n" : "");
                add_cell(&v, cell, (size_t)at + 1);
                full = shown && answer->text.length + v.text.length > CELLS_SHOWN_MAX;
                if (!full) {
                        text_add_bytes(&answer->text, v.text.data ? v.text.data : "", v.text.length);
                        cut |= v.cut;
                        unnamed |= !notebook_cell_id(cell);
                        shown++;
                }
                answer->text.failed |= v.text.failed;
                text_done(&v.text);
        }
        if (!count)
                text_format(&answer->text, "(%s is a notebook without cells)\n", path);
        else if (!shown)
                tool_fail(answer, "offset %lld exceeds cell count %lld", (long long)first, (long long)count);
        if (answer->is_error)
                return;
        if (unnamed)
                text_add(&answer->text, "(for NotebookEdit, the cell_id of a cell without an id is its number)\n");
        if (cut)
                text_format(&answer->text,
                            "(long sources and outputs are cut; to see all of cell N: Bash, jq '.cells[N-1]' '%s')\n",
                            path);
        if (at < count)
                text_format(&answer->text, "(there is more: continue with offset %lld)\n", (long long)at + 1);
        answer->details = json_pack("{s:s, s:I, s:I, s:b}", "path", path, "first_cell", first, "cells", shown,
                                    "more", at < count);
}

bool notebook_show(const struct held_path *s, const json_t *arguments, struct tool_result *answer)
{
        CLEANUP_FILE_TEXT struct file_text f = { 0 };
        CLEANUP_NOTEBOOK struct notebook n = { 0 };
        struct error e = { 0 };
        if (!text_ends(s->path, ".ipynb") || s->st.st_size > NOTEBOOK_MAX || file_text_read(s, &f, &e) < 0 ||
            notebook_parse(&f, &n, &e) < 0)
                return false;
        notebook_show_cells(&n, s->path, arguments, answer);
        return true;
}
