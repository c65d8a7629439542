/*
 * Ceilings: tables for each kind of limit, and a property test with random policies, ceilings, paths and hosts. It uses
 * an oracle of its own for what a ceiling allows, independent of the compiler.
 */
#include "test_policy_fixture.h"

static struct world compile_under(const char *policy, const char *ceiling)
{
        struct world w = world_new();
        world_read(&w, policy);
        world_ceiling(&w, ceiling);
        if (!world_compile(&w))
                fail_msg("refused: %s under %s\n%s", policy, ceiling, w.printed.data);
        return w;
}

static bool has_cut(const struct world *w, const char *what, const char *result)
{
        for (size_t i = 0; i < w->plan->cut_count; i++)
                if (strstr(w->plan->cuts[i].what, what) && strstr(w->plan->cuts[i].result, result))
                        return strcmp(w->plan->cuts[i].by.name, "p2.yaml") == 0;
        return false;
}

static const struct {
        const char *policy, *ceiling;
        enum plan_scalar number;
        uint64_t result;
        bool cut;
} numbers[] = {
        { "security: {sandbox: {level: standard}}", "security: {sandbox: {level: strict}}", PLAN_LEVEL, LEVEL_STRICT,
          true },
        { "security: {sandbox: {level: off}}", "security: {sandbox: {level: maximum}}", PLAN_LEVEL, LEVEL_MAXIMUM,
          true },
        { "security: {sandbox: {level: maximum}}", "security: {sandbox: {level: strict}}", PLAN_LEVEL, LEVEL_MAXIMUM,
          false },
        { "mode: auto", "mode: accept-edits", PLAN_MODE, 0, true },
        { "", "mode: auto", PLAN_MODE, 0, false },
        { "best_effort: true", "best_effort: false", PLAN_BEST_EFFORT, 0, true },
        { "best_effort: false", "best_effort: true", PLAN_BEST_EFFORT, 0, false },
        { "filesystem: {read: broad}", "filesystem: {read: listed}", PLAN_READ, PLAN_READ_LISTED, true },
        { "", "filesystem: {read: broad}", PLAN_READ, PLAN_READ_LISTED, false },
        { "", "filesystem: {workspace: ro}", PLAN_WORKSPACE, PLAN_WORKSPACE_RO, true },
        { "", "security: {sandbox: {audit: true}}", PLAN_AUDIT, 1, true },
        { "security: {sandbox: {audit: true}}", "security: {sandbox: {audit: false}}", PLAN_AUDIT, 1, false },
        { "", "security: {sandbox: {mdwe: true}}", PLAN_MDWE, 1, true },
        { "security: {sandbox: {mdwe: true}}", "security: {sandbox: {mdwe: false}}", PLAN_MDWE, 1, false },
        { "security: {sandbox: {pool_size: 4}}", "security: {sandbox: {pool_size: 1}}", PLAN_POOL_SIZE, 1, true },
        { "", "security: {sandbox: {pool_max: 1}}", PLAN_POOL_MAX, 1, true },
        { "", "security: {sandbox: {pool_max: 1}}", PLAN_POOL_SIZE, 1, true },
        { "", "security: {sandbox: {session_timeout: 60}}", PLAN_SESSION_TIMEOUT, 60, true },
        { "", "security: {sandbox: {idle_timeout: 1h}}", PLAN_IDLE_TIMEOUT, 300, false },
        { "", "runtime: {timeout: 10}", PLAN_TIMEOUT, 10, true },
        { "runtime: {timeout: 5}", "runtime: {timeout: 10}", PLAN_TIMEOUT, 5, false },
        { "", "security: {sandbox: {resources: {memory: 1GiB}}}", PLAN_MEMORY, 1 << 30, true },
        { "security: {sandbox: {resources: {memory: 2GiB}}}", "security: {sandbox: {resources: {memory: 1GiB}}}",
          PLAN_MEMORY, 1 << 30, true },
        { "", "security: {sandbox: {resources: {cpu: 0.5}}}", PLAN_CPU, 500, true },
        { "", "security: {sandbox: {resources: {processes: 3}}}", PLAN_PROCESSES, 3, true },
        { "security: {sandbox: {resources: {}}}", "security: {sandbox: {resources: {processes: 30}}}", PLAN_PROCESSES,
          10, false },
        { "security: {sandbox: {level: standard}}", "security: {sandbox: {level: strict, namespaces: [user, net]}}",
          PLAN_NAMESPACES,
          NAMESPACE_USER | NAMESPACE_PID | NAMESPACE_MOUNT | NAMESPACE_IPC | NAMESPACE_UTS | NAMESPACE_CGROUP |
                  NAMESPACE_NET,
          true },
        { "tools: {modules: {shell: {}}}", "tools: {capabilities: {deny: [process.exec]}}", PLAN_ALLOW_EXEC, 0, true },
        { "network: {allowed_domains: [a.org]}", "tools: {capabilities: {deny: ['net.*']}}", PLAN_ALLOW_NETWORK, 0,
          true },
        { "", "tools: {capabilities: {deny: [process.spawn_daemon]}}", PLAN_ALLOW_FORK, 0, true },
};

static void test_stricter_number_is_used(void **state)
{
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
                WORLD w = compile_under(numbers[i].policy, numbers[i].ceiling);
                if (number(&w, numbers[i].number) != numbers[i].result || (w.plan->cut_count > 0) != numbers[i].cut)
                        fail_msg("'%s' under '%s': %llu, %zu cuts", numbers[i].policy, numbers[i].ceiling,
                                 (unsigned long long)number(&w, numbers[i].number), w.plan->cut_count);
        }
}

/* A ceiling cuts a policy; it does not make a valid policy invalid. */
static void test_ceiling_does_not_make_a_valid_policy_invalid(void **state)
{
        (void)state;
        static const struct {
                const char *policy, *ceiling;
        } rows[] = {
                { "", "security: {sandbox: {pool_max: 1}}" },
                { "security: {sandbox: {pool_size: 8}}", "security: {sandbox: {pool_max: 4}}" },
                { "security: {sandbox: {level: strict, namespaces: [user, pid]}}",
                  "security: {sandbox: {level: maximum}}" },
                { "security: {sandbox: {level: strict, namespaces: []}}", "security: {sandbox: {namespaces: [pid]}}" },
                { "security: {sandbox: {level: standard}}", "security: {sandbox: {namespaces: [user]}}" },
                { "network: {allowed_domains: [+dev-network]}", "network: {allowed_domains: []}" },
                { "filesystem: {protect: [-git]}", "filesystem: {protect: [+git]}" },
                { "filesystem: {deny_read: [-ssh]}", "filesystem: {deny_read: [+ssh, +sensitive]}" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                WORLD w = compile_under(rows[i].policy, rows[i].ceiling);
                assert_int_equal(w.result, 0);
        }
}

static void test_writes_stay_within_allow_write(void **state)
{
        (void)state;
        WORLD w = compile_under("filesystem: {allow_write: [/srv, /data/deep/er, /opt2]}",
                                "filesystem: {allow_write: [/srv/out, /data]}");
        assert_true(allows_write(&w, "/srv/out/x") && allows_write(&w, "/data/deep/er/x"));
        assert_false(allows_write(&w, "/srv/x") || allows_write(&w, "/data/x") || allows_write(&w, "/opt2/x") ||
                     allows_write(&w, WORK "/x"));
        assert_true(has_cut(&w, "write /srv ", "narrowed"));
        assert_true(has_cut(&w, "write /opt2 ", "read-only"));
        assert_true(has_cut(&w, "write " WORK " ", "read-only"));
        WORLD any = compile_under("filesystem: {allow_write: [/srv]}", "filesystem: {allow_write: ['{workspace}']}");
        assert_true(allows_write(&any, WORK "/x"));
        assert_false(allows_write(&any, "/srv/x"));
        WORLD none = compile_under("filesystem: {allow_write: [/srv]}", "filesystem: {allow_write: []}");
        assert_false(allows_write(&none, "/srv/x") || allows_write(&none, WORK "/x"));
}

static void test_reads_stay_within_allow_paths(void **state)
{
        (void)state;
        WORLD w = compile_under("{filesystem: {read: broad}, security: {sandbox: {allow_paths: ['/srv:rw', /data/a]}}}",
                                "security: {sandbox: {allow_paths: [/data, '/srv/in:rw', /srv/seen]}}");
        assert_true(allows_read(&w, "/data/a/x") && allows_write(&w, "/srv/in/x") && allows_read(&w, "/srv/seen/x") &&
                    allows_write(&w, WORK "/x"));
        assert_false(allows_read(&w, "/srv/x") || allows_write(&w, "/srv/seen/x") || allows_read(&w, "/opt2/x") ||
                     allows_read(&w, "/"));
        WORLD none =
                compile_under("security: {sandbox: {allow_paths: [/data]}}", "security: {sandbox: {allow_paths: []}}");
        assert_false(allows_read(&none, "/data/x"));
        assert_true(has_cut(&none, "read /data ", "removed"));
}

/* :ro inside a writable place makes it read-only, in a ceiling as in a policy. */
static void test_read_only_path_of_a_ceiling_stays_read_only(void **state)
{
        (void)state;
        static const char ceiling[] =
                "security: {sandbox: {allow_paths: ['/data:rw', '/data/x:ro', '{workspace}/vendor:ro']}}";
        static const char *const policies[] = {
                "filesystem: {allow_write: [/data]}", "filesystem: {allow_write: [/data/x, /data/x/deep]}",
                "filesystem: {allow_write: ['{workspace}/vendor', '{workspace}/vendor/deep', /data]}"
        };
        for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
                WORLD w = compile_under(policies[i], ceiling);
                static const char *const paths[] = { "/data/x/f", "/data/x/deep/f", WORK "/vendor/f",
                                                     WORK "/vendor/deep/f" };
                for (size_t j = 0; j < ARRAY_SIZE(paths); j++)
                        if (allows_write(&w, paths[j]))
                                fail_msg("%s with %s", paths[j], policies[i]);
                assert_true(allows_write(&w, WORK "/x"));
        }
}

/* Directories of PATH are granted like others, within the ceiling. */
static void test_directories_of_path_do_not_exceed_a_ceiling(void **state)
{
        (void)state;
        WORLD w = world_new();
        w.facts.path = "/usr/bin:/secret/stuff:/data/py/bin:" HOME "/.cargo/bin";
        world_ceiling(&w, "security: {sandbox: {allow_paths: [/data]}}");
        assert_true(world_compile(&w));
        assert_false(allows_read(&w, "/secret/stuff/x"));
        const struct rule *by = NULL;
        (void)rules_decide(&w.plan->rules, HOME "/.cargo/x", false, &by);
        assert_true(!by || by->kind == RULE_PRIVATE);
        assert_true(allows_read(&w, "/data/py/lib/x"));
}

/* Escaped and unusual spellings of .. must not grant a path outside the ceiling. */
static void test_no_spelling_of_a_path_exceeds_a_ceiling(void **state)
{
        (void)state;
        static const char *const texts[] = { "/data/\\../etc2",    "/data/.\\./etc2", "/data/../etc2",
                                             "/data/x/../../etc2", "/data//../etc2",  "/datax",
                                             "/data/\\./../etc2", "/data/plain" };
        bool compiled = false; /* the last one */
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                CLEANUP_TEXT struct text yaml = { 0 };
                text_format(&yaml, "security: {sandbox: {allow_paths: ['%s:rw']}}", texts[i]);
                WORLD w = world_new();
                world_read(&w, yaml.data);
                world_ceiling(&w, "security: {sandbox: {allow_paths: ['/data:rw']}}");
                compiled = world_compile(&w);
                if (!compiled)
                        continue;
                CLEANUP_ARENA struct arena *a = arena_new(1 << 20);
                for (size_t j = 0; j < w.plan->rules.count; j++) {
                        const char *path = w.plan->rules.list[j].path;
                        assert_string_equal(path_normalize(a, path), path);
                        assert_false(path_is_beneath(path, "/etc2") || path_is_beneath(path, "/datax"));
                }
        }
        assert_true(compiled);
}

static void test_policy_cannot_release_denials_of_a_ceiling(void **state)
{
        (void)state;
        WORLD w =
                compile_under("{filesystem: {allow_write: ['/srv/no/inner', '/srv/glob/a/k/x'], protect: [-protected], "
                              "deny_read: [-ssh]}, "
                              "security: {sandbox: {allow_paths: [/srv, '~/.ssh', '/usr/share/doc/x']}}}",
                              "filesystem: {deny_read: [/srv/no, '/srv/glob/**/k', +ssh, /usr/share/doc], deny_write: "
                              "['{workspace}/dist'], "
                              "protect: [Makefile, '**/CI', +git]}");
        static const char *const hidden[] = { "/srv/no",           "/srv/no/inner/x",  "/srv/glob/a/k",
                                              "/srv/glob/a/k/x/y", "/usr/share/doc/x", "/usr/share/doc" };
        for (size_t i = 0; i < ARRAY_SIZE(hidden); i++)
                if (allows_read(&w, hidden[i]) || allows_write(&w, hidden[i]))
                        fail_msg("%s", hidden[i]);
        const struct rule *by = NULL;
        assert_true(!rules_decide(&w.plan->rules, HOME "/.ssh/id", false, &by) || by->kind == RULE_PRIVATE);
        static const char *const read_only[] = { WORK "/dist/x", WORK "/Makefile", WORK "/a/CI", WORK "/.git/hooks/x" };
        for (size_t i = 0; i < ARRAY_SIZE(read_only); i++)
                if (!allows_read(&w, read_only[i]) || allows_write(&w, read_only[i]))
                        fail_msg("%s", read_only[i]);
        assert_true(allows_read(&w, "/srv/x") && allows_write(&w, WORK "/package-lock.json"));
        assert_false(rules_decide(&w.plan->rules, "/srv/no", false, &by));
        assert_string_equal(by->from.name, "p2.yaml");
}

/* A protected name is protected in every writable directory, including those that the policy adds. */
static void test_protected_names_of_a_ceiling_are_protected_in_every_writable_place(void **state)
{
        (void)state;
        WORLD w = compile_under("filesystem: {allow_write: [/srv/repo], protect: [-protected]}",
                                "filesystem: {protect: [Makefile, +git]}");
        assert_false(allows_write(&w, "/srv/repo/Makefile") || allows_write(&w, "/srv/repo/.git/hooks/x") ||
                     allows_write(&w, WORK "/Makefile"));
        assert_true(allows_write(&w, "/srv/repo/x"));
}

static void test_rights_that_a_ceiling_denies_are_denied_to_servers_too(void **state)
{
        (void)state;
        static const char policy[] =
                "{filesystem: {allow_write: [/srv]}, tools: {modules: {mcp: {config: {servers: {s: {command: x, "
                "sandbox: {permissions: [process.exec, fs.write, net.http], paths: {write: [/data]}, allowed_hosts: "
                "[a.org]}}}}}}}}";
        WORLD w = compile_under(policy, "tools: {capabilities: {deny: [fs.write, net.http]}}");
        assert_false(allows_write(&w, "/srv/x") || allows_write(&w, WORK "/x"));
        assert_false(rules_decide(&w.plan->servers[0].rules, "/data/x", true, NULL) ||
                     w.plan->servers[0].allow_network);
        static const char *const refused_ceilings[] = { "tools: {capabilities: {deny: ['fs.*']}}",
                                             "tools: {capabilities: {deny: [fs.read]}}" };
        for (size_t i = 0; i < ARRAY_SIZE(refused_ceilings); i++) {
                WORLD refused = world_new();
                world_read(&refused, policy);
                world_ceiling(&refused, refused_ceilings[i]);
                assert_false(world_compile(&refused));
                assert_world_message(&refused, "cannot be denied as a whole");
        }
}

static const struct {
        const char *allowed, *ceiling, *in, *out;
        uint16_t port;
} hosts[] = {
        { "a.org", "a.org", "a.org", "b.org", 443 },
        { "a.org, b.org", "b.org", "b.org", "a.org", 443 },
        { "'*.a.org'", "x.a.org", "x.a.org", "y.a.org", 443 },
        { "x.a.org", "'*.a.org'", "x.a.org", "a.org", 443 },
        { "a.org", "a.org:443", "a.org", NULL, 443 },
        { "a.org", "a.org:443", NULL, "a.org", 80 },
        { "'*.a.org:443'", "x.a.org", "x.a.org", "y.a.org", 443 },
        { "'*.a.org'", "'*.x.a.org'", "y.x.a.org", "y.a.org", 443 },
        { "+github", "github.com", "github.com", "api.github.com", 443 },
        { "github.com, a.org", "+github", "github.com", "a.org", 443 },
        { "a.org", "+a.org", "a.org", "b.org", 443 },
        { "'*.githubusercontent.com'", "+github", "x.githubusercontent.com", "githubusercontent.com", 443 },
        { "a.org", "", NULL, "a.org", 443 },
        { "'a.org:8443'", "a.org", NULL, "a.org", 8443 }, /* without a port: the default ports */
        { "'a.org:8443'", "'a.org:8443'", "a.org", NULL, 8443 },
        { "'a.org:80'", "a.org", "a.org", NULL, 80 },
        { "'a.org:22'", "a.org", NULL, "a.org", 22 },
        { "'github.com:22'", "github.com", "github.com", NULL, 22 },
        { "github.com", "'github.com:22'", "github.com", NULL, 22 },
        { "github.com", "'github.com:22'", NULL, "github.com", 443 },
        { "'*.github.com'", "'gist.github.com:22'", "gist.github.com", "api.github.com", 22 },
        { "'gist.github.com:22'", "'*.github.com'", "gist.github.com", NULL, 22 },
        { "'*.github.com:22'", "'*.github.com'", NULL, "gist.github.com", 22 }, /* one pattern cannot express it */
        { "'*.a.org:8443'", "'*.a.org'", NULL, "x.a.org", 8443 },
        { "a.org", "a.org, 'a.org:8443'", "a.org", NULL, 80 },
        { "a.org, 'a.org:8443'", "a.org, 'a.org:8443'", "a.org", NULL, 8443 },
};

static void test_hosts_stay_within_the_list_of_the_ceiling(void **state)
{
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
                CLEANUP_TEXT struct text policy = { 0 }, ceiling = { 0 };
                text_format(&policy, "network: {allowed_domains: [%s]}", hosts[i].allowed);
                text_format(&ceiling, "network: {allowed_domains: [%s]}", hosts[i].ceiling);
                WORLD w = compile_under(policy.data, ceiling.data);
                if (hosts[i].in && !hosts_decide(&w.plan->hosts, hosts[i].in, hosts[i].port, NULL))
                        fail_msg("%s under %s does not reach %s", hosts[i].allowed, hosts[i].ceiling, hosts[i].in);
                if (hosts[i].out && hosts_decide(&w.plan->hosts, hosts[i].out, hosts[i].port, NULL))
                        fail_msg("%s under %s reaches %s", hosts[i].allowed, hosts[i].ceiling, hosts[i].out);
        }
        WORLD w = compile_under("network: {allowed_domains: [a.org, b.org]}", "network: {denied_domains: [a.org]}");
        assert_true(!allows_host(&w, "a.org") && allows_host(&w, "b.org"));
}

static void test_keys_that_do_not_limit_are_refused_in_a_ceiling(void **state)
{
        (void)state;
        static const struct {
                const char *yaml, *text;
        } rows[] = {
                { "runtime: {workdir: /srv}", "no meaning in a ceiling" },
                { "runtime: {env: [A]}", "no meaning in a ceiling" },
                { "tools: {capabilities: {grant: [net.http]}}", "no meaning in a ceiling" },
                { "tools: {modules: {shell: {}}}", "no meaning in a ceiling" },
                { "filesystem: {deny_read: [-ssh]}", "would release an entry" },
                { "filesystem: {protect: [-git]}", "would release an entry" },
                { "network: {allowed_domains: [-github]}", "would release an entry" },
                { "gate: {denied_commands: [-sudo]}", "would release an entry" },
                { "filesystem: {deny_read: ['{nothing}/x']}", "not known" },
                { "network: {allowed_domains: [+gihtub]}", "p1.yaml:1:" },
                { "levle: strict", "unknown key" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                WORLD w = world_new();
                world_ceiling(&w, rows[i].yaml);
                if (world_compile(&w))
                        fail_msg("accepted: %s", rows[i].yaml);
                assert_world_message(&w, rows[i].text);
        }
}

static void test_all_ceilings_are_applied(void **state)
{
        (void)state;
        WORLD w = world_new();
        world_read(&w, "{filesystem: {allow_write: [/a, /b, /c]}, network: {allowed_domains: [a.org, b.org]}}");
        world_ceiling(&w, "{filesystem: {allow_write: [/a, /b]}, network: {allowed_domains: [a.org]}, mode: auto}");
        world_ceiling(&w, "{filesystem: {allow_write: [/b, /c]}, network: {denied_domains: [a.org]}}");
        assert_true(world_compile(&w));
        assert_true(allows_write(&w, "/b/x"));
        assert_false(allows_write(&w, "/a/x") || allows_write(&w, "/c/x") || allows_host(&w, "a.org") ||
                     allows_host(&w, "b.org"));
}

/* ---- the property test ---- */

static const char *const random_paths[] = { "/s",   "/s/a",   "/s/a/b", "/s/a/b/c", "/s/d",      "/s/d/e",  "/t",
                                            "/t/a", "/t/a/b", WORK,     WORK "/x",  WORK "/x/y", HOME "/o", HOME };
static const char *const random_hosts[] = { "a.org",       "*.a.org", "b.a.org", "*.b.a.org",
                                            "c.b.a.org:1", "a.org:1", "d.org",   "*.a.org:1",
                                            "*.a.org:80",  "a.org:22", "github.com", "github.com:22",
                                            "*.github.com", "gist.github.com:22" };
static const char *const tested_hosts[] = { "a.org",   "b.a.org",    "c.b.a.org",       "x.a.org",      "d.org",
                                           "e.d.org", "github.com", "gist.github.com", "x.github.com" };
static const uint16_t tested_ports[] = { 1, 2, 22, 80, 443 };

enum { LIST_MAX = 3, PATHS = ARRAY_SIZE(random_paths), HOSTS = ARRAY_SIZE(random_hosts) };

/* The content of a random file, for the oracle. */
struct spec {
        bool has_write, has_paths, has_hosts;
        size_t write[LIST_MAX], write_count;
        size_t path[LIST_MAX], path_count;
        bool path_rw[LIST_MAX];
        size_t deny_read[LIST_MAX], deny_read_count;
        size_t deny_write[LIST_MAX], deny_write_count;
        size_t host[LIST_MAX], host_count;
        size_t denied_host[LIST_MAX], denied_host_count;
        bool broad, workspace_ro;
};

static void random_list(unsigned long long *seed, size_t sides, size_t *list, size_t *count)
{
        *count = random_below(seed, LIST_MAX + 1);
        for (size_t i = 0; i < *count; i++)
                list[i] = random_below(seed, sides);
}

static struct spec random_spec(unsigned long long *seed)
{
        struct spec s = { .has_write = random_below(seed, 2),
                          .has_paths = random_below(seed, 2),
                          .has_hosts = random_below(seed, 2) };
        random_list(seed, PATHS, s.write, &s.write_count);
        random_list(seed, PATHS, s.path, &s.path_count);
        for (size_t i = 0; i < LIST_MAX; i++)
                s.path_rw[i] = random_below(seed, 2);
        random_list(seed, PATHS, s.deny_read, &s.deny_read_count);
        random_list(seed, PATHS, s.deny_write, &s.deny_write_count);
        random_list(seed, HOSTS, s.host, &s.host_count);
        random_list(seed, HOSTS, s.denied_host, &s.denied_host_count);
        s.broad = random_below(seed, 4) == 0;
        s.workspace_ro = random_below(seed, 4) == 0;
        return s;
}

static void add_list(struct text *t, const char *name, bool present, const size_t *list, size_t count,
                     const char *const *texts)
{
        if (!present)
                return;
        text_format(t, "  %s: [", name);
        for (size_t i = 0; i < count; i++)
                text_format(t, "'%s', ", texts[list[i]]);
        text_add(t, "]\n");
}

static void spec_print(const struct spec *s, bool ceiling, struct text *t)
{
        text_format(t, "filesystem:\n  read: %s\n  workspace: %s\n", s->broad != ceiling ? "broad" : "listed",
                    s->workspace_ro ? "ro" : "rw");
        add_list(t, "allow_write", s->has_write, s->write, s->write_count, random_paths);
        add_list(t, "deny_read", true, s->deny_read, s->deny_read_count, random_paths);
        add_list(t, "deny_write", true, s->deny_write, s->deny_write_count, random_paths);
        text_add(t, "network:\n");
        add_list(t, "allowed_domains", s->has_hosts, s->host, s->host_count, random_hosts);
        add_list(t, "denied_domains", true, s->denied_host, s->denied_host_count, random_hosts);
        if (!s->has_paths)
                return;
        text_add(t, "security:\n  sandbox:\n    allow_paths: [");
        for (size_t i = 0; i < s->path_count; i++)
                text_format(t, "'%s:%s', ", random_paths[s->path[i]], s->path_rw[i] ? "rw" : "ro");
        text_add(t, "]\n");
}

static int deepest_match(const size_t *list, size_t count, const bool *only, const char *path)
{
        int best = -1;
        for (size_t i = 0; i < count; i++) {
                int depth = path_pattern_match_depth(random_paths[list[i]], false, path);
                best = (!only || only[i]) && depth > best ? depth : best;
        }
        return best;
}

static int deepest_read_only(const struct spec *c, const char *path)
{
        bool only[LIST_MAX];
        for (size_t i = 0; i < LIST_MAX; i++)
                only[i] = !c->path_rw[i];
        return deepest_match(c->path, c->has_paths ? c->path_count : 0, only, path);
}

/* Does the ceiling by itself allow to read or write this path? The workspace is a special case. */
static bool oracle_allows(const struct spec *c, const char *path, bool write)
{
        int paths_depth = deepest_match(c->path, c->has_paths ? c->path_count : 0, NULL, path);
        int write_depth = deepest_match(c->write, c->has_write ? c->write_count : 0, NULL, path);
        int rw = deepest_match(c->path, c->has_paths ? c->path_count : 0, c->path_rw, path);
        int ro = deepest_read_only(c, path);
        int allowed_depth = paths_depth > write_depth ? paths_depth : write_depth;
        int denied = deepest_match(c->deny_read, c->deny_read_count, NULL, path);
        bool in_workspace = path_is_beneath(path, WORK);
        if (denied >= 0 && denied >= allowed_depth)
                return false;
        if (c->has_paths && !in_workspace && allowed_depth < 0)
                return false;
        if (!write)
                return true;
        if (deepest_match(c->deny_write, c->deny_write_count, NULL, path) >= 0)
                return false;
        if (ro > (write_depth > rw ? write_depth : rw))
                return false; /* :ro inside a writable place */
        /* If the ceiling makes the workspace read-only, the policy's list does not make it writable. */
        if (c->has_write || (c->has_paths && !in_workspace) || (c->workspace_ro && in_workspace))
                return write_depth >= 0 || rw >= 0;
        return true;
}

static bool oracle_reaches(const struct spec *c, const char *host, uint16_t port)
{
        CLEANUP_ARENA struct arena *a = arena_new(1 << 20);
        bool allowed = !c->has_hosts, denied = false;
        struct host_pattern d;
        for (size_t i = 0; i < c->host_count; i++)
                allowed |= !host_pattern_parse(a, random_hosts[c->host[i]], NULL, &d) &&
                           host_pattern_match(&d, PORTLESS_DEFAULT, host, port);
        for (size_t i = 0; i < c->denied_host_count; i++)
                denied |= !host_pattern_parse(a, random_hosts[c->denied_host[i]], NULL, &d) &&
                          host_pattern_match(&d, PORTLESS_EVERY, host, port);
        return allowed && !denied;
}

/* Is a file of the host accessible? A private directory has no files of the host. */
static bool allows_real_file(const struct world *w, const char *path, bool write)
{
        const struct rule *by = NULL;
        return rules_decide(&w->plan->rules, path, write, &by) && by->kind != RULE_PRIVATE;
}

static void check_files(const struct world *without, const struct world *cut, const struct spec *ceiling,
                        const char *description)
{
        for (size_t i = 0; i < PATHS * 4; i++) {
                char path[200];
                static const char *const below[] = { "", "/q", "/a/q", "/x/y/z" };
                (void)snprintf(path, sizeof path, "%s%s", random_paths[i / 4], below[i % 4]);
                for (int write = 0; write < 2; write++) {
                        if (!allows_real_file(cut, path, write))
                                continue;
                        if (!allows_real_file(without, path, write))
                                fail_msg("the ceiling adds %s %s:\n%s", write ? "writing" : "reading", path,
                                         description);
                        if (!oracle_allows(ceiling, path, write))
                                fail_msg("%s %s exceeds the ceiling:\n%s", write ? "writing" : "reading", path,
                                         description);
                }
        }
}

static void check_hosts(const struct world *without, const struct world *cut, const struct spec *ceiling,
                        const char *description)
{
        for (size_t i = 0; i < ARRAY_SIZE(tested_hosts); i++)
                for (size_t j = 0; j < ARRAY_SIZE(tested_ports); j++) {
                        uint16_t port = tested_ports[j];
                        bool now = hosts_decide(&cut->plan->hosts, tested_hosts[i], port, NULL);
                        bool before = hosts_decide(&without->plan->hosts, tested_hosts[i], port, NULL);
                        bool allowed = oracle_reaches(ceiling, tested_hosts[i], port);
                        /* For hosts the result is exactly the intersection. */
                        if (now != (before && allowed))
                                fail_msg("%s:%u is %s reached; without the ceiling %d, by the ceiling %d\n%s",
                                         tested_hosts[i], port, now ? "" : "not", before, allowed, description);
                }
}

static void test_plan_allows_only_what_policy_and_ceiling_allow(void **state)
{
        (void)state;
        unsigned long long seed = 20240229;
        for (size_t round = 0; round < 3000; round++) {
                struct spec policy = random_spec(&seed), ceiling = random_spec(&seed);
                CLEANUP_TEXT struct text p = { 0 }, c = { 0 }, description = { 0 };
                spec_print(&policy, false, &p);
                spec_print(&ceiling, true, &c);
                text_format(&description, "policy:\n%sceiling:\n%s", p.data, c.data);
                WORLD without = compile_valid(p.data), cut = compile_under(p.data, c.data);
                check_files(&without, &cut, &ceiling, description.data);
                check_hosts(&without, &cut, &ceiling, description.data);
        }
}

static void test_empty_ceiling_changes_nothing(void **state)
{
        (void)state;
        unsigned long long seed = 1789;
        for (size_t round = 0; round < 300; round++) {
                struct spec policy = random_spec(&seed);
                CLEANUP_TEXT struct text p = { 0 };
                spec_print(&policy, false, &p);
                WORLD without = compile_valid(p.data), cut = compile_under(p.data, "");
                CLEANUP_FREE char *before = plan_text(without.plan), *after = plan_text(cut.plan);
                assert_string_equal(before, after);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_stricter_number_is_used),
                cmocka_unit_test(test_ceiling_does_not_make_a_valid_policy_invalid),
                cmocka_unit_test(test_writes_stay_within_allow_write),
                cmocka_unit_test(test_reads_stay_within_allow_paths),
                cmocka_unit_test(test_read_only_path_of_a_ceiling_stays_read_only),
                cmocka_unit_test(test_directories_of_path_do_not_exceed_a_ceiling),
                cmocka_unit_test(test_no_spelling_of_a_path_exceeds_a_ceiling),
                cmocka_unit_test(test_policy_cannot_release_denials_of_a_ceiling),
                cmocka_unit_test(test_protected_names_of_a_ceiling_are_protected_in_every_writable_place),
                cmocka_unit_test(test_rights_that_a_ceiling_denies_are_denied_to_servers_too),
                cmocka_unit_test(test_hosts_stay_within_the_list_of_the_ceiling),
                cmocka_unit_test(test_keys_that_do_not_limit_are_refused_in_a_ceiling),
                cmocka_unit_test(test_all_ceilings_are_applied),
                cmocka_unit_test(test_plan_allows_only_what_policy_and_ceiling_allow),
                cmocka_unit_test(test_empty_ceiling_changes_nothing),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
