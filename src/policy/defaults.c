/*
 * Defaults; see defaults.h.
 *
 * Toolchains: a directory in PATH is readable, and so are the files that its programs need, which are usually beside it
 * (X/bin needs X/lib). Granting X is right if X is an installation prefix and wrong if it holds a person's files: the
 * parent of ~/bin is the home directory, of ~/.local/bin all of ~/.local, of ~/work/bin the person's projects. So X is
 * granted only if it looks like a prefix (facts.is_prefix, docs/decisions/path-entries.md) or is well known.
 */
#include "policy/defaults.h"

#include <string.h>

#include "base/text.h"
#include "policy/input_limits.h"
#include "policy/path_pattern.h"

const struct default_rule default_rules[] = {
        { RULE_READ, "/usr", SET_SYSTEM },
        { RULE_READ, "/bin", SET_SYSTEM },
        { RULE_READ, "/sbin", SET_SYSTEM },
        { RULE_READ, "/lib", SET_SYSTEM },
        { RULE_READ, "/lib32", SET_SYSTEM },
        { RULE_READ, "/lib64", SET_SYSTEM },
        { RULE_READ, "/libx32", SET_SYSTEM },
        { RULE_READ, "/etc", SET_SYSTEM },
        { RULE_READ, "/opt", SET_SYSTEM },
        { RULE_READ, "/nix/store", SET_SYSTEM },
        { RULE_READ, "/gnu/store", SET_SYSTEM },
        { RULE_READ, "/run/current-system", SET_SYSTEM },
        { RULE_READ, "/proc", SET_SYSTEM },
        { RULE_READ, "/sys/devices/system/cpu", SET_SYSTEM },
        { RULE_READ, "/dev", SET_DEVICES },
        { RULE_WRITE, "/dev/null", SET_DEVICES },
        { RULE_WRITE, "/dev/zero", SET_DEVICES },
        { RULE_WRITE, "/dev/full", SET_DEVICES },
        { RULE_WRITE, "/dev/random", SET_DEVICES },
        { RULE_WRITE, "/dev/urandom", SET_DEVICES },
        { RULE_WRITE, "/dev/tty", SET_DEVICES },
        { RULE_WRITE, "/dev/ptmx", SET_DEVICES },
        { RULE_WRITE, "/dev/pts", SET_DEVICES },
        { RULE_PRIVATE, "/tmp", SET_TEMPORARY },
        { RULE_PRIVATE, "/var/tmp", SET_TEMPORARY },
        { RULE_PRIVATE, "/dev/shm", SET_TEMPORARY },
        { RULE_PRIVATE, "/run", SET_TEMPORARY },
};
const size_t default_rule_count = ARRAY_SIZE(default_rules);

const char *const default_env[] = {
        "PATH", "HOME", "LANG", "LC_*", "TZ", "TERM", "COLORTERM", "SHELL", "USER", "TMPDIR", NULL,
};

/* Toolchains below the home directory. Listed because some of their parts are not beside their bin directory. */
static const char *const home_toolchains[] = {
        ".pyenv", ".nvm",  ".cargo/bin",  ".rustup", ".rbenv",  ".asdf",   ".volta", ".bun",  ".deno",
        ".sdkman", ".nodenv", ".goenv", ".ghcup",  ".juliaup", ".pixi", "go",     ".local/share/mise",
        ".local/share/fnm", ".local/share/pnpm", ".local/share/uv",
};

/*
 * Cargo keeps credentials beside its programs. Granting its parts one by one leaves the credentials out, so that no
 * denial is needed inside and the guard need not check opens. The compilers are in .rustup.
 */
static const char *const cargo_parts[] = {
        ".cargo/bin", ".cargo/registry", ".cargo/git", ".cargo/config", ".cargo/config.toml", ".rustup",
};

static bool is_in_system_directory(const char *path)
{
        for (size_t i = 0; i < default_rule_count; i++)
                if (default_rules[i].kind == RULE_READ && path_is_beneath(path, default_rules[i].path))
                        return true;
        return false;
}

static const char *find_home_toolchain(struct arena *a, const char *path, const char *home)
{
        for (size_t i = 0; i < ARRAY_SIZE(home_toolchains); i++) {
                const char *root = arena_format(a, "%s/%s", home, home_toolchains[i]);
                if (root && path_is_beneath(path, root))
                        return root;
        }
        return NULL;
}

/* Is this a home directory, or a parent of one? */
static bool is_or_contains_home(const char *path, const char *home)
{
        if (home && path_is_beneath(home, path))
                return true;
        const char *slash = strrchr(path, '/');
        return strcmp(path, "/home") == 0 || strcmp(path, "/root") == 0 ||
               (text_has_prefix(path, "/home/") && slash == path + strlen("/home"));
}

/*
 * X for X/bin, X/sbin or X/shims, if X is an installation prefix: not directly below /, not a home or a parent of one,
 * not .local, and not a directory that a person works in (facts.is_prefix). Otherwise the path itself.
 */
static const char *find_toolchain_prefix(struct arena *a, const char *path, const struct host_facts *facts)
{
        const char *slash = strrchr(path, '/');
        if (strcmp(slash, "/bin") != 0 && strcmp(slash, "/sbin") != 0 && strcmp(slash, "/shims") != 0)
                return path;
        char *parent = arena_strndup(a, path, (size_t)(slash - path));
        if (!parent || !*parent || !strchr(parent + 1, '/'))
                return path;
        const char *last = strrchr(parent, '/');
        if (is_or_contains_home(parent, facts->home) || strcmp(last, "/.local") == 0)
                return path;
        return facts->is_prefix && facts->is_prefix(parent) ? parent : path;
}

const char *toolchain_root_of(struct arena *a, const char *entry, const struct host_facts *facts)
{
        const char *home = facts->home;
        if (*entry != '/' || strlen(entry) > POLICY_TEXT_MAX ||
            text_utf8_valid_length(entry, strlen(entry)) < strlen(entry))
                return NULL;
        const char *path = path_normalize(a, entry);
        if (!path || is_in_system_directory(path) || is_or_contains_home(path, home) || path_is_beneath(path, "/tmp") ||
            path_is_beneath(path, "/run") || path_is_beneath(path, "/var/tmp"))
                return NULL;
        const char *known = home ? find_home_toolchain(a, path, home) : NULL;
        return known ? known : find_toolchain_prefix(a, path, facts);
}

const char *default_next_toolchain_part(struct arena *a, const char *toolchain, const char *home)
{
        for (size_t i = 0; home && i + 1 < ARRAY_SIZE(cargo_parts); i++) {
                const char *part = arena_format(a, "%s/%s", home, cargo_parts[i]);
                if (part && strcmp(part, toolchain) == 0)
                        return arena_format(a, "%s/%s", home, cargo_parts[i + 1]);
        }
        return NULL;
}

bool home_may_be_private(const char *home)
{
        for (size_t i = 0; i < default_rule_count; i++)
                if (path_is_beneath(default_rules[i].path, home))
                        return false;
        return true;
}
