/*
 * Golden plans: each policy in tests/golden, compiled for a made-up machine, gives the plan beside it. Some policies
 * are the examples of the specification, unchanged. tests/golden/regenerate regenerates the plans.
 */
#include "test_policy_fixture.h"

#include <dirent.h>
#include <unistd.h>

#include "base/fd.h"

#define USER "/home/user"

/* Returns $RINGWALL_GOLDEN, or tests/golden relative to __FILE__, which is relative to where the tests run. */
static const char *golden_folder(void)
{
        static char path[POLICY_TEXT_MAX];
        const char *from_environment = getenv("RINGWALL_GOLDEN");
        if (from_environment)
                return from_environment;
        size_t length = strlen(__FILE__) - strlen("unit/test_policy_golden.c");
        (void)snprintf(path, sizeof path, "%.*sgolden", (int)length, __FILE__);
        return path;
}

static char *read_golden(const char *name, size_t *ret_length)
{
        char path[2 * POLICY_TEXT_MAX], *text = NULL;
        struct error e = { 0 };
        (void)snprintf(path, sizeof path, "%s/%s", golden_folder(), name);
        if (fd_read_file(path, 4 << 20, &text, ret_length, &e))
                fail_msg("%s; tests/golden/regenerate creates it", e.text);
        return text;
}

static struct world compile_golden(const char *name)
{
        struct world w = world_new();
        size_t length = 0;
        CLEANUP_FREE char *text = read_golden(name, &length);
        bool is_srt = settings_is_srt(text, length);
        w.facts = (struct host_facts){
                .cwd = USER "/app",
                .home = USER,
                .path = "/usr/local/bin:/usr/bin:/bin:" USER "/.cargo/bin",
                .user_data = USER "/.local/share/ringwall",
                .user_state = USER "/.local/state/ringwall",
                .to_ascii = fake_to_ascii,
        };
        w.rejected |=
                (is_srt ? settings_parse_srt : settings_parse_policy)(&w.policy, name, text, length, USER "/app") != 0;
        if (!world_compile(&w))
                fail_msg("%s is refused:\n%s", name, w.printed.data);
        return w;
}

static void make_plan_name(const char *name, char plan[300])
{
        (void)snprintf(plan, 300, "%.*s.plan.json", (int)(strrchr(name, '.') - name), name);
}

static void write_golden(const char *name, const char *text)
{
        char path[2 * POLICY_TEXT_MAX];
        (void)snprintf(path, sizeof path, "%s/%s", golden_folder(), name);
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        assert_true(fprintf(file, "%s\n", text) > 0);
        assert_int_equal(fclose(file), 0);
}

static void assert_golden_plan(const char *name, const char *plan, const char *text)
{
        size_t length = 0, line = 1;
        CLEANUP_FREE char *expected = read_golden(plan, &length);
        const char *a = expected, *b = text;
        for (; *a && *a == *b; a++, b++)
                line += *a == '\n';
        if (*b || strcmp(a, "\n") != 0)
                fail_msg("%s: the plan differs from %s in line %zu:\nexpected %.200s\nnow      %.200s\n%s", name, plan,
                         line, a, b, "if that is intended, run tests/golden/regenerate");
}

static bool is_policy(const char *name)
{
        const char *end = strrchr(name, '.');
        return end && (strcmp(end, ".yaml") == 0 || (strcmp(end, ".json") == 0 && !strstr(name, ".plan.json")));
}

static void test_every_golden_policy_compiles_to_its_plan(void **state)
{
        (void)state;
        DIR *dir = opendir(golden_folder());
        if (!dir)
                fail_msg("%s cannot be opened; set RINGWALL_GOLDEN to the folder", golden_folder());
        size_t count = 0;
        for (struct dirent *entry; (entry = readdir(dir));) {
                if (!is_policy(entry->d_name))
                        continue;
                char plan[300];
                make_plan_name(entry->d_name, plan);
                WORLD w = compile_golden(entry->d_name);
                CLEANUP_FREE char *text = plan_text(w.plan);
                if (getenv("RINGWALL_GOLDEN_WRITE"))
                        write_golden(plan, text);
                assert_golden_plan(entry->d_name, plan, text);
                count++;
        }
        (void)closedir(dir);
        assert_true(count >= 15);
}

/* The warnings that the examples of the specification give. */
static void test_examples_give_only_the_expected_warnings(void **state)
{
        (void)state;
        static const struct {
                const char *name;
                size_t warnings;
                const char *text;
        } rows[] = {
                { "quick-start.yaml", 0, "" },
                { "landlock.yaml", 0, "" },
                { "resources.yaml", 0, "" },
                { "audit.yaml", 0, "" },
                { "pool.yaml", 0, "" },
                { "snapshot.yaml", 0, "" },
                { "mcp-servers.yaml", 0, "" },
                { "server-types.yaml", 1, "'trusted' may open sockets but reach no host" },
                { "inference.yaml", 0, "" },
                { "namespaces.yaml", 1, "lacks namespaces that level strict has" },
                { "full-reference.yaml", 1, "lacks namespaces that level strict has" },
                { "agent-host.yaml", 0, "" },
                { "agent-auto.yaml", 0, "" },
                { "network.yaml", 0, "" },
                { "srt-settings.json", 1, "box's own network" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                WORLD w = compile_golden(rows[i].name);
                if (diagnostics_count(w.messages, DIAGNOSTIC_WARNING) != rows[i].warnings ||
                    !world_has_message(&w, rows[i].text))
                        fail_msg("%s:\n%s", rows[i].name, w.printed.data);
        }
}

static void test_full_reference_has_the_values_of_its_comments(void **state)
{
        (void)state;
        WORLD w = compile_golden("full-reference.yaml");
        static const struct {
                enum plan_scalar number;
                uint64_t value;
        } rows[] = {
                { PLAN_LEVEL, LEVEL_STRICT },
                { PLAN_POOL_SIZE, 4 },
                { PLAN_POOL_MAX, 16 },
                { PLAN_SNAPSHOT, 0 },
                { PLAN_AUDIT, 0 },
                { PLAN_NAMESPACES, NAMESPACE_USER | NAMESPACE_PID | NAMESPACE_NET },
                { PLAN_SESSION_TIMEOUT, 3600 },
                { PLAN_IDLE_TIMEOUT, 300 },
                { PLAN_MEMORY, 512000000 },
                { PLAN_CPU, 2000 },
                { PLAN_PROCESSES, 20 },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                assert_int_equal(number(&w, rows[i].number), rows[i].value);
        assert_string_equal(w.plan->workspace, USER "/app/project");
        assert_true(allows_read(&w, "/data/models/x") && allows_write(&w, USER "/datasets/x") &&
                    allows_write(&w, USER "/app/project/x"));
        assert_false(allows_write(&w, "/data/models/x") || allows_read(&w, "/data/x"));
}

static void test_policy_of_an_agent_host(void **state)
{
        (void)state;
        WORLD w = compile_golden("agent-host.yaml");
        assert_true(allows_read(&w, "/srv/any") && allows_write(&w, USER "/app/x") &&
                    allows_write(&w, USER "/app/yarn.lock"));
        assert_false(allows_read(&w, USER "/.ssh/id") || allows_read(&w, USER "/.local/share/ringwall/auth.json"));
        assert_false(allows_write(&w, USER "/app/.git/hooks/x") || allows_write(&w, USER "/app/a/.envrc") ||
                     allows_write(&w, USER "/app/a/k.pem") || allows_write(&w, USER "/notes"));
        assert_true(allows_host(&w, "api.provider.example") && allows_host(&w, "github.com") &&
                    allows_host(&w, "gitlab.com"));
        assert_false(allows_host(&w, "gist.github.com") || allows_host(&w, "ghcr.io") ||
                     allows_host(&w, "example.com"));
}

static void test_network_policy(void **state)
{
        (void)state;
        WORLD w = compile_golden("network.yaml");
        const struct plan *p = w.plan;
        static const struct {
                const char *name;
                uint16_t port;
                bool reached;
        } rows[] = {
                { "github.com", 22, true },         { "github.com", 443, true },       { "example.com", 443, true },
                { "example.com", 80, false },       { "example.com", 22, false },      { "x.example.org", 8443, true },
                { "x.example.org", 443, false },    { "db.internal", 5432, true },     { "db.internal", 443, false },
                { "gist.github.com", 443, false },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                if (hosts_decide(&p->hosts, rows[i].name, rows[i].port, NULL) != rows[i].reached)
                        fail_msg("%s:%u", rows[i].name, rows[i].port);
        assert_non_null(hosts_match(&p->private_hosts, "db.internal", 5432));
        assert_true(ports_contain(&p->local_ports, 6379) && ports_contain(&p->published, 5173));
        assert_string_equal(p->unix_sockets[0].path, USER "/.ssh/agent.sock");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_golden_policy_compiles_to_its_plan),
                cmocka_unit_test(test_examples_give_only_the_expected_warnings),
                cmocka_unit_test(test_full_reference_has_the_values_of_its_comments),
                cmocka_unit_test(test_policy_of_an_agent_host),
                cmocka_unit_test(test_network_policy),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
