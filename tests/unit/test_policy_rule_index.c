/* The index only saves time: the rules that it selects must decide like all rules. */
#include "test_policy_fixture.h"

#include "policy/rule_index.h"

static const char *const pieces[] = { "/a", "/b",  "/ab", "/a.b",  "/a-b", "/a*",
                                      "/*", "/**", "/?",  "/[ab]", "/\\*", "/b!" };
enum { LITERAL_PIECES = 5, RULES = 12, ROUNDS = 2000 };

static const char *random_path(struct arena *a, unsigned long long *seed, size_t kinds, size_t names)
{
        CLEANUP_TEXT struct text t = { 0 };
        for (size_t n = random_below(seed, names + 1); n > 0; n--)
                text_add(&t, pieces[random_below(seed, kinds)]);
        return arena_strdup(a, t.length ? t.data : "/");
}

static void random_rules(struct arena *a, unsigned long long *seed, struct rule *list)
{
        for (size_t i = 0; i < RULES; i++) {
                enum rule_kind kind = (enum rule_kind)random_below(seed, RULE_KIND_COUNT);
                const char *path =
                        random_path(a, seed, kind >= RULE_DENY_READ ? ARRAY_SIZE(pieces) : LITERAL_PIECES, 4);
                list[i] = (struct rule){
                        .kind = kind, .path = path, .glob = path_pattern_is_glob(path), .from = { "x", 0, 0 }
                };
        }
}

static void test_rules_of_the_index_decide_like_all_rules(void **state)
{
        (void)state;
        unsigned long long seed = 31;
        for (size_t round = 0; round < ROUNDS; round++) {
                CLEANUP_ARENA struct arena *a = arena_new(1 << 20);
                struct rule list[RULES];
                struct rules rules = { .list = list, .count = RULES };
                random_rules(a, &seed, list);
                struct rule_index *index = rule_index_new(a, &rules);
                assert_non_null(index);
                struct rule_candidates candidates = { 0 };
                for (size_t i = 0; i < 20; i++) {
                        const char *path = random_path(a, &seed, LITERAL_PIECES, 6);
                        assert_true(rule_index_candidates(index, a, path, &candidates));
                        for (int write = 0; write < 2; write++)
                                if (rules_decide(&candidates.rules, path, write, NULL) !=
                                    rules_decide(&rules, path, write, NULL))
                                        fail_msg("the index changes the decision to %s %s, in round %zu",
                                                 write ? "write" : "read", path, round);
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rules_of_the_index_decide_like_all_rules),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
