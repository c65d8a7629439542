/*
 * A cgroup for one box: memory, processor time and processes limited for all of it together. Theory of operation:
 * cgroup.c.
 */
#ifndef RINGWALL_LINUX_CGROUP_H
#define RINGWALL_LINUX_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* What to hold a box to; 0: no limit. */
struct cgroup_limits {
        uint64_t memory;    /* bytes, swap included: a box has none */
        uint64_t cpu;       /* thousandths of a core */
        uint64_t processes; /* and threads; */
        uint64_t keepers;   /* on top of them */
};

struct cgroup {
        int directory; /* the box's cgroup, for CLONE_INTO_CGROUP; -1: there is none */
        int place;     /* the cgroup that it is in */
        int hold;      /* the janitor waits for the last of these to be closed */
        pid_t janitor;
        char name[48];
        char tree[PATH_MAX]; /* where all cgroups are mounted */
};
#define CGROUP_NONE ((struct cgroup){ .directory = -1, .place = -1, .hold = -1, .janitor = -1 })

/* What a box has used, and how it met its limits. */
struct cgroup_usage {
        uint64_t memory_peak;  /* bytes; 0 where the kernel does not say (before 5.19) */
        uint64_t cpu_time;     /* microseconds */
        uint64_t own_ooms;     /* times that its own limit left no memory */
        uint64_t oom_kills;    /* processes of it that were killed for memory, whoever ran out */
        uint64_t forks_denied; /* by its own limit */
};

/* One file to write, and the controller that it belongs to. */
struct cgroup_setting {
        const char *controller, *file;
        char value[48];
};
enum { CGROUP_SETTINGS_MAX = 5 };

/* The files that hold these limits; returns their number. Touches no file. */
size_t cgroup_settings(const struct cgroup_limits *limits, struct cgroup_setting ret[CGROUP_SETTINGS_MAX]);

/*
 * Makes one: directly where a part of the tree is ours, else in a scope of a systemd manager, into which the caller
 * moves. Runs as: the front, one thread, before the box is started. Should hold every limit, or fail and leave nothing;
 * must not touch a part of the tree that somebody else divides. cgroup_remove() is due in any case.
 */
int cgroup_make(const struct cgroup_limits *limits, struct cgroup *ret, struct error *e);

/* The two ways by themselves, for the doctor. */
int cgroup_make_directly(const struct cgroup_limits *limits, struct cgroup *ret, struct error *e);
int cgroup_make_in_scope(const struct cgroup_limits *limits, struct cgroup *ret, struct error *e);

/*
 * Runs in the keeper, which was cloned into it, first of all: lets go of the descriptors and becomes one that the
 * kernel may kill for memory.
 */
int cgroup_settle(struct cgroup *c, struct error *e);

void cgroup_read_usage(const struct cgroup *c, struct cgroup_usage *ret);

/* Ends whatever is still in it and removes it. Takes one that was never made, or only half. */
void cgroup_remove(struct cgroup *c);

#endif
