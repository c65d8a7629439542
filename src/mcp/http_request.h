/*
 * HTTP/1.1 requests, read from a stream of bytes as they come: strictly, with bounds, and without a system call. Theory of
 * operation: http_request.c.
 */
#ifndef RINGWALL_MCP_HTTP_REQUEST_H
#define RINGWALL_MCP_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

enum { HTTP_HEADERS_MOST = 64, HTTP_HEAD_MOST = 16 << 10 };

struct http_header {
        const char *name, *value; /* as they were sent, without the space around the value */
};

struct http_request {
        /* Once http_take() has returned 1: */
        const char *method, *target;
        struct http_header headers[HTTP_HEADERS_MOST];
        size_t header_count;
        struct text body;
        bool keep_alive; /* the client would send another over the same connection */
        bool continues;  /* while the body is to come: the client waits for "100 Continue" */

        /* Its own. */
        struct text head;
        size_t body_most;
        enum { HTTP_HEAD, HTTP_BODY, HTTP_CHUNK, HTTP_CHUNK_DATA, HTTP_CHUNK_END, HTTP_TRAILER, HTTP_DONE } state;
        unsigned long long left; /* of the body, or of a chunk */
        struct text line;        /* of a chunk's head, or of a trailer */
        size_t trailers;         /* bytes of them */
};

/* A body of more than `body_most` bytes is refused. */
void http_begin(struct http_request *r, size_t body_most);
void http_done(struct http_request *r);

/*
 * Takes bytes of the stream; *ret_used is how many belong to this request. Returns 1 when it is complete, 0 when more has
 * to come, or the status that refuses it (400, 413, 417, 431, 501, 505) as a negative number.
 */
int http_take(struct http_request *r, const char *bytes, size_t length, size_t *ret_used);

/* A header by its name, in any case; NULL when it is not there. */
const char *http_header(const struct http_request *r, const char *name);

/* How many headers have this name. */
size_t http_count(const struct http_request *r, const char *name);

/* The words that go with a status. */
const char *http_reason(int status);

#endif
