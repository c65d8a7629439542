/* Whom an HTTP request is for, what it would make of its connection, and how a proxy passes it on. */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/memory.h"
#include "egress/destination.h"
#include "egress/http_target.h"
#include "egress/token.h"

static void take(struct http_request *r, const char *head)
{
        size_t used;
        http_begin_relay(r);
        int status = http_take(r, head, strlen(head), &used);
        if (status != HTTP_HEAD_READY)
                fail_msg("%d for:\n%s", status, head);
        assert_int_equal(used, strlen(head));
}

/* "host port", with "address " in front of one. */
static void describe(const struct destination *d, struct text *out)
{
        text_format(out, "%s%s %u", d->is_address ? "address " : "", d->host, d->port);
}

static void test_whom_a_request_is_for(void **state)
{
        (void)state;
        static const struct {
                const char *line, *host; /* NULL: no Host */
                const char *expected;
        } rows[] = {
                /* a path */
                { "GET / HTTP/1.1", "example.com", "example.com 80" },
                { "GET / HTTP/1.1", "example.com:80", "example.com 80" },
                { "GET / HTTP/1.1", "EXAMPLE.com.:8080", "example.com 8080" },
                { "GET //other.example/ HTTP/1.1", "example.com", "example.com 80" },
                { "GET /http://other.example/ HTTP/1.1", "example.com", "example.com 80" },
                { "GET / HTTP/1.0", "example.com", "example.com 80" },
                { "OPTIONS * HTTP/1.1", "example.com", "example.com 80" },
                { "GET / HTTP/1.1", "xn--bcher-kva.example", "xn--bcher-kva.example 80" },
                { "GET / HTTP/1.1", "a_b.example:65535", "a_b.example 65535" },
                { "GET / HTTP/1.1", "192.0.2.1:1", "address 192.0.2.1 1" },
                { "GET / HTTP/1.1", "[2001:DB8:0::1]", "address 2001:db8::1 80" },
                { "GET / HTTP/1.1", "[::ffff:192.0.2.1]:443", "address ::ffff:192.0.2.1 443" },
                /* a proxy's form */
                { "GET http://example.com/a?b HTTP/1.1", "example.com", "example.com 80" },
                { "GET HTTP://Example.COM:80 HTTP/1.1", "example.com", "example.com 80" },
                { "GET http://example.com?a HTTP/1.1", "example.com:80", "example.com 80" },
                { "GET http://example.com./ HTTP/1.1", "example.com", "example.com 80" },
                { "GET http://example.com:8080/ HTTP/1.1", "example.com:8080", "example.com 8080" },
                { "GET http://example.com/ HTTP/1.0", NULL, "example.com 80" },
                { "GET http://[2001:db8::1]:8080/ HTTP/1.0", NULL, "address 2001:db8::1 8080" },
                { "GET http://192.0.2.1/ HTTP/1.1", "192.0.2.1", "address 192.0.2.1 80" },
                /* a tunnel */
                { "CONNECT example.com:443 HTTP/1.1", "example.com:443", "example.com 443" },
                { "CONNECT example.com:443 HTTP/1.1", "example.com", "example.com 443" },
                { "CONNECT Example.com.:22 HTTP/1.0", NULL, "example.com 22" },
                { "CONNECT 192.0.2.1:443 HTTP/1.1", "192.0.2.1:443", "address 192.0.2.1 443" },
                { "CONNECT [2001:db8::1]:443 HTTP/1.1", "[2001:db8::1]:443", "address 2001:db8::1 443" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                CLEANUP_TEXT struct text head = { 0 }, found = { 0 };
                struct http_request r;
                struct destination d;
                text_format(&head, "%s\r\n%s%s%s\r\n", rows[i].line, rows[i].host ? "Host: " : "",
                            rows[i].host ? rows[i].host : "", rows[i].host ? "\r\n" : "");
                take(&r, head.data);
                const char *wrong = http_host(&r, &d);
                if (wrong)
                        fail_msg("%s:\n%s", wrong, head.data);
                describe(&d, &found);
                assert_string_equal(found.data, rows[i].expected);
                http_done(&r);
        }
}

#define TWO_HOSTS "the target of the request and its Host are two different hosts"
#define NO_PORT "a port is a number from 1 to 65535"
#define NO_CHARACTER "a host name has only letters, digits, '-' and '_'"
#define NO_FORM "the target of the request is neither a path nor begins with http://"
#define NO_NAME "an address is not a name; hosts are allowed by name"
#define NO_IPV6 "what is in brackets is no IPv6 address"
#define NO_USER "write the host alone, without a user name"
#define NO_ASCII "the name has no ASCII form; write it in its xn-- spelling"
#define NO_LABEL "a label of the name is empty"
#define BEHIND "there is something behind the brackets of an address"

static void check_refused(const char *line, const char *host, const char *expected)
{
        CLEANUP_TEXT struct text head = { 0 };
        struct http_request r;
        struct destination d = { .host = "unchanged", .port = 7 };
        text_format(&head, "%s\r\n%s%s%s\r\n", line, host ? "Host: " : "", host ? host : "", host ? "\r\n" : "");
        take(&r, head.data);
        const char *wrong = http_host(&r, &d);
        if (!wrong || strcmp(wrong, expected) != 0)
                fail_msg("'%s' instead of '%s':\n%s", wrong ? wrong : d.host, expected, head.data);
        assert_string_equal(d.host, "unchanged");
        assert_int_equal(d.port, 7);
        http_done(&r);
}

static void test_targets_that_are_refused(void **state)
{
        (void)state;
        static const struct {
                const char *line, *host, *wrong;
        } rows[] = {
                { "GET / HTTP/1.0", NULL, "the request does not say for which host it is" },
                { "OPTIONS * HTTP/1.0", NULL, "the request does not say for which host it is" },
                { "GET * HTTP/1.1", "example.com", NO_FORM },
                { "GET example.com HTTP/1.1", "example.com", NO_FORM },
                { "GET example.com:80 HTTP/1.1", "example.com", NO_FORM },
                { "connect example.com:80 HTTP/1.1", "example.com:80", NO_FORM },
                { "GET http:/example.com/ HTTP/1.1", "example.com", NO_FORM },
                { "GET http:example.com HTTP/1.1", "example.com", NO_FORM },
                { "GET ftp://example.com/ HTTP/1.1", "example.com", NO_FORM },
                { "GET \\\\example.com/ HTTP/1.1", "example.com", NO_FORM },
                { "GET HTTPS://example.com/ HTTP/1.1", "example.com",
                  "a request for https:// goes through a tunnel: use CONNECT" },
                /* said twice, differently */
                { "GET http://example.com/ HTTP/1.1", "other.example", TWO_HOSTS },
                { "GET http://example.com/ HTTP/1.1", "example.com:8080", TWO_HOSTS },
                { "GET http://example.com:8080/ HTTP/1.1", "example.com", TWO_HOSTS },
                { "GET http://example.com/ HTTP/1.0", "example.org", TWO_HOSTS },
                { "GET http://192.0.2.1/ HTTP/1.1", "example.com", TWO_HOSTS },
                { "CONNECT example.com:443 HTTP/1.1", "other.example:443", TWO_HOSTS },
                { "CONNECT example.com:443 HTTP/1.1", "example.com:80", TWO_HOSTS },
                { "GET http://example.com/ HTTP/1.1", "", "the host is empty" },
                /* authorities that readers cut in different places */
                { "GET http://example.com#@other.example/ HTTP/1.1", "example.com",
                  "the target of the request has a fragment, which is no server's business" },
                { "GET http://user@example.com/ HTTP/1.1", "example.com", NO_USER },
                { "GET http://user:pass@example.com/ HTTP/1.1", "example.com", NO_PORT },
                { "GET http://example.com:80@other.example/ HTTP/1.1", "example.com", NO_PORT },
                { "GET http://example.com\\@other.example/ HTTP/1.1", "example.com", NO_USER },
                { "GET http://example.com\\.other.example/ HTTP/1.1", "example.com", NO_CHARACTER },
                { "GET http://example%2ecom/ HTTP/1.1", "example.com", NO_CHARACTER },
                { "GET http:///path HTTP/1.1", "example.com", "the host is empty" },
                { "GET http:// HTTP/1.0", NULL, "the host is empty" },
                { "CONNECT example.com HTTP/1.1", "example.com", "there is no port; write host:port" },
                { "CONNECT [::1] HTTP/1.1", "[::1]", "there is no port; write host:port" },
                { "CONNECT example.com: HTTP/1.1", "example.com", NO_PORT },
                { "CONNECT example.com:0 HTTP/1.1", "example.com", NO_PORT },
                { "CONNECT :443 HTTP/1.1", "example.com", "the host is empty" },
                { "CONNECT http://example.com:443 HTTP/1.1", "example.com", NO_PORT },
                { "CONNECT example.com:443/ HTTP/1.1", "example.com", NO_PORT },
                { "CONNECT / HTTP/1.1", "example.com", "there is no port; write host:port" },
                { "CONNECT example.com:443:443 HTTP/1.1", "example.com", NO_PORT },
                { "CONNECT example.com:443,other.example:443 HTTP/1.1", "example.com", NO_PORT },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                check_refused(rows[i].line, rows[i].host, rows[i].wrong);
}

/* In the Host, in a proxy's form, and in a tunnel: the same answer. */
static void test_hosts_that_are_refused(void **state)
{
        (void)state;
        static const struct {
                const char *authority, *wrong;
        } rows[] = {
                { "example.com:080", NO_PORT }, { "example.com:+80", NO_PORT }, { "example.com:-80", NO_PORT },
                { "example.com:65536", NO_PORT }, { "example.com:0", NO_PORT }, { "example.com:", NO_PORT },
                { "example.com:0x50", NO_PORT }, { "example.com:80:80", NO_PORT }, { "example.com:8_0", NO_PORT },
                { "example.com:99999999999999999999", NO_PORT }, { "example.com:18446744073709551696", NO_PORT },
                { "example.com,other.example:80", NO_CHARACTER }, { "exa%6dple.com:80", NO_CHARACTER },
                { "example.com%00:80", NO_CHARACTER }, { "(example.com):80", NO_CHARACTER },
                { "example.com]:80", NO_CHARACTER }, { "<example.com>:80", NO_CHARACTER },
                { "*.example.com:80", "'*' stands only for whole names in front: *.example.com" },
                { "example..com:80", NO_LABEL }, { ".example.com:80", NO_LABEL },
                { "example.com..:80", NO_LABEL }, { ".:80", NO_LABEL },
                { "-a.example:80", "a label begins and ends with a letter or a digit" },
                { "@example.com:80", NO_USER },
                /* addresses in odd spellings */
                { "127.1:80", NO_NAME }, { "2130706433:80", NO_NAME }, { "0x7f.0.0.1:80", NO_NAME },
                { "0x7f000001:80", NO_NAME }, { "0177.0.0.1:80", NO_NAME }, { "127.0.0.01:80", NO_NAME },
                { "127.0.0.1.:80", NO_NAME }, { "256.0.0.1:80", NO_NAME }, { "1.2.3.4.5:80", NO_NAME },
                { "a.1:80", NO_NAME }, { "1.2.3.0X4:80", NO_NAME },
                { "::1:80", NO_PORT }, { "[::1:80", NO_PORT }, { "[]:80", NO_IPV6 }, { "[::1%25eth0]:80", NO_IPV6 },
                { "[::1%eth0]:80", NO_IPV6 }, { "[127.0.0.1]:80", NO_IPV6 }, { "[example.com]:80", NO_IPV6 },
                { "[v1.a]:80", NO_IPV6 }, { "[::1]80", BEHIND },
                { "[::1].example.com:80", BEHIND },
                { "[::1]@example.com:80", BEHIND },
                { "a[::1]:80", NO_PORT },
                { "[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:1]:80", NO_IPV6 },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                CLEANUP_TEXT struct text absolute = { 0 }, tunnel = { 0 };
                check_refused("GET / HTTP/1.1", rows[i].authority, rows[i].wrong);
                text_format(&absolute, "GET http://%s/ HTTP/1.0", rows[i].authority);
                check_refused(absolute.data, NULL, rows[i].wrong);
                text_format(&tunnel, "CONNECT %s HTTP/1.0", rows[i].authority);
                check_refused(tunnel.data, NULL, rows[i].wrong);
        }
        /* what only a header can have */
        check_refused("GET / HTTP/1.1", "example.com other.example",
                      "a host name has no white space or control characters");
        check_refused("GET / HTTP/1.1", "example.com/", "write the host alone, without a path");
        check_refused("GET / HTTP/1.1", "example.com?", "write the host alone, without a path");
        check_refused("GET / HTTP/1.1", "b\xc3\xbc" "cher.example", NO_ASCII);
        check_refused("GET / HTTP/1.1", "example\xe3\x80\x82" "com", NO_ASCII);
        check_refused("GET / HTTP/1.1", "", "the host is empty");
}

static void test_long_names(void **state)
{
        (void)state;
        CLEANUP_TEXT struct text longest = { 0 }, longer = { 0 };
        struct destination d;
        for (int i = 0; i < CAP_DOMAIN / 2; i++)
                text_add(&longest, "a.");
        text_add(&longest, "b");
        assert_int_equal(longest.length, CAP_DOMAIN);
        text_format(&longer, "c%s", longest.data);
        assert_null(destination_read(longest.data, longest.length, 80, &d));
        assert_string_equal(d.host, longest.data);
        assert_string_equal(destination_read(longer.data, longer.length, 80, &d),
                            "a host name has at most 253 characters");
        text_add(&longest, ".");
        assert_null(destination_read(longest.data, longest.length, 80, &d));
        assert_int_equal(strlen(d.host), CAP_DOMAIN);
}

static void test_what_comes_without_text(void **state)
{
        (void)state;
        static const uint8_t ipv4[4] = { 192, 0, 2, 1 }, ipv6[16] = { 0x20, 1, 0xd, 0xb8, [15] = 1 };
        struct destination d = { .port = 7 };
        assert_null(destination_from_address(AF_INET, ipv4, 443, &d));
        assert_true(strcmp(d.host, "192.0.2.1") == 0 && d.port == 443 && d.is_address);
        assert_null(destination_from_address(AF_INET6, ipv6, 22, &d));
        assert_true(strcmp(d.host, "2001:db8::1") == 0 && d.port == 22 && d.is_address);
        assert_string_equal(destination_from_address(AF_INET, ipv4, 0, &d), NO_PORT);
        assert_string_equal(destination_from_address(AF_UNIX, ipv4, 1, &d), "this is no address");
        assert_null(destination_from_name("Example.com.other", 12, 443, &d));
        assert_true(strcmp(d.host, "example.com") == 0 && d.port == 443 && !d.is_address);
        assert_string_equal(destination_from_name("example.com\0.other", 18, 443, &d),
                            "a host name has no white space or control characters");
        assert_string_equal(destination_from_name("example.com", 11, 0, &d), NO_PORT);
        assert_string_equal(destination_from_name("example.com:443", 15, 443, &d), NO_CHARACTER);
        assert_string_equal(d.host, "example.com");
}

/* --- what it would make of the connection --- */

static void test_upgrades(void **state)
{
        (void)state;
        static const struct {
                const char *headers;
                bool upgrades, offers_other;
        } rows[] = {
                { "", false, false },
                { "Connection: upgrade\r\n", false, false },
                { "Upgrade: websocket\r\n", false, false },
                { "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n", true, false },
                { "Connection: x\r\nUPGRADE: WebSocket\r\nconnection: UPGRADE\r\n", true, false },
                { "Connection: upgraded\r\nUpgrade: websocket\r\n", false, false },
                { "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n", false, true },
                { "Connection: Upgrade\r\nUpgrade: websocket, h2c\r\n", false, true },
                { "Connection: Upgrade\r\nUpgrade: websocket\r\nUpgrade: h2c\r\n", false, true },
                { "Connection: Upgrade\r\nUpgrade: TLS/1.2\r\n", false, true },
                { "Upgrade: h2c\r\n", false, true },
                { "Connection: Upgrade\r\nUpgrade:\r\n", false, true },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                CLEANUP_TEXT struct text head = { 0 }, old = { 0 };
                struct http_request r;
                text_format(&head, "GET / HTTP/1.1\r\nHost: here\r\n%s\r\n", rows[i].headers);
                take(&r, head.data);
                assert_int_equal(http_upgrades(&r), rows[i].upgrades);
                assert_int_equal(http_offers_other(&r), rows[i].offers_other);
                http_done(&r);
                text_format(&old, "GET / HTTP/1.0\r\n%s\r\n", rows[i].headers);
                take(&r, old.data);
                assert_false(http_upgrades(&r)); /* there was no such thing */
                http_done(&r);
        }
}

static void test_http2_without_asking_is_recognised(void **state)
{
        (void)state;
        static const struct {
                const char *input;
                bool is_preface;
        } rows[] = {
                { "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", true },
                { "GET / HTTP/2.0\r\n\r\n", false },
                { "PRI * HTTP/1.1\r\nHost: here\r\n\r\n", false },
                { "PRI", false },
                { "\r\n\r\n\x16", false },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct http_request r;
                size_t used;
                http_begin_relay(&r);
                int status = http_take(&r, rows[i].input, strlen(rows[i].input), &used);
                assert_int_equal(http_is_preface(&r), rows[i].is_preface);
                assert_true(!rows[i].is_preface || status == -505);
                http_done(&r);
        }
}

/* --- passing it on --- */

static void test_a_proxy_asks_the_server_in_its_form(void **state)
{
        (void)state;
#define HERE "Host: here.example\r\n"
        static const struct {
                const char *input, *expected;
        } rows[] = {
                { "GET http://here.example/a/b?c=http://d/ HTTP/1.1\r\n" HERE "\r\n",
                  "GET /a/b?c=http://d/ HTTP/1.1\r\n" HERE "\r\n" },
                { "GET http://here.example HTTP/1.1\r\n" HERE "\r\n", "GET / HTTP/1.1\r\n" HERE "\r\n" },
                { "GET HTTP://here.example:80?q HTTP/1.1\r\n" HERE "\r\n", "GET /?q HTTP/1.1\r\n" HERE "\r\n" },
                { "OPTIONS http://here.example HTTP/1.1\r\n" HERE "\r\n", "OPTIONS * HTTP/1.1\r\n" HERE "\r\n" },
                { "OPTIONS http://here.example/ HTTP/1.1\r\n" HERE "\r\n", "OPTIONS / HTTP/1.1\r\n" HERE "\r\n" },
                { "GET http://here.example:8080/ HTTP/1.0\r\n\r\n",
                  "GET / HTTP/1.0\r\nHost: here.example:8080\r\n\r\n" },
                { "GET /a HTTP/1.0\r\n\r\n", "GET /a HTTP/1.0\r\n\r\n" },
                { "POST http://here.example/ HTTP/1.1\r\nProxy-Connection: keep-alive\r\nA:  b c\t\r\n"
                  "proxy-authorization: x\r\n" HERE "Proxy-Other: x\r\nB:\r\nContent-Length: 5\r\n\r\n",
                  "POST / HTTP/1.1\r\nA: b c\r\n" HERE "Proxy-Other: x\r\nB: \r\nContent-Length: 5\r\n\r\n" },
                { "GET / HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\n" HERE
                  "HTTP2-Settings: AAMAAABk\r\nUpgrade: h2c\r\n\r\n",
                  "GET / HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\n" HERE "\r\n" },
                { "GET http://here.example/ HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" HERE "\r\n",
                  "GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" HERE "\r\n" },
        };
#undef HERE
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                CLEANUP_TEXT struct text out = { 0 };
                struct http_request r;
                take(&r, rows[i].input);
                http_write_origin(&r, false, &out);
                assert_string_equal(out.data, rows[i].expected);
                http_done(&r);
        }
        CLEANUP_TEXT struct text last = { 0 };
        struct http_request r;
        take(&r, "GET http://here.example/ HTTP/1.1\r\nHost: here.example\r\nconnection: keep-alive\r\n\r\n");
        http_write_origin(&r, true, &last);
        assert_string_equal(last.data, "GET / HTTP/1.1\r\nHost: here.example\r\nConnection: close\r\n\r\n");
        http_done(&r);
}

static void test_the_status_of_an_answer(void **state)
{
        (void)state;
        static const struct {
                const char *input;
                int status;
        } rows[] = {
                { "HTTP/1.1 101 Switching Protocols\r\n", 101 }, { "HTTP/1.0 200 OK\r\n", 200 },
                { "HTTP/1.1 999 \r\n", 999 }, { "HTTP/1.1 204\r\n", 204 }, { "HTTP/1.1 100 ", 100 },
                { "", 0 }, { "H", 0 }, { "HTTP/1.1 ", 0 }, { "HTTP/1.1 10", 0 }, { "HTTP/1.1 101", 0 },
                { "X", -EBADMSG }, { "HTTP/2.0", -EBADMSG }, { "HTTP/1.1  101 ", -EBADMSG },
                { "HTTP/1.1 1011", -EBADMSG }, { "HTTP/1.1 1x", -EBADMSG }, { "HTTP/1.1 +10 ", -EBADMSG },
                { "HTTP/1.1 099 ", -EBADMSG },
                { "HTTP/1.1 101\n", -EBADMSG }, { "http/1.1 200 OK", -EBADMSG }, { "HTTP/1.1\r101 ", -EBADMSG },
                { "\r\nHTTP/1.1 200 ", -EBADMSG }, { "\x16\x03\x03", -EBADMSG },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                assert_int_equal(http_response_status(rows[i].input, strlen(rows[i].input)), rows[i].status);
}

static void test_the_token_of_a_proxy(void **state)
{
        (void)state;
        static const char token[] = "0123456789abcdef0123456789abcdef";
        static const struct {
                const char *headers;
                enum token_verdict verdict;
        } rows[] = {
                { "", TOKEN_MISSING },
                { "Authorization: Basic cmluZ3dhbGw6MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\r\n", TOKEN_MISSING },
                { "Proxy-Authorization: Basic cmluZ3dhbGw6MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\r\n", TOKEN_RIGHT },
                { "proxy-authorization:  BASIC  OjAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVm\r\n", TOKEN_RIGHT }, /* nobody's */
                { "Proxy-Authorization: Basic cmluZ3dhbGw6MDEyMzQ1Njc4OUFCQ0RFRjAxMjM0NTY3ODlBQkNERUY=\r\n", TOKEN_WRONG }, /* ABC… */
                { "Proxy-Authorization: Basic cmluZ3dhbGw6MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZQ==\r\n", TOKEN_WRONG }, /* short */
                { "Proxy-Authorization: Basic cmluZ3dhbGw6\r\n", TOKEN_WRONG },
                { "Proxy-Authorization: Basic MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\r\n", TOKEN_WRONG }, /* no colon */
                { "Proxy-Authorization: Basic\r\n", TOKEN_WRONG },
                { "Proxy-Authorization: Basic \r\n", TOKEN_WRONG },
                { "Proxy-Authorization: Basic ?\r\n", TOKEN_WRONG },
                { "Proxy-Authorization: Bearer 0123456789abcdef0123456789abcdef\r\n", TOKEN_WRONG },
                { "Proxy-Authorization: Basic cmluZ3dhbGw6MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\r\n"
                  "Proxy-Authorization: Basic cmluZ3dhbGw6MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\r\n", TOKEN_WRONG },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                CLEANUP_TEXT struct text head = { 0 };
                struct http_request r;
                text_format(&head, "CONNECT a.org:443 HTTP/1.1\r\nHost: a.org\r\n%s\r\n", rows[i].headers);
                take(&r, head.data);
                if (token_judge(token, &r) != rows[i].verdict)
                        fail_msg("%s", rows[i].headers);
                http_done(&r);
        }
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_whom_a_request_is_for),
                cmocka_unit_test(test_targets_that_are_refused),
                cmocka_unit_test(test_hosts_that_are_refused),
                cmocka_unit_test(test_long_names),
                cmocka_unit_test(test_what_comes_without_text),
                cmocka_unit_test(test_upgrades),
                cmocka_unit_test(test_http2_without_asking_is_recognised),
                cmocka_unit_test(test_a_proxy_asks_the_server_in_its_form),
                cmocka_unit_test(test_the_status_of_an_answer),
                cmocka_unit_test(test_the_token_of_a_proxy),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
