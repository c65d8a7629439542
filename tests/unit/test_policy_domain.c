/* Host patterns: what is a name, what only looks like one, and that one pattern's reach is exactly what it says. */
#include "test_policy_fixture.h"

static struct arena *names;

static int setup(void **state)
{
        (void)state;
        names = arena_new(256 << 20);
        return names ? 0 : -1;
}

static int teardown(void **state)
{
        (void)state;
        arena_free(names);
        return 0;
}

static const char *parse(const char *text, domain_to_ascii *to_ascii, struct domain *ret)
{
        return domain_parse(names, text, to_ascii, ret);
}

static void test_patterns_and_their_one_spelling(void **state)
{
        (void)state;
        static const struct {
                const char *text, *canonical;
        } rows[] = {
                { "example.com", "example.com" },
                { "EXAMPLE.Com", "example.com" },
                { "example.com.", "example.com" },
                { "example.com:443", "example.com:443" },
                { "example.com.:443", "example.com:443" },
                { "*.example.com", "*.example.com" },
                { "*.EXAMPLE.com.:8443", "*.example.com:8443" },
                { "localhost", "localhost" },
                { "localhost:1", "localhost:1" },
                { "a_b.example.com", "a_b.example.com" },
                { "xn--bcher-kva.example", "xn--bcher-kva.example" },
                { "bücher.example", "xn--bcher-kva.example" },
                { "*.bücher.example:65535", "*.xn--bcher-kva.example:65535" },
                { "1password.com", "1password.com" },
                { "0x.example", "0x.example" },
                { "3.example1", "3.example1" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct domain d;
                char text[DOMAIN_TEXT_SIZE];
                const char *wrong = parse(rows[i].text, fake_to_ascii, &d);
                if (wrong)
                        fail_msg("'%s' was refused: %s", rows[i].text, wrong);
                domain_print(&d, text);
                assert_string_equal(text, rows[i].canonical);
                assert_null(parse(text, NULL, &d)); /* its canonical form needs no tables */
        }
}

static const char *const refused[] = {
        "",
        " ",
        "*",
        "*:443",
        "*.",
        "*.com",
        "*.com.",
        "*.com:443",
        "*.localhost",
        "**.example.com",
        "*.*.example.com",
        "a.*.example.com",
        "ex*mple.com",
        "*example.com",
        "*.example.*",
        "https://example.com",
        "http://",
        "://x",
        "example.com/",
        "example.com/path",
        "example.com?x",
        "example.com#x",
        "user@example.com",
        "example.com:",
        "example.com:0",
        "example.com:00443",
        "example.com:65536",
        "example.com:http",
        "example.com:-1",
        "example.com:4 3",
        "example.com:443:443",
        ":443",
        "example..com",
        ".example.com",
        "example.com..",
        ".",
        "..",
        "-example.com",
        "example-.com",
        "a.-b.com",
        "exa mple.com",
        " example.com",
        "example.com ",
        "example.com\n",
        "exa\tmple.com",
        "example.com\x7f",
        "exa\x01mple.com",
        "exa\x1b[2Jmple.com",
        "example.com,example.org",
        "a;b.com",
        "a\\b.com",
        "a(b).com",
        "example.com%00",
        "%65xample.com",
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0X7F.0X1",
        "017700000001",
        "1.2.3.0x",
        "1.2.3.4:80",
        "*.0.0.1",
        "*.1.2",
        "::1",
        "[::1]",
        "[::1]:443",
        "fe80::1",
        "::ffff:1.2.3.4",
        "1.2.3.4.",
        "unbekannt-ü.example",
        "\xff.example.com",
        "例え",
        NULL,
};

static void test_what_only_looks_like_a_host(void **state)
{
        (void)state;
        for (size_t i = 0; refused[i]; i++) {
                struct domain d;
                if (!parse(refused[i], fake_to_ascii, &d))
                        fail_msg("'%s' was accepted as '%s'", refused[i], d.name);
        }
}

/* What a box asks for goes through the same gate, and is never a pattern. */
static void test_a_name_to_dial_is_no_pattern(void **state)
{
        (void)state;
        char name[CAP_DOMAIN + 1];
        for (size_t i = 0; refused[i]; i++)
                if (!domain_canonical(refused[i], fake_to_ascii, name))
                        fail_msg("'%s' was accepted as '%s'", refused[i], name);
        assert_non_null(domain_canonical("*.example.com", NULL, name));
        assert_non_null(domain_canonical("example.com:443", NULL, name));
        assert_null(domain_canonical("Example.COM.", NULL, name));
        assert_string_equal(name, "example.com");
}

static const char *hostile_answer;

static bool hostile_to_ascii(const char *name, char *ret, size_t size)
{
        (void)name;
        return (size_t)snprintf(ret, size, "%s", hostile_answer) < size;
}

static void test_what_the_tables_answer_is_checked_again(void **state)
{
        (void)state;
        static const char *const answers[] = { "",     "*",         "*.com", "a/b",  "a b", "127.0.0.1",
                                               "a..b", "a\xc3\xbc", "a@b",   "a:80", ".",   "-a" };
        for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
                struct domain d;
                hostile_answer = answers[i];
                if (!parse("ü.example", hostile_to_ascii, &d))
                        fail_msg("the answer '%s' was accepted as '%s'", answers[i], d.name);
        }
        struct domain d;
        hostile_answer = "com";
        assert_non_null(parse("*.ü", hostile_to_ascii, &d));
        hostile_answer = "Example.COM.";
        assert_null(parse("ü", hostile_to_ascii, &d));
        assert_string_equal(d.name, "example.com");
        assert_non_null(parse("bücher.example", NULL, &d));
}

/* A name of `length` characters in labels of `label`. */
static void make_name(char *name, size_t length, size_t label)
{
        for (size_t i = 0; i < length; i++)
                name[i] = i % (label + 1) == label ? '.' : 'a';
        name[length] = '\0';
        name[length - 1] = 'b';
}

static void test_lengths_end_where_dns_ends(void **state)
{
        (void)state;
        char name[CAP_TEXT + 100];
        struct domain d;
        make_name(name, 253, 63);
        assert_null(parse(name, NULL, &d));
        make_name(name, 254, 63);
        assert_non_null(parse(name, NULL, &d));
        make_name(name, 63, 63);
        assert_null(parse(name, NULL, &d));
        make_name(name, 64, 64);
        assert_non_null(parse(name, NULL, &d));
        make_name(name, CAP_TEXT + 50, 63);
        assert_non_null(parse(name, NULL, &d));
        char canonical[CAP_DOMAIN + 1];
        assert_non_null(domain_canonical(name, NULL, canonical));
}

static void test_matching_goes_by_whole_labels(void **state)
{
        (void)state;
        static const struct {
                const char *pattern, *name;
                uint16_t port;
                bool match;
        } rows[] = {
                { "example.com", "example.com", 443, true },
                { "example.com", "evilexample.com", 443, false },
                { "example.com", "www.example.com", 443, false },
                { "example.com", "example.com.evil.org", 443, false },
                { "example.com", "xample.com", 443, false },
                { "example.com", "", 443, false },
                { "example.com:443", "example.com", 443, true },
                { "example.com:443", "example.com", 80, false },
                { "example.com", "example.com", 8080, true },
                { "*.example.com", "www.example.com", 443, true },
                { "*.example.com", "a.b.example.com", 443, true },
                { "*.example.com", "example.com", 443, false },
                { "*.example.com", "evilexample.com", 443, false },
                { "*.example.com", ".example.com", 443, false },
                { "*.example.com:443", "www.example.com", 80, false },
                { "*.example.com", "example.com.evil.org", 443, false },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct domain d;
                assert_null(parse(rows[i].pattern, NULL, &d));
                if (domain_match(&d, rows[i].name, rows[i].port) != rows[i].match)
                        fail_msg("%s and %s:%u", rows[i].pattern, rows[i].name, rows[i].port);
        }
}

/* `covers` is what a ceiling rests on, so it is compared with matching itself on every pair of a small world. */
static void test_covering_means_matching_everything(void **state)
{
        (void)state;
        static const char *const patterns[] = {
                "b.c",       "b.c:1", "*.b.c",  "*.b.c:1", "a.b.c", "a.b.c:1", "a.b.c:2", "*.a.b.c",
                "*.a.b.c:2", "ab.c",  "x.ab.c", "*.ab.c",  "c",     "c:1",     "z.a.b.c", "z.a.b.c:1",
        };
        static const char *const hosts[] = { "c",       "b.c",  "a.b.c",  "q.b.c",  "z.a.b.c",
                                             "q.a.b.c", "ab.c", "x.ab.c", "q.ab.c", "z.q.b.c" };
        for (size_t i = 0; i < ARRAY_SIZE(patterns); i++)
                for (size_t j = 0; j < ARRAY_SIZE(patterns); j++) {
                        struct domain outer, inner;
                        bool all = true;
                        assert_null(parse(patterns[i], NULL, &outer));
                        assert_null(parse(patterns[j], NULL, &inner));
                        for (size_t n = 0; n < ARRAY_SIZE(hosts); n++)
                                for (uint16_t port = 1; port <= 3; port++)
                                        all &= !domain_match(&inner, hosts[n], port) ||
                                               domain_match(&outer, hosts[n], port);
                        if (domain_covers(&outer, &inner) != all)
                                fail_msg("%s covers %s: %d", patterns[i], patterns[j], !all);
                }
}

static void test_random_bytes_never_become_a_strange_name(void **state)
{
        (void)state;
        static const char alphabet[] = "aB1.-_*:/@[]% \t\x01\x7f\xc3\xbc\xff";
        unsigned long long seed = 42;
        for (size_t i = 0; i < 200000; i++) {
                char text[24];
                size_t length = dice(&seed, sizeof text);
                for (size_t j = 0; j < length; j++)
                        text[j] = alphabet[dice(&seed, sizeof alphabet - 1)];
                text[length] = '\0';
                struct domain d;
                if (parse(text, NULL, &d))
                        continue;
                if (strspn(d.name, "ab1.-_") != strlen(d.name) || strstr(d.name, "..") || *d.name == '.' || !*d.name ||
                    d.name[strlen(d.name) - 1] == '.' || (d.wildcard && !strchr(d.name, '.')))
                        fail_msg("'%s' became '%s'", text, d.name);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_patterns_and_their_one_spelling),
                cmocka_unit_test(test_what_only_looks_like_a_host),
                cmocka_unit_test(test_a_name_to_dial_is_no_pattern),
                cmocka_unit_test(test_what_the_tables_answer_is_checked_again),
                cmocka_unit_test(test_lengths_end_where_dns_ends),
                cmocka_unit_test(test_matching_goes_by_whole_labels),
                cmocka_unit_test(test_covering_means_matching_everything),
                cmocka_unit_test(test_random_bytes_never_become_a_strange_name),
        };
        return cmocka_run_group_tests(tests, setup, teardown);
}
