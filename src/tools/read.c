/*
 * Read: lines of a file with their numbers, or an image.
 *
 * How it works: in pieces, so that a file of any size takes the same memory. Lines before the first one that was asked for
 * are only counted, and reading stops behind the last.
 *
 * What an attacker controls: the file's content and kind. It answers in bounded space whatever that is, and never waits.
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
        FIRST_LOOK = 8 << 10, /* in which a byte that is no text makes a file binary */
        MOST_LINES = 2000,
        MOST_OF_A_LINE = 1 << 20,
        MOST_TEXT = 2 << 20,
        MOST_IMAGE = 5 << 20,
};

struct reading {
        json_int_t line;          /* the number of the one that we are in, from 1 */
        json_int_t first, behind; /* wanted: first <= line < behind */
        size_t length;            /* of this line so far */
        json_int_t shown;
        bool in_line;             /* something of it was read */
        bool foreign;             /* it had bytes that are not UTF-8 */
        bool full;                /* the answer */
        struct text partial;      /* the line, as far as it goes into the answer */
        struct tool_answer *answer;
};

static void end_line(struct reading *r)
{
        if (r->line >= r->first && r->line < r->behind && !r->full) {
                text_format(&r->answer->text, "%lld\t", (long long)r->line);
                r->foreign |= tool_add_utf8(&r->answer->text, r->partial.data ? r->partial.data : "", r->partial.length);
                if (r->length > r->partial.length)
                        text_format(&r->answer->text, "… (the line goes on for %zu bytes)", r->length - r->partial.length);
                text_add(&r->answer->text, "\n");
                r->shown++;
                r->full = r->answer->text.length > MOST_TEXT;
        }
        r->partial.length = 0;
        r->length = 0;
        r->in_line = false;
        r->line++;
}

/* Returns how much of it was wanted. */
static size_t add_piece(struct reading *r, const char *bytes, size_t length)
{
        size_t whole = length;
        while (length && r->line < r->behind && !r->full) {
                const char *end = memchr(bytes, '\n', length);
                size_t n = end ? (size_t)(end - bytes) : length;
                if (r->line >= r->first && r->partial.length < MOST_OF_A_LINE) {
                        size_t room = MOST_OF_A_LINE - r->partial.length;
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
        return whole - length;
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

static void read_image(int fd, const struct spot *s, const char *type, struct tool_answer *answer)
{
        CLEANUP_FREE char *data = malloc(MOST_IMAGE + 1);
        size_t length = 0;
        ssize_t n = 0;
        while (data && length <= MOST_IMAGE && (n = pread(fd, data + length, MOST_IMAGE + 1 - length, (off_t)length)) > 0)
                length += (size_t)n;
        if (!data || n < 0 || length > MOST_IMAGE) {
                tool_fail(answer, "%s is an image of %lld bytes, which is more than can be shown", s->path,
                          (long long)s->st.st_size);
                return;
        }
        answer->image_type = type;
        base64_encode(&answer->text, data, length);
        answer->structured = json_pack("{s:s, s:i, s:i, s:b}", "path", s->path, "first_line", 0, "lines", 0, "more", 0);
}

/* --- the tool --- */

static void read_lines(int fd, const struct spot *s, struct reading *r, char *piece, ssize_t n)
{
        struct tool_answer *answer = r->answer;
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
        if (r->foreign)
                text_add(&answer->text, "(the file is not UTF-8; bytes that are not are shown as \xef\xbf\xbd)\n");
        if (more)
                text_format(&answer->text, "(there is more: go on with offset %lld)\n", (long long)r->line);
        answer->structured = json_pack("{s:s, s:I, s:I, s:b}", "path", s->path, "first_line", r->first, "lines", r->shown,
                                       "more", more);
}

static void read_file(const struct toolbox *box, int fd, const struct spot *s, const json_t *arguments, struct tool_answer *answer)
{
        json_int_t first = tool_integer(arguments, "offset", 1), limit = tool_integer(arguments, "limit", MOST_LINES);
        struct reading r = { .line = 1, .first = first, .behind = first + limit, .answer = answer };
        CLEANUP_FREE char *piece = malloc(PIECE);
        ssize_t n = piece ? pread(fd, piece, PIECE, 0) : -1;
        const char *image = n > 0 ? image_type(piece, (size_t)n) : NULL;
        if (image)
                read_image(fd, s, image, answer);
        else if (n > 0 && memchr(piece, '\0', (size_t)n < FIRST_LOOK ? (size_t)n : FIRST_LOOK))
                tool_fail(answer, "%s is a binary file of %lld bytes", s->path, (long long)s->st.st_size);
        else
                read_lines(fd, s, &r, piece, n);
        text_done(&r.partial);
        if (!answer->is_error && tracker_mark(box->tracker, s->path, &s->st) < 0)
                tool_fail(answer, "no memory");
}

static void run(struct toolbox *box, const json_t *arguments, struct tool_answer *answer)
{
        CLEANUP_SPOT struct spot s = SPOT_NONE;
        struct error e = { 0 };
        if (!toolbox_find(box, tool_string(arguments, "file_path"), &s, answer))
                return;
        if (s.fd < 0) {
                tool_fail(answer, "no such file: %s", s.path);
        } else if (S_ISDIR(s.st.st_mode)) {
                tool_fail(answer, "path is a directory: %s", s.path);
        } else if (!S_ISREG(s.st.st_mode)) {
                tool_fail(answer, "%s is %s and cannot be read", s.path, tool_kind_of(s.st.st_mode));
        } else {
                CLEANUP_FD int fd = spot_open(&s, O_RDONLY, &e);
                if (fd < 0)
                        toolbox_fail(box, answer, &e, s.path, false);
                else
                        read_file(box, fd, &s, arguments, answer);
        }
}

static const struct tool_field parameters[] = {
        { "file_path", TOOL_STRING, true, "What to read: absolute, or from the workspace on.", 0, 0 },
        { "offset", TOOL_INTEGER, false, "The first line to show; 1 if it is left out.", 1, 1LL << 53 },
        { "limit", TOOL_INTEGER, false, "How many lines to show; 2000 if it is left out.", 1, 1000000 },
};

static const struct tool_field results[] = {
        { "path", TOOL_STRING, true, "The file, without links.", 0, 0 },
        { "first_line", TOOL_INTEGER, true, "The number of the first line that is shown.", 0, 0 },
        { "lines", TOOL_INTEGER, true, "How many lines are shown.", 0, 0 },
        { "more", TOOL_BOOLEAN, true, "Whether the file goes on behind them.", 0, 0 },
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
        .results = results,
        .result_count = ARRAY_SIZE(results),
        .run = run,
};
