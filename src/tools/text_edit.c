/* Replaces text; see text_edit.h. */
#include "tools/text_edit.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum {
        CONTEXT_LINES = 3,
        DIFF_SPANS_MAX = 100,     /* of replaced text that a diff shows */
        DIFF_LINES_MAX = 200,     /* of a diff that are shown */
        DIFF_LINE_BYTES_MAX = 500,
};

struct piece {
        const char *data;
        size_t length;
};

/* A part of the old text and what it became: first as replaced, then extended to whole lines. */
struct span {
        size_t old_start, old_end, new_start, new_end;
};

static struct piece piece_of(const json_t *string)
{
        return (struct piece){ json_string_value(string), json_string_length(string) };
}

static bool has(struct piece text, char c)
{
        return memchr(text.data, c, text.length);
}

static size_t count_matches(struct piece haystack, struct piece needle)
{
        size_t found = 0;
        for (const char *p = haystack.data;
             (p = memmem(p, haystack.length - (size_t)(p - haystack.data), needle.data, needle.length)); found++)
                p += needle.length;
        return found;
}

/* Adds the text, which has no CR, with CRLF for each LF. */
static void add_crlf(struct text *out, struct piece text)
{
        text_add(out, "");
        for (size_t i = 0; i < text.length; i++) {
                if (text.data[i] == '\n')
                        text_add(out, "\r");
                text_add_bytes(out, &text.data[i], 1);
        }
}

/* --- the diff --- */

static size_t line_start(const char *text, size_t offset)
{
        const char *newline = memrchr(text, '\n', offset);
        return newline ? (size_t)(newline - text) + 1 : 0;
}

static size_t line_end(struct piece text, size_t offset)
{
        const char *newline = memchr(text.data + offset, '\n', text.length - offset);
        return newline ? (size_t)(newline - text.data) + 1 : text.length;
}

static size_t count_lines(const char *text, size_t from, size_t to)
{
        size_t lines = 0;
        for (size_t at = from; at < to; lines++) {
                const char *newline = memchr(text + at, '\n', to - at);
                at = newline ? (size_t)(newline - text) + 1 : to;
        }
        return lines;
}

/* Extends the span to whole lines of both texts. */
static void extend_to_lines(struct span *s, struct piece before, struct piece after)
{
        size_t start = line_start(before.data, s->old_start);
        s->new_start -= s->old_start - start;
        s->old_start = start;
        bool old_whole = s->old_end == s->old_start || before.data[s->old_end - 1] == '\n';
        bool new_whole = s->new_end == s->new_start || after.data[s->new_end - 1] == '\n';
        if (old_whole && new_whole)
                return;
        size_t end = line_end(before, s->old_end);
        s->new_end += end - s->old_end;
        s->old_end = end;
}

/* Extends the spans, and joins those that touch. Returns how many remain. */
static size_t join_spans(struct span *spans, size_t count, struct piece before, struct piece after)
{
        size_t kept = 0;
        for (size_t i = 0; i < count; i++) {
                extend_to_lines(&spans[i], before, after);
                if (kept && spans[i].old_start <= spans[kept - 1].old_end) {
                        spans[kept - 1].old_end = spans[i].old_end;
                        spans[kept - 1].new_end = spans[i].new_end;
                } else {
                        spans[kept++] = spans[i];
                }
        }
        return kept;
}

struct diff {
        struct text *out;
        size_t lines; /* shown so far; the rest is left out beyond DIFF_LINES_MAX */
};

static void add_diff_lines(struct diff *d, char sign, const char *text, size_t from, size_t to)
{
        for (size_t at = from; at < to; d->lines++) {
                const char *newline = memchr(text + at, '\n', to - at);
                size_t end = newline ? (size_t)(newline - text) : to, n = end - at;
                n -= n && text[at + n - 1] == '\r';
                if (d->lines < DIFF_LINES_MAX) {
                        text_add_bytes(d->out, &sign, 1);
                        (void)tool_add_utf8(d->out, text + at, n < DIFF_LINE_BYTES_MAX ? n : DIFF_LINE_BYTES_MAX);
                        text_add(d->out, n > DIFF_LINE_BYTES_MAX ? "…\n" : "\n");
                        if (!newline)
                                text_add(d->out, "\\ No newline at end of file\n");
                }
                at = newline ? end + 1 : to;
        }
}

/* The offset so many lines before or after a line's start. */
static size_t back_lines(const char *text, size_t offset, size_t lines)
{
        for (; lines && offset; lines--)
                offset = line_start(text, offset - 1);
        return offset;
}

static size_t forward_lines(struct piece text, size_t offset, size_t lines)
{
        for (; lines && offset < text.length; lines--)
                offset = line_end(text, offset);
        return offset;
}

/* Prints the spans as one hunk, with the lines around them. */
static void print_hunk(struct diff *d, const struct span *s, size_t count, struct piece before, struct piece after)
{
        const struct span *last = &s[count - 1];
        size_t start = back_lines(before.data, s->old_start, CONTEXT_LINES);
        size_t end = forward_lines(before, last->old_end, CONTEXT_LINES);
        size_t new_start = s->new_start - (s->old_start - start), new_end = last->new_end + (end - last->old_end);
        size_t old_lines = count_lines(before.data, start, end),
               new_lines = count_lines(after.data, new_start, new_end);
        if (d->lines < DIFF_LINES_MAX)
                text_format(d->out, "@@ -%zu,%zu +%zu,%zu @@\n", count_lines(before.data, 0, start) + (old_lines > 0),
                            old_lines, count_lines(after.data, 0, new_start) + (new_lines > 0), new_lines);
        for (size_t i = 0, at = start; i < count; at = s[i++].old_end) {
                add_diff_lines(d, ' ', before.data, at, s[i].old_start);
                add_diff_lines(d, '-', before.data, s[i].old_start, s[i].old_end);
                add_diff_lines(d, '+', after.data, s[i].new_start, s[i].new_end);
        }
        add_diff_lines(d, ' ', before.data, last->old_end, end);
}

static void print_diff(struct span *spans, size_t count, struct piece before, struct piece after, struct text *out)
{
        struct diff d = { .out = out };
        size_t kept = join_spans(spans, count, before, after);
        for (size_t i = 0, n; i < kept; i += n) {
                for (n = 1; i + n < kept; n++)
                        if (count_lines(before.data, spans[i + n - 1].old_end, spans[i + n].old_start) >
                            (size_t)2 * CONTEXT_LINES)
                                break;
                print_hunk(&d, &spans[i], n, before, after);
        }
        if (d.lines > DIFF_LINES_MAX || count == DIFF_SPANS_MAX)
                text_add(out, "(the rest of the diff is left out)\n");
}

void text_edit_add_diff(const struct text *before, const struct text *after, struct text *diff)
{
        const struct piece old = { before->data, before->length }, new = { after->data, after->length };
        size_t shorter = old.length < new.length ? old.length : new.length, start = 0, same = 0;
        while (start < shorter && old.data[start] == new.data[start])
                start++;
        start = line_start(old.data, start);
        while (same < shorter - start && old.data[old.length - same - 1] == new.data[new.length - same - 1])
                same++;
        struct span changed = { start, old.length - same, start, new.length - same };
        if (changed.old_start < changed.old_end || changed.new_start < changed.new_end)
                print_diff(&changed, 1, old, new, diff);
}

/* --- replacing --- */

struct replacement {
        struct piece old, new, new_crlf;
        bool by_line_ends; /* new_crlf where the file has CRLF */
};

/* Adds the replaced text to `out`, and notes the first replacements in `spans`. Returns how many it noted. */
static size_t replace(const struct file_text *f, const struct replacement *r, struct text *out, struct span *spans)
{
        const char *start = f->text.data, *p = start, *end = start + f->text.length;
        size_t count = 0;
        for (const char *next; (next = memmem(p, (size_t)(end - p), r->old.data, r->old.length));
             p = next + r->old.length) {
                size_t old_end = (size_t)(next - start) + r->old.length;
                bool crlf =
                        r->by_line_ends && (has(r->old, '\n') ? has(r->old, '\r') : file_text_has_crlf_at(f, old_end));
                struct piece new = crlf ? r->new_crlf : r->new;
                text_add_bytes(out, p, (size_t)(next - p));
                if (count < DIFF_SPANS_MAX)
                        spans[count++] = (struct span){ (size_t)(next - start), old_end, out->length,
                                                        out->length + new.length };
                text_add_bytes(out, new.data, new.length);
        }
        text_add_bytes(out, p, (size_t)(end - p));
        return count;
}

static size_t fail(struct tool_result *answer)
{
        if (!answer->is_error)
                tool_fail(answer, "no memory");
        return 0;
}

size_t text_edit_apply(const struct text_edit *edit, const char *path, struct file_text *f, struct text *diff,
                       struct tool_result *answer)
{
        CLEANUP_TEXT struct text changed = { 0 }, old_crlf = { 0 }, new_crlf = { 0 };
        struct replacement r = { .old = piece_of(edit->old), .new = piece_of(edit->new) };
        const struct piece before = { f->text.data, f->text.length };
        if (!r.old.length)
                tool_fail(answer, "%sold_string is empty", edit->where);
        else if (json_equal(edit->old, edit->new))
                tool_fail(answer, "%sold_string and new_string are the same", edit->where);
        if (answer->is_error)
                return 0;
        r.by_line_ends = !has(r.old, '\r') && !has(r.new, '\r');
        if (r.by_line_ends) {
                add_crlf(&old_crlf, r.old);
                add_crlf(&new_crlf, r.new);
                if (old_crlf.failed || new_crlf.failed)
                        return fail(answer);
                r.new_crlf = (struct piece){ new_crlf.data, new_crlf.length };
        }
        size_t found = count_matches(before, r.old);
        if (!found && r.by_line_ends && old_crlf.length > r.old.length) {
                r.old = (struct piece){ old_crlf.data, old_crlf.length };
                found = count_matches(before, r.old);
        }
        if (!found)
                tool_fail(answer, "%sold_string not found in %s", edit->where, path);
        else if (found > 1 && !edit->all)
                tool_fail(answer,
                          "%sold_string matched %zu times in %s; add context to make it unique or set replace_all=true",
                          edit->where, found, path);
        if (answer->is_error)
                return 0;
        struct span *spans = calloc(DIFF_SPANS_MAX, sizeof *spans);
        size_t count = spans ? replace(f, &r, &changed, spans) : 0;
        if (spans && !changed.failed)
                print_diff(spans, count, before, (struct piece){ changed.data, changed.length }, diff);
        free(spans);
        if (!spans || changed.failed || diff->failed)
                return fail(answer);
        struct text old_text = f->text;
        f->text = changed;
        changed = old_text;
        return found;
}
