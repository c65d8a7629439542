/* Host patterns: which are accepted, what they match, and how they cover and intersect each other. */
#include "test_policy_fixture.h"

#include "policy/default_ports.h"

static struct arena *arena;

static int setup(void **state)
{
        (void)state;
        arena = arena_new(256 << 20);
        return arena ? 0 : -1;
}

static int teardown(void **state)
{
        (void)state;
        arena_free(arena);
        return 0;
}

static const char *parse(const char *text, to_ascii_function *to_ascii, struct host_pattern *ret)
{
        return host_pattern_parse(arena, text, to_ascii, ret);
}

static void test_patterns_are_printed_in_canonical_form(void **state)
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
                struct host_pattern d;
                char text[HOST_PATTERN_TEXT_SIZE];
                const char *error = parse(rows[i].text, fake_to_ascii, &d);
                if (error)
                        fail_msg("'%s' was refused: %s", rows[i].text, error);
                host_pattern_print(&d, text);
                assert_string_equal(text, rows[i].canonical);
                assert_null(parse(text, NULL, &d)); /* the canonical form needs no conversion */
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

static void test_malformed_patterns_are_refused(void **state)
{
        (void)state;
        for (size_t i = 0; refused[i]; i++) {
                struct host_pattern d;
                if (!parse(refused[i], fake_to_ascii, &d))
                        fail_msg("'%s' was accepted as '%s'", refused[i], d.name);
        }
}

/* Names that a box asks for are checked in the same way, and are never patterns. */
static void test_requested_name_is_not_a_pattern(void **state)
{
        (void)state;
        char name[DOMAIN_MAX + 1];
        for (size_t i = 0; refused[i]; i++)
                if (!host_name_canonicalize(refused[i], fake_to_ascii, name))
                        fail_msg("'%s' was accepted as '%s'", refused[i], name);
        assert_non_null(host_name_canonicalize("*.example.com", NULL, name));
        assert_non_null(host_name_canonicalize("example.com:443", NULL, name));
        assert_null(host_name_canonicalize("Example.COM.", NULL, name));
        assert_string_equal(name, "example.com");
}

static const char *hostile_answer;

static bool hostile_to_ascii(const char *name, char *ret, size_t size)
{
        (void)name;
        return (size_t)snprintf(ret, size, "%s", hostile_answer) < size;
}

static void test_result_of_to_ascii_is_checked(void **state)
{
        (void)state;
        static const char *const answers[] = { "",     "*",         "*.com", "a/b",  "a b", "127.0.0.1",
                                               "a..b", "a\xc3\xbc", "a@b",   "a:80", ".",   "-a" };
        for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
                struct host_pattern d;
                hostile_answer = answers[i];
                if (!parse("ü.example", hostile_to_ascii, &d))
                        fail_msg("the answer '%s' was accepted as '%s'", answers[i], d.name);
        }
        struct host_pattern d;
        hostile_answer = "com";
        assert_non_null(parse("*.ü", hostile_to_ascii, &d));
        hostile_answer = "Example.COM.";
        assert_null(parse("ü", hostile_to_ascii, &d));
        assert_string_equal(d.name, "example.com");
        assert_non_null(parse("bücher.example", NULL, &d));
}

/* Makes a name of `length` characters with labels of `label` characters. */
static void make_name(char *name, size_t length, size_t label)
{
        for (size_t i = 0; i < length; i++)
                name[i] = i % (label + 1) == label ? '.' : 'a';
        name[length] = '\0';
        name[length - 1] = 'b';
}

static void test_lengths_are_limited_as_in_dns(void **state)
{
        (void)state;
        char name[POLICY_TEXT_MAX + 100];
        struct host_pattern d;
        make_name(name, 253, 63);
        assert_null(parse(name, NULL, &d));
        make_name(name, 254, 63);
        assert_non_null(parse(name, NULL, &d));
        make_name(name, 63, 63);
        assert_null(parse(name, NULL, &d));
        make_name(name, 64, 64);
        assert_non_null(parse(name, NULL, &d));
        make_name(name, POLICY_TEXT_MAX + 50, 63);
        assert_non_null(parse(name, NULL, &d));
        char canonical[DOMAIN_MAX + 1];
        assert_non_null(host_name_canonicalize(name, NULL, canonical));
}

static void test_patterns_match_whole_labels(void **state)
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
                { "*.example.com", "www.example.com", 443, true },
                { "*.example.com", "a.b.example.com", 443, true },
                { "*.example.com", "example.com", 443, false },
                { "*.example.com", "evilexample.com", 443, false },
                { "*.example.com", ".example.com", 443, false },
                { "*.example.com:443", "www.example.com", 80, false },
                { "*.example.com", "example.com.evil.org", 443, false },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                for (enum portless portless = PORTLESS_EVERY; portless <= PORTLESS_DEFAULT; portless++) {
                        struct host_pattern d;
                        assert_null(parse(rows[i].pattern, NULL, &d));
                        if (host_pattern_match(&d, portless, rows[i].name, rows[i].port) != rows[i].match)
                                fail_msg("%s and %s:%u", rows[i].pattern, rows[i].name, rows[i].port);
                }
}

/* The default ports are 443 and 80, and 22 for git hosts, by the requested name. A denial is for all ports. */
static void test_pattern_without_a_port_matches_the_default_ports(void **state)
{
        (void)state;
        static const struct {
                const char *pattern, *name;
                uint16_t port;
                bool by_default;
        } rows[] = {
                { "example.com", "example.com", 443, true },
                { "example.com", "example.com", 80, true },
                { "example.com", "example.com", 22, false },
                { "example.com", "example.com", 8443, false },
                { "example.com", "example.com", 1, false },
                { "example.com", "example.com", 65535, false },
                { "example.com", "example.com", 0, false },
                { "github.com", "github.com", 22, true },
                { "gitlab.com", "gitlab.com", 22, true },
                { "git.sr.ht", "git.sr.ht", 22, true },
                { "github.com", "github.com", 23, false },
                { "*.github.com", "gist.github.com", 22, true },
                { "*.github.com", "api.github.com", 22, false },
                { "*.github.com", "ssh.github.com", 22, false },
                { "*.github.com", "x.gist.github.com", 22, false },
                { "*.example.com", "a.example.com", 80, true },
                { "*.example.com", "a.example.com", 22, false },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct host_pattern d;
                assert_null(parse(rows[i].pattern, NULL, &d));
                assert_true(host_pattern_match_name(&d, rows[i].name));
                assert_true(host_pattern_match(&d, PORTLESS_EVERY, rows[i].name, rows[i].port));
                if (host_pattern_match(&d, PORTLESS_DEFAULT, rows[i].name, rows[i].port) != rows[i].by_default)
                        fail_msg("%s and %s:%u", rows[i].pattern, rows[i].name, rows[i].port);
                d.port = 7;
                assert_true(host_pattern_match(&d, PORTLESS_DEFAULT, rows[i].name, 7));
                assert_false(host_pattern_match(&d, PORTLESS_DEFAULT, rows[i].name, rows[i].port));
        }
}

static void test_names_of_git_hosts_are_canonical(void **state)
{
        (void)state;
        for (size_t i = 0; git_hosts[i]; i++) {
                char canonical[DOMAIN_MAX + 1];
                assert_null(host_name_canonicalize(git_hosts[i], NULL, canonical));
                assert_string_equal(canonical, git_hosts[i]);
                assert_true(port_is_default(git_hosts[i], 22));
        }
        for (size_t i = 0; i < DEFAULT_PORT_COUNT; i++)
                assert_true(port_is_default("github.com", default_ports[i]));
        assert_false(port_is_default(NULL, 22));
        assert_true(port_is_default(NULL, 443) && port_is_default(NULL, 80));
}

/* Small sets of patterns, names and ports, of which every combination is tried. */
static const char *const small_patterns[] = {
        "b.c",          "b.c:1",         "*.b.c",           "*.b.c:1",       "a.b.c",              "a.b.c:1",
        "a.b.c:443",    "*.a.b.c",       "*.a.b.c:443",     "ab.c",          "x.ab.c",             "*.ab.c",
        "c",            "c:1",           "z.a.b.c",         "z.a.b.c:1",     "*.a.b.c:80",         "github.com",
        "github.com:1", "github.com:22", "gist.github.com", "*.github.com",  "gist.github.com:22", "*.github.com:1",
        "a.b.c:22",     "*.b.c:22",      "*.github.com:22", "github.com:80", "api.github.com:22",
};
static const char *const small_names[] = {
        "c",      "b.c",    "a.b.c",   "q.b.c", "z.a.b.c",    "q.a.b.c",         "ab.c",
        "x.ab.c", "q.ab.c", "z.q.b.c", "d",     "github.com", "gist.github.com", "api.github.com",
        "z.github.com",
};
static const uint16_t small_ports[] = { 1, 22, 80, 443, 444 };

static bool matches_both(const struct host_pattern *a, const struct host_pattern *b, enum portless portless,
                         size_t name, size_t port)
{
        return host_pattern_match(a, portless, small_names[name], small_ports[port]) &&
               host_pattern_match(b, portless, small_names[name], small_ports[port]);
}

/* Ceilings rely on host_pattern_covers(), so it is compared with matching, for every pair. */
static void check_covers(const struct host_pattern *outer, const struct host_pattern *inner, enum portless portless)
{
        bool all = true;
        for (size_t n = 0; n < ARRAY_SIZE(small_names); n++)
                for (size_t p = 0; p < ARRAY_SIZE(small_ports); p++)
                        all &= !host_pattern_match(inner, portless, small_names[n], small_ports[p]) ||
                               matches_both(outer, inner, portless, n, p);
        if (host_pattern_covers(outer, inner, portless) != all)
                fail_msg("%s:%u covers %s:%u is %d", outer->name, outer->port, inner->name, inner->port, !all);
}

/* The names below a wildcard that have port 22 by default are in a table; one pattern cannot express them. */
static bool needs_table(const struct host_pattern *a, const struct host_pattern *b, enum portless portless)
{
        return portless == PORTLESS_DEFAULT && a->wildcard && b->wildcard && a->port + b->port == 22;
}

static void check_intersection(const struct host_pattern *a, const struct host_pattern *b, enum portless portless)
{
        struct host_pattern intersection = { .name = "unset" };
        bool intersects = host_pattern_intersect(a, b, portless, &intersection);
        assert_true(intersects || strcmp(intersection.name, "unset") == 0);
        for (size_t n = 0; n < ARRAY_SIZE(small_names); n++)
                for (size_t p = 0; p < ARRAY_SIZE(small_ports); p++) {
                        bool matches = intersects &&
                                       host_pattern_match(&intersection, portless, small_names[n], small_ports[p]);
                        bool expected = matches_both(a, b, portless, n, p) && !needs_table(a, b, portless);
                        if (matches != expected)
                                fail_msg("%s:%u and %s:%u: %s:%u is %d", a->name, a->port, b->name, b->port,
                                         small_names[n], small_ports[p], matches);
                }
}

static void test_covering_and_intersecting_agree_with_matching(void **state)
{
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(small_patterns); i++)
                for (size_t j = 0; j < ARRAY_SIZE(small_patterns); j++)
                        for (enum portless portless = PORTLESS_EVERY; portless <= PORTLESS_DEFAULT; portless++) {
                                struct host_pattern a, b;
                                assert_null(parse(small_patterns[i], NULL, &a));
                                assert_null(parse(small_patterns[j], NULL, &b));
                                check_covers(&a, &b, portless);
                                check_intersection(&a, &b, portless);
                        }
}

static void test_random_bytes_are_refused_or_become_a_valid_name(void **state)
{
        (void)state;
        static const char alphabet[] = "aB1.-_*:/@[]% \t\x01\x7f\xc3\xbc\xff";
        unsigned long long seed = 42;
        for (size_t i = 0; i < 200000; i++) {
                char text[24];
                size_t length = random_below(&seed, sizeof text);
                for (size_t j = 0; j < length; j++)
                        text[j] = alphabet[random_below(&seed, sizeof alphabet - 1)];
                text[length] = '\0';
                struct host_pattern d;
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
                cmocka_unit_test(test_patterns_are_printed_in_canonical_form),
                cmocka_unit_test(test_malformed_patterns_are_refused),
                cmocka_unit_test(test_requested_name_is_not_a_pattern),
                cmocka_unit_test(test_result_of_to_ascii_is_checked),
                cmocka_unit_test(test_lengths_are_limited_as_in_dns),
                cmocka_unit_test(test_patterns_match_whole_labels),
                cmocka_unit_test(test_pattern_without_a_port_matches_the_default_ports),
                cmocka_unit_test(test_names_of_git_hosts_are_canonical),
                cmocka_unit_test(test_covering_and_intersecting_agree_with_matching),
                cmocka_unit_test(test_random_bytes_are_refused_or_become_a_valid_name),
        };
        return cmocka_run_group_tests(tests, setup, teardown);
}
