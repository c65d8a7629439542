/*
 * Write: replaces a file's content atomically. An existing file must have been read, and be unchanged since. It keeps
 * its encoding and, if each line ended with CRLF and the new text has none, its line ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/memory.h"
#include "tools/file_text.h"
#include "tools/tool.h"

/* Gives the text the line ends of the file if the text has no others. Returns true if they are CRLF. */
static bool keep_line_ends(const struct file_text *before, const json_t *content, struct text *out)
{
        const char *text = json_string_value(content);
        size_t length = json_string_length(content);
        bool crlf = before->text.data && file_text_is_crlf(before) && !memchr(text, '\r', length) &&
                    memchr(text, '\n', length);
        text_add(out, "");
        for (const char *p = text, *end = text + length; p < end;) {
                const char *newline = crlf ? memchr(p, '\n', (size_t)(end - p)) : NULL;
                size_t n = (size_t)((newline ? newline : end) - p);
                text_add_bytes(out, p, n);
                if (newline)
                        text_add(out, "\r\n");
                p += n + (newline != NULL);
        }
        return crlf;
}

static void run(struct tool_context *tools, const json_t *arguments, struct tool_result *answer)
{
        const json_t *content = json_object_get(arguments, "content");
        CLEANUP_FILE_TEXT struct file_text before = { 0 };
        CLEANUP_TEXT struct text after = { 0 };
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
        if (exists && file_text_read(&s, &before, &e) < 0) {
                tool_fail_with_rule(tools, answer, &e, s.path, true);
                return;
        }
        bool crlf = keep_line_ends(&before, content, &after);
        if (after.failed) {
                tool_fail(answer, "no memory");
                return;
        }
        if ((exists && file_text_would_lose(&before, &after, content, s.path, "content", answer)) ||
            !file_text_write(tools, &s, before.encoding, after.data, after.length, answer))
                return;
        text_format(&answer->text, "wrote %lld bytes to %s", (long long)s.st.st_size, s.path);
        if (crlf || before.encoding != FILE_UTF_8)
                text_format(&answer->text, ", as %s%s before", file_encoding_name(before.encoding),
                            crlf ? " with CRLF line ends, as" : ", as");
        answer->details =
                json_pack("{s:s, s:I, s:b}", "path", s.path, "bytes", (json_int_t)s.st.st_size, "created", !exists);
}

static const struct tool_param parameters[] = {
        { .name = "file_path", .type = TOOL_STRING, .required = true,
          .help = "The file to write: absolute, or relative to the workspace." },
        { .name = "content", .type = TOOL_STRING, .required = true, .help = "The complete new content." },
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
