/*
 * Checks URLs, remotes, branches and paths in a git configuration. A value is plain if it means the same to every
 * version of git, starts no program, and cannot leave its directory when git uses it as a file name.
 */
#ifndef RINGWALL_POLICY_GIT_NAMES_H
#define RINGWALL_POLICY_GIT_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* UTF-8 without control characters, at most 800 bytes. */
bool git_text_is_plain(const char *text);

/* https://HOST/PATH, ssh://[USER@]HOST[:PORT]/PATH, USER@HOST:PATH, or a path that begins with / ./ or ../ */
bool git_url_is_plain(const char *url);

/* A plain path of ASCII letters, digits and . _ / - that does not begin with a dot. */
bool git_remote_is_plain(const char *name);

/* A name that git accepts for a branch, and that does not begin with "!". */
bool git_branch_is_plain(const char *name);

/* refs/… */
bool git_ref_is_plain(const char *ref);

/* The content of a ref: an object id, or "ref: refs/…"; with a newline at the end or not. */
bool git_ref_is_harmless(const char *text, size_t length);

/* The refs that a rebase updates: lines of a name in refs/ and two ids each. */
bool git_updates_are_harmless(const char *text, size_t length);

/* [+]SOURCE:refs/remotes/… or :refs/tags/…, or ^SOURCE; a source is refs/… or HEAD. */
bool git_refspec_is_plain(const char *refspec);

/* A relative path or a submodule's name that cannot leave its directory or lead into a .git. */
bool git_path_is_plain(const char *path);

#endif
