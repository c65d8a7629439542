/* What a policy says to the gate: denied commands, edited entry by entry, and secrets of a person's own. */
#include "test_policy_fixture.h"

static const struct plan_command *denied(const struct world *w, const char *name)
{
        for (size_t i = 0; i < w->plan->denied_command_count; i++)
                if (strcmp(w->plan->denied_commands[i].name, name) == 0)
                        return &w->plan->denied_commands[i];
        return NULL;
}

static const char *secret(const struct world *w, const char *name)
{
        for (size_t i = 0; i < w->plan->secret_count; i++)
                if (strcmp(w->plan->secrets[i].name, name) == 0)
                        return w->plan->secrets[i].expression;
        return NULL;
}

static void test_nothing_said_denies_the_set(void **state)
{
        (void)state;
        WORLD w = world_of("");
        assert_int_equal(w.plan->denied_command_count, 11);
        assert_int_equal(w.plan->secret_count, 0);
        const struct plan_command *c = denied(&w, "mkfs.*");
        assert_non_null(c);
        assert_string_equal(c->set, "denied-commands: filesystems");
        assert_string_equal(c->from.name, "default");
}

static void test_the_set_is_edited_entry_by_entry(void **state)
{
        (void)state;
        WORLD w = world_of("gate: {denied_commands: [-sudo, -power, +reboot, rm, 'terraform-*', +dd, '-mkfs.*', sudo2, "
                           "-sudo2]}");
        static const char *const yes[] = { "su", "reboot", "mount", "mkfs", "rm", "terraform-*", "dd" };
        static const char *const no[] = { "sudo", "shutdown", "halt", "poweroff", "mkfs.*", "sudo2" };
        for (size_t i = 0; i < ARRAY_SIZE(yes); i++)
                if (!denied(&w, yes[i]))
                        fail_msg("%s is not denied", yes[i]);
        for (size_t i = 0; i < ARRAY_SIZE(no); i++)
                if (denied(&w, no[i]))
                        fail_msg("%s is denied", no[i]);
        const struct plan_command *rm = denied(&w, "rm");
        assert_null(rm->set);
        assert_string_equal(rm->from.name, "p1.yaml");
        assert_int_equal(rm->from.line, 1);
        assert_int_equal(rm->from.column, 50);
        WORLD none = world_of("gate: {denied_commands: [-denied-commands]}");
        assert_int_equal(none.plan->denied_command_count, 0);
        WORLD twice = world_of("gate: {denied_commands: [sudo, rm, rm]}");
        assert_int_equal(twice.plan->denied_command_count, 12);
}

static void test_names_of_commands_that_cannot_be(void **state)
{
        (void)state;
        assert_refused("gate: {denied_commands: [/usr/bin/sudo]}", "write its name alone");
        assert_refused("gate: {denied_commands: [+bin/sudo]}", "write its name alone");
        assert_refused("gate: {denied_commands: [rm -rf]}", "its arguments cannot be denied");
        assert_refused("gate: {denied_commands: ['']}", "an empty name");
        assert_refused("gate: {denied_commands: ['a[']}", "not closed");
        assert_refused("gate: {denied_commands: ['**']}", "write * for every name");
        assert_refused("gate: {denied_commands: [-sduo]}", "did you mean '-sudo'?");
        assert_refused("gate: {denied_commands: [-rm]}", "releases nothing");
        assert_refused("gate: {denied_commands: sudo}", "expected a list");
        assert_refused("gate: {denied_command: [x]}", "did you mean 'denied_commands'?");
}

static void test_secrets_have_a_name_and_an_expression(void **state)
{
        (void)state;
        WORLD w = world_new();
        world_read(&w, "gate: {secrets: {our-token: 'tok_[0-9a-f]{32}', other: x1, number: 12345678}}");
        world_read(&w, "gate: {secrets: {other: x2}}");
        assert_true(world_compile(&w));
        assert_int_equal(w.plan->secret_count, 3);
        assert_string_equal(secret(&w, "our-token"), "tok_[0-9a-f]{32}");
        assert_string_equal(secret(&w, "other"), "x2");
        assert_string_equal(secret(&w, "number"), "12345678");
        assert_int_equal(w.plan->secrets[0].from.line, 1);
        assert_refused("gate: {secrets: {Token: x}}", "small letters, digits and hyphens");
        assert_refused("gate: {secrets: {a_b: x}}", "secret 'a_b'");
        assert_refused("gate: {secrets: {a: ''}}", "an empty expression fits everywhere");
        assert_refused("gate: {secrets: {a: [x]}}", "gate.secrets.* cannot be");
        assert_refused("gate: {secrets: [a]}", "expected a map");
}

static void test_counts_and_lengths_are_bounded(void **state)
{
        (void)state;
        for (size_t over = 0; over < 2; over++) {
                CLEANUP_TEXT struct text commands = { 0 }, secrets = { 0 }, expression = { 0 };
                text_add(&commands, "gate: {denied_commands: [-denied-commands");
                for (size_t i = 0; i < CAP_COMMANDS + over; i++)
                        text_format(&commands, ", c%zu", i);
                text_add(&commands, "]}");
                text_add(&secrets, "gate: {secrets: {");
                for (size_t i = 0; i < CAP_SECRETS + over; i++)
                        text_format(&secrets, "%ss%zu: x", i ? ", " : "", i);
                text_add(&secrets, "}}");
                text_add(&expression, "gate: {secrets: {a: ");
                for (size_t i = 0; i < CAP_EXPRESSION + over; i++)
                        text_add(&expression, "x");
                text_add(&expression, "}}");
                if (over) {
                        assert_refused(commands.data, "more than 256 commands are denied");
                        assert_refused(secrets.data, "more than 64 secrets");
                        assert_refused(expression.data, "the expression is too long");
                        continue;
                }
                WORLD a = world_of(commands.data);
                assert_int_equal(a.plan->denied_command_count, CAP_COMMANDS);
                WORLD b = world_of(secrets.data);
                assert_int_equal(b.plan->secret_count, CAP_SECRETS);
                WORLD c = world_of(expression.data);
                assert_int_equal(c.plan->secret_count, 1);
        }
}

static void test_a_ceiling_adds_and_a_policy_takes_nothing_of_it_back(void **state)
{
        (void)state;
        WORLD w = world_new();
        world_read(&w, "gate: {denied_commands: [-denied-commands], secrets: {theirs: x, mine: y}}");
        world_ceiling(&w, "gate: {denied_commands: [+privileges, halt, kubectl], secrets: {theirs: z}}");
        world_ceiling(&w, "gate: {denied_commands: ['aws*']}");
        assert_true(world_compile(&w));
        assert_int_equal(w.plan->denied_command_count, 5);
        assert_true(denied(&w, "sudo") && denied(&w, "su") && denied(&w, "halt"));
        assert_true(denied(&w, "kubectl") && denied(&w, "aws*"));
        assert_string_equal(denied(&w, "sudo")->from.name, "p2.yaml");
        /* The policy's own expression of the same name does not take the place of the ceiling's. */
        assert_int_equal(w.plan->secret_count, 3);
        assert_string_equal(w.plan->secrets[2].expression, "z");
        assert_string_equal(w.plan->secrets[2].from.name, "p2.yaml");
}

/* The name that a star stands for is a server's only below the servers. */
static void test_a_secret_is_not_a_server(void **state)
{
        (void)state;
        WORLD w = world_of("{gate: {secrets: {s: x}}, tools: {modules: {mcp: {config: {servers: {s: {command: c, "
                           "env: {K: v}, sandbox: {permissions: [process.exec]}}}}}}}}");
        assert_int_equal(w.plan->server_count, 1);
        assert_string_equal(w.plan->servers[0].name, "s");
        assert_string_equal(w.plan->servers[0].env[0].name, "K");
        assert_string_equal(secret(&w, "s"), "x");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_nothing_said_denies_the_set),
                cmocka_unit_test(test_the_set_is_edited_entry_by_entry),
                cmocka_unit_test(test_names_of_commands_that_cannot_be),
                cmocka_unit_test(test_secrets_have_a_name_and_an_expression),
                cmocka_unit_test(test_counts_and_lengths_are_bounded),
                cmocka_unit_test(test_a_ceiling_adds_and_a_policy_takes_nothing_of_it_back),
                cmocka_unit_test(test_a_secret_is_not_a_server),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
