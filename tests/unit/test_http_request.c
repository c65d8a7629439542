/*
 * Parsing HTTP requests, as a server and as a relay: which are accepted, and how others are refused, for any size of
 * the pieces in which they arrive.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/text.h"
#include "wire/http_request.h"

enum { BODY_MAX = 64 };

#define HEAD "POST /mcp HTTP/1.1\r\nHost: here\r\n"
#define CHUNKED HEAD "Transfer-Encoding: chunked\r\n\r\n"

/* A request and the result. */
struct row {
        const char *input;
        int status;         /* 1: complete, 0: incomplete, negative: the HTTP status of the refusal */
        const char *body;   /* if it is complete */
        const char *rest; /* the bytes after the request; NULL: none */
};

/*
 * Feeds the input in pieces of this size; *ret_used is the length of the request. `passed`, if it is not NULL, gets
 * what a relay would pass on: the head once it is complete, then the other bytes of the request.
 */
static int feed(struct http_request *r, const char *input, size_t length, size_t piece, size_t *ret_used,
                struct text *passed)
{
        int status = 0;
        *ret_used = 0;
        while ((status == 0 && *ret_used < length) || status == HTTP_HEAD_COMPLETE) {
                size_t n = length - *ret_used < piece ? length - *ret_used : piece, used = 0;
                bool in_head = r->state == HTTP_HEAD;
                char *copy = malloc(n); /* so that a sanitizer finds reads beyond it */
                memcpy(copy, input + *ret_used, n);
                status = http_request_feed(r, copy, n, &used);
                assert_true(used <= n);
                assert_true(status != 0 || used == n);
                *ret_used += used;
                if (status == HTTP_HEAD_COMPLETE)
                        assert_true(in_head && r->is_relay && r->state != HTTP_HEAD);
                if (passed && status == HTTP_HEAD_COMPLETE)
                        text_add_bytes(passed, r->original.data, r->original.length);
                else if (passed && status >= 0 && !in_head)
                        text_add_bytes(passed, copy, used);
                free(copy);
        }
        return status;
}

/* Parses the request as a server. */
static void check_as_server(const struct row *row)
{
        const size_t length = strlen(row->input);
        for (size_t piece = 1; piece <= length; piece++) {
                struct http_request r;
                size_t used;
                http_request_init(&r, BODY_MAX);
                int status = feed(&r, row->input, length, piece, &used, NULL);
                if (status != row->status)
                        fail_msg("%d instead of %d, in pieces of %zu:\n%s", status, row->status, piece, row->input);
                if (status == 1) {
                        assert_string_equal(r.body.data ? r.body.data : "", row->body ? row->body : "");
                        assert_string_equal(row->input + used, row->rest ? row->rest : "");
                }
                assert_null(http_request_header(&r, "No-Such")); /* headers can be queried in any state */
                http_request_done(&r);
        }
}

/* Parses the request as a relay: it passes on what it received, without leading empty lines. */
static void check_as_relay(const struct row *row)
{
        const size_t length = strlen(row->input), skipped = strspn(row->input, "\r\n");
        for (size_t piece = 1; piece <= length; piece++) {
                CLEANUP_TEXT struct text passed = { 0 };
                struct http_request r;
                size_t used;
                http_request_init_relay(&r);
                int status = feed(&r, row->input, length, piece, &used, &passed);
                if (status != row->status)
                        fail_msg("relay: %d instead of %d, in pieces of %zu:\n%s", status, row->status, piece,
                                 row->input);
                if (status == 1) {
                        assert_int_equal(passed.length, used - skipped);
                        assert_memory_equal(passed.data, row->input + skipped, passed.length);
                        assert_string_equal(row->input + used, row->rest ? row->rest : "");
                        assert_int_equal(r.body.length, 0);
                }
                http_request_done(&r);
        }
}

/* Checks that server and relay give the same result. */
static void check_both(const struct row *rows, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                check_as_server(&rows[i]);
                check_as_relay(&rows[i]);
        }
}

static void test_complete_requests_are_accepted(void **state)
{
        (void)state;
        static const struct row rows[] = {
                { HEAD "\r\n", 1, NULL, NULL },
                { "\r\n\r\n" HEAD "\r\n", 1, NULL, NULL }, /* leading empty lines */
                { HEAD "Content-Length: 0\r\n\r\n", 1, NULL, NULL },
                { HEAD "Content-Length: 5\r\n\r\nhello", 1, "hello", NULL },
                { HEAD "content-LENGTH:5\r\n\r\nhello", 1, "hello", NULL },
                { HEAD "Content-Length: 5\r\n\r\nhelloGET", 1, "hello", "GET" },
                { HEAD "Name: \t value \t \r\n\r\n", 1, NULL, NULL },
                { "GET /mcp HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\n\r\nhello", 1, "hello", NULL },
                { HEAD "\r\nGET / HTTP/1.1\r\n\r\n", 1, NULL, "GET / HTTP/1.1\r\n\r\n" },
                { CHUNKED "5\r\nhello\r\n0\r\n\r\n", 1, "hello", NULL },
                { CHUNKED "1\r\nh\r\n4;name=value\r\nello\r\n00\r\n\r\nGET", 1, "hello", "GET" },
                { CHUNKED "a\r\n0123456789\r\nA\r\nabcdefghij\r\n0\r\nTrailer: x\r\nAnother: y\r\n\r\n", 1,
                  "0123456789abcdefghij", NULL },
                { HEAD "Transfer-Encoding: CHUNKED\r\n\r\n0\r\n\r\n", 1, NULL, NULL },
                { HEAD "Expect: 100-Continue\r\nContent-Length: 1\r\n\r\nx", 1, "x", NULL },
                { "OPTIONS /mcp?a=b HTTP/1.1\r\nHost:\r\nEmpty:\r\n\r\n", 1, NULL, NULL },
        };
        check_both(rows, ARRAY_SIZE(rows));
}

static void test_incomplete_requests_wait_for_more(void **state)
{
        (void)state;
        static const struct row rows[] = {
                { "P", 0, NULL, NULL },
                { HEAD, 0, NULL, NULL },
                { HEAD "\r", 0, NULL, NULL },
                { HEAD "Content-Length: 5\r\n\r\nhell", 0, NULL, NULL },
                { CHUNKED "5\r\nhello\r\n", 0, NULL, NULL },
                { CHUNKED "5\r\nhello\r\n0\r\n", 0, NULL, NULL },
                { CHUNKED "5\r\nhello\r\n0\r\nTrailer: x\r\n", 0, NULL, NULL },
        };
        check_both(rows, ARRAY_SIZE(rows));
}

/* Request smuggling: a request is refused if two parsers could find its end at different places. */
static void test_ambiguous_lengths_are_refused(void **state)
{
        (void)state;
#define BOTH_BODY "\r\n5\r\nhello\r\n0\r\n\r\n"
        static const struct row rows[] = {
                /* CL.TE and TE.CL, in any order and spelling */
                { HEAD "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n" BOTH_BODY, -400, NULL, NULL },
                { HEAD "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n" BOTH_BODY, -400, NULL, NULL },
                { HEAD "content-length: 5\r\ntransfer-encoding: CHUNKED\r\n" BOTH_BODY, -400, NULL, NULL },
                { HEAD "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n" BOTH_BODY, -400, NULL, NULL },
                { HEAD "Content-Length: 5\r\nTransfer-Encoding: identity\r\n" BOTH_BODY, -400, NULL, NULL },
                { HEAD "Content-Length: 5\r\nTransfer_Encoding: chunked\r\n" BOTH_BODY, -400, NULL, NULL },
                { HEAD "Content_Length: 5\r\n" "Transfer-Encoding: chunked\r\n" BOTH_BODY, -400, NULL, NULL },
                { HEAD "Content-Length: 5\r\nTransfer-Encoding : chunked\r\n" BOTH_BODY, -400, NULL, NULL },
                { HEAD "Content-Length: 5\r\n Transfer-Encoding: chunked\r\n" BOTH_BODY, -400, NULL, NULL },
                { HEAD "Content-Length: 5\r\nX: x\nTransfer-Encoding: chunked\r\n" BOTH_BODY, -400, NULL, NULL },
                { HEAD "Content-Length: 5\r\nX: x\rTransfer-Encoding: chunked\r\n" BOTH_BODY, -400, NULL, NULL },
                /* TE.TE: only `chunked`, once */
                { HEAD "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n" BOTH_BODY, -400, NULL, NULL },
                { HEAD "Transfer-Encoding: chunked\r\nTransfer-encoding: identity\r\n" BOTH_BODY, -400, NULL, NULL },
                { HEAD "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n" BOTH_BODY, -400, NULL, NULL },
                { HEAD "Transfer-Encoding: chunked, identity\r\n" BOTH_BODY, -501, NULL, NULL },
                { HEAD "Transfer-Encoding: identity, chunked\r\n" BOTH_BODY, -501, NULL, NULL },
                { HEAD "Transfer-Encoding: chunked, chunked\r\n" BOTH_BODY, -501, NULL, NULL },
                { HEAD "Transfer-Encoding: gzip, chunked\r\n" BOTH_BODY, -501, NULL, NULL },
                { HEAD "Transfer-Encoding: gzip\r\n" BOTH_BODY, -501, NULL, NULL },
                { HEAD "Transfer-Encoding: identity\r\n" BOTH_BODY, -501, NULL, NULL },
                { HEAD "Transfer-Encoding: xchunked\r\n" BOTH_BODY, -501, NULL, NULL },
                { HEAD "Transfer-Encoding: chunkedx\r\n" BOTH_BODY, -501, NULL, NULL },
                { HEAD "Transfer-Encoding: chunked;q=1\r\n" BOTH_BODY, -501, NULL, NULL },
                { HEAD "Transfer-Encoding: chunked,\r\n" BOTH_BODY, -501, NULL, NULL },
                { HEAD "Transfer-Encoding: \"chunked\"\r\n" BOTH_BODY, -501, NULL, NULL },
                { HEAD "Transfer-Encoding: chunked\xa0\r\n" BOTH_BODY, -501, NULL, NULL },
                { HEAD "Transfer-Encoding:\r\n" BOTH_BODY, -501, NULL, NULL },
                { HEAD "Transfer-Encoding: \x0b" "chunked\r\n" BOTH_BODY, -400, NULL, NULL },
                { HEAD "Transfer-Encoding: chunked \r\n" BOTH_BODY, -400, NULL, NULL },
                { HEAD "Transfer-Encoding:  chunked\r\n" BOTH_BODY, -400, NULL, NULL },
                { HEAD "Transfer-Encoding:\tchunked\r\n" BOTH_BODY, -400, NULL, NULL },
                { HEAD "Transfer-Encoding:\r\n chunked\r\n" BOTH_BODY, -400, NULL, NULL },
                { HEAD "Transfer_Encoding: chunked\r\n" BOTH_BODY, -400, NULL, NULL },
                { HEAD "Transfer-Encoding\x01: chunked\r\n" BOTH_BODY, -400, NULL, NULL },
                /* two lengths, or one in an odd spelling */
                { HEAD "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", -400, NULL, NULL },
                { HEAD "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", -400, NULL, NULL },
                { HEAD "Content-Length: 5\r\nContent_Length: 6\r\n\r\nhello", -400, NULL, NULL },
                { HEAD "Content-Length: 5, 5\r\n\r\nhello", -400, NULL, NULL },
                { HEAD "Content-Length: 5,\r\n\r\nhello", -400, NULL, NULL },
                { HEAD "Content-Length: +5\r\n\r\nhello", -400, NULL, NULL },
                { HEAD "Content-Length: -1\r\n\r\n", -400, NULL, NULL },
                { HEAD "Content-Length: -0\r\n\r\n", -400, NULL, NULL },
                { HEAD "Content-Length: 05\r\n\r\nhello", -400, NULL, NULL },
                { HEAD "Content-Length: 00\r\n\r\nhello", -400, NULL, NULL },
                { HEAD "Content-Length: 0x5\r\n\r\nhello", -400, NULL, NULL },
                { HEAD "Content-Length: 5e0\r\n\r\nhello", -400, NULL, NULL },
                { HEAD "Content-Length: 5.0\r\n\r\nhello", -400, NULL, NULL },
                { HEAD "Content-Length: 1_0\r\n\r\nhello", -400, NULL, NULL },
                { HEAD "Content-Length: 5 5\r\n\r\nhello", -400, NULL, NULL },
                { HEAD "Content-Length: \"5\"\r\n\r\nhello", -400, NULL, NULL },
                { HEAD "Content-Length: \xd9\xa5\r\n\r\nhello", -400, NULL, NULL }, /* an Arabic digit */
                { HEAD "Content-Length:\r\n\r\n", -400, NULL, NULL },
                { HEAD "Content-Length:\t5\r\n\r\nhello", -400, NULL, NULL },
                { HEAD "Content-Length: 5 \r\n\r\nhello", -400, NULL, NULL },
                { HEAD "Content-Length : 5\r\n\r\nhello", -400, NULL, NULL },
                { HEAD "Content-Length: 18446744073709551615\r\n\r\nx", -413, NULL, NULL },
                { HEAD "Content-Length: 18446744073709551616\r\n\r\nx", -400, NULL, NULL },
                { HEAD "Content-Length: 18446744073709551621\r\n\r\nhello", -400, NULL, NULL },
                /* headers that the next hop would remove */
                { HEAD "Connection: Content-Length\r\nContent-Length: 5\r\n\r\nhello", -400, NULL, NULL },
                { HEAD "Connection: close\r\nConnection: x, transfer-encoding ,y\r\n\r\n", -400, NULL, NULL },
                { HEAD "Connection: host\r\n\r\n", -400, NULL, NULL },
                { "CONNECT /mcp HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\n\r\nhello", -400, NULL, NULL },
                { "CONNECT /mcp HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n", -400, NULL, NULL },
        };
#undef BOTH_BODY
        check_both(rows, ARRAY_SIZE(rows));
}

/* Likewise for the end of a line and the name of a header. */
static void test_ambiguous_lines_are_refused(void **state)
{
        (void)state;
        static const struct row rows[] = {
                { "POST /mcp HTTP/1.1\nHost: here\n\n", -400, NULL, NULL },                 /* bare line feeds */
                { "POST /mcp HTTP/1.1\r\nHost: here\n\r\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\nHost: here\r\n\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\nHost: he\rre\r\n\r\n", -400, NULL, NULL },         /* a bare carriage return */
                { "POST /mcp HTTP/1.1\r\nHost: here\r\r\n\r\n", -400, NULL, NULL },
                { "\nPOST /mcp HTTP/1.1\r\nHost: here\r\n\r\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\nHost: here\r\n folded\r\n\r\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\nHost: here\r\n\tfolded: x\r\n\r\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\n Host: here\r\n\r\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\nHost : here\r\n\r\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\nHost\t: here\r\n\r\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\nHost\r\n\r\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\nHost: here\r\n: x\r\n\r\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\nHost: here\r\nNam\xe9: x\r\n\r\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\nHost: here\r\nNa me: x\r\n\r\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\nHost: here\r\n(Name): x\r\n\r\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\nHost: here\r\n\"Name\": x\r\n\r\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\nHost: here\r\nName: \x01\r\n\r\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\nHost: here\r\nName: \x0c\r\n\r\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\nHost: here\r\nName: \x7f\r\n\r\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\n\r\n", -400, NULL, NULL },                         /* no Host, or two */
                { "POST /mcp HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\nHost: a\r\nhOST: b\r\n\r\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\nHost:\ta\r\n\r\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\nHost: a\t\r\n\r\n", -400, NULL, NULL },
        };
        check_both(rows, ARRAY_SIZE(rows));
}

/* Likewise for the framing of chunks. */
static void test_ambiguous_chunks_are_refused(void **state)
{
        (void)state;
        static const struct row rows[] = {
                { CHUNKED "5\r\nhelloX\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "5\r\nhello0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "5\r\nhello\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "5\r\nhello\r0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "5\r\nhello\r\n\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "5\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "5\rhello\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "5 \r\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED " 5\r\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "5\t\r\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "0x5\r\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "+5\r\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "-5\r\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "5_0\r\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "5g\r\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "\r\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED ";a=b\r\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "000000005\r\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "100000005\r\nhello\r\n0\r\n\r\n", -400, NULL, NULL }, /* 5 in 32 bits */
                { CHUNKED "10000000000000005\r\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
                /* extensions that hide the end of their line */
                { CHUNKED "5;a\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "5;a\rb\r\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "5;a\r\r\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "5;a=\"b\r\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "5;a=\"b\"\r\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "5;a=\\\r\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "5; a\r\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "5 ;a\r\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "5;\x0b\r\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "5;\xe9\r\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
                /* trailers */
                { CHUNKED "0\r\nTrailer: x\n\r\n", -400, NULL, NULL },
                { CHUNKED "0\r\nTrailer: x\ry\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "0\r\n\n", -400, NULL, NULL },
                { CHUNKED "0\r\n\rX", -400, NULL, NULL },
                { CHUNKED "0\r\nGET / HTTP/1.1\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "0\r\n folded: x\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "0\r\nTrailer : x\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "0\r\nTrailer: \x01\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "0\r\nHost: there\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "0\r\nA: b\r\ncontent-length: 5\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "0\r\nTransfer_Encoding: chunked\r\n\r\n", -400, NULL, NULL },
        };
        check_both(rows, ARRAY_SIZE(rows));
}

static void test_malformed_requests_are_refused(void **state)
{
        (void)state;
        static const struct row rows[] = {
                { "GET /mcp\r\n\r\n", -400, NULL, NULL },                                   /* HTTP/0.9 */
                { "GET /mcp HTTP/2.0\r\nHost: here\r\n\r\n", -505, NULL, NULL },
                { "GET /mcp HTTP/1.2\r\nHost: here\r\n\r\n", -505, NULL, NULL },
                { "GET /mcp HTTP/1.10\r\nHost: here\r\n\r\n", -505, NULL, NULL },
                { "GET /mcp http/1.1\r\nHost: here\r\n\r\n", -400, NULL, NULL },
                { "GET  /mcp HTTP/1.1\r\nHost: here\r\n\r\n", -400, NULL, NULL },
                { "GET  HTTP/1.1\r\nHost: here\r\n\r\n", -400, NULL, NULL },
                { "GET /mcp HTTP/1.1 \r\nHost: here\r\n\r\n", -400, NULL, NULL },
                { "GET /m cp HTTP/1.1\r\nHost: here\r\n\r\n", -400, NULL, NULL },
                { "GET /m\tcp HTTP/1.1\r\nHost: here\r\n\r\n", -400, NULL, NULL },
                { "GET\t/mcp HTTP/1.1\r\nHost: here\r\n\r\n", -400, NULL, NULL },
                { "GET /\xe9 HTTP/1.1\r\nHost: here\r\n\r\n", -400, NULL, NULL },
                { "G(T /mcp HTTP/1.1\r\nHost: here\r\n\r\n", -400, NULL, NULL },
                { " /mcp HTTP/1.1\r\nHost: here\r\n\r\n", -400, NULL, NULL },
                { "\x16\x03\x01\r\n\r\n", -400, NULL, NULL },
                { HEAD "Expect: something\r\n\r\n", -417, NULL, NULL },
                { HEAD "Expect: x 100-continue\r\n\r\n", -417, NULL, NULL },
                { HEAD "Expect: 100-continue\r\nExpect: 100-continue\r\n\r\n", -417, NULL, NULL },
        };
        check_both(rows, ARRAY_SIZE(rows));
}

/* A relay must pass on requests that our own server refuses. */
static void test_relay_accepts_more_requests_than_a_server(void **state)
{
        (void)state;
        static const struct {
                const char *input;
                int as_server, as_relay;
                const char *rest;
        } rows[] = {
                { "GET /mcp HTTP/1.0\r\nHost: here\r\n\r\nGET", -505, 1, "GET" },
                { "GET /mcp HTTP/1.0\r\n\r\n", -505, 1, NULL },
                { "POST / HTTP/1.0\r\nContent-Length: 5\r\n\r\nhelloX", -505, 1, "X" },
                { "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", -505, -400, NULL },
                { "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", -505, -400, NULL },
                { "GET http://here/mcp HTTP/1.1\r\nHost: here\r\n\r\n", -400, 1, NULL },
                { "OPTIONS * HTTP/1.1\r\nHost: here\r\n\r\n", -400, 1, NULL },
                { "CONNECT here:443 HTTP/1.1\r\nHost: here:443\r\n\r\n\x16\x03", -400, 1, "\x16\x03" },
                { "CONNECT here:443 HTTP/1.1\r\nHost: here:443\r\nContent-Length: 0\r\n\r\n", -400, 1, NULL },
                { "CONNECT here:443 HTTP/1.1\r\nHost: here:443\r\nContent-Length: 1\r\n\r\nx", -400, -400, NULL },
                { "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", -400, -505, NULL },
                { HEAD "Content-Length: 65\r\n\r\n", -413, 0, NULL },
                { HEAD "Content-Length: 9223372036854775807\r\n\r\n", -413, 0, NULL },
                { HEAD "Content-Length: 9223372036854775808\r\n\r\n", -413, -413, NULL },
                { CHUNKED "ffffffff\r\nhello", -413, 0, NULL },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                check_as_server(&(struct row){ rows[i].input, rows[i].as_server, NULL, NULL });
                check_as_relay(&(struct row){ rows[i].input, rows[i].as_relay, NULL, rows[i].rest });
        }
}

/* A relay gets the head before the body has arrived, and finds the start of the next request. */
static void test_relay_finds_the_next_request(void **state)
{
        (void)state;
        static const char first[] = "POST /a HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\n\r\n";
        static const char second[] = "GET /b HTTP/1.1\r\nHost: there\r\n\r\n";
        CLEANUP_TEXT struct text stream = { 0 };
        struct http_request r;
        size_t used;
        text_format(&stream, "%shello%s", first, second);
        http_request_init_relay(&r);
        assert_int_equal(http_request_feed(&r, stream.data, stream.length, &used), HTTP_HEAD_COMPLETE);
        assert_int_equal(used, sizeof first - 1);
        assert_string_equal(r.original.data, first);
        assert_string_equal(r.target, "/a");
        const char *at = stream.data + used;
        assert_int_equal(http_request_feed(&r, at, 3, &used), 0);
        assert_int_equal(used, 3);
        at += used;
        assert_int_equal(http_request_feed(&r, at, strlen(at), &used), 1);
        assert_int_equal(used, 2);
        at += used;
        http_request_done(&r);

        http_request_init_relay(&r);
        assert_int_equal(http_request_feed(&r, at, strlen(at), &used), HTTP_HEAD_COMPLETE);
        assert_int_equal(used, sizeof second - 1);
        assert_string_equal(http_request_header(&r, "Host"), "there");
        assert_int_equal(http_request_feed(&r, "", 0, &used), 1); /* no body */
        assert_int_equal(used, 0);
        http_request_done(&r);
}

/* A server that finds line or chunk ends elsewhere must not receive bytes that it could parse as a request. */
static void test_relay_refuses_before_it_passes_a_hidden_request(void **state)
{
        (void)state;
        static const struct {
                const char *sent, *refused;
        } rows[] = {
                { CHUNKED "5\r\nhello", "GET / HTTP/1.1\rHost: there\r\r" },
                { CHUNKED "5;a\r", "GET / HTTP/1.1\rHost: there\r\r" },
                { CHUNKED "5;a", "\nGET / HTTP/1.1\nHost: there\n\n" },
                { CHUNKED "0\r\n\r", "GET / HTTP/1.1\rHost: there\r\r" },
                { CHUNKED "0\r\nA: b\r", "\rGET / HTTP/1.1\rHost: there\r\r" },
                { CHUNKED "0\r\nA: b", "\x0bGET / HTTP/1.1\rHost: there\r\r" },
                { "", "GET / HTTP/1.1\r\nHost: here\r\nHost: there\r\n\r\n" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                CLEANUP_TEXT struct text input = { 0 }, passed = { 0 };
                struct http_request r;
                size_t used;
                text_format(&input, "%s%s", rows[i].sent, rows[i].refused);
                http_request_init_relay(&r);
                assert_int_equal(feed(&r, input.data, input.length, 1, &used, &passed), -400);
                assert_string_equal(passed.data ? passed.data : "", rows[i].sent);
                assert_int_equal(http_request_feed(&r, "x", 1, &used), -400); /* the refusal is final */
                assert_int_equal(used, 0);
                http_request_done(&r);
        }
}

static void test_nul_is_accepted_only_in_a_body(void **state)
{
        (void)state;
        static const char head[] = HEAD "Name: value\r\n\r\n";
        static const char chunks[] = CHUNKED "1;ext\r\nx\r\n0\r\nTrailer: x\r\n\r\n";
        for (size_t at = 0; at < sizeof head - 1; at++) {
                struct http_request r;
                size_t used;
                char copy[sizeof head];
                memcpy(copy, head, sizeof head);
                copy[at] = '\0';
                http_request_init(&r, BODY_MAX);
                assert_int_not_equal(feed(&r, copy, sizeof head - 1, sizeof head, &used, NULL), 1);
                http_request_done(&r);
        }
        for (size_t at = sizeof CHUNKED - 1; at < sizeof chunks - 1; at++) {
                struct http_request r;
                size_t used;
                char copy[sizeof chunks];
                memcpy(copy, chunks, sizeof chunks);
                copy[at] = '\0';
                http_request_init(&r, BODY_MAX);
                int status = feed(&r, copy, sizeof chunks - 1, 1, &used, NULL);
                assert_int_equal(status == 1, chunks[at] == 'x' && chunks[at - 1] == '\n'); /* the body */
                http_request_done(&r);
        }
}

static void test_all_sizes_are_limited(void **state)
{
        (void)state;
        CLEANUP_TEXT struct text too_many_headers = { 0 }, max_headers = { 0 }, long_line = { 0 };
        CLEANUP_TEXT struct text extension = { 0 }, trailers = { 0 }, chunks = { 0 };
        text_add(&max_headers, HEAD);
        for (int i = 1; i < HTTP_HEADERS_MAX; i++)
                text_add(&max_headers, "A: b\r\n");
        text_format(&too_many_headers, "%sA: b\r\n\r\n", max_headers.data);
        text_add(&max_headers, "\r\n");
        text_format(&long_line, HEAD "A: %0*d\r\n\r\n", HTTP_HEAD_MAX, 0);
        text_format(&extension, CHUNKED "1;%0300d\r\nx\r\n0\r\n\r\n", 0);
        text_add(&trailers, CHUNKED "0\r\n");
        for (int i = 0; i < 9; i++)
                text_format(&trailers, "A: %01000d\r\n", 0);
        text_add(&chunks, CHUNKED);
        for (int i = 0; i < BODY_MAX; i++)
                text_format(&chunks, "00000001;%0200d\r\nx\r\n", 0); /* framing may be longer than trailers may be */
        text_add(&chunks, "0\r\nTrailer: x\r\n\r\n");
        const struct {
                const char *input;
                int status;
        } rows[] = {
                { max_headers.data, 1 }, { too_many_headers.data, -431 }, { long_line.data, -431 },
                { extension.data, -400 }, { trailers.data, -400 }, { chunks.data, 1 },
                { HEAD "Content-Length: 64\r\n\r\n", 0 }, { HEAD "Content-Length: 65\r\n\r\n", -413 },
                { HEAD "Content-Length: 18446744073709551615\r\n\r\n", -413 },
                { CHUNKED "40\r\n", 0 }, { CHUNKED "41\r\n", -413 }, { CHUNKED "ffffffff\r\n", -413 },
                { CHUNKED "1\r\nx\r\n3f\r\n", 0 }, { CHUNKED "1\r\nx\r\n40\r\n", -413 },
        };
        static const size_t pieces[] = { 1, 7, 4096, 1 << 20 };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                for (size_t k = 0; k < ARRAY_SIZE(pieces); k++) {
                        struct http_request r;
                        size_t used;
                        http_request_init(&r, BODY_MAX);
                        int status = feed(&r, rows[i].input, strlen(rows[i].input), pieces[k], &used, NULL);
                        assert_int_equal(status, rows[i].status);
                        http_request_done(&r);
                }
        }
}

static void test_parts_of_a_head_are_parsed(void **state)
{
        (void)state;
        static const char input[] = "DELETE /mcp HTTP/1.1\r\nHost: here\r\nMcp-Session-Id:  a b \t\r\n"
                                    "mcp-session-ID: second\r\nConnection: keep-alive, Close\r\n\r\n";
        struct http_request r;
        size_t used;
        http_request_init(&r, BODY_MAX);
        assert_int_equal(http_request_feed(&r, input, sizeof input - 1, &used), 1);
        assert_string_equal(r.method, "DELETE");
        assert_string_equal(r.target, "/mcp");
        assert_string_equal(http_request_header(&r, "MCP-SESSION-ID"), "a b");
        assert_int_equal(http_count_headers(&r, "Mcp-Session-Id"), 2);
        assert_null(http_request_header(&r, "Mcp-Session"));
        assert_true(http_header_lists(&r, "connection", "close") && http_header_lists(&r, "Connection", "Keep-Alive"));
        assert_false(http_header_lists(&r, "Connection", "alive") || http_header_lists(&r, "Connection", "clos"));
        assert_false(http_header_lists(&r, "Upgrade", "close"));
        assert_int_equal(r.minor, 1);
        assert_false(r.keep_alive);
        assert_false(r.expects_continue);
        assert_int_equal(r.original.length, 0);
        http_request_done(&r);
}

static void test_keep_alive_follows_version_and_connection_header(void **state)
{
        (void)state;
        static const struct {
                const char *input;
                bool keep_alive;
        } rows[] = {
                { HEAD "\r\n", true },
                { HEAD "Connection: keep-alive\r\n\r\n", true },
                { HEAD "Connection: close\r\n\r\n", false },
                { HEAD "Connection: x\r\nConnection: y,\tCLOSE ,\r\n\r\n", false },
                { HEAD "Connection: x-closed\r\n\r\n", true },
                { "GET / HTTP/1.0\r\n\r\n", false },
                { "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true },
                { "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", false },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct http_request r;
                size_t used;
                http_request_init_relay(&r);
                assert_int_equal(http_request_feed(&r, rows[i].input, strlen(rows[i].input), &used),
                                 HTTP_HEAD_COMPLETE);
                assert_int_equal(r.keep_alive, rows[i].keep_alive);
                http_request_done(&r);
        }
}

static void test_expect_continue_counts_only_with_a_body(void **state)
{
        (void)state;
        static const char with[] = HEAD "Expect: 100-continue\r\nContent-Length: 1\r\n\r\n";
        static const char without[] = HEAD "Expect: 100-continue\r\n\r\n"; /* no body to wait for */
        struct http_request r;
        size_t used;
        http_request_init(&r, BODY_MAX);
        assert_int_equal(http_request_feed(&r, with, sizeof with - 1, &used), 0);
        assert_true(r.expects_continue && r.keep_alive);
        http_request_done(&r);
        http_request_init(&r, BODY_MAX);
        assert_int_equal(http_request_feed(&r, without, sizeof without - 1, &used), 1);
        assert_false(r.expects_continue);
        http_request_done(&r);
}

static void test_status_has_its_reason_phrase(void **state)
{
        (void)state;
        assert_string_equal(http_status_reason(200), "OK");
        assert_string_equal(http_status_reason(431), "Request Header Fields Too Large");
        assert_string_equal(http_status_reason(599), "Error");
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_complete_requests_are_accepted),
                cmocka_unit_test(test_incomplete_requests_wait_for_more),
                cmocka_unit_test(test_ambiguous_lengths_are_refused),
                cmocka_unit_test(test_ambiguous_lines_are_refused),
                cmocka_unit_test(test_ambiguous_chunks_are_refused),
                cmocka_unit_test(test_malformed_requests_are_refused),
                cmocka_unit_test(test_relay_accepts_more_requests_than_a_server),
                cmocka_unit_test(test_relay_finds_the_next_request),
                cmocka_unit_test(test_relay_refuses_before_it_passes_a_hidden_request),
                cmocka_unit_test(test_nul_is_accepted_only_in_a_body),
                cmocka_unit_test(test_all_sizes_are_limited),
                cmocka_unit_test(test_parts_of_a_head_are_parsed),
                cmocka_unit_test(test_keep_alive_follows_version_and_connection_header),
                cmocka_unit_test(test_expect_continue_counts_only_with_a_body),
                cmocka_unit_test(test_status_has_its_reason_phrase),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
