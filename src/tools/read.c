/*
 * Read: shows lines of a file with their numbers, or an image.
 *
 * How it works: the file is read in pieces, so memory does not grow with its size. Lines before `offset` are only
 * counted, and reading stops after the last requested line.
 *
 * What an attacker controls: the file's content and type. Memory and the answer are bounded, and no read blocks.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/fd.h"
#include "base/memory.h"
#include "tools/tool.h"

enum {
        PIECE = 64 << 10,
        BINARY_CHECK = 8 << 10, /* a NUL in so many first bytes makes a file binary */
        LINES_MAX = 2000,
        LINE_SHOWN_MAX = 1 << 20,
        TEXT_MAX = 2 << 20,
        IMAGE_MAX = 5 << 20,
};

struct reading {
        json_int_t line;          /* number of the current line, from 1 */
        json_int_t first, end;    /* requested: first <= line < end */
        size_t length;            /* of the current line so far */
        json_int_t shown;         /* lines in the answer */
        bool in_line;             /* a part of the current line was read */
        bool invalid;             /* a shown line is not valid UTF-8 */
        bool full;                /* the answer has reached TEXT_MAX */
        struct text partial;      /* the current line, up to LINE_SHOWN_MAX */
        struct tool_result *answer;
};

static void end_line(struct reading *r)
{
        if (r->line >= r->first && r->line < r->end && !r->full) {
                text_format(&r->answer->text, "%lld\t", (long long)r->line);
                r->invalid |=
                        tool_add_utf8(&r->answer->text, r->partial.data ? r->partial.data : "", r->partial.length);
                if (r->length > r->partial.length)
                        text_format(&r->answer->text, "… (%zu more bytes in this line)",
                                    r->length - r->partial.length);
                text_add(&r->answer->text, "\n");
                r->shown++;
                r->full = r->answer->text.length > TEXT_MAX;
        }
        r->partial.length = 0;
        r->length = 0;
        r->in_line = false;
        r->line++;
}

/* Returns how many of the bytes were used. */
static size_t add_piece(struct reading *r, const char *bytes, size_t length)
{
        size_t given = length;
        while (length && r->line < r->end && !r->full) {
                const char *end = memchr(bytes, '\n', length);
                size_t n = end ? (size_t)(end - bytes) : length;
                if (r->line >= r->first && r->partial.length < LINE_SHOWN_MAX) {
                        size_t room = LINE_SHOWN_MAX - r->partial.length;
                        text_add_bytes(&r->partial, bytes, n < room ? n : room);
                }
                r->length += n;
                r->in_line = true;
                if (end)
                        end_line(r);
                n += end != NULL;
                bytes += n;
                length -= n;
        }
        return given - length;
}

/* --- images --- */

static const struct {
        const char *type, *magic;
        size_t offset, length;
} images[] = {
        { "image/png", "\x89PNG\r\n\x1a\n", 0, 8 },
        { "image/jpeg", "\xff\xd8\xff", 0, 3 },
        { "image/gif", "GIF8", 0, 4 },
        { "image/webp", "WEBP", 8, 4 },
};

static const char *image_type(const char *bytes, size_t length)
{
        for (size_t i = 0; i < ARRAY_SIZE(images); i++)
                if (length >= images[i].offset + images[i].length &&
                    memcmp(bytes + images[i].offset, images[i].magic, images[i].length) == 0)
                        return images[i].type;
        return NULL;
}

static void read_image(int fd, const struct held_path *s, const char *type, struct tool_result *answer)
{
        CLEANUP_FREE char *data = malloc(IMAGE_MAX + 1);
        size_t length = 0;
        ssize_t n = 0;
        while (data && length <= IMAGE_MAX &&
               (n = pread(fd, data + length, IMAGE_MAX + 1 - length, (off_t)length)) > 0)
                length += (size_t)n;
        if (!data || n < 0 || length > IMAGE_MAX) {
                tool_fail(answer, "%s is an image of %lld bytes and cannot be shown", s->path,
                          (long long)s->st.st_size);
                return;
        }
        answer->image_type = type;
        base64_encode(&answer->text, data, length);
        answer->details = json_pack("{s:s, s:i, s:i, s:b}", "path", s->path, "first_line", 0, "lines", 0, "more", 0);
}

/* --- the tool --- */

static void read_lines(int fd, const struct held_path *s, struct reading *r, char *piece, ssize_t n)
{
        struct tool_result *answer = r->answer;
        bool more = false;
        for (off_t at = 0; n > 0 && !more; n = more ? n : pread(fd, piece, PIECE, at)) {
                more = add_piece(r, piece, (size_t)n) < (size_t)n;
                at += n;
        }
        if (n < 0) {
                tool_fail(answer, "cannot read %s: %s", s->path, strerrordesc_np(errno));
                return;
        }
        if (r->in_line && !more)
                end_line(r);
        if (r->line == 1 && !more)
                text_format(&answer->text, "(%s is empty)", s->path);
        else if (!r->shown)
                tool_fail(answer, "offset %lld exceeds line count %lld", (long long)r->first, (long long)r->line - 1);
        if (answer->is_error)
                return;
        if (r->invalid)
                text_add(&answer->text, "(the file is not valid UTF-8; invalid bytes are shown as \xef\xbf\xbd)\n");
        if (more)
                text_format(&answer->text, "(there is more: continue with offset %lld)\n", (long long)r->line);
        answer->details = json_pack("{s:s, s:I, s:I, s:b}", "path", s->path, "first_line", r->first, "lines",
                                       r->shown, "more", more);
}

static void read_file(const struct tool_context *tools, int fd, const struct held_path *s, const json_t *arguments,
                      struct tool_result *answer)
{
        json_int_t first = tool_arg_integer(arguments, "offset", 1),
                   limit = tool_arg_integer(arguments, "limit", LINES_MAX);
        struct reading r = { .line = 1, .first = first, .end = first + limit, .answer = answer };
        CLEANUP_FREE char *piece = malloc(PIECE);
        ssize_t n = piece ? pread(fd, piece, PIECE, 0) : -1;
        const char *image = n > 0 ? image_type(piece, (size_t)n) : NULL;
        if (image)
                read_image(fd, s, image, answer);
        else if (n > 0 && memchr(piece, '\0', (size_t)n < BINARY_CHECK ? (size_t)n : BINARY_CHECK))
                tool_fail(answer, "%s is a binary file of %lld bytes", s->path, (long long)s->st.st_size);
        else
                read_lines(fd, s, &r, piece, n);
        text_done(&r.partial);
        if (!answer->is_error && read_tracker_record(tools->tracker, s->path, &s->st) < 0)
                tool_fail(answer, "no memory");
}

static void run(struct tool_context *tools, const json_t *arguments, struct tool_result *answer)
{
        CLEANUP_HELD_PATH struct held_path s = HELD_PATH_NONE;
        struct error e = { 0 };
        if (!tool_resolve_path(tools, tool_arg_string(arguments, "file_path"), &s, answer))
                return;
        if (s.fd < 0) {
                tool_fail(answer, "no such file: %s", s.path);
        } else if (S_ISDIR(s.st.st_mode)) {
                tool_fail(answer, "path is a directory: %s", s.path);
        } else if (!S_ISREG(s.st.st_mode)) {
                tool_fail(answer, "%s is %s and cannot be read", s.path, file_kind_name(s.st.st_mode));
        } else {
                CLEANUP_FD int fd = held_path_open(&s, O_RDONLY, &e);
                if (fd < 0)
                        tool_fail_with_rule(tools, answer, &e, s.path, false);
                else
                        read_file(tools, fd, &s, arguments, answer);
        }
}

static const struct tool_param parameters[] = {
        { "file_path", TOOL_STRING, true, "The file to read: absolute, or relative to the workspace.", 0, 0 },
        { "offset", TOOL_INTEGER, false, "The first line to show; default 1.", 1, 1LL << 53 },
        { "limit", TOOL_INTEGER, false, "How many lines to show; default 2000.", 1, 1000000 },
};

const struct tool tool_read = {
        .name = "Read",
        .title = "Read a file",
        .help = "Shows lines of a text file with their numbers, or an image (PNG, JPEG, GIF, WebP).",
        .reads_only = true,
        .in_workspace = true,
        .idempotent = true,
        .parameters = parameters,
        .parameter_count = ARRAY_SIZE(parameters),
        .run = run,
};
