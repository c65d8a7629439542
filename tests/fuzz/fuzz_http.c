/*
 * An HTTP request. The first byte says in which pieces it comes. Whatever they are, the result is that of the whole; what is
 * accepted has one Host and parts without control characters, within the bounds; what is refused has a status that exists.
 */
#include <ctype.h>
#include <string.h>

#include "base/memory.h"
#include "fuzz.h"
#include "mcp/http_request.h"

enum { BODY_MOST = 4096 };

/* Pieces of this many bytes, each in memory of its own. Returns the last status; *ret_used is what the request took. */
static int feed(struct http_request *r, const uint8_t *data, size_t size, size_t piece, size_t *ret_used)
{
        int status = 0;
        *ret_used = 0;
        while (status == 0 && *ret_used < size) {
                size_t n = size - *ret_used < piece ? size - *ret_used : piece, used = 0;
                char *copy = malloc(n);
                memcpy(copy, data + *ret_used, n);
                status = http_take(r, copy, n, &used);
                free(copy);
                PROMISE(used <= n && (status != 0 || used == n));
                *ret_used += used;
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
        PROMISE(*r->method && r->target[0] == '/' && r->header_count <= HTTP_HEADERS_MOST && r->body.length <= BODY_MOST);
        PROMISE(http_count(r, "Host") == 1 && http_header(r, "host"));
        PROMISE(http_count(r, "Content-Length") + http_count(r, "Transfer-Encoding") <= 1);
        promise_plain(r->method);
        promise_plain(r->target);
        for (size_t i = 0; i < r->header_count; i++) {
                const char *value = r->headers[i].value;
                PROMISE(*r->headers[i].name && !strpbrk(r->headers[i].name, " \t:"));
                PROMISE(!isblank((unsigned char)*value) && !(*value && isblank((unsigned char)value[strlen(value) - 1])));
                promise_plain(r->headers[i].name);
                promise_plain(value);
        }
}

static void check_same(const struct http_request *a, const struct http_request *b)
{
        PROMISE(strcmp(a->method, b->method) == 0 && strcmp(a->target, b->target) == 0 && a->header_count == b->header_count);
        PROMISE(a->keep_alive == b->keep_alive && a->body.length == b->body.length);
        PROMISE(!a->body.length || memcmp(a->body.data, b->body.data, a->body.length) == 0);
        for (size_t i = 0; i < a->header_count; i++) {
                PROMISE(strcmp(a->headers[i].name, b->headers[i].name) == 0);
                PROMISE(strcmp(a->headers[i].value, b->headers[i].value) == 0);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct http_request whole, pieces;
        size_t used, used_in_pieces;
        if (!size)
                return 0;
        http_begin(&whole, BODY_MOST);
        http_begin(&pieces, BODY_MOST);
        int status = feed(&whole, data + 1, size - 1, size, &used);
        PROMISE(feed(&pieces, data + 1, size - 1, (size_t)data[0] + 1, &used_in_pieces) == status);
        PROMISE(status == 0 || status == 1 || (status <= -400 && strcmp(http_reason(-status), "Error") != 0));
        if (status == 1) {
                PROMISE(used == used_in_pieces);
                check_request(&whole);
                check_same(&whole, &pieces);
        }
        http_done(&whole);
        http_done(&pieces);
        return 0;
}
