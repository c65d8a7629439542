/* What WebFetch makes of a server's answer. */
#ifndef RINGWALL_TOOLS_WEB_FETCH_H
#define RINGWALL_TOOLS_WEB_FETCH_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/tool.h"

enum {
        WEB_BODY_MOST = 1 << 20,     /* bytes of an answer that are fetched */
        WEB_SHOWN_DEFAULT = 100 << 10,
};

enum web_format { WEB_TEXT, WEB_HTML, WEB_RAW };

struct web_response {
        const char *url; /* that answered, after all redirects */
        int status;
        const char *content_type; /* the header, or NULL */
        const char *body;
        size_t length;
        bool cut; /* the body was longer */
};

/* `most`: bytes of it to show. A failure is an error, with the start of what the server says about it. */
void web_fetch_answer(const struct web_response *r, enum web_format format, size_t most, struct tool_answer *answer);

#endif
