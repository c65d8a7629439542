/*
 * The protected set: what must not be changed even where writing is allowed, because something outside the box reads
 * or runs it later: hooks and version-control configuration, shell start-up files, package managers' configuration and
 * lockfiles, agents' own configuration.
 *
 * {writable}/name stands at the top of every writable directory; a name further down is protected by a pattern of
 * the person's own, with two stars in front. Of version control the whole of hooks and configuration is closed, and nothing that a
 * commit, a branch or a worktree has to write.
 */
#include "base/memory.h"
#include "policy/managed.h"

static const struct managed_entry entries[] = {
        { "git", "{writable}/.git/hooks" },
        { "git", "{writable}/.git/config" },
        { "git", "{writable}/.git/config.worktree" },
        { "git", "{writable}/.git/info/attributes" },
        { "git", "{writable}/.git/modules/**/hooks" },
        { "git", "{writable}/.git/modules/**/config" },
        { "git", "{writable}/.gitconfig" },
        { "git", "{writable}/.gitmodules" },
        { "git", "{writable}/.gitattributes" },
        { "hg", "{writable}/.hg/hgrc" },
        { "svn", "{writable}/.svn" },
        { "shell", "{writable}/.bashrc" },
        { "shell", "{writable}/.bash_profile" },
        { "shell", "{writable}/.bash_login" },
        { "shell", "{writable}/.profile" },
        { "shell", "{writable}/.zshrc" },
        { "shell", "{writable}/.zprofile" },
        { "shell", "{writable}/.zshenv" },
        { "shell", "{writable}/.config/fish/config.fish" },
        { "shell", "{writable}/.envrc" },
        { "home", "~/.bashrc" },
        { "home", "~/.bash_profile" },
        { "home", "~/.bash_login" },
        { "home", "~/.profile" },
        { "home", "~/.zshrc" },
        { "home", "~/.zprofile" },
        { "home", "~/.zshenv" },
        { "home", "~/.config/fish/config.fish" },
        { "home", "~/.config/autostart" },
        { "home", "~/.config/systemd" },
        { "home", "~/.gitconfig" },
        { "home", "~/.config/git" },
        { "packages", "{writable}/.npmrc" },
        { "packages", "{writable}/.yarnrc" },
        { "packages", "{writable}/.yarnrc.yml" },
        { "packages", "{writable}/.pnpmfile.cjs" },
        { "packages", "{writable}/.ripgreprc" },
        { "lockfiles", "{writable}/package-lock.json" },
        { "lockfiles", "{writable}/pnpm-lock.yaml" },
        { "lockfiles", "{writable}/yarn.lock" },
        { "lockfiles", "{writable}/bun.lockb" },
        { "editors", "{writable}/.vscode" },
        { "editors", "{writable}/.idea" },
        { "agents", "{writable}/.mcp.json" },
        { "agents", "{writable}/.claude.json" },
        { "agents", "{writable}/.claude/commands" },
        { "agents", "{writable}/.claude/agents" },
        { "agents", "{writable}/.claude/settings.json" },
        { "agents", "{writable}/.claude/settings.local.json" },
        { "agents", "{writable}/.codex" },
        { "ringwall", "~/.config/ringwall" },
        { "ringwall", "/etc/ringwall" },
};

const struct managed_set protected_set = {
        .name = "protected",
        .key = KEY_PROTECT,
        .kind = RULE_PROTECT,
        .by_default = true,
        .entries = entries,
        .count = ARRAY_SIZE(entries),
};
