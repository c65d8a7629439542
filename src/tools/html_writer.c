/*
 * Writes readable text; see html_writer.h.
 *
 * How it works: breaks, spaces, cell separators and the opening marks of links and code are not written at once. They
 * are pending until the next word, and are dropped if none follows; so outside of code blocks there is no trailing
 * white space, and there are no empty items and no links without text.
 *
 * What an attacker controls: all of the text. The output is valid UTF-8 without control characters and without
 * invisible characters, in which a page could hide words for an agent; and it never exceeds `max_bytes`. Some scripts
 * and emoji need joiners, so one may follow each character that is not ASCII.
 */
#include "tools/html_writer.h"

#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "tools/html_entities.h"

static void write_bytes(struct html_writer *w, const char *bytes, size_t length)
{
        size_t room = w->max_bytes > w->out->length ? w->max_bytes - w->out->length : 0;
        if (w->full)
                return;
        if (length > room) {
                w->full = true;
                length = room;
                while (length && ((unsigned char)bytes[length] & 0xc0) == 0x80) /* do not cut a character */
                        length--;
        }
        text_add_bytes(w->out, bytes, length);
}

static void write_string(struct html_writer *w, const char *text)
{
        write_bytes(w, text, strlen(text));
}

/* An empty line begins with what the prefixes of its neighbours have in common (the `>` of a quote, for example). */
static void end_lines(struct html_writer *w)
{
        size_t length = w->common_prefix;
        while (length && w->later[length - 1] == ' ')
                length--;
        for (; w->breaks && !w->full; w->breaks--) {
                write_string(w, "\n");
                if (w->breaks > 1)
                        write_bytes(w, w->later, length);
        }
}

static void begin_line(struct html_writer *w)
{
        write_bytes(w, w->next, w->prefix);
        memcpy(w->next, w->later, w->prefix);
}

/* Writes all that is pending before a word. */
static void begin_word(struct html_writer *w)
{
        bool new_line = !w->begun || w->breaks;
        if (w->begun && w->breaks) {
                /* A break inside a cell: the row no longer fits on one line. */
                w->has_lines |= w->cells && !w->at_start;
                end_lines(w);
        }
        w->breaks = 0;
        if (new_line)
                begin_line(w);
        if (w->separators) {
                for (; w->separators; w->separators--, new_line = false)
                        write_string(w, new_line ? "| " : " | ");
        } else if (w->space && !new_line) {
                write_string(w, " ");
        }
        w->begun = true;
        w->common_prefix = w->prefix;
        w->space = w->at_start = false;
        if (w->fence == MARK_PENDING) {
                w->fence = MARK_OPEN;
                write_string(w, "```\n");
                begin_line(w);
        }
        if (w->link == MARK_PENDING) {
                w->link = MARK_OPEN;
                write_string(w, "[");
        }
        if (w->code == MARK_PENDING) {
                w->code = MARK_OPEN;
                write_string(w, "`");
        }
}

static void put_word(struct html_writer *w, const char *bytes, size_t length)
{
        if (!w->begun || w->breaks || w->space || w->at_start || w->separators || w->link == MARK_PENDING ||
            w->code == MARK_PENDING || w->fence == MARK_PENDING)
                begin_word(w);
        write_bytes(w, bytes, length);
        w->joinable = false;
}

void html_put(struct html_writer *w, const char *words)
{
        put_word(w, words, strlen(words));
}

/* --- lines --- */

/* Closes opened marks at the end of a line. Pending ones stay pending. */
static void end_marks(struct html_writer *w)
{
        if (w->code == MARK_OPEN)
                html_end_code(w);
        if (w->link == MARK_OPEN)
                html_end_link(w);
}

void html_break(struct html_writer *w, size_t lines)
{
        if (w->at_start || !lines)
                return;
        end_marks(w);
        if (w->breaks < lines)
                w->breaks = lines;
}

void html_indent(struct html_writer *w, const char *mark, bool on_every_line)
{
        size_t length = strlen(mark), old = w->prefix;
        if (length <= HTML_PREFIX_MAX - old) { /* deeper nesting has no indent, list mark or quote mark */
                memcpy(w->next + old, mark, length);
                memset(w->later + old, ' ', length);
                if (on_every_line)
                        memcpy(w->later + old, mark, length);
                w->prefix += length;
        }
}

void html_unindent(struct html_writer *w, size_t prefix)
{
        w->prefix = prefix;
        if (w->common_prefix > prefix)
                w->common_prefix = prefix;
}

/* --- marks --- */

void html_begin_link(struct html_writer *w)
{
        w->link = w->verbatim || w->code != MARK_NONE || !w->href.length ? MARK_NONE : MARK_PENDING;
}

void html_end_link(struct html_writer *w)
{
        if (w->link == MARK_OPEN) {
                write_string(w, "](");
                write_bytes(w, w->href.data, w->href.length);
                write_string(w, ")");
        }
        w->link = MARK_NONE;
}

void html_begin_code(struct html_writer *w)
{
        if (w->code == MARK_NONE && !w->verbatim)
                w->code = MARK_PENDING;
}

void html_end_code(struct html_writer *w)
{
        if (w->code == MARK_OPEN)
                write_string(w, "`");
        w->code = MARK_NONE;
}

void html_begin_fence(struct html_writer *w)
{
        w->link = w->code = MARK_NONE;
        w->verbatim = true;
        w->fence = MARK_PENDING;
}

void html_end_fence(struct html_writer *w)
{
        if (w->fence == MARK_OPEN) {
                w->breaks = 1;
                html_put(w, "```");
        }
        w->fence = MARK_NONE;
        w->verbatim = false;
}

/* --- tables --- */

static void reset_row(struct html_writer *w)
{
        w->cells = w->separators = 0;
        w->has_lines = w->at_start = false;
        html_break(w, 1);
}

void html_begin_row(struct html_writer *w)
{
        reset_row(w);
}

void html_end_row(struct html_writer *w)
{
        reset_row(w);
        w->has_lines = true; /* a row is a line: if this table is inside a cell, that cell now has several */
}

void html_begin_cell(struct html_writer *w)
{
        end_marks(w);
        if (w->cells++ && !w->has_lines)
                w->separators++;
        w->at_start = true;
}

/*
 * Breaks at the end of a cell are dropped, unless a cell of this row so far has several lines: then each next cell
 * begins a new line.
 */
void html_end_cell(struct html_writer *w)
{
        end_marks(w);
        if (!w->at_start)
                w->breaks = w->has_lines;
        w->at_start = false;
}

/* --- text --- */

enum character { CHARACTER_SHOWN, CHARACTER_SPACE, CHARACTER_LINE, CHARACTER_JOINER, CHARACTER_INVISIBLE };

static enum character classify(uint32_t c)
{
        static const struct {
                uint32_t first, last;
                enum character kind;
        } rows[] = { /* the first row that matches counts */
                { '\t', '\t', CHARACTER_SPACE },
                { '\n', '\n', CHARACTER_LINE },
                { '\f', '\r', CHARACTER_SPACE },
                { 0, 0x1f, CHARACTER_INVISIBLE },
                { ' ', ' ', CHARACTER_SPACE },
                { 0x7f, 0x9f, CHARACTER_INVISIBLE },
                { 0xa0, 0xa0, CHARACTER_SPACE },
                { 0xad, 0xad, CHARACTER_INVISIBLE },       /* soft hyphen */
                { 0x34f, 0x34f, CHARACTER_INVISIBLE },     /* combining grapheme joiner */
                { 0x61c, 0x61c, CHARACTER_INVISIBLE },     /* text direction, also below */
                { 0x115f, 0x1160, CHARACTER_INVISIBLE },   /* Hangul fillers, also below */
                { 0x17b4, 0x17b5, CHARACTER_INVISIBLE },   /* Khmer vowels that are never shown */
                { 0x180b, 0x180f, CHARACTER_INVISIBLE },   /* Mongolian variation selectors and vowel separator */
                { 0x200b, 0x200b, CHARACTER_INVISIBLE },   /* zero width */
                { 0x200c, 0x200d, CHARACTER_JOINER },      /* Indic scripts and Persian need them, and emoji */
                { 0x200e, 0x200f, CHARACTER_INVISIBLE },
                { 0x2028, 0x2029, CHARACTER_LINE },
                { 0x202a, 0x202e, CHARACTER_INVISIBLE },
                { 0x2060, 0x206f, CHARACTER_INVISIBLE },
                { 0x2800, 0x2800, CHARACTER_SPACE },       /* Braille without a dot */
                { 0x3164, 0x3164, CHARACTER_INVISIBLE },
                { 0xfe00, 0xfe0d, CHARACTER_INVISIBLE },   /* variation selectors */
                { 0xfe0e, 0xfe0f, CHARACTER_JOINER },      /* show an emoji as text or in colour */
                { 0xfeff, 0xfeff, CHARACTER_INVISIBLE },
                { 0xffa0, 0xffa0, CHARACTER_INVISIBLE },
                { 0xfff0, 0xfffb, CHARACTER_INVISIBLE },
                { 0x1bca0, 0x1bca3, CHARACTER_INVISIBLE }, /* marks of shorthand */
                { 0x1d173, 0x1d17a, CHARACTER_INVISIBLE }, /* marks of musical notation */
                { 0xe0000, 0xe0fff, CHARACTER_INVISIBLE }, /* tags (an invisible copy of ASCII), variation selectors */
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                if (c >= rows[i].first && c <= rows[i].last)
                        return rows[i].kind;
        return CHARACTER_SHOWN;
}

/* Reads the character at `at`. Returns how many bytes it takes. */
static size_t read_character(const char *at, size_t length, bool decode, uint32_t *ret)
{
        unsigned char c = (unsigned char)*at;
        size_t n = c == '&' && decode ? html_read_entity(at, length, false, ret) : 0;
        if (n)
                return n;
        n = text_utf8_sequence_length(at, length);
        *ret = n > 1 ? c & (0x7fU >> n) : c < 0x80 ? c : 0xfffd;
        for (size_t i = 1; i < n; i++)
                *ret = *ret << 6 | ((unsigned char)at[i] & 0x3fU);
        return n;
}

static void write_character(struct html_writer *w, uint32_t c)
{
        char utf8[4];
        switch (classify(c)) {
        case CHARACTER_SHOWN:
                put_word(w, utf8, html_write_utf8(c, utf8));
                w->joinable = c >= 0x80;
                break;
        case CHARACTER_JOINER:
                if (w->joinable && !w->breaks && !w->space)
                        write_bytes(w, utf8, html_write_utf8(c, utf8));
                w->joinable = false;
                break;
        case CHARACTER_LINE:
                /* Line breaks before the first word of a block are dropped. */
                if (w->verbatim && w->fence != MARK_PENDING)
                        w->breaks++;
                w->space = !w->verbatim;
                break;
        case CHARACTER_SPACE:
                if (w->verbatim && c != '\r')
                        put_word(w, c == '\t' ? "\t" : " ", 1);
                w->space = !w->verbatim;
                break;
        case CHARACTER_INVISIBLE:
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
                        n = read_character(bytes, length, decode, &c);
                        write_character(w, c);
                }
        }
}

void html_writer_done(struct html_writer *w)
{
        text_done(&w->href);
}
