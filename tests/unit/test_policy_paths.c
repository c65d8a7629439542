/*
 * File rules: what the paths of a policy allow, in any spelling. The tables list for each path whether the plan allows
 * to read and write it.
 */
#include "test_policy_fixture.h"

struct file_row {
        const char *path, *access; /* "rw", "r" or "" */
};

static void assert_files(const struct world *w, const struct file_row *rows, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                bool read = allows_read(w, rows[i].path), write = allows_write(w, rows[i].path);
                if (read != (strchr(rows[i].access, 'r') != NULL) || write != (strchr(rows[i].access, 'w') != NULL))
                        fail_msg("%s: '%s%s' instead of '%s'", rows[i].path, read ? "r" : "", write ? "w" : "",
                                 rows[i].access);
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

static void test_empty_policy_allows_the_workspace_and_the_system(void **state)
{
        (void)state;
        WORLD w = compile_valid("");
        ASSERT_FILES(&w, { WORK "/a.c", "rw" }, { WORK, "rw" }, { "/usr/bin/env", "r" }, { "/etc/hosts", "r" },
                     { "/etc/shadow", "" }, { "/etc/sudoers.d/x", "" }, { "/etc/ssh/ssh_host_rsa_key", "" },
                     { "/etc/ssh/ssh_host_rsa_key.pub", "r" }, { "/dev/null", "rw" }, { "/dev/sda", "r" },
                     { "/srv/x", "" }, { "/home/other/x", "" }, { "/root", "" }, { "/", "" }, { "/home", "" },
                     { "/elsewhere", "" }, { HOME "/work-evil/x", "rw" } /* in the private home, which is empty */,
                     { "/tmp/x", "rw" });
        assert_true(has_rule(&w, RULE_PRIVATE, HOME));
        assert_true(has_rule(&w, RULE_PRIVATE, "/tmp"));
        assert_false(has_rule(&w, RULE_PRIVATE, "/"));
        assert_int_equal(w.plan->hosts.count, 0);
}

static void test_broad_reads_allow_everything_but_the_sensitive_set(void **state)
{
        (void)state;
        WORLD w = compile_valid("filesystem: {read: broad}");
        ASSERT_FILES(&w, { "/srv/x", "r" }, { "/", "r" }, { HOME "/notes", "r" }, { HOME "/.ssh/id_rsa", "" },
                     { HOME "/.aws/credentials", "" }, { HOME "/.gnupg", "" }, { HOME "/.docker/config.json", "" },
                     { HOME "/.docker/other", "r" }, { HOME "/.kube/config", "" }, { HOME "/.config/gh/hosts.yml", "" },
                     { HOME "/.config/gcloud/x", "" }, { HOME "/.netrc", "" }, { HOME "/.npmrc", "" },
                     { HOME "/.pypirc", "" }, { HOME "/.cargo/credentials", "" },
                     { HOME "/.cargo/credentials.toml", "" }, { HOME "/.cargo/bin/x", "r" },
                     { HOME "/.local/share/ringwall/x", "" }, { HOME "/.sshx", "r" }, { "/etc/shadow", "" },
                     { WORK "/x", "rw" });
}

static void test_protected_names_are_read_only(void **state)
{
        (void)state;
        static const char *const names[] = { ".git/hooks/pre-commit",
                                             ".git/config",
                                             ".git/hooks",
                                             ".hg/hgrc",
                                             ".svn/entries",
                                             ".gitconfig",
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
                                             ".husky/pre-commit",
                                             ".github/workflows/x",
                                             ".devcontainer/x",
                                             ".cargo/config.toml",
                                             ".cursor/mcp.json",
                                             "opencode.json",
                                             ".claude/skills/x/SKILL.md",
                                             ".claude/settings.local.json",
                                             ".mcp.json",
                                             ".claude.json",
                                             ".ripgreprc",
                                             ".vscode/tasks.json",
                                             ".idea/x",
                                             ".claude/commands/x",
                                             ".claude/agents/x",
                                             ".git/modules/a/b/hooks/x",
                                             ".git/modules/a/config" };
        static const char *const writable_names[] = { ".git/index",
                                                      ".git/HEAD",
                                                      ".git/objects/ab/cd",
                                                      ".git/refs/heads/x",
                                                      ".git/logs/HEAD",
                                                      ".git/worktrees/w/HEAD",
                                                      ".git/COMMIT_EDITMSG",
                                                      ".git/packed-refs",
                                                      ".github/CODEOWNERS",
                                                      "package-lock.json",
                                                      "yarn.lock",
                                                      "Cargo.lock",
                                                      ".gitmodules",
                                                      "CLAUDE.md",
                                                      "AGENTS.md",
                                                      "src/.git/x",
                                                      "package.json",
                                                      ".gitignore",
                                                      ".bashrc2",
                                                      ".hg/store/x" };
        WORLD w = compile_valid("security: {sandbox: {allow_paths: ['/srv/repo:rw', '/srv/seen:ro']}}");
        static const char *const roots[] = { WORK, "/srv/repo" };
        char path[200];
        for (size_t r = 0; r < ARRAY_SIZE(roots); r++) {
                for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                        (void)snprintf(path, sizeof path, "%s/%s", roots[r], names[i]);
                        if (!allows_read(&w, path) || allows_write(&w, path))
                                fail_msg("%s", path);
                }
                for (size_t i = 0; i < ARRAY_SIZE(writable_names); i++) {
                        (void)snprintf(path, sizeof path, "%s/%s", roots[r], writable_names[i]);
                        if (!allows_write(&w, path))
                                fail_msg("%s cannot be written", path);
                }
        }
        ASSERT_FILES(&w, { "/srv/seen/package.json", "r" });
}

static void test_startup_files_of_a_writable_home_are_read_only(void **state)
{
        (void)state;
        const char *const own[] = { HOME "/.config/ringwall", NULL };
        WORLD w = world_new();
        w.facts.own_files = own;
        world_read(&w, "filesystem: {allow_write: ['~']}");
        assert_true(world_compile(&w));
        ASSERT_FILES(&w, { HOME "/notes", "rw" }, { HOME "/.bashrc", "r" }, { HOME "/.profile", "r" },
                     { HOME "/.zshenv", "r" }, { HOME "/.config/fish/config.fish", "r" },
                     { HOME "/.config/ringwall/policy.yaml", "r" }, { HOME "/.ssh/authorized_keys", "" },
                     { HOME "/.gitconfig", "r" }, { HOME "/.config/systemd/user/x.service", "r" },
                     { HOME "/.config/autostart/x", "r" });
}

/* Lockfiles and instructions of agents change in everyday work, so they are protected only on request. */
static void test_some_groups_are_protected_only_on_request(void **state)
{
        (void)state;
        WORLD w = compile_valid("filesystem: {protect: [+lockfiles, '+CLAUDE.md']}");
        ASSERT_FILES(&w, { WORK "/Cargo.lock", "r" }, { WORK "/go.sum", "r" }, { WORK "/CLAUDE.md", "r" },
                     { WORK "/AGENTS.md", "rw" });
        WORLD whole = compile_valid("filesystem: {protect: [-protected, +protected]}");
        ASSERT_FILES(&whole, { WORK "/Cargo.lock", "rw" }, { WORK "/.git/hooks/x", "r" });
        WORLD none = compile_valid("filesystem: {protect: [+lockfiles, -protected]}");
        ASSERT_FILES(&none, { WORK "/Cargo.lock", "rw" });
        WORLD ceiling = world_new();
        world_ceiling(&ceiling, "filesystem: {protect: [+lockfiles]}");
        assert_true(world_compile(&ceiling));
        ASSERT_FILES(&ceiling, { WORK "/Cargo.lock", "r" });
}

/* A granted directory may be the first part of a protected name (.claude/settings.json), or an agent's in the home. */
static void test_files_that_an_agent_executes_stay_read_only_in_a_granted_directory(void **state)
{
        (void)state;
        WORLD w =
                compile_valid("security: {sandbox: {allow_paths: ['~/.claude:rw', '~/.codex:rw', '/srv/p/.claude:rw', "
                              "'/srv/q/.git:rw', '/srv/r/.git/modules:rw', '~/.claude/plugins/x:rw']}}");
        ASSERT_FILES(&w, { HOME "/.claude/settings.json", "r" }, { HOME "/.claude/skills/x", "r" },
                     { HOME "/.claude/todos/x", "rw" }, { HOME "/.claude/plugins/x/y", "r" },
                     { HOME "/.codex/config.toml", "r" }, { HOME "/.codex/sessions/x", "rw" },
                     { "/srv/p/.claude/settings.json", "r" }, { "/srv/p/.claude/hooks/x", "r" },
                     { "/srv/p/.claude/x", "rw" }, { "/srv/q/.git/hooks/x", "r" }, { "/srv/q/.git/config", "r" },
                     { "/srv/q/.git/index", "rw" }, { "/srv/r/.git/modules/a/hooks/x", "r" },
                     { "/srv/r/.git/modules/a/index", "rw" });
}

static const char *own_names[] = { HOME "/.config/ringwall", "/etc/ringwall", "/srv/policy.yaml", NULL };

/* No grant or release makes ringwall's own files writable, whether they exist or not. */
static void test_ringwalls_own_files_can_never_be_written(void **state)
{
        (void)state;
        WORLD w = world_new();
        w.facts.own_files = own_names;
        world_read(&w, "{filesystem: {protect: [-protected]}, security: {sandbox: {allow_paths: "
                       "['~/.config/ringwall/inner:rw', '/srv:rw', '/etc:rw', '~/.config/ringwall/policy.yaml:rw']}}}");
        assert_true(world_compile(&w));
        ASSERT_FILES(&w, { HOME "/.config/ringwall/inner/x", "r" }, { HOME "/.config/ringwall/policy.yaml", "r" },
                     { "/etc/ringwall/ceiling.yaml", "r" }, { "/etc/x", "rw" }, { "/srv/policy.yaml", "r" },
                     { "/srv/x", "rw" });
        assert_refused("filesystem: {protect: [-ringwall]}", "releases nothing");
}

/* X/bin in PATH makes X readable if X is an installation, not if X is a person's work. */
static void test_directory_of_path_in_a_workspace_does_not_make_its_parent_readable(void **state)
{
        (void)state;
        WORLD w = world_new();
        w.facts.path = "/usr/bin:" HOME "/workshop/bin:/data/py/bin";
        assert_true(world_compile(&w));
        ASSERT_FILES(&w, { HOME "/workshop/bin/x", "r" }, { "/data/py/lib/x", "r" });
        assert_false(has_rule(&w, RULE_READ, HOME "/workshop"));
        WORLD denied = world_new();
        denied.facts.path = HOME "/.cargo/bin:" HOME "/tools/bin";
        /* Directories of PATH are granted by default, so a denial wins although it is less narrow. */
        world_read(&denied, "{filesystem: {deny_read: ['~/.cargo', '~/*ools']}}");
        assert_true(world_compile(&denied));
        ASSERT_FILES(&denied, { HOME "/.cargo/bin/x", "" }, { HOME "/tools/bin/x", "" }, { HOME "/.rustup/x", "r" });
        WORLD no_prefixes = world_new();
        no_prefixes.facts.path = w.facts.path;
        no_prefixes.facts.is_prefix = NULL;
        assert_true(world_compile(&no_prefixes));
        ASSERT_FILES(&no_prefixes, { "/data/py/bin/x", "r" }, { "/data/py/lib/x", "" });
}

static void test_allow_paths_as_in_the_specification(void **state)
{
        (void)state;
        WORLD w = compile_valid(
                "security: {sandbox: {allow_paths: [/data/repo, '/data/macro:ro', '~/datasets:rw', '~/seen', rel]}}");
        ASSERT_FILES(&w, { "/data/repo/x", "r" }, { "/data/rep", "" }, { "/data/repo2", "" }, { "/data/mac", "" },
                     { "/data/macro/x", "r" }, { "/data", "" }, { HOME "/datasets/x", "rw" }, { HOME "/seen/x", "r" },
                     { WORK "/rel/x", "rw" } /* in the workspace, so writable */);
}

static bool is_below_missing(const char *path)
{
        return strstr(path, "/missing");
}

/* In a policy, which several machines may share, a missing path gives a warning; on the command line it is an error. */
static void test_missing_path_is_said_unless_it_is_optional(void **state)
{
        (void)state;
        static const struct {
                const char *policy, *message; /* NULL: none */
        } rows[] = {
                { "security: {sandbox: {allow_paths: [/missing/a]}}", "/missing/a does not exist" },
                { "security: {sandbox: {allow_paths: ['/missing/a:rw']}}", "write '/missing/a?' if it may be missing" },
                { "filesystem: {allow_write: [/missing/a]}", "/missing/a does not exist" },
                { "security: {sandbox: {allow_paths: ['/missing/a?']}}", NULL },
                { "security: {sandbox: {allow_paths: ['/missing/a:rw?']}}", NULL },
                { "filesystem: {allow_write: ['/missing/a?']}", NULL },
                { "filesystem: {allow_write: [/there]}", NULL },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                WORLD w = world_new();
                w.facts.is_missing = is_below_missing;
                world_read(&w, rows[i].policy);
                assert_true(world_compile(&w));
                if (rows[i].message)
                        assert_world_message(&w, rows[i].message);
                else
                        assert_string_equal(w.printed.data, "");
        }
        WORLD refused = world_new();
        refused.facts.is_missing = is_below_missing;
        world_grant(&refused, ACCESS_WRITE, "/missing/a");
        assert_false(world_compile(&refused));
        assert_world_message(&refused, "/missing/a does not exist");
        WORLD optional = world_new();
        optional.facts.is_missing = is_below_missing;
        world_grant(&optional, ACCESS_WRITE, "/missing/a?");
        assert_true(world_compile(&optional));
        ASSERT_FILES(&optional, { "/missing/a/x", "rw" }, { "/missing/a?/x", "" });
}

/* :ro inside a writable place makes it read-only; a path without a suffix does not. */
static void test_only_an_explicit_ro_makes_a_writable_place_read_only(void **state)
{
        (void)state;
        WORLD w = compile_valid("security: {sandbox: {allow_paths: ['/data:rw', '/data/seen:ro', '/data/seen/out:rw', "
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

/* A narrower grant inside a denied path is effective, also in a writable place. */
static void test_part_of_a_denied_directory_in_the_workspace_can_be_granted(void **state)
{
        (void)state;
        WORLD w =
                compile_valid("{filesystem: {deny_read: [secrets]}, security: {sandbox: {allow_paths: [secrets/public, "
                              "'secrets/out:rw']}}}");
        ASSERT_FILES(&w, { WORK "/secrets/key", "" }, { WORK "/secrets/out/x", "rw" });
        assert_true(allows_read(&w, WORK "/secrets/public/x"));
}

/* A toolchain inside the workspace stays writable. */
static void test_toolchain_in_the_workspace_stays_writable(void **state)
{
        (void)state;
        WORLD w = world_new();
        w.facts.path = "/usr/bin:" WORK "/.venv/bin:" WORK "/node_modules/.bin:/srv/tools/bin";
        world_read(&w, "filesystem: {allow_write: [/srv]}");
        assert_true(world_compile(&w));
        ASSERT_FILES(&w, { WORK "/.venv/lib/x", "rw" }, { WORK "/.venv/bin/x", "rw" },
                     { WORK "/node_modules/.bin/x", "rw" }, { "/srv/tools/bin/x", "rw" });
}

/* A grant below a private directory decides whether it is writable, not the private directory. */
static void test_read_only_grant_in_a_private_directory_is_not_writable(void **state)
{
        (void)state;
        WORLD w = compile_valid(
                "security: {sandbox: {allow_paths: ['~/seen:ro', '/tmp/seen', '/run/seen', '/var/tmp/a:rw']}}");
        ASSERT_FILES(&w, { HOME "/seen", "r" }, { HOME "/seen/x", "r" }, { "/tmp/seen/x", "r" }, { "/tmp/other", "rw" },
                     { "/run/seen/x", "r" }, { "/var/tmp/a/x", "rw" });
        WORLD ro = world_new();
        world_read(&ro, "filesystem: {workspace: ro}");
        world_grant(&ro, ACCESS_READ_ONLY, "~/seen");
        assert_true(world_compile(&ro));
        ASSERT_FILES(&ro, { WORK "/x", "r" }, { HOME "/seen/x", "r" });
}

static void test_denial_overrides_a_grant_for_writes(void **state)
{
        (void)state;
        WORLD w = compile_valid(
                "filesystem: {allow_write: [/srv, /srv/keep/inner], deny_write: [/srv/keep, '**/*.lock', '/srv/a/?']}");
        ASSERT_FILES(&w, { "/srv/x", "rw" }, { "/srv/keep/x", "r" }, { "/srv/keep/inner/x", "r" },
                     { WORK "/a/b.lock", "r" }, { WORK "/b.lock", "r" },
                     { "/srv/x.lock", "rw" } /* the pattern is relative to the workspace */, { "/srv/a/b/c", "r" },
                     { "/srv/a/bb", "rw" });
}

static void test_narrower_rule_wins_for_reads(void **state)
{
        (void)state;
        WORLD w = compile_valid(
                "{filesystem: {deny_read: [/srv/a, '/srv/b/**/k', '~/.config', '/srv/tie']}, security: {sandbox: "
                "{allow_paths: [/srv, '/srv/a/open:rw', '/srv/b/x/k/in', '~/.config/app', '/srv/tie']}}}");
        ASSERT_FILES(&w, { "/srv/x", "r" }, { "/srv/a/x", "" }, { "/srv/a/open/x", "rw" }, { "/srv/b/k", "" },
                     { "/srv/b/x/k/y", "" }, { "/srv/b/x/k/in/y", "r" }, { "/srv/b/x/y", "r" },
                     { HOME "/.config/app/x", "r" }, { HOME "/.config/other", "" },
                     { "/srv/tie/x", "" } /* a denial wins if both are equally deep */);
        assert_world_message(&w, "/srv/tie cannot be read");
}

static void test_sensitive_file_can_be_granted_by_a_narrower_path(void **state)
{
        (void)state;
        WORLD w = compile_valid(
                "{filesystem: {read: broad}, security: {sandbox: {allow_paths: ['~/.ssh/known_hosts']}}}");
        ASSERT_FILES(&w, { HOME "/.ssh/known_hosts", "r" }, { HOME "/.ssh/id_rsa", "" }, { HOME "/.ssh", "" });
}

/* All spellings of a path give the same plan. */
static void test_all_spellings_of_a_path_give_the_same_plan(void **state)
{
        (void)state;
        static const char *const policy_formats[] = {
                "security: {sandbox: {allow_paths: ['%s']}}",
                "filesystem: {allow_write: ['%s']}",
                "filesystem: {deny_read: ['%s']}",
                "filesystem: {deny_write: ['%s']}",
                "filesystem: {protect: ['%s']}",
                "runtime: {workdir: '%s'}",
                "tools: {modules: {filesystem: {constraints: {paths: ['%s']}}}}"
        };
        static const char *const spellings[] = { "/srv/a",   "/srv/a/",    "/srv//a",     "//srv/a",     "/srv/./a",
                                                 "/srv/a/.", "/./srv/a//", "/srv/b/../a", "/srv/a/b/..", "/../srv/a" };
        for (size_t k = 0; k < ARRAY_SIZE(policy_formats); k++) {
                CLEANUP_FREE char *expected = NULL;
                const char *hole = strstr(policy_formats[k], "%s");
                for (size_t i = 0; i < ARRAY_SIZE(spellings); i++) {
                        CLEANUP_TEXT struct text yaml = { 0 };
                        text_format(&yaml, "%.*s%s%s", (int)(hole - policy_formats[k]), policy_formats[k], spellings[i],
                                    hole + 2);
                        WORLD w = compile_valid(yaml.data);
                        CLEANUP_FREE char *text = plan_text(w.plan);
                        if (!expected)
                                expected = TAKE_PTR(text);
                        else if (strcmp(expected, text) != 0)
                                fail_msg("%s differs", yaml.data);
                }
        }
}

/* Escapes are resolved before a path is normalised, or the kernel would see another path than the plan. */
static void test_escaped_dots_are_resolved_before_normalising(void **state)
{
        (void)state;
        static const char *const texts[] = { "/data/\\../etc", "/data/.\\./etc", "/data/\\.\\./etc",
                                             "/data/\\./etc",  "/data/x/\\..",   "{workspace}/\\../x",
                                             "\\../x",         "/data/plain" };
        bool compiled = false; /* the last one */
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                WORLD w = world_new();
                CLEANUP_TEXT struct text yaml = { 0 };
                text_format(&yaml, "{security: {sandbox: {allow_paths: ['%s']}}, filesystem: {deny_read: ['%s']}}",
                            texts[i], texts[i]);
                world_read(&w, yaml.data);
                compiled = world_compile(&w);
                if (!compiled)
                        continue; /* a refusal is fine too */
                CLEANUP_ARENA struct arena *a = arena_new(1 << 20);
                for (size_t j = 0; j < w.plan->rules.count; j++)
                        assert_string_equal(path_normalize(a, w.plan->rules.list[j].path),
                                            w.plan->rules.list[j].path);
        }
        assert_true(compiled);
}

static void test_variables_are_expanded_and_unknown_ones_refused(void **state)
{
        (void)state;
        WORLD w = compile_valid(
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
                { "{writable}/x", "not known" },          { "~root/x", "another user" },
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

/* With an empty variable a rule would silently be about another path. */
static void test_missing_home_is_an_error_only_where_it_is_used(void **state)
{
        (void)state;
        static const char *const no_home[] = { NULL, "" };
        for (size_t i = 0; i < ARRAY_SIZE(no_home); i++) {
                WORLD w = world_new();
                w.facts.home = w.facts.user_data = no_home[i];
                assert_true(world_compile(&w));
                ASSERT_FILES(&w, { WORK "/x", "rw" }, { HOME "/x", "" }, { "/.ssh", "" });
                WORLD named = world_new();
                named.facts.home = named.facts.user_data = no_home[i];
                world_read(&named, "filesystem: {deny_read: ['~/x', '{user-data}/y']}");
                assert_false(world_compile(&named));
                assert_int_equal(diagnostics_count(named.messages, DIAGNOSTIC_ERROR), 2);
        }
}

static void test_root_as_home_is_not_private(void **state)
{
        (void)state;
        WORLD w = world_new();
        w.facts.home = "/";
        w.facts.user_data = "/.local/share/ringwall";
        assert_true(world_compile(&w));
        assert_false(has_rule(&w, RULE_PRIVATE, "/"));
        ASSERT_FILES(&w, { "/srv/x", "" }, { WORK "/x", "rw" }, { "/usr/bin/env", "r" });
}

/* A grant of a directory that is private by default gives the real directory, without its secrets. */
static void test_granted_temporary_directory_is_the_real_one_without_secrets(void **state)
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
                if (allows_read(&w, secret) || allows_write(&w, secret))
                        fail_msg("%s", secret);
        }
}

static void test_name_to_protect_stays_below_its_directory(void **state)
{
        (void)state;
        static const char *const texts[] = { "../x", "a/../../x", "..", "." };
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                WORLD w = world_new();
                CLEANUP_TEXT struct text yaml = { 0 };
                text_format(&yaml, "filesystem: {protect: ['%s']}", texts[i]);
                world_read(&w, yaml.data);
                if (world_compile(&w) && has_rule(&w, RULE_PROTECT, WORK "/x"))
                        fail_msg("%s protects " WORK "/x", texts[i]);
        }
        WORLD plain = compile_valid("filesystem: {protect: [x]}");
        assert_true(has_rule(&plain, RULE_PROTECT, WORK "/x"));
}

/* Pattern characters in the value of a variable are literal. */
static void test_pattern_characters_in_variables_are_literal(void **state)
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

static void test_pattern_cannot_be_granted(void **state)
{
        (void)state;
        static const char *const yaml[] = { "security: {sandbox: {allow_paths: ['/srv/*']}}",
                                            "filesystem: {allow_write: ['/a?b']}", "runtime: {workdir: '/srv/[a]'}",
                                            "tools: {modules: {filesystem: {constraints: {paths: ['/**']}}}}" };
        for (size_t i = 0; i < ARRAY_SIZE(yaml); i++)
                assert_refused(yaml[i], "a pattern cannot be granted");
        WORLD w = compile_valid("security: {sandbox: {allow_paths: ['/srv/\\*', '/a\\[b\\]:rw']}}");
        ASSERT_FILES(&w, { "/srv/*", "r" }, { "/srv/x", "" }, { "/a[b]/x", "rw" });
}

static void test_paths_of_flags_are_literal(void **state)
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
        WORLD w = compile_valid(
                "filesystem: {read: broad, deny_read: [-ssh, '-~/.aws/', '+/srv/secret', -history, +history, -system], "
                "protect: [-lockfiles, -./.npmrc/, '-.git/config', Makefile, '**/CI', -agents, '+.mcp.json']}");
        ASSERT_FILES(&w, { HOME "/.ssh/id", "r" }, { HOME "/.aws/x", "r" }, { HOME "/.azure/x", "" },
                     { "/srv/secret/x", "" }, { HOME "/.bash_history", "" }, { "/etc/shadow", "r" },
                     { WORK "/yarn.lock", "rw" }, { WORK "/.npmrc", "rw" }, { WORK "/.git/config", "rw" },
                     { WORK "/.git/hooks/x", "r" }, { WORK "/Makefile", "r" }, { WORK "/a/Makefile", "rw" },
                     { WORK "/a/CI/x", "r" }, { WORK "/CI", "r" }, { WORK "/.mcp.json", "r" },
                     { WORK "/.claude.json", "rw" });
        WORLD none = compile_valid("filesystem: {read: broad, deny_read: [-sensitive], protect: [-protected]}");
        ASSERT_FILES(&none, { HOME "/.ssh/id", "r" }, { WORK "/.git/hooks/x", "rw" });
        assert_refused("filesystem: {deny_read: [-shh]}", "did you mean '-ssh'?");
        assert_refused("filesystem: {protect: [-lockfile]}", "did you mean '-lockfiles'?");
        assert_refused("filesystem: {deny_read: ['-/srv/x']}", "releases nothing");
        assert_refused("filesystem: {deny_read: ['+']}", "a sign alone");
        assert_refused("filesystem: {deny_read: ['-']}", "a sign alone");
        WORLD own = compile_valid("filesystem: {deny_read: [/srv/x, '-/srv/x']}");
        assert_false(has_rule(&own, RULE_DENY_READ, "/srv/x"));
}

/* Two valid files must be valid together. */
static void test_entry_may_be_released_twice(void **state)
{
        (void)state;
        WORLD w = world_new();
        world_read(&w, "filesystem: {protect: [-git], deny_read: [-sensitive]}");
        world_read(&w, "filesystem: {protect: [-.git/config, -git], deny_read: [-ssh, '-~/.aws']}");
        if (!world_compile(&w))
                fail_msg("%s", w.printed.data);
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

static void test_toolchains_in_path_are_readable_but_not_home_directories(void **state)
{
        (void)state;
        WORLD w = world_new();
        w.facts.path = "/usr/bin::.:bin:/opt/x/bin:" HOME "/.cargo/bin:" HOME "/bin:" HOME
                       "/.local/bin:/home/other/bin:/home:" HOME ":/data/py/bin:/:/tmp/evil:/srv/tools/../tools/bin/";
        assert_true(world_compile(&w));
        ASSERT_FILES(&w, { HOME "/.cargo/bin/x", "r" }, { HOME "/.cargo/registry/x", "r" }, { HOME "/.rustup/x", "r" },
                     { HOME "/bin/x", "r" }, { HOME "/.local/bin/x", "r" }, { "/data/py/lib/x", "r" },
                     { "/srv/tools/lib/x", "r" }, { "/srv/x", "" }, { "/data/x", "" }, { "/home/other/secret", "" },
                     { "/home/third/x", "" });
        assert_false(has_rule(&w, RULE_READ, HOME));
        assert_false(has_rule(&w, RULE_READ, HOME "/.local"));
        assert_false(has_rule(&w, RULE_READ, HOME "/.cargo")); /* it contains credentials */
        assert_false(has_rule(&w, RULE_READ, "/home"));
        assert_true(has_rule(&w, RULE_PRIVATE, HOME)); /* it is not readable as a whole */
}

/* A policy file that is called "default" is not the default policy. */
static void test_policy_named_default_denies_toolchains(void **state)
{
        (void)state;
        static const char yaml[] = "filesystem: {deny_read: [\"~\"]}";
        WORLD w = world_new();
        w.facts.path = "/usr/bin:" HOME "/.cargo/bin";
        w.rejected |= settings_parse_policy(&w.policy, "default", yaml, strlen(yaml), WORK) != 0;
        assert_true(world_compile(&w));
        ASSERT_FILES(&w, { HOME "/.cargo/bin/x", "" }, { HOME "/.rustup/x", "" }, { WORK "/x", "rw" });
}

/* The warning says how to release the rule that denies, if that is possible, and following it helps. */
static void test_grant_without_effect_gives_a_warning_with_a_remedy(void **state)
{
        (void)state;
        WORLD shadow = compile_valid("security: {sandbox: {allow_paths: [/etc/shadow]}}");
        assert_false(allows_read(&shadow, "/etc/shadow"));
        assert_world_message(&shadow, "to allow it, add -system to filesystem.deny_read");
        WORLD released = compile_valid("{security: {sandbox: {allow_paths: [/etc/shadow]}}, filesystem: {deny_read: "
                                       "[-system]}}");
        assert_true(allows_read(&released, "/etc/shadow"));
        WORLD hook = compile_valid("security: {sandbox: {allow_paths: ['{workspace}/.git/hooks:rw']}}");
        ASSERT_FILES(&hook, { WORK "/.git/hooks/pre-commit", "r" });
        assert_world_message(&hook, "to allow it, add -git to filesystem.protect");
        WORLD own = world_new();
        static const char *const own_files[] = { "/srv/p.yaml", NULL };
        own.facts.own_files = own_files;
        world_grant(&own, ACCESS_WRITE, "/srv/p.yaml");
        assert_true(world_compile(&own));
        assert_world_message(&own, "/srv/p.yaml cannot be written");
        assert_null(strstr(own.printed.data, "to allow it"));
}

static void test_workspace_is_resolved_and_checked(void **state)
{
        (void)state;
        WORLD relative = compile_valid("runtime: {workdir: ../other/./x/}");
        assert_string_equal(relative.plan->workspace, HOME "/other/x");
        WORLD home = compile_valid("runtime: {workdir: ~}");
        assert_string_equal(home.plan->workspace, HOME);
        assert_world_message(&home, "whole home directory");
        WORLD ro = compile_valid("filesystem: {workspace: ro}");
        ASSERT_FILES(&ro, { WORK "/x", "r" });
        assert_refused("runtime: {workdir: /}", "cannot be the root");
        assert_refused("runtime: {workdir: /a/..}", "cannot be the root");
        assert_refused("runtime: {workdir: ''}", "the path is empty");
        assert_refused("runtime: {workdir: }", "cannot be nothing");
        WORLD odd = world_new();
        odd.facts.cwd = "/home/u/\xff";
        assert_false(world_compile(&odd));
        WORLD slashes = world_new();
        slashes.facts.cwd = "/home/u//work/.";
        assert_true(world_compile(&slashes));
        assert_string_equal(slashes.plan->workspace, WORK);
}

/* A plan is passed on as JSON. A rule that cannot be written as JSON would be lost. */
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
                assert_true(world_compile(&w));
                CLEANUP_JSON json_t *json = plan_to_json(w.plan);
                assert_int_equal(json == NULL, i != 1); /* the loader passes on no such home and no such policy */
                if (json)
                        assert_int_equal(json_array_size(json_object_get(json, "rules")), w.plan->rules.count);
        }
}

static void test_every_rule_has_its_source(void **state)
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
                cmocka_unit_test(test_empty_policy_allows_the_workspace_and_the_system),
                cmocka_unit_test(test_broad_reads_allow_everything_but_the_sensitive_set),
                cmocka_unit_test(test_some_groups_are_protected_only_on_request),
                cmocka_unit_test(test_files_that_an_agent_executes_stay_read_only_in_a_granted_directory),
                cmocka_unit_test(test_ringwalls_own_files_can_never_be_written),
                cmocka_unit_test(test_directory_of_path_in_a_workspace_does_not_make_its_parent_readable),
                cmocka_unit_test(test_protected_names_are_read_only),
                cmocka_unit_test(test_startup_files_of_a_writable_home_are_read_only),
                cmocka_unit_test(test_allow_paths_as_in_the_specification),
                cmocka_unit_test(test_missing_path_is_said_unless_it_is_optional),
                cmocka_unit_test(test_only_an_explicit_ro_makes_a_writable_place_read_only),
                cmocka_unit_test(test_part_of_a_denied_directory_in_the_workspace_can_be_granted),
                cmocka_unit_test(test_toolchain_in_the_workspace_stays_writable),
                cmocka_unit_test(test_read_only_grant_in_a_private_directory_is_not_writable),
                cmocka_unit_test(test_denial_overrides_a_grant_for_writes),
                cmocka_unit_test(test_narrower_rule_wins_for_reads),
                cmocka_unit_test(test_sensitive_file_can_be_granted_by_a_narrower_path),
                cmocka_unit_test(test_all_spellings_of_a_path_give_the_same_plan),
                cmocka_unit_test(test_escaped_dots_are_resolved_before_normalising),
                cmocka_unit_test(test_variables_are_expanded_and_unknown_ones_refused),
                cmocka_unit_test(test_missing_home_is_an_error_only_where_it_is_used),
                cmocka_unit_test(test_root_as_home_is_not_private),
                cmocka_unit_test(test_granted_temporary_directory_is_the_real_one_without_secrets),
                cmocka_unit_test(test_name_to_protect_stays_below_its_directory),
                cmocka_unit_test(test_pattern_characters_in_variables_are_literal),
                cmocka_unit_test(test_pattern_cannot_be_granted),
                cmocka_unit_test(test_paths_of_flags_are_literal),
                cmocka_unit_test(test_managed_sets_are_edited_entry_by_entry),
                cmocka_unit_test(test_entry_may_be_released_twice),
                cmocka_unit_test(test_policy_files_in_writable_places_are_protected),
                cmocka_unit_test(test_toolchains_in_path_are_readable_but_not_home_directories),
                cmocka_unit_test(test_policy_named_default_denies_toolchains),
                cmocka_unit_test(test_grant_without_effect_gives_a_warning_with_a_remedy),
                cmocka_unit_test(test_workspace_is_resolved_and_checked),
                cmocka_unit_test(test_facts_that_are_not_utf8_lose_no_rule),
                cmocka_unit_test(test_every_rule_has_its_source),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
