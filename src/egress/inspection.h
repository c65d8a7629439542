/*
 * What a program sends over a connection that was made for one host and port: does it name the same host? Makes no system call.
 * Theory of operation: inspection.c.
 */
#ifndef RINGWALL_EGRESS_INSPECTION_H
#define RINGWALL_EGRESS_INSPECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "linux/egress_wire.h"
#include "wire/http_request.h"

enum { INSPECTION_MOST = 80 << 10 }; /* bytes that a caller has to be able to show at once */

struct inspection {
        /* Its own. */
        const char *host;
        uint16_t port;
        bool proxied; /* by HTTP, in absolute form: one request, and then the end */
        enum {
                INSPECT_FIRST,
                INSPECT_HTTP,
                INSPECT_BODY,
                INSPECT_ANSWER,       /* to a request for another protocol */
                INSPECT_SERVER_HELLO,
                INSPECT_SECOND_HELLO,
                INSPECT_NOTHING,
        } state;
        struct http_request request;
        struct text begun; /* what has passed before it was clear what it is */
        bool later;        /* a request has passed: what the server says next may be its answer's */
};

enum inspection_result {
        INSPECTION_MORE,   /* shown more, it can tell */
        INSPECTION_PASS,   /* the first `bytes` may pass */
        INSPECTION_TAKE,   /* the first `bytes` are to be taken, and `instead` sent in their place */
        INSPECTION_ALL,    /* everything may pass from here on */
        INSPECTION_WAIT,   /* for the server's answer: inspection_answer() */
        INSPECTION_REFUSE, /* for `reason`; `other` is what it named */
};

struct inspected {
        size_t bytes;
        struct text instead; /* the caller's to free */
        enum egress_reason reason;
        char other[CAP_DOMAIN + 1];
};

/* `host` is kept by reference. */
void inspection_begin(struct inspection *i, const char *host, uint16_t port, bool proxied);
void inspection_done(struct inspection *i);

/* The bytes that have not passed yet, all of them so far and at least one; `ended`: no others will come. */
enum inspection_result inspection_look(struct inspection *i, const uint8_t *bytes, size_t length, bool ended, struct inspected *ret);

/* Nothing has come yet, or a message has just ended: the client may stop here. */
bool inspection_is_between(const struct inspection *i);

/* Nothing is to be shown before inspection_answer() was told of the server's answer. */
bool inspection_awaits_answer(const struct inspection *i);

/* The beginning of the server's answer to what was waited for. False: more has to come. */
bool inspection_answer(struct inspection *i, const uint8_t *bytes, size_t length);

#endif
