/*
 * Searching one file; see scan.h.
 *
 * How it works: the file is read into a window, most files as a whole. What is searched always ends with a whole line; its
 * last part, with the lines that may have to be shown before a match, goes to the front, and the file is read on behind it.
 * The window grows for a line that is longer, up to a bound; beyond it the line is taken for two. With multiline the file
 * is one window, so of a file beyond the bound only the beginning is searched, and that is told.
 *
 * What an attacker controls: the file. A NUL in the first bytes of the file or of a later window makes the rest of it binary,
 * which nobody wants to see; so a hole of any size is soon over.
 */
#include "tools/scan.h"

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
        MOST_WINDOW = 16 << 20,
        KEPT_WINDOW = 1 << 20, /* for the next file */
        FIRST_LOOK = 8 << 10,  /* in which a NUL makes a file binary */
        FIRST_READ = 32 << 10, /* most files are shorter, and of those that are binary not more is read */
        MOST_OF_A_LINE = 2000,
        MOST_BEFORE = 64 << 10, /* bytes of lines that are kept for being shown */
};

static size_t first_window = WINDOW;

struct scanner {
        struct scan_options o;
        const atomic_bool *stop;
        struct matcher_hand *matcher;
        char *text;            /* the window */
        size_t size, length;
        /* of this file: */
        struct text label;     /* its path, as it is shown */
        struct finding *f;
        size_t searched;       /* everything before this was */
        size_t line, counted;  /* the number of the line that starts at `counted` */
        size_t shown_to;       /* of the window, everything before this was shown or passed over */
        size_t after_left;     /* lines to be shown behind the last match */
        bool gap;              /* something between the last line shown and `shown_to` was not */
};

void finding_done(struct finding *f)
{
        free(f->path);
        text_done(&f->text);
        text_done(&f->marks);
}

void scan_set_window(size_t bytes)
{
        first_window = bytes;
}

struct scanner *scanner_new(const struct scan_options *options, const atomic_bool *stop)
{
        struct scanner *s = calloc(1, sizeof *s);
        if (!s)
                return NULL;
        *s = (struct scanner){ .o = *options, .stop = stop, .size = first_window };
        s->matcher = matcher_hand_new(options->matcher, stop);
        s->text = malloc(s->size);
        if (!s->matcher || !s->text) {
                scanner_free(s);
                return NULL;
        }
        return s;
}

void scanner_free(struct scanner *s)
{
        if (!s)
                return;
        matcher_hand_free(s->matcher);
        text_done(&s->label);
        free(s->text);
        free(s);
}

/* --- what is shown --- */

static const char *label(struct scanner *s)
{
        if (!s->label.length) {
                text_add(&s->label, strcmp(s->o.top, "/") == 0 ? "" : s->o.top);
                text_add(&s->label, "/");
                text_add_visible(&s->label, s->f->path, strlen(s->f->path));
        }
        return s->label.data ? s->label.data : "";
}

/* In blocks of a fixed size, which a compiler turns into vector instructions. */
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

static size_t number_of(struct scanner *s, size_t start)
{
        s->line += count_newlines(s->text + s->counted, start - s->counted);
        s->counted = start;
        return s->line;
}

static void show_line(struct scanner *s, size_t start, size_t end, enum scan_mark mark)
{
        const char separator = mark == MARK_AROUND ? '-' : ':', as_byte = (char)mark;
        size_t n = end - start - (end > start && s->text[end - 1] == '\n');
        n -= n && s->text[start + n - 1] == '\r';
        text_format(&s->f->text, "%s%c%zu%c", label(s), separator, number_of(s, start), separator);
        (void)tool_add_utf8(&s->f->text, s->text + start, n < MOST_OF_A_LINE ? n : MOST_OF_A_LINE);
        text_add(&s->f->text, n > MOST_OF_A_LINE ? "…\n" : "\n");
        text_add_bytes(&s->f->marks, &as_byte, 1);
        s->shown_to = end;
        s->gap = false;
}

static void show_after(struct scanner *s, size_t to)
{
        for (; s->after_left && s->shown_to < to; s->after_left--)
                show_line(s, s->shown_to, matcher_line_end(s->text, s->length, s->shown_to), MARK_AROUND);
}

/* The lines of a match, with those around it that were not shown yet. */
static void show_match(struct scanner *s, size_t start, size_t end)
{
        size_t from = start;
        show_after(s, start);
        for (size_t i = 0; i < s->o.before && from > s->shown_to; i++)
                from = matcher_line_start(s->text, from - 1);
        if (from < s->shown_to)
                from = s->shown_to;
        if (s->f->marks.length && (s->gap || from > s->shown_to) && (s->o.before || s->o.after))
                text_add(&s->f->text, "--\n");
        for (size_t at = from, next; at < end; at = next) {
                next = matcher_line_end(s->text, s->length, at);
                show_line(s, at, next, at < start ? MARK_AROUND : at == start ? MARK_MATCH : MARK_GOES_ON);
        }
        s->after_left = s->o.after;
}

/* --- searching --- */

/* 1 when all is known that was asked for, 0 when there may be more, or -errno. */
static int search_window(struct scanner *s, size_t to)
{
        size_t start = 0, end = 0;
        int r;
        matcher_begin(s->matcher, s->text, to, s->searched);
        while ((r = matcher_next(s->matcher, &start, &end)) == 1) {
                s->f->matches++;
                if (s->o.mode == SCAN_FILES)
                        return 1;
                if (s->o.mode != SCAN_CONTENT)
                        continue;
                if (s->f->marks.length >= s->o.limit) {
                        s->f->more = true;
                        return 1;
                }
                show_match(s, start, end);
        }
        if (r == 0 && s->o.mode == SCAN_CONTENT)
                show_after(s, to);
        return r;
}

/* Makes room by letting go of what was searched, but for the lines that may be shown before the next match. */
static void slide(struct scanner *s, size_t searched)
{
        size_t keep = searched;
        for (size_t i = 0; i < s->o.before && keep > s->shown_to && searched - keep < MOST_BEFORE; i++)
                keep = matcher_line_start(s->text, keep - 1);
        if (keep < s->shown_to)
                keep = s->shown_to;
        if (s->o.mode == SCAN_CONTENT)
                (void)number_of(s, keep);
        size_t from = keep - (keep > 0); /* with a newline in front: what follows is not the beginning of a text */
        s->gap |= keep > s->shown_to;
        s->shown_to = s->counted = keep - from;
        s->searched = searched - from;
        s->length -= from;
        memmove(s->text, s->text + from, s->length);
}

static bool grow(struct scanner *s)
{
        if (s->size >= MOST_WINDOW)
                return false;
        char *larger = realloc(s->text, s->size * 2);
        if (!larger)
                return false;
        s->text = larger;
        s->size *= 2;
        return true;
}

/* Fills the window up to here. False: that was the end of the file, or of what is text in it. */
static bool read_on(struct scanner *s, int fd, size_t to)
{
        size_t before = s->length;
        ssize_t n = 1;
        while (s->length < to && ((n = read(fd, s->text + s->length, to - s->length)) > 0 || (n < 0 && errno == EINTR)))
                s->length += n > 0 ? (size_t)n : 0;
        size_t new = s->length - before;
        if (memchr(s->text + before, '\0', new < FIRST_LOOK ? new : FIRST_LOOK)) {
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

static int search_file(struct scanner *s, int fd)
{
        bool more = read_on(s, fd, s->size < FIRST_READ ? s->size : FIRST_READ);
        if (more && !is_regular(fd)) /* one that is short has ended already, whatever it is */
                return 0;
        more = more && read_on(s, fd, s->size);
        for (;;) {
                size_t to = more && !s->o.multiline ? matcher_line_start(s->text, s->length) : s->length;
                bool too_short = more && (s->o.multiline || to <= s->searched);
                if (*s->stop)
                        return -ECANCELED;
                if (too_short && grow(s)) {
                        more = read_on(s, fd, s->size);
                        continue;
                }
                s->f->cut = s->o.multiline && more;
                int r = search_window(s, too_short ? s->length : to);
                if (r != 0 || !more || s->f->cut)
                        return r < 0 ? r : 0;
                slide(s, too_short ? s->length : to);
                more = read_on(s, fd, s->size);
        }
}

/* Forgets the last file, and the memory that it took if that was much. */
static bool begin_file(struct scanner *s)
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

/* Without lines there is one for the file. */
static void show_file(struct scanner *s)
{
        static const char mark = MARK_MATCH;
        text_add(&s->f->text, label(s));
        if (s->o.mode == SCAN_COUNT)
                text_format(&s->f->text, ":%zu", s->f->matches);
        text_add(&s->f->text, "\n");
        text_add_bytes(&s->f->marks, &mark, 1);
}

int scan_file(struct scanner *s, const struct walk_file *file, struct finding *ret)
{
        *ret = (struct finding){ .path = (char *)(uintptr_t)file->path }; /* borrowed until something is found */
        CLEANUP_FD int fd = openat(file->directory, file->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0)
                return 0;
        if (!begin_file(s))
                return -ENOMEM;
        s->f = ret;
        int r = search_file(s, fd);
        if (r == 0 && ret->matches && s->o.mode != SCAN_CONTENT)
                show_file(s);
        ret->path = r == 0 && ret->matches ? strdup(file->path) : NULL;
        if (r == 0 && ret->matches && ret->path && !ret->text.failed && !ret->marks.failed && !s->label.failed)
                return 1;
        bool failed = r == 0 && ret->matches;
        finding_done(ret);
        return failed ? -ENOMEM : r;
}
