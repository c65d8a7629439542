/*
 * The worker: the process that runs the tools in a session's box, and the messages on its channel. Theory of operation:
 * tool_worker.c.
 */
#ifndef RINGWALL_SESSION_TOOL_WORKER_H
#define RINGWALL_SESSION_TOOL_WORKER_H

#include <jansson.h>

#include "gate/scrub.h"
#include "platform/box.h"
#include "session/worker_message.h"
#include "tools/tool.h"
#include "wire/channel.h"

/* request->data of worker_main(). */
struct worker_config {
        const struct named_workspace *workspaces; /* at least one */
        size_t workspace_count;                  /* at most WORKSPACES_MAX */
        struct scrubber *scrubber;               /* for the output of commands; NULL: none */
};

/* Answers calls until the server closes the channel. Runs as: the command's process of a box. */
int worker_main(int socket, const struct launch_request *request);

/* --- in the server --- */

/*
 * Sends a call; `arguments` is NULL for none. With `progress`, the worker sends progress reports. Returns 0 or -errno.
 */
int worker_call(struct channel *c, json_int_t id, const char *tool, const json_t *arguments, bool progress);

/* Cancels a call and kills what it started. The worker answers a cancelled call too. Returns 0 or -errno. */
int worker_cancel(struct channel *c, json_int_t id);

/*
 * The next message from the worker: 1 with an answer or a progress report, 0 when none has arrived, -EPROTO when it is
 * malformed, -ENOMEM. The caller frees the message with worker_message_done() in all cases.
 */
int worker_receive(struct channel *c, struct worker_message *ret);

#endif
