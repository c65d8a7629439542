/* Reading HTTP requests: what is understood, what is refused and how, whatever the pieces in which it comes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/text.h"
#include "mcp/http_request.h"

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

/* Gives the input in pieces of this size, and returns what was left, which is the caller's to look at at once. */
static int feed(struct http_request *r, const char *input, size_t length, size_t piece, size_t *ret_used)
{
        int status = 0;
        *ret_used = 0;
        while (status == 0 && *ret_used < length) {
                size_t n = length - *ret_used < piece ? length - *ret_used : piece, used = 0;
                /* in memory of its own, so that a read beyond it is seen */
                char *copy = malloc(n);
                memcpy(copy, input + *ret_used, n);
                status = http_take(r, copy, n, &used);
                free(copy);
                assert_true(used <= n);
                assert_true(status != 0 || used == n);
                *ret_used += used;
        }
        return status;
}

static void check(const struct row *row)
{
        const size_t length = strlen(row->input);
        for (size_t piece = 1; piece <= length; piece++) {
                struct http_request r;
                size_t used;
                http_begin(&r, BODY_MOST);
                int status = feed(&r, row->input, length, piece, &used);
                if (status != row->status)
                        fail_msg("%d instead of %d, in pieces of %zu:\n%s", status, row->status, piece, row->input);
                if (status == 1) {
                        assert_string_equal(r.body.data ? r.body.data : "", row->body ? row->body : "");
                        assert_string_equal(row->input + used, row->behind ? row->behind : "");
                }
                http_done(&r);
        }
}

static void check_all(const struct row *rows, size_t count)
{
        for (size_t i = 0; i < count; i++)
                check(&rows[i]);
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
                { HEAD "Content-Length: \t 5 \t \r\n\r\nhello", 1, "hello", NULL },
                { HEAD "Content-Length: 0005\r\n\r\nhelloGET", 1, "hello", "GET" },
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

/* What two readers could understand differently is refused. */
static void test_what_is_ambiguous_is_refused(void **state)
{
        (void)state;
        static const struct row rows[] = {
                { HEAD "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", -400, NULL, NULL },
                { HEAD "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", -400, NULL, NULL },
                { HEAD "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
                { HEAD "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", -400, NULL, NULL },
                { HEAD "Transfer-Encoding: gzip\r\n\r\n", -501, NULL, NULL },
                { HEAD "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", -501, NULL, NULL },
                { HEAD "Content-Length: 5, 5\r\n\r\nhello", -400, NULL, NULL },
                { HEAD "Content-Length: +5\r\n\r\nhello", -400, NULL, NULL },
                { HEAD "Content-Length: -1\r\n\r\n", -400, NULL, NULL },
                { HEAD "Content-Length: 0x5\r\n\r\nhello", -400, NULL, NULL },
                { HEAD "Content-Length: 5 5\r\n\r\nhello", -400, NULL, NULL },
                { HEAD "Content-Length:\r\n\r\n", -400, NULL, NULL },
                { HEAD "Content-Length: 18446744073709551617\r\n\r\nx", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\nHost: here\n\n", -400, NULL, NULL },                 /* bare line feeds */
                { "POST /mcp HTTP/1.1\r\nHost: here\n\r\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\nHost: he\rre\r\n\r\n", -400, NULL, NULL },         /* a bare carriage return */
                { "\nPOST /mcp HTTP/1.1\r\nHost: here\r\n\r\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\nHost: here\r\n folded\r\n\r\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\n Host: here\r\n\r\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\nHost : here\r\n\r\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\nHost\r\n\r\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\nHost: here\r\n: x\r\n\r\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\nHost: here\r\nNam\xe9: x\r\n\r\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\nHost: here\r\nName: \x01\r\n\r\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\nHost: here\r\nName: \x7f\r\n\r\n", -400, NULL, NULL },
                { "POST /mcp HTTP/1.1\r\n\r\n", -400, NULL, NULL },                         /* no Host, or two */
                { "POST /mcp HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "5\r\nhelloX\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "5\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "5 \r\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "0x5\r\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "-5\r\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "\r\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
                { CHUNKED "000000005\r\nhello\r\n0\r\n\r\n", -400, NULL, NULL },
        };
        check_all(rows, ARRAY_SIZE(rows));
}

static void test_what_is_no_request_is_refused(void **state)
{
        (void)state;
        static const struct row rows[] = {
                { "GET /mcp\r\n\r\n", -400, NULL, NULL },                                   /* HTTP/0.9 */
                { "GET /mcp HTTP/1.0\r\nHost: here\r\n\r\n", -505, NULL, NULL },
                { "GET /mcp HTTP/2.0\r\nHost: here\r\n\r\n", -505, NULL, NULL },
                { "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", -400, NULL, NULL },
                { "GET /mcp http/1.1\r\nHost: here\r\n\r\n", -400, NULL, NULL },
                { "GET  /mcp HTTP/1.1\r\nHost: here\r\n\r\n", -400, NULL, NULL },
                { "GET /mcp HTTP/1.1 \r\nHost: here\r\n\r\n", -400, NULL, NULL },
                { "GET /m cp HTTP/1.1\r\nHost: here\r\n\r\n", -400, NULL, NULL },
                { "GET /m\tcp HTTP/1.1\r\nHost: here\r\n\r\n", -400, NULL, NULL },
                { "GET http://here/mcp HTTP/1.1\r\nHost: here\r\n\r\n", -400, NULL, NULL },
                { "G(T /mcp HTTP/1.1\r\nHost: here\r\n\r\n", -400, NULL, NULL },
                { " /mcp HTTP/1.1\r\nHost: here\r\n\r\n", -400, NULL, NULL },
                { "\x16\x03\x01\r\n\r\n", -400, NULL, NULL },
                { HEAD "Expect: something\r\n\r\n", -417, NULL, NULL },
        };
        check_all(rows, ARRAY_SIZE(rows));
}

static void test_a_nul_is_refused_wherever_it_is(void **state)
{
        (void)state;
        static const char head[] = HEAD "Name: value\r\n\r\n", chunks[] = CHUNKED "1;ext\r\nx\r\n0\r\nTrailer: x\r\n\r\n";
        for (size_t at = 0; at < sizeof head - 1; at++) {
                struct http_request r;
                size_t used;
                char copy[sizeof head];
                memcpy(copy, head, sizeof head);
                copy[at] = '\0';
                http_begin(&r, BODY_MOST);
                assert_int_not_equal(feed(&r, copy, sizeof head - 1, sizeof head, &used), 1);
                http_done(&r);
        }
        for (size_t at = sizeof CHUNKED - 1; at < sizeof chunks - 1; at++) {
                struct http_request r;
                size_t used;
                char copy[sizeof chunks];
                memcpy(copy, chunks, sizeof chunks);
                copy[at] = '\0';
                http_begin(&r, BODY_MOST);
                int status = feed(&r, copy, sizeof chunks - 1, 1, &used);
                assert_int_equal(status == 1, chunks[at] == 'x' && chunks[at - 1] == '\n'); /* in the body it is data */
                http_done(&r);
        }
}

static void test_every_size_has_a_bound(void **state)
{
        (void)state;
        CLEANUP_TEXT struct text many = { 0 }, most = { 0 }, line = { 0 }, extension = { 0 }, trailers = { 0 }, chunks = { 0 };
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
                { most.data, 1 }, { many.data, -431 }, { line.data, -431 }, { extension.data, -400 }, { trailers.data, -400 },
                { chunks.data, 1 },
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
                        assert_int_equal(feed(&r, rows[i].input, strlen(rows[i].input), pieces[k], &used), rows[i].status);
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
        assert_false(r.keep_alive);
        assert_false(r.continues);
        http_done(&r);
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
                cmocka_unit_test(test_what_is_ambiguous_is_refused),
                cmocka_unit_test(test_what_is_no_request_is_refused),
                cmocka_unit_test(test_a_nul_is_refused_wherever_it_is),
                cmocka_unit_test(test_every_size_has_a_bound),
                cmocka_unit_test(test_the_parts_of_a_head),
                cmocka_unit_test(test_a_client_that_waits_is_told_to_go_on),
                cmocka_unit_test(test_a_status_has_its_words),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
