/* srt's settings: each key has the same effect as in srt, or is refused. No key is ignored silently. */
#include "test_policy_fixture.h"

static struct world compile_srt(const char *json)
{
        struct world w = world_new();
        world_read_srt(&w, json);
        if (!world_compile(&w))
                fail_msg("refused: %s\n%s", json, w.printed.data);
        return w;
}

static void assert_srt_refused(const char *json, const char *text)
{
        WORLD w = world_new();
        world_read_srt(&w, json);
        if (world_compile(&w))
                fail_msg("accepted, but the error '%s' was expected: %s", text, json);
        assert_world_message(&w, text);
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

static void test_settings_have_the_same_effect_as_in_srt(void **state)
{
        (void)state;
        WORLD w = compile_srt(example);
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
                if (allows_read(&w, files[i].path) != files[i].read ||
                    allows_write(&w, files[i].path) != files[i].write)
                        fail_msg("%s: read %d, write %d", files[i].path, allows_read(&w, files[i].path),
                                 allows_write(&w, files[i].path));
        assert_true(allows_host(&w, "github.com") && allows_host(&w, "api.github.com"));
        assert_false(allows_host(&w, "gist.github.com") || allows_host(&w, "example.com") ||
                     allows_host(&w, "api.example.com"));
        assert_true(hosts_decide(&w.plan->hosts, "api.example.com", 8443, NULL));
        const struct rule *by = NULL;
        (void)rules_decide(&w.plan->rules, "/data/keep", true, &by);
        assert_string_equal(by->from.name, "p1.yaml");
        assert_int_equal(by->from.line, 10);
}

static void test_nothing_is_writable_and_no_host_allowed_unless_listed(void **state)
{
        (void)state;
        WORLD w = compile_srt("{\"filesystem\": {\"denyRead\": [], \"allowWrite\": [], \"denyWrite\": []}, "
                              "\"network\": {\"allowedDomains\": [], \"deniedDomains\": []}}");
        assert_true(allows_read(&w, WORK "/x"));
        assert_false(allows_write(&w, WORK "/x"));
        assert_int_equal(w.plan->hosts.count, 0);
        assert_false(plan_needs_egress(w.plan));
        WORLD none = compile_srt("{}");
        assert_false(allows_write(&none, WORK "/x"));
}

static void test_unsupported_keys_are_refused_unless_they_have_no_effect(void **state)
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
        static const char *const no_effect[] = { "null", "false", "[]", "{}" };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                char json[200], dotted[100];
                const char *prefix = rows[i].group ? rows[i].group : "";
                (void)snprintf(dotted, sizeof dotted, "%s%s%s", prefix, *prefix ? "." : "", rows[i].key);
                for (size_t j = 0; j <= ARRAY_SIZE(no_effect); j++) {
                        const char *value = j < ARRAY_SIZE(no_effect) ? no_effect[j] : rows[i].value;
                        if (*prefix)
                                (void)snprintf(json, sizeof json, "{\"%s\": {\"%s\": %s}}", prefix, rows[i].key, value);
                        else
                                (void)snprintf(json, sizeof json, "{\"%s\": %s}", rows[i].key, value);
                        if (j == ARRAY_SIZE(no_effect)) {
                                assert_srt_refused(json, dotted);
                                continue;
                        }
                        WORLD w = compile_srt(json);
                        assert_int_equal(w.result, 0);
                }
        }
}

static void test_errors_have_a_position_and_a_hint(void **state)
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

static void test_several_errors_are_reported_at_once(void **state)
{
        (void)state;
        WORLD w = world_new();
        world_read_srt(
                &w,
                "{\"a\": 1,\n\"network\": {\"allowedDomains\": [\"*\", \"ok.org\", \"a b\"], \"httpProxyPort\": 1},\n"
                "\"filesystem\": 4}");
        assert_false(world_compile(&w));
        assert_int_equal(diagnostics_count(w.messages, DIAGNOSTIC_ERROR), 5);
}

/* Signs and suffixes of native policies are ordinary characters in srt's settings. */
static void test_native_signs_and_suffixes_have_no_meaning(void **state)
{
        (void)state;
        WORLD w = compile_srt("{\"filesystem\": {\"denyRead\": [\"-ssh\", \"+x\"], \"denyWrite\": [\"-a\"], "
                              "\"allowRead\": [\"/srv:rw\"], \"allowWrite\": [\"-dir\"]}}");
        assert_false(allows_read(&w, HOME "/.ssh/id")); /* "-ssh" does not release it */
        assert_false(allows_read(&w, WORK "/-ssh"));
        assert_false(allows_read(&w, WORK "/+x"));
        assert_false(allows_write(&w, "/srv/x"));
        assert_false(allows_write(&w, "/srv:rw/x"));
        assert_true(allows_read(&w, "/srv:rw/x"));
        assert_true(allows_write(&w, WORK "/-dir/x"));
}

static void test_git_config_can_be_made_writable_but_not_hooks(void **state)
{
        (void)state;
        WORLD w = compile_srt("{\"filesystem\": {\"allowWrite\": [\".\"], \"allowGitConfig\": true}}");
        assert_true(allows_write(&w, WORK "/.git/config"));
        assert_false(allows_write(&w, WORK "/.git/hooks/pre-commit"));
        WORLD kept = compile_srt("{\"filesystem\": {\"allowWrite\": [\".\"], \"allowGitConfig\": false}}");
        assert_false(allows_write(&kept, WORK "/.git/config"));
}

static void test_local_binding_allows_no_host(void **state)
{
        (void)state;
        WORLD w = compile_srt("{\"network\": {\"allowLocalBinding\": true, \"allowedDomains\": []}}");
        assert_int_equal(number(&w, PLAN_ALLOW_NETWORK), 1);
        assert_int_equal(w.plan->hosts.count, 0);
}

static void test_unix_sockets_are_listed_by_path(void **state)
{
        (void)state;
        WORLD w = compile_srt("{\"network\": {\"allowUnixSockets\": [\"~/agent.sock\", \"/run/x\", \"./s\", \"-t\"]}}");
        static const char *const paths[] = { HOME "/agent.sock", "/run/x", WORK "/s", WORK "/-t" };
        assert_int_equal(w.plan->unix_socket_count, ARRAY_SIZE(paths));
        for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
                assert_string_equal(w.plan->unix_sockets[i].path, paths[i]);
        assert_false(plan_needs_egress(w.plan));
        WORLD none = compile_srt("{\"network\": {\"allowUnixSockets\": []}}");
        assert_int_equal(none.plan->unix_socket_count, 0);
}

static void test_srt_settings_can_be_combined_with_a_native_policy(void **state)
{
        (void)state;
        WORLD w = world_new();
        world_read(&w, "{filesystem: {protect: [-git], workspace: rw}, network: {allowed_domains: [a.org]}}");
        world_read_srt(&w, "{\"filesystem\": {\"allowWrite\": [\".\"], \"allowGitConfig\": true}, "
                           "\"network\": {\"deniedDomains\": [\"a.org\"]}}");
        if (!world_compile(&w))
                fail_msg("%s", w.printed.data);
        assert_true(allows_write(&w, WORK "/.git/hooks/x"));
        assert_false(allows_host(&w, "a.org"));
}

static void test_srt_settings_are_recognized(void **state)
{
        (void)state;
        static const char *const accepted[] = { "{\"network\": {\"allowedDomains\": []}}",
                                                "{\"filesystem\": {\"denyRead\": []}}", "{\"ignoreViolations\": {}}",
                                                "{\"mode\": 1, \"filesystem\": {\"allowWrite\": 1}}" };
        static const char *const not_srt[] = { "",
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
        for (size_t i = 0; i < ARRAY_SIZE(accepted); i++)
                assert_true(settings_is_srt(accepted[i], strlen(accepted[i])));
        for (size_t i = 0; i < ARRAY_SIZE(not_srt); i++)
                assert_false(settings_is_srt(not_srt[i], strlen(not_srt[i])));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_settings_have_the_same_effect_as_in_srt),
                cmocka_unit_test(test_nothing_is_writable_and_no_host_allowed_unless_listed),
                cmocka_unit_test(test_unsupported_keys_are_refused_unless_they_have_no_effect),
                cmocka_unit_test(test_errors_have_a_position_and_a_hint),
                cmocka_unit_test(test_several_errors_are_reported_at_once),
                cmocka_unit_test(test_native_signs_and_suffixes_have_no_meaning),
                cmocka_unit_test(test_git_config_can_be_made_writable_but_not_hooks),
                cmocka_unit_test(test_local_binding_allows_no_host),
                cmocka_unit_test(test_unix_sockets_are_listed_by_path),
                cmocka_unit_test(test_srt_settings_can_be_combined_with_a_native_policy),
                cmocka_unit_test(test_srt_settings_are_recognized),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
