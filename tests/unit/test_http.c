/*
 * Reading HTTP requests: what is understood, what is refused and how, whatever the pieces in which it comes; to
 * answer them and to relay them.
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

enum { BODY_MOST = 64 };

#define HEAD "POST /mcp HTTP/1.1\r\nHost: here\r\n"
#define CHUNKED HEAD "Transfer-Encoding: chunked\r\n\r\n"

/* One byte string and what becomes of it. */
struct row {
        const char *input;
        int status;         /* 1: complete, 0: more has to come, or the status that refuses it, negative */
        const char *body;   /* when it is complete */
        const char *behind; /* what is left for the next request; NULL: nothing */
};

/*
 * Gives the input in pieces of this size; *ret_used is what was taken. Of a relay, `passed` gets what it passes on:
 * the head when it is there, then the bytes that were taken. NULL: nobody asks.
 */
static int feed(struct http_request *r, const char *input, size_t length, size_t piece, size_t *ret_used,
                struct text *passed)
{
        int status = 0;
        *ret_used = 0;
        while ((status == 0 && *ret_used < length) || status == HTTP_HEAD_READY) {
                size_t n = length - *ret_used < piece ? length - *ret_used : piece, used = 0;
                bool in_head = r->state == HTTP_HEAD;
                char *copy = malloc(n); /* in memory of its own, so that a read beyond it is seen */
                memcpy(copy, input + *ret_used, n);
                status = http_take(r, copy, n, &used);
                assert_true(used <= n);
                assert_true(status != 0 || used == n);
                *ret_used += used;
                if (status == HTTP_HEAD_READY)
                        assert_true(in_head && r->relays && r->state != HTTP_HEAD);
                if (passed && status == HTTP_HEAD_READY)
                        text_add_bytes(passed, r->original.data, r->original.length);
                else if (passed && status >= 0 && !in_head)
                        text_add_bytes(passed, copy, used);
                free(copy);
        }
        return status;
}

/* To answer it. */
static void check_kept(const struct row *row)
{
        const size_t length = strlen(row->input);
        for (size_t piece = 1; piece <= length; piece++) {
                struct http_request r;
                size_t used;
                http_begin(&r, BODY_MOST);
                int status = feed(&r, row->input, length, piece, &used, NULL);
                if (status != row->status)
                        fail_msg("%d instead of %d, in pieces of %zu:\n%s", status, row->status, piece, row->input);
                if (status == 1) {
                        assert_string_equal(r.body.data ? r.body.data : "", row->body ? row->body : "");
                        assert_string_equal(row->input + used, row->behind ? row->behind : "");
                }
                assert_null(http_header(&r, "No-Such")); /* what was read of it can be asked for, refused or not */
                http_done(&r);
        }
}

/* To relay it: what is passed on is what came, but for empty lines in front. */
static void check_relayed(const struct row *row)
{
        const size_t length = strlen(row->input), front = strspn(row->input, "\r\n");
        for (size_t piece = 1; piece <= length; piece++) {
                CLEANUP_TEXT struct text passed = { 0 };
                struct http_request r;
                size_t used;
                http_begin_relay(&r);
                int status = feed(&r, row->input, length, piece, &used, &passed);
                if (status != row->status)
                        fail_msg("relay: %d instead of %d, in pieces of %zu:\n%s", status, row->status, piece,
                                 row->input);
                if (status == 1) {
                        assert_int_equal(passed.length, used - front);
                        assert_memory_equal(passed.data, row->input + front, passed.length);
                        assert_string_equal(row->input + used, row->behind ? row->behind : "");
                        assert_int_equal(r.body.length, 0);
                }
                http_done(&r);
        }
}

/* Both readers agree. */
static void check_all(const struct row *rows, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                check_kept(&rows[i]);
                check_relayed(&rows[i]);
        }
}

static void test_what_is_whole_is_understood(void **state)
{
        (void)state;
        static const struct row rows[] = {
                { HEAD "\r\n", 1, NULL, NULL },
                { "\r\n\r\n" HEAD "\r\n", 1, NULL, NULL }, /* empty lines in front */
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
        check_all(rows, ARRAY_SIZE(rows));
}

static void test_what_is_not_whole_waits(void **state)
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
        check_all(rows, ARRAY_SIZE(rows));
}

/* What two readers could understand differently is refused: where a request ends, by its length or its chunks... */
static void test_two_lengths_are_refused(void **state)
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
                { HEAD "Content-Length: \xd9\xa5\r\n\r\nhello", -400, NULL, NULL }, /* an Arabic five */
                { HEAD "Content-Length:\r\n\r\n", -400, NULL, NULL },
                { HEAD "Content-Length:\t5\r\n\r\nhello", -400, NULL, NULL },
                { HEAD "Content-Length: 5 \r\n\r\nhello", -400, NULL, NULL },
                { HEAD "Content-Length : 5\r\n\r\nhello", -400, NULL, NULL },
                { HEAD "Content-Length: 18446744073709551615\r\n\r\nx", -413, NULL, NULL },
                { HEAD "Content-Length: 18446744073709551616\r\n\r\nx", -400, NULL, NULL },
                { HEAD "Content-Length: 18446744073709551621\r\n\r\nhello", -400, NULL, NULL },
                /* what the next one on the way would remove */
                { HEAD "Connection: Content-Length\r\nContent-Length: 5\r\n\r\nhello", -400, NULL, NULL },
                { HEAD "Connection: close\r\nConnection: x, transfer-encoding ,y\r\n\r\n", -400, NULL, NULL },
                { HEAD "Connection: host\r\n\r\n", -400, NULL, NULL },
                { "CONNECT /mcp HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\n\r\nhello", -400, NULL, NULL },
                { "CONNECT /mcp HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n", -400, NULL, NULL },
        };
#undef BOTH_BODY
        check_all(rows, ARRAY_SIZE(rows));
}

/* ... where a line ends and what its name is... */
static void test_lines_that_are_read_in_two_ways_are_refused(void **state)
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
        check_all(rows, ARRAY_SIZE(rows));
}

/* ... and the framing of chunks. */
static void test_chunks_that_are_read_in_two_ways_are_refused(void **state)
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
                { CHUNKED "100000005\r\nhello\r\n0\r\n\r\n", -400, NULL, NULL }, /* 5, if one counts in 32 bits */
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
        check_all(rows, ARRAY_SIZE(rows));
}

static void test_what_is_no_request_is_refused(void **state)
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
        check_all(rows, ARRAY_SIZE(rows));
}

/* What a relay has to let pass is none of a server's that answers. */
static void test_a_relay_takes_more_kinds(void **state)
{
        (void)state;
        static const struct {
                const char *input;
                int kept, relayed;
                const char *behind;
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
                check_kept(&(struct row){ rows[i].input, rows[i].kept, NULL, NULL });
                check_relayed(&(struct row){ rows[i].input, rows[i].relayed, NULL, rows[i].behind });
        }
}

/* A relay hears of the head before the body has come, and knows where the next request begins. */
static void test_a_relay_goes_from_request_to_request(void **state)
{
        (void)state;
        static const char first[] = "POST /a HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\n\r\n";
        static const char second[] = "GET /b HTTP/1.1\r\nHost: there\r\n\r\n";
        CLEANUP_TEXT struct text stream = { 0 };
        struct http_request r;
        size_t used;
        text_format(&stream, "%shello%s", first, second);
        http_begin_relay(&r);
        assert_int_equal(http_take(&r, stream.data, stream.length, &used), HTTP_HEAD_READY);
        assert_int_equal(used, sizeof first - 1);
        assert_string_equal(r.original.data, first);
        assert_string_equal(r.target, "/a");
        const char *at = stream.data + used;
        assert_int_equal(http_take(&r, at, 3, &used), 0);
        assert_int_equal(used, 3);
        at += used;
        assert_int_equal(http_take(&r, at, strlen(at), &used), 1);
        assert_int_equal(used, 2);
        at += used;
        http_done(&r);

        http_begin_relay(&r);
        assert_int_equal(http_take(&r, at, strlen(at), &used), HTTP_HEAD_READY);
        assert_int_equal(used, sizeof second - 1);
        assert_string_equal(http_header(&r, "Host"), "there");
        assert_int_equal(http_take(&r, "", 0, &used), 1); /* there is no body */
        assert_int_equal(used, 0);
        http_done(&r);
}

/* A server that ends lines or chunks elsewhere must not get what it could take for a request, however it comes. */
static void test_a_relay_refuses_before_it_is_too_late(void **state)
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
                http_begin_relay(&r);
                assert_int_equal(feed(&r, input.data, input.length, 1, &used, &passed), -400);
                assert_string_equal(passed.data ? passed.data : "", rows[i].sent);
                assert_int_equal(http_take(&r, "x", 1, &used), -400); /* and nothing changes that */
                assert_int_equal(used, 0);
                http_done(&r);
        }
}

static void test_a_nul_is_refused_wherever_it_is(void **state)
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
                http_begin(&r, BODY_MOST);
                assert_int_not_equal(feed(&r, copy, sizeof head - 1, sizeof head, &used, NULL), 1);
                http_done(&r);
        }
        for (size_t at = sizeof CHUNKED - 1; at < sizeof chunks - 1; at++) {
                struct http_request r;
                size_t used;
                char copy[sizeof chunks];
                memcpy(copy, chunks, sizeof chunks);
                copy[at] = '\0';
                http_begin(&r, BODY_MOST);
                int status = feed(&r, copy, sizeof chunks - 1, 1, &used, NULL);
                assert_int_equal(status == 1, chunks[at] == 'x' && chunks[at - 1] == '\n'); /* in the body it is data */
                http_done(&r);
        }
}

static void test_every_size_has_a_bound(void **state)
{
        (void)state;
        CLEANUP_TEXT struct text many = { 0 }, most = { 0 }, line = { 0 };
        CLEANUP_TEXT struct text extension = { 0 }, trailers = { 0 }, chunks = { 0 };
        text_add(&most, HEAD);
        for (int i = 1; i < HTTP_HEADERS_MOST; i++)
                text_add(&most, "A: b\r\n");
        text_format(&many, "%sA: b\r\n\r\n", most.data);
        text_add(&most, "\r\n");
        text_format(&line, HEAD "A: %0*d\r\n\r\n", HTTP_HEAD_MOST, 0);
        text_format(&extension, CHUNKED "1;%0300d\r\nx\r\n0\r\n\r\n", 0);
        text_add(&trailers, CHUNKED "0\r\n");
        for (int i = 0; i < 9; i++)
                text_format(&trailers, "A: %01000d\r\n", 0);
        text_add(&chunks, CHUNKED);
        for (int i = 0; i < BODY_MOST; i++)
                text_format(&chunks, "00000001;%0200d\r\nx\r\n", 0); /* more of framing than trailers may have */
        text_add(&chunks, "0\r\nTrailer: x\r\n\r\n");
        const struct {
                const char *input;
                int status;
        } rows[] = {
                { most.data, 1 }, { many.data, -431 }, { line.data, -431 },
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
                        http_begin(&r, BODY_MOST);
                        int status = feed(&r, rows[i].input, strlen(rows[i].input), pieces[k], &used, NULL);
                        assert_int_equal(status, rows[i].status);
                        http_done(&r);
                }
        }
}

static void test_the_parts_of_a_head(void **state)
{
        (void)state;
        static const char input[] = "DELETE /mcp HTTP/1.1\r\nHost: here\r\nMcp-Session-Id:  a b \t\r\n"
                                    "mcp-session-ID: second\r\nConnection: keep-alive, Close\r\n\r\n";
        struct http_request r;
        size_t used;
        http_begin(&r, BODY_MOST);
        assert_int_equal(http_take(&r, input, sizeof input - 1, &used), 1);
        assert_string_equal(r.method, "DELETE");
        assert_string_equal(r.target, "/mcp");
        assert_string_equal(http_header(&r, "MCP-SESSION-ID"), "a b");
        assert_int_equal(http_count(&r, "Mcp-Session-Id"), 2);
        assert_null(http_header(&r, "Mcp-Session"));
        assert_true(http_lists(&r, "connection", "close") && http_lists(&r, "Connection", "Keep-Alive"));
        assert_false(http_lists(&r, "Connection", "alive") || http_lists(&r, "Connection", "clos"));
        assert_false(http_lists(&r, "Upgrade", "close"));
        assert_int_equal(r.minor, 1);
        assert_false(r.keep_alive);
        assert_false(r.continues);
        assert_int_equal(r.original.length, 0);
        http_done(&r);
}

static void test_who_goes_on_over_the_same_connection(void **state)
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
                http_begin_relay(&r);
                assert_int_equal(http_take(&r, rows[i].input, strlen(rows[i].input), &used), HTTP_HEAD_READY);
                assert_int_equal(r.keep_alive, rows[i].keep_alive);
                http_done(&r);
        }
}

static void test_a_client_that_waits_is_told_to_go_on(void **state)
{
        (void)state;
        static const char with[] = HEAD "Expect: 100-continue\r\nContent-Length: 1\r\n\r\n";
        static const char without[] = HEAD "Expect: 100-continue\r\n\r\n"; /* there is nothing to go on with */
        struct http_request r;
        size_t used;
        http_begin(&r, BODY_MOST);
        assert_int_equal(http_take(&r, with, sizeof with - 1, &used), 0);
        assert_true(r.continues && r.keep_alive);
        http_done(&r);
        http_begin(&r, BODY_MOST);
        assert_int_equal(http_take(&r, without, sizeof without - 1, &used), 1);
        assert_false(r.continues);
        http_done(&r);
}

static void test_a_status_has_its_words(void **state)
{
        (void)state;
        assert_string_equal(http_reason(200), "OK");
        assert_string_equal(http_reason(431), "Request Header Fields Too Large");
        assert_string_equal(http_reason(599), "Error");
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_is_whole_is_understood),
                cmocka_unit_test(test_what_is_not_whole_waits),
                cmocka_unit_test(test_two_lengths_are_refused),
                cmocka_unit_test(test_lines_that_are_read_in_two_ways_are_refused),
                cmocka_unit_test(test_chunks_that_are_read_in_two_ways_are_refused),
                cmocka_unit_test(test_what_is_no_request_is_refused),
                cmocka_unit_test(test_a_relay_takes_more_kinds),
                cmocka_unit_test(test_a_relay_goes_from_request_to_request),
                cmocka_unit_test(test_a_relay_refuses_before_it_is_too_late),
                cmocka_unit_test(test_a_nul_is_refused_wherever_it_is),
                cmocka_unit_test(test_every_size_has_a_bound),
                cmocka_unit_test(test_the_parts_of_a_head),
                cmocka_unit_test(test_who_goes_on_over_the_same_connection),
                cmocka_unit_test(test_a_client_that_waits_is_told_to_go_on),
                cmocka_unit_test(test_a_status_has_its_words),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
