/*
 * The sensitive set: key and credential material that no program in a box has business reading. A missing entry leaks
 * a secret and a wrong one breaks a program that a person can see break, so when in doubt it is in.
 *
 * {user-data} is ringwall's own data, and that of a program that embeds it: its secrets and sessions.
 */
#include "base/memory.h"
#include "policy/managed.h"

static const struct managed_entry entries[] = {
        { "ssh", "~/.ssh" },
        { "gpg", "~/.gnupg" },
        { "cloud", "~/.aws" },
        { "cloud", "~/.azure" },
        { "cloud", "~/.config/gcloud" },
        { "cloud", "~/.config/doctl" },
        { "cloud", "~/.oci" },
        { "cloud", "~/.terraform.d/credentials.tfrc.json" },
        { "kubernetes", "~/.kube" },
        { "docker", "~/.docker/config.json" },
        { "docker", "~/.config/containers/auth.json" },
        { "vcs", "~/.config/gh" },
        { "vcs", "~/.config/glab-cli" },
        { "vcs", "~/.config/hub" },
        { "vcs", "~/.git-credentials" },
        { "vcs", "~/.config/git/credentials" },
        { "netrc", "~/.netrc" },
        { "packages", "~/.npmrc" },
        { "packages", "~/.yarnrc.yml" },
        { "packages", "~/.pypirc" },
        { "packages", "~/.cargo/credentials" },
        { "packages", "~/.cargo/credentials.toml" },
        { "packages", "~/.gem/credentials" },
        { "packages", "~/.m2/settings.xml" },
        { "packages", "~/.gradle/gradle.properties" },
        { "databases", "~/.pgpass" },
        { "databases", "~/.my.cnf" },
        { "vault", "~/.vault-token" },
        { "vault", "~/.password-store" },
        { "vault", "~/.local/share/keyrings" },
        { "vault", "~/.config/op" },
        { "agents", "~/.claude.json" },
        { "agents", "~/.claude/.credentials.json" },
        { "agents", "~/.codex/auth.json" },
        { "browsers", "~/.mozilla" },
        { "browsers", "~/.config/google-chrome" },
        { "browsers", "~/.config/chromium" },
        { "history", "~/.bash_history" },
        { "history", "~/.zsh_history" },
        { "history", "~/.python_history" },
        { "history", "~/.psql_history" },
        { "system", "/etc/shadow" },
        { "system", "/etc/shadow-" },
        { "system", "/etc/gshadow" },
        { "system", "/etc/gshadow-" },
        { "system", "/etc/sudoers" },
        { "system", "/etc/sudoers.d" },
        { "system", "/etc/ssh/ssh_host_*_key" },
        { "system", "/etc/ssl/private" },
        { "ringwall", "{user-data}" },
};

const struct managed_set sensitive_set = {
        .name = "sensitive",
        .key = KEY_DENY_READ,
        .kind = RULE_DENY_READ,
        .by_default = true,
        .entries = entries,
        .count = ARRAY_SIZE(entries),
};
