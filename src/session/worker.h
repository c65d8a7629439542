/*
 * The tools in their box: the function that runs them there, and what is said to it over its channel. Theory of operation:
 * worker.c.
 */
#ifndef RINGWALL_SESSION_WORKER_H
#define RINGWALL_SESSION_WORKER_H

#include <jansson.h>

#include "gate/scrub.h"
#include "linux/launch.h"
#include "tools/tool.h"
#include "wire/channel.h"

/* What the tools are told: request->data. */
struct worker_setup {
        const struct workspace_name *workspaces; /* at least one */
        size_t workspace_count;                  /* at most WORKSPACES_MOST */
        struct scrubber *scrubber;               /* for what commands write; NULL: none */
};

/* Answers calls until the channel ends. Runs as: the one process of a box. */
int worker_serve(int socket, const struct launch_request *request);

/* --- outside --- */

/* Sends a call: {"id", "tool", "arguments", "progress"}, the last when its progress shall be told. Returns 0 or -errno. */
int worker_call(struct channel *c, json_int_t id, const char *tool, const json_t *arguments, bool progress);

/* Ends what was started for this call. An answer comes all the same. */
int worker_cancel(struct channel *c, json_int_t id);

/*
 * The next that has come: 1 with an answer, {"id", "is_error", "text", "structured", "image_type"}, or how far a call is,
 * {"id", "progress", "message"}, a number that grows; 0 when there is none; -EPROTO for nonsense.
 */
int worker_answer(struct channel *c, json_t **ret);

#endif
