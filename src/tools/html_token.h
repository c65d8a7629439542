/*
 * HTML as a row of tags and texts, the way browsers cut it (the standard's tokenizer, without what only scripts
 * notice). Every input has such a row. Nothing is copied: tokens point into the page. Linear in its length.
 */
#ifndef RINGWALL_TOOLS_HTML_TOKEN_H
#define RINGWALL_TOOLS_HTML_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

enum html_kind { HTML_TEXT = 0, HTML_OPEN, HTML_CLOSE };

struct html_token {
        enum html_kind kind;
        const char *bytes;      /* the text, or the name of the tag as it is written */
        size_t length;
        bool verbatim;          /* a text in which "&" is only "&" */
        const char *attributes; /* of HTML_OPEN: up to its end, for html_next_attribute() */
        const char *end;
        bool is_closed;         /* "<x/>", which means something in drawings */
};

struct html_reader {
        const char *at, *end;
        const char *raw; /* the element that we are in, in which there are no tags; NULL: none */
        size_t drawings; /* <svg> that we are in: there "<style/>" has no content */
};

/* The next one; false behind the last. */
bool html_next(struct html_reader *r, struct html_token *ret);

struct html_attribute {
        const char *name, *value;
        size_t name_length, value_length;
};

/* The attribute at *at, which moves behind it; false behind the last, at the ">" or the end. */
bool html_next_attribute(const char **at, const char *end, struct html_attribute *ret);

/* Whether bytes are this word, which is in lower case. */
bool html_is(const char *bytes, size_t length, const char *word);

/* An attribute's value, with its character references resolved. */
void html_add_value(struct text *out, const struct html_attribute *attribute);

#endif
