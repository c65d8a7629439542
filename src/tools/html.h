/*
 * HTML to readable text: headings, lists, links, code and tables in the marks that people write by hand, and nothing of
 * what a browser would not show. Theory of operation: html.c.
 */
#ifndef RINGWALL_TOOLS_HTML_H
#define RINGWALL_TOOLS_HTML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

enum { HTML_TITLE_MOST = 512 };

struct html_text {
        struct text title; /* at most HTML_TITLE_MOST bytes, on one line */
        struct text body;  /* at most as many bytes as was asked for; no white space around it */
        bool cut;          /* there was more */
};

/* Both texts are UTF-8 without control characters, but for newlines and tabs, whatever the bytes are. In linear time. */
void html_to_text(const char *html, size_t length, size_t most, struct html_text *ret);
void html_text_done(struct html_text *t);
#define CLEANUP_HTML_TEXT CLEANUP(html_text_done)

#endif
