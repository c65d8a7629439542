/*
 * Decides whether a box may change a git configuration. A person runs git outside the box on the workspace's files, so
 * nothing that the box writes there may make that git run a program, trust a file or a host, or use another remote. How
 * it works: git_config.c.
 *
 * `old` should be the file as the person left it, not as the box last wrote it. Then the box may change and remove its
 * own additions, such as remotes, and cannot make in two steps a change that is refused in one. If `old` is the box's
 * last version, existing URLs still cannot change, but the box could add a remote first and then move a branch to it.
 *
 * Not checked here: included files, the global configuration, .git/remotes, .git/branches, hooks.
 */
#ifndef RINGWALL_POLICY_GIT_CONFIG_H
#define RINGWALL_POLICY_GIT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

enum git_config_kind {
        GIT_CONFIG_REPOSITORY, /* config */
        GIT_CONFIG_WORKTREE,   /* config.worktree */
        GIT_CONFIG_MODULES,    /* .gitmodules */
        GIT_CONFIG_OPTIONS,    /* sequencer/opts: the options of a cherry-pick or revert */
};

/*
 * May `text` replace `old` (NULL: there was no file)? If not, appends the reason to `why`, which may be NULL:
 * "core.fsmonitor", "remote.origin.url: an existing address stays", "line 7 cannot be parsed". The reason is printable.
 */
bool git_config_may_change(enum git_config_kind kind, const char *old, size_t old_length, const char *text,
                           size_t length, struct text *why);

/*
 * The same for `config` in the git directory of a submodule, where git also sets core.worktree. `git_dir` is that
 * directory relative to the workspace, such as ".git/modules/lib". The work tree must be inside the workspace too.
 */
bool git_config_may_change_submodule(const char *git_dir, const char *old, size_t old_length, const char *text,
                                     size_t length, struct text *why);

/* Is a to-do list of git rebase, cherry-pick or revert free of commands that run programs? `why` as above. */
bool git_todo_is_harmless(const char *text, size_t length, struct text *why);

#endif
