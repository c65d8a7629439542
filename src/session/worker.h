/*
 * The tools in their box: a process behind the plan's walls that runs them, and the channel to it. Theory of operation:
 * worker.c.
 */
#ifndef RINGWALL_SESSION_WORKER_H
#define RINGWALL_SESSION_WORKER_H

#include <jansson.h>
#include <poll.h>
#include <stdbool.h>

#include "box/start.h"
#include "box/trail.h"
#include "wire/channel.h"

struct worker {
        const struct plan *plan;
        struct arena *arena;
        struct report report;
        struct running running;
        struct channel channel;
        struct trail trail;
        bool alive;
};

/* Starts it. The caller has one thread. Returns 0 or -errno with an error. */
int worker_start(struct worker *w, const struct plan *plan, struct error *e);

/* Ends it, with everything in its box. Returns 0, or -EIO when its record could not be written to its end. */
int worker_end(struct worker *w);

/* What to poll for it. */
enum { WORKER_FDS = 2 };
void worker_poll(const struct worker *w, struct pollfd ret[WORKER_FDS]);

/* Sends a call: {"id", "tool", "arguments"}. Returns 0 or -errno. */
int worker_call(struct worker *w, json_int_t id, const char *tool, const json_t *arguments);

/* Ends what was started for this call. An answer comes all the same. */
int worker_cancel(struct worker *w, json_int_t id);

/*
 * Moves what can be moved, and takes the next answer: {"id", "is_error", "text", "structured", "image_type"}. Returns 1
 * with one, which is the caller's; 0 without; -errno, with an error that says why, when the worker is gone.
 */
int worker_answer(struct worker *w, json_t **ret, struct error *e);

#endif
