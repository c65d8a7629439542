/*
 * HTTP requests. The first byte selects the size of the pieces in which the request is fed to the parser. The result is
 * the same as for the whole request. An accepted request has at most one Host, no control characters and is within the
 * limits; a refused one has a known status.
 *
 * The parser has two modes, for a server and for a relay. They agree on the end of every request that both accept. A
 * relay passes the request on unchanged, and what it passed on parses to the same request.
 */
#include <ctype.h>
#include <string.h>

#include "base/memory.h"
#include "fuzz.h"
#include "wire/http_request.h"

enum { BODY_MAX = 4096 };

/*
 * Feeds the data in pieces of `piece` bytes, each in its own memory. Returns the last status; *ret_used is the length
 * of the request. `passed` gets what a relay would pass on.
 */
static int feed(struct http_request *r, const uint8_t *data, size_t size, size_t piece, size_t *ret_used,
                struct text *passed)
{
        int status = 0;
        *ret_used = 0;
        while ((status == 0 && *ret_used < size) || status == HTTP_HEAD_COMPLETE) {
                size_t n = size - *ret_used < piece ? size - *ret_used : piece, used = 0;
                bool in_head = r->state == HTTP_HEAD;
                char *copy = malloc(n);
                if (n)
                        memcpy(copy, data + *ret_used, n);
                status = http_request_feed(r, copy, n, &used);
                PROMISE(used <= n && (status != 0 || used == n));
                PROMISE(status != HTTP_HEAD_COMPLETE || (in_head && r->is_relay && r->state != HTTP_HEAD));
                PROMISE(status != 1 || !in_head || !r->is_relay);
                *ret_used += used;
                if (status == HTTP_HEAD_COMPLETE)
                        text_add_bytes(passed, r->original.data, r->original.length);
                else if (status >= 0 && !in_head)
                        text_add_bytes(passed, copy, used);
                free(copy);
        }
        return status;
}

static void promise_no_controls(const char *text)
{
        for (; *text; text++)
                PROMISE((unsigned char)*text >= ' ' ? *text != '\x7f' : *text == '\t');
}

static void check_request(const struct http_request *r)
{
        PROMISE(*r->method && *r->target && r->header_count <= HTTP_HEADERS_MAX && r->body.length <= BODY_MAX);
        PROMISE(r->is_relay || (r->target[0] == '/' && r->minor == 1));
        PROMISE(http_count_headers(r, "Host") <= 1 && http_count_headers(r, "Host") >= r->minor);
        PROMISE(http_count_headers(r, "Content-Length") + http_count_headers(r, "Transfer-Encoding") <= 1);
        PROMISE(r->minor || !http_request_header(r, "Transfer-Encoding"));
        promise_no_controls(r->method);
        promise_no_controls(r->target);
        for (size_t i = 0; i < r->header_count; i++) {
                const char *value = r->headers[i].value;
                PROMISE(*r->headers[i].name && !strpbrk(r->headers[i].name, " \t:"));
                PROMISE(!isblank((unsigned char)*value));
                PROMISE(!*value || !isblank((unsigned char)value[strlen(value) - 1]));
                promise_no_controls(r->headers[i].name);
                promise_no_controls(value);
        }
}

static void check_same(const struct http_request *a, const struct http_request *b)
{
        PROMISE(strcmp(a->method, b->method) == 0 && strcmp(a->target, b->target) == 0);
        PROMISE(a->header_count == b->header_count);
        PROMISE(a->keep_alive == b->keep_alive && a->received == b->received && a->minor == b->minor);
        for (size_t i = 0; i < a->header_count; i++) {
                PROMISE(strcmp(a->headers[i].name, b->headers[i].name) == 0);
                PROMISE(strcmp(a->headers[i].value, b->headers[i].value) == 0);
        }
}

/* The same bytes, parsed as a whole and in pieces. */
struct parsed_twice {
        struct http_request whole, pieces;
        struct text passed, passed_in_pieces; /* what a relay would pass on */
        int status;
        size_t used;
};

static void parse_twice(struct parsed_twice *r, const uint8_t *data, size_t size, size_t piece)
{
        size_t used_in_pieces;
        r->status = feed(&r->whole, data, size, size + 1, &r->used, &r->passed);
        PROMISE(feed(&r->pieces, data, size, piece, &used_in_pieces, &r->passed_in_pieces) == r->status);
        PROMISE(r->status == 0 || r->status == 1 || r->status <= -400);
        PROMISE(r->status >= 0 || strcmp(http_status_reason(-r->status), "Error") != 0);
        if (r->status != 1)
                return;
        PROMISE(r->used == used_in_pieces);
        check_request(&r->whole);
        check_same(&r->whole, &r->pieces);
        PROMISE(r->whole.body.length == r->pieces.body.length);
        PROMISE(!r->whole.body.length || memcmp(r->whole.body.data, r->pieces.body.data, r->whole.body.length) == 0);
}

/* The relay passed on what it received, without leading empty lines, and that parses to the same request. */
static void check_passed(struct parsed_twice *relay, const uint8_t *data)
{
        struct http_request again;
        CLEANUP_TEXT struct text passed = { 0 };
        const char *sent = (const char *)data;
        size_t used, skipped = 0;
        while (skipped + 1 < relay->used && memcmp(sent + skipped, "\r\n", 2) == 0)
                skipped += 2;
        PROMISE(relay->passed.length == relay->used - skipped);
        PROMISE(memcmp(relay->passed.data, sent + skipped, relay->passed.length) == 0);
        PROMISE(relay->passed_in_pieces.length == relay->passed.length);
        PROMISE(memcmp(relay->passed_in_pieces.data, relay->passed.data, relay->passed.length) == 0);
        http_request_init_relay(&again);
        PROMISE(feed(&again, (const uint8_t *)relay->passed.data, relay->passed.length, SIZE_MAX, &used, &passed) == 1);
        PROMISE(used == relay->passed.length);
        check_same(&relay->whole, &again);
        http_request_done(&again);
}

/* A server refuses what a relay accepts only for its size, its version or the form of its target. */
static void check_agreement(const struct parsed_twice *server, const struct parsed_twice *relay)
{
        const struct http_request *r = &relay->whole;
        if (server->status == 1) {
                PROMISE(relay->status == 1 && relay->used == server->used);
                check_same(&server->whole, r);
                PROMISE(r->received == server->whole.body.length);
        } else if (server->status == 0) {
                PROMISE(relay->status == 0);
        } else if (relay->status >= 0) {
                bool target_not_path = r->target && *r->target != '/';
                PROMISE(server->status == (target_not_path ? -400 : r->minor == 0 ? -505 : -413));
        }
}

static void parsed_twice_done(struct parsed_twice *r)
{
        http_request_done(&r->whole);
        http_request_done(&r->pieces);
        text_done(&r->passed);
        text_done(&r->passed_in_pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct parsed_twice server = { .used = 0 }, relay = { .used = 0 };
        if (!size)
                return 0;
        http_request_init(&server.whole, BODY_MAX);
        http_request_init(&server.pieces, BODY_MAX);
        parse_twice(&server, data + 1, size - 1, (size_t)data[0] + 1);
        http_request_init_relay(&relay.whole);
        http_request_init_relay(&relay.pieces);
        parse_twice(&relay, data + 1, size - 1, (size_t)data[0] + 1);
        if (relay.status == 1)
                check_passed(&relay, data + 1);
        check_agreement(&server, &relay);
        parsed_twice_done(&server);
        parsed_twice_done(&relay);
        return 0;
}
