/*
 * NotebookEdit: replaces, inserts or deletes a cell of a Jupyter notebook, and shows the diff of its source. The cell
 * gets the fields that its type has, and a changed source loses the outputs of the old one, as in Jupyter and in other
 * clients' tool of this name.
 */
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "tools/notebook_text.h"
#include "tools/text_edit.h"
#include "tools/tool.h"

enum {
        DIFF_MAX = 12000, /* bytes of a diff that are shown */
        ID_SIZE = 9,      /* of a new cell's id, with its NUL */
};

enum edit_mode { MODE_REPLACE, MODE_INSERT, MODE_DELETE };
static const char *const mode_words[] = { "replace", "insert", "delete", NULL };
static const char *const mode_done[] = { "replaced", "inserted", "deleted" };

/* What each type of cell has, and what a new one gets. */
static const struct {
        const char *initial; /* NULL: it differs, or the field is not needed */
        bool types[CELL_TYPES];
} fields[] = {
        [FIELD_ATTACHMENTS] = { NULL, { [CELL_MARKDOWN] = true, [CELL_RAW] = true } },
        [FIELD_CELL_TYPE] = { NULL, { true, true, true } },
        [FIELD_EXECUTION_COUNT] = { "null", { [CELL_CODE] = true } },
        [FIELD_ID] = { NULL, { true, true, true } },
        [FIELD_METADATA] = { "{}", { true, true, true } },
        [FIELD_OUTPUTS] = { "[]", { [CELL_CODE] = true } },
        [FIELD_SOURCE] = { NULL, { true, true, true } },
};

struct cell_edit {
        enum edit_mode mode;
        const char *path;
        const json_t *source;     /* the new one; NULL: the cell is deleted */
        bool has_type;            /* the caller gave one */
        enum cell_type type;
        const struct notebook *notebook;
        size_t index;             /* of the cell; of a new one: where it will be */
        const json_t *cell;       /* as it was; NULL: it is new */
        struct file_text before;  /* the cell's source; so that marks in other cells do not count */
        struct cell_change change;
};

static void cell_edit_done(struct cell_edit *e)
{
        file_text_done(&e->before);
        cell_change_done(&e->change);
}
#define CLEANUP_CELL_EDIT CLEANUP(cell_edit_done)

/* --- which cell --- */

/* A number names a cell only if that has no id, so that it cannot mean another cell after cells were inserted. */
static bool find_by_number(const struct notebook *n, const char *id, const char *path, size_t *ret,
                           struct tool_result *answer)
{
        unsigned long long number = 0;
        bool exists = text_parse_unsigned(id, strlen(id), &number) && number && number <= json_array_size(n->cells);
        const char *own = exists ? notebook_cell_id(json_array_get(n->cells, (size_t)number - 1)) : NULL;
        if (!exists)
                tool_fail(answer, "no cell of %.500s has the id '%.64s'; Read shows the cells and their ids", path, id);
        else if (own)
                tool_fail(answer, "cell %llu of %.500s has the id '%.64s': use that as cell_id", number, path, own);
        else
                *ret = (size_t)number - 1;
        return exists && !own;
}

static bool find_cell(const struct notebook *n, const char *id, const char *path, size_t *ret,
                      struct tool_result *answer)
{
        size_t found = 0, i;
        json_t *cell;
        json_array_foreach (n->cells, i, cell) {
                const char *own = notebook_cell_id(cell);
                if (own && strcmp(own, id) == 0 && !found++)
                        *ret = i;
        }
        if (found > 1)
                tool_fail(answer, "%zu cells of %.500s have the id '%.64s'; Edit can change the file as text", found,
                          path, id);
        return found ? found == 1 : find_by_number(n, id, path, ret, answer);
}

static bool has_id(const struct notebook *n, const char *id)
{
        size_t i;
        json_t *cell;
        json_array_foreach (n->cells, i, cell) {
                const char *own = notebook_cell_id(cell);
                if (own && strcmp(own, id) == 0)
                        return true;
        }
        return false;
}

/* --- what changes in it --- */

static void set_field(struct cell_edit *e, enum cell_field field, const char *json)
{
        text_done(&e->change.values[field]);
        text_add(&e->change.values[field], json);
}

static void set_string(struct cell_edit *e, enum cell_field field, const char *string)
{
        notebook_add_string(&e->change.values[field], string, strlen(string));
}

static void set_source(struct cell_edit *e, const struct text *file)
{
        struct notebook_layout layout;
        notebook_layout_find(file->data, &layout);
        notebook_add_source(&e->change.values[FIELD_SOURCE], &layout, e->source,
                            !json_is_string(json_object_get(e->cell, "source")));
}

static void set_new_cell(struct cell_edit *e)
{
        char id[ID_SIZE];
        for (size_t i = 0; i < CELL_FIELDS; i++)
                if (fields[i].initial && fields[i].types[e->type])
                        set_field(e, (enum cell_field)i, fields[i].initial);
        set_string(e, FIELD_CELL_TYPE, cell_type_words[e->type]);
        if (!e->notebook->has_ids)
                return;
        do {
                if (random_hex(id, sizeof id) < 0) {
                        e->change.values[FIELD_ID].failed = true;
                        return;
                }
        } while (has_id(e->notebook, id));
        set_string(e, FIELD_ID, id);
}

static void set_old_cell(struct cell_edit *e)
{
        enum cell_type old = notebook_cell_type(e->cell);
        if (!e->has_type)
                e->type = old;
        if (e->type != old) {
                set_string(e, FIELD_CELL_TYPE, cell_type_words[e->type]);
                for (size_t i = 0; i < CELL_FIELDS; i++)
                        e->change.removed[i] = !fields[i].types[e->type];
        }
        if (e->type == CELL_CODE) {
                set_field(e, FIELD_EXECUTION_COUNT, fields[FIELD_EXECUTION_COUNT].initial);
                set_field(e, FIELD_OUTPUTS, fields[FIELD_OUTPUTS].initial);
        }
}

/* --- the arguments --- */

static bool check_arguments(const struct cell_edit *e, const char *id, struct tool_result *answer)
{
        const char *missing = e->mode != MODE_INSERT && !id              ? "cell_id"
                            : e->mode != MODE_DELETE && !e->source       ? "new_source"
                            : e->mode == MODE_INSERT && !e->has_type     ? "cell_type"
                                                                         : NULL;
        if (missing)
                tool_fail(answer, "NotebookEdit with edit_mode %s needs the parameter %s", mode_words[e->mode],
                          missing);
        return !missing;
}

/* Finds the cell. False with an error in the answer. */
static bool find_target(struct cell_edit *e, const char *id, struct tool_result *answer)
{
        if (id && !find_cell(e->notebook, id, e->path, &e->index, answer))
                return false;
        e->before.encoding = FILE_UTF_8;
        text_add(&e->before.text, "");
        if (e->mode == MODE_INSERT) {
                e->index += id != NULL;
                return true;
        }
        e->cell = json_array_get(e->notebook->cells, e->index);
        bool is_text = notebook_add_text(json_object_get(e->cell, "source"), &e->before.text);
        if (is_text || e->mode == MODE_DELETE)
                return true;
        tool_fail(answer, "cell %zu of %.500s has no source that is a string or a list of strings", e->index + 1,
                  e->path);
        return false;
}

/* Makes the file's new text. False with an error in the answer. */
static bool change_text(struct cell_edit *e, const struct text *file, struct text *out, struct tool_result *answer)
{
        if (e->mode == MODE_DELETE) {
                notebook_delete_cell(e->notebook, file, e->index, out);
        } else {
                set_source(e, file);
                if (e->mode == MODE_INSERT) {
                        set_new_cell(e);
                        notebook_insert_cell(e->notebook, file, e->index, &e->change, out);
                } else {
                        set_old_cell(e);
                        notebook_replace_cell(e->notebook, file, e->index, &e->change, out);
                }
        }
        bool failed = out->failed || e->before.text.failed;
        for (size_t i = 0; i < CELL_FIELDS; i++)
                failed |= e->change.values[i].failed;
        if (failed)
                tool_fail(answer, "no memory");
        else if (out->length == file->length && memcmp(out->data, file->data, file->length) == 0)
                tool_fail(answer, "nothing would change in cell %zu of %.500s", e->index + 1, e->path);
        return !answer->is_error;
}

/* --- the answer --- */

/* Most sources have no newline at the end; a diff need not say so. */
static void add_diff(const struct cell_edit *e, struct text *out)
{
        CLEANUP_TEXT struct text before = { 0 }, after = { 0 }, diff = { 0 };
        struct text *both[] = { &before, &after };
        text_add_bytes(&before, e->before.text.data, e->before.text.length);
        text_add_bytes(&after, e->source ? json_string_value(e->source) : "", json_string_length(e->source));
        bool ends = text_ends(before.data ? before.data : "", "\n") || text_ends(after.data ? after.data : "", "\n");
        for (size_t i = 0; i < ARRAY_SIZE(both); i++)
                if (!ends && both[i]->length)
                        text_add(both[i], "\n");
        if (before.data && after.data)
                text_edit_add_diff(&before, &after, &diff);
        out->failed |= before.failed || after.failed || diff.failed;
        if (diff.length <= DIFF_MAX) {
                text_add_bytes(out, diff.data, diff.length);
                return;
        }
        const char *cut = memrchr(diff.data, '\n', DIFF_MAX);
        text_add_bytes(out, diff.data, cut ? (size_t)(cut - diff.data) + 1 : 0);
        text_add(out, "(the rest of the diff is left out)\n");
}

/* `now` is the notebook as it is written. */
static void report(const struct cell_edit *e, const struct notebook *now, struct tool_result *answer)
{
        static const char *const places[] = { " in ", " into ", " from " };
        const json_t *cell = e->mode == MODE_DELETE ? e->cell : json_array_get(now->cells, e->index);
        size_t outputs = e->mode == MODE_REPLACE ? json_array_size(json_object_get(e->cell, "outputs")) : 0,
               count = json_array_size(now->cells);
        text_format(&answer->text, "%s cell %zu (", mode_done[e->mode], e->index + 1);
        notebook_describe_cell(cell, &answer->text);
        text_format(&answer->text, ")%s%s", places[e->mode], e->path);
        if (e->mode != MODE_REPLACE)
                text_format(&answer->text, ", which now has %zu cell%s", count, count == 1 ? "" : "s");
        if (outputs)
                text_format(&answer->text, "; its %zu output%s removed", outputs, outputs == 1 ? " was" : "s were");
        if (e->change.removed[FIELD_ATTACHMENTS] && json_object_get(e->cell, "attachments"))
                text_add(&answer->text, "; its attachments were removed");
        text_add(&answer->text, "\n");
        add_diff(e, &answer->text);
        answer->details = json_pack("{s:s, s:s, s:I, s:s?, s:I}", "path", e->path, "edit_mode", mode_words[e->mode],
                                    "cell", (json_int_t)e->index + 1, "cell_id", notebook_cell_id(cell), "cells",
                                    (json_int_t)count);
}

/* --- the tool --- */

static bool would_lose(const struct cell_edit *e, struct tool_result *answer)
{
        CLEANUP_TEXT struct text after = { 0 };
        text_add_bytes(&after, e->source ? json_string_value(e->source) : "", json_string_length(e->source));
        if (!after.failed)
                return e->source && file_text_would_lose(&e->before, &after, e->source, e->path, "new_source", answer);
        tool_fail(answer, "no memory");
        return true;
}

static void run(struct tool_context *tools, const json_t *arguments, struct tool_result *answer)
{
        const char *id = tool_arg_string(arguments, "cell_id");
        CLEANUP_FILE_TEXT struct file_text file = { 0 }, changed = { 0 };
        CLEANUP_NOTEBOOK struct notebook before = { 0 }, after = { 0 };
        CLEANUP_HELD_PATH struct held_path s = HELD_PATH_NONE;
        CLEANUP_CELL_EDIT struct cell_edit edit = {
                .mode = (enum edit_mode)tool_arg_word(arguments, "edit_mode", mode_words),
                .has_type = tool_arg_string(arguments, "cell_type") != NULL,
                .type = (enum cell_type)tool_arg_word(arguments, "cell_type", cell_type_words),
                .notebook = &before,
        };
        struct error e = { 0 };
        if (edit.mode != MODE_DELETE)
                edit.source = json_object_get(arguments, "new_source");
        if (!check_arguments(&edit, id, answer) ||
            !file_text_open_to_edit(tools, tool_arg_string(arguments, "notebook_path"), &s, &file, answer))
                return;
        edit.path = s.path;
        changed.encoding = file.encoding;
        if (notebook_parse(&file, &before, &e) < 0) {
                tool_fail(answer, "cannot edit %.300s as a notebook: %s", s.path, e.text);
                return;
        }
        if (!find_target(&edit, id, answer) || would_lose(&edit, answer) ||
            !change_text(&edit, &file.text, &changed.text, answer))
                return;
        if (notebook_parse(&changed, &after, &e) < 0)
                tool_fail(answer, "refusing to write %.300s: it would be no notebook: %s", s.path, e.text);
        else if (file_text_write(tools, &s, changed.encoding, changed.text.data, changed.text.length, answer))
                report(&edit, &after, answer);
}

static const struct tool_param parameters[] = {
        { .name = "notebook_path", .type = TOOL_STRING, .required = true, .also = "file_path",
          .help = "The notebook to edit: absolute, or relative to the workspace." },
        { .name = "new_source", .type = TOOL_STRING, .help = "The cell's complete new source; not for delete." },
        { .name = "cell_id", .type = TOOL_STRING,
          .help = "The cell's id, or its number if it has no id, as Read shows them. With insert: the cell after which "
                  "the new one comes; default: it becomes the first." },
        { .name = "cell_type", .type = TOOL_STRING, .words = cell_type_words,
          .help = "The cell's type. Insert needs it; default for replace: as it was." },
        { .name = "edit_mode", .type = TOOL_STRING, .words = mode_words,
          .help = "What to do with the cell; default replace." },
};

const struct tool tool_notebook_edit = {
        .name = "NotebookEdit",
        .title = "Edit a cell of a notebook",
        .help = "Replaces, inserts or deletes a cell of a Jupyter notebook, atomically, and shows the diff of its "
                "source. A code cell that is replaced loses its outputs. The notebook must have been Read first, and "
                "must not have changed since.",
        .destructive = true,
        .in_workspace = true,
        .parameters = parameters,
        .parameter_count = ARRAY_SIZE(parameters),
        .run = run,
};
