/*
 * HTTP/1.1 requests, read from a stream of bytes as they come: strictly, with bounds, and without a system call. There
 * are two readers. One answers requests: it keeps the body. The other relays them: it looks at the head and passes on
 * the bytes that came, so it has to know where each request ends, and no server may think otherwise. Theory of
 * operation: http_request.c.
 */
#ifndef RINGWALL_WIRE_HTTP_REQUEST_H
#define RINGWALL_WIRE_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

enum { HTTP_HEADERS_MOST = 64, HTTP_HEAD_MOST = 16 << 10 };

/* What http_take() returns to a relay, once, when the head is whole. */
enum { HTTP_HEAD_READY = 2 };

struct http_header {
        const char *name, *value; /* as they were sent, without the space around the value */
};

struct http_request {
        /* Once the head is whole: */
        const char *method, *target;
        unsigned minor; /* HTTP/1.1, or 1.0, which only a relay takes, and which may lack a Host */
        struct http_header headers[HTTP_HEADERS_MOST];
        size_t header_count;
        struct text original; /* for a relay: the head as it was sent, its empty line included */
        bool keep_alive;      /* the client would send another over the same connection */
        bool continues;       /* while the body is to come: the client waits for "100 Continue" */

        /* Once http_take() has returned 1: */
        struct text body; /* empty in a relay */

        /* Its own. */
        bool relays;
        int refused; /* the status, negative: nothing more is taken */
        struct text head;
        unsigned long long body_most;
        enum { HTTP_HEAD, HTTP_BODY, HTTP_CHUNK, HTTP_CHUNK_DATA, HTTP_CHUNK_END, HTTP_TRAILER, HTTP_DONE } state;
        unsigned long long left;     /* of the body, or of a chunk */
        unsigned long long received; /* of the body */
        struct text line;            /* of a chunk's head, or of a trailer */
        size_t trailers;             /* bytes of them */
};

/* To answer it. A body of more than `body_most` bytes is refused; so is any target but a path. */
void http_begin(struct http_request *r, size_t body_most);

/* To relay it: HTTP/1.0 as well, any form of target, and a body of any size, which is only measured. */
void http_begin_relay(struct http_request *r);

void http_done(struct http_request *r);

/*
 * Takes bytes of the stream; *ret_used is how many belong to this request. Returns 1 when it is complete, 0 when more
 * has to come, or the status that refuses it (400, 413, 417, 431, 501, 505) as a negative number; then, and ever after,
 * none of the bytes is to be passed on.
 *
 * To a relay it returns HTTP_HEAD_READY in between: what was taken so far is in `original`. All bytes that later calls
 * take are the body's, to be passed on as they are. The next call may be given none, and tells whether there is a body.
 */
int http_take(struct http_request *r, const char *bytes, size_t length, size_t *ret_used);

/* A header by its name, in any case; NULL when it is not there. */
const char *http_header(const struct http_request *r, const char *name);

/* How many headers have this name. */
size_t http_count(const struct http_request *r, const char *name);

/* Is the word, in any case, in the list of words that all headers of this name make? */
bool http_lists(const struct http_request *r, const char *name, const char *word);

/* The words that go with a status. */
const char *http_reason(int status);

#endif
