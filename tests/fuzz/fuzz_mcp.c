/*
 * A client's message. Whatever it is, there is an answer, a call, or nothing to do; an answer is JSON-RPC that can be written,
 * with the id that was asked for or with none; and a call is of a tool that exists.
 */
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "fuzz.h"
#include "mcp/protocol.h"

static void check_reply(const struct mcp_event *event)
{
        CLEANUP_TEXT struct text out = { 0 };
        const char *version = json_string_value(json_object_get(event->reply, "jsonrpc"));
        const json_t *id = json_object_get(event->reply, "id"), *error = json_object_get(event->reply, "error");
        PROMISE(version && strcmp(version, "2.0") == 0);
        PROMISE(!error != !json_object_get(event->reply, "result"));
        PROMISE(!id || (event->id && json_equal(id, event->id)));
        PROMISE(!error || (json_is_integer(json_object_get(error, "code")) && json_is_string(json_object_get(error, "message"))));
        PROMISE(json_write(event->reply, &out, false) == 0);
        PROMISE(!memchr(out.data, '\n', out.length)); /* it is one line */
}

static void check_call(const struct mcp_event *event, bool readonly)
{
        PROMISE(event->tool && tool_find(event->tool->name) == event->tool && (!readonly || event->tool->reads_only));
        PROMISE(event->arguments && (json_is_string(event->id) || json_is_integer(event->id)));
        CLEANUP_JSON json_t *failure = mcp_failure(event->id, event->modern, "why");
        PROMISE(json_equal(json_object_get(failure, "id"), event->id));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        for (int readonly = 0; readonly < 2; readonly++) {
                struct mcp m = { .readonly = readonly };
                struct mcp_event event;
                mcp_take(&m, (const char *)data, size, &event);
                PROMISE((event.kind == MCP_REPLY) == (event.reply != NULL));
                if (event.kind == MCP_REPLY)
                        check_reply(&event);
                if (event.kind == MCP_CALL)
                        check_call(&event, readonly);
                if (event.kind == MCP_CANCEL)
                        PROMISE(json_is_string(event.id) || json_is_integer(event.id));
                mcp_event_done(&event);
        }
        return 0;
}
