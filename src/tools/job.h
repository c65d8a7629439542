/*
 * A job: work that goes on after a tool's start() has returned. The worker polls its descriptors, calls step() on an
 * event or at its deadline, and lets the tool answer when the job is over. Kinds: a command (shell_job.c), a search
 * (tree_walk.c), a fetch (web_fetch_job.c).
 */
#ifndef RINGWALL_TOOLS_JOB_H
#define RINGWALL_TOOLS_JOB_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum { JOB_POLL_FDS_MAX = 3 };

struct job;

struct job_ops {
        /* Stores what to poll. Returns how many entries. */
        nfds_t (*poll)(const struct job *j, struct pollfd ret[JOB_POLL_FDS_MAX]);
        /* When to call step() without an event, by clock_ms(); INT64_MAX: never. */
        int64_t (*deadline)(const struct job *j);
        /* Continues without blocking. Returns true when the job is over, and in every later call. */
        bool (*step)(struct job *j);
        /* Returns a number that grows while the job runs, and adds a text about it for people. */
        uint64_t (*progress)(const struct job *j, struct text *message);
        /* Stops the job if it still runs, and frees it. */
        void (*free)(struct job *j);
};

/* The first member of each kind's own struct. */
struct job {
        const struct job_ops *kind;
};

/* Ignores NULL. */
static inline void job_free(struct job *j)
{
        if (j)
                j->kind->free(j);
}

#endif
