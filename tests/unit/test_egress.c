/* Egress without its sockets: addresses that represent names, reports of refusals, inspection of connections. */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "egress/event_reporter.h"
#include "egress/inspection.h"
#include "egress/fake_ip.h"

/* --- names --- */

static void test_name_has_one_address_of_each_family(void **state)
{
        (void)state;
        struct fake_ip_table n = { 0 };
        uint8_t v4[4], v6[16];
        char text[INET6_ADDRSTRLEN];
        assert_int_equal(fake_ip_get_number(&n, "example.com"), 0);
        assert_int_equal(fake_ip_get_number(&n, "example.org"), 1);
        assert_int_equal(fake_ip_get_number(&n, "example.com"), 0);
        fake_ip_v4(1, v4);
        fake_ip_v6(1, v6);
        assert_string_equal(inet_ntop(AF_INET, v4, text, sizeof text), "198.18.0.3");
        assert_string_equal(fake_ip_find(&n, v4, sizeof v4), "example.org");
        assert_string_equal(inet_ntop(AF_INET6, v6, text, sizeof text), "fd72:696e:6777:616c::3");
        assert_string_equal(fake_ip_find(&n, v6, sizeof v6), "example.org");
        fake_ip_done(&n);
}

static void test_other_addresses_represent_no_name(void **state)
{
        (void)state;
        static const char *const rows[] = {
                "198.18.0.0",
                "198.18.0.1",
                "198.18.0.3",
                "198.19.255.255",
                "198.17.255.255",
                "0.0.0.0",
                "255.255.255.255",
                "127.0.0.1",
                "fd72:696e:6777:616c::",
                "fd72:696e:6777:616c::1",
                "fd72:696e:6777:616c::3",
                "fd72:696e:6777:616c:1::2",
                "fd72:696e:6777:616d::2",
                "fd72:696e:6777:616c::1:0:2",
                "::2",
                "::ffff:198.18.0.2",
        };
        struct fake_ip_table n = { 0 };
        assert_int_equal(fake_ip_get_number(&n, "example.com"), 0);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                uint8_t bytes[16];
                bool v6 = strchr(rows[i], ':');
                assert_int_equal(inet_pton(v6 ? AF_INET6 : AF_INET, rows[i], bytes), 1);
                if (fake_ip_find(&n, bytes, v6 ? 16 : 4))
                        fail_msg("%s represents a name", rows[i]);
        }
        fake_ip_done(&n);
}

static void test_many_names_keep_their_addresses_and_too_many_are_refused(void **state)
{
        (void)state;
        struct fake_ip_table n = { 0 };
        char name[32];
        for (int i = 0; i < FAKE_IP_MAX; i++) {
                (void)snprintf(name, sizeof name, "n%d.example.com", i);
                assert_int_equal(fake_ip_get_number(&n, name), i);
        }
        assert_int_equal(fake_ip_get_number(&n, "one.more.example.com"), -ENOSPC);
        for (size_t i = 0; i < FAKE_IP_MAX; i++) {
                uint8_t v4[4];
                (void)snprintf(name, sizeof name, "n%zu.example.com", i);
                fake_ip_v4(i, v4);
                assert_string_equal(fake_ip_find(&n, v4, sizeof v4), name);
                assert_int_equal(fake_ip_get_number(&n, name), (int)i);
        }
        fake_ip_done(&n);
}

/* --- reporting to the front --- */

struct front {
        struct event_reporter reporter;
        int fd;
};

static void open_front(struct front *f)
{
        int ends[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
        *f = (struct front){ .reporter.front = ends[0], .fd = ends[1] };
}

static bool receive(struct front *f, struct egress_event *ret)
{
        return recv(f->fd, ret, sizeof *ret, MSG_DONTWAIT) == sizeof *ret;
}

static void close_front(struct front *f)
{
        event_reporter_end(&f->reporter);
        (void)close(f->reporter.front);
        (void)close(f->fd);
}

static void test_same_refusal_is_reported_at_powers_of_two(void **state)
{
        (void)state;
        struct front f;
        struct egress_event event = { .reason = REASON_HOST_NOT_ALLOWED, .rule = -1, .host = "example.com" }, received;
        unsigned reported = 0, counted = 0;
        open_front(&f);
        for (int i = 0; i < 1000; i++) {
                report_refusal(&f.reporter, &event);
                while (receive(&f, &received)) {
                        reported++;
                        counted += received.count;
                }
        }
        assert_int_equal(reported, 10);      /* the 1st, 2nd, 4th … 512th */
        assert_int_equal(counted, 512);
        event_reporter_end(&f.reporter);
        assert_true(receive(&f, &received));
        assert_int_equal(received.count, 488);
        assert_string_equal(received.host, "example.com");
        assert_false(receive(&f, &received));
        close_front(&f);
}

static void test_different_refusals_are_reported_up_to_a_limit(void **state)
{
        (void)state;
        struct front f;
        struct egress_event received;
        unsigned reported = 0;
        open_front(&f);
        for (int i = 0; i < REFUSALS_REPORTED_MAX + 5; i++) {
                struct egress_event event = { .reason = REASON_HOST_NOT_ALLOWED, .rule = -1 };
                (void)snprintf(event.host, sizeof event.host, "n%d.example.com", i);
                report_refusal(&f.reporter, &event);
                while (receive(&f, &received))
                        reported++;
        }
        assert_int_equal(reported, REFUSALS_REPORTED_MAX);
        event_reporter_end(&f.reporter);
        assert_true(receive(&f, &received));
        assert_int_equal(received.count, 5);
        assert_string_equal(received.host, "other hosts");
        close_front(&f);
}

/* --- inspection --- */

/* Writes a ClientHello, with a server name unless `name` is NULL. Returns its length. */
static size_t write_hello(const char *name, uint8_t *ret)
{
        /* version, random, no session, one cipher */
        static const uint8_t start[] = { 3, 3, [34] = 0, 0, 2, 0x13, 0x01, 1, 0 };
        size_t length = name ? strlen(name) : 0, extensions = name ? length + 9 : 0,
               body = sizeof start + 2 + extensions;
        uint8_t *p = ret;
        *p++ = 0x16, *p++ = 3, *p++ = 1, *p++ = (uint8_t)((body + 4) >> 8), *p++ = (uint8_t)(body + 4);
        *p++ = 1, *p++ = 0, *p++ = (uint8_t)(body >> 8), *p++ = (uint8_t)body;
        memcpy(p, start, sizeof start);
        p += sizeof start;
        *p++ = (uint8_t)(extensions >> 8), *p++ = (uint8_t)extensions;
        if (name) {
                const uint8_t head[] = {
                        0, 0, 0, (uint8_t)(length + 5), 0, (uint8_t)(length + 3), 0, 0, (uint8_t)length
                };
                memcpy(p, head, sizeof head);
                memcpy(p + sizeof head, name, length);
                p += sizeof head + length;
        }
        return (size_t)(p - ret);
}

/* Inspects the bytes as the first data of a connection to example.com. */
static enum inspection_result inspect(uint16_t port, const void *bytes, size_t length, struct inspection_verdict *ret)
{
        struct inspection i;
        inspection_init(&i, "example.com", port, false);
        enum inspection_result result = inspection_inspect(&i, bytes, length, false, ret);
        inspection_done(&i);
        text_done(&ret->replacement);
        return result;
}

static void test_tls_must_name_the_host(void **state)
{
        (void)state;
        static const struct {
                const char *name;
                uint16_t port;
                enum inspection_result result;
                enum deny_reason reason;
        } rows[] = {
                { "example.com", 443, INSPECTION_PASS_REST, REASON_NONE },
                { "EXAMPLE.com", 443, INSPECTION_PASS_REST, REASON_NONE },
                { "example.com", 8443, INSPECTION_PASS_REST, REASON_NONE },
                { "www.example.com", 443, INSPECTION_DENY, REASON_SNI_MISMATCH },
                { "example.com.evil.org", 443, INSPECTION_DENY, REASON_SNI_MISMATCH },
                { "evil.org", 8443, INSPECTION_DENY, REASON_SNI_MISMATCH },
                { NULL, 443, INSPECTION_DENY, REASON_NO_SNI },
                { "93.184.216.34", 443, INSPECTION_DENY, REASON_MALFORMED_TLS },
                { "example.com", 80, INSPECTION_DENY, REASON_NOT_HTTP },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                uint8_t bytes[512];
                struct inspection_verdict verdict;
                size_t length = write_hello(rows[i].name, bytes);
                enum inspection_result result = inspect(rows[i].port, bytes, length, &verdict);
                if (result != rows[i].result || verdict.reason != rows[i].reason)
                        fail_msg("%s, port %u: result %d, reason %d", rows[i].name, rows[i].port, result,
                                 verdict.reason);
                for (size_t prefix = 1; prefix < length && rows[i].result == INSPECTION_PASS_REST; prefix++)
                        assert_int_equal(inspect(rows[i].port, bytes, prefix, &verdict), INSPECTION_NEED_MORE);
        }
}

static void test_http_must_name_the_host_and_other_protocols_need_another_port(void **state)
{
        (void)state;
        static const struct {
                const char *bytes;
                uint16_t port;
                enum inspection_result result;
                enum deny_reason reason;
        } rows[] = {
                { "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", 80, INSPECTION_REPLACE, REASON_NONE },
                { "GET / HTTP/1.1\r\nHost: Example.COM:80\r\n\r\n", 80, INSPECTION_REPLACE, REASON_NONE },
                { "GET / HTTP/1.1\r\nHost: example.com:8080\r\n\r\n", 8080, INSPECTION_REPLACE, REASON_NONE },
                { "GET / HTTP/1.1\r\nHost: example.com:8080\r\n\r\n", 80, INSPECTION_DENY, REASON_HOST_MISMATCH },
                { "GET / HTTP/1.1\r\nHost: evil.org\r\n\r\n", 80, INSPECTION_DENY, REASON_HOST_MISMATCH },
                { "GET / HTTP/1.1\r\nHost: evil.org\r\n\r\n", 8080, INSPECTION_DENY, REASON_HOST_MISMATCH },
                { "GET http://evil.org/ HTTP/1.1\r\nHost: evil.org\r\n\r\n", 80, INSPECTION_DENY,
                  REASON_HOST_MISMATCH },
                { "GET http://evil.org/ HTTP/1.1\r\nHost: example.com\r\n\r\n", 80, INSPECTION_DENY,
                  REASON_MALFORMED_HTTP },
                { "CONNECT evil.org:443 HTTP/1.1\r\nHost: evil.org:443\r\n\r\n", 80, INSPECTION_DENY,
                  REASON_MALFORMED_HTTP },
                { "GET / HTTP/1.1\r\nHost: example.com\r\nHost: evil.org\r\n\r\n", 80, INSPECTION_DENY,
                  REASON_MALFORMED_HTTP },
                { "GET / HTTP/1.0\r\n\r\n", 80, INSPECTION_DENY, REASON_MALFORMED_HTTP },
                { "GET / HTTP/1.1\r\nHost : example.com\r\n\r\n", 80, INSPECTION_DENY, REASON_MALFORMED_HTTP },
                { "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 80, INSPECTION_DENY, REASON_NOT_HTTP },
                { "\r\nGET / HTTP/1.1\r\nHost: example.com\r\n\r\n", 80, INSPECTION_REPLACE, REASON_NONE },
                { "\r\nGET / HTTP/1.1\r\nHost: evil.org\r\n\r\n", 8080, INSPECTION_DENY, REASON_HOST_MISMATCH },
                { "get\t/ http/1.1\r\nHost: evil.org\r\n\r\n", 8080, INSPECTION_DENY, REASON_MALFORMED_HTTP },
                { "SSH-2.0-OpenSSH_9.2\r\n", 80, INSPECTION_DENY, REASON_NOT_HTTP },
                { "SSH-2.0-OpenSSH_9.2\r\n", 443, INSPECTION_DENY, REASON_NOT_TLS },
                { "SSH-2.0-OpenSSH_9.2\r\n", 22, INSPECTION_PASS_REST, REASON_NONE },
                { "GET /\x01 HTTP/1.1\r\nHost: evil.org\r\n\r\n", 8080, INSPECTION_DENY, REASON_MALFORMED_HTTP },
                { " \r\n \x1cGET / HTTP/1.1\r\nHost: evil.org\r\n\r\n", 8080, INSPECTION_DENY, REASON_MALFORMED_HTTP },
                { "{\"word\": 1}", 9000, INSPECTION_PASS_REST, REASON_NONE },
                { "PING\r\n", 6379, INSPECTION_PASS_REST, REASON_NONE },
                { "\x01\x02", 5432, INSPECTION_PASS_REST, REASON_NONE },
                { "USER me", 21, INSPECTION_PASS, REASON_NONE },
                /* The end of this head would be refused. */
                { "GET / HTTP/1.1\r\nHost: evil.org\r\n", 8080, INSPECTION_PASS, REASON_NONE },
                { "GET / HTTP/1.1\nHost: evil.org\n\n", 8080, INSPECTION_DENY, REASON_MALFORMED_HTTP },
                { "GET / HTTP/1.1\r\nHost: evil.org\n", 8080, INSPECTION_DENY, REASON_MALFORMED_HTTP },
                { "GET / HTTP/1.1\r\nHost: exam", 80, INSPECTION_NEED_MORE, REASON_NONE },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct inspection_verdict verdict;
                enum inspection_result result = inspect(rows[i].port, rows[i].bytes, strlen(rows[i].bytes), &verdict);
                if (result != rows[i].result || verdict.reason != rows[i].reason)
                        fail_msg("%s, port %u: result %d, reason %d", rows[i].bytes, rows[i].port, result,
                                 verdict.reason);
        }
}

/* Inspects everything that a program sends, in pieces. *ret gets the bytes that passed. */
static enum deny_reason relay_all(uint16_t port, const char *bytes, size_t piece, struct text *ret)
{
        struct inspection i;
        struct inspection_verdict verdict = { 0 };
        size_t at = 0, shown = 0, length = strlen(bytes);
        inspection_init(&i, "example.com", port, false);
        while (at < length) {
                if (shown <= at)
                        shown = at + piece < length ? at + piece : length;
                enum inspection_result result =
                        inspection_inspect(&i, (const uint8_t *)bytes + at, shown - at, false, &verdict);
                if (result == INSPECTION_DENY)
                        break;
                if (result == INSPECTION_NEED_MORE) {
                        if (shown == length)
                                break;
                        shown += piece < length - shown ? piece : length - shown;
                        continue;
                }
                if (result == INSPECTION_PASS_REST)
                        verdict.bytes = length - at;
                text_add_bytes(ret, result == INSPECTION_REPLACE ? verdict.replacement.data : bytes + at,
                               result == INSPECTION_REPLACE ? verdict.replacement.length : verdict.bytes);
                text_done(&verdict.replacement);
                at += verdict.bytes;
        }
        inspection_done(&i);
        text_done(&verdict.replacement);
        return verdict.reason;
}

#define GET "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n"
#define OTHER "GET / HTTP/1.1\r\nHost: evil.org\r\n\r\n"
#define POST "POST / HTTP/1.1\r\nHost: example.com\r\n"

static void test_every_request_of_a_connection_is_inspected(void **state)
{
        (void)state;
        static const struct {
                const char *good, *bad;
        } rows[] = {
                { GET GET GET, "" },
                { GET, OTHER },
                { POST "Content-Length: 5\r\n\r\n12345" GET, OTHER },
                { POST "Content-Length: 38\r\n\r\n" OTHER "12345" GET, OTHER }, /* not a request: a body */
                { POST "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" GET, OTHER },
                { POST "Transfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n\r\n", OTHER },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                static const size_t pieces[] = { 1, 2, 7, 4096 };
                for (size_t j = 0; j < ARRAY_SIZE(pieces); j++) {
                        CLEANUP_TEXT struct text all = { 0 }, out = { 0 };
                        text_add(&all, rows[i].good);
                        text_add(&all, rows[i].bad);
                        enum deny_reason reason = relay_all(80, all.data, pieces[j], &out);
                        assert_int_equal(reason, *rows[i].bad ? REASON_HOST_MISMATCH : REASON_NONE);
                        assert_string_equal(out.data, rows[i].good);
                }
        }
}

static void test_on_other_ports_a_request_for_another_host_never_passes_completely(void **state)
{
        (void)state;
        static const struct {
                const char *bytes;
                enum deny_reason reason;
        } rows[] = {
                { "GET / HTTP/1.1\r\nHost: example.com:8080\r\n\r\n", REASON_NONE },
                { "GET / HTTP/1.1\r\nHost: evil.org:8080\r\n\r\n", REASON_HOST_MISMATCH },
                { "\r\n\r\nGET / HTTP/1.1\r\nHost: evil.org:8080\r\n\r\n", REASON_HOST_MISMATCH },
                { "GET / HTTP/1.1\nHost: evil.org:8080\n\n", REASON_MALFORMED_HTTP },
                { "get / http/1.1\r\nHost: evil.org:8080\r\n\r\n", REASON_MALFORMED_HTTP },
                { "GET / HTTP/1.1\r\nHost: example.com:8080\r\n\r\nGET / HTTP/1.1\r\nHost: evil.org:8080\r\n\r\n",
                  REASON_HOST_MISMATCH },
                { "hello\r\nGET / HTTP/1.1\r\nHost: evil.org:8080\r\n\r\n", REASON_NONE }, /* not a request */
        };
        static const size_t pieces[] = { 1, 2, 7, 4096 };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                for (size_t j = 0; j < ARRAY_SIZE(pieces); j++) {
                        CLEANUP_TEXT struct text out = { 0 };
                        enum deny_reason reason = relay_all(8080, rows[i].bytes, pieces[j], &out);
                        if (reason != rows[i].reason)
                                fail_msg("%s in pieces of %zu: reason %d", rows[i].bytes, pieces[j], reason);
                        if (reason != REASON_NONE && out.length >= strlen(rows[i].bytes))
                                fail_msg("%s has passed", rows[i].bytes);
                        if (reason == REASON_NONE)
                                assert_string_equal(out.data, rows[i].bytes);
                }
        }
}

static void test_after_an_upgrade_the_servers_answer_decides_the_protocol(void **state)
{
        (void)state;
        static const char request[] = "GET /chat HTTP/1.1\r\nHost: example.com\r\nConnection: Upgrade\r\nUpgrade: "
                                      "websocket\r\n\r\n";
        static const struct {
                const char *answer;
                enum inspection_result next;
        } rows[] = {
                { "HTTP/1.1 101 Switching Protocols\r\n", INSPECTION_PASS_REST },
                { "HTTP/1.1 200 OK\r\n", INSPECTION_DENY },
                { "what is this\r\n", INSPECTION_DENY },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct inspection x;
                struct inspection_verdict verdict;
                inspection_init(&x, "example.com", 80, false);
                assert_int_equal(inspection_inspect(&x, (const uint8_t *)request, strlen(request), false, &verdict),
                                 INSPECTION_REPLACE);
                text_done(&verdict.replacement);
                assert_int_equal(inspection_inspect(&x, (const uint8_t *)OTHER, strlen(OTHER), false, &verdict),
                                 INSPECTION_NEED_RESPONSE);
                assert_false(inspection_feed_response(&x, (const uint8_t *)"HTTP/1.1 1", 10));
                assert_true(inspection_feed_response(&x, (const uint8_t *)rows[i].answer, strlen(rows[i].answer)));
                assert_int_equal(inspection_inspect(&x, (const uint8_t *)OTHER, strlen(OTHER), false, &verdict),
                                 rows[i].next);
                text_done(&verdict.replacement);
                inspection_done(&x);
        }
}

/* Writes a ClientHello of TLS 1.3, whose version is in an extension after the name. */
static size_t write_tls13_hello(const char *name, uint8_t *ret)
{
        static const uint8_t versions[] = { 0, 43, 0, 3, 2, 3, 4 };
        const size_t lengths[] = { 3, 7, 5 + 4 + 41 };  /* offsets of the lengths to change */
        size_t length = write_hello(name, ret);
        memcpy(ret + length, versions, sizeof versions);
        for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
                size_t value = ((size_t)ret[lengths[i]] << 8 | ret[lengths[i] + 1]) + sizeof versions;
                ret[lengths[i]] = (uint8_t)(value >> 8), ret[lengths[i] + 1] = (uint8_t)value;
        }
        return length + sizeof versions;
}

static void test_second_client_hello_is_inspected_if_the_server_requests_it(void **state)
{
        (void)state;
        static const uint8_t retry_request[] = {
                0x16, 3,    3,    0,    56,   2,    0,    0,    52,   3,    3,    0xcf, 0x21, 0xad, 0x74,
                0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11,
                0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
        };
        static const uint8_t server_hello[sizeof retry_request] = { 0x16, 3, 3, 0, 56, 2, 0, 0, 52, 3, 3, 1 },
                                          alert[] = { 0x15, 3, 3, 0, 2, 2, 49 };
        static const uint8_t truncated[] = { 0x16, 3, 3, 0, 6, 2, 0, 0, 52, 3, 3 };
        static const uint8_t early_data[] = { 0x17, 3, 3, 1, 0, 1, 2, 3 };
        static const struct {
                const uint8_t *answer;
                size_t length;
                const char *second;
                enum inspection_result result;
                enum deny_reason reason;
        } rows[] = {
                { retry_request, sizeof retry_request, "example.com", INSPECTION_PASS_REST, REASON_NONE },
                { retry_request, sizeof retry_request, "evil.org", INSPECTION_DENY, REASON_SNI_MISMATCH },
                { retry_request, sizeof retry_request, NULL, INSPECTION_DENY, REASON_NO_SNI },
                /* The server would ignore a second hello. */
                { server_hello, sizeof server_hello, "evil.org", INSPECTION_PASS_REST, REASON_NONE },
                { alert, sizeof alert, "evil.org", INSPECTION_DENY, REASON_SNI_MISMATCH }, /* more may follow */
                { alert, sizeof alert, "example.com", INSPECTION_PASS_REST, REASON_NONE },
                { truncated, sizeof truncated, "evil.org", INSPECTION_DENY, REASON_SNI_MISMATCH },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                uint8_t bytes[512];
                struct inspection x;
                struct inspection_verdict verdict;
                inspection_init(&x, "example.com", 443, false);
                size_t length = write_tls13_hello("example.com", bytes);
                assert_int_equal(inspection_inspect(&x, bytes, length, false, &verdict), INSPECTION_PASS);
                assert_int_equal(verdict.bytes, length);
                assert_true(inspection_wants_response(&x));
                for (size_t n = 1; n < rows[i].length && rows[i].length == sizeof retry_request; n++)
                        assert_false(inspection_feed_response(&x, rows[i].answer, n));
                assert_true(inspection_feed_response(&x, rows[i].answer, rows[i].length));
                assert_false(inspection_wants_response(&x));
                if (rows[i].answer == retry_request) {
                        assert_int_equal(inspection_inspect(&x, early_data, 5, false, &verdict), INSPECTION_NEED_MORE);
                        assert_int_equal(inspection_inspect(&x, early_data, sizeof early_data, false, &verdict),
                                         INSPECTION_PASS);
                        assert_int_equal(verdict.bytes, 5 + 256);
                }
                length = write_tls13_hello(rows[i].second ? rows[i].second : "example.com", bytes);
                if (!rows[i].second)
                        length = write_hello(NULL, bytes);
                assert_int_equal(inspection_inspect(&x, bytes, length, false, &verdict), rows[i].result);
                assert_int_equal(verdict.reason, rows[i].reason);
                inspection_done(&x);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_name_has_one_address_of_each_family),
                cmocka_unit_test(test_other_addresses_represent_no_name),
                cmocka_unit_test(test_many_names_keep_their_addresses_and_too_many_are_refused),
                cmocka_unit_test(test_same_refusal_is_reported_at_powers_of_two),
                cmocka_unit_test(test_different_refusals_are_reported_up_to_a_limit),
                cmocka_unit_test(test_tls_must_name_the_host),
                cmocka_unit_test(test_second_client_hello_is_inspected_if_the_server_requests_it),
                cmocka_unit_test(test_http_must_name_the_host_and_other_protocols_need_another_port),
                cmocka_unit_test(test_every_request_of_a_connection_is_inspected),
                cmocka_unit_test(test_on_other_ports_a_request_for_another_host_never_passes_completely),
                cmocka_unit_test(test_after_an_upgrade_the_servers_answer_decides_the_protocol),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
