/*
 * An incremental parser for HTTP/1.1 requests: strict, capped, without system calls. There are two kinds of caller. A
 * server answers requests and gets the body. A relay checks the head and passes the original bytes on, so it must find
 * the end of each request exactly where the server behind it does. Theory of operation: http_request.c.
 */
#ifndef RINGWALL_WIRE_HTTP_REQUEST_H
#define RINGWALL_WIRE_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

enum { HTTP_HEADERS_MAX = 64, HTTP_HEAD_MAX = 16 << 10 };

/* http_request_feed() returns it to a relay, once, when the head is complete. */
enum { HTTP_HEAD_COMPLETE = 2 };

struct http_header {
        const char *name, *value; /* as sent, without the whitespace around the value */
};

struct http_request {
        /* Valid once the head is complete: */
        const char *method, *target;
        unsigned minor; /* 1 for HTTP/1.1; 0 for HTTP/1.0, which only a relay accepts, and which may lack Host */
        struct http_header headers[HTTP_HEADERS_MAX];
        size_t header_count;
        struct text original; /* for a relay: the head as sent, including the empty line */
        bool keep_alive;      /* the client may send another request over the same connection */
        bool expects_continue; /* the client waits for "100 Continue" before it sends the body */

        /* Valid once http_request_feed() has returned 1: */
        struct text body; /* empty in a relay */

        /* Internal: */
        bool is_relay;
        int refused; /* 0, or the negative status; no more bytes are taken then */
        struct text head;
        unsigned long long body_max;
        enum { HTTP_HEAD, HTTP_BODY, HTTP_CHUNK, HTTP_CHUNK_DATA, HTTP_CHUNK_END, HTTP_TRAILER, HTTP_DONE } state;
        unsigned long long left;     /* bytes missing of the body, or of a chunk */
        unsigned long long received; /* bytes of the body so far */
        struct text line;            /* a line of the chunk framing, or a trailer */
        size_t trailer_bytes;        /* for their cap */
};

/* For a server. Refuses a body of more than `body_max` bytes and a target that is not a path. */
void http_request_init(struct http_request *r, size_t body_max);

/* For a relay. Accepts HTTP/1.0, any form of target and a body of any size, which is not stored. */
void http_request_init_relay(struct http_request *r);

void http_request_done(struct http_request *r);

/*
 * Parses bytes of the stream; *ret_used is how many belong to this request. Returns 1 when the request is complete, 0
 * when it needs more bytes, or the status to refuse it with (400, 413, 417, 431, 501, 505) as a negative number. A
 * refusal is final: a relay must not pass on any byte of this or a later call.
 *
 * A relay also gets HTTP_HEAD_COMPLETE, once: the head is in `original`. All bytes that later calls take are the body,
 * to be passed on unchanged. The next call may pass no bytes to learn whether there is a body.
 */
int http_request_feed(struct http_request *r, const char *bytes, size_t length, size_t *ret_used);

/* The value of the first header with this name, ignoring case, or NULL. */
const char *http_request_header(const struct http_request *r, const char *name);

/* How many headers have this name. */
size_t http_count_headers(const struct http_request *r, const char *name);

/* Is the word, ignoring case, in the comma-separated list of one of the headers with this name? */
bool http_header_lists(const struct http_request *r, const char *name, const char *word);

/* The reason phrase of a status. */
const char *http_status_reason(int status);

#endif
