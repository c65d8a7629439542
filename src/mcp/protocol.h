/*
 * MCP: parses a client's message and builds the replies, in both eras of the protocol. Makes no system call. Theory of
 * operation: protocol.c.
 */
#ifndef RINGWALL_MCP_PROTOCOL_H
#define RINGWALL_MCP_PROTOCOL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "mcp/request_id.h"
#include "session/worker_message.h"
#include "tools/tool.h"

#define MCP_META "io.modelcontextprotocol/"
/* In the _meta of a tool's result: the same in fields, for programs. Clients do not show it to the model. */
#define MCP_META_DETAILS "ringwall/details"
/*
 * In the _meta of a modern request: the key of its client's session. In the _meta of the result of server/discover: a
 * key that the client may use. The HTTP header says the same for clients whose configuration can only set headers.
 */
#define MCP_META_SESSION "ringwall/session"
#define MCP_HEADER_SESSION "Ringwall-Session"
#define MCP_VERSION_MODERN "2026-07-28"

enum {
        MCP_BYTES_MAX = 10 << 20, /* of a message; clients have the same limit */

        MCP_PARSE_ERROR = -32700,
        MCP_INVALID_REQUEST = -32600,
        MCP_UNKNOWN_METHOD = -32601,
        MCP_INVALID_PARAMS = -32602,
        MCP_INTERNAL_ERROR = -32603,
        MCP_HTTP_REJECTED = -32000, /* the HTTP layer refused the request before parsing the message */
        MCP_HEADER_MISMATCH = -32020,
        MCP_MISSING_CAPABILITY = -32021,
        MCP_UNSUPPORTED_VERSION = -32022,
};

/* The HTTP headers that repeat parts of the message in the body. NULL: the header is missing. */
struct mcp_headers {
        const char *version, *method, *name;
};

enum mcp_kind { MCP_INVALID, MCP_REQUEST, MCP_NOTIFICATION, MCP_RESPONSE };

/* A client's message. */
struct mcp_message {
        enum mcp_kind kind;
        json_t *json;
        const char *method;   /* of a request or a notification */
        const json_t *id;     /* of a request or a response */
        const json_t *params; /* an object, or NULL */
        bool modern;
        json_t *error;        /* MCP_INVALID: the reply */
        int status;           /* the HTTP status of that reply */
};

/*
 * Parses one message. `headers` is NULL for stdio, which has no headers. The caller frees the message with
 * mcp_message_done().
 */
void mcp_parse_message(const struct mcp_headers *headers, const char *text, size_t length, struct mcp_message *ret);
void mcp_message_done(struct mcp_message *m);

/* Makes *ret an invalid message, whose reply has the id, if one was found, and the reason. */
void mcp_reject_message(const struct request_id *id, const char *why, struct mcp_message *ret);

/* Is the header (NULL: missing) equal to a string of the body, verbatim or encoded as =?base64?…?= */
bool mcp_header_matches(const char *header, const char *value);

/* Is it a legacy version that the server supports? */
bool mcp_legacy_version_supported(const char *version);

/* --- replies; each NULL without memory --- */

json_t *mcp_error(const json_t *id, int code, const char *message, json_t *data);

/* The reply to a request. Takes ownership of the result. */
json_t *mcp_result(const json_t *id, bool modern, json_t *result);

json_t *mcp_notification(const char *method, json_t *params);

/*
 * Adds the reply to a call, made from the tools' answer, as json_write() would write it: one line of ASCII. Returns 0;
 * -EFBIG beyond JSON_WRITE_MAX, -ENOMEM, and then `out` must not be used.
 */
int mcp_write_tool_reply(struct text *out, const json_t *id, bool modern, const struct worker_message *answer);

/* The result of a call that failed or was lost. */
json_t *mcp_tool_error(const char *why);

/* --- results of methods --- */

/* What a server offers. */
struct mcp_server_config {
        bool readonly;                       /* only tools that read */
        json_t *(*capabilities)(bool modern); /* the declared capabilities; NULL: only tools */
        const char *instructions;            /* for the agent; NULL: none */
        const struct named_workspace
                *workspaces; /* for the tools' descriptions, which name them if there are several */
        size_t workspace_count;
};

/* NULL if the params are invalid; then `why` says what is wrong with them. */
json_t *mcp_initialize(const struct mcp_server_config *offer, const json_t *params, const char **why);
json_t *mcp_discover(const struct mcp_server_config *offer);
json_t *mcp_list_tools(const struct mcp_server_config *offer, const json_t *params, bool modern, const char **why);

/* The tool of a call, or NULL if no tool of that name is offered. */
const struct tool *mcp_find_tool(const struct mcp_server_config *offer, const json_t *params);

#endif
