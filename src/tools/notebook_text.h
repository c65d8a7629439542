/*
 * Changes a cell in the text of a notebook. Only the bytes of what changes are written anew, with the file's own
 * indentation; all others stay, so numbers, escapes and formatting of the rest cannot change.
 */
#ifndef RINGWALL_TOOLS_NOTEBOOK_TEXT_H
#define RINGWALL_TOOLS_NOTEBOOK_TEXT_H

#include "tools/notebook.h"

/* The fields of a cell, in the order in which Jupyter writes them. */
enum cell_field {
        FIELD_ATTACHMENTS,
        FIELD_CELL_TYPE,
        FIELD_EXECUTION_COUNT,
        FIELD_ID,
        FIELD_METADATA,
        FIELD_OUTPUTS,
        FIELD_SOURCE,
        CELL_FIELDS,
};
extern const char *const cell_field_names[];

struct cell_change {
        struct text values[CELL_FIELDS]; /* JSON; empty: the field stays as it is */
        bool removed[CELL_FIELDS];
};
void cell_change_done(struct cell_change *c);
#define CLEANUP_CELL_CHANGE CLEANUP(cell_change_done)

/* How a notebook's file is formatted. */
struct notebook_layout {
        const char *line_end;   /* "" if all is on one line */
        const char *indent;     /* of one level, in the notebook's text */
        size_t indent_length;
        const char *colon, *comma; /* with the space after them, if there is one */
};
void notebook_layout_find(const char *text, struct notebook_layout *ret);

/* Adds a JSON string as Jupyter writes it. */
void notebook_add_string(struct text *out, const char *bytes, size_t length);

/* Adds a source: as one string, or as the list of lines that Jupyter writes. */
void notebook_add_source(struct text *out, const struct notebook_layout *l, const json_t *source, bool as_list);

/*
 * Each adds the text of the notebook `n`, which was parsed from `text`, with one cell changed. The cell at `index` must
 * exist; the new cell gets this index.
 */
void notebook_replace_cell(const struct notebook *n, const struct text *text, size_t index,
                           const struct cell_change *change, struct text *out);
void notebook_insert_cell(const struct notebook *n, const struct text *text, size_t index,
                          const struct cell_change *fields, struct text *out);
void notebook_delete_cell(const struct notebook *n, const struct text *text, size_t index, struct text *out);

#endif
