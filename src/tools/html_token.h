/*
 * Splits HTML into tags and texts as browsers do (the standard's tokenizer, without what only scripts can observe). No
 * input is an error. Nothing is copied: tokens point into the page. Takes linear time.
 */
#ifndef RINGWALL_TOOLS_HTML_TOKEN_H
#define RINGWALL_TOOLS_HTML_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

enum html_kind { HTML_TEXT = 0, HTML_OPEN, HTML_CLOSE };

struct html_token {
        enum html_kind kind;
        const char *bytes;      /* the text, or the name of the tag as written */
        size_t length;
        bool verbatim;          /* a text without character references: "&" is only "&" */
        const char *attributes; /* of a tag, up to `end`: for html_next_attribute() */
        const char *end;
        bool is_closed;         /* "<x/>", which matters only inside <svg> */
};

struct html_reader {
        const char *at, *end;
        const char *raw; /* name of the current element, if its content has no tags; NULL otherwise */
        size_t svg_depth; /* open <svg> elements: inside them "<style/>" has no content */
};

/* Reads the next token. Returns false at the end. */
bool html_next(struct html_reader *r, struct html_token *ret);

struct html_attribute {
        const char *name, *value;
        size_t name_length, value_length;
};

/* Reads the attribute at *at and moves *at after it. Returns false at the ">" or the end. */
bool html_next_attribute(const char **at, const char *end, struct html_attribute *ret);

/* Whether the bytes are this word, ignoring case. `word` is in lower case. */
bool html_equals(const char *bytes, size_t length, const char *word);

/* Adds an attribute's value, with its character references decoded. */
void html_add_attribute_value(struct text *out, const struct html_attribute *attribute);

#endif
