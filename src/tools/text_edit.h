/* Replaces text in the content of a file, and shows what changed as a unified diff; for the tools that edit. */
#ifndef RINGWALL_TOOLS_TEXT_EDIT_H
#define RINGWALL_TOOLS_TEXT_EDIT_H

#include "tools/file_text.h"

struct text_edit {
        const json_t *old, *new; /* strings */
        bool all;                /* replace each occurrence; otherwise there must be exactly one */
        const char *where;       /* "" or which of several edits it is, for messages: "edit 2: " */
};

/*
 * Replaces the file's text in memory, and adds the diff. If `old` and `new` have no CR, new lines get the line ends
 * that the file has around them. Returns how many occurrences were replaced, or 0 with an error in the answer.
 */
size_t text_edit_apply(const struct text_edit *edit, const char *path, struct file_text *f, struct text *diff,
                       struct tool_result *answer);

/* Adds the diff of two texts: one hunk, from the first line that differs to the last. Each must end with a NUL. */
void text_edit_add_diff(const struct text *before, const struct text *after, struct text *diff);

#endif
