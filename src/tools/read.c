/*
 * Read: shows lines of a file with their numbers, an image, or bytes of another binary file.
 *
 * How it works: the file is read in pieces, so memory does not grow with its size. Lines before `offset` are only
 * counted, and reading stops after the last requested line. UTF-16 is converted as a whole. Clients cut answers that
 * are too long for their model, so an answer has at most TEXT_MAX bytes and says how to go on.
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
#include "tools/file_text.h"
#include "tools/notebook.h"
#include "tools/tool.h"

enum {
        PIECE = 64 << 10,
        BINARY_CHECK = 8 << 10, /* a NUL in so many first bytes makes a file binary */
        LINES_MAX = 2000,
        LINE_SHOWN_MAX = 2000,
        TEXT_MAX = TOOL_TEXT_MAX - 1000, /* without the notes */
        IMAGE_MAX = 5 << 20,
        ROW = 16, /* bytes of a binary file in a line */
        ROWS_DEFAULT = 16,
};

struct reading {
        json_int_t line;          /* number of the current line, from 1 */
        json_int_t first, end;    /* requested: first <= line < end */
        size_t length;            /* of the current line so far */
        json_int_t shown;         /* lines in the answer */
        bool in_line;             /* a part of the current line was read */
        bool invalid;             /* a shown line is not valid UTF-8 */
        bool full;                /* the current line had no room in the answer */
        bool crlf;                /* a shown line ends with CRLF */
        bool cut;                 /* a shown line is longer than LINE_SHOWN_MAX */
        enum file_encoding encoding;
        struct text partial;      /* the current line, up to LINE_SHOWN_MAX */
        struct tool_result *answer;
};

static void end_line(struct reading *r)
{
        if (r->line >= r->first && r->line < r->end && !r->full) {
                const char *line = r->partial.data ? r->partial.data : "";
                size_t start = r->answer->text.length;
                bool crlf = r->length == r->partial.length && r->length && line[r->length - 1] == '\r';
                text_format(&r->answer->text, "%lld\t", (long long)r->line);
                r->invalid |= tool_add_utf8(&r->answer->text, line, r->partial.length - crlf);
                if (r->length > r->partial.length)
                        text_format(&r->answer->text, "… (%zu more bytes in this line)",
                                    r->length - r->partial.length);
                text_add(&r->answer->text, "\n");
                r->in_line = false;
                if (r->shown && r->answer->text.length > TEXT_MAX) {
                        r->answer->text.length = start;
                        r->answer->text.data[start] = '\0';
                        r->full = true;
                        return;
                }
                r->crlf |= crlf;
                r->cut |= r->length > r->partial.length;
                r->shown++;
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

/* --- binary files --- */

/* Shows rows of bytes as hexadecimal numbers, without their characters: secrets are found in text only. */
static void read_binary(int fd, const struct held_path *s, const json_t *arguments, struct tool_result *answer)
{
        json_int_t first = tool_arg_integer(arguments, "offset", 1),
                   limit = tool_arg_integer(arguments, "limit", ROWS_DEFAULT), shown = 0;
        unsigned char row[ROW];
        ssize_t n = 0;
        text_format(&answer->text, "(%s is a binary file of %lld bytes; offset and limit count rows of %d bytes)\n",
                    s->path, (long long)s->st.st_size, ROW);
        for (; shown < limit && answer->text.length < TEXT_MAX; shown++) {
                off_t at = first - 1 + shown > s->st.st_size / ROW ? s->st.st_size : (off_t)(first - 1 + shown) * ROW;
                n = pread(fd, row, sizeof row, at);
                if (n <= 0)
                        break;
                text_format(&answer->text, "%lld\t%08llx:", (long long)(first + shown), (unsigned long long)at);
                for (ssize_t i = 0; i < n; i++)
                        text_format(&answer->text, "%s%02x", i % 2 ? "" : " ", row[i]);
                text_add(&answer->text, "\n");
        }
        bool more = (first - 1 + shown) < (s->st.st_size + ROW - 1) / ROW;
        if (n < 0)
                tool_fail(answer, "cannot read %s: %s", s->path, strerrordesc_np(errno));
        else if (!shown)
                tool_fail(answer, "offset %lld exceeds the file's %lld rows of %d bytes", (long long)first,
                          (long long)(s->st.st_size + ROW - 1) / ROW, ROW);
        if (answer->is_error)
                return;
        if (more)
                text_format(&answer->text, "(there is more: continue with offset %lld)\n", (long long)(first + shown));
        answer->details = json_pack("{s:s, s:I, s:I, s:b}", "path", s->path, "first_line", first, "lines", shown,
                                    "more", more);
}

/* --- text --- */

static bool add_utf16(const struct held_path *s, struct reading *r, bool *ret_more)
{
        CLEANUP_FILE_TEXT struct file_text f = { 0 };
        struct error e = { 0 };
        if (file_text_read(s, &f, &e) < 0) {
                tool_fail(r->answer, "%s", e.text);
                return false;
        }
        *ret_more = add_piece(r, f.text.data, f.text.length) < f.text.length;
        return true;
}

static bool add_pieces(int fd, const struct held_path *s, struct reading *r, char *piece, ssize_t n, size_t mark,
                       bool *ret_more)
{
        bool more = false;
        for (off_t at = 0; n > 0 && !more; n = more ? n : pread(fd, piece, PIECE, at)) {
                more = add_piece(r, piece + mark, (size_t)n - mark) < (size_t)n - mark;
                at += n;
                mark = 0;
        }
        if (n < 0)
                tool_fail(r->answer, "cannot read %s: %s", s->path, strerrordesc_np(errno));
        *ret_more = more;
        return n >= 0;
}

static void add_notes(const struct held_path *s, const struct reading *r, struct text *out)
{
        if (r->encoding != FILE_UTF_8)
                text_format(out, "(the file is %s, which Edit and Write keep)\n", file_encoding_name(r->encoding));
        if (r->crlf)
                text_add(out, "(lines end with CRLF, which Edit and Write keep)\n");
        if (r->invalid)
                text_add(out, "(the file is not valid UTF-8; invalid bytes are shown as \xef\xbf\xbd)\n");
        if (r->cut)
                text_format(out,
                            "(long lines are cut; to see more of line N: Bash, sed -n Np '%s' | cut -b 2001-4000)\n",
                            s->path);
}

static void read_lines(int fd, const struct held_path *s, struct reading *r, char *piece, ssize_t n)
{
        struct tool_result *answer = r->answer;
        bool more = false;
        size_t mark = 0;
        r->encoding = file_encoding_find(piece, (size_t)(n > 0 ? n : 0), &mark);
        bool is_utf16 = r->encoding == FILE_UTF_16LE || r->encoding == FILE_UTF_16BE;
        if (is_utf16 ? !add_utf16(s, r, &more) : !add_pieces(fd, s, r, piece, n, mark, &more))
                return;
        if (r->in_line && !more)
                end_line(r);
        more |= r->full;
        if (r->line == 1 && !more)
                text_format(&answer->text, "(%s is empty)", s->path);
        else if (!r->shown)
                tool_fail(answer, "offset %lld exceeds line count %lld", (long long)r->first, (long long)r->line - 1);
        if (answer->is_error)
                return;
        add_notes(s, r, &answer->text);
        if (more)
                text_format(&answer->text, "(there is more: continue with offset %lld)\n", (long long)r->line);
        answer->details = json_pack("{s:s, s:I, s:I, s:b}", "path", s->path, "first_line", r->first, "lines",
                                       r->shown, "more", more);
}

/* --- the tool --- */

/* UTF-16 has NULs too, but starts with a byte order mark. */
static bool is_binary(const char *bytes, size_t length)
{
        size_t mark = 0;
        enum file_encoding encoding = file_encoding_find(bytes, length, &mark);
        return encoding != FILE_UTF_16LE && encoding != FILE_UTF_16BE &&
               memchr(bytes, '\0', length < BINARY_CHECK ? length : BINARY_CHECK);
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
        else if (n > 0 && is_binary(piece, (size_t)n))
                read_binary(fd, s, arguments, answer);
        else if (!notebook_show(s, arguments, answer))
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
        { .name = "file_path", .type = TOOL_STRING, .required = true,
          .help = "The file to read: absolute, or relative to the workspace." },
        { .name = "offset", .type = TOOL_INTEGER,
          .help = "The first line (of a notebook: cell) to show; default 1.", .min = 1, .max = 1LL << 53 },
        { .name = "limit", .type = TOOL_INTEGER,
          .help = "How many lines (cells) to show; default 2000.", .min = 1, .max = 1000000 },
};

const struct tool tool_read = {
        .name = "Read",
        .title = "Read a file",
        .help = "Shows lines of a text file with their numbers, the cells of a Jupyter notebook, an image (PNG, JPEG, "
                "GIF, WebP), or the bytes of another binary file.",
        .reads_only = true,
        .in_workspace = true,
        .idempotent = true,
        .parameters = parameters,
        .parameter_count = ARRAY_SIZE(parameters),
        .run = run,
};
