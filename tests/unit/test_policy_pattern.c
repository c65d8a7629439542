/*
 * Paths and patterns as text. Matching is compared with a slow matcher that follows the documentation word by word, and
 * everything that pattern_check() accepts is matched against everything, because that is what a hostile policy does.
 */
#include "test_policy_fixture.h"

#include <time.h>

static void test_a_path_has_one_spelling(void **state)
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
                assert_string_equal(pattern_normalise(a, rows[i].text), rows[i].normal);
                assert_string_equal(pattern_normalise(a, rows[i].normal), rows[i].normal);
        }
}

static void test_more_names_than_the_cap_are_refused(void **state)
{
        (void)state;
        CLEANUP_ARENA struct arena *a = arena_new(1 << 20);
        char path[2 * (CAP_COMPONENTS + 1) + 1];
        for (size_t i = 0; i < sizeof path - 1; i++)
                path[i] = i % 2 ? 'a' : '/';
        path[sizeof path - 1] = '\0';
        assert_null(pattern_normalise(a, path));
        path[2 * CAP_COMPONENTS] = '\0';
        assert_non_null(pattern_normalise(a, path));
}

static void test_which_texts_are_patterns(void **state)
{
        (void)state;
        static const char *const globs[] = { "*", "a?", "[a]", "/a/**/b", "\\\\*", "a\\*b*" };
        static const char *const plain[] = { "", "/a", "\\*", "\\?\\[", "a\\", "]", "!a", "{a}", "~", "\\\\" };
        for (size_t i = 0; i < ARRAY_SIZE(globs); i++)
                assert_true(pattern_is_glob(globs[i]));
        for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
                assert_false(pattern_is_glob(plain[i]));
}

static void test_ill_formed_patterns_are_named(void **state)
{
        (void)state;
        static const char *const good[] = { "/a",   "*",      "/a/**", "**/a",   "/a/**/b",     "**",  "[a]", "[]]",
                                            "[!]]", "[^a-z]", "a\\*",  "[a\\]]", "/a/[a-z]*/?", "\\[", "[[]" };
        static const char *const bad[] = { "[",    "/a/[",   "/a/[b",    "/[a/b]",     "/[]", "/[!]",
                                           "/a\\", "/a\\/b", "/a/b**",   "/a/**b",     "***", "/a/****/b",
                                           "[a\\", "/[\\/]", "/a[\\/]b", "/[a\\/b]/.." };
        for (size_t i = 0; i < ARRAY_SIZE(good); i++)
                if (pattern_check(good[i]))
                        fail_msg("'%s': %s", good[i], pattern_check(good[i]));
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
                if (!pattern_check(bad[i]))
                        fail_msg("'%s' was accepted", bad[i]);
}

/* A deny rule that can never match looks like protection and is none. */
static void test_classes_that_can_never_match_are_refused(void **state)
{
        (void)state;
        static const char *const idle[] = { "/a/[z-a]", "/a/[[:alpha:]]", "/a/[é]" };
        for (size_t i = 0; i < ARRAY_SIZE(idle); i++)
                if (!pattern_check(idle[i]) && !pattern_match(idle[i], "/a/é") && !pattern_match(idle[i], "/a/m"))
                        fail_msg("'%s' is accepted and matches nothing", idle[i]);
}

static void test_escaping_there_and_back(void **state)
{
        (void)state;
        static const char *const paths[] = { "/", "/a*b", "/a?[x]", "/a\\b", "/\\*", "/é*", "/a b/{c}~" };
        CLEANUP_ARENA struct arena *a = arena_new(1 << 20);
        for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
                const char *escaped = pattern_escape(a, paths[i]);
                assert_false(pattern_is_glob(escaped));
                assert_null(pattern_check(escaped));
                assert_string_equal(pattern_unescape(a, escaped), paths[i]);
                assert_true(pattern_match(escaped, paths[i]));
        }
        assert_false(pattern_match(pattern_escape(a, "/a*b"), "/axb"));
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

static void test_matching(void **state)
{
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(match_rows); i++) {
                const struct match_row *r = &match_rows[i];
                if (pattern_match(r->pattern, r->path) != r->match)
                        fail_msg("%s and %s", r->pattern, r->path);
        }
}

static void test_the_deeper_the_match_the_narrower_the_rule(void **state)
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
                bool glob = pattern_is_glob(rows[i].pattern);
                int depth = pattern_depth(rows[i].pattern, glob, rows[i].path);
                if (depth != rows[i].depth)
                        fail_msg("%s in %s: %d, not %d", rows[i].pattern, rows[i].path, depth, rows[i].depth);
        }
        assert_int_equal(pattern_depth("/a*", false, "/ab"), -1); /* literal */
        assert_true(path_is_beneath("/a/b", "/"));
        assert_true(path_is_beneath("/a", "/a"));
        assert_false(path_is_beneath("/ab", "/a"));
        assert_false(path_is_beneath("/", "/a"));
        assert_false(path_is_beneath("/a", "/a/b"));
}

/* The documentation as a program: slow, recursive, obvious. Names hold the letters a, b, ., *, ? and [ab] or [!a]. */
static bool slow_name(const char *p, const char *p_end, const char *s, const char *s_end)
{
        if (p == p_end)
                return s == s_end;
        if (*p == '*')
                return slow_name(p + 1, p_end, s, s_end) || (s < s_end && slow_name(p, p_end, s + 1, s_end));
        if (s == s_end)
                return false;
        if (*p == '?')
                return slow_name(p + 1, p_end, s + 1, s_end);
        if (*p == '[') {
                bool negated = p[1] == '!';
                const char *close = memchr(p, ']', (size_t)(p_end - p));
                bool in = memchr(p + 1, *s, (size_t)(close - p - 1)) != NULL;
                return in != negated && slow_name(close + 1, p_end, s + 1, s_end);
        }
        return *p == *s && slow_name(p + 1, p_end, s + 1, s_end);
}

static const char *after_name(const char *p)
{
        return p + 1 + strcspn(p + 1, "/");
}

static bool slow_match(const char *p, const char *s)
{
        if (!*p)
                return !*s;
        const char *rest = after_name(p);
        if (rest - p == 3 && strncmp(p, "/**", 3) == 0)
                return slow_match(rest, s) || (*s && slow_match(p, after_name(s)));
        return *s && slow_name(p + 1, rest, s + 1, after_name(s)) && slow_match(rest, after_name(s));
}

static void add_random_name(struct text *t, unsigned long long *seed, const char *const *pieces, size_t count)
{
        text_add(t, "/");
        for (size_t i = 1 + dice(seed, 4); i > 0; i--)
                text_add(t, pieces[dice(seed, count)]);
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
                for (size_t n = 1 + dice(&seed, 4); n > 0; n--)
                        if (dice(&seed, 4) == 0)
                                text_add(&pattern, "/**");
                        else
                                add_random_name(&pattern, &seed, pattern_pieces, ARRAY_SIZE(pattern_pieces));
                for (size_t n = 1 + dice(&seed, 5); n > 0; n--)
                        add_random_name(&path, &seed, path_pieces, ARRAY_SIZE(path_pieces));
                if (pattern_check(pattern.data))
                        continue; /* two stars side by side in a name */
                bool expected = slow_match(pattern.data, path.data);
                tried++;
                matched += expected;
                if (pattern_match(pattern.data, path.data) != expected)
                        fail_msg("%s and %s: %d expected", pattern.data, path.data, expected);
        }
        assert_true(tried > 20000 && matched > 1000); /* the dice are not all alike */
}

/* Whatever a policy can say, once it was accepted, must be safe to match: well-formed to the end, and no crash. */
static void test_what_was_accepted_stays_well_formed_once_normalised(void **state)
{
        (void)state;
        static const char alphabet[] = "//..[[]]\\\\!-*?ab";
        unsigned long long seed = 7;
        CLEANUP_ARENA struct arena *a = arena_new(64 << 20);
        for (size_t i = 0; i < 300000; i++) {
                char text[20] = "/";
                size_t length = 1 + dice(&seed, sizeof text - 2);
                for (size_t j = 1; j < length; j++)
                        text[j] = alphabet[dice(&seed, sizeof alphabet - 1)];
                text[length] = '\0';
                if (pattern_check(text))
                        continue;
                const char *normal = pattern_normalise(a, text);
                assert_non_null(normal);
                if (pattern_check(normal))
                        fail_msg("%s was accepted and became %s: %s", text, normal, pattern_check(normal));
                for (size_t j = 0; j < ARRAY_SIZE(match_rows); j++)
                        (void)pattern_depth(normal, pattern_is_glob(normal), match_rows[j].path);
        }
}

static void test_stars_do_not_explode(void **state)
{
        (void)state;
        char pattern[CAP_TEXT + 1], path[CAP_TEXT + 1];
        for (size_t i = 0; i < CAP_TEXT; i++)
                pattern[i] = i % 2 ? '*' : 'a';
        pattern[0] = '/';
        pattern[CAP_TEXT - 1] = 'b';
        pattern[CAP_TEXT] = '\0';
        memset(path, 'a', CAP_TEXT);
        path[0] = '/';
        path[CAP_TEXT] = '\0';
        clock_t start = clock();
        assert_false(pattern_match(pattern, path));
        for (size_t i = 0; i + 4 <= CAP_TEXT; i += 4)
                memcpy(pattern + i,
                       i % 8 ? "/a*"
                               "b"
                             : "/**/",
                       4);
        for (size_t i = 0; i + 2 <= CAP_TEXT; i += 2)
                memcpy(path + i, "/a", 2);
        (void)pattern_depth(pattern, true, path);
        assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 2.0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_path_has_one_spelling),
                cmocka_unit_test(test_more_names_than_the_cap_are_refused),
                cmocka_unit_test(test_which_texts_are_patterns),
                cmocka_unit_test(test_ill_formed_patterns_are_named),
                cmocka_unit_test(test_classes_that_can_never_match_are_refused),
                cmocka_unit_test(test_escaping_there_and_back),
                cmocka_unit_test(test_matching),
                cmocka_unit_test(test_the_deeper_the_match_the_narrower_the_rule),
                cmocka_unit_test(test_matching_agrees_with_the_documentation),
                cmocka_unit_test(test_what_was_accepted_stays_well_formed_once_normalised),
                cmocka_unit_test(test_stars_do_not_explode),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
