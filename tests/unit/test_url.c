/* The URL filter: which URLs and redirects may be fetched. */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "policy/url_filter.h"

/* Some international names, mapped as by libidn2. */
static bool fake_to_ascii(const char *name, char *ret, size_t size)
{
        static const struct {
                const char *name, *ascii;
        } rows[] = {
                { "bücher.example", "xn--bcher-kva.example" },
                { "example。com", "example.com" },       /* U+3002 */
                { "ｌｏｃａｌｈｏｓｔ", "localhost" },
                { "metadata．google．internal", "metadata.google.internal" }, /* U+FF0E */
                { "127。0。0。1", "127.0.0.1" },
                { "１２７.0.0.1", "127.0.0.1" },
                { "①②⑦.0.0.1", "127.0.0.1" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                if (strcmp(rows[i].name, name) == 0)
                        return (size_t)snprintf(ret, size, "%s", rows[i].ascii) < size;
        return false;
}

static struct url parse_valid(const char *text)
{
        struct url u;
        struct error e = { 0 };
        if (url_parse(text, fake_to_ascii, &u, &e) != 0)
                fail_msg("'%s' was refused: %s", text, e.text);
        return u;
}

static void check_printed(const struct url *u, const char *expected)
{
        CLEANUP_TEXT struct text printed = { 0 };
        url_print(u, &printed);
        assert_string_equal(printed.data, expected);
}

/* Checks that the URL is refused with this code and a message that contains `part`, and that *ret is not changed. */
static void check_refused(const char *text, int code, const char *part)
{
        struct url u = { .port = 7 };
        struct error e = { 0 };
        int r = url_parse(text, fake_to_ascii, &u, &e);
        if (r != -code || !strstr(e.text, part))
                fail_msg("'%s': %d '%s' instead of %d '%s'", text, r, e.text, -code, part);
        assert_int_equal(u.port, 7);
        assert_int_equal(url_parse(text, fake_to_ascii, &u, NULL), -code);
}

static void test_urls_are_printed_in_canonical_form(void **state)
{
        (void)state;
        static const struct {
                const char *text, *printed;
        } rows[] = {
                { "https://example.com", "https://example.com/" },
                { "HTTPS://EXAMPLE.com.", "https://example.com/" },
                { "http://example.com:80/", "http://example.com/" },
                { "http://example.com:443/", "http://example.com:443/" },
                { "https://example.com:443?q", "https://example.com/?q" },
                { "https://example.com:65535/", "https://example.com:65535/" },
                { "https://example.com/a/b?c=d&e#f", "https://example.com/a/b?c=d&e" },
                { "https://example.com#/f?x", "https://example.com/" },
                { "https://example.com/a/./b/../c", "https://example.com/a/c" },
                { "https://example.com/../../x", "https://example.com/x" },
                { "https://example.com/a/..", "https://example.com/" },
                { "https://example.com/a/.", "https://example.com/a/" },
                { "https://example.com/a//b/..", "https://example.com/a//" },
                { "https://example.com/...", "https://example.com/..." },
                { "https://example.com/?a/../b", "https://example.com/?a/../b" },
                { "https://example.com/%41%2f%00", "https://example.com/%41%2f%00" },
                { "https://example.com/ü?ö=\"<>", "https://example.com/%C3%BC?%C3%B6=%22%3C%3E" },
                { "https://example.com/@:x@y", "https://example.com/@:x@y" },
                { "https://bücher.example/", "https://xn--bcher-kva.example/" },
                { "https://example。com/", "https://example.com/" },
                { "http://8.8.8.8/", "http://8.8.8.8/" },
                { "http://8.8.8.8./", "http://8.8.8.8/" },
                { "http://[2606:4700:0::1111]:8080/", "http://[2606:4700::1111]:8080/" },
                { "http://[2606:4700::ABCD]", "http://[2606:4700::abcd]/" },
                { "https://1.example.com/", "https://1.example.com/" },
                { "https://notlocalhost.com/", "https://notlocalhost.com/" },
                { "https://internal.example/", "https://internal.example/" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct url u = parse_valid(rows[i].text);
                check_printed(&u, rows[i].printed);
                struct url again = parse_valid(rows[i].printed);
                check_printed(&again, rows[i].printed);
                assert_string_equal(again.target, u.target);
                assert_int_equal(again.path_length, u.path_length);
        }
}

static void test_parts_of_a_url_are_parsed(void **state)
{
        (void)state;
        struct url u = parse_valid("https://example.com:8443/p/q?a=b#c");
        assert_true(u.secure);
        assert_string_equal(u.host, "example.com");
        assert_int_equal(u.port, 8443);
        assert_false(u.is_address);
        assert_string_equal(u.target, "/p/q?a=b");
        assert_int_equal(u.path_length, 4);
        u = parse_valid("http://[2606:4700::1]/");
        assert_false(u.secure);
        assert_true(u.is_address);
        assert_string_equal(u.host, "2606:4700::1");
        assert_int_equal(u.port, 80);
}

static void test_malformed_urls_are_refused(void **state)
{
        (void)state;
        static const struct {
                const char *text, *part;
        } rows[] = {
                { "", "does not begin with https://" },
                { "example.com", "does not begin with https://" },
                { "//example.com", "does not begin with https://" },
                { "file:///etc/passwd", "does not begin with https://" },
                { "ftp://example.com/", "does not begin with https://" },
                { "gopher://example.com/", "does not begin with https://" },
                { "http:example.com", "does not begin with https://" },
                { "http:/example.com", "does not begin with https://" },
                { "https:\\\\example.com", "backslash at byte 7" },
                { "https://example.com\\@evil.example/", "backslash at byte 20" },
                { " https://example.com", "space at byte 1; write %20" },
                { "https://example.com/a b", "space at byte 22" },
                { "https://example.com/\t", "control character at byte 21" },
                { "https://exam\nple.com/", "control character at byte 13" },
                { "https://example.com/\r\nHost: x", "control character at byte 21" },
                { "https://example.com/\x7f", "control character at byte 21" },
                { "https://example.com/\xff", "not UTF-8 at byte 21" },
                { "https://example.com/%", "% at byte 21 without two hexadecimal digits" },
                { "https://example.com/%4", "% at byte 21" },
                { "https://example.com/%zz", "% at byte 21" },
                { "https://user@example.com/", "user name" },
                { "https://user:password@example.com/", "user name" },
                { "https://@example.com/", "user name" },
                { "https://example.com@127.0.0.1/", "user name" },
                { "https:///path", "no host" },
                { "https://:443/", "no host" },
                { "https://?x", "no host" },
                { "https://example.com:/", "port" },
                { "https://example.com:0/", "port" },
                { "https://example.com:65536/", "port" },
                { "https://example.com:99999999999999999999/", "port" },
                { "https://example.com:080/", "port" },
                { "https://example.com:+80/", "port" },
                { "https://example.com:80:80/", "port" },
                { "http://::1/", "port" },
                { "https://exa%6dple.com/", "not a name" },
                { "https://ex\"ample.com/", "not a name" },
                { "https://a..example.com/", "label of the name is empty" },
                { "https://./", "empty" },
                { "https://example.com../", "empty" },
                { "https://*.example.com/", "not a name" },
                { "https://☃.example/", "no ASCII form" },
                { "http://127。0。0。1/", "an address is not a name" },
                { "http://１２７.0.0.1/", "an address is not a name" },
                { "http://①②⑦.0.0.1/", "an address is not a name" },
                { "http://example.123/", "ends in a number like an address, but is not one" },
                { "http://1.2.3.4.5/", "but is not one" },
                { "http://256.256.256.256/", "but is not one" },
                { "http://4294967296/", "but is not one" },
                { "http://example.0x1f/", "but is not one" },
                { "http://0x08080808/", "odd spelling of an address; write 8.8.8.8" },
                { "http://8.8.2056/", "odd spelling of an address; write 8.8.8.8" },
                { "http://010.8.8.8/", "odd spelling of an address; write 8.8.8.8" },
                { "http://[fe80::1%25eth0]/", "zone" },
                { "http://[::1/", "do not close" },
                { "http://[::1]x/", "something after them" },
                { "http://[]/", "not an IPv6 address" },
                { "http://[127.0.0.1]/", "not an IPv6 address" },
                { "http://[1:2]/", "not an IPv6 address" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                check_refused(rows[i].text, EINVAL, rows[i].part);
}

static void test_names_of_this_machine_and_private_networks_are_refused(void **state)
{
        (void)state;
        static const struct {
                const char *host, *part;
        } rows[] = {
                { "localhost", "localhost may not be fetched from: it means this machine" },
                { "LOCALHOST.", "localhost may not be fetched from: it means this machine" },
                { "a.localhost", "means this machine" },
                { "ｌｏｃａｌｈｏｓｔ", "localhost may not be fetched from" },
                { "localhost.localdomain", "means this machine or its network" },
                { "printer.local", "on the same link" },
                { "metadata", "metadata service of a cloud" },
                { "instance-data", "metadata service of a cloud" },
                { "metadata.google.internal", "metadata service of a cloud" },
                { "metadata.google.internal.", "metadata service of a cloud" },
                { "metadata．google．internal", "metadata service of a cloud" },
                { "metadata.goog", "metadata service of a cloud" },
                { "vault.internal", "vault.internal may not be fetched from: it is a name for private networks" },
                { "ip-10-0-0-1.ec2.internal", "private networks" },
                { "router.home.arpa", "private networks" },
                { "kubernetes.default.svc", "a service inside a cluster" },
                { "a.svc.cluster.local", "on the same link" },
                { "intranet", "only one label" },
                { "com", "only one label" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                char text[256];
                (void)snprintf(text, sizeof text, "https://%s/", rows[i].host);
                check_refused(text, EACCES, rows[i].part);
        }
}

static void test_private_addresses_are_refused_in_any_notation(void **state)
{
        (void)state;
        static const struct {
                const char *host, *part;
        } rows[] = {
                { "127.0.0.1", "127.0.0.1 may not be fetched from: it is in 127.0.0.0/8, loopback: this machine" },
                { "127.0.0.1.", "127.0.0.0/8" },
                { "127.1", "127.1 may not be fetched from: its address 127.0.0.1 is in 127.0.0.0/8" },
                { "0x7f.1", "its address 127.0.0.1 is in 127.0.0.0/8" },
                { "0X7F000001", "127.0.0.0/8" },
                { "0177.0.0.1", "127.0.0.0/8" },
                { "2130706433", "127.0.0.0/8" },
                { "017700000001", "127.0.0.0/8" },
                { "0", "0.0.0.0/32" },
                { "0.0.0.0", "0.0.0.0/32" },
                { "0x0a.1", "10.0.0.0/8" },
                { "169.254.169.254", "169.254.169.254/32, the metadata service of a cloud" },
                { "2852039166", "169.254.169.254/32" },
                { "[::1]", "::1/128" },
                { "[0:0:0:0:0:0:0:1]", "::1/128" },
                { "[::]", "::/128" },
                { "[::ffff:127.0.0.1]", "::ffff:0:0/96" },
                { "[::ffff:8.8.8.8]", "::ffff:0:0/96" },
                { "[::127.0.0.1]", "::/96" },
                { "[64:ff9b::8.8.8.8]", "64:ff9b::/96" },
                { "[2002:7f00:1::]", "2002::/16" },
                { "[fd00:ec2::254]", "fd00:ec2::254/128, the metadata service" },
                { "[fe80::1]", "fe80::/10" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                char text[256];
                (void)snprintf(text, sizeof text, "http://%s/", rows[i].host);
                check_refused(text, EACCES, rows[i].part);
        }
}

static void test_length_of_a_url_is_limited(void **state)
{
        (void)state;
        static char text[URL_MAX + 64];
        static const char start[] = "https://example.com/";
        struct url u;
        for (int encoded = 0; encoded < 2; encoded++) {
                memset(text, 0, sizeof text);
                memcpy(text, start, strlen(start));
                memset(text + strlen(start), encoded ? '"' : 'a', URL_MAX - strlen(start));
                if (encoded)
                        check_refused(text, EINVAL, "longer than 8192 bytes when it is encoded");
                else
                        assert_int_equal(url_parse(text, NULL, &u, NULL), 0);
                text[URL_MAX] = 'a';
                check_refused(text, EINVAL, "longer than 8192 bytes");
        }
        memset(text, 0, sizeof text);
        memcpy(text, "http://", 7);
        memset(text + 7, '1', 5000);
        check_refused(text, EINVAL, "host of the URL is too long");
}

/* --- addresses --- */

static union address parse_address(const char *text)
{
        union address a = { 0 };
        a.any.sa_family = strchr(text, ':') ? AF_INET6 : AF_INET;
        void *bytes = strchr(text, ':') ? (void *)&a.v6.sin6_addr : &a.v4.sin_addr;
        if (inet_pton(a.any.sa_family, text, bytes) != 1)
                fail_msg("%s is not an address", text);
        return a;
}

static void test_text_and_the_bytes_of_each_range_agree(void **state)
{
        (void)state;
        size_t count = 0;
        for (const struct address_range *range; (range = address_blocked_range_at(count)); count++) {
                char text[64], bits[8];
                (void)snprintf(text, sizeof text, "%s", range->text);
                char *slash = strchr(text, '/');
                assert_non_null(slash);
                *slash = '\0';
                (void)snprintf(bits, sizeof bits, "%u", range->bits);
                assert_string_equal(slash + 1, bits);
                union address a = parse_address(text);
                size_t size = strchr(text, ':') ? 16 : 4;
                assert_memory_equal(range->bytes, size == 16 ? (void *)&a.v6.sin6_addr : &a.v4.sin_addr, size);
                assert_non_null(address_find_refused_range(&a));
                assert_true(address_find_refused_range(&a)->bits >= range->bits); /* the narrowest range */
        }
        assert_true(count > 40);
}

static const struct {
        const char *address, *range; /* NULL: may be dialled */
} range_rows[] = {
        { "0.255.255.255", "0.0.0.0/8" },
        { "1.0.0.0", NULL },
        { "1.1.1.1", NULL },
        { "9.255.255.255", NULL },
        { "10.255.255.255", "10.0.0.0/8" },
        { "11.0.0.0", NULL },
        { "100.63.255.255", NULL },
        { "100.64.0.0", "100.64.0.0/10" },
        { "100.100.100.200", "100.100.100.200/32" },
        { "100.127.255.255", "100.64.0.0/10" },
        { "100.128.0.0", NULL },
        { "126.255.255.255", NULL },
        { "127.255.255.254", "127.0.0.0/8" },
        { "128.0.0.0", NULL },
        { "168.63.129.15", NULL },
        { "168.63.129.16", "168.63.129.16/32" },
        { "168.63.129.17", NULL },
        { "169.253.255.255", NULL },
        { "169.254.0.0", "169.254.0.0/16" },
        { "169.254.170.2", "169.254.170.2/32" },
        { "169.255.0.0", NULL },
        { "172.15.255.255", NULL },
        { "172.16.0.0", "172.16.0.0/12" },
        { "172.31.255.255", "172.16.0.0/12" },
        { "172.32.0.0", NULL },
        { "192.0.0.1", "192.0.0.0/24" },
        { "192.0.0.192", "192.0.0.192/32" },
        { "192.0.1.0", NULL },
        { "192.0.2.1", "192.0.2.0/24" },
        { "192.0.3.0", NULL },
        { "192.88.99.1", "192.88.99.0/24" },
        { "192.167.255.255", NULL },
        { "192.168.1.1", "192.168.0.0/16" },
        { "192.169.0.0", NULL },
        { "198.17.255.255", NULL },
        { "198.18.0.1", "198.18.0.0/15" },
        { "198.19.255.255", "198.18.0.0/15" },
        { "198.20.0.0", NULL },
        { "198.51.100.7", "198.51.100.0/24" },
        { "203.0.113.7", "203.0.113.0/24" },
        { "203.0.114.0", NULL },
        { "223.255.255.255", NULL },
        { "224.0.0.1", "224.0.0.0/4" },
        { "239.255.255.255", "224.0.0.0/4" },
        { "240.0.0.1", "240.0.0.0/4" },
        { "255.255.255.255", "255.255.255.255/32" },
        { "::", "::/128" },
        { "::1", "::1/128" },
        { "::2", "::/96" },
        { "::8.8.8.8", "::/96" },
        { "::ffff:8.8.8.8", "::ffff:0:0/96" },
        { "::ffff:0:8.8.8.8", "::ffff:0:0:0/96" },
        { "64:ff9b::808:808", "64:ff9b::/96" },
        { "64:ff9b:1:ffff::1", "64:ff9b:1::/48" },
        { "64:ff9b:2::", "::/3" },
        { "100::1", "100::/64" },
        { "100:0:0:1::1", "::/3" },
        { "1fff:ffff::1", "::/3" },
        { "2000::1", NULL },
        { "2001::1", "2001::/32" },
        { "2001:2::1", "2001:2::/48" },
        { "2001:10::1", "2001:10::/28" },
        { "2001:1f::1", "2001:10::/28" },
        { "2001:20::1", "2001:20::/28" },
        { "2001:30::1", "2001::/23" },
        { "2001:1ff::1", "2001::/23" },
        { "2001:200::1", NULL },
        { "2001:db7::1", NULL },
        { "2001:db8:ffff::1", "2001:db8::/32" },
        { "2001:db9::1", NULL },
        { "2001:4860:4860::8888", NULL },
        { "2002:808:808::1", "2002::/16" },
        { "2003::1", NULL },
        { "2606:4700:4700::1111", NULL },
        { "3ffe:ffff::1", NULL },
        { "3fff:fff::1", "3fff::/20" },
        { "3fff:1000::1", NULL },
        { "4000::1", "4000::/2" },
        { "8000::1", "8000::/1" },
        { "fbff::1", "8000::/1" },
        { "fc00::1", "fc00::/7" },
        { "fd00:ec2::253", "fc00::/7" },
        { "fd00:ec2::254", "fd00:ec2::254/128" },
        { "fd20:ce::254", "fd20:ce::254/128" },
        { "fe00::1", "8000::/1" },
        { "fe80::1", "fe80::/10" },
        { "febf::1", "fe80::/10" },
        { "fec0::1", "fec0::/10" },
        { "ff02::1", "ff00::/8" },
};

static void test_first_and_last_addresses_of_ranges(void **state)
{
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(range_rows); i++) {
                union address a = parse_address(range_rows[i].address);
                const struct address_range *range = address_find_refused_range(&a);
                if (strcmp(range ? range->text : "", range_rows[i].range ? range_rows[i].range : "") != 0)
                        fail_msg("%s: %s instead of %s", range_rows[i].address, range ? range->text : "none",
                                 range_rows[i].range);
        }
}

static void test_other_families_are_refused(void **state)
{
        (void)state;
        union address a = { .any.sa_family = AF_UNIX };
        char text[ADDRESS_TEXT_SIZE];
        assert_non_null(address_find_refused_range(&a));
        address_print(&a, text);
        assert_string_equal(text, "an unknown address");
        a.any.sa_family = AF_UNSPEC;
        assert_non_null(address_find_refused_range(&a));
}

/* --- redirects --- */

static void test_location_is_resolved_as_in_the_rfc(void **state)
{
        (void)state;
        static const struct {
                const char *location, *target;
        } rows[] = { /* RFC 3986, 5.4 */
                { "http://g.example/x", "http://g.example/x" },
                { "g", "http://a.example/b/c/g" },
                { "./g", "http://a.example/b/c/g" },
                { "g/", "http://a.example/b/c/g/" },
                { "/g", "http://a.example/g" },
                { "//g.example", "http://g.example/" },
                { "?y", "http://a.example/b/c/d;p?y" },
                { "g?y", "http://a.example/b/c/g?y" },
                { "#s", "http://a.example/b/c/d;p?q" },
                { "g#s", "http://a.example/b/c/g" },
                { "g?y#s", "http://a.example/b/c/g?y" },
                { ";x", "http://a.example/b/c/;x" },
                { "g;x", "http://a.example/b/c/g;x" },
                { "", "http://a.example/b/c/d;p?q" },
                { ".", "http://a.example/b/c/" },
                { "./", "http://a.example/b/c/" },
                { "..", "http://a.example/b/" },
                { "../", "http://a.example/b/" },
                { "../g", "http://a.example/b/g" },
                { "../..", "http://a.example/" },
                { "../../", "http://a.example/" },
                { "../../g", "http://a.example/g" },
                { "../../../g", "http://a.example/g" },
                { "../../../../g", "http://a.example/g" },
                { "/./g", "http://a.example/g" },
                { "/../g", "http://a.example/g" },
                { "g.", "http://a.example/b/c/g." },
                { ".g", "http://a.example/b/c/.g" },
                { "g..", "http://a.example/b/c/g.." },
                { "..g", "http://a.example/b/c/..g" },
                { "./../g", "http://a.example/b/g" },
                { "./g/.", "http://a.example/b/c/g/" },
                { "g/./h", "http://a.example/b/c/g/h" },
                { "g/../h", "http://a.example/b/c/h" },
                { "g;x=1/./y", "http://a.example/b/c/g;x=1/y" },
                { "g;x=1/../y", "http://a.example/b/c/y" },
                { "g?y/./x", "http://a.example/b/c/g?y/./x" },
                { "g?y/../x", "http://a.example/b/c/g?y/../x" },
                { "https://a.example", "https://a.example/" },
                { "/ü", "http://a.example/%C3%BC" },
                { "1:2", "http://a.example/b/c/1:2" },
        };
        struct url from = parse_valid("http://a.example/b/c/d;p?q#f");
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct url to;
                struct error e = { 0 };
                if (url_follow_redirect(&from, rows[i].location, fake_to_ascii, &to, &e) != 0)
                        fail_msg("'%s' was refused: %s", rows[i].location, e.text);
                check_printed(&to, rows[i].target);
                assert_int_equal(to.redirects, 1);
        }
}

static void test_redirect_keeps_its_port_and_address(void **state)
{
        (void)state;
        struct url from = parse_valid("https://[2606:4700::1]:8443/a/b"), to;
        assert_int_equal(url_follow_redirect(&from, "c", NULL, &to, NULL), 0);
        check_printed(&to, "https://[2606:4700::1]:8443/a/c");
        from = parse_valid("https://example.com:8443/");
        assert_int_equal(url_follow_redirect(&from, "//example.org/", NULL, &to, NULL), 0);
        check_printed(&to, "https://example.org/");
}

static void test_redirect_is_checked_like_a_url(void **state)
{
        (void)state;
        static const struct {
                const char *location;
                int code;
                const char *part;
        } rows[] = {
                { "http://127.0.0.1/", EACCES,
                  "a redirect of example.com is not followed: 127.0.0.1 may not be fetched from" },
                { "//localhost/", EACCES, "means this machine" },
                { "http://169.254.169.254/latest/meta-data/", EACCES, "metadata service" },
                { "https://[::ffff:10.0.0.1]/", EACCES, "::ffff:0:0/96" },
                { "http://example.com/", EACCES, "from https to http, to example.com" },
                { "HTTP://other.example/", EACCES, "from https to http, to other.example" },
                { "file:///etc/passwd", EINVAL, "does not begin with https://" },
                { "javascript:alert(1)", EINVAL, "does not begin with https://" },
                { "https:evil.example", EINVAL, "does not begin with https://" },
                { "/\\evil.example", EINVAL, "backslash" },
                { "\\\\evil.example", EINVAL, "backslash" },
                { "https://a@evil.example/", EINVAL, "user name" },
                { "/a b", EINVAL, "space" },
                { "/a\r\nSet-Cookie: x", EINVAL, "control character" },
                { "/%", EINVAL, "hexadecimal" },
                { "///evil.example", EINVAL, "no host" },
        };
        struct url from = parse_valid("https://example.com/a");
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct url to = { .port = 7 };
                struct error e = { 0 };
                int r = url_follow_redirect(&from, rows[i].location, NULL, &to, &e);
                if (r != -rows[i].code || !strstr(e.text, rows[i].part))
                        fail_msg("'%s': %d '%s' instead of '%s'", rows[i].location, r, e.text, rows[i].part);
                assert_int_equal(to.port, 7);
                assert_int_equal(url_follow_redirect(&from, rows[i].location, NULL, &to, NULL), -rows[i].code);
        }
}

static void test_number_of_redirects_is_limited(void **state)
{
        (void)state;
        struct url u = parse_valid("https://example.com/0");
        struct error e = { 0 };
        for (unsigned i = 1; i <= URL_REDIRECTS_MAX; i++) {
                char location[16];
                (void)snprintf(location, sizeof location, "/%u", i);
                assert_int_equal(url_follow_redirect(&u, location, NULL, &u, NULL), 0);
                assert_string_equal(u.target, location);
                assert_int_equal(u.redirects, i);
        }
        assert_int_equal(url_follow_redirect(&u, "/again", NULL, &u, &e), -ELOOP);
        assert_string_equal(u.target, "/10");
        assert_string_equal(e.text, "example.com redirects once more after 10 redirects; it may be a redirect "
                                    "loop");
}

static void test_location_that_is_too_long_is_refused(void **state)
{
        (void)state;
        struct url from = parse_valid("https://example.com/a/b"), to;
        char *location = malloc(1 << 20);
        assert_non_null(location);
        memset(location, 'a', (1 << 20) - 1);
        location[(1 << 20) - 1] = '\0';
        assert_int_equal(url_follow_redirect(&from, location, NULL, &to, NULL), -EINVAL);
        location[URL_MAX] = '\0'; /* short enough alone, but not with the host */
        assert_int_equal(url_follow_redirect(&from, location, NULL, &to, NULL), -EINVAL);
        free(location);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_urls_are_printed_in_canonical_form),
                cmocka_unit_test(test_parts_of_a_url_are_parsed),
                cmocka_unit_test(test_malformed_urls_are_refused),
                cmocka_unit_test(test_names_of_this_machine_and_private_networks_are_refused),
                cmocka_unit_test(test_private_addresses_are_refused_in_any_notation),
                cmocka_unit_test(test_length_of_a_url_is_limited),
                cmocka_unit_test(test_text_and_the_bytes_of_each_range_agree),
                cmocka_unit_test(test_first_and_last_addresses_of_ranges),
                cmocka_unit_test(test_other_families_are_refused),
                cmocka_unit_test(test_location_is_resolved_as_in_the_rfc),
                cmocka_unit_test(test_redirect_keeps_its_port_and_address),
                cmocka_unit_test(test_redirect_is_checked_like_a_url),
                cmocka_unit_test(test_number_of_redirects_is_limited),
                cmocka_unit_test(test_location_that_is_too_long_is_refused),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
