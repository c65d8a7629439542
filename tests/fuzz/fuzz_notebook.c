/*
 * A notebook. Its cells can be shown within the bound of an answer, and a changed notebook is a notebook in which only
 * that cell differs. The first byte selects the offset and the changed cell.
 */
#include <string.h>

#include "base/memory.h"
#include "fuzz.h"
#include "tools/notebook_text.h"
#include "tools/tool.h"

static const char source[] = "first\n\"second\"\\\n";

static void check_answer(const struct notebook *n, size_t offset)
{
        struct tool_result answer = { 0 };
        json_t *arguments = json_pack("{s:I}", "offset", (json_int_t)offset);
        notebook_show_cells(n, "/notebook.ipynb", arguments, &answer);
        PROMISE(answer.is_error == !answer.details && answer.text.length && !answer.text.failed);
        PROMISE(answer.text.length <= TOOL_TEXT_MAX);
        PROMISE(text_utf8_valid_length(answer.text.data, answer.text.length) == answer.text.length);
        tool_result_done(&answer);
        json_decref(arguments);
}

/* Parses the changed text, and checks that all but the cells is as before. */
static void parse_changed(const struct notebook *n, struct file_text *changed, struct notebook *ret)
{
        struct error e = { 0 };
        PROMISE(notebook_parse(changed, ret, &e) == 0);
        json_t *before = json_copy(n->root), *after = json_copy(ret->root);
        json_object_del(before, "cells");
        json_object_del(after, "cells");
        PROMISE(json_equal(before, after));
        json_decref(before);
        json_decref(after);
}

static void check_cell(const json_t *cell)
{
        CLEANUP_TEXT struct text text = { 0 };
        PROMISE(notebook_cell_type(cell) == CELL_RAW);
        PROMISE(notebook_add_text(json_object_get(cell, "source"), &text));
        PROMISE(text.length == strlen(source) && strcmp(text.data, source) == 0);
}

/* The cells from `first` on are as they were, at an index that differs by `moved`. */
static void check_others(const struct notebook *n, const struct notebook *now, size_t index, size_t first, int moved)
{
        size_t count = json_array_size(n->cells);
        PROMISE(json_array_size(now->cells) == count + (size_t)moved);
        for (size_t i = 0; i < index; i++)
                PROMISE(json_equal(json_array_get(n->cells, i), json_array_get(now->cells, i)));
        for (size_t i = first; i < count; i++)
                PROMISE(json_equal(json_array_get(n->cells, i), json_array_get(now->cells, i + (size_t)moved)));
}

static void fill_change(struct cell_change *change, const char *text, bool as_list)
{
        struct notebook_layout layout;
        json_t *string = json_string(source);
        notebook_layout_find(text, &layout);
        notebook_add_source(&change->values[FIELD_SOURCE], &layout, string, as_list);
        text_add(&change->values[FIELD_CELL_TYPE], "\"raw\"");
        change->removed[FIELD_OUTPUTS] = true;
        json_decref(string);
}

static void check_insert(const struct notebook *n, const struct file_text *f, size_t index)
{
        CLEANUP_FILE_TEXT struct file_text changed = { .encoding = f->encoding };
        CLEANUP_NOTEBOOK struct notebook now = { 0 };
        CLEANUP_CELL_CHANGE struct cell_change change = { 0 };
        fill_change(&change, f->text.data, index % 2);
        notebook_insert_cell(n, &f->text, index, &change, &changed.text);
        parse_changed(n, &changed, &now);
        check_others(n, &now, index, index, 1);
        check_cell(json_array_get(now.cells, index));
}

static void check_delete(const struct notebook *n, const struct file_text *f, size_t index)
{
        CLEANUP_FILE_TEXT struct file_text changed = { .encoding = f->encoding };
        CLEANUP_NOTEBOOK struct notebook now = { 0 };
        notebook_delete_cell(n, &f->text, index, &changed.text);
        parse_changed(n, &changed, &now);
        check_others(n, &now, index, index + 1, -1);
}

static void check_replace(const struct notebook *n, const struct file_text *f, size_t index)
{
        CLEANUP_FILE_TEXT struct file_text changed = { .encoding = f->encoding };
        CLEANUP_NOTEBOOK struct notebook now = { 0 };
        CLEANUP_CELL_CHANGE struct cell_change change = { 0 };
        if (!json_is_object(json_array_get(n->cells, index)))
                return;
        fill_change(&change, f->text.data, index % 2);
        notebook_replace_cell(n, &f->text, index, &change, &changed.text);
        parse_changed(n, &changed, &now);
        check_others(n, &now, index, index + 1, 0);
        const json_t *cell = json_array_get(now.cells, index);
        check_cell(cell);
        PROMISE(!json_object_get(cell, "outputs"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        CLEANUP_FILE_TEXT struct file_text f = { 0 };
        CLEANUP_NOTEBOOK struct notebook n = { 0 };
        struct error e = { 0 };
        if (!size)
                return 0;
        text_add_bytes(&f.text, (const char *)data + 1, size - 1);
        PROMISE(!f.text.failed);
        if (notebook_parse(&f, &n, &e) < 0)
                return 0;
        size_t count = json_array_size(n.cells), index = count ? data[0] % count : 0;
        check_answer(&n, (size_t)data[0] + 1);
        check_answer(&n, 1);
        check_insert(&n, &f, index);
        check_insert(&n, &f, count);
        if (count) {
                check_delete(&n, &f, index);
                check_replace(&n, &f, index);
        }
        return 0;
}
