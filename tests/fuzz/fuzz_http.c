/*
 * An HTTP request. The first byte says in which pieces it comes. Whatever they are, the result is that of the whole;
 * what is accepted has one Host and parts without control characters, within the bounds; what is refused has a
 * status that exists.
 *
 * Both readers, the one that answers and the one that relays, find the same end of whatever both accept, and what is
 * relayed is what came. What is relayed and was accepted is understood in the same way when it is read again.
 */
#include <ctype.h>
#include <string.h>

#include "base/memory.h"
#include "fuzz.h"
#include "wire/http_request.h"

enum { BODY_MOST = 4096 };

/*
 * Pieces of this many bytes, each in memory of its own. Returns the last status; *ret_used is what the request took.
 * What a relay passes on is put into `passed`.
 */
static int feed(struct http_request *r, const uint8_t *data, size_t size, size_t piece, size_t *ret_used,
                struct text *passed)
{
        int status = 0;
        *ret_used = 0;
        while ((status == 0 && *ret_used < size) || status == HTTP_HEAD_READY) {
                size_t n = size - *ret_used < piece ? size - *ret_used : piece, used = 0;
                bool in_head = r->state == HTTP_HEAD;
                char *copy = malloc(n);
                if (n)
                        memcpy(copy, data + *ret_used, n);
                status = http_take(r, copy, n, &used);
                PROMISE(used <= n && (status != 0 || used == n));
                PROMISE(status != HTTP_HEAD_READY || (in_head && r->relays && r->state != HTTP_HEAD));
                PROMISE(status != 1 || !in_head || !r->relays);
                *ret_used += used;
                if (status == HTTP_HEAD_READY)
                        text_add_bytes(passed, r->original.data, r->original.length);
                else if (status >= 0 && !in_head)
                        text_add_bytes(passed, copy, used);
                free(copy);
        }
        return status;
}

static void promise_plain(const char *text)
{
        for (; *text; text++)
                PROMISE((unsigned char)*text >= ' ' ? *text != '\x7f' : *text == '\t');
}

static void check_request(const struct http_request *r)
{
        PROMISE(*r->method && *r->target && r->header_count <= HTTP_HEADERS_MOST && r->body.length <= BODY_MOST);
        PROMISE(r->relays || (r->target[0] == '/' && r->minor == 1));
        PROMISE(http_count(r, "Host") <= 1 && http_count(r, "Host") >= r->minor);
        PROMISE(http_count(r, "Content-Length") + http_count(r, "Transfer-Encoding") <= 1);
        PROMISE(r->minor || !http_header(r, "Transfer-Encoding"));
        promise_plain(r->method);
        promise_plain(r->target);
        for (size_t i = 0; i < r->header_count; i++) {
                const char *value = r->headers[i].value;
                PROMISE(*r->headers[i].name && !strpbrk(r->headers[i].name, " \t:"));
                PROMISE(!isblank((unsigned char)*value));
                PROMISE(!*value || !isblank((unsigned char)value[strlen(value) - 1]));
                promise_plain(r->headers[i].name);
                promise_plain(value);
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

/* Read whole, and in pieces. */
struct readings {
        struct http_request whole, pieces;
        struct text passed, passed_in_pieces; /* by a relay */
        int status;
        size_t used;
};

static void read_twice(struct readings *r, const uint8_t *data, size_t size, size_t piece)
{
        size_t used_in_pieces;
        r->status = feed(&r->whole, data, size, size + 1, &r->used, &r->passed);
        PROMISE(feed(&r->pieces, data, size, piece, &used_in_pieces, &r->passed_in_pieces) == r->status);
        PROMISE(r->status == 0 || r->status == 1 || r->status <= -400);
        PROMISE(r->status >= 0 || strcmp(http_reason(-r->status), "Error") != 0);
        if (r->status != 1)
                return;
        PROMISE(r->used == used_in_pieces);
        check_request(&r->whole);
        check_same(&r->whole, &r->pieces);
        PROMISE(r->whole.body.length == r->pieces.body.length);
        PROMISE(!r->whole.body.length || memcmp(r->whole.body.data, r->pieces.body.data, r->whole.body.length) == 0);
}

/* What came, but for empty lines in front; and it is read again as it was. */
static void check_passed(struct readings *relay, const uint8_t *data)
{
        struct http_request again;
        CLEANUP_TEXT struct text passed = { 0 };
        const char *sent = (const char *)data;
        size_t used, front = 0;
        while (front + 1 < relay->used && memcmp(sent + front, "\r\n", 2) == 0)
                front += 2;
        PROMISE(relay->passed.length == relay->used - front);
        PROMISE(memcmp(relay->passed.data, sent + front, relay->passed.length) == 0);
        PROMISE(relay->passed_in_pieces.length == relay->passed.length);
        PROMISE(memcmp(relay->passed_in_pieces.data, relay->passed.data, relay->passed.length) == 0);
        http_begin_relay(&again);
        PROMISE(feed(&again, (const uint8_t *)relay->passed.data, relay->passed.length, SIZE_MAX, &used, &passed) == 1);
        PROMISE(used == relay->passed.length);
        check_same(&relay->whole, &again);
        http_done(&again);
}

/* Only what no relay has to care about makes a difference: sizes, versions, and the form of the target. */
static void check_agreement(const struct readings *kept, const struct readings *relayed)
{
        const struct http_request *r = &relayed->whole;
        if (kept->status == 1) {
                PROMISE(relayed->status == 1 && relayed->used == kept->used);
                check_same(&kept->whole, r);
                PROMISE(r->received == kept->whole.body.length);
        } else if (kept->status == 0) {
                PROMISE(relayed->status == 0);
        } else if (relayed->status >= 0) {
                bool other = r->target && *r->target != '/';
                PROMISE(kept->status == (other ? -400 : r->minor == 0 ? -505 : -413));
        }
}

static void done(struct readings *r)
{
        http_done(&r->whole);
        http_done(&r->pieces);
        text_done(&r->passed);
        text_done(&r->passed_in_pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct readings kept = { .used = 0 }, relayed = { .used = 0 };
        if (!size)
                return 0;
        http_begin(&kept.whole, BODY_MOST);
        http_begin(&kept.pieces, BODY_MOST);
        read_twice(&kept, data + 1, size - 1, (size_t)data[0] + 1);
        http_begin_relay(&relayed.whole);
        http_begin_relay(&relayed.pieces);
        read_twice(&relayed, data + 1, size - 1, (size_t)data[0] + 1);
        if (relayed.status == 1)
                check_passed(&relayed, data + 1);
        check_agreement(&kept, &relayed);
        done(&kept);
        done(&relayed);
        return 0;
}
