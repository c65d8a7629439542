/*
 * Notebooks; see notebook.h.
 *
 * What an attacker controls: all of the file. Its size, its depth and the number of its values are bounded before
 * jansson makes objects of it, and nothing below the list of cells is taken to have the type that it should.
 */
#include "tools/notebook.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"

const char *const cell_type_words[] = { "code", "markdown", "raw", NULL };

/* At least as many as there are values outside of strings. */
static size_t count_values(const char *text, size_t length)
{
        size_t count = 1;
        bool quoted = false;
        for (size_t i = 0; i < length; i++) {
                char c = text[i];
                if (quoted && c == '\\')
                        i++;
                else if (c == '"')
                        quoted = !quoted;
                else if (!quoted)
                        count += c == ',' || c == '[' || c == '{';
        }
        return count;
}

int notebook_parse(const struct file_text *f, struct notebook *ret, struct error *e)
{
        CLEANUP_JSON json_t *root = NULL;
        *ret = (struct notebook){ 0 };
        if (f->encoding != FILE_UTF_8 && f->encoding != FILE_UTF_8_BOM)
                return error_set(e, EINVAL, "it is %s, and notebooks are UTF-8", file_encoding_name(f->encoding));
        if (f->text.length > NOTEBOOK_MAX)
                return error_set(e, EFBIG, "it has more than %d MiB", NOTEBOOK_MAX >> 20);
        if (count_values(f->text.data, f->text.length) > NOTEBOOK_VALUES_MAX)
                return error_set(e, EFBIG, "it has more than %d JSON values", NOTEBOOK_VALUES_MAX);
        int r = json_parse_bounded(f->text.data, f->text.length, NOTEBOOK_MAX, JSON_DEPTH_MAX, &root, e, NULL, NULL);
        if (r < 0)
                return r;
        const json_t *cells = json_object_get(root, "cells");
        if (json_integer_value(json_object_get(root, "nbformat")) != 4 || !json_is_array(cells))
                return error_set(e, EINVAL, "it is not a JSON object with nbformat 4 and a list of cells");
        ret->has_ids = json_integer_value(json_object_get(root, "nbformat_minor")) >= 5;
        ret->cells = cells;
        ret->root = TAKE_PTR(root);
        return 0;
}

void notebook_done(struct notebook *n)
{
        json_decref(n->root);
        *n = (struct notebook){ 0 };
}

enum cell_type notebook_cell_type(const json_t *cell)
{
        const char *word = json_string_value(json_object_get(cell, "cell_type"));
        size_t i = 0;
        while (i < CELL_TYPES && (!word || strcmp(word, cell_type_words[i]) != 0))
                i++;
        return (enum cell_type)i;
}

const char *notebook_cell_id(const json_t *cell)
{
        return json_string_value(json_object_get(cell, "id"));
}

bool notebook_add_text(const json_t *value, struct text *out)
{
        size_t i;
        json_t *part;
        if (json_is_string(value)) {
                text_add_bytes(out, json_string_value(value), json_string_length(value));
                return true;
        }
        json_array_foreach (value, i, part) {
                if (!json_is_string(part))
                        return false;
                text_add_bytes(out, json_string_value(part), json_string_length(part));
        }
        return json_is_array(value);
}

void notebook_describe_cell(const json_t *cell, struct text *out)
{
        enum { ID_SHOWN_MAX = 64 }; /* the longest that nbformat allows */
        enum cell_type type = notebook_cell_type(cell);
        const char *id = notebook_cell_id(cell);
        text_add(out, type < CELL_TYPES ? cell_type_words[type] : "of unknown type");
        if (id) {
                text_add(out, ", id ");
                text_add_escaped(out, id, strnlen(id, ID_SHOWN_MAX));
        }
}
