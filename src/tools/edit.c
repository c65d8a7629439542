/*
 * Edit: replaces text in a file, byte for byte. If old_string has LF line ends and is not found, both strings are tried
 * with CRLF, so a file with CRLF line ends keeps them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "tools/tool.h"

enum { BYTES_MAX = 64 << 20 };

struct piece {
        const char *data;
        size_t length;
};

static struct piece piece_of(const json_t *arguments, const char *name)
{
        const json_t *value = json_object_get(arguments, name);
        return (struct piece){ json_string_value(value), json_string_length(value) };
}

/* Reads the whole file. If it changes meanwhile, held_path_replace() will fail. */
static int read_content(const struct held_path *s, struct text *ret, struct error *e)
{
        CLEANUP_FD int fd = held_path_open(s, O_RDONLY, e);
        char buffer[1 << 16];
        if (fd < 0)
                return fd;
        for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) != 0;) {
                if (n < 0)
                        return error_errno(e, errno, "cannot read %s", s->path);
                text_add_bytes(ret, buffer, (size_t)n);
                if (ret->length > BYTES_MAX)
                        return error_set(e, EFBIG, "%s is larger than %d MiB", s->path, BYTES_MAX >> 20);
        }
        return ret->failed ? error_errno(e, ENOMEM, "no memory") : 0;
}

static size_t count_matches(struct piece haystack, struct piece needle)
{
        size_t found = 0;
        for (const char *p = haystack.data;
             (p = memmem(p, haystack.length - (size_t)(p - haystack.data), needle.data, needle.length)); found++)
                p += needle.length;
        return found;
}

static void replace(struct piece haystack, struct piece old, struct piece new, struct text *out)
{
        const char *p = haystack.data, *end = haystack.data + haystack.length;
        for (const char *next; (next = memmem(p, (size_t)(end - p), old.data, old.length)); p = next + old.length) {
                text_add_bytes(out, p, (size_t)(next - p));
                text_add_bytes(out, new.data, new.length);
        }
        text_add_bytes(out, p, (size_t)(end - p));
}

/* Adds the text with CRLF for each LF. Returns false when it has a CR already, or without memory. */
static bool to_crlf(struct piece text, struct text *out)
{
        for (size_t i = 0; i < text.length; i++) {
                if (text.data[i] == '\r')
                        return false;
                if (text.data[i] == '\n')
                        text_add(out, "\r");
                text_add_bytes(out, &text.data[i], 1);
        }
        return !out->failed;
}

static void run(struct tool_context *tools, const json_t *arguments, struct tool_result *answer)
{
        struct piece old = piece_of(arguments, "old_string"), new = piece_of(arguments, "new_string");
        CLEANUP_TEXT struct text content = { 0 }, changed = { 0 }, old_crlf = { 0 }, new_crlf = { 0 };
        CLEANUP_HELD_PATH struct held_path s = HELD_PATH_NONE;
        struct error e = { 0 };
        if (!tool_resolve_path(tools, tool_arg_string(arguments, "file_path"), &s, answer))
                return;
        if (s.fd < 0 || !S_ISREG(s.st.st_mode)) {
                tool_fail(answer,
                          s.fd < 0                ? "no such file: %s"
                          : S_ISDIR(s.st.st_mode) ? "path is a directory: %s"
                                                  : "%s is not a regular file",
                          s.path);
                return;
        }
        if (!old.length || (old.length == new.length && memcmp(old.data, new.data, old.length) == 0)) {
                tool_fail(answer, old.length ? "old_string and new_string are the same" : "old_string is empty");
                return;
        }
        if (!tool_check_read_gate(tools, &s, "edit", answer))
                return;
        if (read_content(&s, &content, &e) < 0) {
                tool_fail_with_rule(tools, answer, &e, s.path, false);
                return;
        }
        struct piece haystack = { content.data ? content.data : "", content.length };
        size_t found = count_matches(haystack, old);
        if (!found && to_crlf(old, &old_crlf) && to_crlf(new, &new_crlf) && old_crlf.length > old.length) {
                old = (struct piece){ old_crlf.data, old_crlf.length };
                new = (struct piece){ new_crlf.data ? new_crlf.data : "", new_crlf.length };
                found = count_matches(haystack, old);
        }
        if (!found) {
                tool_fail(answer, "old_string not found in %s", s.path);
                return;
        }
        if (found > 1 && !tool_arg_bool(arguments, "replace_all")) {
                tool_fail(answer,
                          "old_string matched %zu times in %s; add context to make it unique or set replace_all=true",
                          found, s.path);
                return;
        }
        replace(haystack, old, new, &changed);
        if (changed.failed ||
            held_path_replace(&s, changed.data ? changed.data : "", changed.length, tools->new_mode, &e) < 0 ||
            read_tracker_record(tools->tracker, s.path, &s.st) < 0) {
                if (!e.code)
                        (void)error_errno(&e, ENOMEM, "cannot write %s", s.path);
                tool_fail_with_rule(tools, answer, &e, s.path, true);
                return;
        }
        text_format(&answer->text, "replaced %zu occurrence(s) in %s", found, s.path);
        answer->details = json_pack("{s:s, s:I}", "path", s.path, "replacements", (json_int_t)found);
}

static const struct tool_param parameters[] = {
        { "file_path", TOOL_STRING, true, "The file to edit: absolute, or relative to the workspace.", 0, 0 },
        { "old_string", TOOL_STRING, true, "The text to replace, exactly as it is in the file.", 0, 0 },
        { "new_string", TOOL_STRING, true, "The text to replace it with.", 0, 0 },
        { "replace_all", TOOL_BOOLEAN, false, "Replace every occurrence; otherwise there must be exactly one.", 0, 0 },
};

const struct tool tool_edit = {
        .name = "Edit",
        .title = "Edit a file",
        .help = "Replaces text in a file, atomically. The file must have been Read first, and must not have changed "
                "since.",
        .destructive = true,
        .in_workspace = true,
        .parameters = parameters,
        .parameter_count = ARRAY_SIZE(parameters),
        .run = run,
};
