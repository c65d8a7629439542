/* srt's settings: each key either means what it means there, or is refused by name. Nothing is dropped in silence. */
#include "test_policy_fixture.h"

static struct world srt(const char *json)
{
        struct world w = world_new();
        world_read_srt(&w, json);
        if (!world_compile(&w))
                fail_msg("refused: %s\n%s", json, w.said.data);
        return w;
}

static void assert_srt_refused(const char *json, const char *text)
{
        WORLD w = world_new();
        world_read_srt(&w, json);
        if (world_compile(&w))
                fail_msg("accepted, '%s' was expected: %s", text, json);
        assert_said(&w, text);
}

static const char example[] = "{\n"
                              "  \"network\": {\n"
                              "    \"allowedDomains\": [\"github.com\", \"*.github.com\", \"api.example.com:8443\"],\n"
                              "    \"deniedDomains\": [\"gist.github.com\"]\n"
                              "  },\n"
                              "  \"filesystem\": {\n"
                              "    \"denyRead\": [\"~/private\", \"secrets/*.key\"],\n"
                              "    \"allowRead\": [\"~/private/public\"],\n"
                              "    \"allowWrite\": [\".\", \"/data\"],\n"
                              "    \"denyWrite\": [\"important.txt\", \"/data/keep\"]\n"
                              "  }\n"
                              "}\n";

static void test_settings_mean_what_they_mean_in_srt(void **state)
{
        (void)state;
        WORLD w = srt(example);
        static const struct {
                const char *path;
                bool read, write;
        } files[] = {
                { WORK "/main.c", true, true },
                { "/data/x", true, true },
                { WORK "/important.txt", true, false },
                { "/data/keep/x", true, false },
                { WORK "/secrets/a.key", false, false },
                { WORK "/secrets/a.txt", true, true },
                { HOME "/private/x", false, false },
                { HOME "/private/public/x", true, false },
                { "/srv/x", true, false },
                { HOME "/notes", true, false },
                { HOME "/.ssh/id", false, false },
                { WORK "/.git/hooks/x", true, false },
                { WORK "/.git/config", true, false },
                { WORK "/.mcp.json", true, false },
        };
        for (size_t i = 0; i < ARRAY_SIZE(files); i++)
                if (reads(&w, files[i].path) != files[i].read || writes(&w, files[i].path) != files[i].write)
                        fail_msg("%s: read %d, write %d", files[i].path, reads(&w, files[i].path),
                                 writes(&w, files[i].path));
        assert_true(reaches(&w, "github.com") && reaches(&w, "api.github.com"));
        assert_false(reaches(&w, "gist.github.com") || reaches(&w, "example.com") || reaches(&w, "api.example.com"));
        assert_true(hosts_decide(&w.plan->hosts, "api.example.com", 8443, NULL));
        const struct rule *by = NULL;
        (void)rules_decide(&w.plan->rules, "/data/keep", true, &by);
        assert_string_equal(by->from.name, "p1.yaml");
        assert_int_equal(by->from.line, 10);
}

static void test_nothing_is_writable_and_no_host_in_reach_until_named(void **state)
{
        (void)state;
        WORLD w = srt("{\"filesystem\": {\"denyRead\": [], \"allowWrite\": [], \"denyWrite\": []}, "
                      "\"network\": {\"allowedDomains\": [], \"deniedDomains\": []}}");
        assert_true(reads(&w, WORK "/x"));
        assert_false(writes(&w, WORK "/x"));
        assert_int_equal(w.plan->hosts.count, 0);
        assert_int_equal(number(&w, PLAN_ALLOW_NETWORK), 0);
        WORLD none = srt("{}");
        assert_false(writes(&none, WORK "/x"));
}

static void test_every_refused_key_says_so_and_is_free_when_it_asks_for_nothing(void **state)
{
        (void)state;
        static const struct {
                const char *group, *key, *value;
        } rows[] = {
                { "network", "deniedResolvedAddresses", "[\"10.0.0.0/8\"]" },
                { "network", "allowAllUnixSockets", "true" },
                { "network", "httpProxyPort", "8080" },
                { "network", "socksProxyPort", "1080" },
                { "network", "mitmProxy", "{\"socketPath\": \"/x\"}" },
                { "network", "parentProxy", "{\"url\": \"x\"}" },
                { "network", "tlsTerminate", "{\"a\": 1}" },
                { "filesystem", "disabled", "true" },
                { NULL, "ignoreViolations", "{\"*\": [\"/x\"]}" },
                { NULL, "enableWeakerNestedSandbox", "true" },
        };
        static const char *const nothing[] = { "null", "false", "[]", "{}" };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                char json[200], dotted[100];
                const char *open = rows[i].group ? rows[i].group : "";
                (void)snprintf(dotted, sizeof dotted, "%s%s%s", open, *open ? "." : "", rows[i].key);
                for (size_t j = 0; j <= ARRAY_SIZE(nothing); j++) {
                        const char *value = j < ARRAY_SIZE(nothing) ? nothing[j] : rows[i].value;
                        if (*open)
                                (void)snprintf(json, sizeof json, "{\"%s\": {\"%s\": %s}}", open, rows[i].key, value);
                        else
                                (void)snprintf(json, sizeof json, "{\"%s\": %s}", rows[i].key, value);
                        if (j == ARRAY_SIZE(nothing)) {
                                assert_srt_refused(json, dotted);
                                continue;
                        }
                        WORLD w = srt(json);
                        assert_int_equal(w.result, 0);
                }
        }
}

static void test_mistakes_are_told_with_place_and_nearest_key(void **state)
{
        (void)state;
        static const struct {
                const char *json, *place, *text;
        } rows[] = {
                { "{\"netwrk\": {}}", "p1.yaml:1:2", "did you mean 'network'?" },
                { "{\"network\": {\"allowedDomain\": []}}", "p1.yaml:1:14", "did you mean 'network.allowedDomains'?" },
                { "{\"filesystem\": {\"allow_write\": []}}", "p1.yaml:1:17", "unknown setting" },
                { "{\"filesystem\": {\"read\": \"broad\"}}", "p1.yaml:1:17", "unknown setting" },
                { "{\"mode\": \"auto\"}", "p1.yaml:1:2", "unknown setting" },
                { "{\"network\": []}", "p1.yaml:1:13", "expected an object" },
                { "{\"network\": {\"allowedDomains\": \"x.org\"}}", "p1.yaml:1:32", "expected a list of strings" },
                { "{\"network\": {\"allowedDomains\": [1]}}", "p1.yaml:1:33", "expected a string" },
                { "{\"network\": {\"allowedDomains\": [null]}}", "p1.yaml:1:33", "expected a string" },
                { "{\"network\": {\"allowedDomains\": [[\"a.b\"]]}}", "p1.yaml:1:33", "expected a string" },
                { "{\"network\": {\"allowedDomains\": [\"*\"]}}", "p1.yaml:1:33", "every host" },
                { "{\"network\": {\"allowedDomains\": [\"*.com\"]}}", "p1.yaml:1:33", "top-level" },
                { "{\"network\": {\"allowedDomains\": [\"+github\"]}}", "p1.yaml:1:33", "host name" },
                { "{\"network\": {\"allowedDomains\": [\"-github\"]}}", "p1.yaml:1:33", "host name" },
                { "{\"network\": {\"allowUnixSockets\": true}}", "p1.yaml:1:34", "expected a list of strings" },
                { "{\"network\": {\"allowUnixSockets\": [1]}}", "p1.yaml:1:35", "expected a string" },
                { "{\"network\": {\"allowUnixSockets\": [\"\"]}}", "p1.yaml:1:35", "empty" },
                { "{\"network\": {\"allowAllUnixSockets\": true}}", "p1.yaml:1:37", "allowUnixSockets" },
                { "{\"network\": {\"allowLocalBinding\": \"yes\"}}", "p1.yaml:1:35", "true or false" },
                { "{\"filesystem\": {\"allowWrite\": [\"\"]}}", "p1.yaml:1:32", "empty" },
                { "{\"filesystem\": {\"allowWrite\": [\"*.env\"]}}", "p1.yaml:1:32", "pattern" },
                { "{\"filesystem\": {\"allowRead\": [\"\"]}}", "p1.yaml:1:31", "empty" },
                { "{\"filesystem\": {\"denyRead\": [\"/a/[b\"]}}", "p1.yaml:1:30", "not closed" },
                { "[]", "p1.yaml:1:1", "not an object" },
                { "\"x\"", "p1.yaml:1:", "" },
                { "{\"network\": {\"allowedDomains\": [], \"allowedDomains\": []}}", "p1.yaml:1:", "" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                assert_srt_refused(rows[i].json, rows[i].place);
                assert_srt_refused(rows[i].json, rows[i].text);
        }
}

static void test_several_mistakes_are_told_at_once(void **state)
{
        (void)state;
        WORLD w = world_new();
        world_read_srt(
                &w,
                "{\"a\": 1,\n\"network\": {\"allowedDomains\": [\"*\", \"ok.org\", \"a b\"], \"httpProxyPort\": 1},\n"
                "\"filesystem\": 4}");
        assert_false(world_compile(&w));
        assert_int_equal(messages_count(w.messages, MESSAGE_ERROR), 5);
}

/* Signs, suffixes, variables and escapes belong to the native language; in srt's they are letters of a name. */
static void test_the_native_language_does_not_leak_in(void **state)
{
        (void)state;
        WORLD w = srt("{\"filesystem\": {\"denyRead\": [\"-ssh\", \"+x\"], \"denyWrite\": [\"-a\"], "
                      "\"allowRead\": [\"/srv:rw\"], \"allowWrite\": [\"-dir\"]}}");
        assert_false(reads(&w, HOME "/.ssh/id")); /* "-ssh" released nothing */
        assert_false(reads(&w, WORK "/-ssh"));
        assert_false(reads(&w, WORK "/+x"));
        assert_false(writes(&w, "/srv/x"));
        assert_false(writes(&w, "/srv:rw/x"));
        assert_true(reads(&w, "/srv:rw/x"));
        assert_true(writes(&w, WORK "/-dir/x"));
}

static void test_git_config_can_be_released_and_hooks_cannot(void **state)
{
        (void)state;
        WORLD w = srt("{\"filesystem\": {\"allowWrite\": [\".\"], \"allowGitConfig\": true}}");
        assert_true(writes(&w, WORK "/.git/config"));
        assert_false(writes(&w, WORK "/.git/hooks/pre-commit"));
        WORLD kept = srt("{\"filesystem\": {\"allowWrite\": [\".\"], \"allowGitConfig\": false}}");
        assert_false(writes(&kept, WORK "/.git/config"));
}

static void test_binding_ports_opens_no_host(void **state)
{
        (void)state;
        WORLD w = srt("{\"network\": {\"allowLocalBinding\": true, \"allowedDomains\": []}}");
        assert_int_equal(number(&w, PLAN_ALLOW_NETWORK), 1);
        assert_int_equal(w.plan->hosts.count, 0);
}

static void test_unix_sockets_are_named_by_path(void **state)
{
        (void)state;
        WORLD w = srt("{\"network\": {\"allowUnixSockets\": [\"~/agent.sock\", \"/run/x\", \"./s\", \"-t\"]}}");
        static const char *const paths[] = { HOME "/agent.sock", "/run/x", WORK "/s", WORK "/-t" };
        assert_int_equal(w.plan->unix_socket_count, ARRAY_SIZE(paths));
        for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
                assert_string_equal(w.plan->unix_sockets[i].path, paths[i]);
        assert_int_equal(number(&w, PLAN_ALLOW_NETWORK), 0);
        WORLD none = srt("{\"network\": {\"allowUnixSockets\": []}}");
        assert_int_equal(none.plan->unix_socket_count, 0);
}

static void test_settings_join_a_policy_of_the_other_kind(void **state)
{
        (void)state;
        WORLD w = world_new();
        world_read(&w, "{filesystem: {protect: [-git], workspace: rw}, network: {allowed_domains: [a.org]}}");
        world_read_srt(&w, "{\"filesystem\": {\"allowWrite\": [\".\"], \"allowGitConfig\": true}, "
                           "\"network\": {\"deniedDomains\": [\"a.org\"]}}");
        if (!world_compile(&w))
                fail_msg("%s", w.said.data);
        assert_true(writes(&w, WORK "/.git/hooks/x"));
        assert_false(reaches(&w, "a.org"));
}

static void test_which_texts_are_taken_for_srt(void **state)
{
        (void)state;
        static const char *const yes[] = { "{\"network\": {\"allowedDomains\": []}}",
                                           "{\"filesystem\": {\"denyRead\": []}}", "{\"ignoreViolations\": {}}",
                                           "{\"mode\": 1, \"filesystem\": {\"allowWrite\": 1}}" };
        static const char *const no[] = { "",
                                          "{}",
                                          "[]",
                                          "null",
                                          "x",
                                          "{\"network\": {}}",
                                          "{\"network\": []}",
                                          "{\"mode\": \"auto\"}",
                                          "{\"network\": {\"allowed_domains\": []}}",
                                          "network: {allowedDomains: []}",
                                          "{\"network\": {\"allowedDomains\": []}} x" };
        for (size_t i = 0; i < ARRAY_SIZE(yes); i++)
                assert_true(settings_is_srt(yes[i], strlen(yes[i])));
        for (size_t i = 0; i < ARRAY_SIZE(no); i++)
                assert_false(settings_is_srt(no[i], strlen(no[i])));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_settings_mean_what_they_mean_in_srt),
                cmocka_unit_test(test_nothing_is_writable_and_no_host_in_reach_until_named),
                cmocka_unit_test(test_every_refused_key_says_so_and_is_free_when_it_asks_for_nothing),
                cmocka_unit_test(test_mistakes_are_told_with_place_and_nearest_key),
                cmocka_unit_test(test_several_mistakes_are_told_at_once),
                cmocka_unit_test(test_the_native_language_does_not_leak_in),
                cmocka_unit_test(test_git_config_can_be_released_and_hooks_cannot),
                cmocka_unit_test(test_binding_ports_opens_no_host),
                cmocka_unit_test(test_unix_sockets_are_named_by_path),
                cmocka_unit_test(test_settings_join_a_policy_of_the_other_kind),
                cmocka_unit_test(test_which_texts_are_taken_for_srt),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
