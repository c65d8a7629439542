/*
 * Golden plans: each policy in tests/golden, compiled for one made-up machine, is the plan that lies beside it. The
 * examples of the specification are among them as they were written. tests/golden/regenerate writes the plans anew.
 */
#include "test_policy_fixture.h"

#include <dirent.h>
#include <unistd.h>

#include "base/fd.h"

#define USER "/home/user"

/* $RINGWALL_GOLDEN, or the folder beside this file, whose name the build gives relative to where tests run. */
static const char *folder(void)
{
        static char path[CAP_TEXT];
        const char *chosen = getenv("RINGWALL_GOLDEN");
        if (chosen)
                return chosen;
        size_t length = strlen(__FILE__) - strlen("unit/test_policy_golden.c");
        (void)snprintf(path, sizeof path, "%.*sgolden", (int)length, __FILE__);
        return path;
}

static char *read_golden(const char *name, size_t *ret_length)
{
        char path[2 * CAP_TEXT], *text = NULL;
        struct error e = { 0 };
        (void)snprintf(path, sizeof path, "%s/%s", folder(), name);
        if (fd_read_file(path, 4 << 20, &text, ret_length, &e))
                fail_msg("%s; tests/golden/regenerate writes it", e.text);
        return text;
}

static struct world compile_golden(const char *name)
{
        struct world w = world_new();
        size_t length = 0;
        CLEANUP_FREE char *text = read_golden(name, &length);
        bool srt = settings_is_srt(text, length);
        w.facts = (struct facts){
                .cwd = USER "/app",
                .home = USER,
                .path = "/usr/local/bin:/usr/bin:/bin:" USER "/.cargo/bin",
                .user_data = USER "/.local/share/ringwall",
                .to_ascii = fake_to_ascii,
        };
        w.rejected |= (srt ? settings_read_srt : settings_read_native)(&w.policy, name, text, length, USER "/app") != 0;
        if (!world_compile(&w))
                fail_msg("%s is refused:\n%s", name, w.said.data);
        return w;
}

static void plan_name(const char *name, char plan[300])
{
        (void)snprintf(plan, 300, "%.*s.plan.json", (int)(strrchr(name, '.') - name), name);
}

static void write_golden(const char *name, const char *text)
{
        char path[2 * CAP_TEXT];
        (void)snprintf(path, sizeof path, "%s/%s", folder(), name);
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        assert_true(fprintf(file, "%s\n", text) > 0);
        assert_int_equal(fclose(file), 0);
}

static void assert_same_plan(const char *name, const char *plan, const char *text)
{
        size_t length = 0, line = 1;
        CLEANUP_FREE char *expected = read_golden(plan, &length);
        const char *a = expected, *b = text;
        for (; *a && *a == *b; a++, b++)
                line += *a == '\n';
        if (*b || strcmp(a, "\n") != 0)
                fail_msg("%s: the plan differs from %s in line %zu:\nexpected %.200s\nnow      %.200s\n%s", name, plan,
                         line, a, b, "if it should, run tests/golden/regenerate");
}

static bool is_policy(const char *name)
{
        const char *end = strrchr(name, '.');
        return end && (strcmp(end, ".yaml") == 0 || (strcmp(end, ".json") == 0 && !strstr(name, ".plan.json")));
}

static void test_every_golden_policy_is_its_plan(void **state)
{
        (void)state;
        DIR *dir = opendir(folder());
        if (!dir)
                fail_msg("%s cannot be opened; name the folder in RINGWALL_GOLDEN", folder());
        size_t count = 0;
        for (struct dirent *entry; (entry = readdir(dir));) {
                if (!is_policy(entry->d_name))
                        continue;
                char plan[300];
                plan_name(entry->d_name, plan);
                WORLD w = compile_golden(entry->d_name);
                CLEANUP_FREE char *text = plan_text(w.plan);
                if (getenv("RINGWALL_GOLDEN_WRITE"))
                        write_golden(plan, text);
                assert_same_plan(entry->d_name, plan, text);
                count++;
        }
        (void)closedir(dir);
        assert_true(count >= 15);
}

/* What the examples of the specification may be warned about, and no more. */
static void test_the_examples_compile_without_surprises(void **state)
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
                { "server-types.yaml", 1, "'trusted' may open sockets and reach no host" },
                { "inference.yaml", 0, "" },
                { "namespaces.yaml", 1, "leaves out what level strict has" },
                { "full-reference.yaml", 1, "leaves out what level strict has" },
                { "agent-host.yaml", 0, "" },
                { "agent-auto.yaml", 0, "" },
                { "network.yaml", 0, "" },
                { "srt-settings.json", 1, "box's own network" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                WORLD w = compile_golden(rows[i].name);
                if (messages_count(w.messages, MESSAGE_WARNING) != rows[i].warnings || !world_said(&w, rows[i].text))
                        fail_msg("%s:\n%s", rows[i].name, w.said.data);
        }
}

static void test_the_full_reference_means_what_its_comments_say(void **state)
{
        (void)state;
        WORLD w = compile_golden("full-reference.yaml");
        static const struct {
                enum plan_number number;
                uint64_t value;
        } rows[] = {
                { PLAN_LEVEL, LEVEL_STRICT },
                { PLAN_POOL_SIZE, 4 },
                { PLAN_POOL_MAX, 16 },
                { PLAN_SNAPSHOT, 0 },
                { PLAN_AUDIT, 0 },
                { PLAN_NAMESPACES, SPACE_USER | SPACE_PID | SPACE_NET },
                { PLAN_SESSION_TIMEOUT, 3600 },
                { PLAN_IDLE_TIMEOUT, 300 },
                { PLAN_MEMORY, 512000000 },
                { PLAN_CPU, 2000 },
                { PLAN_PROCESSES, 20 },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                assert_int_equal(number(&w, rows[i].number), rows[i].value);
        assert_string_equal(w.plan->workspace, USER "/app/project");
        assert_true(reads(&w, "/data/models/x") && writes(&w, USER "/datasets/x") && writes(&w, USER "/app/project/x"));
        assert_false(writes(&w, "/data/models/x") || reads(&w, "/data/x"));
}

static void test_the_agent_model_in_native_keys(void **state)
{
        (void)state;
        WORLD w = compile_golden("agent-host.yaml");
        assert_true(reads(&w, "/srv/any") && writes(&w, USER "/app/x") && writes(&w, USER "/app/yarn.lock"));
        assert_false(reads(&w, USER "/.ssh/id") || reads(&w, USER "/.local/share/ringwall/auth.json"));
        assert_false(writes(&w, USER "/app/.git/hooks/x") || writes(&w, USER "/app/a/.envrc") ||
                     writes(&w, USER "/app/a/k.pem") || writes(&w, USER "/notes"));
        assert_true(reaches(&w, "api.provider.example") && reaches(&w, "github.com") && reaches(&w, "gitlab.com"));
        assert_false(reaches(&w, "gist.github.com") || reaches(&w, "ghcr.io") || reaches(&w, "example.com"));
}

static void test_the_network_of_a_plan(void **state)
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
        assert_non_null(hosts_find(&p->private_hosts, "db.internal", 5432));
        assert_true(ports_have(&p->local_ports, 6379) && ports_have(&p->published, 5173));
        assert_string_equal(p->unix_sockets[0].path, USER "/.ssh/agent.sock");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_golden_policy_is_its_plan),
                cmocka_unit_test(test_the_examples_compile_without_surprises),
                cmocka_unit_test(test_the_full_reference_means_what_its_comments_say),
                cmocka_unit_test(test_the_agent_model_in_native_keys),
                cmocka_unit_test(test_the_network_of_a_plan),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
