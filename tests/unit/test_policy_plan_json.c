/*
 * Plans as JSON, which one program passes to another. Parsing gives the same plan, and refuses everything that is never
 * written: a rule that is lost or changed on the way would not be enforced.
 */
#include "test_policy_fixture.h"

static const char *const policies[] = {
        "",
        "{mode: auto, best_effort: true, filesystem: {read: broad, deny_read: ['/srv/**/x?', -ssh], protect: ['é']}}",
        "security: {sandbox: {level: off}}",
        "security: {sandbox: {level: maximum, workspace_snapshot: true, audit: true, resources: {memory: 1.5GiB, cpu: "
        "0.5}, allow_paths: ['~/a:rw', '/with space', '/q\\*']}}",
        "{network: {allowed_domains: [+dev-network, '*.a.org:8443', bücher.example], denied_domains: [b.org]}, "
        "runtime: {timeout: 1h, env: [A, 'B=\"\\u0001é\"']}}",
        "network: {allowed_domains: ['*.a.org', h.org], allow_private: ['*.a.org:8443', a.a.org, h.org], "
        "allow_local_ports: [5432, 65535], publish: [3000], proxy_variables: true, "
        "unix_sockets: [~/agent, '/with space', '/q\\*']}",
        "tools: {modules: {shell: , mcp: {config: {servers: {\"s: '1'\": {command: [a, b c], args: [''], env: {K: v}, "
        "sandbox: {permissions: ['process.*', 'fs.*', 'net.*'], paths: {read: [/r], write: [/w]}, allowed_hosts: "
        "[h.org]}}, t: {transport: http, url: 'https://u', sandbox: {permissions: [net.http]}}}}}}}",
};

static json_t *parse_and_write(const json_t *json)
{
        CLEANUP_PLAN struct plan *plan = NULL;
        struct error e = { 0 };
        if (plan_from_json(json, &plan, &e) != 0) {
                assert_true(e.text[0]);
                assert_int_equal(e.code, EINVAL);
                assert_null(plan);
                return NULL;
        }
        return plan_to_json(plan);
}

static void test_plan_is_parsed_as_the_same_plan(void **state)
{
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(policies); i++)
                for (size_t with_ceiling = 0; with_ceiling < 2; with_ceiling++) {
                        WORLD w = world_new();
                        world_read(&w, policies[i]);
                        if (with_ceiling)
                                world_ceiling(&w,
                                              "{security: {sandbox: {level: strict, allow_paths: [/r], resources: "
                                              "{processes: 5}}}, network: {allowed_domains: [h.org], allow_private: "
                                              "['*.a.org'], allow_local_ports: [5432], unix_sockets: ['/with "
                                              "space']}, filesystem: {deny_read: [/x]}}");
                        if (!world_compile(&w))
                                fail_msg("%s", w.printed.data);
                        CLEANUP_FREE char *text = plan_text(w.plan);
                        CLEANUP_JSON json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
                        assert_non_null(json);
                        CLEANUP_PLAN struct plan *reparsed = NULL;
                        struct error e = { 0 };
                        if (plan_from_json(json, &reparsed, &e))
                                fail_msg("%s: %s", policies[i], e.text);
                        CLEANUP_FREE char *second = plan_text(reparsed);
                        assert_string_equal(text, second);
                        assert_int_equal(w.plan->cut_count, reparsed->cut_count);
                        assert_int_equal(w.plan->rules.count, reparsed->rules.count);
                }
}

/* Follows a path such as "rules.0.path" to the parent; `last` is set to the last name. */
static json_t *find_parent(json_t *json, const char *path, char last[40])
{
        for (;;) {
                size_t n = strcspn(path, ".");
                (void)snprintf(last, 40, "%.*s", (int)n, path);
                if (!path[n])
                        return json;
                json = json_is_array(json) ? json_array_get(json, (size_t)strtoul(last, NULL, 10))
                                           : json_object_get(json, last);
                assert_non_null(json);
                path += n + 1;
        }
}

static void change_member(json_t *json, const char *path, const char *value)
{
        char last[40];
        json_t *parent = find_parent(json, path, last);
        json_t *new = value ? json_loads(value, JSON_DECODE_ANY, NULL) : NULL;
        assert_true(!value || new);
        if (json_is_array(parent))
                assert_int_equal(json_array_set_new(parent, (size_t)strtoul(last, NULL, 10), new), 0);
        else if (new)
                assert_int_equal(json_object_set_new(parent, last, new), 0);
        else
                assert_int_equal(json_object_del(parent, last), 0);
}

static const struct {
        const char *path, *value; /* NULL: the member is removed */
} hostile[] = {
        { "ringwall_plan", "2" },
        { "ringwall_plan", "\"1\"" },
        { "ringwall_plan", "true" },
        { "ringwall_plan", "1.0" },
        { "workspace", NULL },
        { "workspace", "\"\"" },
        { "workspace", "\"relative\"" },
        { "workspace", "\"/a/../b\"" },
        { "workspace", "\"/a/\"" },
        { "workspace", "\"/\"" },
        { "workspace", "1" },
        { "home", NULL },
        { "home", "\"relative\"" },
        { "home", "\"/a//b\"" },
        { "level", "\"strict\"" },
        { "level.value", "\"off!\"" },
        { "level.value", "2" },
        { "level.source", NULL },
        { "level.source", "7" },
        { "level.extra", "1" },
        { "namespaces.value", "\"user\"" },
        { "namespaces.value", "[\"time\"]" },
        { "namespaces.value", "[1]" },
        { "namespaces.value", "[\"pid\", \"user\"]" },
        { "namespaces.value", "[\"user\", \"user\"]" },
        { "audit.value", "1" },
        { "audit.value", "null" },
        { "pool_size.value", "-1" },
        { "pool_size.value", "1.5" },
        { "pool_size.value", "\"2\"" },
        { "memory.value", "-1" },
        { "rules", NULL },
        { "rules", "{}" },
        { "rules", "null" },
        { "rules.0", "null" },
        { "rules.0", "[]" },
        { "rules.0", "{}" },
        { "rules.0.kind", "\"write-all\"" },
        { "rules.0.kind", "0" },
        { "rules.0.kind", NULL },
        { "rules.0.path", NULL },
        { "rules.0.path", "\"\"" },
        { "rules.0.path", "\"usr\"" },
        { "rules.0.path", "\"/usr/\"" },
        { "rules.0.path", "\"/a/../b\"" },
        { "rules.0.path", "\"/a/./b\"" },
        { "rules.0.path", "\"//a\"" },
        { "rules.0.glob", "true" },
        { "rules.0.glob", "\"yes\"" },
        { "rules.0.globb", "true" },
        { "rules.0.source", NULL },
        { "rules.0.source", "{}" },
        { "rules.0.set", "1" },
        { "rules.0.source", "\"x:4294967296:1\"" },
        { "rules.0.source", "\"x:007:1\"" },
        { "rules.0.source", "\"x:1:99999999999\"" },
        { "hosts", "{}" },
        { "hosts.0.host", "\"*\"" },
        { "hosts.0.host", "\"*.com\"" },
        { "hosts.0.host", "\"A.org\"" },
        { "hosts.0.host", "\"a.org.\"" },
        { "hosts.0.host", "\"127.0.0.1\"" },
        { "hosts.0.host", "\"b\\u00fccher.example\"" },
        { "hosts.0.allow", "1" },
        { "hosts.0.allow", NULL },
        { "hosts.0.port", "1" },
        { "hosts.0.host", "\"a.org:0\"" },
        { "hosts.0.host", "\"a.org:080\"" },
        { "private_hosts", "{}" },
        { "private_hosts.0.allow", "false" },
        { "private_hosts.0.host", "\"*\"" },
        { "private_hosts.0.source", NULL },
        { "local_ports", "{}" },
        { "local_ports", "null" },
        { "local_ports.0", "5432" },
        { "local_ports.0.port", "0" },
        { "local_ports.0.port", "-1" },
        { "local_ports.0.port", "65536" },
        { "local_ports.0.port", "4294972728" },
        { "local_ports.0.port", "\"5432\"" },
        { "local_ports.0.port", "5432.0" },
        { "local_ports.0.port", "53" },
        { "local_ports.0.port", "3128" },
        { "local_ports.0.port", "11434" }, /* a duplicate */
        { "local_ports.0.port", "3000" },  /* published as well */
        { "local_ports.0.port", NULL },
        { "local_ports.0.host", "\"x\"" },
        { "local_ports.0.source", NULL },
        { "published", "1" },
        { "published.0.port", "5432" },
        { "published.0.port", "1" },
        { "published.0.source", "1" },
        { "unix_sockets", "{}" },
        { "unix_sockets.0", "\"/run/x\"" },
        { "unix_sockets.0.path", "\"run/x\"" },
        { "unix_sockets.0.path", "\"/run/../x\"" },
        { "unix_sockets.0.path", "\"/run/x/\"" },
        { "unix_sockets.0.path", "\"\"" },
        { "unix_sockets.0.path", NULL },
        { "unix_sockets.0.extra", "1" },
        { "proxy_variables.value", "1" },
        { "live.value", "\"on\"" },
        { "env", "{}" },
        { "env.0.name", "\"\"" },
        { "env.0.name", "\"A=B\"" },
        { "env.0.name", "\"1A\"" },
        { "env.0.value", "null" },
        { "env.0.value", "1" },
        { "denied_commands", "{}" },
        { "denied_commands.0.name", "\"\"" },
        { "denied_commands.0.name", "\"/bin/su\"" },
        { "denied_commands.0.name", "\"a[\"" },
        { "denied_commands.0.set", "1" },
        { "denied_commands.0.source", NULL },
        { "secrets", "null" },
        { "secrets.0.name", "\"A\"" },
        { "secrets.0.expression", "\"\"" },
        { "secrets.0.expression", NULL },
        { "secrets.0.extra", "1" },
        { "servers", "{}" },
        { "servers.0.command", "\"a\"" },
        { "servers.0.command", NULL },
        { "servers.0.command", "[1]" },
        { "servers.0.transport", "\"tcp\"" },
        { "servers.0.allow_exec", "1" },
        { "servers.0.allow_network", NULL },
        { "servers.0.rules", NULL },
        { "servers.0.rules.0.path", "\"x\"" },
        { "servers.0.hosts", "null" },
        { "servers.0.url", "1" },
        { "servers.0.env.0.name", "\"\"" },
        { "servers.0.source", NULL },
        { "servers.0.extra", "1" },
        { "cuts", NULL },
        { "cuts", "1" },
        { "unknown", "1" },
        { "read.value", "\"all\"" },
        { "workspace_access.value", "null" },
};

static struct world make_rich_world(void)
{
        struct world w = world_new();
        world_read(&w, "{network: {allowed_domains: [a.org, '*.b.org'], allow_private: [a.org], allow_local_ports: "
                       "[5432, 11434], publish: [3000], unix_sockets: [/run/x]}, tools: {modules: {mcp: {config: "
                       "{servers: {s: {command: x, env: {K: v}, sandbox: {permissions: [process.exec]}}}}}}}, "
                       "filesystem: {deny_read: ['/srv/*']}, gate: {secrets: {a: b}}}");
        world_ceiling(&w, "security: {sandbox: {pool_size: 1}}");
        assert_true(world_compile(&w));
        return w;
}

static void test_members_that_are_never_written_are_refused(void **state)
{
        (void)state;
        WORLD w = make_rich_world();
        size_t accepted = 0;
        for (size_t i = 0; i < ARRAY_SIZE(hostile); i++) {
                CLEANUP_JSON json_t *json = plan_to_json(w.plan);
                change_member(json, hostile[i].path, hostile[i].value);
                CLEANUP_JSON json_t *reparsed = parse_and_write(json);
                if (reparsed) {
                        print_error("accepted: %s = %s\n", hostile[i].path,
                                    hostile[i].value ? hostile[i].value : "(removed)");
                        accepted++;
                }
        }
        assert_int_equal(accepted, 0);
}

/* The parser has the same limits as the compiler. */
static void test_list_that_is_too_long_is_refused(void **state)
{
        (void)state;
        static const struct {
                const char *name, *before, *after;
                size_t maximum;
        } rows[] = {
                { "local_ports", "{\"port\": ", "", POLICY_PORTS_MAX },
                { "published", "{\"port\": ", "", POLICY_PORTS_MAX },
                { "unix_sockets", "{\"path\": \"/run/", "\"", POLICY_SOCKETS_MAX },
        };
        WORLD w = make_rich_world();
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                for (size_t excess = 0; excess < 2; excess++) {
                        CLEANUP_TEXT struct text list = { 0 };
                        for (size_t n = 0; n < rows[i].maximum + excess; n++)
                                text_format(&list, "%s%s%zu%s, \"source\": \"x\"}", n ? ", " : "[", rows[i].before,
                                            20000 + n, rows[i].after);
                        text_add(&list, "]");
                        CLEANUP_JSON json_t *json = plan_to_json(w.plan);
                        change_member(json, rows[i].name, list.data);
                        CLEANUP_JSON json_t *reparsed = parse_and_write(json);
                        if (!reparsed != (excess == 1))
                                fail_msg("%zu of %s: %s", rows[i].maximum + excess, rows[i].name,
                                         reparsed ? "accepted" : "refused");
                }
}

static void test_values_that_are_not_plans_are_refused(void **state)
{
        (void)state;
        static const char *const texts[] = { "[]", "{}", "null", "1", "\"x\"", "true", "{\"ringwall_plan\": 1}" };
        assert_null(parse_and_write(NULL));
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                CLEANUP_JSON json_t *json = json_loads(texts[i], JSON_DECODE_ANY, NULL);
                assert_null(parse_and_write(json));
        }
}

static void test_every_member_is_required(void **state)
{
        (void)state;
        WORLD w = make_rich_world();
        CLEANUP_JSON json_t *complete = plan_to_json(w.plan);
        const char *key = NULL;
        json_t *value = NULL;
        json_object_foreach(complete, key, value) {
                CLEANUP_JSON json_t *incomplete = json_copy(complete);
                json_object_del(incomplete, key);
                if (parse_and_write(incomplete))
                        fail_msg("a plan without %s was accepted", key);
        }
}

/* Replaces a random value by another. The result must be refused, or parsed as it is. */
static void replace_random_value(json_t *json, unsigned long long *seed)
{
        static const char *const values[] = {
                "null",      "true",      "0",           "-1",         "1e9",   "\"\"",     "\"/\"",
                "\"/a/..\"", "\"*.com\"", "[]",          "{}",         "[[]]",  "\"read\"", "\"deny_read\"",
                "\"x:1:1\"", "\"user\"",  "99999999999", "\"/srv/*\"", "false", "\"a.org\""
        };
        for (;;) {
                size_t size = json_is_array(json) ? json_array_size(json) : json_object_size(json);
                if (size == 0)
                        return;
                size_t at = random_below(seed, size);
                void *iter = json_is_object(json) ? json_object_iter(json) : NULL;
                for (size_t i = 0; iter && i < at; i++)
                        iter = json_object_iter_next(json, iter);
                json_t *child = iter ? json_object_iter_value(iter) : json_array_get(json, at);
                bool deeper = (json_is_array(child) || json_is_object(child)) && random_below(seed, 8);
                if (deeper) {
                        json = child;
                        continue;
                }
                json_t *new = json_loads(values[random_below(seed, ARRAY_SIZE(values))], JSON_DECODE_ANY, NULL);
                if (iter)
                        json_object_iter_set_new(json, iter, new);
                else
                        json_array_set_new(json, at, new);
                return;
        }
}

static void test_corrupted_plan_is_refused_or_parsed_as_it_is(void **state)
{
        (void)state;
        WORLD w = make_rich_world();
        unsigned long long seed = 4711;
        size_t refused = 0;
        CLEANUP_JSON json_t *complete = plan_to_json(w.plan);
        for (size_t i = 0; i < 4000; i++) {
                CLEANUP_JSON json_t *json = json_deep_copy(complete);
                replace_random_value(json, &seed);
                CLEANUP_JSON json_t *reparsed = parse_and_write(json);
                refused += !reparsed;
                if (reparsed && !json_equal(json, reparsed)) {
                        CLEANUP_FREE char *text = json_dumps(json, JSON_INDENT(1));
                        fail_msg("parsed as something else: %.3000s", text);
                }
        }
        assert_true(refused > 2000);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_plan_is_parsed_as_the_same_plan),
                cmocka_unit_test(test_members_that_are_never_written_are_refused),
                cmocka_unit_test(test_list_that_is_too_long_is_refused),
                cmocka_unit_test(test_values_that_are_not_plans_are_refused),
                cmocka_unit_test(test_every_member_is_required),
                cmocka_unit_test(test_corrupted_plan_is_refused_or_parsed_as_it_is),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
