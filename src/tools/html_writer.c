/*
 * Readable text; see html_writer.h.
 *
 * How it works: nothing that only separates is written when it is met. Breaks, spaces, the separators of cells and the
 * marks in front of links and code wait for the next word, and what no word follows is never written; so there are no
 * blanks at the ends of lines, no empty items, and no links without a text.
 *
 * What an attacker controls: all of the text. What is written is UTF-8 without control characters and without
 * characters that nobody sees, in which a page could hide words for an agent; and never more than `most`.
 */
#include "tools/html_writer.h"

#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "tools/html_entities.h"

static void put(struct html_writer *w, const char *bytes, size_t length)
{
        size_t room = w->most > w->out->length ? w->most - w->out->length : 0;
        if (w->full)
                return;
        if (length > room) {
                w->full = true;
                length = room;
                while (length && ((unsigned char)bytes[length] & 0xc0) == 0x80) /* not inside a character */
                        length--;
        }
        text_add_bytes(w->out, bytes, length);
}

static void put_string(struct html_writer *w, const char *text)
{
        put(w, text, strlen(text));
}

/* An empty line has what the lines on both of its sides begin with, and no blanks behind that. */
static void end_lines(struct html_writer *w)
{
        size_t length = w->around;
        while (length && w->later[length - 1] == ' ')
                length--;
        for (; w->breaks && !w->full; w->breaks--) {
                put_string(w, "\n");
                if (w->breaks > 1)
                        put(w, w->later, length);
        }
}

static void begin_line(struct html_writer *w)
{
        put(w, w->next, w->prefix);
        memcpy(w->next, w->later, w->prefix);
}

/* Something is about to be written: all that has waited for it comes first. */
static void begin_word(struct html_writer *w)
{
        bool new_line = !w->begun || w->breaks;
        if (w->begun && w->breaks) {
                w->broken |= w->cells && !w->fresh;
                end_lines(w);
        }
        w->breaks = 0;
        if (new_line)
                begin_line(w);
        if (w->separators) {
                for (; w->separators; w->separators--, new_line = false)
                        put_string(w, new_line ? "| " : " | ");
        } else if (w->space && !new_line) {
                put_string(w, " ");
        }
        w->begun = true;
        w->around = w->prefix;
        w->space = w->fresh = false;
        if (w->fence == MARK_WAITS) {
                w->fence = MARK_STANDS;
                put_string(w, "```\n");
                begin_line(w);
        }
        if (w->link == MARK_WAITS) {
                w->link = MARK_STANDS;
                put_string(w, "[");
        }
        if (w->code == MARK_WAITS) {
                w->code = MARK_STANDS;
                put_string(w, "`");
        }
}

static void put_word(struct html_writer *w, const char *bytes, size_t length)
{
        if (!w->begun || w->breaks || w->space || w->fresh || w->separators || w->link == MARK_WAITS ||
            w->code == MARK_WAITS || w->fence == MARK_WAITS)
                begin_word(w);
        put(w, bytes, length);
}

void html_put(struct html_writer *w, const char *words)
{
        put_word(w, words, strlen(words));
}

/* --- lines --- */

/* A mark that waits goes on waiting; one that stands ends with its line. */
static void end_marks(struct html_writer *w)
{
        if (w->code == MARK_STANDS)
                html_end_code(w);
        if (w->link == MARK_STANDS)
                html_end_link(w);
}

void html_break(struct html_writer *w, size_t lines)
{
        if (w->fresh || !lines)
                return;
        end_marks(w);
        if (w->breaks < lines)
                w->breaks = lines;
}

void html_indent(struct html_writer *w, const char *mark, bool again)
{
        size_t length = strlen(mark), old = w->prefix;
        if (length <= HTML_PREFIX_MOST - old) { /* nobody reads what nests deeper than that */
                memcpy(w->next + old, mark, length);
                memset(w->later + old, ' ', length);
                if (again)
                        memcpy(w->later + old, mark, length);
                w->prefix += length;
        }
}

void html_unindent(struct html_writer *w, size_t prefix)
{
        w->prefix = prefix;
        if (w->around > prefix)
                w->around = prefix;
}

/* --- marks --- */

void html_begin_link(struct html_writer *w)
{
        w->link = w->verbatim || w->code != MARK_NONE || !w->href.length ? MARK_NONE : MARK_WAITS;
}

void html_end_link(struct html_writer *w)
{
        if (w->link == MARK_STANDS) {
                put_string(w, "](");
                put(w, w->href.data, w->href.length);
                put_string(w, ")");
        }
        w->link = MARK_NONE;
}

void html_begin_code(struct html_writer *w)
{
        if (w->code == MARK_NONE && !w->verbatim)
                w->code = MARK_WAITS;
}

void html_end_code(struct html_writer *w)
{
        if (w->code == MARK_STANDS)
                put_string(w, "`");
        w->code = MARK_NONE;
}

void html_begin_fence(struct html_writer *w)
{
        w->link = w->code = MARK_NONE;
        w->verbatim = true;
        w->fence = MARK_WAITS;
}

void html_end_fence(struct html_writer *w)
{
        if (w->fence == MARK_STANDS) {
                w->fence = MARK_NONE;
                w->breaks = 1;
                html_put(w, "```");
        }
        w->fence = MARK_NONE;
        w->verbatim = false;
}

/* --- tables --- */

void html_begin_row(struct html_writer *w)
{
        w->cells = w->separators = 0;
        w->broken = w->fresh = false;
        html_break(w, 1);
}

void html_end_row(struct html_writer *w)
{
        html_begin_row(w);
        w->broken = true; /* the cell around it, if there is one */
}

void html_begin_cell(struct html_writer *w)
{
        end_marks(w);
        if (w->cells++ && !w->broken)
                w->separators++;
        w->fresh = true;
}

/* Breaks at the end of a cell are none, unless it has several lines: then the next one begins on its own. */
void html_end_cell(struct html_writer *w)
{
        end_marks(w);
        if (!w->fresh)
                w->breaks = w->broken;
        w->fresh = false;
}

/* --- text --- */

enum character { CHARACTER_SHOWN, CHARACTER_SPACE, CHARACTER_LINE, CHARACTER_UNSEEN };

static enum character kind_of(uint32_t c)
{
        static const struct {
                uint32_t first, last;
                enum character kind;
        } rows[] = {
                { '\t', '\t', CHARACTER_SPACE },
                { '\n', '\n', CHARACTER_LINE },
                { '\f', '\r', CHARACTER_SPACE },
                { 0, 0x1f, CHARACTER_UNSEEN },
                { ' ', ' ', CHARACTER_SPACE },
                { 0x7f, 0x9f, CHARACTER_UNSEEN },
                { 0xa0, 0xa0, CHARACTER_SPACE },
                { 0xad, 0xad, CHARACTER_UNSEEN },       /* soft hyphen */
                { 0x61c, 0x61c, CHARACTER_UNSEEN },     /* these turn what a person reads around */
                { 0x200b, 0x200b, CHARACTER_UNSEEN },   /* zero width */
                { 0x200e, 0x200f, CHARACTER_UNSEEN },
                { 0x2028, 0x2029, CHARACTER_LINE },
                { 0x202a, 0x202e, CHARACTER_UNSEEN },
                { 0x2060, 0x206f, CHARACTER_UNSEEN },
                { 0xfeff, 0xfeff, CHARACTER_UNSEEN },
                { 0xfff9, 0xfffb, CHARACTER_UNSEEN },
                { 0xe0000, 0xe0fff, CHARACTER_UNSEEN }, /* a second ASCII that nobody sees */
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                if (c >= rows[i].first && c <= rows[i].last)
                        return rows[i].kind;
        return CHARACTER_SHOWN;
}

/* The character here, and how many bytes it takes. */
static size_t take_character(const char *at, size_t length, bool decode, uint32_t *ret)
{
        unsigned char c = (unsigned char)*at;
        size_t n = c == '&' && decode ? html_entity(at, length, false, ret) : 0;
        if (n)
                return n;
        n = text_utf8_step(at, length);
        *ret = n > 1 ? c & (0x7fU >> n) : c < 0x80 ? c : 0xfffd;
        for (size_t i = 1; i < n; i++)
                *ret = *ret << 6 | ((unsigned char)at[i] & 0x3fU);
        return n;
}

static void write_character(struct html_writer *w, uint32_t c)
{
        char utf8[4];
        switch (kind_of(c)) {
        case CHARACTER_SHOWN:
                put_word(w, utf8, html_write_utf8(c, utf8));
                break;
        case CHARACTER_LINE:
                if (w->verbatim && w->fence != MARK_WAITS)
                        w->breaks++;
                w->space = !w->verbatim;
                break;
        case CHARACTER_SPACE:
                if (w->verbatim && c != '\r')
                        put_word(w, c == '\t' ? "\t" : " ", 1);
                w->space = !w->verbatim;
                break;
        case CHARACTER_UNSEEN:
                break;
        }
}

void html_write(struct html_writer *w, const char *bytes, size_t length, bool decode)
{
        for (size_t n = 0; length && !w->full; bytes += n, length -= n) {
                uint32_t c = 0;
                for (n = 0; n < length && bytes[n] > ' ' && bytes[n] < 0x7f && bytes[n] != '&';)
                        n++;
                if (n) {
                        put_word(w, bytes, n);
                } else {
                        n = take_character(bytes, length, decode, &c);
                        write_character(w, c);
                }
        }
}

void html_writer_done(struct html_writer *w)
{
        text_done(&w->href);
}
