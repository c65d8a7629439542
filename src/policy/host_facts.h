/*
 * What the compiler must know about the machine. The caller collects it, because this folder makes no system calls. An
 * empty or missing fact is not guessed: a rule of a policy that needs it is an error.
 */
#ifndef RINGWALL_POLICY_HOST_FACTS_H
#define RINGWALL_POLICY_HOST_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"
#include "policy/host_pattern.h"

/* Does this directory look like the installation prefix of a toolchain? Asked about X for X/bin in PATH. */
typedef bool facts_is_prefix(const char *directory);

/* Where a path with symlinks in it leads. */
struct facts_resolved_path {
        const char *target;       /* the resolved path, which need not exist; NULL: a loop, or resolving failed */
        const char *const *links; /* the paths of the symlinks on the way */
        size_t link_count;
};

/* Resolves a path. False: no symlink was found in it. True with *ret_failed: it could not be resolved. */
typedef bool facts_resolve_links(struct arena *a, const char *path, struct facts_resolved_path *ret, bool *ret_failed);

/* Is there certainly nothing at this path? */
typedef bool facts_is_missing(const char *path);

struct host_facts {
        const char *cwd;       /* absolute */
        const char *home;      /* the person's home directory, absolute */
        const char *path;      /* $PATH */
        const char *user_data; /* ringwall's data directory, or that of the program that embeds ringwall */
        const char *user_state; /* ringwall's directory for records that are not sent elsewhere */
        /*
         * Files that ringwall trusts, so no box may write them: absolute paths of the policies and ceilings in use, and
         * of its directories for configuration, data and state. They need not exist. NULL-terminated, or NULL.
         */
        const char *const *own_files;
        facts_is_prefix *is_prefix; /* NULL: no directory is a prefix */
        facts_is_missing *is_missing; /* NULL: unknown */
        facts_resolve_links *resolve_links; /* NULL: no path has symlinks */
        to_ascii_function *to_ascii;
};

#endif
