/*
 * A plan's file rules as places on this machine: paths without symbolic links, patterns expanded to matches, missing
 * files left out, in the order in which mounts have to be made. Theory of operation: places.c.
 */
#ifndef RINGWALL_LINUX_PLACES_H
#define RINGWALL_LINUX_PLACES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/memory.h"
#include "platform/platform.h"
#include "policy/plan.h"

/* The order matters, because code compares kinds by < and >: grants first, then what denials need. */
enum place_kind {
        PLACE_READ,    /* the real file or directory, read-only */
        PLACE_WRITE,   /* the real file or directory, writable */
        PLACE_PRIVATE, /* an empty directory that belongs to the box */
        PLACE_COVER,   /* denied: covered by an object that cannot be opened */
        PLACE_PIN,     /* a directory or link that must not be renamed, because a denied path leads through it */
        PLACE_FREEZE,  /* made read-only, whatever it contains */
};

struct place {
        enum place_kind kind;
        const char *path;   /* absolute, without symbolic links */
        bool is_directory;
        bool holds_grants;  /* PLACE_COVER: a path inside is granted */
        const struct rule *rule;
};

/* A symbolic link on the path to a place, which the box needs too. */
struct place_link {
        const char *path, *target;
};

struct places {
        struct place *list;
        size_t count;
        struct place_link *links;
        size_t link_count;
        struct left_out_grant *left_out;
        size_t left_out_count;
        struct place *absent; /* denied names that do not exist, in writable places: only a guard can deny them */
        size_t absent_count;
};

/*
 * Parents come before the places inside them, grants before denials of the same path. Only private directories that
 * must be read-only come last: mount points have to be made in them first. `guarded`: a guard enforces the rules about
 * names (guard.h).
 */
int places_find(const struct plan *plan, bool guarded, struct arena *a, struct places *ret, struct error *e);

/* Opens a unix socket that the plan names: an O_PATH descriptor, or -errno with an error. */
int places_open_socket(const char *path, struct error *e);

#endif
