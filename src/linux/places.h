/*
 * A plan's file rules as places on this machine: symbolic links followed, patterns looked up, what does not exist left
 * out, in the order in which mounts have to be made. Theory of operation: places.c.
 */
#ifndef RINGWALL_LINUX_PLACES_H
#define RINGWALL_LINUX_PLACES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/memory.h"
#include "policy/plan.h"

enum place_kind {
        PLACE_READ,    /* the real thing, read-only */
        PLACE_WRITE,   /* the real thing, writable */
        PLACE_PRIVATE, /* an empty directory of the box's own */
        PLACE_COVER,   /* something that cannot be opened stands in front of it */
        PLACE_PIN,     /* a directory that must not be moved, because something protected lies in it */
        PLACE_FREEZE,  /* what is there becomes read-only */
};

struct place {
        enum place_kind kind;
        const char *path;   /* absolute, without symbolic links */
        bool is_directory;
        bool holds_grants;  /* PLACE_COVER: something inside is granted again */
        const struct rule *rule;
};

/* A symbolic link on the way to a place, which the box needs too. */
struct place_link {
        const char *path, *target;
};

struct places {
        struct place *list;
        size_t count;
        struct place_link *links;
        size_t link_count;
};

/* Parents come before what lies in them; grants before denials of the same place. */
int places_find(const struct plan *plan, struct arena *a, struct places *ret, struct error *e);

#endif
