/*
 * How walls are held: one file per wall (hold_*.c) behind one table of functions. launch.c walks over the table, and knows
 * which process runs which part.
 *
 * What a kernel can do for a wall is asked by other files (probes.h): the questions need libraries, and the program that
 * starts boxes loads none.
 */
#ifndef RINGWALL_LINUX_HOLD_H
#define RINGWALL_LINUX_HOLD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/text.h"
#include "linux/launch.h"
#include "linux/places.h"
#include "linux/pty.h"
#include "linux/ruleset.h"

/* What the walls of one box share while they are put up. */
struct site {
        const struct launch_request *request;
        const struct plan *plan; /* the request's */
        uid_t uid;               /* the person's */
        gid_t gid;
        int control;             /* to the front */
        int to_keeper;           /* in the command's process */
        struct pty pty;
        struct places places;    /* without a mount namespace */
        struct ruleset rules;    /* of the command's files */
        bool scoped;             /* signals cannot leave the box, though it has no pids of its own */
};

/* A box that stands, as the front knows it. */
struct standing {
        const struct plan *plan;
        int landlock_abi;
        bool cgroup; /* it has one of its own */
        bool egress; /* it reaches hosts */
};

struct hold {
        const char *name;
        /* In the keeper, in the table's order. Until `harden` it has every capability in the box, and none outside. */
        int (*prepare)(struct site *site, struct error *e);
        /* In the command's process, between fork and exec, in the table's order; it may share the keeper's memory. */
        int (*apply)(struct site *site, struct error *e);
        /* In the front: what is held, in a few words; nothing when the plan asks for nothing. NULL: it is no wall. */
        void (*report)(const struct standing *s, struct text *out);
};

extern const struct hold hold_limits, hold_spaces, hold_net, hold_harden, hold_terminal, hold_landlock, hold_seccomp;

extern const struct hold *const holds[];
extern const size_t hold_count;

bool site_has(const struct plan *plan, uint64_t space);

/* To the front. When nobody listens any more it is gone, and we are about to be: so nothing is returned. */
void site_tell(const struct site *site, enum box_message_kind kind, int number, const struct error *e);
void site_tell_fd(const struct site *site, enum box_message_kind kind, int fd);

/* In the keeper, when egress has something to say: it asks for a socket of the box's. -errno: it has gone. */
int net_give_socket(int egress);

/* The namespaces that a box gets: the plan's, and on old kernels one that it does not notice. */
uint64_t hold_spaces_of(const struct plan *plan, int landlock_abi);

#endif
