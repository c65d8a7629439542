/*
 * From settings to a plan: numbers, rights that follow from modules and permissions, hosts, servers, and how several
 * files are merged. Paths are in test_policy_paths.c.
 */
#include "test_policy_fixture.h"

#include "policy/module_rights.h"

static void test_defaults_are_those_of_the_specification(void **state)
{
        (void)state;
        WORLD w = compile_valid("");
        static const struct {
                enum plan_scalar number;
                uint64_t value;
        } rows[] = {
                { PLAN_MODE, 0 },
                { PLAN_BEST_EFFORT, 0 },
                { PLAN_READ, PLAN_READ_LISTED },
                { PLAN_AUDIT, 0 },
                { PLAN_SNAPSHOT, 0 },
                { PLAN_POOL_SIZE, 2 },
                { PLAN_POOL_MAX, 8 },
                { PLAN_SESSION_TIMEOUT, 3600 },
                { PLAN_IDLE_TIMEOUT, 300 },
                { PLAN_TIMEOUT, 0 },
                { PLAN_MEMORY, 0 },
                { PLAN_CPU, 0 },
                { PLAN_PROCESSES, 0 },
                { PLAN_ALLOW_EXEC, 1 },
                { PLAN_ALLOW_FORK, 1 },
                { PLAN_ALLOW_NETWORK, 1 }, /* of the box's own loopback: no host is allowed */
                { PLAN_WORKSPACE, PLAN_WORKSPACE_RW },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                if (number(&w, rows[i].number) != rows[i].value)
                        fail_msg("%s is %llu", plan_scalar_name(rows[i].number),
                                 (unsigned long long)number(&w, rows[i].number));
        for (size_t i = 0; i < PLAN_SCALAR_COUNT; i++)
                assert_string_equal(w.plan->scalar[i].from.name, "default");
        assert_string_equal(w.printed.data, "");
}

static void test_resources_have_their_defaults(void **state)
{
        (void)state;
        static const struct {
                const char *yaml;
                uint64_t memory, cpu, processes;
        } rows[] = {
                { "{}", 0, 0, 10 },
                { "", 0, 0, 10 },
                { "{memory: 512MB}", 512000000, 0, 10 },
                { "{memory: 512MB, cpu: 2, processes: 20}", 512000000, 2000, 20 },
                { "{cpu: 0.5, memory: 1.5GiB}", 1610612736, 500, 10 },
                { "{cpu: 2 cores, processes: 1}", 0, 2000, 1 },
                { "{cpu: '150%', memory: 1073741824}", 1073741824, 1500, 10 },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                CLEANUP_TEXT struct text yaml = { 0 };
                text_format(&yaml, "security:\n  sandbox:\n    resources: %s\n", rows[i].yaml);
                WORLD w = compile_valid(yaml.data);
                assert_int_equal(number(&w, PLAN_MEMORY), rows[i].memory);
                assert_int_equal(number(&w, PLAN_CPU), rows[i].cpu);
                assert_int_equal(number(&w, PLAN_PROCESSES), rows[i].processes);
        }
        WORLD flag = world_new();
        world_flag(&flag, KEY_MEMORY, "1GiB");
        assert_true(world_compile(&flag));
        assert_int_equal(number(&flag, PLAN_PROCESSES), 0); /* a flag is not a block of resources */
}

static const struct {
        const char *modules;
        uint64_t exec, fork, network;
        const char *allows_host;
} inferred[] = {
        { "modules: {}", 0, 0, 0, NULL },
        { "modules: ", 0, 0, 0, NULL },
        { "modules: {filesystem: {}}", 0, 0, 0, NULL },
        { "modules: {shell: {}}", 1, 1, 0, NULL },
        { "modules: {shell: }", 1, 1, 0, NULL },
        { "modules: {git: {}}", 1, 1, 0, NULL },
        { "modules: {web: {}}", 0, 0, 1, NULL },
        { "modules: {http: {}}", 0, 0, 1, NULL },
        { "modules: {llm_provider: {}}", 0, 0, 1, NULL },
        { "modules: {database: {}}", 0, 0, 1, "localhost" },
        { "modules: {mcp: {}}", 0, 0, 0, NULL },
        { "modules: {shell: {}, web: {}}", 1, 1, 1, NULL },
        { "modules: {web: {config: {egress: {allowed_domains: [a.org]}}}}", 0, 0, 1, "a.org" },
        { "modules: {http: {config: {egress: {allowed_domains: [a.org]}}}}", 0, 0, 1, "a.org" },
        { "modules: {database: {config: {egress: {allowed_domains: [a.org]}}}}", 0, 0, 1, "a.org" },
        { "modules: {llm_provider: {config: {egress: {allowed_domains: [a.org]}}}}", 0, 0, 1, "a.org" },
        { "modules: {web: {config: {egress: {allowed_domains: []}}}}", 0, 0, 1, NULL },
        { "{modules: {}, capabilities: {grant: [process.spawn_daemon]}}", 0, 1, 0, NULL },
        { "{modules: {}, capabilities: {grant: [process.exec]}}", 1, 1, 0, NULL },
        { "{modules: {}, capabilities: {grant: ['process.*']}}", 1, 1, 0, NULL },
        { "{modules: {}, capabilities: {grant: [net.http]}}", 0, 0, 1, NULL },
        { "{modules: {}, capabilities: {grant: [net.socket]}}", 0, 0, 1, NULL },
        { "{modules: {}, capabilities: {grant: [net.listen]}}", 0, 0, 1, NULL },
        { "{modules: {}, capabilities: {grant: ['net.*']}}", 0, 0, 1, NULL },
        { "{modules: {}, capabilities: {grant: ['fs.*']}}", 0, 0, 0, NULL },
        { "{modules: {}, capabilities: {grant: []}}", 0, 0, 0, NULL },
        { "capabilities: {grant: [net.http]}", 1, 1, 1, NULL },
        { "capabilities: {deny: [process.exec]}", 0, 0, 1, NULL },
        { "capabilities: {deny: [net.socket]}", 1, 1, 0, NULL },
        { "capabilities: {}\nsecurity: {sandbox: {level: standard}}", 1, 1, 0, NULL },
        { "capabilities: {}\nsecurity: {sandbox: {namespaces: [user, pid, mount]}}", 1, 1, 0, NULL },
        { "capabilities: {}\nsecurity: {sandbox: {namespaces: [user, net]}}", 1, 1, 1, NULL },
        { "{modules: {shell: {}, web: {}}, capabilities: {deny: ['process.*']}}", 0, 0, 1, NULL },
        { "{modules: {shell: {}}, capabilities: {deny: [process.spawn_daemon]}}", 1, 0, 0, NULL },
        { "{modules: {web: {}}, capabilities: {grant: [net.http], deny: [net.http]}}", 0, 0, 0, NULL },
        { "{modules: {}}\nnetwork: {publish: [3000]}", 0, 0, 1, NULL },
        { "{modules: {}}\nnetwork: {allow_local_ports: [5432]}", 0, 0, 1, NULL },
        { "{modules: {}}\nnetwork: {allow_local_ports: [], publish: []}", 0, 0, 0, NULL },
        { "{modules: {}}\nnetwork: {unix_sockets: [/run/x], proxy_variables: true}", 0, 0, 0, NULL },
        { "{capabilities: {deny: ['net.*']}}\nnetwork: {publish: [3000]}", 1, 1, 0, NULL },
};

static void test_rights_follow_modules_and_permissions(void **state)
{
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(inferred); i++) {
                CLEANUP_TEXT struct text yaml = { 0 };
                bool flow = *inferred[i].modules == '{';
                text_format(&yaml, flow ? "tools: %s\n" : "tools:\n  %s\n", inferred[i].modules);
                WORLD w = compile_valid(yaml.data);
                if (number(&w, PLAN_ALLOW_EXEC) != inferred[i].exec ||
                    number(&w, PLAN_ALLOW_FORK) != inferred[i].fork ||
                    number(&w, PLAN_ALLOW_NETWORK) != inferred[i].network)
                        fail_msg("%s: exec %d, fork %d, network %d", yaml.data, (int)number(&w, PLAN_ALLOW_EXEC),
                                 (int)number(&w, PLAN_ALLOW_FORK), (int)number(&w, PLAN_ALLOW_NETWORK));
                if (inferred[i].allows_host)
                        assert_true(allows_host(&w, inferred[i].allows_host));
                else
                        assert_int_equal(w.plan->hosts.count, 0);
        }
}

/* The specification: "Taken away, whatever grants them." */
static void test_denied_rights_stay_denied_however_they_are_granted(void **state)
{
        (void)state;
        static const char *const words[] = { "fs.write", "fs.delete" };
        for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
                CLEANUP_TEXT struct text yaml = { 0 };
                text_format(
                        &yaml,
                        "{tools: {capabilities: {deny: [%s]}, modules: {filesystem: {constraints: {paths: [/srv/a]}}, "
                        "mcp: {config: {servers: {s: {command: x, sandbox: {permissions: [process.exec, fs.write], "
                        "paths: {write: [/srv/b]}}}}}}}}, filesystem: {allow_write: [/srv/c], workspace: rw}, "
                        "security: {sandbox: {allow_paths: ['/srv/d:rw']}}}",
                        words[i]);
                WORLD w = compile_valid(yaml.data);
                static const char *const paths[] = { "/srv/a/x", "/srv/c/x", "/srv/d/x", WORK "/x" };
                for (size_t j = 0; j < ARRAY_SIZE(paths); j++)
                        if (!allows_read(&w, paths[j]) || allows_write(&w, paths[j]))
                                fail_msg("%s with %s denied", paths[j], words[i]);
                assert_false(rules_decide(&w.plan->servers[0].rules, "/srv/b/x", true, NULL));
        }
        assert_refused("tools: {capabilities: {deny: [fs.read]}}", "cannot be denied as a whole");
        assert_refused("tools: {capabilities: {deny: ['fs.*']}}", "cannot be denied as a whole");
        WORLD w = compile_valid(
                "{tools: {capabilities: {deny: ['net.*', 'process.*']}, modules: {mcp: {config: {servers: "
                "{s: {command: x, "
                "sandbox: {permissions: ['process.*', 'net.*'], allowed_hosts: [a.org]}}}}}}}}");
        const struct plan_server *s = &w.plan->servers[0];
        assert_false(s->allow_network || s->allow_exec || s->allow_fork);
}

static void test_hosts_are_allowed_and_denied_by_lists(void **state)
{
        (void)state;
        WORLD w = compile_valid(
                "network: {allowed_domains: [a.org, '*.b.org', 'c.org:8443', a.org, bücher.example, +github, -ghcr.io, "
                "+d.org], denied_domains: ['x.b.org', a.org:80]}");
        assert_true(allows_host(&w, "a.org") && allows_host(&w, "y.b.org") && allows_host(&w, "xn--bcher-kva.example"));
        assert_true(allows_host(&w, "github.com") && allows_host(&w, "raw.githubusercontent.com") &&
                    allows_host(&w, "d.org"));
        assert_false(allows_host(&w, "b.org") || allows_host(&w, "x.b.org") || allows_host(&w, "c.org") ||
                     allows_host(&w, "ghcr.io"));
        assert_false(allows_host(&w, "gitlab.com") || allows_host(&w, "evila.org"));
        assert_true(hosts_decide(&w.plan->hosts, "c.org", 8443, NULL));
        assert_false(hosts_decide(&w.plan->hosts, "a.org", 80, NULL));
        assert_int_equal(number(&w, PLAN_ALLOW_NETWORK), 1);
        WORLD nothing = compile_valid("network: {allowed_domains: []}");
        assert_int_equal(nothing.plan->hosts.count, 0);
        assert_false(plan_needs_egress(nothing.plan));
        WORLD all = compile_valid("network: {allowed_domains: [+dev-network]}");
        assert_int_equal(all.plan->hosts.count, dev_network_set.count);
        for (size_t i = 0; i < all.plan->hosts.count; i++)
                assert_true(text_has_prefix(all.plan->hosts.list[i].set, "dev-network: "));
        static const char *const refused[] = { "'*'", "'*.com'", "'https://a.org'", "a.org/x",   "'a b'",
                                               "''",  "'+*'",    "'+a b'",          "127.0.0.1", "-nothing",
                                               "'-'", "[a.org]", "{a: b}",          "" };
        for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
                CLEANUP_TEXT struct text yaml = { 0 };
                text_format(&yaml, "network:\n  allowed_domains:\n    - %s\n", refused[i]);
                assert_refused(yaml.data, "p1.yaml:3:");
        }
}

static void test_releasing_hosts_that_were_never_added_is_harmless(void **state)
{
        (void)state;
        WORLD w = compile_valid("network: {allowed_domains: [-github, -dev-network]}");
        assert_int_equal(w.plan->hosts.count, 0);
}

#define STRICT                                                                                                         \
        (NAMESPACE_USER | NAMESPACE_PID | NAMESPACE_MOUNT | NAMESPACE_IPC | NAMESPACE_UTS | NAMESPACE_CGROUP |        \
         NAMESPACE_NET)

static void test_namespaces_follow_the_level_or_the_list(void **state)
{
        (void)state;
        static const struct {
                const char *sandbox;
                uint64_t namespaces;
        } rows[] = {
                { "{level: off}", 0 },
                { "{level: standard}", 0 },
                { "{level: strict}", STRICT },
                { "{level: maximum}", STRICT },
                { "{level: strict, namespaces: [user, pid, net]}", NAMESPACE_USER | NAMESPACE_PID | NAMESPACE_NET },
                { "{level: strict, namespaces: [net, pid, user, user]}",
                  NAMESPACE_USER | NAMESPACE_PID | NAMESPACE_NET },
                { "{level: maximum, namespaces: [user, pid, net, mount]}",
                  NAMESPACE_USER | NAMESPACE_PID | NAMESPACE_NET | NAMESPACE_MOUNT },
                { "{level: standard, namespaces: []}", 0 },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                CLEANUP_TEXT struct text yaml = { 0 };
                text_format(&yaml, "security: {sandbox: %s}", rows[i].sandbox);
                WORLD w = compile_valid(yaml.data);
                if (number(&w, PLAN_NAMESPACES) != rows[i].namespaces)
                        fail_msg("%s: %llx", rows[i].sandbox, (unsigned long long)number(&w, PLAN_NAMESPACES));
        }
        assert_refused("security: {sandbox: {level: standard, namespaces: [user]}}",
                       "only at the levels strict and maximum");
        assert_refused("security: {sandbox: {level: strict, namespaces: [pid]}}", "add user");
        assert_refused("security: {sandbox: {level: maximum, namespaces: [user, pid]}}",
                       "always has a network namespace");
        assert_refused("security: {sandbox: {namespaces: [user, time]}}", "expected one of user");
        assert_refused("security: {sandbox: {namespaces: user}}", "expected a list");
        assert_refused("{security: {sandbox: {level: strict, namespaces: [user, pid]}}, network: {publish: [3000]}}",
                       "needs a network namespace at level strict");
        WORLD last = world_new();
        world_read(&last, "security: {sandbox: {level: strict, namespaces: [user, pid, mount]}}");
        world_read(&last, "security: {sandbox: {namespaces: [user, net]}}");
        assert_true(world_compile(&last));
        assert_int_equal(number(&last, PLAN_NAMESPACES), NAMESPACE_USER | NAMESPACE_NET);
}

static void test_contradicting_numbers_are_refused(void **state)
{
        (void)state;
        assert_refused("security: {sandbox: {pool_size: 9}}", "pool_size 9 is larger than pool_max 8");
        assert_refused("security: {sandbox: {pool_max: 1}}", "pool_size 2 is larger than pool_max 1");
        assert_refused("security: {sandbox: {workspace_snapshot: true}}", "needs level maximum");
        WORLD w = compile_valid(
                "security: {sandbox: {level: maximum, workspace_snapshot: true, pool_size: 32, pool_max: 64}}");
        assert_int_equal(number(&w, PLAN_SNAPSHOT), 1);
}

#define SERVER(text) "tools: {modules: {mcp: {config: {servers: {github: " text "}}}}}"

static const struct {
        const char *yaml, *warning; /* NULL: no warning */
        bool exec, fork, network, read, write, host;
} servers[] = {
        { SERVER("{command: x, sandbox: {permissions: [process.exec]}}"), NULL, 1, 1, 0, 0, 0, 0 },
        { SERVER("{command: x, sandbox: {permissions: [process.spawn_daemon]}}"), NULL, 1, 1, 0, 0, 0, 0 },
        { SERVER("{command: x, sandbox: {permissions: ['process.*']}}"), NULL, 1, 1, 0, 0, 0, 0 },
        { SERVER("{command: x, sandbox: {permissions: []}}"), "without the permission process.exec", 0, 0, 0, 0, 0, 0 },
        { SERVER("{command: x, sandbox: {}}"), "without the permission process.exec", 0, 0, 0, 0, 0, 0 },
        { SERVER("{command: x, sandbox: }"), "without the permission process.exec", 0, 0, 0, 0, 0, 0 },
        { SERVER("{transport: http, url: 'https://h.org', sandbox: {permissions: [net.http], allowed_hosts: [h.org]}}"),
          NULL, 0, 0, 1, 0, 0, 1 },
        { SERVER("{transport: sse, url: 'https://h.org', sandbox: {permissions: ['net.*'], allowed_hosts: [h.org]}}"),
          NULL, 0, 0, 1, 0, 0, 1 },
        { SERVER("{transport: sse, url: u, sandbox: {permissions: [process.exec]}}"), "without the permission net.http",
          1, 1, 0, 0, 0, 0 },
        { SERVER("{transport: http, url: u, sandbox: {permissions: []}}"), "without the permission net.http", 0, 0, 0,
          0, 0, 0 },
        { SERVER("{command: x, sandbox: {permissions: [process.exec, fs.read], paths: {read: [/p], write: [/q]}}}"),
          "no effect without the permission fs.write", 1, 1, 0, 1, 0, 0 },
        { SERVER("{command: x, sandbox: {permissions: [process.exec, fs.list], paths: {read: [/p]}}}"), NULL, 1, 1, 0,
          1, 0, 0 },
        { SERVER("{command: x, sandbox: {permissions: [process.exec, fs.write], paths: {write: [/q]}}}"), NULL, 1, 1, 0,
          0, 1, 0 },
        { SERVER("{command: x, sandbox: {permissions: [process.exec, fs.delete], paths: {write: [/q]}}}"), NULL, 1, 1,
          0, 0, 1, 0 },
        { SERVER("{command: x, sandbox: {permissions: [process.exec, 'fs.*'], paths: {read: [/p], write: [/q]}}}"),
          NULL, 1, 1, 0, 1, 1, 0 },
        { SERVER("{command: x, sandbox: {permissions: [process.exec, net.socket], allowed_hosts: [h.org]}}"), NULL, 1,
          1, 1, 0, 0, 1 },
        { SERVER("{command: x, sandbox: {permissions: [process.exec, net.listen]}}"), NULL, 1, 1, 1, 0, 0, 0 },
        { SERVER("{command: x, sandbox: {permissions: [process.exec], allowed_hosts: [h.org]}}"),
          "no effect without the permission net.http", 1, 1, 0, 0, 0, 0 },
};

static void test_server_gets_only_what_it_declares(void **state)
{
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(servers); i++) {
                WORLD w = compile_valid(servers[i].yaml);
                assert_int_equal(w.plan->server_count, 1);
                const struct plan_server *s = &w.plan->servers[0];
                assert_string_equal(s->name, "github");
                bool same = s->allow_exec == servers[i].exec && s->allow_fork == servers[i].fork &&
                            s->allow_network == servers[i].network &&
                            rules_decide(&s->rules, "/p/x", false, NULL) == servers[i].read &&
                            rules_decide(&s->rules, "/q/x", true, NULL) == servers[i].write &&
                            hosts_decide(&s->hosts, "h.org", 443, NULL) == servers[i].host;
                if (!same ||
                    rules_decide(&s->rules, WORK "/x.c", true, NULL) != rules_decide(&s->rules, HOME "/y", true, NULL))
                        fail_msg("%s", servers[i].yaml);
                if (servers[i].warning)
                        assert_world_message(&w, servers[i].warning);
                else
                        assert_string_equal(w.printed.data, "");
                assert_false(hosts_decide(&w.plan->hosts, "h.org", 443, NULL)); /* not for the agent itself */
        }
}

static void test_server_without_paths_cannot_read_the_workspace(void **state)
{
        (void)state;
        WORLD w = compile_valid(SERVER("{command: x, sandbox: {permissions: [process.exec]}}"));
        const struct rule *by = NULL;
        bool read = rules_decide(&w.plan->servers[0].rules, WORK "/secret.c", false, &by);
        assert_true(!read || by->kind == RULE_PRIVATE);
        assert_false(rules_decide(&w.plan->servers[0].rules, "/etc/shadow", false, NULL));
        WORLD wide = compile_valid("{network: {denied_domains: [h.org]}, " SERVER(
                "{command: x, sandbox: {permissions: [process.exec, "
                "'fs.*', 'net.*'], paths: {read: [/], write: ['{{workspace}}']}, allowed_hosts: [h.org]}}") "}");
        const struct plan_server *s = &wide.plan->servers[0];
        assert_false(hosts_decide(&s->hosts, "h.org", 443, NULL));
        assert_false(rules_decide(&s->rules, HOME "/.ssh/id", false, NULL));
        assert_false(rules_decide(&s->rules, WORK "/.git/hooks/x", true, NULL));
        assert_true(rules_decide(&s->rules, WORK "/x", true, NULL));
}

static void test_paths_of_a_server_are_combined(void **state)
{
        (void)state;
        WORLD w = compile_valid(
                SERVER("{command: x, sandbox: {permissions: [process.exec, 'fs.*'], paths: {read: [/w/docs, "
                       "/r], write: [/w, /r]}}}"));
        static const char *const paths[] = { "/w/x", "/w/docs/x", "/r/x" };
        for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
                assert_true(rules_decide(&w.plan->servers[0].rules, paths[i], true, NULL));
}

static void test_network_without_hosts_gives_a_warning(void **state)
{
        (void)state;
        WORLD w = compile_valid(SERVER("{command: x, sandbox: {permissions: [process.exec, net.http]}}"));
        assert_world_message(&w, "reach no host");
}

static void test_invalid_servers_are_refused(void **state)
{
        (void)state;
        assert_refused(SERVER("{command: x}"), "MCP server 'github' has no sandbox block");
        assert_refused(SERVER(""), "MCP server 'github' has no sandbox block");
        assert_refused(SERVER("{sandbox: {permissions: [process.exec]}}"), "needs a command");
        assert_refused(SERVER("{command: [], sandbox: {permissions: [process.exec]}}"), "needs a command");
        assert_refused(SERVER("{command: ' ', sandbox: {permissions: [process.exec]}}"), "needs a command");
        assert_refused(SERVER("{transport: http, sandbox: {permissions: [net.http]}}"), "needs a url");
        assert_refused(SERVER("{command: 'a | b', sandbox: {permissions: [process.exec]}}"), "list of words");
        assert_refused(SERVER("{command: x, sandbox: {permissions: [net.htp]}}"), "did you mean 'net.http'?");
        assert_refused(SERVER("{command: x, sandbox: {permissions: process.exec}}"), "expected a list");
        assert_refused(SERVER("{command: x, sandbox: {permision: []}}"), "did you mean 'permissions'?");
        assert_refused(SERVER("{command: x, env: {'A=B': c}, sandbox: {permissions: [process.exec]}}"),
                       "variable's name");
        assert_refused(SERVER("{command: x, sandbox: {permissions: [process.exec], allowed_hosts: ['*']}}"),
                       "every host");
        assert_refused("tools: {modules: {mcp: {config: {servers: {\"a\\nb\": {}}}}}}", "name");
        assert_refused("tools: {modules: {mcp: {config: {servers: {\"a\\eb\": {command: x, sandbox: {}}}}}}}", "name");
        assert_refused("tools: {modules: {mcp: {config: {servers: {'': {command: x, sandbox: {}}}}}}}", "name");
}

static void test_command_is_a_line_or_a_list_of_words(void **state)
{
        (void)state;
        WORLD line = compile_valid(SERVER("{command: npx  -y @scope/name, args: [a b, '$x'], env: {TOKEN: 1, B: ''}, "
                                          "sandbox: {permissions: [process.exec]}}"));
        static const char *const words[] = { "npx", "-y", "@scope/name", "a b", "$x" };
        const struct plan_server *s = &line.plan->servers[0];
        assert_int_equal(s->command_count, ARRAY_SIZE(words));
        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                assert_string_equal(s->command[i], words[i]);
        assert_int_equal(s->env_count, 2);
        assert_string_equal(s->env[0].value, "1");
        WORLD list = compile_valid(SERVER("{command: [sh, -c, 'a | b'], sandbox: {permissions: [process.exec]}}"));
        assert_int_equal(list.plan->servers[0].command_count, 3);
        assert_string_equal(list.plan->servers[0].command[2], "a | b");
        WORLD one = compile_valid(SERVER("{command: ['/opt/my (tool)'], sandbox: {permissions: [process.exec]}}"));
        assert_int_equal(one.plan->servers[0].command_count, 1);
        assert_string_equal(one.plan->servers[0].command[0], "/opt/my (tool)");
}

static void test_environment_variables_are_parsed(void **state)
{
        (void)state;
        WORLD w = compile_valid("runtime: {env: [A, B=c=d, A=, PATH=/x, A]}");
        size_t names = 0;
        for (size_t i = 0; i < w.plan->env_count; i++) {
                const struct plan_env *e = &w.plan->env[i];
                if (strcmp(e->name, "A") == 0)
                        assert_null(e->value); /* the last entry wins */
                if (strcmp(e->name, "B") == 0)
                        assert_string_equal(e->value, "c=d");
                names++;
        }
        assert_int_equal(names, 12);
        assert_refused("runtime: {env: [=x]}", "begins with a letter");
        assert_refused("runtime: {env: ['A B']}", "only letters");
        assert_refused("runtime: {env: {A: b}}", "expected a list");
        assert_refused("runtime: {env: ['A_*=x']}", "can have no value");
}

static void test_later_files_override_and_lists_are_concatenated(void **state)
{
        (void)state;
        WORLD w = world_new();
        world_read(&w, "{mode: auto, security: {sandbox: {level: standard, allow_paths: [/srv/etc], resources: "
                       "{memory: 1GB}}}}");
        world_read(&w, "{security: {sandbox: {level: maximum, pool_size: 3}}, network: {allowed_domains: [user.org]}}");
        world_read(&w, "{security: {sandbox: {pool_size: 4, allow_paths: [/srv/policy]}}, filesystem: {deny_read: "
                       "[/srv/etc/no]}}");
        world_flag(&w, KEY_LEVEL, "strict");
        world_flag(&w, KEY_ALLOWED_DOMAINS, "flag.org");
        world_grant(&w, ACCESS_WRITE, "/srv/flag");
        assert_true(world_compile(&w));
        assert_int_equal(number(&w, PLAN_LEVEL), LEVEL_STRICT);
        assert_string_equal(w.plan->scalar[PLAN_LEVEL].from.name, "--flag");
        assert_int_equal(number(&w, PLAN_MODE), 1);
        assert_int_equal(number(&w, PLAN_POOL_SIZE), 4);
        assert_string_equal(w.plan->scalar[PLAN_POOL_SIZE].from.name, "p3.yaml");
        assert_int_equal(number(&w, PLAN_PROCESSES), 10);
        assert_true(allows_host(&w, "user.org") && allows_host(&w, "flag.org"));
        assert_true(allows_read(&w, "/srv/etc/x") && allows_read(&w, "/srv/policy/x") &&
                    allows_write(&w, "/srv/flag/x"));
        assert_false(allows_read(&w, "/srv/etc/no"));
}

static void test_server_in_two_files_is_one_server(void **state)
{
        (void)state;
        WORLD w = world_new();
        world_read(&w, SERVER("{command: old, sandbox: {permissions: [process.exec]}}"));
        world_read(&w, SERVER("{command: [new, -x], sandbox: {permissions: [net.http], allowed_hosts: [a.org]}}"));
        assert_true(world_compile(&w));
        assert_int_equal(w.plan->server_count, 1);
        assert_string_equal(w.plan->servers[0].command[0], "new");
        assert_int_equal(w.plan->servers[0].command_count, 2);
        assert_true(w.plan->servers[0].allow_exec && w.plan->servers[0].allow_network);
}

static void test_unknown_keys_and_wrong_values_are_refused_with_a_hint(void **state)
{
        (void)state;
        static const struct {
                const char *yaml, *text;
        } rows[] = {
                { "secuirty: {}", "did you mean 'security'?" },
                { "security: {sandbx: {}}", "did you mean 'sandbox'?" },
                { "security: {sandbox: {alow_paths: []}}", "did you mean 'allow_paths'?" },
                { "level: strict", "it belongs at security.sandbox.level" },
                { "Mode: auto", "did you mean 'mode'?" },
                { "zzzzzz: 1", "known here: mode" },
                { "'': 1", "unknown key ''" },
                { "<<: {mode: auto}", "unknown key '<<'" },
                { "security: strict", "expected a map" },
                { "[mode]", "the policy cannot be a list" },
                { "auto", "the policy cannot be 'auto'" },
                { "mode: {auto: 1}", "cannot be a map" },
                { "mode: [auto]", "cannot be a list" },
                { "mode:", "cannot be nothing" },
                { "mode: auto\nmode: auto", "given twice" },
                { "security: {sandbox: {audit: yes}}", "true or false" },
                { "security: {sandbox: {pool_size: '4x'}}", "whole number from 1 to 32" },
                { "security: {sandbox: {session_timeout: 59}}", "at least 1m" },
                { "security: {sandbox: {idle_timeout: 29s}}", "at least 30s" },
                { "tools: {modules: {shel: {}}}", "did you mean 'shell'?" },
                { "tools: {modules: {shell: {constraints: {}}}}", "unknown key 'constraints'" },
                { "filesystem: {allow_write: /srv}", "expected a list" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                assert_refused(rows[i].yaml, rows[i].text);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_defaults_are_those_of_the_specification),
                cmocka_unit_test(test_resources_have_their_defaults),
                cmocka_unit_test(test_rights_follow_modules_and_permissions),
                cmocka_unit_test(test_denied_rights_stay_denied_however_they_are_granted),
                cmocka_unit_test(test_hosts_are_allowed_and_denied_by_lists),
                cmocka_unit_test(test_releasing_hosts_that_were_never_added_is_harmless),
                cmocka_unit_test(test_namespaces_follow_the_level_or_the_list),
                cmocka_unit_test(test_contradicting_numbers_are_refused),
                cmocka_unit_test(test_server_gets_only_what_it_declares),
                cmocka_unit_test(test_server_without_paths_cannot_read_the_workspace),
                cmocka_unit_test(test_paths_of_a_server_are_combined),
                cmocka_unit_test(test_network_without_hosts_gives_a_warning),
                cmocka_unit_test(test_invalid_servers_are_refused),
                cmocka_unit_test(test_command_is_a_line_or_a_list_of_words),
                cmocka_unit_test(test_environment_variables_are_parsed),
                cmocka_unit_test(test_later_files_override_and_lists_are_concatenated),
                cmocka_unit_test(test_server_in_two_files_is_one_server),
                cmocka_unit_test(test_unknown_keys_and_wrong_values_are_refused_with_a_hint),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
