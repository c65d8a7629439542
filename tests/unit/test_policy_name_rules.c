/*
 * The rules as the guard uses them: which rules deny a name, and whether moving a directory changes what is denied.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "policy/name_rules.h"
#include "policy/path_pattern.h"

static struct rule rules[] = {
        { .kind = RULE_READ, .path = "/usr", .set = "system", .from.name = "default" },
        { .kind = RULE_WRITE, .path = "/w", .from.name = "default" },
        { .kind = RULE_PRIVATE, .path = "/tmp", .from.name = "default" },
        { .kind = RULE_DENY_READ, .path = "/w/.env", .from.name = "flag" },
        { .kind = RULE_DENY_READ, .path = "/w/**/*.pem", .glob = true, .from.name = "flag" },
        { .kind = RULE_DENY_WRITE, .path = "/w/src/*/lock", .glob = true, .from.name = "flag" },
        { .kind = RULE_PROTECT, .path = "/w/a/b/c", .from.name = "flag" },
        { .kind = RULE_PROTECT, .path = "/w/.git/hooks", .set = "protected: git", .from.name = "default" },
        { .kind = RULE_READ, .path = "/w/vault", .from.name = "flag" },
        { .kind = RULE_DENY_READ, .path = "/w/vault/x", .from.name = "flag" },
};
static const struct plan plan = { .rules = { .list = rules, .count = ARRAY_SIZE(rules), .room = ARRAY_SIZE(rules) },
                                  .scalar[PLAN_NAMESPACES].value = NAMESPACE_MOUNT };

static struct name_rules *make_name_rules(struct arena *a)
{
        struct name_rules *n = name_rules_new(a, &plan);
        assert_non_null(n);
        assert_true(name_rules_index(n));
        return n;
}

static void test_only_denials_deny_a_name(void **state)
{
        (void)state;
        static const struct {
                const char *path;
                bool read, write; /* is it denied? */
        } rows[] = {
                { "/usr/bin/sh", false, false }, /* read-only by a mount, not by the guard */
                { "/nowhere", false, false },
                { "/w/x", false, false },
                { "/w/.env", true, true },
                { "/w/.env/below", true, true },
                { "/w/.envs", false, false },
                { "/w/k.pem", true, true },
                { "/w/deep/er/k.pem", true, true },
                { "/w/k.PEM", false, false },
                { "/w/src/a/lock", false, true },
                { "/w/src/a/b/lock", false, false },
                { "/w/a/b", false, false },
                { "/w/a/b/c", false, true },
                { "/w/a/b/c/d", false, true },
                { "/w/.git/hooks/pre-commit", false, false }, /* left to the guard's checks for git */
                { "/w/vault/y", false, true },      /* a read-only grant */
                { "/w/vault/x", true, true },
                { "/tmp/.env", false, false },
        };
        CLEANUP_ARENA struct arena *a = arena_new(1 << 20);
        struct name_rules *n = make_name_rules(a);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                if ((name_rules_denial(n, rows[i].path, false) != NULL) != rows[i].read)
                        fail_msg("reading %s", rows[i].path);
                if ((name_rules_denial(n, rows[i].path, true) != NULL) != rows[i].write)
                        fail_msg("writing %s", rows[i].path);
        }
        assert_true(name_rules_is_private(n, "/tmp/x"));
        assert_false(name_rules_is_private(n, "/w/x"));
        assert_true(name_rules_allow(n, "/w/x", true));
        assert_false(name_rules_allow(n, "/usr/x", true));
}

/* Without a mount namespace /tmp is the host's; the box's private directory is another, added by its path. */
static void test_without_mounts_a_private_directory_has_another_path(void **state)
{
        (void)state;
        static const struct rule scratch = { .kind = RULE_PRIVATE, .path = "/scratch", .from.name = "default" };
        struct plan standard = plan;
        standard.scalar[PLAN_NAMESPACES].value = 0;
        CLEANUP_ARENA struct arena *a = arena_new(1 << 20);
        struct name_rules *n = name_rules_new(a, &standard);
        assert_non_null(n);
        assert_true(name_rules_add(n, &scratch, scratch.path) && name_rules_index(n));
        assert_false(name_rules_is_private(n, "/tmp/x"));
        assert_false(name_rules_allow(n, "/tmp/x", true));
        assert_true(name_rules_is_private(n, "/scratch/x"));
        assert_true(name_rules_allow(n, "/scratch/x", true));
}

static void test_alias_of_a_path_has_the_same_rule(void **state)
{
        (void)state;
        CLEANUP_ARENA struct arena *a = arena_new(1 << 20);
        struct name_rules *n = name_rules_new(a, &plan);
        assert_non_null(n);
        assert_true(name_rules_add(n, &rules[3], "/w/real/secrets"));
        assert_true(name_rules_index(n));
        const struct rule *rule = name_rules_denial(n, "/w/real/secrets", false);
        assert_non_null(rule);
        assert_string_equal(rule->from.name, "flag");
        assert_null(name_rules_denial(n, "/w/real/other", false));
}

static void test_moving_a_directory_is_checked_against_rules_below_it(void **state)
{
        (void)state;
        static const struct {
                const char *from, *to;
                bool differs;
        } rows[] = {
                { "/w/x", "/w/y", false },           /* both are matched by the same patterns */
                { "/w/x", "/w/deep/y", false },
                { "/w/x", "/tmp/y", true },          /* *.pem is not denied there */
                { "/w/a", "/w/z", true },
                { "/w/a/b", "/w/z", true },
                { "/w/z", "/w/a", true },
                { "/w/a/other", "/w/z", false },
                { "/w/src/a", "/w/src/b", false },
                { "/w/src/a", "/w/b", true },        /* no longer below src */
                { "/w/src", "/w/b", true },
                { "/w", "/v", true },
        };
        CLEANUP_ARENA struct arena *a = arena_new(1 << 20);
        struct name_rules *n = make_name_rules(a);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                if (name_rules_differ_below(n, rows[i].from, rows[i].to) != rows[i].differs)
                        fail_msg("%s to %s", rows[i].from, rows[i].to);
}

static void test_rules_below_a_directory_are_found(void **state)
{
        (void)state;
        CLEANUP_ARENA struct arena *a = arena_new(1 << 20);
        struct name_rules *n = make_name_rules(a);
        assert_non_null(name_rules_below(n, "/w/a"));
        assert_non_null(name_rules_below(n, "/w/a/b"));
        assert_null(name_rules_below(n, "/w/a/b/c"));
        assert_null(name_rules_below(n, "/w/a/x"));
        assert_null(name_rules_below(n, "/w/ab"));
        assert_null(name_rules_below(n, "/w/anything"));
        assert_true(name_rules_has_git_rule(&plan));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_only_denials_deny_a_name),
                cmocka_unit_test(test_without_mounts_a_private_directory_has_another_path),
                cmocka_unit_test(test_alias_of_a_path_has_the_same_rule),
                cmocka_unit_test(test_moving_a_directory_is_checked_against_rules_below_it),
                cmocka_unit_test(test_rules_below_a_directory_are_found),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
