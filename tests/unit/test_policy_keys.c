/*
 * The tables: every key with the default and the bounds of its specification, and every entry of the managed sets. Only
 * a check of each row finds a mistake in a table.
 */
#include "test_policy_fixture.h"

#include "policy/expand_path.h"
#include "policy/managed.h"
#include "policy/module_rights.h"

static struct arena *arena;

static int setup(void **state)
{
        (void)state;
        arena = arena_new(16 << 20);
        return arena ? 0 : -1;
}

static int teardown(void **state)
{
        (void)state;
        arena_free(arena);
        return 0;
}

static const char *parse(enum key_id key, const char *text, struct value *ret)
{
        return key_parse_value(arena, &keys[key], text, fake_to_ascii, ret);
}

static void test_every_row_is_complete(void **state)
{
        (void)state;
        for (size_t i = 0; i < KEY_COUNT; i++) {
                const struct key *key = &keys[i];
                assert_non_null(key->path);
                assert_true(*key->path);
                assert_non_null(key->help);
                assert_true(key->help[strlen(key->help) - 1] == '.');
                assert_int_equal(key->kind == VALUE_WORD, key->words != NULL);
                bool quantity = key->kind >= VALUE_NUMBER && key->kind <= VALUE_DURATION;
                assert_int_equal(quantity, key->max > 0);
                assert_true(key->min <= key->max);
                assert_ptr_equal(key_find(key->path), key);
                CLEANUP_TEXT struct text described = { 0 };
                key_expected_text(key, &described);
                assert_true(described.length > 0);
                for (size_t j = 0; j < i; j++)
                        assert_string_not_equal(key->path, keys[j].path);
        }
        assert_null(key_find("nothing"));
        assert_null(key_find("security"));
        assert_null(key_find(""));
}

/* The flag of a key has all its fields, and the words that the key accepts. */
static void test_every_flag_agrees_with_its_key(void **state)
{
        (void)state;
        size_t count = 0;
        for (size_t i = 0; i < KEY_COUNT; i++) {
                const struct key *key = &keys[i];
                if (!key->flag.name)
                        continue;
                CLEANUP_TEXT struct text words = { 0 };
                for (size_t j = 0; key->kind == VALUE_WORD && key->words[j]; j++)
                        text_format(&words, "%s%s", j ? "|" : "", key->words[j]);
                if (words.data)
                        assert_string_equal(key->flag.placeholder, words.data);
                assert_int_equal(key->flag.kind == OPTION_WORDS, key->kind == VALUE_WORD);
                assert_int_equal(key->flag.kind == OPTION_NONE, key->kind == VALUE_BOOL);
                assert_int_equal(key->flag.id, KEY_FLAG_ID + i);
                if (key->list)
                        assert_true(key->flag.repeatable);
                assert_non_null(key->flag.group);
                count++;
        }
        assert_true(count > 15);
}

/* Counts the rows below a prefix, level by level. */
static size_t count_rows_below(const char *prefix)
{
        size_t position = 0, length = 0, count = key_find(prefix) != NULL;
        const char *name = NULL;
        while (key_iterate_children(prefix, &position, &name, &length)) {
                char child[200];
                (void)snprintf(child, sizeof child, "%s%s%.*s", prefix, *prefix ? "." : "", (int)length, name);
                count += count_rows_below(child);
        }
        return count;
}

static void test_walk_reaches_every_row_once(void **state)
{
        (void)state;
        assert_int_equal(count_rows_below(""), KEY_COUNT);
        assert_int_equal(count_rows_below("mode"), 1);
        assert_int_equal(count_rows_below("secur"), 0); /* a prefix must end at a dot */
}

/* The default and the bounds of each key, from the specification: values outside and inside the bounds. */
static const struct {
        enum key_id key;
        const char *path, *fallback, *below, *low, *high, *above;
} specified[] = {
        { KEY_POOL_SIZE, "security.sandbox.pool_size", "2", "0", "1", "32", "33" },
        { KEY_POOL_MAX, "security.sandbox.pool_max", "8", "0", "1", "64", "65" },
        { KEY_SESSION_TIMEOUT, "security.sandbox.session_timeout", "3600", "59", "60", "86400", NULL },
        { KEY_IDLE_TIMEOUT, "security.sandbox.idle_timeout", "300", "29", "30", "86400", NULL },
        { KEY_SNAPSHOT, "security.sandbox.workspace_snapshot", "false", NULL, "true", "false", "maybe" },
        { KEY_AUDIT, "security.sandbox.audit", "false", NULL, "true", "false", "yes" },
        { KEY_MDWE, "security.sandbox.mdwe", "false", NULL, "true", "false", "on" },
        { KEY_MODE, "mode", "accept-edits", NULL, "accept-edits", "auto", "Auto" },
        { KEY_READ, "filesystem.read", "listed", NULL, "listed", "broad", "everything" },
        { KEY_BEST_EFFORT, "best_effort", "false", NULL, "true", "false", "1" },
        { KEY_LEVEL, "security.sandbox.level", NULL, "on", "off", "maximum", "max" },
        { KEY_NAMESPACES, "security.sandbox.namespaces", NULL, "User", "user", "mount", "time" },
        { KEY_PROCESSES, "security.sandbox.resources.processes", NULL, "0", "1", "20", "-1" },
        { KEY_MEMORY, "security.sandbox.resources.memory", NULL, "0", "512MB", "1.5GiB", "much" },
        { KEY_CPU, "security.sandbox.resources.cpu", NULL, "0", "2", "2 cores", "-2" },
        { KEY_WORKDIR, "runtime.workdir", NULL, "", "./project", "/srv", NULL },
        { KEY_ALLOW_PATHS, "security.sandbox.allow_paths", NULL, "", "/data/models", "~/datasets:rw", ":rw" },
        { KEY_SERVER_TRANSPORT, "tools.modules.mcp.config.servers.*.transport", "stdio", NULL, "sse", "http", "https" },
        { KEY_ALLOW_PRIVATE, "network.allow_private", NULL, "*", "db.internal", "*.a.org:1", "10.0.0.1" },
        { KEY_ALLOW_LOCAL_PORTS, "network.allow_local_ports", NULL, "0", "1", "65535", "65536" },
        { KEY_PUBLISH, "network.publish", NULL, "0", "1", "65535", "65536" },
        { KEY_PROXY_VARIABLES, "network.proxy_variables", "false", NULL, "true", "false", "yes" },
        { KEY_LIVE, "network.live", "off", NULL, "new", "all", "on" },
        { KEY_UNIX_SOCKETS, "network.unix_sockets", NULL, "", "~/agent.sock", "/run/x", "/run/*" },
        { KEY_DENIED_COMMANDS, "gate.denied_commands", NULL, "", "sudo", "mkfs.*", "/usr/bin/sudo" },
        { KEY_DENIED_COMMANDS, "gate.denied_commands", NULL, "rm -rf", "\\[", "[ab]?", "**" },
        { KEY_ENV, "runtime.env", NULL, "1A", "A", "_A1=any thing=", "A B=c" },
        { KEY_ENV, "runtime.env", NULL, "A?", "ANTHROPIC_*", "*_PROXY", "A*=c" },
};

/* The default in the table is the number of a plan without the key; 0 if there is no default. */
static void test_defaults_have_their_numbers_in_a_plan(void **state)
{
        (void)state;
        static const struct {
                enum key_id key;
                uint64_t number;
        } rows[] = {
                { KEY_LEVEL, LEVEL_STRICT }, { KEY_MODE, 0 },         { KEY_READ, PLAN_READ_LISTED },
                { KEY_POOL_SIZE, 2 },        { KEY_POOL_MAX, 8 },     { KEY_SESSION_TIMEOUT, 3600 },
                { KEY_IDLE_TIMEOUT, 300 },   { KEY_TIMEOUT, 0 },      { KEY_PROCESSES, 0 },
                { KEY_AUDIT, 0 },            { KEY_WORKSPACE, PLAN_WORKSPACE_RW },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                assert_true(key_has_single_value(&keys[rows[i].key]));
                assert_int_equal(key_default_scalar(&keys[rows[i].key]), rows[i].number);
        }
}

/* Every number of the plan has a unique name, and at most one key. */
static void test_numbers_of_the_plan_have_unique_names(void **state)
{
        (void)state;
        for (enum plan_scalar n = 0; n < PLAN_SCALAR_COUNT; n++) {
                size_t count = 0;
                assert_true(*plan_scalar_name(n));
                for (enum plan_scalar other = 0; other < n; other++)
                        assert_string_not_equal(plan_scalar_name(n), plan_scalar_name(other));
                for (enum key_id key = 0; key < KEY_COUNT; key++)
                        count += keys[key].name && keys[key].scalar == n;
                assert_in_range(count, 0, 1);
        }
}

static void test_defaults_and_bounds_are_those_of_the_specification(void **state)
{
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(specified); i++) {
                const struct key *key = &keys[specified[i].key];
                const char *good[] = { specified[i].fallback, specified[i].low, specified[i].high };
                const char *bad[] = { specified[i].below, specified[i].above };
                struct value v;
                assert_string_equal(key->path, specified[i].path);
                if (specified[i].fallback)
                        assert_string_equal(key->fallback, specified[i].fallback);
                for (size_t j = 0; j < ARRAY_SIZE(good); j++)
                        if (good[j] && parse(specified[i].key, good[j], &v))
                                fail_msg("%s: '%s' is refused", key->path, good[j]);
                for (size_t j = 0; j < ARRAY_SIZE(bad); j++)
                        if (bad[j] && !parse(specified[i].key, bad[j], &v))
                                fail_msg("%s: '%s' is accepted", key->path, bad[j]);
        }
}

static void test_only_plain_digits_are_accepted_as_numbers(void **state)
{
        (void)state;
        static const char *const bad[] = { "",
                                           " 4",
                                           "4 ",
                                           "+4",
                                           "-4",
                                           "4.0",
                                           "0x4",
                                           "4e0",
                                           "four",
                                           "4\n",
                                           "٤",
                                           "0b11",
                                           "18446744073709551617",
                                           "99999999999999999999999" };
        struct value v;
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
                if (!parse(KEY_POOL_SIZE, bad[i], &v))
                        fail_msg("'%s' is accepted as %llu", bad[i], (unsigned long long)v.number);
}

/* The suffix is removed completely or not at all. */
static void test_removing_a_suffix_keeps_the_path(void **state)
{
        (void)state;
        static const struct {
                const char *text, *path;
                enum access access;
        } rows[] = {
                { "/data/repo", "/data/repo", ACCESS_READ },
                { "/data/repo:ro", "/data/repo", ACCESS_READ_ONLY },
                { "/data/repo:rw", "/data/repo", ACCESS_WRITE },
                { "/data/macro", "/data/macro", ACCESS_READ },
                { "/data/ro", "/data/ro", ACCESS_READ },
                { "/data/:ro", "/data/", ACCESS_READ_ONLY },
                { "/data/o:ro", "/data/o", ACCESS_READ_ONLY },
                { "/data/r:rw", "/data/r", ACCESS_WRITE },
                { "/data/ro:ro", "/data/ro", ACCESS_READ_ONLY },
                { "/data:ro:rw", "/data:ro", ACCESS_WRITE },
                { "/data:rw:ro", "/data:rw", ACCESS_READ_ONLY },
                { "/a:b", "/a:b", ACCESS_READ },
                { "~:rw", "~", ACCESS_WRITE },
                { "ro", "ro", ACCESS_READ },
                { "/:ro", "/", ACCESS_READ_ONLY },
                { "/ro:", "/ro:", ACCESS_READ },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct value v;
                const char *error = parse(KEY_ALLOW_PATHS, rows[i].text, &v);
                if (error)
                        fail_msg("%s: %s", rows[i].text, error);
                assert_int_equal(v.length, strlen(rows[i].path));
                assert_memory_equal(v.text, rows[i].path, v.length);
                assert_int_equal(v.number, rows[i].access);
                assert_null(parse(KEY_MODULE_FILESYSTEM_PATHS, rows[i].text, &v));
                bool suffix = strlen(rows[i].path) < strlen(rows[i].text);
                assert_int_equal(v.number, suffix ? rows[i].access : ACCESS_WRITE); /* writable by default */
        }
}

static void test_words_are_unique_and_matched_exactly(void **state)
{
        (void)state;
        static const char *const *const lists[] = { level_words, namespace_words, read_words,      workspace_words,
                                                    mode_words,  transport_words, permission_words };
        for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
                for (int j = 0; lists[i][j]; j++) {
                        assert_int_equal(key_word_index(lists[i], lists[i][j]), j);
                        assert_true(strspn(lists[i][j], "abcdefghijklmnopqrstuvwxyz.*-_") == strlen(lists[i][j]));
                }
        static const char *const specified_words[] = {
                "fs.read",   "fs.list",  "fs.write",   "fs.delete",  "fs.*", "process.exec", "process.spawn_daemon",
                "process.*", "net.http", "net.socket", "net.listen", "net.*"
        };
        for (size_t i = 0; i < ARRAY_SIZE(specified_words); i++)
                assert_true(key_word_index(permission_words, specified_words[i]) >= 0);
        assert_int_equal(key_word_index(permission_words, "*"), -1);
        assert_int_equal(key_word_index(permission_words, "fs"), -1);
        assert_int_equal(key_word_index(level_words, ""), -1);
        assert_int_equal(key_word_index(level_words, "standard"), LEVEL_STANDARD);
        assert_int_equal(key_word_index(level_words, "maximum"), LEVEL_MAXIMUM);
}

static void test_wildcard_permission_grants_all_of_its_kind(void **state)
{
        (void)state;
        static const char *const kinds[] = { "fs.", "process.", "net." };
        for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
                unsigned sum = 0, sum_of_server = 0, wildcard = 0, wildcard_of_server = 0;
                for (size_t i = 0; permission_words[i]; i++) {
                        if (!text_has_prefix(permission_words[i], kinds[k]))
                                continue;
                        bool is_wildcard = strchr(permission_words[i], '*') != NULL;
                        *(is_wildcard ? &wildcard : &sum) |= permissions[i].granted;
                        *(is_wildcard ? &wildcard_of_server : &sum_of_server) |= permissions[i].of_server;
                }
                assert_int_equal(wildcard, sum);
                assert_int_equal(wildcard_of_server, sum_of_server);
        }
}

static const struct managed_set *const sets[] = { &sensitive_set, &protected_set, &dev_network_set,
                                                 &denied_commands_set };

static void test_names_in_managed_sets_are_unambiguous(void **state)
{
        (void)state;
        for (size_t s = 0; s < ARRAY_SIZE(sets); s++) {
                const struct managed_set *set = sets[s];
                assert_ptr_equal(managed_set_of(set->key), set);
                for (size_t i = 0; i < set->count; i++) {
                        const struct managed_entry *e = &set->entries[i];
                        assert_string_not_equal(e->group, set->name);
                        assert_true(managed_entry_matches(set, e, set->name));
                        assert_true(managed_entry_matches(set, e, e->group));
                        /* Only the table uses {writable}; a person writes the part after it. */
                        const char *personal =
                                text_has_prefix(e->entry, "{writable}/") ? e->entry + strlen("{writable}/") : e->entry;
                        assert_true(managed_entry_matches(set, e, personal));
                        assert_false(managed_entry_matches(set, e, ""));
                        assert_false(managed_entry_matches(set, e, "x"));
                        for (size_t j = 0; j < set->count; j++) {
                                assert_string_not_equal(set->entries[j].entry, e->group);
                                assert_true(i == j || strcmp(set->entries[j].entry, e->entry) != 0);
                        }
                }
        }
        assert_null(managed_set_of(KEY_DENY_WRITE));
}

static void test_every_managed_entry_is_a_valid_value_of_its_key(void **state)
{
        (void)state;
        const struct path_variables names = {
                .workspace = WORK, .home = HOME, .user_data = "/data", .user_state = "/state"
        };
        for (size_t s = 0; s < ARRAY_SIZE(sets); s++)
                for (size_t i = 0; i < sets[s]->count; i++) {
                        const char *entry = sets[s]->entries[i].entry;
                        struct host_pattern d;
                        struct value v;
                        if (sets[s] == &dev_network_set) {
                                assert_null(host_pattern_parse(arena, entry, NULL, &d));
                                continue;
                        }
                        if (sets[s] == &denied_commands_set) {
                                assert_null(parse(KEY_DENIED_COMMANDS, entry, &v));
                                continue;
                        }
                        if (path_pattern_check(entry))
                                fail_msg("%s: %s", entry, path_pattern_check(entry));
                        /* The compiler replaces {writable} by a directory. */
                        const char *text = text_has_prefix(entry, "{writable}/") ? entry + strlen("{writable}") : entry;
                        struct expanded_path e = expand_path(arena, &names, NULL, text, true, false);
                        if (!e.path)
                                fail_msg("%s: %s", entry, e.wrong);
                        assert_string_equal(path_normalize(arena, e.path), e.path);
                }
}

static void assert_listed(const struct managed_set *set, const char *name)
{
        for (size_t i = 0; i < set->count; i++)
                if (managed_entry_matches(set, &set->entries[i], name))
                        return;
        fail_msg("the set %s lacks %s", set->name, name);
}

static void test_sets_have_the_entries_of_the_specification(void **state)
{
        (void)state;
        static const char *const sensitive[] = { "~/.ssh",
                                                 "~/.aws",
                                                 "~/.gnupg",
                                                 "~/.docker/config.json",
                                                 "~/.kube",
                                                 "~/.config/gh",
                                                 "~/.config/gcloud",
                                                 "~/.netrc",
                                                 "~/.npmrc",
                                                 "~/.pypirc",
                                                 "~/.cargo/credentials",
                                                 "~/.cargo/credentials.toml",
                                                 "{user-data}" };
        static const char *const protected[] = { ".git/hooks",     ".git/config",   ".svn",
                                                 ".gitconfig",     ".gitattributes",
                                                 ".bashrc",        ".bash_profile", ".zshrc",
                                                 ".zprofile",      ".zshenv",       ".profile",
                                                 ".envrc",         ".npmrc",        ".yarnrc",
                                                 ".yarnrc.yml",    ".pnpmfile.cjs", "package-lock.json",
                                                 "pnpm-lock.yaml", "yarn.lock",     "bun.lockb",
                                                 ".mcp.json",      ".claude.json",  ".ripgreprc",
                                                 ".vscode",        ".idea",         ".claude/commands",
                                                 ".claude/agents", "~/.profile",    "~/.bash_profile",
                                                 "~/.bash_login",  "~/.bashrc",     "~/.zprofile",
                                                 "~/.zshenv",      "~/.zshrc",      "~/.config/fish/config.fish" };
        static const char *const network[] = { "npm",  "yarn", "pypi",   "crates", "go",
                                               "deno", "jsr",  "github", "gitlab", "bitbucket" };
        static const char *const commands[] = { "sudo",   "su",    "shutdown", "reboot", "halt",  "poweroff",
                                                "chroot", "mount", "umount",   "mkfs",   "mkfs.*" };
        for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
                assert_listed(&denied_commands_set, commands[i]);
        for (size_t i = 0; i < ARRAY_SIZE(sensitive); i++)
                assert_listed(&sensitive_set, sensitive[i]);
        for (size_t i = 0; i < ARRAY_SIZE(protected); i++)
                assert_listed(&protected_set, protected[i]);
        for (size_t i = 0; i < ARRAY_SIZE(network); i++)
                assert_listed(&dev_network_set, network[i]);
        assert_true(sensitive_set.by_default && protected_set.by_default && !dev_network_set.by_default &&
                    denied_commands_set.by_default);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_row_is_complete),
                cmocka_unit_test(test_every_flag_agrees_with_its_key),
                cmocka_unit_test(test_walk_reaches_every_row_once),
                cmocka_unit_test(test_defaults_and_bounds_are_those_of_the_specification),
                cmocka_unit_test(test_defaults_have_their_numbers_in_a_plan),
                cmocka_unit_test(test_numbers_of_the_plan_have_unique_names),
                cmocka_unit_test(test_only_plain_digits_are_accepted_as_numbers),
                cmocka_unit_test(test_removing_a_suffix_keeps_the_path),
                cmocka_unit_test(test_words_are_unique_and_matched_exactly),
                cmocka_unit_test(test_wildcard_permission_grants_all_of_its_kind),
                cmocka_unit_test(test_names_in_managed_sets_are_unambiguous),
                cmocka_unit_test(test_every_managed_entry_is_a_valid_value_of_its_key),
                cmocka_unit_test(test_sets_have_the_entries_of_the_specification),
        };
        return cmocka_run_group_tests(tests, setup, teardown);
}
