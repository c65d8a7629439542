/* Write: a file with this content, in place at once. What exists must have been read as it is. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/memory.h"
#include "tools/tool.h"

static void run(struct toolbox *box, const json_t *arguments, struct tool_answer *answer)
{
        const json_t *content = json_object_get(arguments, "content");
        size_t length = json_string_length(content);
        CLEANUP_SPOT struct spot s = SPOT_NONE;
        struct error e = { 0 };
        if (!toolbox_find(box, tool_string(arguments, "file_path"), &s, answer))
                return;
        bool exists = s.fd >= 0;
        if (exists && S_ISDIR(s.st.st_mode)) {
                tool_fail(answer, "path is a directory: %s", s.path);
                return;
        }
        if (exists && !S_ISREG(s.st.st_mode)) {
                tool_fail(answer, "%s is %s and cannot be written", s.path, tool_kind_of(s.st.st_mode));
                return;
        }
        if (exists && !toolbox_may_change(box, &s, "overwrite", answer))
                return;
        if (spot_replace(&s, json_string_value(content), length, box->new_mode, &e) < 0 ||
            tracker_mark(box->tracker, s.path, &s.st) < 0) {
                if (!e.code)
                        (void)error_errno(&e, ENOMEM, "tools", "cannot write %s", s.path);
                toolbox_fail(box, answer, &e, s.path, true);
                return;
        }
        text_format(&answer->text, "wrote %zu bytes to %s", length, s.path);
        answer->structured = json_pack("{s:s, s:I, s:b}", "path", s.path, "bytes", (json_int_t)length, "created", !exists);
}

static const struct tool_field parameters[] = {
        { "file_path", TOOL_STRING, true, "Where: absolute, or from the workspace on.", 0, 0 },
        { "content", TOOL_STRING, true, "The whole new content.", 0, 0 },
};

static const struct tool_field results[] = {
        { "path", TOOL_STRING, true, "The file, without links.", 0, 0 },
        { "bytes", TOOL_INTEGER, true, "How much was written.", 0, 0 },
        { "created", TOOL_BOOLEAN, true, "Whether it was not there before.", 0, 0 },
};

const struct tool tool_write = {
        .name = "Write",
        .title = "Write a file",
        .help = "Writes a file as a whole, at once; missing directories are made. A file that exists must have been Read first, "
                "and must not have changed since.",
        .destructive = true,
        .in_workspace = true,
        .idempotent = true,
        .parameters = parameters,
        .parameter_count = ARRAY_SIZE(parameters),
        .results = results,
        .result_count = ARRAY_SIZE(results),
        .run = run,
};
