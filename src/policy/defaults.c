/*
 * Defaults; see defaults.h.
 *
 * Toolchains: a directory in PATH is readable, and with it what its programs need, which by custom lies beside it
 * (X/bin needs X/lib). That is safe to guess for a directory that is a toolchain and wrong for one that holds a
 * person's files: the parent of ~/bin is the home directory, that of ~/.local/bin all of ~/.local.
 */
#include "policy/defaults.h"

#include <string.h>

#include "base/text.h"
#include "policy/caps.h"
#include "policy/pattern.h"

const struct default_rule default_rules[] = {
        { RULE_READ, "/usr", "system" },
        { RULE_READ, "/bin", "system" },
        { RULE_READ, "/sbin", "system" },
        { RULE_READ, "/lib", "system" },
        { RULE_READ, "/lib32", "system" },
        { RULE_READ, "/lib64", "system" },
        { RULE_READ, "/libx32", "system" },
        { RULE_READ, "/etc", "system" },
        { RULE_READ, "/opt", "system" },
        { RULE_READ, "/nix/store", "system" },
        { RULE_READ, "/gnu/store", "system" },
        { RULE_READ, "/run/current-system", "system" },
        { RULE_READ, "/proc", "system" },
        { RULE_READ, "/sys/devices/system/cpu", "system" },
        { RULE_READ, "/dev", "devices" },
        { RULE_WRITE, "/dev/null", "devices" },
        { RULE_WRITE, "/dev/zero", "devices" },
        { RULE_WRITE, "/dev/full", "devices" },
        { RULE_WRITE, "/dev/random", "devices" },
        { RULE_WRITE, "/dev/urandom", "devices" },
        { RULE_WRITE, "/dev/tty", "devices" },
        { RULE_WRITE, "/dev/ptmx", "devices" },
        { RULE_WRITE, "/dev/pts", "devices" },
        { RULE_PRIVATE, "/tmp", "temp" },
        { RULE_PRIVATE, "/var/tmp", "temp" },
        { RULE_PRIVATE, "/dev/shm", "temp" },
        { RULE_PRIVATE, "/run", "temp" },
};
const size_t default_rule_count = ARRAY_SIZE(default_rules);

const char *const default_env[] = { "PATH", "HOME", "LANG", "TERM", "USER", "TMPDIR", NULL };

/* Toolchains below the home directory whose parts do not all lie beside their bin directory. */
static const char *const home_toolchains[] = {
        ".pyenv", ".nvm",  ".cargo",  ".rustup", ".rbenv",  ".asdf",   ".volta", ".bun",  ".deno",
        ".sdkman", ".nodenv", ".goenv", ".ghcup",  ".juliaup", ".pixi", "go",     ".local/share/mise",
        ".local/share/fnm", ".local/share/pnpm", ".local/share/uv",
};

static bool is_system(const char *path)
{
        for (size_t i = 0; i < default_rule_count; i++)
                if (default_rules[i].kind == RULE_READ && path_is_beneath(path, default_rules[i].path))
                        return true;
        return false;
}

static const char *home_toolchain(struct arena *a, const char *path, const char *home)
{
        for (size_t i = 0; i < ARRAY_SIZE(home_toolchains); i++) {
                const char *root = arena_format(a, "%s/%s", home, home_toolchains[i]);
                if (root && path_is_beneath(path, root))
                        return root;
        }
        return NULL;
}

/* Is this somebody's home, or above one? */
static bool holds_a_home(const char *path, const char *home)
{
        if (home && path_is_beneath(home, path))
                return true;
        const char *slash = strrchr(path, '/');
        return strcmp(path, "/home") == 0 || strcmp(path, "/root") == 0 ||
               (text_starts(path, "/home/") && slash == path + strlen("/home"));
}

/* X for X/bin where X is a place of its own: not a home, not above one, not at the root, not ~/.local. */
static const char *parent_toolchain(struct arena *a, const char *path, const char *home)
{
        const char *slash = strrchr(path, '/');
        if (strcmp(slash, "/bin") != 0 && strcmp(slash, "/sbin") != 0 && strcmp(slash, "/shims") != 0)
                return path;
        char *parent = arena_copy(a, path, (size_t)(slash - path));
        if (!parent || !*parent || !strchr(parent + 1, '/'))
                return path;
        const char *last = strrchr(parent, '/');
        return holds_a_home(parent, home) || strcmp(last, "/.local") == 0 ? path : parent;
}

const char *default_toolchain_of(struct arena *a, const char *entry, const char *home)
{
        if (*entry != '/' || strlen(entry) > CAP_TEXT || text_utf8_valid(entry, strlen(entry)) < strlen(entry))
                return NULL;
        const char *path = pattern_normalise(a, entry);
        if (!path || is_system(path) || holds_a_home(path, home) || path_is_beneath(path, "/tmp") ||
            path_is_beneath(path, "/run") || path_is_beneath(path, "/var/tmp"))
                return NULL;
        const char *known = home ? home_toolchain(a, path, home) : NULL;
        return known ? known : parent_toolchain(a, path, home);
}

const char *default_companion_of(struct arena *a, const char *toolchain, const char *home)
{
        const char *cargo = home ? arena_format(a, "%s/.cargo", home) : NULL;
        return cargo && strcmp(cargo, toolchain) == 0 ? arena_format(a, "%s/.rustup", home) : NULL;
}

bool default_home_is_private(const char *home)
{
        for (size_t i = 0; i < default_rule_count; i++)
                if (path_is_beneath(default_rules[i].path, home))
                        return false;
        return true;
}
