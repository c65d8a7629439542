/* Egress without its sockets: addresses that stand for names, what is told of refusals, what is said over a connection. */
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
#include "egress/inspection.h"
#include "egress/names.h"
#include "egress/telling.h"

/* --- names --- */

static void test_a_name_has_one_address_of_each_family(void **state)
{
        (void)state;
        struct names n = { 0 };
        uint8_t v4[4], v6[16];
        char text[INET6_ADDRSTRLEN];
        assert_int_equal(names_number(&n, "example.com"), 0);
        assert_int_equal(names_number(&n, "example.org"), 1);
        assert_int_equal(names_number(&n, "example.com"), 0);
        names_v4(1, v4);
        names_v6(1, v6);
        assert_string_equal(inet_ntop(AF_INET, v4, text, sizeof text), "198.18.0.3");
        assert_string_equal(names_find(&n, v4, sizeof v4), "example.org");
        assert_string_equal(inet_ntop(AF_INET6, v6, text, sizeof text), "fd72:696e:6777:616c::3");
        assert_string_equal(names_find(&n, v6, sizeof v6), "example.org");
        names_done(&n);
}

static void test_other_addresses_stand_for_nothing(void **state)
{
        (void)state;
        static const char *const rows[] = {
                "198.18.0.0", "198.18.0.1", "198.18.0.3", "198.19.255.255", "198.17.255.255", "0.0.0.0", "255.255.255.255", "127.0.0.1",
                "fd72:696e:6777:616c::", "fd72:696e:6777:616c::1", "fd72:696e:6777:616c::3", "fd72:696e:6777:616c:1::2",
                "fd72:696e:6777:616d::2", "fd72:696e:6777:616c::1:0:2", "::2", "::ffff:198.18.0.2",
        };
        struct names n = { 0 };
        assert_int_equal(names_number(&n, "example.com"), 0);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                uint8_t bytes[16];
                bool v6 = strchr(rows[i], ':');
                assert_int_equal(inet_pton(v6 ? AF_INET6 : AF_INET, rows[i], bytes), 1);
                if (names_find(&n, bytes, v6 ? 16 : 4))
                        fail_msg("%s stands for something", rows[i]);
        }
        names_done(&n);
}

static void test_many_names_keep_their_addresses_and_too_many_are_refused(void **state)
{
        (void)state;
        struct names n = { 0 };
        char name[32];
        for (int i = 0; i < NAMES_MOST; i++) {
                (void)snprintf(name, sizeof name, "n%d.example.com", i);
                assert_int_equal(names_number(&n, name), i);
        }
        assert_int_equal(names_number(&n, "one.more.example.com"), -ENOSPC);
        for (size_t i = 0; i < NAMES_MOST; i++) {
                uint8_t v4[4];
                (void)snprintf(name, sizeof name, "n%zu.example.com", i);
                names_v4(i, v4);
                assert_string_equal(names_find(&n, v4, sizeof v4), name);
                assert_int_equal(names_number(&n, name), (int)i);
        }
        names_done(&n);
}

/* --- telling --- */

struct front {
        struct telling telling;
        int fd;
};

static void open_front(struct front *f)
{
        int ends[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
        *f = (struct front){ .telling.front = ends[0], .fd = ends[1] };
}

static bool hear(struct front *f, struct egress_event *ret)
{
        return recv(f->fd, ret, sizeof *ret, MSG_DONTWAIT) == sizeof *ret;
}

static void close_front(struct front *f)
{
        telling_end(&f->telling);
        (void)close(f->telling.front);
        (void)close(f->fd);
}

static void test_the_same_refusal_is_told_ever_more_rarely(void **state)
{
        (void)state;
        struct front f;
        struct egress_event event = { .reason = REASON_NAME, .rule = -1, .host = "example.com" }, heard;
        unsigned told = 0, counted = 0;
        open_front(&f);
        for (int i = 0; i < 1000; i++) {
                tell_refusal(&f.telling, &event);
                while (hear(&f, &heard)) {
                        told++;
                        counted += heard.count;
                }
        }
        assert_int_equal(told, 10);      /* 1, 2, 4 … 512 */
        assert_int_equal(counted, 512);
        telling_end(&f.telling);
        assert_true(hear(&f, &heard));
        assert_int_equal(heard.count, 488);
        assert_string_equal(heard.host, "example.com");
        assert_false(hear(&f, &heard));
        close_front(&f);
}

static void test_different_refusals_are_told_each_up_to_a_number(void **state)
{
        (void)state;
        struct front f;
        struct egress_event heard;
        unsigned told = 0;
        open_front(&f);
        for (int i = 0; i < TELLING_MOST + 5; i++) {
                struct egress_event event = { .reason = REASON_NAME, .rule = -1 };
                (void)snprintf(event.host, sizeof event.host, "n%d.example.com", i);
                tell_refusal(&f.telling, &event);
                while (hear(&f, &heard))
                        told++;
        }
        assert_int_equal(told, TELLING_MOST);
        telling_end(&f.telling);
        assert_true(hear(&f, &heard));
        assert_int_equal(heard.count, 5);
        assert_string_equal(heard.host, "other hosts");
        close_front(&f);
}

/* --- inspection --- */

/* A ClientHello with a server name, or without when it is NULL. */
static size_t write_hello(const char *name, uint8_t *ret)
{
        static const uint8_t start[] = { 3, 3, [34] = 0, 0, 2, 0x13, 0x01, 1, 0 }; /* version, random, no session, one cipher */
        size_t length = name ? strlen(name) : 0, extensions = name ? length + 9 : 0, body = sizeof start + 2 + extensions;
        uint8_t *p = ret;
        *p++ = 0x16, *p++ = 3, *p++ = 1, *p++ = (uint8_t)((body + 4) >> 8), *p++ = (uint8_t)(body + 4);
        *p++ = 1, *p++ = 0, *p++ = (uint8_t)(body >> 8), *p++ = (uint8_t)body;
        memcpy(p, start, sizeof start);
        p += sizeof start;
        *p++ = (uint8_t)(extensions >> 8), *p++ = (uint8_t)extensions;
        if (name) {
                const uint8_t head[] = { 0, 0, 0, (uint8_t)(length + 5), 0, (uint8_t)(length + 3), 0, 0, (uint8_t)length };
                memcpy(p, head, sizeof head);
                memcpy(p + sizeof head, name, length);
                p += sizeof head + length;
        }
        return (size_t)(p - ret);
}

/* Shows it all at once, as what a program says first to example.com. */
static enum inspection_result look(uint16_t port, const void *bytes, size_t length, struct inspected *ret)
{
        struct inspection i;
        inspection_begin(&i, "example.com", port, false);
        enum inspection_result result = inspection_look(&i, bytes, length, false, ret);
        inspection_done(&i);
        text_done(&ret->instead);
        return result;
}

static void test_tls_must_name_the_host(void **state)
{
        (void)state;
        static const struct {
                const char *name;
                uint16_t port;
                enum inspection_result result;
                enum egress_reason reason;
        } rows[] = {
                { "example.com", 443, INSPECTION_ALL, REASON_NONE },
                { "EXAMPLE.com", 443, INSPECTION_ALL, REASON_NONE },
                { "example.com", 8443, INSPECTION_ALL, REASON_NONE },
                { "www.example.com", 443, INSPECTION_REFUSE, REASON_OTHER_SNI },
                { "example.com.evil.org", 443, INSPECTION_REFUSE, REASON_OTHER_SNI },
                { "evil.org", 8443, INSPECTION_REFUSE, REASON_OTHER_SNI },
                { NULL, 443, INSPECTION_REFUSE, REASON_NO_SNI },
                { "93.184.216.34", 443, INSPECTION_REFUSE, REASON_BAD_TLS },
                { "example.com", 80, INSPECTION_REFUSE, REASON_NO_HTTP },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                uint8_t bytes[512];
                struct inspected found;
                size_t length = write_hello(rows[i].name, bytes);
                enum inspection_result result = look(rows[i].port, bytes, length, &found);
                if (result != rows[i].result || found.reason != rows[i].reason)
                        fail_msg("%s at %u: %d for %d", rows[i].name, rows[i].port, result, found.reason);
                for (size_t cut = 1; cut < length && rows[i].result == INSPECTION_ALL; cut++)
                        assert_int_equal(look(rows[i].port, bytes, cut, &found), INSPECTION_MORE);
        }
}

static void test_http_must_name_the_host_and_other_things_need_a_port_of_their_own(void **state)
{
        (void)state;
        static const struct {
                const char *bytes;
                uint16_t port;
                enum inspection_result result;
                enum egress_reason reason;
        } rows[] = {
                { "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", 80, INSPECTION_TAKE, REASON_NONE },
                { "GET / HTTP/1.1\r\nHost: Example.COM:80\r\n\r\n", 80, INSPECTION_TAKE, REASON_NONE },
                { "GET / HTTP/1.1\r\nHost: example.com:8080\r\n\r\n", 8080, INSPECTION_TAKE, REASON_NONE },
                { "GET / HTTP/1.1\r\nHost: example.com:8080\r\n\r\n", 80, INSPECTION_REFUSE, REASON_OTHER_HOST },
                { "GET / HTTP/1.1\r\nHost: evil.org\r\n\r\n", 80, INSPECTION_REFUSE, REASON_OTHER_HOST },
                { "GET / HTTP/1.1\r\nHost: evil.org\r\n\r\n", 8080, INSPECTION_REFUSE, REASON_OTHER_HOST },
                { "GET http://evil.org/ HTTP/1.1\r\nHost: evil.org\r\n\r\n", 80, INSPECTION_REFUSE, REASON_OTHER_HOST },
                { "GET http://evil.org/ HTTP/1.1\r\nHost: example.com\r\n\r\n", 80, INSPECTION_REFUSE, REASON_BAD_HTTP },
                { "CONNECT evil.org:443 HTTP/1.1\r\nHost: evil.org:443\r\n\r\n", 80, INSPECTION_REFUSE, REASON_BAD_HTTP },
                { "GET / HTTP/1.1\r\nHost: example.com\r\nHost: evil.org\r\n\r\n", 80, INSPECTION_REFUSE, REASON_BAD_HTTP },
                { "GET / HTTP/1.0\r\n\r\n", 80, INSPECTION_REFUSE, REASON_BAD_HTTP },
                { "GET / HTTP/1.1\r\nHost : example.com\r\n\r\n", 80, INSPECTION_REFUSE, REASON_BAD_HTTP },
                { "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 80, INSPECTION_REFUSE, REASON_NO_HTTP },
                { "\r\nGET / HTTP/1.1\r\nHost: example.com\r\n\r\n", 80, INSPECTION_TAKE, REASON_NONE },
                { "\r\nGET / HTTP/1.1\r\nHost: evil.org\r\n\r\n", 8080, INSPECTION_REFUSE, REASON_OTHER_HOST },
                { "get\t/ http/1.1\r\nHost: evil.org\r\n\r\n", 8080, INSPECTION_REFUSE, REASON_BAD_HTTP },
                { "SSH-2.0-OpenSSH_9.2\r\n", 80, INSPECTION_REFUSE, REASON_NO_HTTP },
                { "SSH-2.0-OpenSSH_9.2\r\n", 443, INSPECTION_REFUSE, REASON_NO_TLS },
                { "SSH-2.0-OpenSSH_9.2\r\n", 22, INSPECTION_ALL, REASON_NONE },
                { "GET /\x01 HTTP/1.1\r\nHost: evil.org\r\n\r\n", 8080, INSPECTION_REFUSE, REASON_BAD_HTTP },
                { " \r\n \x1cGET / HTTP/1.1\r\nHost: evil.org\r\n\r\n", 8080, INSPECTION_REFUSE, REASON_BAD_HTTP },
                { "{\"word\": 1}", 9000, INSPECTION_ALL, REASON_NONE },
                { "PING\r\n", 6379, INSPECTION_ALL, REASON_NONE },
                { "\x01\x02", 5432, INSPECTION_ALL, REASON_NONE },
                { "USER me", 21, INSPECTION_PASS, REASON_NONE },
                { "GET / HTTP/1.1\r\nHost: evil.org\r\n", 8080, INSPECTION_PASS, REASON_NONE }, /* its end will not */
                { "GET / HTTP/1.1\nHost: evil.org\n\n", 8080, INSPECTION_REFUSE, REASON_BAD_HTTP },
                { "GET / HTTP/1.1\r\nHost: evil.org\n", 8080, INSPECTION_REFUSE, REASON_BAD_HTTP },
                { "GET / HTTP/1.1\r\nHost: exam", 80, INSPECTION_MORE, REASON_NONE },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct inspected found;
                enum inspection_result result = look(rows[i].port, rows[i].bytes, strlen(rows[i].bytes), &found);
                if (result != rows[i].result || found.reason != rows[i].reason)
                        fail_msg("%s at %u: %d for %d", rows[i].bytes, rows[i].port, result, found.reason);
        }
}

/* Everything that a program sends, in one piece or byte by byte: what came through of it. */
static enum egress_reason relay(uint16_t port, const char *bytes, size_t piece, struct text *ret)
{
        struct inspection i;
        struct inspected found = { 0 };
        size_t at = 0, shown = 0, length = strlen(bytes);
        inspection_begin(&i, "example.com", port, false);
        while (at < length) {
                if (shown <= at)
                        shown = at + piece < length ? at + piece : length;
                enum inspection_result result = inspection_look(&i, (const uint8_t *)bytes + at, shown - at, false, &found);
                if (result == INSPECTION_REFUSE)
                        break;
                if (result == INSPECTION_MORE) {
                        if (shown == length)
                                break;
                        shown += piece < length - shown ? piece : length - shown;
                        continue;
                }
                if (result == INSPECTION_ALL)
                        found.bytes = length - at;
                text_add_bytes(ret, result == INSPECTION_TAKE ? found.instead.data : bytes + at,
                               result == INSPECTION_TAKE ? found.instead.length : found.bytes);
                text_done(&found.instead);
                at += found.bytes;
        }
        inspection_done(&i);
        text_done(&found.instead);
        return found.reason;
}

#define GET "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n"
#define OTHER "GET / HTTP/1.1\r\nHost: evil.org\r\n\r\n"
#define POST "POST / HTTP/1.1\r\nHost: example.com\r\n"

static void test_every_request_of_a_connection_is_looked_at(void **state)
{
        (void)state;
        static const struct {
                const char *good, *bad;
        } rows[] = {
                { GET GET GET, "" },
                { GET, OTHER },
                { POST "Content-Length: 5\r\n\r\n12345" GET, OTHER },
                { POST "Content-Length: 38\r\n\r\n" OTHER "12345" GET, OTHER }, /* one in a body is none */
                { POST "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" GET, OTHER },
                { POST "Transfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n\r\n", OTHER },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                static const size_t pieces[] = { 1, 2, 7, 4096 };
                for (size_t j = 0; j < ARRAY_SIZE(pieces); j++) {
                        CLEANUP_TEXT struct text all = { 0 }, out = { 0 };
                        text_add(&all, rows[i].good);
                        text_add(&all, rows[i].bad);
                        enum egress_reason reason = relay(80, all.data, pieces[j], &out);
                        assert_int_equal(reason, *rows[i].bad ? REASON_OTHER_HOST : REASON_NONE);
                        assert_string_equal(out.data, rows[i].good);
                }
        }
}

static void test_on_any_port_no_head_for_another_host_gets_to_its_end(void **state)
{
        (void)state;
        static const struct {
                const char *bytes;
                enum egress_reason reason;
        } rows[] = {
                { "GET / HTTP/1.1\r\nHost: example.com:8080\r\n\r\n", REASON_NONE },
                { "GET / HTTP/1.1\r\nHost: evil.org:8080\r\n\r\n", REASON_OTHER_HOST },
                { "\r\n\r\nGET / HTTP/1.1\r\nHost: evil.org:8080\r\n\r\n", REASON_OTHER_HOST },
                { "GET / HTTP/1.1\nHost: evil.org:8080\n\n", REASON_BAD_HTTP },
                { "get / http/1.1\r\nHost: evil.org:8080\r\n\r\n", REASON_BAD_HTTP },
                { "GET / HTTP/1.1\r\nHost: example.com:8080\r\n\r\nGET / HTTP/1.1\r\nHost: evil.org:8080\r\n\r\n", REASON_OTHER_HOST },
                { "hello\r\nGET / HTTP/1.1\r\nHost: evil.org:8080\r\n\r\n", REASON_NONE }, /* that is no request */
        };
        static const size_t pieces[] = { 1, 2, 7, 4096 };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                for (size_t j = 0; j < ARRAY_SIZE(pieces); j++) {
                        CLEANUP_TEXT struct text out = { 0 };
                        enum egress_reason reason = relay(8080, rows[i].bytes, pieces[j], &out);
                        if (reason != rows[i].reason)
                                fail_msg("%s in %zu: %d", rows[i].bytes, pieces[j], reason);
                        if (reason != REASON_NONE && out.length >= strlen(rows[i].bytes))
                                fail_msg("%s has passed", rows[i].bytes);
                        if (reason == REASON_NONE)
                                assert_string_equal(out.data, rows[i].bytes);
                }
        }
}

static void test_after_an_upgrade_only_the_answer_says_what_is_spoken(void **state)
{
        (void)state;
        static const char request[] = "GET /chat HTTP/1.1\r\nHost: example.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
        static const struct {
                const char *answer;
                enum inspection_result next;
        } rows[] = {
                { "HTTP/1.1 101 Switching Protocols\r\n", INSPECTION_ALL },
                { "HTTP/1.1 200 OK\r\n", INSPECTION_REFUSE },
                { "what is this\r\n", INSPECTION_REFUSE },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct inspection x;
                struct inspected found;
                inspection_begin(&x, "example.com", 80, false);
                assert_int_equal(inspection_look(&x, (const uint8_t *)request, strlen(request), false, &found), INSPECTION_TAKE);
                text_done(&found.instead);
                assert_int_equal(inspection_look(&x, (const uint8_t *)OTHER, strlen(OTHER), false, &found), INSPECTION_WAIT);
                assert_false(inspection_answer(&x, (const uint8_t *)"HTTP/1.1 1", 10));
                assert_true(inspection_answer(&x, (const uint8_t *)rows[i].answer, strlen(rows[i].answer)));
                assert_int_equal(inspection_look(&x, (const uint8_t *)OTHER, strlen(OTHER), false, &found), rows[i].next);
                text_done(&found.instead);
                inspection_done(&x);
        }
}

/* A ClientHello of TLS 1.3: its version is in an extension behind the name. */
static size_t write_new_hello(const char *name, uint8_t *ret)
{
        static const uint8_t versions[] = { 0, 43, 0, 3, 2, 3, 4 };
        const size_t lengths[] = { 3, 7, 5 + 4 + 41 };  /* of the record, the message, the extensions: where they are */
        size_t length = write_hello(name, ret);
        memcpy(ret + length, versions, sizeof versions);
        for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
                size_t value = ((size_t)ret[lengths[i]] << 8 | ret[lengths[i] + 1]) + sizeof versions;
                ret[lengths[i]] = (uint8_t)(value >> 8), ret[lengths[i] + 1] = (uint8_t)value;
        }
        return length + sizeof versions;
}

static void test_a_second_hello_is_looked_at_if_the_server_asks(void **state)
{
        (void)state;
        static const uint8_t again[] = {
                0x16, 3, 3, 0, 56, 2, 0, 0, 52, 3, 3, 0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65,
                0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
        };
        static const uint8_t other[sizeof again] = { 0x16, 3, 3, 0, 56, 2, 0, 0, 52, 3, 3, 1 }, alert[] = { 0x15, 3, 3, 0, 2, 2, 49 };
        static const uint8_t cut[] = { 0x16, 3, 3, 0, 6, 2, 0, 0, 52, 3, 3 };
        static const uint8_t early[] = { 0x17, 3, 3, 1, 0, 1, 2, 3 };
        static const struct {
                const uint8_t *answer;
                size_t length;
                const char *second;
                enum inspection_result result;
                enum egress_reason reason;
        } rows[] = {
                { again, sizeof again, "example.com", INSPECTION_ALL, REASON_NONE },
                { again, sizeof again, "evil.org", INSPECTION_REFUSE, REASON_OTHER_SNI },
                { again, sizeof again, NULL, INSPECTION_REFUSE, REASON_NO_SNI },
                { other, sizeof other, "evil.org", INSPECTION_ALL, REASON_NONE }, /* no server would read it */
                { alert, sizeof alert, "evil.org", INSPECTION_REFUSE, REASON_OTHER_SNI }, /* more may follow it */
                { alert, sizeof alert, "example.com", INSPECTION_ALL, REASON_NONE },
                { cut, sizeof cut, "evil.org", INSPECTION_REFUSE, REASON_OTHER_SNI },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                uint8_t bytes[512];
                struct inspection x;
                struct inspected found;
                inspection_begin(&x, "example.com", 443, false);
                size_t length = write_new_hello("example.com", bytes);
                assert_int_equal(inspection_look(&x, bytes, length, false, &found), INSPECTION_PASS);
                assert_int_equal(found.bytes, length);
                assert_true(inspection_awaits_answer(&x));
                for (size_t n = 1; n < rows[i].length && rows[i].length == sizeof again; n++)
                        assert_false(inspection_answer(&x, rows[i].answer, n));
                assert_true(inspection_answer(&x, rows[i].answer, rows[i].length));
                assert_false(inspection_awaits_answer(&x));
                if (rows[i].answer == again) {
                        assert_int_equal(inspection_look(&x, early, 5, false, &found), INSPECTION_MORE);
                        assert_int_equal(inspection_look(&x, early, sizeof early, false, &found), INSPECTION_PASS);
                        assert_int_equal(found.bytes, 5 + 256);
                }
                length = write_new_hello(rows[i].second ? rows[i].second : "example.com", bytes);
                if (!rows[i].second)
                        length = write_hello(NULL, bytes);
                assert_int_equal(inspection_look(&x, bytes, length, false, &found), rows[i].result);
                assert_int_equal(found.reason, rows[i].reason);
                inspection_done(&x);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_name_has_one_address_of_each_family),
                cmocka_unit_test(test_other_addresses_stand_for_nothing),
                cmocka_unit_test(test_many_names_keep_their_addresses_and_too_many_are_refused),
                cmocka_unit_test(test_the_same_refusal_is_told_ever_more_rarely),
                cmocka_unit_test(test_different_refusals_are_told_each_up_to_a_number),
                cmocka_unit_test(test_tls_must_name_the_host),
                cmocka_unit_test(test_a_second_hello_is_looked_at_if_the_server_asks),
                cmocka_unit_test(test_http_must_name_the_host_and_other_things_need_a_port_of_their_own),
                cmocka_unit_test(test_every_request_of_a_connection_is_looked_at),
                cmocka_unit_test(test_on_any_port_no_head_for_another_host_gets_to_its_end),
                cmocka_unit_test(test_after_an_upgrade_only_the_answer_says_what_is_spoken),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
