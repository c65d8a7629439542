/*
 * The network of a plan: the ports of a host, hosts with private addresses, ports in both directions, unix sockets; and
 * how ceilings cut them.
 */
#include "test_policy_fixture.h"

/* The ports that rules with and without a port allow, with and without denials. */
static void test_hosts_are_allowed_on_their_ports(void **state)
{
        (void)state;
        WORLD w = compile_valid(
                "network: {allowed_domains: [a.org, 'b.org:8443', '*.github.com', 'c.org:22', d.org, e.org, "
                "'f.org:1', github.com], denied_domains: ['a.org:80', d.org, 'e.org:443', 'e.org:80', "
                "'*.f.org', 'github.com:443']}");
        static const struct {
                const char *name;
                uint16_t port;
                bool reached, known;
        } rows[] = {
                { "a.org", 443, true, true },
                { "a.org", 80, false, true },
                { "a.org", 22, false, true },
                { "a.org", 8443, false, true },
                { "b.org", 8443, true, true },
                { "b.org", 443, false, true },
                { "c.org", 22, true, true },
                { "c.org", 443, false, true },
                { "gist.github.com", 22, true, true },
                { "api.github.com", 22, false, true },
                { "api.github.com", 443, true, true },
                { "github.com", 22, true, true },
                { "github.com", 443, false, true },
                { "d.org", 443, false, false },
                { "e.org", 443, false, false }, /* denied on each of its ports */
                { "f.org", 1, true, true },
                { "x.f.org", 1, false, false },
                { "x.a.org", 443, false, false },
                { "org", 443, false, false },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                if (hosts_decide(&w.plan->hosts, rows[i].name, rows[i].port, NULL) != rows[i].reached ||
                    hosts_allow_any_port(&w.plan->hosts, rows[i].name) != rows[i].known)
                        fail_msg("%s:%u: expected reached %d, known %d", rows[i].name, rows[i].port, rows[i].reached,
                                 rows[i].known);
        const struct host_rule *by = NULL;
        assert_false(hosts_decide(&w.plan->hosts, "b.org", 443, &by));
        assert_null(by);
        assert_false(hosts_decide(&w.plan->hosts, "d.org", 9999, &by));
        assert_true(by && !by->allow);
}

static void test_private_host_must_also_be_allowed(void **state)
{
        (void)state;
        WORLD w = compile_valid(
                "{network: {allowed_domains: ['db.lan:5432', '*.a.org', +github], allow_private: [db.lan, "
                "'x.a.org:443', github.com, s.org]}, tools: {modules: {mcp: {config: {servers: {s: "
                "{command: x, sandbox: {permissions: ['net.*', 'process.*'], "
                "allowed_hosts: ['s.org:1']}}}}}}}}");
        assert_int_equal(diagnostics_count(w.messages, DIAGNOSTIC_WARNING), 0);
        const struct hosts *list = &w.plan->private_hosts;
        assert_int_equal(list->count, 4);
        assert_int_equal(hosts_match(list, "db.lan", 5432)->from.column, 82);
        assert_non_null(hosts_match(list, "db.lan", 1));
        assert_non_null(hosts_match(list, "x.a.org", 443));
        assert_null(hosts_match(list, "x.a.org", 80));
        assert_null(hosts_match(list, "y.a.org", 443));
        /* allow_private alone allows no host. */
        assert_true(hosts_decide(&w.plan->hosts, "db.lan", 5432, NULL));
        assert_false(hosts_decide(&w.plan->hosts, "db.lan", 443, NULL) || allows_host(&w, "s.org"));
        static const char *const not_allowed[] = { "b.org",     "a.org",        "'a.org:8443'",
                                            "'*.b.org'", "'*.a.org:22'", "evila.org" };
        for (size_t i = 0; i < ARRAY_SIZE(not_allowed); i++) {
                CLEANUP_TEXT struct text yaml = { 0 };
                text_format(&yaml, "network: {allowed_domains: ['*.a.org'], allow_private: [%s]}", not_allowed[i]);
                WORLD alone = compile_valid(yaml.data);
                assert_world_message(&alone, "is in network.allow_private but not allowed");
                assert_int_equal(alone.plan->private_hosts.count, 1);
        }
        WORLD nothing = compile_valid("network: {allow_private: [a.org]}");
        assert_false(plan_needs_egress(nothing.plan));
}

static void test_ports_and_sockets_of_all_files_are_combined(void **state)
{
        (void)state;
        WORLD w = world_new();
        world_read(&w, "network: {allow_local_ports: [5432, 11434, 5432], publish: [3000], unix_sockets: [~/agent, "
                       "'{workspace}/s', /run/../run/x, rel], proxy_variables: true}");
        world_read(&w, "network: {allow_local_ports: [11434, 65535], unix_sockets: [/run/x]}");
        world_flag(&w, KEY_PUBLISH, "8080");
        world_flag(&w, KEY_UNIX_SOCKETS, "here.sock");
        assert_true(world_compile(&w));
        static const uint16_t local[] = { 5432, 11434, 65535 }, published[] = { 3000, 8080 };
        static const char *const sockets[] = { HOME "/agent", WORK "/s", "/run/x", WORK "/rel", WORK "/here.sock" };
        const struct plan *p = w.plan;
        assert_int_equal(p->local_ports.count, ARRAY_SIZE(local));
        for (size_t i = 0; i < ARRAY_SIZE(local); i++)
                assert_int_equal(p->local_ports.list[i].port, local[i]);
        assert_int_equal(p->published.count, ARRAY_SIZE(published));
        for (size_t i = 0; i < ARRAY_SIZE(published); i++)
                assert_int_equal(p->published.list[i].port, published[i]);
        assert_int_equal(p->unix_socket_count, ARRAY_SIZE(sockets));
        for (size_t i = 0; i < ARRAY_SIZE(sockets); i++)
                assert_string_equal(p->unix_sockets[i].path, sockets[i]);
        assert_string_equal(p->local_ports.list[1].from.name, "p1.yaml");
        assert_string_equal(p->published.list[1].from.name, "--flag");
        assert_int_equal(number(&w, PLAN_PROXY_VARIABLES), 1);
        assert_int_equal(number(&w, PLAN_ALLOW_NETWORK), 1);
        assert_true(ports_contain(&p->published, 8080) && !ports_contain(&p->published, 5432));
        WORLD inside =
                compile_valid("{network: {unix_sockets: [/run/d/x, ~/.ssh/a]}, filesystem: {deny_read: [/run/d]}}");
        assert_int_equal(inside.plan->unix_socket_count, 2);
        WORLD none = compile_valid("");
        assert_int_equal(none.plan->local_ports.count + none.plan->published.count + none.plan->unix_socket_count, 0);
        assert_int_equal(number(&none, PLAN_PROXY_VARIABLES), 0);
}

static void test_invalid_ports_and_sockets_are_refused(void **state)
{
        (void)state;
        static const struct {
                const char *network, *text;
        } rows[] = {
                { "{publish: [53]}", "port 53 is taken in the box" },
                { "{publish: [1]}", "port 1 is taken" },
                { "{allow_local_ports: [1080]}", "port 1080 is taken" },
                { "{allow_local_ports: [3128]}", "port 3128 is taken" },
                { "{allow_local_ports: [3000], publish: [8080, 3000]}", "p1.yaml:1:54: error: port 3000 cannot be" },
                { "{publish: [0]}", "a whole number from 1 to 65535" },
                { "{publish: [65536]}", "a whole number from 1 to 65535" },
                { "{publish: [http]}", "a whole number from 1 to 65535" },
                { "{publish: ['3000-3010']}", "a whole number from 1 to 65535" },
                { "{publish: 3000}", "expected a list" },
                { "{publish: ['3000:80']}", "a whole number from 1 to 65535" },
                { "{unix_sockets: ['/run/*']}", "name the directory" },
                { "{unix_sockets: ['']}", "the path is empty" },
                { "{unix_sockets: ['{ad-hoc}/x']}", "has no value here" },
                { "{unix_sockets: /run/x}", "expected a list" },
                { "{unix_sockets: [/run/x]}\nfilesystem: {deny_read: [/run/x]}",
                  "p1.yaml:1:26: error: the unix socket '/run/x' is denied by deny_read (p1.yaml:2:26)" },
                { "{unix_sockets: [/run/x]}\nfilesystem: {deny_read: ['/run/?']}", "is denied by deny_read" },
                { "{allow_private: ['*']}", "every host" },
                { "{allow_private: [+github]}", "a host such as" },
                { "{allow_private: [127.0.0.1]}", "an address is not a name" },
                { "{proxy_variables: on}", "true or false" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                CLEANUP_TEXT struct text yaml = { 0 };
                text_format(&yaml, "network: %s", rows[i].network);
                assert_refused(yaml.data, rows[i].text);
        }
}

/* The maximum is accepted, and one more is refused. */
static void test_number_of_ports_and_sockets_is_limited(void **state)
{
        (void)state;
        static const struct {
                const char *key, *before, *after;
                size_t maximum;
                const char *text;
        } rows[] = {
                { "allow_local_ports", "", "", POLICY_PORTS_MAX, "network.allow_local_ports has more than 64 ports" },
                { "publish", "", "", POLICY_PORTS_MAX, "network.publish has more than 64 ports" },
                { "unix_sockets", "/run/", "", POLICY_SOCKETS_MAX, "more than 64 unix sockets are named" },
                { "allow_private", "h", ".org", POLICY_PRIVATE_HOSTS_MAX,
                  "network.allow_private has more than 256 hosts" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                for (size_t excess = 0; excess < 2; excess++) {
                        CLEANUP_TEXT struct text yaml = { 0 };
                        text_format(&yaml, "network: {allowed_domains: ['*.h.org'], %s: [", rows[i].key);
                        for (size_t n = 0; n < rows[i].maximum + excess; n++)
                                text_format(&yaml, "%s%zu%s, ", rows[i].before, 10000 + n, rows[i].after);
                        text_add(&yaml, "]}");
                        if (excess) {
                                assert_refused(yaml.data, rows[i].text);
                                continue;
                        }
                        WORLD w = compile_valid(yaml.data);
                        assert_int_equal(w.result, 0);
                }
}

static struct world compile_under(const char *network, const char *ceiling)
{
        struct world w = world_new();
        CLEANUP_TEXT struct text policy = { 0 };
        text_format(&policy, "network: %s", network);
        world_read(&w, policy.data);
        world_ceiling(&w, ceiling);
        if (!world_compile(&w))
                fail_msg("refused: %s under %s\n%s", network, ceiling, w.printed.data);
        return w;
}

/* Prints the entries of a list of the plan, each followed by a space. */
static void print_list(const struct plan *p, enum key_id key, struct text *out)
{
        const struct ports *ports = key == KEY_PUBLISH ? &p->published : &p->local_ports;
        text_add(out, "");
        for (size_t i = 0; key == KEY_ALLOW_PRIVATE && i < p->private_hosts.count; i++) {
                char name[HOST_PATTERN_TEXT_SIZE];
                host_pattern_print(&p->private_hosts.list[i].domain, name);
                text_format(out, "%s ", name);
        }
        for (size_t i = 0; key == KEY_UNIX_SOCKETS && i < p->unix_socket_count; i++)
                text_format(out, "%s ", p->unix_sockets[i].path);
        for (size_t i = 0; (key == KEY_PUBLISH || key == KEY_ALLOW_LOCAL_PORTS) && i < ports->count; i++)
                text_format(out, "%u ", ports->list[i].port);
}

static const struct {
        enum key_id key;
        const char *policy, *ceiling, *left;
        const char *cut, *result; /* of the first cut */
} ceilings[] = {
        { KEY_ALLOW_LOCAL_PORTS, "5432, 80", "network: {allow_local_ports: [5432, 1234]}", "5432 ",
          "local port 80 (from p1.yaml:1:37)", "removed" },
        { KEY_ALLOW_LOCAL_PORTS, "5432, 80", "network: {allow_local_ports: []}", "", "local port 5432", "removed" },
        { KEY_ALLOW_LOCAL_PORTS, "5432, 80", "network: {publish: []}", "5432 80 ", NULL, NULL },
        { KEY_ALLOW_LOCAL_PORTS, "5432", "network: {allow_local_ports: [5432]}", "5432 ", NULL, NULL },
        { KEY_PUBLISH, "3000, 8080", "network: {publish: [8080]}", "8080 ", "published port 3000", "removed" },
        { KEY_PUBLISH, "3000", "network: {publish: []}", "", "published port 3000", "removed" },
        { KEY_PUBLISH, "3000", "", "3000 ", NULL, NULL },
        { KEY_ALLOW_PRIVATE, "'*.a.org'", "network: {allow_private: [x.a.org]}", "x.a.org ", "private host *.a.org",
          "narrowed" },
        { KEY_ALLOW_PRIVATE, "'x.a.org:8443'", "network: {allow_private: ['*.a.org']}", "x.a.org:8443 ", NULL, NULL },
        { KEY_ALLOW_PRIVATE, "x.a.org", "network: {allow_private: ['*.a.org:443']}", "x.a.org:443 ",
          "private host x.a.org", "narrowed" },
        { KEY_ALLOW_PRIVATE, "x.a.org", "network: {allow_private: []}", "", "private host x.a.org", "removed" },
        { KEY_ALLOW_PRIVATE, "x.a.org", "network: {allow_private: [y.a.org]}", "", "private host x.a.org", "removed" },
        { KEY_UNIX_SOCKETS, "/run/a, /run/b/c", "network: {unix_sockets: [/run/a]}", "/run/a ",
          "unix socket /run/b/c (from p1.yaml:1:34)", "removed" },
        { KEY_UNIX_SOCKETS, "/run/b/c, /run/bc", "network: {unix_sockets: [/run/b]}", "/run/b/c ",
          "unix socket /run/bc", "removed" },
        { KEY_UNIX_SOCKETS, "/run/b/../c", "network: {unix_sockets: [/run/b]}", "", "unix socket /run/c", "removed" },
        { KEY_UNIX_SOCKETS, "/run/b", "network: {unix_sockets: [/run/b/c]}", "", "unix socket /run/b", "removed" },
        { KEY_UNIX_SOCKETS, "/run/b", "network: {unix_sockets: []}", "", "unix socket /run/b", "removed" },
        { KEY_UNIX_SOCKETS, "~/.gnupg/s, /run/s", "filesystem: {deny_read: [~/.gnupg]}", "/run/s ",
          "unix socket " HOME "/.gnupg/s", "removed" },
        { KEY_UNIX_SOCKETS, "/run/a.sock", "filesystem: {deny_read: ['/**/*.sock']}", "", "unix socket /run/a.sock",
          "removed" },
        { KEY_UNIX_SOCKETS, "/run/s", "filesystem: {deny_read: [/run/s]}", "", "unix socket /run/s", "removed" },
        { KEY_UNIX_SOCKETS, "~/.gnupg/s", "", HOME "/.gnupg/s ", NULL, NULL },
};

static void test_ceilings_cut_each_list(void **state)
{
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(ceilings); i++) {
                CLEANUP_TEXT struct text policy = { 0 }, left = { 0 };
                text_format(&policy, "{%s: [%s]}", strrchr(keys[ceilings[i].key].path, '.') + 1, ceilings[i].policy);
                WORLD w = compile_under(policy.data, ceilings[i].ceiling);
                print_list(w.plan, ceilings[i].key, &left);
                if (strcmp(left.data, ceilings[i].left) != 0)
                        fail_msg("%s under %s: %s", policy.data, ceilings[i].ceiling, left.data);
                assert_int_equal(w.plan->cut_count > 0, ceilings[i].cut != NULL);
                if (!ceilings[i].cut)
                        continue;
                const struct plan_ceiling_cut *cut = &w.plan->cuts[0];
                if (!text_has_prefix(cut->what, ceilings[i].cut) || strcmp(cut->result, ceilings[i].result) != 0)
                        fail_msg("%s -> %s", cut->what, cut->result);
                assert_string_equal(cut->by.name, "p2.yaml");
        }
}

static void test_box_whose_network_a_ceiling_removed_reaches_nothing(void **state)
{
        (void)state;
        WORLD w = compile_under("{allow_local_ports: [5432], publish: [3000], allowed_domains: ['a.org:8443'], "
                                "proxy_variables: true}",
                                "network: {allow_local_ports: [], publish: [], allowed_domains: [a.org], "
                                "proxy_variables: false}");
        assert_false(plan_needs_egress(w.plan));
        assert_int_equal(number(&w, PLAN_PROXY_VARIABLES), 0);
        assert_int_equal(w.plan->cut_count, 4);
        /* The two directions of a port conflict only if both are left. */
        WORLD one = compile_under("{allow_local_ports: [3000], publish: [3000]}", "network: {publish: []}");
        assert_true(ports_contain(&one.plan->local_ports, 3000) && one.plan->published.count == 0);
        WORLD more = compile_under("{proxy_variables: false}", "network: {proxy_variables: true}");
        assert_int_equal(number(&more, PLAN_PROXY_VARIABLES), 0);
        /* An error in a ceiling is reported even if the policy has no sockets. */
        WORLD invalid = world_new();
        world_ceiling(&invalid, "network: {unix_sockets: ['{nothing}/x']}");
        assert_false(world_compile(&invalid));
        assert_world_message(&invalid, "not known");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_hosts_are_allowed_on_their_ports),
                cmocka_unit_test(test_private_host_must_also_be_allowed),
                cmocka_unit_test(test_ports_and_sockets_of_all_files_are_combined),
                cmocka_unit_test(test_invalid_ports_and_sockets_are_refused),
                cmocka_unit_test(test_number_of_ports_and_sockets_is_limited),
                cmocka_unit_test(test_ceilings_cut_each_list),
                cmocka_unit_test(test_box_whose_network_a_ceiling_removed_reaches_nothing),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
