/*
 * MCP: what a client's message asks for, and what the answers look like, in both eras. Makes no system call. Theory of
 * operation: protocol.c.
 */
#ifndef RINGWALL_MCP_PROTOCOL_H
#define RINGWALL_MCP_PROTOCOL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "tools/tool.h"

enum { MCP_MOST_BYTES = 10 << 20 }; /* of a message: clients have the same bound */

struct mcp {
        bool readonly; /* only tools that read */
        void (*tell)(const char *sentence); /* to the person who started the server */
};

enum mcp_kind {
        MCP_NOTHING, /* a notification, or an answer to something that we never asked */
        MCP_REPLY,   /* `reply` is the answer */
        MCP_CALL,    /* `tool` is to be called with `arguments`; mcp_result() makes the answer of what it says */
        MCP_CANCEL,  /* the call with this `id` is not wanted any more */
};

struct mcp_event {
        enum mcp_kind kind;
        json_t *reply;
        json_t *id;
        bool modern;
        const struct tool *tool;
        json_t *arguments;
};

/* One message. The event's values are the caller's: mcp_event_done(). */
void mcp_take(const struct mcp *m, const char *text, size_t length, struct mcp_event *ret);
void mcp_event_done(struct mcp_event *event);

/* The answer to a call, from the tools' own ({"is_error", "text", "structured", "image_type"}). NULL without memory. */
json_t *mcp_result(const json_t *id, bool modern, const json_t *answer);

/* The answer to a call that never came back. */
json_t *mcp_failure(const json_t *id, bool modern, const char *why);

#endif
