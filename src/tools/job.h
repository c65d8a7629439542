/*
 * A job: what a tool has started and nobody waits for. The worker polls it, lets it step when something happened or its
 * time has come, and lets the tool answer when it is over. A command is one kind (shell.c), a search another (walk.c).
 */
#ifndef RINGWALL_TOOLS_JOB_H
#define RINGWALL_TOOLS_JOB_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum { JOB_FDS = 3 };

struct job;

struct job_kind {
        /* What to poll for it. Returns how many. */
        nfds_t (*poll)(const struct job *j, struct pollfd ret[JOB_FDS]);
        /* When it has to step even if nothing happens, by clock_ms(); INT64_MAX: never. */
        int64_t (*deadline)(const struct job *j);
        /* Goes on without waiting. True when it is over, which it stays. */
        bool (*step)(struct job *j);
        /* A number that grows while it gets on, and what it counts, for people. */
        uint64_t (*progress)(const struct job *j, struct text *message);
        /* Ends what still runs, without waiting for it. */
        void (*free)(struct job *j);
};

/* The first member of each kind's own struct. */
struct job {
        const struct job_kind *kind;
};

/* NULL is nothing to free. */
static inline void job_free(struct job *j)
{
        if (j)
                j->kind->free(j);
}

#endif
