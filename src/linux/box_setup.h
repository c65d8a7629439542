/*
 * A wall is a struct of functions: probe the kernel, prepare the wall, apply it, confine the calling process itself,
 * report what the wall enforces. Each wall has its own file (wall_*.c), and wall_table.c lists them all, with the
 * terminal, which is not a wall but is set up between them. A function that a wall does not need is NULL.
 *
 * The keeper (keeper.c) calls prepare, and the command's process (command.c) apply, both in the table's order; the
 * doctor calls probe (platform_probe()); restrict_self.c calls confine_self.
 */
#ifndef RINGWALL_LINUX_BOX_SETUP_H
#define RINGWALL_LINUX_BOX_SETUP_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/text.h"
#include "linux/guard.h"
#include "linux/guard_aliases.h"
#include "linux/resolved_paths.h"
#include "linux/pty.h"
#include "linux/landlock_ruleset.h"
#include "platform/box.h"
#include "platform/platform.h"

/* The state that the walls of one box share while they are applied. */
struct box_setup {
        const struct launch_request *request;
        const struct plan *plan; /* of the request */
        uid_t uid;               /* of the user who started the box */
        gid_t gid;
        int to_front;            /* a socket to the front */
        int to_keeper;           /* in the command's process: a socket to the keeper */
        struct pty pty;
        struct resolved_paths places; /* only without a mount namespace */
        struct ruleset rules;    /* Landlock's, for the command */
        bool signals_scoped;     /* without a pid namespace: Landlock keeps the box's signals inside the box */
        int guard;               /* enum filter_guard, or FILTER_NO_GUARD */
        struct guard_aliases aliases; /* for the guard */
        struct guard_start guard_start; /* complete before the command's process is forked */
};

/* A ringwall process, or a user of libringwall, that confines itself and has no keeper. */
struct self_confinement {
        const struct plan *plan;             /* NULL: no files, no programs, only the machine's network */
        const struct resolved_paths *places; /* of the plan */
};

struct wall_ops {
        const char *name;
        /* Tests what the kernel can do for this wall, for this user, on this machine. */
        void (*probe)(struct probe_report *report);
        /* In the keeper, in the table's order. In a box with a user namespace the keeper has every capability there,
           and none outside, until `harden`. */
        int (*prepare)(struct box_setup *setup, struct error *e);
        /* In the command's process, between fork and exec, in the table's order. May share the keeper's memory
           (vfork). */
        int (*apply)(struct box_setup *setup, struct error *e);
        /* In a process that confines itself, in the table's order. Cannot be undone. */
        int (*confine_self)(const struct self_confinement *self, struct error *e);
        /* In the front: writes what is enforced, in a few words, or nothing if the plan needs nothing. NULL: not a
           wall. */
        void (*report)(const struct enforced_state *s, struct text *out);
};

extern const struct wall_ops wall_limits, wall_namespaces, wall_guard, wall_net, wall_harden, wall_terminal,
        wall_landlock, wall_seccomp;

extern const struct wall_ops *const walls[];
extern const size_t wall_count;

bool plan_has_namespace(const struct plan *plan, uint64_t namespace_bits);
/* May the box make network sockets, in its own network namespace? */
bool plan_has_own_network(const struct plan *plan);

/* Sends a message to the front. Errors are ignored: if the front has exited, the keeper is about to be killed too. */
void send_to_front(const struct box_setup *setup, enum box_message_kind kind, int number, const struct error *e);
void send_fd_to_front(const struct box_setup *setup, enum box_message_kind kind, int fd);

/*
 * In the keeper, when its socket to egress is readable: sends egress a new socket of the box's network. -errno: egress
 * has exited.
 */
int net_send_socket(int egress);

/* The namespaces that a box gets: those of the plan, and on old kernels a network namespace too (wall_namespaces.c). */
uint64_t box_namespaces(const struct plan *plan, int landlock_abi);

#endif
