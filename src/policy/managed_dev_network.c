/*
 * The dev-network set: the hosts that are needed to install dependencies and to fetch code. It is an allowlist, so a
 * missing host cannot be reached. Off until a policy names the set, a group or an entry.
 */
#include "base/memory.h"
#include "policy/managed.h"

static const struct managed_entry entries[] = {
        { "npm", "*.npmjs.org" },
        { "yarn", "*.yarnpkg.com" },
        { "pypi", "pypi.org" },
        { "pypi", "files.pythonhosted.org" },
        { "crates", "crates.io" },
        { "crates", "index.crates.io" },
        { "crates", "static.crates.io" },
        { "crates", "static.rust-lang.org" },
        { "go", "proxy.golang.org" },
        { "go", "sum.golang.org" },
        { "go", "go.dev" },
        { "deno", "deno.land" },
        { "deno", "dl.deno.land" },
        { "jsr", "jsr.io" },
        { "jsr", "npm.jsr.io" },
        { "github", "github.com" },
        { "github", "api.github.com" },
        { "github", "codeload.github.com" },
        { "github", "*.githubusercontent.com" },
        { "github", "ghcr.io" },
        { "gitlab", "gitlab.com" },
        { "gitlab", "*.gitlab.com" },
        { "bitbucket", "bitbucket.org" },
        { "bitbucket", "api.bitbucket.org" },
};

const struct managed_set dev_network_set = {
        .name = "dev-network",
        .key = KEY_ALLOWED_DOMAINS,
        .by_default = false,
        .entries = entries,
        .count = ARRAY_SIZE(entries),
};
