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

#define MCP_META "io.modelcontextprotocol/"
#define MCP_MODERN "2026-07-28"

enum {
        MCP_MOST_BYTES = 10 << 20, /* of a message: clients have the same bound */

        MCP_PARSE_ERROR = -32700,
        MCP_INVALID_REQUEST = -32600,
        MCP_UNKNOWN_METHOD = -32601,
        MCP_INVALID_PARAMS = -32602,
        MCP_INTERNAL_ERROR = -32603,
        MCP_REFUSED = -32000, /* before it was looked at: by HTTP's own rules */
        MCP_HEADER_MISMATCH = -32020,
        MCP_MISSING_CAPABILITY = -32021,
        MCP_UNSUPPORTED_VERSION = -32022,
};

/* What the headers of an HTTP request say of the message in its body. NULL: the header was not there. */
struct mcp_headers {
        const char *version, *method, *name;
};

enum mcp_kind { MCP_BAD, MCP_REQUEST, MCP_NOTIFICATION, MCP_RESPONSE };

/* A client's message. */
struct mcp_message {
        enum mcp_kind kind;
        json_t *whole;
        const char *method;   /* of a request or a notification */
        const json_t *id;     /* of a request or a response */
        const json_t *params; /* an object, or NULL */
        bool modern;
        json_t *error;        /* MCP_BAD: the answer to it */
        int status;           /* the HTTP status of that answer */
};

/*
 * Reads one message and says what it is. `headers` is NULL where there are none: over stdio. The message is the caller's:
 * mcp_message_done().
 */
void mcp_read(const struct mcp_headers *headers, const char *text, size_t length, struct mcp_message *ret);
void mcp_message_done(struct mcp_message *m);

/* Whether a header (NULL: it is not there) says what a string of the body says: as it is, or as base64 between marks. */
bool mcp_header_is(const char *header, const char *value);

/* Whether a legacy version is one that we speak. */
bool mcp_is_legacy(const char *version);

/* --- answers; each NULL without memory --- */

json_t *mcp_error(const json_t *id, int code, const char *message, json_t *data);

/* A request's answer, from its result, which is taken over. */
json_t *mcp_result(const json_t *id, bool modern, json_t *result);

json_t *mcp_notification(const char *method, json_t *params);

/* The result of a call, from the tools' answer ({"is_error", "text", "structured", "image_type"}). */
json_t *mcp_tool_result(const json_t *answer);

/* The result of a call that failed, or never came back. */
json_t *mcp_tool_failure(const char *why);

/* --- results of methods --- */

/* What a server offers. */
struct mcp_offer {
        bool readonly;                       /* only tools that read */
        json_t *(*capabilities)(bool modern); /* all that it declares; NULL: tools, and nothing else */
        const char *instructions;            /* for the agent; NULL: none */
        const struct workspace_name *workspaces; /* that tools work in; told when there are several */
        size_t workspace_count;
};

/* NULL when it is not asked for rightly: `why` says what is wrong. */
json_t *mcp_initialize(const struct mcp_offer *offer, const json_t *params, const char **why);
json_t *mcp_discover(const struct mcp_offer *offer);
json_t *mcp_list_tools(const struct mcp_offer *offer, const json_t *params, bool modern, const char **why);

/* The tool of a call, or NULL when none of that name is offered. */
const struct tool *mcp_find_tool(const struct mcp_offer *offer, const json_t *params);

#endif
