/* A cgroup for one box: limits on memory, CPU time and processes of the whole box. Theory of operation: cgroup.c. */
#ifndef RINGWALL_LINUX_CGROUP_H
#define RINGWALL_LINUX_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "platform/limits.h"

/* The limits of a box; 0: no limit. */
struct cgroup_limits {
        uint64_t memory;    /* bytes; swap is disabled */
        uint64_t cpu;       /* thousandths of a core */
        uint64_t processes; /* and threads */
        uint64_t own_processes; /* ringwall's own processes, allowed in addition */
};

struct cgroup {
        int directory; /* the box's cgroup, for CLONE_INTO_CGROUP; -1: not made */
        int parent;    /* the parent cgroup */
        int lifeline;  /* a socket: the janitor waits until its last copy is closed, or a byte is sent */
        pid_t janitor;
        char name[48];
};
#define CGROUP_NONE ((struct cgroup){ .directory = -1, .parent = -1, .lifeline = -1, .janitor = -1 })

/* A file in the cgroup's directory, the value to write, and the controller that the file belongs to. */
struct cgroup_write_entry {
        const char *controller, *file;
        char value[48];
};
enum { CGROUP_WRITE_ENTRIES_MAX = 5 };

/* The files that set these limits; returns their number. Opens no file. */
size_t cgroup_write_entries(const struct cgroup_limits *limits,
                            struct cgroup_write_entry ret[CGROUP_WRITE_ENTRIES_MAX]);

/*
 * Makes a cgroup: directly, where a part of the tree is delegated to us, else in a scope of a systemd manager, into
 * which the calling process moves. Runs as: the front, one thread, before the box is started. Sets every limit, or
 * fails. Where systemd manages the tree, changes only a delegated part or that scope. The caller must call
 * cgroup_remove() even after a failure.
 */
int cgroup_create(const struct cgroup_limits *limits, struct cgroup *ret, struct error *e);

/* Each of the two ways alone, for the doctor's probes. */
int cgroup_create_direct(const struct cgroup_limits *limits, struct cgroup *ret, struct error *e);
int cgroup_create_in_scope(const struct cgroup_limits *limits, struct cgroup *ret, struct error *e);

/*
 * Runs first in the keeper, which was cloned into the cgroup: closes the descriptors, and makes sure that the OOM
 * killer may kill the keeper with its box. A keeper that outlives the front keeps the lifeline open, or the janitor
 * would kill it during its clean-up.
 */
int cgroup_prepare_keeper(struct cgroup *c, bool outlives_front, struct error *e);

void cgroup_read_usage(const struct cgroup *c, struct resource_usage *ret);

/* Kills all processes in the cgroup and removes it. Accepts one that was not made, or only in part. */
void cgroup_remove(struct cgroup *c);

#endif
