/*
 * Limits on the memory, processor time and processes of a whole box. Part of the interface to a platform (platform.h).
 * On Linux: linux/resource_group.c.
 */
#ifndef RINGWALL_PLATFORM_LIMITS_H
#define RINGWALL_PLATFORM_LIMITS_H

#include <stdint.h>

#include "base/error.h"
#include "policy/plan.h"

/* The kernel object that carries the limits of one box: a cgroup on Linux. */
struct resource_group;

/* What a box has used, and how often it reached its limits. */
struct resource_usage {
        uint64_t memory_peak;  /* bytes; 0 if the kernel does not report it */
        uint64_t cpu_time;     /* microseconds */
        uint64_t own_ooms;     /* times that the box ran out of memory at its own limit */
        uint64_t oom_kills;    /* processes of the box that the OOM killer killed, for its own limit or for another */
        uint64_t forks_denied; /* by the box's own limit */
};

/*
 * Makes the group that the plan's limits need. *ret is NULL when the plan has no limits, or when they can be enforced
 * without a group. Runs in the front, which must have one thread, before the box is started. Returns 0, or -errno with
 * an error that says why a limit cannot be enforced; then it leaves no group behind.
 */
int resource_group_make(const struct plan *plan, struct resource_group **ret, struct error *e);

void resource_group_read(const struct resource_group *g, struct resource_usage *ret);

/* Kills the processes that are still in the group, and removes it. Takes NULL. */
void resource_group_remove(struct resource_group *g);

#endif
