/*
 * File rules: what a policy's paths mean, however they are spelt. The tables say for each path whether the plan lets it
 * be read and written.
 */
#include "test_policy_fixture.h"

struct file_row {
        const char *path, *may; /* "rw", "r" or "" */
};

static void assert_files(const struct world *w, const struct file_row *rows, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                bool read = reads(w, rows[i].path), write = writes(w, rows[i].path);
                if (read != (strchr(rows[i].may, 'r') != NULL) || write != (strchr(rows[i].may, 'w') != NULL))
                        fail_msg("%s: '%s%s' instead of '%s'", rows[i].path, read ? "r" : "", write ? "w" : "",
                                 rows[i].may);
        }
}
#define ASSERT_FILES(w, ...)                                                                                           \
        do {                                                                                                           \
                static const struct file_row rows_[] = { __VA_ARGS__ };                                                \
                assert_files((w), rows_, ARRAY_SIZE(rows_));                                                           \
        } while (0)

static bool has_rule(const struct world *w, enum rule_kind kind, const char *path)
{
        for (size_t i = 0; i < w->plan->rules.count; i++)
                if (w->plan->rules.list[i].kind == kind && strcmp(w->plan->rules.list[i].path, path) == 0)
                        return true;
        return false;
}

static void test_nothing_said_is_the_workspace_and_the_system(void **state)
{
        (void)state;
        WORLD w = world_of("");
        ASSERT_FILES(&w, { WORK "/a.c", "rw" }, { WORK, "rw" }, { "/usr/bin/env", "r" }, { "/etc/hosts", "r" },
                     { "/etc/shadow", "" }, { "/etc/sudoers.d/x", "" }, { "/etc/ssh/ssh_host_rsa_key", "" },
                     { "/etc/ssh/ssh_host_rsa_key.pub", "r" }, { "/dev/null", "rw" }, { "/dev/sda", "r" },
                     { "/srv/x", "" }, { "/home/other/x", "" }, { "/root", "" }, { "/", "" }, { "/home", "" },
                     { "/elsewhere", "" }, { HOME "/work-evil/x", "rw" } /* the private home, empty */, { "/tmp/x", "rw" });
        assert_true(has_rule(&w, RULE_PRIVATE, HOME));
        assert_true(has_rule(&w, RULE_PRIVATE, "/tmp"));
        assert_false(has_rule(&w, RULE_PRIVATE, "/"));
        assert_int_equal(w.plan->hosts.count, 0);
}

static void test_broad_reads_are_everything_but_the_sensitive_set(void **state)
{
        (void)state;
        WORLD w = world_of("filesystem: {read: broad}");
        ASSERT_FILES(&w, { "/srv/x", "r" }, { "/", "r" }, { HOME "/notes", "r" }, { HOME "/.ssh/id_rsa", "" },
                     { HOME "/.aws/credentials", "" }, { HOME "/.gnupg", "" }, { HOME "/.docker/config.json", "" },
                     { HOME "/.docker/other", "r" }, { HOME "/.kube/config", "" }, { HOME "/.config/gh/hosts.yml", "" },
                     { HOME "/.config/gcloud/x", "" }, { HOME "/.netrc", "" }, { HOME "/.npmrc", "" },
                     { HOME "/.pypirc", "" }, { HOME "/.cargo/credentials", "" },
                     { HOME "/.cargo/credentials.toml", "" }, { HOME "/.cargo/bin/x", "r" },
                     { HOME "/.local/share/ringwall/x", "" }, { HOME "/.sshx", "r" }, { "/etc/shadow", "" },
                     { WORK "/x", "rw" });
}

static void test_protected_names_are_read_and_never_written(void **state)
{
        (void)state;
        static const char *const names[] = { ".git/hooks/pre-commit",
                                             ".git/config",
                                             ".git/hooks",
                                             ".hg/hgrc",
                                             ".svn/entries",
                                             ".gitconfig",
                                             ".gitmodules",
                                             ".gitattributes",
                                             ".bashrc",
                                             ".bash_profile",
                                             ".zshrc",
                                             ".zprofile",
                                             ".zshenv",
                                             ".profile",
                                             ".envrc",
                                             ".npmrc",
                                             ".yarnrc",
                                             ".yarnrc.yml",
                                             ".pnpmfile.cjs",
                                             "package-lock.json",
                                             "pnpm-lock.yaml",
                                             "yarn.lock",
                                             "bun.lockb",
                                             ".mcp.json",
                                             ".claude.json",
                                             ".ripgreprc",
                                             ".vscode/tasks.json",
                                             ".idea/x",
                                             ".claude/commands/x",
                                             ".claude/agents/x",
                                             ".git/modules/a/b/hooks/x",
                                             ".git/modules/a/config" };
        static const char *const free_names[] = { ".git/index",
                                                  ".git/HEAD",
                                                  ".git/objects/ab/cd",
                                                  ".git/refs/heads/x",
                                                  ".git/logs/HEAD",
                                                  ".git/worktrees/w/HEAD",
                                                  ".git/COMMIT_EDITMSG",
                                                  ".git/packed-refs",
                                                  ".github/workflows/x",
                                                  "src/.git/x",
                                                  "package.json",
                                                  ".gitignore",
                                                  ".bashrc2",
                                                  ".hg/store/x" };
        WORLD w = world_of("security: {sandbox: {allow_paths: ['/srv/repo:rw', '/srv/seen:ro']}}");
        static const char *const roots[] = { WORK, "/srv/repo" };
        char path[200];
        for (size_t r = 0; r < ARRAY_SIZE(roots); r++) {
                for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                        (void)snprintf(path, sizeof path, "%s/%s", roots[r], names[i]);
                        if (!reads(&w, path) || writes(&w, path))
                                fail_msg("%s", path);
                }
                for (size_t i = 0; i < ARRAY_SIZE(free_names); i++) {
                        (void)snprintf(path, sizeof path, "%s/%s", roots[r], free_names[i]);
                        if (!writes(&w, path))
                                fail_msg("%s cannot be written", path);
                }
        }
        ASSERT_FILES(&w, { "/srv/seen/package.json", "r" });
}

static void test_start_up_files_of_a_writable_home_stay_closed(void **state)
{
        (void)state;
        WORLD w = world_of("filesystem: {allow_write: ['~']}");
        ASSERT_FILES(&w, { HOME "/notes", "rw" }, { HOME "/.bashrc", "r" }, { HOME "/.profile", "r" },
                     { HOME "/.zshenv", "r" }, { HOME "/.config/fish/config.fish", "r" },
                     { HOME "/.config/ringwall/policy.yaml", "r" }, { HOME "/.ssh/authorized_keys", "" },
                     { HOME "/.gitconfig", "r" }, { HOME "/.config/systemd/user/x.service", "r" },
                     { HOME "/.config/autostart/x", "r" });
}

static void test_allow_paths_as_the_specification_writes_them(void **state)
{
        (void)state;
        WORLD w = world_of(
                "security: {sandbox: {allow_paths: [/data/repo, '/data/macro:ro', '~/datasets:rw', '~/seen', rel]}}");
        ASSERT_FILES(&w, { "/data/repo/x", "r" }, { "/data/rep", "" }, { "/data/repo2", "" }, { "/data/mac", "" },
                     { "/data/macro/x", "r" }, { "/data", "" }, { HOME "/datasets/x", "rw" }, { HOME "/seen/x", "r" },
                     { WORK "/rel/x", "rw" } /* in the workspace anyway */);
}

/* :ro inside a writable place takes writing away; a path without a suffix only adds. */
static void test_read_only_is_meant_and_readable_only_adds(void **state)
{
        (void)state;
        WORLD w = world_of("security: {sandbox: {allow_paths: ['/data:rw', '/data/seen:ro', '/data/seen/out:rw', "
                           "'/data/plain', '/tie:rw', "
                           "'/tie', '{workspace}', '{workspace}/vendor:ro', '{workspace}/docs']}}");
        ASSERT_FILES(&w, { "/data/x", "rw" }, { "/data/seen/x", "r" }, { "/data/seen/out/x", "rw" },
                     { "/data/plain/x", "rw" }, { "/tie/x", "rw" }, { WORK "/x", "rw" }, { WORK "/vendor/x", "r" },
                     { WORK "/docs/x", "rw" });
        WORLD flags = world_new();
        world_grant(&flags, ACCESS_WRITE, "/data");
        world_grant(&flags, ACCESS_READ_ONLY, "/data/vendor");
        assert_true(world_compile(&flags));
        ASSERT_FILES(&flags, { "/data/x", "rw" }, { "/data/vendor/x", "r" });
}

/* A narrower path that is allowed again is allowed again, also inside what may be written. */
static void test_a_secret_in_the_workspace_can_be_opened_in_part(void **state)
{
        (void)state;
        WORLD w = world_of("{filesystem: {deny_read: [secrets]}, security: {sandbox: {allow_paths: [secrets/public, "
                           "'secrets/out:rw']}}}");
        ASSERT_FILES(&w, { WORK "/secrets/key", "" }, { WORK "/secrets/out/x", "rw" });
        assert_true(reads(&w, WORK "/secrets/public/x"));
}

/* A toolchain that lies in the workspace is part of the work. */
static void test_a_toolchain_in_the_workspace_stays_writable(void **state)
{
        (void)state;
        WORLD w = world_new();
        w.facts.path = "/usr/bin:" WORK "/.venv/bin:" WORK "/node_modules/.bin:/srv/tools/bin";
        world_read(&w, "filesystem: {allow_write: [/srv]}");
        assert_true(world_compile(&w));
        ASSERT_FILES(&w, { WORK "/.venv/lib/x", "rw" }, { WORK "/.venv/bin/x", "rw" },
                     { WORK "/node_modules/.bin/x", "rw" }, { "/srv/tools/bin/x", "rw" });
}

/* What is real below a private directory is as writable as its own grant says, not as the empty directory around it. */
static void test_read_only_in_a_private_place_is_not_writable(void **state)
{
        (void)state;
        WORLD w = world_of(
                "security: {sandbox: {allow_paths: ['~/seen:ro', '/tmp/seen', '/run/seen', '/var/tmp/a:rw']}}");
        ASSERT_FILES(&w, { HOME "/seen", "r" }, { HOME "/seen/x", "r" }, { "/tmp/seen/x", "r" }, { "/tmp/other", "rw" },
                     { "/run/seen/x", "r" }, { "/var/tmp/a/x", "rw" });
        WORLD ro = world_new();
        world_read(&ro, "filesystem: {workspace: ro}");
        world_grant(&ro, ACCESS_READ_ONLY, "~/seen");
        assert_true(world_compile(&ro));
        ASSERT_FILES(&ro, { WORK "/x", "r" }, { HOME "/seen/x", "r" });
}

static void test_deny_overrides_allow_for_writes(void **state)
{
        (void)state;
        WORLD w = world_of(
                "filesystem: {allow_write: [/srv, /srv/keep/inner], deny_write: [/srv/keep, '**/*.lock', '/srv/a/?']}");
        ASSERT_FILES(&w, { "/srv/x", "rw" }, { "/srv/keep/x", "r" }, { "/srv/keep/inner/x", "r" },
                     { WORK "/a/b.lock", "r" }, { WORK "/b.lock", "r" },
                     { "/srv/x.lock", "rw" } /* relative to the workspace */, { "/srv/a/b/c", "r" },
                     { "/srv/a/bb", "rw" });
}

static void test_the_narrower_rule_wins_for_reads(void **state)
{
        (void)state;
        WORLD w = world_of(
                "{filesystem: {deny_read: [/srv/a, '/srv/b/**/k', '~/.config', '/srv/tie']}, security: {sandbox: "
                "{allow_paths: [/srv, '/srv/a/open:rw', '/srv/b/x/k/in', '~/.config/app', '/srv/tie']}}}");
        ASSERT_FILES(&w, { "/srv/x", "r" }, { "/srv/a/x", "" }, { "/srv/a/open/x", "rw" }, { "/srv/b/k", "" },
                     { "/srv/b/x/k/y", "" }, { "/srv/b/x/k/in/y", "r" }, { "/srv/b/x/y", "r" },
                     { HOME "/.config/app/x", "r" }, { HOME "/.config/other", "" },
                     { "/srv/tie/x", "" } /* deny wins a draw */);
        assert_said(&w, "/srv/tie cannot be read");
}

static void test_a_named_secret_can_be_released_by_a_narrower_path(void **state)
{
        (void)state;
        WORLD w = world_of("{filesystem: {read: broad}, security: {sandbox: {allow_paths: ['~/.ssh/known_hosts']}}}");
        ASSERT_FILES(&w, { HOME "/.ssh/known_hosts", "r" }, { HOME "/.ssh/id_rsa", "" }, { HOME "/.ssh", "" });
}

/* Each row's spellings all mean the same plan. */
static void test_spelling_never_changes_meaning(void **state)
{
        (void)state;
        static const char *const keys_of_lists[] = { "security: {sandbox: {allow_paths: ['%s']}}",
                                                     "filesystem: {allow_write: ['%s']}",
                                                     "filesystem: {deny_read: ['%s']}",
                                                     "filesystem: {deny_write: ['%s']}",
                                                     "filesystem: {protect: ['%s']}",
                                                     "runtime: {workdir: '%s'}",
                                                     "tools: {modules: {filesystem: {constraints: {paths: ['%s']}}}}" };
        static const char *const spellings[] = { "/srv/a",   "/srv/a/",    "/srv//a",     "//srv/a",     "/srv/./a",
                                                 "/srv/a/.", "/./srv/a//", "/srv/b/../a", "/srv/a/b/..", "/../srv/a" };
        for (size_t k = 0; k < ARRAY_SIZE(keys_of_lists); k++) {
                CLEANUP_FREE char *expected = NULL;
                const char *hole = strstr(keys_of_lists[k], "%s");
                for (size_t i = 0; i < ARRAY_SIZE(spellings); i++) {
                        CLEANUP_TEXT struct text yaml = { 0 };
                        text_format(&yaml, "%.*s%s%s", (int)(hole - keys_of_lists[k]), keys_of_lists[k], spellings[i],
                                    hole + 2);
                        WORLD w = world_of(yaml.data);
                        CLEANUP_FREE char *text = plan_text(w.plan);
                        if (!expected)
                                expected = TAKE_PTR(text);
                        else if (strcmp(expected, text) != 0)
                                fail_msg("%s differs", yaml.data);
                }
        }
}

/* An escape is resolved before the path is put into its one spelling, or the kernel would see another path than we do.
 */
static void test_an_escaped_dot_is_a_dot(void **state)
{
        (void)state;
        static const char *const texts[] = { "/data/\\../etc", "/data/.\\./etc", "/data/\\.\\./etc",
                                             "/data/\\./etc",  "/data/x/\\..",   "{workspace}/\\../x",
                                             "\\../x" };
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                WORLD w = world_new();
                CLEANUP_TEXT struct text yaml = { 0 };
                text_format(&yaml, "{security: {sandbox: {allow_paths: ['%s']}}, filesystem: {deny_read: ['%s']}}",
                            texts[i], texts[i]);
                world_read(&w, yaml.data);
                if (!world_compile(&w))
                        continue; /* refusing is as good */
                CLEANUP_ARENA struct arena *a = arena_new(1 << 20);
                for (size_t j = 0; j < w.plan->rules.count; j++)
                        assert_string_equal(pattern_normalise(a, w.plan->rules.list[j].path),
                                            w.plan->rules.list[j].path);
        }
}

static void test_variables(void **state)
{
        (void)state;
        WORLD w = world_of(
                "{filesystem: {deny_write: ['{{workspace}}/a', '{workspace}/b', '{user-data}/c', '~', '~/d']}, "
                "security: {sandbox: {allow_paths: ['{workspace}/../seen', '/x/\\{workspace}', '/x/\\~']}}}");
        static const char *const denied[] = { WORK "/a", WORK "/b", HOME "/.local/share/ringwall/c", HOME, HOME "/d" };
        for (size_t i = 0; i < ARRAY_SIZE(denied); i++)
                assert_true(has_rule(&w, RULE_DENY_WRITE, denied[i]));
        assert_true(has_rule(&w, RULE_READ, HOME "/seen"));
        assert_true(has_rule(&w, RULE_READ, "/x/{workspace}"));
        assert_true(has_rule(&w, RULE_READ, "/x/~"));
        static const struct {
                const char *path, *text;
        } refused[] = {
                { "{home}/x", "{home} is not known" },    { "{{work}}", "{work} is not known" },
                { "{ad-hoc}/x", "has no value here" },    { "{workspace", "begins a variable" },
                { "{{workspace}", "begins a variable" },  { "{}", "begins a variable" },
                { "{writable}/x", "not known" },          { "~root/x", "other people" },
                { "{workspace/x}", "begins a variable" }, { "$HOME/{x}", "not known" },
                { "{WORKSPACE}", "not known" },           { "/a[{workspace}]", "" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
                CLEANUP_TEXT struct text yaml = { 0 };
                text_format(&yaml, "filesystem: {deny_read: ['%s']}", refused[i].path);
                assert_refused(yaml.data, refused[i].text);
        }
        assert_refused("runtime: {workdir: '{workspace}/x'}", "has no value here");
}

/* A rule whose variable is empty would silently mean something else. */
static void test_a_missing_fact_is_an_error_only_where_it_is_needed(void **state)
{
        (void)state;
        static const char *const homeless[] = { NULL, "" };
        for (size_t i = 0; i < ARRAY_SIZE(homeless); i++) {
                WORLD w = world_new();
                w.facts.home = w.facts.user_data = homeless[i];
                assert_true(world_compile(&w));
                ASSERT_FILES(&w, { WORK "/x", "rw" }, { HOME "/x", "" }, { "/.ssh", "" });
                WORLD named = world_new();
                named.facts.home = named.facts.user_data = homeless[i];
                world_read(&named, "filesystem: {deny_read: ['~/x', '{user-data}/y']}");
                assert_false(world_compile(&named));
                assert_int_equal(messages_count(named.messages, MESSAGE_ERROR), 2);
        }
}

static void test_a_home_that_is_the_root_hides_nothing(void **state)
{
        (void)state;
        WORLD w = world_new();
        w.facts.home = "/";
        w.facts.user_data = "/.local/share/ringwall";
        assert_true(world_compile(&w));
        assert_false(has_rule(&w, RULE_PRIVATE, "/"));
        ASSERT_FILES(&w, { "/srv/x", "" }, { WORK "/x", "rw" }, { "/usr/bin/env", "r" });
}

/* A real grant of a directory that is private by default is the real one, with its secrets closed. */
static void test_a_granted_temp_directory_is_the_real_one(void **state)
{
        (void)state;
        static const char *const homes[] = { "/tmp", "/tmp/h", "/run/user/h" };
        for (size_t i = 0; i < ARRAY_SIZE(homes); i++) {
                WORLD w = world_new();
                char secret[60];
                (void)snprintf(secret, sizeof secret, "%s/.ssh/id", homes[i]);
                w.facts.home = homes[i];
                world_read(&w, "filesystem: {allow_write: [/tmp, /run]}");
                assert_true(world_compile(&w));
                const struct rule *by = NULL;
                assert_true(rules_decide(&w.plan->rules, "/tmp/x", true, &by));
                assert_int_equal(by->kind, RULE_WRITE);
                assert_true(rules_decide(&w.plan->rules, "/tmp/x", false, &by));
                assert_int_equal(by->kind, RULE_WRITE);
                if (reads(&w, secret) || writes(&w, secret))
                        fail_msg("%s", secret);
        }
}

static void test_a_name_to_protect_stays_below_its_directory(void **state)
{
        (void)state;
        static const char *const texts[] = { "../x", "a/../../x", "..", "." };
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                WORLD w = world_new();
                CLEANUP_TEXT struct text yaml = { 0 };
                text_format(&yaml, "filesystem: {protect: ['%s']}", texts[i]);
                world_read(&w, yaml.data);
                if (world_compile(&w) && has_rule(&w, RULE_PROTECT, WORK "/x"))
                        fail_msg("%s became " WORK "/x", texts[i]);
        }
}

/* Directories with pattern characters in their names are taken literally where a variable brings them. */
static void test_odd_names_of_directories_are_not_patterns(void **state)
{
        (void)state;
        WORLD w = world_new();
        w.facts.cwd = "/home/u/a*b[c]?\\d";
        w.facts.home = "/home/u";
        world_read(&w, "filesystem: {deny_read: ['{workspace}/x', '*.pem'], protect: ['**/keep']}");
        assert_true(world_compile(&w));
        ASSERT_FILES(&w, { "/home/u/a*b[c]?\\d/y", "rw" }, { "/home/u/a*b[c]?\\d/x", "" },
                     { "/home/u/a*b[c]?\\d/q.pem", "" }, { "/home/u/a*b[c]?\\d/q/keep", "r" },
                     { "/home/u/a*b[c]?\\d/.git/modules/m/hooks", "r" });
}

static void test_a_pattern_cannot_be_granted(void **state)
{
        (void)state;
        static const char *const yaml[] = { "security: {sandbox: {allow_paths: ['/srv/*']}}",
                                            "filesystem: {allow_write: ['/a?']}", "runtime: {workdir: '/srv/[a]'}",
                                            "tools: {modules: {filesystem: {constraints: {paths: ['/**']}}}}" };
        for (size_t i = 0; i < ARRAY_SIZE(yaml); i++)
                assert_refused(yaml[i], "a pattern cannot be granted");
        WORLD w = world_of("security: {sandbox: {allow_paths: ['/srv/\\*', '/a\\[b\\]:rw']}}");
        ASSERT_FILES(&w, { "/srv/*", "r" }, { "/srv/x", "" }, { "/a[b]/x", "rw" });
}

static void test_flags_take_paths_as_the_shell_gives_them(void **state)
{
        (void)state;
        WORLD w = world_new();
        world_grant(&w, ACCESS_READ_ONLY, "/a{b}*[c]:rw");
        world_grant(&w, ACCESS_WRITE, "./out/../made");
        world_grant(&w, ACCESS_READ_ONLY, "~/seen");
        world_grant(&w, ACCESS_READ_ONLY, "~other/x");
        world_flag(&w, KEY_DENY_READ, "hidden");
        assert_true(world_compile(&w));
        ASSERT_FILES(&w, { "/a{b}*[c]:rw/x", "r" }, { WORK "/made/x", "rw" }, { HOME "/seen", "r" },
                     { WORK "/hidden", "" });
        assert_true(has_rule(&w, RULE_READ, WORK "/~other/x"));
        static const char *const bad[] = { "", "/a\xff", "\xc3" };
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                WORLD refused = world_new();
                world_grant(&refused, ACCESS_READ_ONLY, bad[i]);
                assert_false(world_compile(&refused));
        }
}

static void test_managed_sets_are_edited_entry_by_entry(void **state)
{
        (void)state;
        WORLD w = world_of(
                "filesystem: {read: broad, deny_read: [-ssh, '-~/.aws/', '+/srv/secret', -history, +history, -system], "
                "protect: [-lockfiles, -./.npmrc/, '-.git/config', Makefile, '**/CI', -agents, '+.mcp.json']}");
        ASSERT_FILES(&w, { HOME "/.ssh/id", "r" }, { HOME "/.aws/x", "r" }, { HOME "/.azure/x", "" },
                     { "/srv/secret/x", "" }, { HOME "/.bash_history", "" }, { "/etc/shadow", "r" },
                     { WORK "/yarn.lock", "rw" }, { WORK "/.npmrc", "rw" }, { WORK "/.git/config", "rw" },
                     { WORK "/.git/hooks/x", "r" }, { WORK "/Makefile", "r" }, { WORK "/a/Makefile", "rw" },
                     { WORK "/a/CI/x", "r" }, { WORK "/CI", "r" }, { WORK "/.mcp.json", "r" },
                     { WORK "/.claude.json", "rw" });
        WORLD none = world_of("filesystem: {read: broad, deny_read: [-sensitive], protect: [-protected]}");
        ASSERT_FILES(&none, { HOME "/.ssh/id", "r" }, { WORK "/.git/hooks/x", "rw" });
        assert_refused("filesystem: {deny_read: [-shh]}", "did you mean '-ssh'?");
        assert_refused("filesystem: {protect: [-lockfile]}", "did you mean '-lockfiles'?");
        assert_refused("filesystem: {deny_read: ['-/srv/x']}", "releases nothing");
        assert_refused("filesystem: {deny_read: ['+']}", "a sign alone");
        assert_refused("filesystem: {deny_read: ['-']}", "a sign alone");
        WORLD own = world_of("filesystem: {deny_read: [/srv/x, '-/srv/x']}");
        assert_false(has_rule(&own, RULE_DENY_READ, "/srv/x"));
}

/* Two files that are each right must be right together. */
static void test_releasing_twice_is_releasing(void **state)
{
        (void)state;
        WORLD w = world_new();
        world_read(&w, "filesystem: {protect: [-git], deny_read: [-sensitive]}");
        world_read(&w, "filesystem: {protect: [-.git/config, -git], deny_read: [-ssh, '-~/.aws']}");
        if (!world_compile(&w))
                fail_msg("%s", w.said.data);
        ASSERT_FILES(&w, { WORK "/.git/hooks/x", "rw" }, { "/etc/shadow", "r" });
}

static void test_policy_files_in_writable_places_are_protected(void **state)
{
        (void)state;
        static const char *const own[] = { WORK "/policy.yaml", "/srv/out/p.yaml", "/srv/seen/p.yaml", NULL };
        WORLD w = world_new();
        w.facts.own_files = own;
        world_read(&w, "{filesystem: {protect: [-protected]}, security: {sandbox: {allow_paths: ['/srv/out:rw', "
                       "/srv/seen]}}}");
        assert_true(world_compile(&w));
        ASSERT_FILES(&w, { WORK "/policy.yaml", "r" }, { "/srv/out/p.yaml", "r" }, { "/srv/seen/p.yaml", "r" },
                     { WORK "/other.yaml", "rw" });
}

static void test_toolchains_in_path_are_readable_and_homes_are_not(void **state)
{
        (void)state;
        WORLD w = world_new();
        w.facts.path = "/usr/bin::.:bin:/opt/x/bin:" HOME "/.cargo/bin:" HOME "/bin:" HOME
                       "/.local/bin:/home/other/bin:/home:" HOME ":/data/py/bin:/:/tmp/evil:/srv/tools/../tools/bin/";
        assert_true(world_compile(&w));
        ASSERT_FILES(&w, { HOME "/.cargo/lib/x", "r" }, { HOME "/.cargo/credentials.toml", "" }, { HOME "/bin/x", "r" },
                     { HOME "/.local/bin/x", "r" }, { "/data/py/lib/x", "r" }, { "/srv/tools/lib/x", "r" },
                     { "/srv/x", "" }, { "/data/x", "" }, { "/home/other/secret", "" }, { "/home/third/x", "" });
        assert_false(has_rule(&w, RULE_READ, HOME));
        assert_false(has_rule(&w, RULE_READ, HOME "/.local"));
        assert_false(has_rule(&w, RULE_READ, "/home"));
        assert_true(has_rule(&w, RULE_PRIVATE, HOME)); /* still: nothing of it became readable as a whole */
}

static void test_the_workspace(void **state)
{
        (void)state;
        WORLD relative = world_of("runtime: {workdir: ../other/./x/}");
        assert_string_equal(relative.plan->workspace, HOME "/other/x");
        WORLD home = world_of("runtime: {workdir: ~}");
        assert_string_equal(home.plan->workspace, HOME);
        assert_said(&home, "whole home directory");
        WORLD ro = world_of("filesystem: {workspace: ro}");
        ASSERT_FILES(&ro, { WORK "/x", "r" });
        assert_refused("runtime: {workdir: /}", "cannot be the root");
        assert_refused("runtime: {workdir: /a/..}", "cannot be the root");
        assert_refused("runtime: {workdir: ''}", "empty path");
        assert_refused("runtime: {workdir: }", "cannot be nothing");
        WORLD odd = world_new();
        odd.facts.cwd = "/home/u/\xff";
        assert_false(world_compile(&odd));
        WORLD slashes = world_new();
        slashes.facts.cwd = "/home/u//work/.";
        assert_true(world_compile(&slashes));
        assert_string_equal(slashes.plan->workspace, WORK);
}

/* A plan must be sayable in JSON, or a rule is lost on the way to whoever enforces it. */
static void test_facts_that_are_not_utf8_lose_no_rule(void **state)
{
        (void)state;
        static const char *const own[] = { WORK "/p\xff.yaml", NULL };
        for (size_t i = 0; i < 3; i++) {
                WORLD w = world_new();
                if (i == 0)
                        w.facts.home = "/home/\xff";
                else if (i == 1)
                        w.facts.path = "/opt2/\xff/bin:/usr/bin";
                else
                        w.facts.own_files = own;
                if (!world_compile(&w))
                        continue;
                CLEANUP_JSON json_t *json = plan_to_json(w.plan);
                if (json)
                        assert_int_equal(json_array_size(json_object_get(json, "rules")), w.plan->rules.count);
        }
}

static void test_every_rule_knows_its_source(void **state)
{
        (void)state;
        WORLD w = world_new();
        world_read(&w, "filesystem:\n  deny_read:\n    - /srv/a\n    - +/srv/b\n");
        world_grant(&w, ACCESS_READ_ONLY, "/srv");
        assert_true(world_compile(&w));
        for (size_t i = 0; i < w.plan->rules.count; i++) {
                const struct rule *r = &w.plan->rules.list[i];
                CLEANUP_TEXT struct text from = { 0 };
                source_print(r->from, &from);
                const char *expected = strcmp(r->path, "/srv/a") == 0   ? "p1.yaml:3:7"
                                       : strcmp(r->path, "/srv/b") == 0 ? "p1.yaml:4:7"
                                       : strcmp(r->path, "/srv") == 0   ? "--flag"
                                                                        : "default";
                assert_string_equal(from.data, expected);
                assert_int_equal(strcmp(expected, "default") == 0, r->set != NULL);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_nothing_said_is_the_workspace_and_the_system),
                cmocka_unit_test(test_broad_reads_are_everything_but_the_sensitive_set),
                cmocka_unit_test(test_protected_names_are_read_and_never_written),
                cmocka_unit_test(test_start_up_files_of_a_writable_home_stay_closed),
                cmocka_unit_test(test_allow_paths_as_the_specification_writes_them),
                cmocka_unit_test(test_read_only_is_meant_and_readable_only_adds),
                cmocka_unit_test(test_a_secret_in_the_workspace_can_be_opened_in_part),
                cmocka_unit_test(test_a_toolchain_in_the_workspace_stays_writable),
                cmocka_unit_test(test_read_only_in_a_private_place_is_not_writable),
                cmocka_unit_test(test_deny_overrides_allow_for_writes),
                cmocka_unit_test(test_the_narrower_rule_wins_for_reads),
                cmocka_unit_test(test_a_named_secret_can_be_released_by_a_narrower_path),
                cmocka_unit_test(test_spelling_never_changes_meaning),
                cmocka_unit_test(test_an_escaped_dot_is_a_dot),
                cmocka_unit_test(test_variables),
                cmocka_unit_test(test_a_missing_fact_is_an_error_only_where_it_is_needed),
                cmocka_unit_test(test_a_home_that_is_the_root_hides_nothing),
                cmocka_unit_test(test_a_granted_temp_directory_is_the_real_one),
                cmocka_unit_test(test_a_name_to_protect_stays_below_its_directory),
                cmocka_unit_test(test_odd_names_of_directories_are_not_patterns),
                cmocka_unit_test(test_a_pattern_cannot_be_granted),
                cmocka_unit_test(test_flags_take_paths_as_the_shell_gives_them),
                cmocka_unit_test(test_managed_sets_are_edited_entry_by_entry),
                cmocka_unit_test(test_releasing_twice_is_releasing),
                cmocka_unit_test(test_policy_files_in_writable_places_are_protected),
                cmocka_unit_test(test_toolchains_in_path_are_readable_and_homes_are_not),
                cmocka_unit_test(test_the_workspace),
                cmocka_unit_test(test_facts_that_are_not_utf8_lose_no_rule),
                cmocka_unit_test(test_every_rule_knows_its_source),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
