/*
 * Converts HTML to readable text, like Markdown: headings, lists, links, code and tables, without what a browser would
 * not show. Theory of operation: html.c.
 */
#ifndef RINGWALL_TOOLS_HTML_H
#define RINGWALL_TOOLS_HTML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

enum { HTML_TITLE_MAX = 512 };

struct html_text {
        struct text title; /* at most HTML_TITLE_MAX bytes, on one line */
        struct text body;  /* at most `max_bytes`; without leading and trailing white space */
        bool cut;          /* text was left out */
};

/*
 * Both texts are valid UTF-8 without control characters except newlines and tabs, whatever the input is. Takes linear
 * time.
 */
void html_to_text(const char *html, size_t length, size_t max_bytes, struct html_text *ret);
void html_text_done(struct html_text *t);
#define CLEANUP_HTML_TEXT CLEANUP(html_text_done)

#endif
