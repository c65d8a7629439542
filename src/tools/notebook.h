/* Jupyter notebooks: files of nbformat 4, which is JSON with a list of cells. For Read and NotebookEdit. */
#ifndef RINGWALL_TOOLS_NOTEBOOK_H
#define RINGWALL_TOOLS_NOTEBOOK_H

#include "tools/file_text.h"

enum {
        NOTEBOOK_MAX = 16 << 20,      /* bytes */
        NOTEBOOK_VALUES_MAX = 1 << 20, /* JSON values: each costs far more memory than its few bytes */
};

enum cell_type { CELL_CODE, CELL_MARKDOWN, CELL_RAW, CELL_TYPES };
extern const char *const cell_type_words[]; /* NULL at the end */

struct notebook {
        json_t *root;
        const json_t *cells; /* an array; its items may be anything */
        bool has_ids;        /* cells have ids since nbformat 4.5 */
};

/* Parses a file's text. Fails if it is no notebook, or exceeds a bound; the error's text calls the file "it". */
int notebook_parse(const struct file_text *f, struct notebook *ret, struct error *e);
void notebook_done(struct notebook *n);
#define CLEANUP_NOTEBOOK CLEANUP(notebook_done)

/* The cell's type, or CELL_TYPES if it has none of these. */
enum cell_type notebook_cell_type(const json_t *cell);

/* The cell's id, or NULL. */
const char *notebook_cell_id(const json_t *cell);

/* Adds what a notebook holds as a string or as a list of strings. False for anything else. */
bool notebook_add_text(const json_t *value, struct text *out);

/* Adds the cell's type and id: "code, id 1f3a". */
void notebook_describe_cell(const json_t *cell, struct text *out);

/*
 * Shows cells, which `offset` and `limit` among the arguments count, or makes the answer an error. The answer has at
 * most TOOL_TEXT_MAX bytes.
 */
void notebook_show_cells(const struct notebook *n, const char *path, const json_t *arguments,
                         struct tool_result *answer);

/*
 * For Read: if the file is named and written as a notebook, shows its cells, or makes the answer an error. False if it
 * is to be shown as text.
 */
bool notebook_show(const struct held_path *s, const json_t *arguments, struct tool_result *answer);

#endif
