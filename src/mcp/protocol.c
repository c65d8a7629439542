/*
 * MCP's two eras; see protocol.h.
 *
 * A legacy client (2025-11-25 and before) opens with `initialize`. A modern one (2026-07-28) opens with nothing: each of its
 * requests says its version in `params._meta`, and that is how they are told apart, message by message.
 *
 * What the client controls: everything. A message is parsed with bounds, keys match exactly, and what is wrong gets the
 * error that the protocol has for it. An unknown tool is an error of the protocol; wrong arguments are an answer of the
 * tool, because an agent can do better the next time.
 */
#include "mcp/protocol.h"

#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"

#define META "io.modelcontextprotocol/"
#define MODERN "2026-07-28"

enum {
        PARSE_ERROR = -32700,
        INVALID_REQUEST = -32600,
        UNKNOWN_METHOD = -32601,
        INVALID_PARAMS = -32602,
        UNSUPPORTED_VERSION = -32022,
        TOOLS_TTL_MS = 3600000, /* they are the same as long as the server runs */
};

/* The newest first: it is what an unknown client gets. */
static const char *const legacy_versions[] = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" };

/* --- answers --- */

/* Without an id when none could be read. */
static json_t *error_reply(const json_t *id, int code, const char *message, json_t *data)
{
        json_t *error = json_pack("{s:i, s:s}", "code", code, "message", message);
        if (error && data)
                json_object_set_new(error, "data", data);
        json_t *reply = json_pack("{s:s, s:o}", "jsonrpc", "2.0", "error", error);
        if (reply && id)
                json_object_set(reply, "id", (json_t *)(uintptr_t)id);
        return reply;
}

static json_t *server_info(void)
{
        return json_pack("{s:s, s:s, s:s}", "name", "ringwall", "title", "ringwall", "version", RINGWALL_VERSION);
}

static json_t *capabilities(void)
{
        return json_pack("{s:{s:b}}", "tools", "listChanged", 0);
}

/* Takes the result over. */
static json_t *result_reply(const json_t *id, bool modern, json_t *result)
{
        if (result && modern) {
                json_object_set_new(result, "resultType", json_string("complete"));
                json_object_set_new(result, "_meta", json_pack("{s:o}", META "serverInfo", server_info()));
        }
        return json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result);
}

json_t *mcp_result(const json_t *id, bool modern, const json_t *answer)
{
        const char *text = json_string_value(json_object_get(answer, "text"));
        const char *image = json_string_value(json_object_get(answer, "image_type"));
        json_t *structured = json_object_get(answer, "structured");
        bool failed = json_is_true(json_object_get(answer, "is_error"));
        json_t *content = image ? json_pack("[{s:s, s:s, s:s}]", "type", "image", "data", text ? text : "", "mimeType", image)
                                : json_pack("[{s:s, s:s}]", "type", "text", "text", text ? text : "");
        json_t *result = json_pack("{s:o, s:b}", "content", content, "isError", failed);
        if (result && structured)
                json_object_set(result, "structuredContent", structured);
        return result_reply(id, modern, result);
}

json_t *mcp_failure(const json_t *id, bool modern, const char *why)
{
        return result_reply(id, modern, json_pack("{s:[{s:s, s:s}], s:b}", "content", "type", "text", "text", why, "isError", 1));
}

/* --- methods --- */

struct request {
        const struct mcp *m;
        const json_t *id, *params;
        bool modern;
};

static json_t *initialize(const struct request *r)
{
        const char *asked = json_string_value(json_object_get(r->params, "protocolVersion")), *version = legacy_versions[0];
        if (!asked)
                return error_reply(r->id, INVALID_PARAMS, "initialize needs protocolVersion", NULL);
        for (size_t i = 0; i < ARRAY_SIZE(legacy_versions); i++)
                if (strcmp(legacy_versions[i], asked) == 0)
                        version = legacy_versions[i];
        return result_reply(r->id, false, json_pack("{s:s, s:o, s:o}", "protocolVersion", version, "capabilities",
                                                    capabilities(), "serverInfo", server_info()));
}

static json_t *ping(const struct request *r)
{
        return result_reply(r->id, r->modern, json_object());
}

static json_t *discover(const struct request *r)
{
        json_t *versions = json_array();
        json_array_append_new(versions, json_string(MODERN));
        for (size_t i = 0; i < ARRAY_SIZE(legacy_versions); i++)
                json_array_append_new(versions, json_string(legacy_versions[i]));
        return result_reply(r->id, true, json_pack("{s:o, s:o, s:i, s:s}", "supportedVersions", versions, "capabilities",
                                                   capabilities(), "ttlMs", TOOLS_TTL_MS, "cacheScope", "private"));
}

static bool is_offered(const struct mcp *m, const struct tool *t)
{
        return t && (t->reads_only || !m->readonly);
}

static json_t *list_tools(const struct request *r)
{
        json_t *list = json_array(), *cursor = json_object_get(r->params, "cursor");
        if (cursor && !(json_is_string(cursor) && !*json_string_value(cursor))) {
                json_decref(list);
                return error_reply(r->id, INVALID_PARAMS, "there is no such cursor", NULL);
        }
        for (size_t i = 0; i < tool_count; i++)
                if (is_offered(r->m, tools[i]))
                        json_array_append_new(list, tool_describe(tools[i]));
        json_t *result = json_pack("{s:o}", "tools", list);
        if (result && r->modern) {
                json_object_set_new(result, "ttlMs", json_integer(TOOLS_TTL_MS));
                json_object_set_new(result, "cacheScope", json_string("private"));
        }
        return result_reply(r->id, r->modern, result);
}

/* NULL when the call is to be made. */
static json_t *call_tool(const struct request *r, struct mcp_event *ret)
{
        const char *name = json_string_value(json_object_get(r->params, "name"));
        json_t *arguments = json_object_get(r->params, "arguments");
        const struct tool *tool = name ? tool_find(name) : NULL;
        if (!is_offered(r->m, tool)) {
                CLEANUP_TEXT struct text message = { 0 };
                text_format(&message, "there is no tool '%.60s'", name ? name : "");
                return error_reply(r->id, INVALID_PARAMS, message.data ? message.data : "there is no such tool", NULL);
        }
        ret->kind = MCP_CALL;
        ret->tool = tool;
        ret->arguments = arguments ? json_incref(arguments) : json_object();
        return NULL;
}

static const struct {
        const char *name;
        bool legacy, modern;
        json_t *(*answer)(const struct request *r);
} methods[] = {
        { "initialize", true, false, initialize },
        { "ping", true, true, ping },
        { "server/discover", false, true, discover },
        { "tools/list", true, true, list_tools },
};

static json_t *answer_request(const struct request *r, const char *method, struct mcp_event *ret)
{
        if (strcmp(method, "tools/call") == 0)
                return call_tool(r, ret);
        for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
                if (strcmp(methods[i].name, method) == 0 && (r->modern ? methods[i].modern : methods[i].legacy))
                        return methods[i].answer(r);
        if (strcmp(method, "server/discover") == 0)
                return error_reply(r->id, INVALID_PARAMS, "params._meta must say " META "protocolVersion", NULL);
        return error_reply(r->id, UNKNOWN_METHOD, "there is no such method", NULL);
}

/* --- messages --- */

/* Which era a request belongs to. NULL, or the error when its version is not known. */
static json_t *find_era(struct request *r)
{
        const json_t *meta = json_object_get(r->params, "_meta"), *version = json_object_get(meta, META "protocolVersion");
        if (!version)
                return NULL;
        r->modern = true;
        if (!json_is_string(version) || !json_is_object(json_object_get(meta, META "clientCapabilities")))
                return error_reply(r->id, INVALID_PARAMS, "params._meta must say " META "protocolVersion and "
                                   META "clientCapabilities", NULL);
        if (strcmp(json_string_value(version), MODERN) == 0)
                return NULL;
        return error_reply(r->id, UNSUPPORTED_VERSION, "this protocol version is not supported",
                           json_pack("{s:[s], s:s}", "supported", MODERN, "requested", json_string_value(version)));
}

static void take_request(const struct mcp *m, const json_t *message, const char *method, json_t *id, struct mcp_event *ret)
{
        struct request r = { .m = m, .id = id, .params = json_object_get(message, "params") };
        json_t *reply = NULL;
        if (r.params && !json_is_object(r.params))
                reply = error_reply(id, INVALID_PARAMS, "params must be an object", NULL);
        if (!reply)
                reply = find_era(&r);
        ret->id = json_incref(id);
        ret->modern = r.modern;
        if (!reply)
                reply = answer_request(&r, method, ret);
        if (reply)
                *ret = (struct mcp_event){ .kind = MCP_REPLY, .reply = reply, .id = ret->id, .modern = r.modern };
}

static void take_notification(const json_t *message, const char *method, struct mcp_event *ret)
{
        json_t *id = json_object_get(json_object_get(message, "params"), "requestId");
        if (strcmp(method, "notifications/cancelled") == 0 && (json_is_string(id) || json_is_integer(id)))
                *ret = (struct mcp_event){ .kind = MCP_CANCEL, .id = json_incref(id) };
}

static void refuse(struct mcp_event *ret, int code, const char *message)
{
        *ret = (struct mcp_event){ .kind = MCP_REPLY, .reply = error_reply(NULL, code, message, NULL) };
}

void mcp_take(const struct mcp *m, const char *text, size_t length, struct mcp_event *ret)
{
        CLEANUP_JSON json_t *message = NULL;
        *ret = (struct mcp_event){ .kind = MCP_NOTHING };
        if (json_parse_bounded(text, length, MCP_MOST_BYTES, JSON_DEPTH_MAX, &message, NULL, NULL, NULL) < 0) {
                refuse(ret, PARSE_ERROR, "this is not JSON that can be read");
                return;
        }
        const char *version = json_string_value(json_object_get(message, "jsonrpc"));
        const char *method = json_string_value(json_object_get(message, "method"));
        json_t *id = json_object_get(message, "id");
        bool answer = json_object_get(message, "result") || json_object_get(message, "error");
        if (!version || strcmp(version, "2.0") != 0 || (!method && !answer) ||
            (id && !json_is_string(id) && !json_is_integer(id)))
                refuse(ret, INVALID_REQUEST, json_is_array(message) ? "batches are not supported" : "this is no request");
        else if (method && id)
                take_request(m, message, method, id, ret);
        else if (method)
                take_notification(message, method, ret);
}

void mcp_event_done(struct mcp_event *event)
{
        json_decref(event->reply);
        json_decref(event->id);
        json_decref(event->arguments);
        *event = (struct mcp_event){ .kind = MCP_NOTHING };
}
