/* Write: replaces a file's content atomically. An existing file must have been read, and be unchanged since. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/memory.h"
#include "tools/tool.h"

static void run(struct tool_context *tools, const json_t *arguments, struct tool_result *answer)
{
        const json_t *content = json_object_get(arguments, "content");
        size_t length = json_string_length(content);
        CLEANUP_HELD_PATH struct held_path s = HELD_PATH_NONE;
        struct error e = { 0 };
        if (!tool_resolve_path(tools, tool_arg_string(arguments, "file_path"), &s, answer))
                return;
        bool exists = s.fd >= 0;
        if (exists && S_ISDIR(s.st.st_mode)) {
                tool_fail(answer, "path is a directory: %s", s.path);
                return;
        }
        if (exists && !S_ISREG(s.st.st_mode)) {
                tool_fail(answer, "%s is %s and cannot be written", s.path, file_kind_name(s.st.st_mode));
                return;
        }
        if (exists && !tool_check_read_gate(tools, &s, "overwrite", answer))
                return;
        if (held_path_replace(&s, json_string_value(content), length, tools->new_mode, &e) < 0 ||
            read_tracker_record(tools->tracker, s.path, &s.st) < 0) {
                if (!e.code)
                        (void)error_errno(&e, ENOMEM, "cannot write %s", s.path);
                tool_fail_with_rule(tools, answer, &e, s.path, true);
                return;
        }
        text_format(&answer->text, "wrote %zu bytes to %s", length, s.path);
        answer->details =
                json_pack("{s:s, s:I, s:b}", "path", s.path, "bytes", (json_int_t)length, "created", !exists);
}

static const struct tool_param parameters[] = {
        { "file_path", TOOL_STRING, true, "The file to write: absolute, or relative to the workspace.", 0, 0 },
        { "content", TOOL_STRING, true, "The complete new content.", 0, 0 },
};

const struct tool tool_write = {
        .name = "Write",
        .title = "Write a file",
        .help = "Writes a complete file, atomically, and creates missing directories. An existing file must have been "
                "Read first, and must not have changed since.",
        .destructive = true,
        .in_workspace = true,
        .idempotent = true,
        .parameters = parameters,
        .parameter_count = ARRAY_SIZE(parameters),
        .run = run,
};
