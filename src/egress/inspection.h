/*
 * Checks that what a program sends over a connection names the host that it connected to. Makes no system call. Theory
 * of operation: inspection.c.
 */
#ifndef RINGWALL_EGRESS_INSPECTION_H
#define RINGWALL_EGRESS_INSPECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "wire/egress_protocol.h"
#include "wire/http_request.h"

enum { INSPECTION_MAX = 80 << 10 }; /* the size of the caller's buffer: enough for the longest head */

struct inspection {
        /* Internal: */
        const char *host;
        uint16_t port;
        bool is_proxy_request; /* a request to the HTTP proxy with an http:// target: only one passes */
        enum {
                INSPECT_FIRST,            /* the protocol is not known yet */
                INSPECT_HTTP,             /* the head of a request comes next */
                INSPECT_BODY,             /* the body of a request, or the rest of it, comes next */
                INSPECT_UPGRADE_RESPONSE, /* waits for the answer to a WebSocket upgrade */
                INSPECT_SERVER_HELLO,     /* waits for the answer to a ClientHello */
                INSPECT_SECOND_HELLO,     /* a second ClientHello may come next */
                INSPECT_DONE,             /* everything passes */
        } state;
        struct http_request request;
        struct text unclassified; /* all bytes so far, while the protocol is not known */
        bool request_passed;      /* the server's next bytes may be the answer to an earlier request */
};

enum inspection_result {
        INSPECTION_NEED_MORE,     /* more bytes are needed: call again with all of them */
        INSPECTION_PASS,          /* the first `bytes` may pass */
        INSPECTION_REPLACE,       /* consume the first `bytes`, and send `replacement` in their place */
        INSPECTION_PASS_REST,     /* everything may pass from now on */
        INSPECTION_NEED_RESPONSE, /* the server's answer is needed: inspection_feed_response() */
        INSPECTION_DENY,          /* refuse for `reason`; `other` is the name that was sent */
};

struct inspection_verdict {
        size_t bytes;
        struct text replacement; /* the caller's to free */
        enum deny_reason reason;
        char other[DOMAIN_MAX + 1];
};

/* `host` is not copied and must outlive the inspection. */
void inspection_init(struct inspection *i, const char *host, uint16_t port, bool is_proxy_request);
void inspection_done(struct inspection *i);

/* Inspects the bytes that have not passed yet: all that have arrived, at least one. `ended`: no more will come. */
enum inspection_result inspection_inspect(struct inspection *i, const uint8_t *bytes, size_t length, bool ended,
                                          struct inspection_verdict *ret);

/* May the client close now? Not within an HTTP request or a TLS handshake, nor while an answer is awaited. */
bool inspection_may_end(const struct inspection *i);

/* Must inspection_feed_response() get the server's answer before the next inspection_inspect()? */
bool inspection_wants_response(const struct inspection *i);

/* Inspects the beginning of the awaited answer. False: more bytes are needed. */
bool inspection_feed_response(struct inspection *i, const uint8_t *bytes, size_t length);

#endif
