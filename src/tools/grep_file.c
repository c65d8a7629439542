/*
 * Searches one file; see grep_file.h.
 *
 * How it works: the file is read into a window, into which most files fit. The window is searched up to its last
 * complete line. Then the rest of it, and the lines that may have to be shown before the next match, move to its start,
 * and the file is read on after them. The window grows for a longer line, up to WINDOW_MAX; a longer one is split. With
 * multiline the file must be in one window, so only the beginning of a larger file is searched, and the answer says so.
 *
 * What an attacker controls: the file. A NUL near the start of the file or of what is read later makes the rest of the
 * file binary, which is not searched; so a hole of any size costs little time.
 */
#include "tools/grep_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "tools/tool.h"

enum {
        WINDOW = 256 << 10,
        WINDOW_MAX = 16 << 20,
        KEPT_WINDOW = 1 << 20, /* a larger window is not kept for the next file */
        BINARY_CHECK = 8 << 10, /* a NUL in so many first bytes makes a file binary */
        FIRST_READ = 32 << 10, /* most files are shorter, and of a binary file no more is read */
        LINE_SHOWN_MAX = 2000,
        BEFORE_MAX = 64 << 10, /* bytes of lines that are kept to be shown before a match */
};

static size_t first_window = WINDOW;

struct grep_scanner {
        struct grep_options options;
        const atomic_bool *stop;
        struct matcher_state *matcher;
        char *text;            /* the window */
        size_t size, length;
        /* The current file; offsets are in the window. */
        struct text label;     /* its path, as shown */
        struct grep_result *f;
        size_t searched;       /* all before this offset was searched */
        size_t line, counted;  /* `line` is the number of the line that starts at `counted` */
        size_t shown_to;       /* all before this offset was shown or skipped */
        size_t after_left;     /* context lines still to show after the last match */
        bool gap;              /* lines between the last one shown and `shown_to` were not shown */
};

void grep_result_done(struct grep_result *f)
{
        free(f->path);
        text_done(&f->text);
        text_done(&f->marks);
}

void grep_set_window(size_t bytes)
{
        first_window = bytes;
}

struct grep_scanner *grep_scanner_new(const struct grep_options *options, const atomic_bool *stop)
{
        struct grep_scanner *s = calloc(1, sizeof *s);
        if (!s)
                return NULL;
        *s = (struct grep_scanner){ .options = *options, .stop = stop, .size = first_window };
        s->matcher = matcher_state_new(options->matcher, stop);
        s->text = malloc(s->size);
        if (!s->matcher || !s->text) {
                grep_scanner_free(s);
                return NULL;
        }
        return s;
}

void grep_scanner_free(struct grep_scanner *s)
{
        if (!s)
                return;
        matcher_state_free(s->matcher);
        text_done(&s->label);
        free(s->text);
        free(s);
}

/* --- output --- */

static const char *path_label(struct grep_scanner *s)
{
        if (!s->label.length) {
                text_add(&s->label, strcmp(s->options.top, "/") == 0 ? "" : s->options.top);
                text_add(&s->label, "/");
                text_add_escaped(&s->label, s->f->path, strlen(s->f->path));
        }
        return s->label.data ? s->label.data : "";
}

/* Counts in blocks of a fixed size, which the compiler vectorizes. */
static size_t count_newlines(const char *p, size_t length)
{
        enum { BLOCK = 64 };
        size_t n = 0;
        for (; length >= BLOCK; length -= BLOCK, p += BLOCK) {
                unsigned char found = 0;
                for (size_t i = 0; i < BLOCK; i++)
                        found = (unsigned char)(found + (p[i] == '\n'));
                n += found;
        }
        for (; length; length--, p++)
                n += *p == '\n';
        return n;
}

static size_t line_number(struct grep_scanner *s, size_t start)
{
        s->line += count_newlines(s->text + s->counted, start - s->counted);
        s->counted = start;
        return s->line;
}

static void show_line(struct grep_scanner *s, size_t start, size_t end, enum grep_line_kind mark)
{
        const char separator = mark == MARK_CONTEXT ? '-' : ':', as_byte = (char)mark;
        size_t n = end - start - (end > start && s->text[end - 1] == '\n');
        n -= n && s->text[start + n - 1] == '\r';
        text_format(&s->f->text, "%s%c", path_label(s), separator);
        if (!s->options.without_numbers)
                text_format(&s->f->text, "%zu%c", line_number(s, start), separator);
        (void)tool_add_utf8(&s->f->text, s->text + start, n < LINE_SHOWN_MAX ? n : LINE_SHOWN_MAX);
        text_add(&s->f->text, n > LINE_SHOWN_MAX ? "…\n" : "\n");
        text_add_bytes(&s->f->marks, &as_byte, 1);
        s->shown_to = end;
        s->gap = false;
}

static void show_after(struct grep_scanner *s, size_t to)
{
        for (; s->after_left && s->shown_to < to; s->after_left--)
                show_line(s, s->shown_to, line_end_at(s->text, s->length, s->shown_to), MARK_CONTEXT);
}

/* Shows the lines of a match, with the context lines that were not shown yet. */
static void show_match(struct grep_scanner *s, size_t start, size_t end)
{
        size_t from = start;
        show_after(s, start);
        for (size_t i = 0; i < s->options.before && from > s->shown_to; i++)
                from = line_start_at(s->text, from - 1);
        if (from < s->shown_to)
                from = s->shown_to;
        if (s->f->marks.length && (s->gap || from > s->shown_to) && (s->options.before || s->options.after))
                text_add(&s->f->text, "--\n");
        for (size_t at = from, next; at < end; at = next) {
                next = line_end_at(s->text, s->length, at);
                show_line(s, at, next, at < start ? MARK_CONTEXT : at == start ? LINE_MATCH : MARK_CONTINUED);
        }
        s->after_left = s->options.after;
}

/* --- searching --- */

/* Returns 1 when the rest of the file need not be searched, 0 when it must be, or -errno. */
static int search_window(struct grep_scanner *s, size_t to)
{
        size_t start = 0, end = 0;
        int r;
        match_begin(s->matcher, s->text, to, s->searched);
        while ((r = match_next(s->matcher, &start, &end)) == 1) {
                s->f->matches++;
                if (s->options.mode == GREP_FILES)
                        return 1;
                if (s->options.mode != GREP_CONTENT)
                        continue;
                if (s->f->marks.length >= s->options.limit) {
                        s->f->more = true;
                        return 1;
                }
                show_match(s, start, end);
        }
        if (r == 0 && s->options.mode == GREP_CONTENT)
                show_after(s, to);
        return r;
}

/* Drops what was searched, except for the lines that may be shown before the next match. */
static void slide(struct grep_scanner *s, size_t searched)
{
        size_t keep = searched;
        for (size_t i = 0; i < s->options.before && keep > s->shown_to && searched - keep < BEFORE_MAX; i++)
                keep = line_start_at(s->text, keep - 1);
        if (keep < s->shown_to)
                keep = s->shown_to;
        if (s->options.mode == GREP_CONTENT)
                (void)line_number(s, keep);
        size_t from = keep - (keep > 0); /* keep a newline in front, so that \A does not match here */
        s->gap |= keep > s->shown_to;
        s->shown_to = s->counted = keep - from;
        s->searched = searched - from;
        s->length -= from;
        memmove(s->text, s->text + from, s->length);
}

static bool grow(struct grep_scanner *s)
{
        if (s->size >= WINDOW_MAX)
                return false;
        char *larger = realloc(s->text, s->size * 2);
        if (!larger)
                return false;
        s->text = larger;
        s->size *= 2;
        return true;
}

/* Fills the window up to offset `to`. Returns false at EOF, or where the rest of the file is binary. */
static bool read_more(struct grep_scanner *s, int fd, size_t to)
{
        size_t before = s->length;
        ssize_t n = 1;
        while (s->length < to && ((n = read(fd, s->text + s->length, to - s->length)) > 0 || (n < 0 && errno == EINTR)))
                s->length += n > 0 ? (size_t)n : 0;
        size_t new = s->length - before;
        if (memchr(s->text + before, '\0', new < BINARY_CHECK ? new : BINARY_CHECK)) {
                s->length = before;
                return false;
        }
        return n > 0;
}

static bool is_regular(int fd)
{
        struct stat st;
        return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

static int search_file(struct grep_scanner *s, int fd)
{
        bool more = read_more(s, fd, s->size < FIRST_READ ? s->size : FIRST_READ);
        if (more && !is_regular(fd)) /* a short one was read completely, whatever its type */
                return 0;
        more = more && read_more(s, fd, s->size);
        for (;;) {
                size_t to = more && !s->options.multiline ? line_start_at(s->text, s->length) : s->length;
                bool too_short = more && (s->options.multiline || to <= s->searched);
                if (*s->stop)
                        return -ECANCELED;
                if (too_short && grow(s)) {
                        more = read_more(s, fd, s->size);
                        continue;
                }
                s->f->cut = s->options.multiline && more;
                int r = search_window(s, too_short ? s->length : to);
                if (r != 0 || !more || s->f->cut)
                        return r < 0 ? r : 0;
                slide(s, too_short ? s->length : to);
                more = read_more(s, fd, s->size);
        }
}

/* Resets the state for the next file, and frees a large window. */
static bool begin_file(struct grep_scanner *s)
{
        if (s->size > KEPT_WINDOW) {
                free(s->text);
                s->text = malloc(first_window);
                s->size = s->text ? first_window : 0;
        }
        s->label.length = 0;
        s->length = s->searched = s->counted = s->shown_to = s->after_left = 0;
        s->line = 1;
        s->gap = false;
        return s->size;
}

/* Other modes than GREP_CONTENT show one line for the file. */
static void show_file(struct grep_scanner *s)
{
        static const char mark = LINE_MATCH;
        text_add(&s->f->text, path_label(s));
        if (s->options.mode == GREP_COUNT)
                text_format(&s->f->text, ":%zu", s->f->matches);
        text_add(&s->f->text, "\n");
        text_add_bytes(&s->f->marks, &mark, 1);
}

int grep_file(struct grep_scanner *s, const struct walk_file *file, struct grep_result *ret)
{
        *ret = (struct grep_result){ .path = (char *)(uintptr_t)file->path }; /* borrowed until there is a match */
        CLEANUP_FD int fd =
                openat(file->directory, file->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0)
                return 0;
        if (!begin_file(s))
                return -ENOMEM;
        s->f = ret;
        int r = search_file(s, fd);
        if (r == 0 && ret->matches && s->options.mode != GREP_CONTENT)
                show_file(s);
        ret->path = r == 0 && ret->matches ? strdup(file->path) : NULL;
        if (r == 0 && ret->matches && ret->path && !ret->text.failed && !ret->marks.failed && !s->label.failed)
                return 1;
        bool failed = r == 0 && ret->matches;
        grep_result_done(ret);
        return failed ? -ENOMEM : r;
}
