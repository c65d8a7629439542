/* HTTP requests through a relay or proxy: their destination, protocol upgrades, the head for the server, the token. */
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
#include "egress/http_destination.h"
#include "egress/proxy_token.h"

static void parse_head(struct http_request *r, const char *head)
{
        size_t used;
        http_request_init_relay(r);
        int status = http_request_feed(r, head, strlen(head), &used);
        if (status != HTTP_HEAD_COMPLETE)
                fail_msg("status %d for:\n%s", status, head);
        assert_int_equal(used, strlen(head));
}

/* Prints "host port", or "address host port" for an address. */
static void describe(const struct destination *d, struct text *out)
{
        text_format(out, "%s%s %u", d->is_address ? "address " : "", d->host, d->port);
}

static void test_destination_of_a_request_is_found(void **state)
{
        (void)state;
        static const struct {
                const char *line, *host; /* NULL: no Host */
                const char *expected;
        } rows[] = {
                /* origin form */
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
                /* absolute form, for a proxy */
                { "GET http://example.com/a?b HTTP/1.1", "example.com", "example.com 80" },
                { "GET HTTP://Example.COM:80 HTTP/1.1", "example.com", "example.com 80" },
                { "GET http://example.com?a HTTP/1.1", "example.com:80", "example.com 80" },
                { "GET http://example.com./ HTTP/1.1", "example.com", "example.com 80" },
                { "GET http://example.com:8080/ HTTP/1.1", "example.com:8080", "example.com 8080" },
                { "GET http://example.com/ HTTP/1.0", NULL, "example.com 80" },
                { "GET http://[2001:db8::1]:8080/ HTTP/1.0", NULL, "address 2001:db8::1 8080" },
                { "GET http://192.0.2.1/ HTTP/1.1", "192.0.2.1", "address 192.0.2.1 80" },
                /* CONNECT */
                { "CONNECT example.com:443 HTTP/1.1", "example.com:443", "example.com 443" },
                { "CONNECT example.com:443 HTTP/1.1", "example.com", "example.com 443" },
                { "CONNECT Example.com.:22 HTTP/1.0", NULL, "example.com 22" },
                { "CONNECT 192.0.2.1:443 HTTP/1.1", "192.0.2.1:443", "address 192.0.2.1 443" },
                { "CONNECT [2001:db8::1]:443 HTTP/1.1", "[2001:db8::1]:443", "address 2001:db8::1 443" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                CLEANUP_TEXT struct text head = { 0 }, description = { 0 };
                struct http_request r;
                struct destination d;
                text_format(&head, "%s\r\n%s%s%s\r\n", rows[i].line, rows[i].host ? "Host: " : "",
                            rows[i].host ? rows[i].host : "", rows[i].host ? "\r\n" : "");
                parse_head(&r, head.data);
                const char *error = http_find_destination(&r, &d);
                if (error)
                        fail_msg("%s:\n%s", error, head.data);
                describe(&d, &description);
                assert_string_equal(description.data, rows[i].expected);
                http_request_done(&r);
        }
}

#define TWO_HOSTS "the target of the request and its Host are two different hosts"
#define BAD_PORT "a port is a number from 1 to 65535"
#define BAD_CHARACTER "a host name has only letters, digits, '-' and '_'"
#define BAD_FORM "the target of the request is neither a path nor begins with http://"
#define NOT_A_NAME "an address is not a name; hosts are allowed by name"
#define NOT_IPV6 "the text in brackets is not an IPv6 address"
#define HAS_USER "write the host alone, without a user name"
#define NO_ASCII "the name has no ASCII form; write it in its xn-- spelling"
#define EMPTY_LABEL "a label of the name is empty"
#define AFTER_BRACKETS "only a port may follow the brackets of an address"

static void check_refused(const char *line, const char *host, const char *expected)
{
        CLEANUP_TEXT struct text head = { 0 };
        struct http_request r;
        struct destination d = { .host = "unchanged", .port = 7 };
        text_format(&head, "%s\r\n%s%s%s\r\n", line, host ? "Host: " : "", host ? host : "", host ? "\r\n" : "");
        parse_head(&r, head.data);
        const char *error = http_find_destination(&r, &d);
        if (!error || strcmp(error, expected) != 0)
                fail_msg("'%s' instead of '%s':\n%s", error ? error : d.host, expected, head.data);
        assert_string_equal(d.host, "unchanged");
        assert_int_equal(d.port, 7);
        http_request_done(&r);
}

static void test_ambiguous_and_malformed_targets_are_refused(void **state)
{
        (void)state;
        static const struct {
                const char *line, *host, *error;
        } rows[] = {
                { "GET / HTTP/1.0", NULL, "the request does not say for which host it is" },
                { "OPTIONS * HTTP/1.0", NULL, "the request does not say for which host it is" },
                { "GET * HTTP/1.1", "example.com", BAD_FORM },
                { "GET example.com HTTP/1.1", "example.com", BAD_FORM },
                { "GET example.com:80 HTTP/1.1", "example.com", BAD_FORM },
                { "connect example.com:80 HTTP/1.1", "example.com:80", BAD_FORM },
                { "GET http:/example.com/ HTTP/1.1", "example.com", BAD_FORM },
                { "GET http:example.com HTTP/1.1", "example.com", BAD_FORM },
                { "GET ftp://example.com/ HTTP/1.1", "example.com", BAD_FORM },
                { "GET \\\\example.com/ HTTP/1.1", "example.com", BAD_FORM },
                { "GET HTTPS://example.com/ HTTP/1.1", "example.com",
                  "a request for https:// goes through a tunnel: use CONNECT" },
                /* two different hosts */
                { "GET http://example.com/ HTTP/1.1", "other.example", TWO_HOSTS },
                { "GET http://example.com/ HTTP/1.1", "example.com:8080", TWO_HOSTS },
                { "GET http://example.com:8080/ HTTP/1.1", "example.com", TWO_HOSTS },
                { "GET http://example.com/ HTTP/1.0", "example.org", TWO_HOSTS },
                { "GET http://192.0.2.1/ HTTP/1.1", "example.com", TWO_HOSTS },
                { "CONNECT example.com:443 HTTP/1.1", "other.example:443", TWO_HOSTS },
                { "CONNECT example.com:443 HTTP/1.1", "example.com:80", TWO_HOSTS },
                { "GET http://example.com/ HTTP/1.1", "", "the host is empty" },
                /* authorities that parsers split at different places */
                { "GET http://example.com#@other.example/ HTTP/1.1", "example.com",
                  "the target of the request must not have a fragment (#)" },
                { "GET http://user@example.com/ HTTP/1.1", "example.com", HAS_USER },
                { "GET http://user:pass@example.com/ HTTP/1.1", "example.com", BAD_PORT },
                { "GET http://example.com:80@other.example/ HTTP/1.1", "example.com", BAD_PORT },
                { "GET http://example.com\\@other.example/ HTTP/1.1", "example.com", HAS_USER },
                { "GET http://example.com\\.other.example/ HTTP/1.1", "example.com", BAD_CHARACTER },
                { "GET http://example%2ecom/ HTTP/1.1", "example.com", BAD_CHARACTER },
                { "GET http:///path HTTP/1.1", "example.com", "the host is empty" },
                { "GET http:// HTTP/1.0", NULL, "the host is empty" },
                { "CONNECT example.com HTTP/1.1", "example.com", "there is no port; write host:port" },
                { "CONNECT [::1] HTTP/1.1", "[::1]", "there is no port; write host:port" },
                { "CONNECT example.com: HTTP/1.1", "example.com", BAD_PORT },
                { "CONNECT example.com:0 HTTP/1.1", "example.com", BAD_PORT },
                { "CONNECT :443 HTTP/1.1", "example.com", "the host is empty" },
                { "CONNECT http://example.com:443 HTTP/1.1", "example.com", BAD_PORT },
                { "CONNECT example.com:443/ HTTP/1.1", "example.com", BAD_PORT },
                { "CONNECT / HTTP/1.1", "example.com", "there is no port; write host:port" },
                { "CONNECT example.com:443:443 HTTP/1.1", "example.com", BAD_PORT },
                { "CONNECT example.com:443,other.example:443 HTTP/1.1", "example.com", BAD_PORT },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                check_refused(rows[i].line, rows[i].host, rows[i].error);
}

/* The same error in a Host header, in absolute form, and in CONNECT. */
static void test_malformed_hosts_are_refused_in_every_form(void **state)
{
        (void)state;
        static const struct {
                const char *authority, *error;
        } rows[] = {
                { "example.com:080", BAD_PORT }, { "example.com:+80", BAD_PORT }, { "example.com:-80", BAD_PORT },
                { "example.com:65536", BAD_PORT }, { "example.com:0", BAD_PORT }, { "example.com:", BAD_PORT },
                { "example.com:0x50", BAD_PORT }, { "example.com:80:80", BAD_PORT }, { "example.com:8_0", BAD_PORT },
                { "example.com:99999999999999999999", BAD_PORT }, { "example.com:18446744073709551696", BAD_PORT },
                { "example.com,other.example:80", BAD_CHARACTER }, { "exa%6dple.com:80", BAD_CHARACTER },
                { "example.com%00:80", BAD_CHARACTER }, { "(example.com):80", BAD_CHARACTER },
                { "example.com]:80", BAD_CHARACTER }, { "<example.com>:80", BAD_CHARACTER },
                { "*.example.com:80", "'*' is allowed only as the first label: *.example.com" },
                { "example..com:80", EMPTY_LABEL }, { ".example.com:80", EMPTY_LABEL },
                { "example.com..:80", EMPTY_LABEL }, { ".:80", EMPTY_LABEL },
                { "-a.example:80", "a label begins and ends with a letter or a digit" },
                { "@example.com:80", HAS_USER },
                /* other notations of addresses */
                { "127.1:80", NOT_A_NAME }, { "2130706433:80", NOT_A_NAME }, { "0x7f.0.0.1:80", NOT_A_NAME },
                { "0x7f000001:80", NOT_A_NAME }, { "0177.0.0.1:80", NOT_A_NAME }, { "127.0.0.01:80", NOT_A_NAME },
                { "127.0.0.1.:80", NOT_A_NAME }, { "256.0.0.1:80", NOT_A_NAME }, { "1.2.3.4.5:80", NOT_A_NAME },
                { "a.1:80", NOT_A_NAME }, { "1.2.3.0X4:80", NOT_A_NAME },
                { "::1:80", BAD_PORT }, { "[::1:80", BAD_PORT }, { "[]:80", NOT_IPV6 }, { "[::1%25eth0]:80", NOT_IPV6 },
                { "[::1%eth0]:80", NOT_IPV6 }, { "[127.0.0.1]:80", NOT_IPV6 }, { "[example.com]:80", NOT_IPV6 },
                { "[v1.a]:80", NOT_IPV6 }, { "[::1]80", AFTER_BRACKETS },
                { "[::1].example.com:80", AFTER_BRACKETS },
                { "[::1]@example.com:80", AFTER_BRACKETS },
                { "a[::1]:80", BAD_PORT },
                { "[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:1]:80", NOT_IPV6 },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                CLEANUP_TEXT struct text absolute = { 0 }, tunnel = { 0 };
                check_refused("GET / HTTP/1.1", rows[i].authority, rows[i].error);
                text_format(&absolute, "GET http://%s/ HTTP/1.0", rows[i].authority);
                check_refused(absolute.data, NULL, rows[i].error);
                text_format(&tunnel, "CONNECT %s HTTP/1.0", rows[i].authority);
                check_refused(tunnel.data, NULL, rows[i].error);
        }
        /* only possible in a header */
        check_refused("GET / HTTP/1.1", "example.com other.example",
                      "a host name has no white space or control characters");
        check_refused("GET / HTTP/1.1", "example.com/", "write the host alone, without a path");
        check_refused("GET / HTTP/1.1", "example.com?", "write the host alone, without a path");
        check_refused("GET / HTTP/1.1", "b\xc3\xbc" "cher.example", NO_ASCII);
        check_refused("GET / HTTP/1.1", "example\xe3\x80\x82" "com", NO_ASCII);
        check_refused("GET / HTTP/1.1", "", "the host is empty");
}

static void test_length_of_a_host_name_is_limited(void **state)
{
        (void)state;
        CLEANUP_TEXT struct text longest = { 0 }, longer = { 0 };
        struct destination d;
        for (int i = 0; i < DOMAIN_MAX / 2; i++)
                text_add(&longest, "a.");
        text_add(&longest, "b");
        assert_int_equal(longest.length, DOMAIN_MAX);
        text_format(&longer, "c%s", longest.data);
        assert_null(destination_parse(longest.data, longest.length, 80, &d));
        assert_string_equal(d.host, longest.data);
        assert_string_equal(destination_parse(longer.data, longer.length, 80, &d),
                            "a host name has at most 253 characters");
        text_add(&longest, ".");
        assert_null(destination_parse(longest.data, longest.length, 80, &d));
        assert_int_equal(strlen(d.host), DOMAIN_MAX);
}

static void test_destination_from_an_address_or_a_name(void **state)
{
        (void)state;
        static const uint8_t ipv4[4] = { 192, 0, 2, 1 }, ipv6[16] = { 0x20, 1, 0xd, 0xb8, [15] = 1 };
        struct destination d = { .port = 7 };
        assert_null(destination_from_address(AF_INET, ipv4, 443, &d));
        assert_true(strcmp(d.host, "192.0.2.1") == 0 && d.port == 443 && d.is_address);
        assert_null(destination_from_address(AF_INET6, ipv6, 22, &d));
        assert_true(strcmp(d.host, "2001:db8::1") == 0 && d.port == 22 && d.is_address);
        assert_string_equal(destination_from_address(AF_INET, ipv4, 0, &d), BAD_PORT);
        assert_string_equal(destination_from_address(AF_UNIX, ipv4, 1, &d), "this is not an address");
        assert_null(destination_from_name("Example.com.other", 12, 443, &d));
        assert_true(strcmp(d.host, "example.com") == 0 && d.port == 443 && !d.is_address);
        assert_string_equal(destination_from_name("example.com\0.other", 18, 443, &d),
                            "a host name has no white space or control characters");
        assert_string_equal(destination_from_name("example.com", 11, 0, &d), BAD_PORT);
        assert_string_equal(destination_from_name("example.com:443", 15, 443, &d), BAD_CHARACTER);
        assert_string_equal(d.host, "example.com");
}

/* --- protocol upgrades --- */

static void test_only_upgrades_to_websocket_are_recognized(void **state)
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
                CLEANUP_TEXT struct text head = { 0 }, http10 = { 0 };
                struct http_request r;
                text_format(&head, "GET / HTTP/1.1\r\nHost: here\r\n%s\r\n", rows[i].headers);
                parse_head(&r, head.data);
                assert_int_equal(http_wants_websocket(&r), rows[i].upgrades);
                assert_int_equal(http_offers_other_protocol(&r), rows[i].offers_other);
                http_request_done(&r);
                text_format(&http10, "GET / HTTP/1.0\r\n%s\r\n", rows[i].headers);
                parse_head(&r, http10.data);
                assert_false(http_wants_websocket(&r)); /* HTTP/1.0 has no upgrades */
                http_request_done(&r);
        }
}

static void test_http2_preface_is_recognized(void **state)
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
                http_request_init_relay(&r);
                int status = http_request_feed(&r, rows[i].input, strlen(rows[i].input), &used);
                assert_int_equal(http_is_h2_preface(&r), rows[i].is_preface);
                assert_true(!rows[i].is_preface || status == -505);
                http_request_done(&r);
        }
}

/* --- passing requests on --- */

static void test_proxy_writes_the_head_in_origin_form(void **state)
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
                parse_head(&r, rows[i].input);
                http_write_origin_form(&r, false, &out);
                assert_string_equal(out.data, rows[i].expected);
                http_request_done(&r);
        }
        CLEANUP_TEXT struct text closing = { 0 };
        struct http_request r;
        parse_head(&r, "GET http://here.example/ HTTP/1.1\r\nHost: here.example\r\nconnection: keep-alive\r\n\r\n");
        http_write_origin_form(&r, true, &closing);
        assert_string_equal(closing.data, "GET / HTTP/1.1\r\nHost: here.example\r\nConnection: close\r\n\r\n");
        http_request_done(&r);
}

static void test_status_of_a_response_is_parsed(void **state)
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

static void test_token_is_accepted_only_in_one_proxy_authorization_header(void **state)
{
        (void)state;
        static const char token[] = "0123456789abcdef0123456789abcdef";
        static const struct {
                const char *headers;
                enum proxy_token_result verdict;
        } rows[] = {
                { "", PROXY_TOKEN_MISSING },
                { "Authorization: Basic cmluZ3dhbGw6MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\r\n",
                  PROXY_TOKEN_MISSING },
                { "Proxy-Authorization: Basic cmluZ3dhbGw6MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\r\n",
                  PROXY_TOKEN_OK },
                /* an empty user name */
                { "proxy-authorization:  BASIC  OjAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVm\r\n", PROXY_TOKEN_OK },
                { "Proxy-Authorization: Basic cmluZ3dhbGw6MDEyMzQ1Njc4OUFCQ0RFRjAxMjM0NTY3ODlBQkNERUY=\r\n",
                  PROXY_TOKEN_WRONG }, /* in upper case */
                { "Proxy-Authorization: Basic cmluZ3dhbGw6MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZQ==\r\n",
                  PROXY_TOKEN_WRONG }, /* one character missing */
                { "Proxy-Authorization: Basic cmluZ3dhbGw6\r\n", PROXY_TOKEN_WRONG },
                /* no colon */
                { "Proxy-Authorization: Basic MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\r\n", PROXY_TOKEN_WRONG },
                { "Proxy-Authorization: Basic\r\n", PROXY_TOKEN_WRONG },
                { "Proxy-Authorization: Basic \r\n", PROXY_TOKEN_WRONG },
                { "Proxy-Authorization: Basic ?\r\n", PROXY_TOKEN_WRONG },
                { "Proxy-Authorization: Bearer 0123456789abcdef0123456789abcdef\r\n", PROXY_TOKEN_WRONG },
                { "Proxy-Authorization: Basic cmluZ3dhbGw6MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\r\n"
                  "Proxy-Authorization: Basic cmluZ3dhbGw6MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\r\n",
                  PROXY_TOKEN_WRONG },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                CLEANUP_TEXT struct text head = { 0 };
                struct http_request r;
                text_format(&head, "CONNECT a.org:443 HTTP/1.1\r\nHost: a.org\r\n%s\r\n", rows[i].headers);
                parse_head(&r, head.data);
                if (token_check(token, &r) != rows[i].verdict)
                        fail_msg("%s", rows[i].headers);
                http_request_done(&r);
        }
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_destination_of_a_request_is_found),
                cmocka_unit_test(test_ambiguous_and_malformed_targets_are_refused),
                cmocka_unit_test(test_malformed_hosts_are_refused_in_every_form),
                cmocka_unit_test(test_length_of_a_host_name_is_limited),
                cmocka_unit_test(test_destination_from_an_address_or_a_name),
                cmocka_unit_test(test_only_upgrades_to_websocket_are_recognized),
                cmocka_unit_test(test_http2_preface_is_recognized),
                cmocka_unit_test(test_proxy_writes_the_head_in_origin_form),
                cmocka_unit_test(test_status_of_a_response_is_parsed),
                cmocka_unit_test(test_token_is_accepted_only_in_one_proxy_authorization_header),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
