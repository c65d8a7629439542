/*
 * A plan's file rules as places on this machine: paths without symbolic links, patterns expanded to matches, missing
 * files left out, in the order in which mounts have to be made. Theory of operation: resolved_paths.c.
 */
#ifndef RINGWALL_LINUX_RESOLVED_PATHS_H
#define RINGWALL_LINUX_RESOLVED_PATHS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/memory.h"
#include "platform/platform.h"
#include "policy/plan.h"

/* The order matters, because code compares kinds by < and >: grants first, then what denials need. */
enum resolved_kind {
        RESOLVED_READ_ONLY,    /* the real file or directory, read-only */
        RESOLVED_WRITABLE,   /* the real file or directory, writable */
        RESOLVED_PRIVATE, /* an empty directory that belongs to the box */
        RESOLVED_MASKED,   /* denied: covered by an object that cannot be opened */
        RESOLVED_PINNED,     /* a directory or link that must not be renamed, because a denied path leads through it */
        RESOLVED_FROZEN,  /* made read-only, whatever it contains */
};

struct resolved_path {
        enum resolved_kind kind;
        const char *path;   /* absolute, without symbolic links */
        bool is_directory;
        bool holds_grants;  /* RESOLVED_MASKED: a path inside is granted */
        const struct rule *rule;
};

/* A symbolic link on the path to a place, which the box needs too. */
struct resolved_link {
        const char *path, *target;
};

struct resolved_paths {
        struct resolved_path *list;
        size_t count;
        struct resolved_link *links;
        size_t link_count;
        struct left_out_grant *left_out;
        size_t left_out_count;
        struct resolved_path
                *absent; /* denied names that do not exist, in writable places: only a guard can deny them */
        size_t absent_count;
};

/*
 * Parents come before the places inside them, grants before denials of the same path. Only private directories that
 * must be read-only come last: mount points have to be made in them first. `guarded`: a guard enforces the rules about
 * names (guard.h).
 */
int resolve_paths(const struct plan *plan, bool guarded, struct arena *a, struct resolved_paths *ret, struct error *e);

/* Opens a unix socket that the plan names: an O_PATH descriptor, or -errno with an error. */
int places_open_socket(const char *path, struct error *e);

#endif
