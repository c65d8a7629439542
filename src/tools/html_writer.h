/*
 * Readable text, written word by word: white space is collapsed, lines begin with the marks of the lists and quotes
 * that they are in, and breaks, links and code are marked only when there is something to mark. Theory of operation:
 * html_writer.c.
 */
#ifndef RINGWALL_TOOLS_HTML_WRITER_H
#define RINGWALL_TOOLS_HTML_WRITER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

enum { HTML_PREFIX_MOST = 64 };

/* A pair of marks around text: nothing was asked for, the first waits for text, or stands there. */
enum html_mark { MARK_NONE, MARK_WAITS, MARK_STANDS };

struct html_writer {
        struct text *out;
        size_t most;           /* bytes of it in all */
        bool full;             /* there was more */
        bool begun;            /* something was written */
        size_t breaks;         /* ends of lines that wait for the next word */
        bool space;            /* waits for the next word, too */
        bool fresh;            /* an item or a cell has just begun: its own breaks are none */
        bool verbatim;         /* white space counts, and nothing is marked */
        enum html_mark link, code, fence;
        struct text href;
        /* What the next line begins with, and the lines behind it. */
        char next[HTML_PREFIX_MOST], later[HTML_PREFIX_MOST];
        size_t prefix;         /* how long both are */
        size_t around;         /* the shortest that it has been since the last word */
        /* The row of a table that we are in. */
        size_t cells, separators;
        bool broken;           /* one of its cells had several lines */
};

/* Text of a page, whatever bytes it has; with `decode`, "&amp;" is "&". */
void html_write(struct html_writer *w, const char *bytes, size_t length, bool decode);

/* The next word begins a line: with 2, behind an empty one. */
void html_break(struct html_writer *w, size_t lines);

/* Words of our own, as they are. */
void html_put(struct html_writer *w, const char *words);

/* Behind their prefix lines begin with `mark`, then with spaces or the same again, until it is as long as it was. */
void html_indent(struct html_writer *w, const char *mark, bool again);
void html_unindent(struct html_writer *w, size_t prefix);

/* Up to the end of a line, all that is written is a link, or code. */
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
