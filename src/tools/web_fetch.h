/* Turns a server's answer into the answer of WebFetch. */
#ifndef RINGWALL_TOOLS_WEB_FETCH_H
#define RINGWALL_TOOLS_WEB_FETCH_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/tool.h"

enum {
        WEB_BODY_MAX = 1 << 20,     /* bytes of a body that are fetched */
        WEB_SHOWN_DEFAULT = TOOL_TEXT_MAX - 3000, /* the title and the notes come on top */
};

enum web_format { WEB_TEXT, WEB_HTML, WEB_RAW };

struct web_response {
        const char *url; /* after all redirects */
        int status;
        const char *content_type; /* the header, or NULL */
        const char *body;
        size_t length;
        bool cut; /* the body was longer */
};

/* Which part of the text to show. */
struct web_part {
        size_t offset, max_bytes;
};

/* A status other than 2xx becomes an error, with the start of the server's text. */
void web_fetch_format_result(const struct web_response *r, enum web_format format, struct web_part part,
                             struct tool_result *answer);

#endif
