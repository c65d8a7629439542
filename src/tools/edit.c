/*
 * Edit: replaces a piece of text in a file. MultiEdit: several, of which all are done or none. The file keeps its
 * encoding and its line ends.
 */
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "tools/text_edit.h"
#include "tools/tool.h"

/*
 * Applies the edits in their order. Several edits have a diff each, because an edit may change what the one before it
 * wrote. Returns how many occurrences were replaced, or 0 with an error in the answer.
 */
static size_t apply_all(const json_t *edits, const char *path, struct file_text *f, struct text *diff,
                        struct tool_result *answer)
{
        size_t total = 0, i;
        json_t *item;
        json_array_foreach (edits, i, item) {
                CLEANUP_TEXT struct text where = { 0 };
                if (json_array_size(edits) > 1) {
                        text_format(&where, "edit %zu: ", i + 1);
                        text_format(diff, "edit %zu:\n", i + 1);
                }
                const struct text_edit edit = { .old = json_object_get(item, "old_string"),
                                                .new = json_object_get(item, "new_string"),
                                                .all = tool_arg_bool(item, "replace_all"),
                                                .where = where.data ? where.data : "" };
                size_t found = text_edit_apply(&edit, path, f, diff, answer);
                if (!found)
                        return 0;
                total += found;
        }
        return total;
}

/* The text of the edits that could hold a mark of something that an answer left out. */
static bool would_lose(const struct file_text *before, const struct file_text *after, const json_t *edits,
                       const char *path, struct tool_result *answer)
{
        size_t i;
        json_t *item;
        json_array_foreach (edits, i, item) {
                if (file_text_would_lose(before, &after->text, json_object_get(item, "new_string"), path, "new_string",
                                         answer))
                        return true;
        }
        return false;
}

static void run_edits(const struct tool_context *tools, const json_t *arguments, const json_t *edits,
                      struct tool_result *answer)
{
        CLEANUP_FILE_TEXT struct file_text before = { 0 }, after = { 0 };
        CLEANUP_HELD_PATH struct held_path s = HELD_PATH_NONE;
        CLEANUP_TEXT struct text diff = { 0 };
        if (!file_text_open_to_edit(tools, tool_arg_string(arguments, "file_path"), &s, &before, answer))
                return;
        after.encoding = before.encoding;
        text_add_bytes(&after.text, before.text.data, before.text.length);
        if (after.text.failed) {
                tool_fail(answer, "no memory");
                return;
        }
        size_t found = apply_all(edits, s.path, &after, &diff, answer);
        if (!found || would_lose(&before, &after, edits, s.path, answer) ||
            !file_text_write(tools, &s, after.encoding, after.text.data, after.text.length, answer))
                return;
        text_format(&answer->text, "replaced %zu occurrence(s) in %s\n%s", found, s.path, diff.data ? diff.data : "");
        answer->details = json_pack("{s:s, s:I}", "path", s.path, "replacements", (json_int_t)found);
}

static void run_edit(struct tool_context *tools, const json_t *arguments, struct tool_result *answer)
{
        CLEANUP_JSON json_t *edits = json_pack("[O]", arguments);
        if (edits)
                run_edits(tools, arguments, edits, answer);
        else
                tool_fail(answer, "no memory");
}

static void run_multi_edit(struct tool_context *tools, const json_t *arguments, struct tool_result *answer)
{
        run_edits(tools, arguments, json_object_get(arguments, "edits"), answer);
}

#define FILE_PATH \
        { .name = "file_path", .type = TOOL_STRING, .required = true, \
          .help = "The file to edit: absolute, or relative to the workspace." }
#define EDIT_PARAMETERS \
        { .name = "old_string", .type = TOOL_STRING, .required = true, \
          .help = "The text to replace, exactly as it is in the file." }, \
        { .name = "new_string", .type = TOOL_STRING, .required = true, .help = "The text to replace it with." }, \
        { .name = "replace_all", .type = TOOL_BOOLEAN, \
          .help = "Replace every occurrence; otherwise there must be exactly one." }

static const struct tool_param edit_parameters[] = { FILE_PATH, EDIT_PARAMETERS };

const struct tool tool_edit = {
        .name = "Edit",
        .title = "Edit a file",
        .help = "Replaces text in a file, atomically, and shows the diff. The file keeps its line ends and encoding. "
                "It "
                "must have been Read first, and must not have changed since.",
        .destructive = true,
        .in_workspace = true,
        .parameters = edit_parameters,
        .parameter_count = ARRAY_SIZE(edit_parameters),
        .run = run_edit,
};

static const struct tool_param item_parameters[] = { EDIT_PARAMETERS };

static const struct tool_param multi_parameters[] = {
        FILE_PATH,
        { .name = "edits", .type = TOOL_LIST, .required = true,
          .help = "The edits, in the order in which they are done: each sees what the ones before it left.",
          .items = item_parameters, .item_count = ARRAY_SIZE(item_parameters) },
};

const struct tool tool_multi_edit = {
        .name = "MultiEdit",
        .title = "Edit a file in several places",
        .help = "Does several edits in one file, as Edit does one: all of them, or none if one fails.",
        .destructive = true,
        .in_workspace = true,
        .parameters = multi_parameters,
        .parameter_count = ARRAY_SIZE(multi_parameters),
        .run = run_multi_edit,
};
