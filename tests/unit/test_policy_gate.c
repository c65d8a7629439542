/* The keys of the gate: denied commands, which are edited entry by entry, and the person's own secrets. */
#include "test_policy_fixture.h"

static const struct plan_denied_command *find_denied(const struct world *w, const char *name)
{
        for (size_t i = 0; i < w->plan->denied_command_count; i++)
                if (strcmp(w->plan->denied_commands[i].name, name) == 0)
                        return &w->plan->denied_commands[i];
        return NULL;
}

static const char *find_secret(const struct world *w, const char *name)
{
        for (size_t i = 0; i < w->plan->secret_count; i++)
                if (strcmp(w->plan->secrets[i].name, name) == 0)
                        return w->plan->secrets[i].expression;
        return NULL;
}

static void test_default_set_of_commands_is_denied(void **state)
{
        (void)state;
        WORLD w = compile_valid("");
        assert_int_equal(w.plan->denied_command_count, 11);
        assert_int_equal(w.plan->secret_count, 0);
        const struct plan_denied_command *c = find_denied(&w, "mkfs.*");
        assert_non_null(c);
        assert_string_equal(c->set, "denied-commands: filesystems");
        assert_string_equal(c->from.name, "default");
}

static void test_set_of_commands_is_edited_entry_by_entry(void **state)
{
        (void)state;
        WORLD w = compile_valid(
                "gate: {denied_commands: [-sudo, -power, +reboot, rm, 'terraform-*', +dd, '-mkfs.*', sudo2, "
                "-sudo2]}");
        static const char *const denied_names[] = { "su", "reboot", "mount", "mkfs", "rm", "terraform-*", "dd" };
        static const char *const allowed_names[] = { "sudo", "shutdown", "halt", "poweroff", "mkfs.*", "sudo2" };
        for (size_t i = 0; i < ARRAY_SIZE(denied_names); i++)
                if (!find_denied(&w, denied_names[i]))
                        fail_msg("%s is not denied", denied_names[i]);
        for (size_t i = 0; i < ARRAY_SIZE(allowed_names); i++)
                if (find_denied(&w, allowed_names[i]))
                        fail_msg("%s is denied", allowed_names[i]);
        const struct plan_denied_command *rm = find_denied(&w, "rm");
        assert_null(rm->set);
        assert_string_equal(rm->from.name, "p1.yaml");
        assert_int_equal(rm->from.line, 1);
        assert_int_equal(rm->from.column, 50);
        WORLD none = compile_valid("gate: {denied_commands: [-denied-commands]}");
        assert_int_equal(none.plan->denied_command_count, 0);
        WORLD twice = compile_valid("gate: {denied_commands: [sudo, rm, rm]}");
        assert_int_equal(twice.plan->denied_command_count, 12);
}

static void test_command_may_have_a_subcommand(void **state)
{
        (void)state;
        WORLD w = compile_valid("gate: {denied_commands: [git push, +npm publish, 'kubectl delete *', go, -go]}");
        assert_true(find_denied(&w, "git push") && find_denied(&w, "npm publish"));
        assert_non_null(find_denied(&w, "kubectl delete *"));
        assert_null(find_denied(&w, "git"));
        WORLD released = compile_valid("gate: {denied_commands: [git push, git pull, -git push]}");
        assert_true(find_denied(&released, "git pull") && !find_denied(&released, "git push"));
}

static void test_invalid_names_of_commands_are_refused(void **state)
{
        (void)state;
        assert_refused("gate: {denied_commands: [/usr/bin/sudo]}", "write its name alone");
        assert_refused("gate: {denied_commands: [+bin/sudo]}", "write its name alone");
        assert_refused("gate: {denied_commands: [rm -rf]}", "options cannot be denied");
        assert_refused("gate: {denied_commands: ['git  push']}", "one space separates");
        assert_refused("gate: {denied_commands: ['git ']}", "one space separates");
        assert_refused("gate: {denied_commands: [git push/x]}", "write its name alone");
        assert_refused("gate: {denied_commands: ['']}", "the name is empty");
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
        assert_string_equal(find_secret(&w, "our-token"), "tok_[0-9a-f]{32}");
        assert_string_equal(find_secret(&w, "other"), "x2");
        assert_string_equal(find_secret(&w, "number"), "12345678");
        assert_int_equal(w.plan->secrets[0].from.line, 1);
        assert_refused("gate: {secrets: {Token: x}}", "lower-case letters, digits and hyphens");
        assert_refused("gate: {secrets: {a_b: x}}", "secret 'a_b'");
        assert_refused("gate: {secrets: {a: ''}}", "an empty expression matches everything");
        assert_refused("gate: {secrets: {a: [x]}}", "gate.secrets.* cannot be");
        assert_refused("gate: {secrets: [a]}", "expected a map");
}

static void test_counts_and_lengths_are_limited(void **state)
{
        (void)state;
        for (size_t excess = 0; excess < 2; excess++) {
                CLEANUP_TEXT struct text commands = { 0 }, secrets = { 0 }, expression = { 0 };
                text_add(&commands, "gate: {denied_commands: [-denied-commands");
                for (size_t i = 0; i < POLICY_COMMANDS_MAX + excess; i++)
                        text_format(&commands, ", c%zu", i);
                text_add(&commands, "]}");
                text_add(&secrets, "gate: {secrets: {");
                for (size_t i = 0; i < POLICY_SECRETS_MAX + excess; i++)
                        text_format(&secrets, "%ss%zu: x", i ? ", " : "", i);
                text_add(&secrets, "}}");
                text_add(&expression, "gate: {secrets: {a: ");
                for (size_t i = 0; i < POLICY_EXPRESSION_MAX + excess; i++)
                        text_add(&expression, "x");
                text_add(&expression, "}}");
                if (excess) {
                        assert_refused(commands.data, "more than 256 commands are denied");
                        assert_refused(secrets.data, "more than 64 secrets");
                        assert_refused(expression.data, "the expression is too long");
                        continue;
                }
                WORLD a = compile_valid(commands.data);
                assert_int_equal(a.plan->denied_command_count, POLICY_COMMANDS_MAX);
                WORLD b = compile_valid(secrets.data);
                assert_int_equal(b.plan->secret_count, POLICY_SECRETS_MAX);
                WORLD c = compile_valid(expression.data);
                assert_int_equal(c.plan->secret_count, 1);
        }
}

static void test_policy_cannot_remove_commands_or_secrets_of_a_ceiling(void **state)
{
        (void)state;
        WORLD w = world_new();
        world_read(&w, "gate: {denied_commands: [-denied-commands], secrets: {theirs: x, mine: y}}");
        world_ceiling(&w, "gate: {denied_commands: [+privileges, halt, kubectl], secrets: {theirs: z}}");
        world_ceiling(&w, "gate: {denied_commands: ['aws*']}");
        assert_true(world_compile(&w));
        assert_int_equal(w.plan->denied_command_count, 5);
        assert_true(find_denied(&w, "sudo") && find_denied(&w, "su") && find_denied(&w, "halt"));
        assert_true(find_denied(&w, "kubectl") && find_denied(&w, "aws*"));
        assert_string_equal(find_denied(&w, "sudo")->from.name, "p2.yaml");
        /* The policy's expression of the same name does not replace the ceiling's. */
        assert_int_equal(w.plan->secret_count, 3);
        assert_string_equal(w.plan->secrets[2].expression, "z");
        assert_string_equal(w.plan->secrets[2].from.name, "p2.yaml");
}

/* Only below `servers` is the name for which a key has a star the name of a server. */
static void test_secret_with_the_name_of_a_server_is_not_a_server(void **state)
{
        (void)state;
        WORLD w = compile_valid("{gate: {secrets: {s: x}}, tools: {modules: {mcp: {config: {servers: {s: {command: c, "
                                "env: {K: v}, sandbox: {permissions: [process.exec]}}}}}}}}");
        assert_int_equal(w.plan->server_count, 1);
        assert_string_equal(w.plan->servers[0].name, "s");
        assert_string_equal(w.plan->servers[0].env[0].name, "K");
        assert_string_equal(find_secret(&w, "s"), "x");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_default_set_of_commands_is_denied),
                cmocka_unit_test(test_set_of_commands_is_edited_entry_by_entry),
                cmocka_unit_test(test_command_may_have_a_subcommand),
                cmocka_unit_test(test_invalid_names_of_commands_are_refused),
                cmocka_unit_test(test_secrets_have_a_name_and_an_expression),
                cmocka_unit_test(test_counts_and_lengths_are_limited),
                cmocka_unit_test(test_policy_cannot_remove_commands_or_secrets_of_a_ceiling),
                cmocka_unit_test(test_secret_with_the_name_of_a_server_is_not_a_server),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
