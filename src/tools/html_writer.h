/*
 * Writes readable text word by word. White space is collapsed, lines begin with the marks of their lists and quotes,
 * and breaks and the marks of links and code are written only if text follows. Theory of operation: html_writer.c.
 */
#ifndef RINGWALL_TOOLS_HTML_WRITER_H
#define RINGWALL_TOOLS_HTML_WRITER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

enum { HTML_PREFIX_MAX = 64 };

/* A pair of marks around text: not requested, waiting for text, or opened. */
enum html_mark_state { MARK_NONE, MARK_PENDING, MARK_OPEN };

struct html_writer {
        struct text *out;
        size_t max_bytes;      /* of `out` */
        bool full;             /* text was left out */
        bool begun;            /* something was written */
        size_t breaks;         /* line breaks to write before the next word */
        bool space;            /* a space to write before the next word */
        bool at_start;         /* of an item or a cell: breaks are ignored */
        bool joinable;         /* the last character is not ASCII and no joiner: a joiner may follow */
        bool verbatim;         /* white space is kept, and links and code are not marked */
        enum html_mark_state link, code, fence;
        struct text href;
        /* The prefix of the next line, and of the lines after it. */
        char next[HTML_PREFIX_MAX], later[HTML_PREFIX_MAX];
        size_t prefix;         /* length of both */
        size_t common_prefix;  /* the shortest `prefix` since the last word */
        /* The current table row: */
        size_t cells, separators; /* begun cells; separators to write before the next word */
        bool has_lines;        /* one of its cells has several lines */
};

/* Writes text of a page, which may be any bytes. With `decode`, character references are decoded. */
void html_write(struct html_writer *w, const char *bytes, size_t length, bool decode);

/* The next word begins a new line; with 2, after an empty line. */
void html_break(struct html_writer *w, size_t lines);

/* Writes words unchanged. */
void html_put(struct html_writer *w, const char *words);

/*
 * Adds `mark` to the prefix of the next line. Later lines have it too with `on_every_line`, and spaces of its length
 * otherwise. html_unindent() shortens the prefix to an earlier length.
 */
void html_indent(struct html_writer *w, const char *mark, bool on_every_line);
void html_unindent(struct html_writer *w, size_t prefix);

/* The text between is a link, code, or a fenced block. The end of a line also ends a link or code. */
void html_begin_link(struct html_writer *w);
void html_end_link(struct html_writer *w);
void html_begin_code(struct html_writer *w);
void html_end_code(struct html_writer *w);
void html_begin_fence(struct html_writer *w);
void html_end_fence(struct html_writer *w);

void html_begin_row(struct html_writer *w);
void html_end_row(struct html_writer *w);
void html_begin_cell(struct html_writer *w);
void html_end_cell(struct html_writer *w);

void html_writer_done(struct html_writer *w);

#endif
