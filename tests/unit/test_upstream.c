/* The user's own proxy: how it is parsed, which hosts are reached without it, and the CONNECT request to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "egress/upstream_proxy.h"

static void test_proxy_url_is_parsed(void **state)
{
        (void)state;
        static const struct {
                const char *text, *host;
                uint16_t port;
                const char *authorization;
        } rows[] = {
                { "http://proxy.example:3128", "proxy.example", 3128, NULL },
                { "HTTP://Proxy.Example:3128/", "proxy.example", 3128, NULL },
                { "proxy.example:8080", "proxy.example", 8080, NULL },
                { "http://proxy.example", "proxy.example", 80, NULL },
                { "http://192.0.2.1:3128", "192.0.2.1", 3128, NULL },
                { "http://[2001:db8::1]:3128", "2001:db8::1", 3128, NULL },
                { "http://me:secret@proxy.example:3128", "proxy.example", 3128, "Basic bWU6c2VjcmV0" },
                { "http://me:a%40b%3ac@proxy.example:3128", "proxy.example", 3128, "Basic bWU6YUBiOmM=" },
                { "http://me:a@b@proxy.example:3128", "proxy.example", 3128, "Basic bWU6YUBi" },
                { "http://me@proxy.example:3128", "proxy.example", 3128, "Basic bWU6" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct upstream_proxy u;
                assert_null(upstream_proxy_parse(rows[i].text, NULL, &u));
                assert_true(u.is_set);
                assert_string_equal(u.proxy.host, rows[i].host);
                assert_int_equal(u.proxy.port, rows[i].port);
                if (rows[i].authorization)
                        assert_string_equal(u.authorization.data, rows[i].authorization);
                else
                        assert_int_equal(u.authorization.length, 0);
                upstream_proxy_done(&u);
        }
}

static void test_proxy_urls_that_cannot_be_used_are_refused(void **state)
{
        (void)state;
        static const char *const rows[] = {
                "https://proxy.example:3128",
                "socks5://proxy.example:1080",
                "ftp://x",
                "://proxy",
                "http://",
                "http://:3128",
                "http://proxy.example:0",
                "http://proxy.example:65536",
                "http://proxy.example:x",
                "http://me:%4@proxy.example",
                "http://me:%zz@proxy.example",
                "http://pro xy.example",
                "http://[::1:3128",
                "http://a@",
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct upstream_proxy u = { .is_set = false };
                assert_non_null(upstream_proxy_parse(rows[i], "example.com", &u));
                assert_false(u.is_set);
        }
}

static void test_without_a_proxy_every_host_is_reached_directly(void **state)
{
        (void)state;
        static const char *const rows[] = { NULL, "" };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct upstream_proxy u;
                assert_null(upstream_proxy_parse(rows[i], "example.com", &u));
                assert_false(upstream_proxy_applies(&u, "example.org", 443));
                upstream_proxy_done(&u);
        }
}

static void test_no_proxy_decides_which_hosts_are_reached_directly(void **state)
{
        (void)state;
        static const struct {
                const char *list, *host;
                uint16_t port;
                bool through_proxy;
        } rows[] = {
                { NULL, "example.com", 443, true },
                { "", "example.com", 443, true },
                { " , ,", "example.com", 443, true },
                { "*", "example.com", 443, false },
                { "example.com", "example.com", 443, false },
                { "example.com", "www.example.com", 443, false },
                { "example.com", "notexample.com", 443, true },
                { "example.com", "example.com.evil.org", 443, true },
                { "example.com", "com", 443, true },
                { ".example.com", "www.example.com", 443, false },
                { ".example.com", "example.com", 443, false },
                { "*.example.com", "www.example.com", 443, false },
                { "EXAMPLE.com", "www.example.com", 443, false },
                { "example.com:8443", "example.com", 8443, false },
                { "example.com:8443", "example.com", 443, true },
                { "example.com:x", "example.com", 443, true },
                { "localhost, 10.0.0.0/8,example.com", "www.example.com", 80, false },
                { "localhost 127.0.0.1\texample.com", "example.com", 80, false },
                { ".", "example.com", 443, true },
                { "*.", "example.com", 443, true },
                { "*.,example.org", "example.com", 443, true },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct upstream_proxy u;
                assert_null(upstream_proxy_parse("http://proxy.example:3128", rows[i].list, &u));
                assert_int_equal(upstream_proxy_applies(&u, rows[i].host, rows[i].port), rows[i].through_proxy);
                upstream_proxy_done(&u);
        }
}

static void test_connect_request_has_the_credentials(void **state)
{
        (void)state;
        struct upstream_proxy u;
        struct text out = { 0 };
        assert_null(upstream_proxy_parse("http://me:secret@proxy.example:3128", NULL, &u));
        upstream_proxy_write_connect(&u, "example.com", 443, &out);
        assert_string_equal(out.data, "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n"
                                      "Proxy-Authorization: Basic bWU6c2VjcmV0\r\n\r\n");
        text_done(&out);
        upstream_proxy_done(&u);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_proxy_url_is_parsed),
                cmocka_unit_test(test_proxy_urls_that_cannot_be_used_are_refused),
                cmocka_unit_test(test_without_a_proxy_every_host_is_reached_directly),
                cmocka_unit_test(test_no_proxy_decides_which_hosts_are_reached_directly),
                cmocka_unit_test(test_connect_request_has_the_credentials),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
