/* A whole file as text; see file_text.h. */
#include "tools/file_text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "tools/utf16.h"

static const struct {
        const char *mark, *name;
        size_t length;
} encodings[] = {
        [FILE_UTF_8] = { "", "UTF-8", 0 },
        [FILE_UTF_8_BOM] = { "\xef\xbb\xbf", "UTF-8 with a byte order mark", 3 },
        [FILE_UTF_16LE] = { "\xff\xfe", "UTF-16LE", 2 },
        [FILE_UTF_16BE] = { "\xfe\xff", "UTF-16BE", 2 },
};

enum file_encoding file_encoding_find(const char *bytes, size_t length, size_t *ret_length)
{
        enum file_encoding found = FILE_UTF_8;
        for (size_t i = 0; i < ARRAY_SIZE(encodings); i++)
                if (length >= encodings[i].length && memcmp(bytes, encodings[i].mark, encodings[i].length) == 0)
                        found = (enum file_encoding)i;
        *ret_length = encodings[found].length;
        return found;
}

const char *file_encoding_name(enum file_encoding encoding)
{
        return encodings[encoding].name;
}

int file_text_read(const struct held_path *s, struct file_text *ret, struct error *e)
{
        CLEANUP_FD int fd = held_path_open(s, O_RDONLY, e);
        CLEANUP_TEXT struct text bytes = { 0 };
        char buffer[1 << 16];
        size_t mark = 0;
        *ret = (struct file_text){ 0 };
        if (fd < 0)
                return fd;
        for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) != 0;) {
                if (n < 0)
                        return error_errno(e, errno, "cannot read %s", s->path);
                text_add_bytes(&bytes, buffer, (size_t)n);
                if (bytes.length > FILE_TEXT_MAX)
                        return error_set(e, EFBIG, "%s is larger than %d MiB", s->path, FILE_TEXT_MAX >> 20);
        }
        text_add(&bytes, "");
        ret->encoding = file_encoding_find(bytes.data ? bytes.data : "", bytes.length, &mark);
        if (ret->encoding == FILE_UTF_16LE || ret->encoding == FILE_UTF_16BE)
                (void)utf16_decode(&ret->text, bytes.data + mark, bytes.length - mark, ret->encoding == FILE_UTF_16BE);
        else
                text_add_bytes(&ret->text, (bytes.data ? bytes.data : "") + mark, bytes.length - mark);
        text_add(&ret->text, "");
        return bytes.failed || ret->text.failed ? error_errno(e, ENOMEM, "no memory") : 0;
}

bool file_text_open_to_edit(const struct tool_context *tools, const char *path, struct held_path *s,
                            struct file_text *ret, struct tool_result *answer)
{
        struct error e = { 0 };
        if (!tool_resolve_path(tools, path, s, answer))
                return false;
        if (s->fd < 0 || !S_ISREG(s->st.st_mode)) {
                tool_fail(answer,
                          s->fd < 0                ? "no such file: %s"
                          : S_ISDIR(s->st.st_mode) ? "path is a directory: %s"
                                                   : "%s is not a regular file",
                          s->path);
                return false;
        }
        if (!tool_check_read_gate(tools, s, "edit", answer))
                return false;
        if (file_text_read(s, ret, &e) == 0)
                return true;
        tool_fail_with_rule(tools, answer, &e, s->path, false);
        return false;
}

void file_text_done(struct file_text *f)
{
        text_done(&f->text);
}

int file_text_encode(enum file_encoding encoding, const char *text, size_t length, struct text *out)
{
        bool is_utf16 = encoding == FILE_UTF_16LE || encoding == FILE_UTF_16BE;
        if (is_utf16 && text_utf8_valid_length(text, length) != length)
                return -EILSEQ;
        text_add_bytes(out, encodings[encoding].mark, encodings[encoding].length);
        if (is_utf16)
                utf16_encode(out, text, length, encoding == FILE_UTF_16BE);
        else
                text_add_bytes(out, text, length);
        return out->failed ? -ENOMEM : 0;
}

static bool is_crlf(const char *start, const char *newline)
{
        return newline > start && newline[-1] == '\r';
}

bool file_text_has_crlf_at(const struct file_text *f, size_t offset)
{
        const char *start = f->text.data, *newline = memchr(start + offset, '\n', f->text.length - offset);
        if (!newline)
                newline = memrchr(start, '\n', offset);
        return newline && is_crlf(start, newline);
}

bool file_text_is_crlf(const struct file_text *f)
{
        const char *start = f->text.data, *end = start + f->text.length, *p = start;
        size_t count = 0;
        for (; (p = memchr(p, '\n', (size_t)(end - p))); p++, count++)
                if (!is_crlf(start, p))
                        return false;
        return count > 0;
}

/* --- what an answer left out --- */

static const struct {
        const char *text;
        const char *meaning;
        bool only_in_invalid; /* a file that is valid UTF-8 never gets this mark in an answer */
} marks[] = {
        { "[REDACTED:", "stands for a secret that the answer of Read leaves out", false },
        { "\xef\xbf\xbd", "stands for bytes that are not UTF-8", true },
};

static const char *find_mark(const char *text, size_t length, const char *mark)
{
        return memmem(text, length, mark, strlen(mark));
}

static size_t count_marks(const char *text, size_t length, const char *mark)
{
        size_t found = 0;
        for (const char *p = text; (p = find_mark(p, length - (size_t)(p - text), mark)); p++)
                found++;
        return found;
}

static size_t line_of(const char *text, const char *position)
{
        size_t line = 1;
        for (const char *p = text; (p = memchr(p, '\n', (size_t)(position - p))); p++)
                line++;
        return line;
}

bool file_text_would_lose(const struct file_text *before, const struct text *after, const json_t *given,
                          const char *path, const char *parameter, struct tool_result *answer)
{
        const char *text = json_string_value(given);
        size_t length = json_string_length(given);
        bool valid = text_utf8_valid_length(before->text.data, before->text.length) == before->text.length;
        for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
                const char *mark = marks[i].text, *first = find_mark(text, length, mark);
                if (!first || (marks[i].only_in_invalid && valid) ||
                    count_marks(after->data, after->length, mark) <=
                            count_marks(before->text.data, before->text.length, mark))
                        continue;
                const char *end = *mark == '[' ? memchr(first, ']', length - (size_t)(first - text)) : NULL;
                size_t shown = end && end - first < 60 ? (size_t)(end - first) + 1 : strlen(mark);
                tool_fail(answer,
                          "refusing to write %.300s: line %zu of %s has %.*s, which %s; the file would lose it. Edit "
                          "only lines without it, or use Bash if the text itself is meant",
                          path, line_of(text, first), parameter, (int)shown, first, marks[i].meaning);
                return true;
        }
        return false;
}

bool file_text_write(const struct tool_context *tools, struct held_path *s, enum file_encoding encoding,
                     const char *text, size_t length, struct tool_result *answer)
{
        CLEANUP_TEXT struct text bytes = { 0 };
        struct error e = { 0 };
        int r = 0;
        if (encoding == FILE_UTF_8)
                r = held_path_replace(s, text, length, tools->new_mode, &e);
        else if ((r = file_text_encode(encoding, text, length, &bytes)) < 0)
                (void)error_errno(&e, -r, "cannot write %s as %s", s->path, encodings[encoding].name);
        else
                r = held_path_replace(s, bytes.data, bytes.length, tools->new_mode, &e);
        if (r == 0 && read_tracker_record(tools->tracker, s->path, &s->st) == 0)
                return true;
        if (!e.code)
                (void)error_errno(&e, ENOMEM, "cannot write %s", s->path);
        tool_fail_with_rule(tools, answer, &e, s->path, true);
        return false;
}
