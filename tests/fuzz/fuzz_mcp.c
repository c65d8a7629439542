/*
 * A client's message. It is a request with an id, a notification or a response, or it is refused by a valid JSON-RPC
 * error with the request's id or without an id. The first byte selects the HTTP headers.
 */
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "fuzz.h"
#include "mcp/protocol.h"

static void check_reply(const json_t *reply, const json_t *request_id)
{
        CLEANUP_TEXT struct text out = { 0 };
        const char *version = json_string_value(json_object_get(reply, "jsonrpc"));
        const json_t *id = json_object_get(reply, "id"), *error = json_object_get(reply, "error");
        PROMISE(version && strcmp(version, "2.0") == 0);
        PROMISE(!error != !json_object_get(reply, "result"));
        PROMISE(!id || (request_id && json_equal(id, request_id)));
        PROMISE(!error ||
                (json_is_integer(json_object_get(error, "code")) && json_is_string(json_object_get(error, "message"))));
        PROMISE(json_write(reply, &out, false) == 0);
        PROMISE(!memchr(out.data, '\n', out.length)); /* a message is one line */
}

static void check_request(const struct mcp_message *m)
{
        static const struct mcp_server_config configs[] = { { 0 }, { .readonly = true } };
        PROMISE(m->method && (json_is_string(m->id) || json_is_integer(m->id)) &&
                (!m->params || json_is_object(m->params)));
        for (size_t i = 0; i < ARRAY_SIZE(configs); i++) {
                const struct tool *tool = mcp_find_tool(&configs[i], m->params);
                const char *why = NULL;
                CLEANUP_JSON json_t *initialized = mcp_initialize(&configs[i], m->params, &why);
                PROMISE(!initialized == (why != NULL));
                why = NULL;
                CLEANUP_JSON json_t *list = mcp_list_tools(&configs[i], m->params, m->modern, &why);
                PROMISE(!list == (why != NULL));
                PROMISE(!tool || (tool_find(tool->name) == tool && (!configs[i].readonly || tool->reads_only)));
        }
        CLEANUP_JSON json_t *failure = mcp_result(m->id, m->modern, mcp_tool_error("why"));
        PROMISE(json_equal(json_object_get(failure, "id"), m->id));
        check_reply(failure, m->id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static const struct mcp_headers headers[] = {
                { 0 }, { .version = "2025-11-25" }, { .version = "2026-07-28", .method = "tools/call", .name = "Read" },
                { .version = "v999", .method = "ping", .name = "=?base64?UmVhZA==?=" },
        };
        struct mcp_message m;
        if (!size)
                return 0;
        size_t which = data[0] % (ARRAY_SIZE(headers) + 1);
        mcp_parse_message(which ? &headers[which - 1] : NULL, (const char *)data + 1, size - 1, &m);
        PROMISE((m.kind == MCP_INVALID) == (m.error != NULL));
        PROMISE((m.kind == MCP_INVALID) == (m.status != 0));
        if (m.kind == MCP_INVALID)
                check_reply(m.error, json_object_get(m.json, "id"));
        if (m.kind == MCP_REQUEST)
                check_request(&m);
        mcp_message_done(&m);
        return 0;
}
