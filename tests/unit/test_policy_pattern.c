/*
 * Paths and patterns as text. Matching is compared with a slow matcher, written from the documentation. Random patterns
 * that path_pattern_check() accepts are normalised and matched, as a hostile policy would do.
 */
#include "test_policy_fixture.h"

#include <time.h>

static void test_paths_are_normalised(void **state)
{
        (void)state;
        static const struct {
                const char *text, *normal;
        } rows[] = {
                { "/", "/" },
                { "//", "/" },
                { "/.", "/" },
                { "/..", "/" },
                { "/../..", "/" },
                { "/a", "/a" },
                { "/a/", "/a" },
                { "/a//", "/a" },
                { "//a", "/a" },
                { "/a/.", "/a" },
                { "/a/./b", "/a/b" },
                { "/a//b/", "/a/b" },
                { "/a/../b", "/b" },
                { "/a/..", "/" },
                { "/../a", "/a" },
                { "/a/b/../../c", "/c" },
                { "/a/...", "/a/..." },
                { "/a/..b", "/a/..b" },
                { "/a/.b", "/a/.b" },
                { "/a/b..", "/a/b.." },
                { "/.a/./..b", "/.a/..b" },
                { "/a/*/", "/a/*" },
                { "/a/./**//b", "/a/**/b" },
        };
        CLEANUP_ARENA struct arena *a = arena_new(1 << 20);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                assert_string_equal(path_normalize(a, rows[i].text), rows[i].normal);
                assert_string_equal(path_normalize(a, rows[i].normal), rows[i].normal);
        }
}

static void test_number_of_names_in_a_path_is_limited(void **state)
{
        (void)state;
        CLEANUP_ARENA struct arena *a = arena_new(1 << 20);
        char path[2 * (PATH_COMPONENTS_MAX + 1) + 1];
        for (size_t i = 0; i < sizeof path - 1; i++)
                path[i] = i % 2 ? 'a' : '/';
        path[sizeof path - 1] = '\0';
        assert_null(path_normalize(a, path));
        path[2 * PATH_COMPONENTS_MAX] = '\0';
        assert_non_null(path_normalize(a, path));
}

static void test_patterns_are_distinguished_from_literal_paths(void **state)
{
        (void)state;
        static const char *const globs[] = { "*", "a?", "[a]", "/a/**/b", "\\\\*", "a\\*b*" };
        static const char *const plain[] = { "", "/a", "\\*", "\\?\\[", "a\\", "]", "!a", "{a}", "~", "\\\\" };
        for (size_t i = 0; i < ARRAY_SIZE(globs); i++)
                assert_true(path_pattern_is_glob(globs[i]));
        for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
                assert_false(path_pattern_is_glob(plain[i]));
}

static void test_malformed_patterns_are_refused(void **state)
{
        (void)state;
        static const char *const good[] = { "/a",   "*",      "/a/**", "**/a",   "/a/**/b",     "**",  "[a]", "[]]",
                                            "[!]]", "[^a-z]", "a\\*",  "[a\\]]", "/a/[a-z]*/?", "\\[", "[[]" };
        static const char *const bad[] = { "[",    "/a/[",   "/a/[b",    "/[a/b]",     "/[]", "/[!]",
                                           "/a\\", "/a\\/b", "/a/b**",   "/a/**b",     "***", "/a/****/b",
                                           "[a\\", "/[\\/]", "/a[\\/]b", "/[a\\/b]/.." };
        for (size_t i = 0; i < ARRAY_SIZE(good); i++)
                if (path_pattern_check(good[i]))
                        fail_msg("'%s': %s", good[i], path_pattern_check(good[i]));
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
                if (!path_pattern_check(bad[i]))
                        fail_msg("'%s' was accepted", bad[i]);
}

/* A deny rule that can never match looks like protection, but protects nothing. */
static void test_classes_that_can_never_match_are_not_accepted(void **state)
{
        (void)state;
        static const struct {
                const char *pattern, *meant; /* what somebody who writes it wants it to match */
        } rows[] = { { "/a/[z-a]", "/a/m" }, { "/a/[[:alpha:]]", "/a/m" }, { "/a/[é]", "/a/é" } };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                if (!path_pattern_check(rows[i].pattern) && !path_pattern_match(rows[i].pattern, rows[i].meant))
                        fail_msg("'%s' is accepted and does not match %s", rows[i].pattern, rows[i].meant);
}

static void test_unescaping_reverses_escaping(void **state)
{
        (void)state;
        static const char *const paths[] = { "/", "/a*b", "/a?[x]", "/a\\b", "/\\*", "/é*", "/a b/{c}~" };
        CLEANUP_ARENA struct arena *a = arena_new(1 << 20);
        for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
                const char *escaped = path_pattern_escape(a, paths[i]);
                assert_false(path_pattern_is_glob(escaped));
                assert_null(path_pattern_check(escaped));
                assert_string_equal(path_pattern_unescape(a, escaped), paths[i]);
                assert_true(path_pattern_match(escaped, paths[i]));
        }
        assert_false(path_pattern_match(path_pattern_escape(a, "/a*b"), "/axb"));
}

struct match_row {
        const char *pattern, *path;
        bool match;
};

static const struct match_row match_rows[] = {
        { "/", "/", true },
        { "/", "/a", false },
        { "/a", "/", false },
        { "/a", "/a", true },
        { "/a", "/ab", false },
        { "/a", "/a/b", false },
        { "/*", "/a", true },
        { "/*", "/", false },
        { "/*", "/a/b", false },
        { "/*", "/.hidden", true },
        { "/*.pem", "/.pem", true },
        { "/*.pem", "/x.pem", true },
        { "/*.pem", "/x.pem.txt", false },
        { "/a*b*c", "/abc", true },
        { "/a*b*c", "/aXbYbZc", true },
        { "/a*b*c", "/acb", false },
        { "/?", "/a", true },
        { "/?", "/é", true },
        { "/?", "/ab", false },
        { "/??", "/é", false },
        { "/[a-c]", "/b", true },
        { "/[a-c]", "/d", false },
        { "/[!a-c]", "/d", true },
        { "/[!a-c]", "/b", false },
        { "/[^a-c]", "/d", true },
        { "/[!a]", "/é", true },
        { "/[]a]", "/]", true },
        { "/[a-]", "/-", true },
        { "/[\\]]", "/]", true },
        { "/[!]a]", "/b", true },
        { "/**", "/", true },
        { "/**", "/a/b/c", true },
        { "/a/**", "/a", true },
        { "/a/**", "/ab", false },
        { "/a/**/b", "/a/b", true },
        { "/a/**/b", "/a/x/y/b", true },
        { "/a/**/b", "/a/x/y/bb", false },
        { "/**/b/**", "/b", true },
        { "/**/b/**", "/a/b/c", true },
        { "/**/a/**/b", "/x/a/y/b", true },
        { "/**/a/**/b", "/b/a", false },
        { "/a/*/c", "/a/c", false },
        { "/a/*/c", "/a/b/c", true },
        { "/a/**/c/*.x", "/a/c/c/c/1.x", true },
        { "/\\*", "/*", true },
        { "/\\*", "/a", false },
        { "/\\**", "/*a", true },
        { "/\\a", "/a", true },
        { "/*a", "/aaab", false },
        { "/*a*",
          "/\xff"
          "a",
          true },
        { "/?", "/\xff", true },
};

static void test_patterns_match_paths(void **state)
{
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(match_rows); i++) {
                const struct match_row *r = &match_rows[i];
                if (path_pattern_match(r->pattern, r->path) != r->match)
                        fail_msg("%s and %s", r->pattern, r->path);
        }
}

static void test_depth_of_a_match_is_the_number_of_matched_names(void **state)
{
        (void)state;
        static const struct {
                const char *pattern, *path;
                int depth;
        } rows[] = {
                { "/", "/a/b", 0 },
                { "/a", "/a", 1 },
                { "/a", "/a/b/c", 1 },
                { "/a/b", "/a/b/c", 2 },
                { "/a/b", "/a", -1 },
                { "/a", "/ab", -1 },
                { "/a/*", "/a/b/c", 2 },
                { "/a/*", "/a", -1 },
                { "/a/**", "/a", 1 },
                { "/a/**", "/a/b/c", 3 },
                { "/**/x", "/a/x/b/x/c", 4 },
                { "/a/b*", "/a/bc/d", 2 },
                { "/a*/b", "/ax/b/c", 2 },
                { "/a/b/**", "/a/c", -1 },
                { "/**", "/", 0 },
                { "/a/b/**", "/a/x", -1 },
                { "/aa/**", "/ab", -1 },
                { "/a/\\*/*", "/a/*/b/c", 3 },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                bool glob = path_pattern_is_glob(rows[i].pattern);
                int depth = path_pattern_match_depth(rows[i].pattern, glob, rows[i].path);
                if (depth != rows[i].depth)
                        fail_msg("%s in %s: %d, not %d", rows[i].pattern, rows[i].path, depth, rows[i].depth);
        }
        assert_int_equal(path_pattern_match_depth("/a*", false, "/ab"), -1); /* not a glob */
        assert_true(path_is_beneath("/a/b", "/"));
        assert_true(path_is_beneath("/a", "/a"));
        assert_false(path_is_beneath("/ab", "/a"));
        assert_false(path_is_beneath("/", "/a"));
        assert_false(path_is_beneath("/a", "/a/b"));
}

/* A slow, simple matcher for names with the characters a, b, ., *, ? and the classes [ab] and [!a]. */
static bool slow_match_name(const char *p, const char *p_end, const char *s, const char *s_end)
{
        if (p == p_end)
                return s == s_end;
        if (*p == '*')
                return slow_match_name(p + 1, p_end, s, s_end) ||
                       (s < s_end && slow_match_name(p, p_end, s + 1, s_end));
        if (s == s_end)
                return false;
        if (*p == '?')
                return slow_match_name(p + 1, p_end, s + 1, s_end);
        if (*p == '[') {
                bool negated = p[1] == '!';
                const char *close = memchr(p, ']', (size_t)(p_end - p));
                bool in = memchr(p + 1, *s, (size_t)(close - p - 1)) != NULL;
                return in != negated && slow_match_name(close + 1, p_end, s + 1, s_end);
        }
        return *p == *s && slow_match_name(p + 1, p_end, s + 1, s_end);
}

static const char *skip_name(const char *p)
{
        return p + 1 + strcspn(p + 1, "/");
}

static bool slow_match(const char *p, const char *s)
{
        if (!*p)
                return !*s;
        const char *rest = skip_name(p);
        if (rest - p == 3 && strncmp(p, "/**", 3) == 0)
                return slow_match(rest, s) || (*s && slow_match(p, skip_name(s)));
        return *s && slow_match_name(p + 1, rest, s + 1, skip_name(s)) && slow_match(rest, skip_name(s));
}

static void add_random_name(struct text *t, unsigned long long *seed, const char *const *pieces, size_t count)
{
        text_add(t, "/");
        for (size_t i = 1 + random_below(seed, 4); i > 0; i--)
                text_add(t, pieces[random_below(seed, count)]);
}

static void test_matching_agrees_with_the_documentation(void **state)
{
        (void)state;
        static const char *const pattern_pieces[] = { "a", "b", "*", "?", "[ab]", "[!a]", ".", "a" };
        static const char *const path_pieces[] = { "a", "b", ".", "a" };
        unsigned long long seed = 2024;
        size_t matched = 0, tried = 0;
        for (size_t i = 0; i < 60000; i++) {
                CLEANUP_TEXT struct text pattern = { 0 }, path = { 0 };
                for (size_t n = 1 + random_below(&seed, 4); n > 0; n--)
                        if (random_below(&seed, 4) == 0)
                                text_add(&pattern, "/**");
                        else
                                add_random_name(&pattern, &seed, pattern_pieces, ARRAY_SIZE(pattern_pieces));
                for (size_t n = 1 + random_below(&seed, 5); n > 0; n--)
                        add_random_name(&path, &seed, path_pieces, ARRAY_SIZE(path_pieces));
                if (path_pattern_check(pattern.data))
                        continue; /* a name with two adjacent stars */
                bool expected = slow_match(pattern.data, path.data);
                tried++;
                matched += expected;
                if (path_pattern_match(pattern.data, path.data) != expected)
                        fail_msg("%s and %s: %d expected", pattern.data, path.data, expected);
        }
        assert_true(tried > 20000 && matched > 1000); /* enough cases of both kinds */
}

/* Every accepted pattern must still be valid when it is normalised, and must not crash the matcher. */
static void test_accepted_pattern_is_still_valid_when_normalised(void **state)
{
        (void)state;
        static const char alphabet[] = "//..[[]]\\\\!-*?ab";
        unsigned long long seed = 7;
        CLEANUP_ARENA struct arena *a = arena_new(64 << 20);
        for (size_t i = 0; i < 300000; i++) {
                char text[20] = "/";
                size_t length = 1 + random_below(&seed, sizeof text - 2);
                for (size_t j = 1; j < length; j++)
                        text[j] = alphabet[random_below(&seed, sizeof alphabet - 1)];
                text[length] = '\0';
                if (path_pattern_check(text))
                        continue;
                const char *normal = path_normalize(a, text);
                assert_non_null(normal);
                if (path_pattern_check(normal))
                        fail_msg("%s was accepted and is normalised to %s: %s", text, normal,
                                 path_pattern_check(normal));
                for (size_t j = 0; j < ARRAY_SIZE(match_rows); j++)
                        (void)path_pattern_match_depth(normal, path_pattern_is_glob(normal), match_rows[j].path);
        }
}

static void test_many_stars_match_in_less_than_two_seconds(void **state)
{
        (void)state;
        char pattern[POLICY_TEXT_MAX + 1], path[POLICY_TEXT_MAX + 1];
        for (size_t i = 0; i < POLICY_TEXT_MAX; i++)
                pattern[i] = i % 2 ? '*' : 'a';
        pattern[0] = '/';
        pattern[POLICY_TEXT_MAX - 1] = 'b';
        pattern[POLICY_TEXT_MAX] = '\0';
        memset(path, 'a', POLICY_TEXT_MAX);
        path[0] = '/';
        path[POLICY_TEXT_MAX] = '\0';
        clock_t start = clock();
        assert_false(path_pattern_match(pattern, path));
        for (size_t i = 0; i + 4 <= POLICY_TEXT_MAX; i += 4)
                memcpy(pattern + i,
                       i % 8 ? "/a*"
                               "b"
                             : "/**/",
                       4);
        for (size_t i = 0; i + 2 <= POLICY_TEXT_MAX; i += 2)
                memcpy(path + i, "/a", 2);
        (void)path_pattern_match_depth(pattern, true, path);
        assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 2.0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_paths_are_normalised),
                cmocka_unit_test(test_number_of_names_in_a_path_is_limited),
                cmocka_unit_test(test_patterns_are_distinguished_from_literal_paths),
                cmocka_unit_test(test_malformed_patterns_are_refused),
                cmocka_unit_test(test_classes_that_can_never_match_are_not_accepted),
                cmocka_unit_test(test_unescaping_reverses_escaping),
                cmocka_unit_test(test_patterns_match_paths),
                cmocka_unit_test(test_depth_of_a_match_is_the_number_of_matched_names),
                cmocka_unit_test(test_matching_agrees_with_the_documentation),
                cmocka_unit_test(test_accepted_pattern_is_still_valid_when_normalised),
                cmocka_unit_test(test_many_stars_match_in_less_than_two_seconds),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
