/*
 * A message of a worker, which a command in the box may have forged. If it is accepted, the reply made from it is one
 * line of JSON with exactly the keys of a reply, written as json_write() writes it; and its texts are those of the
 * message.
 */
#include <string.h>

#include "base/json.h"
#include "fuzz.h"
#include "mcp/protocol.h"

static bool equals(const json_t *string, const struct text *t)
{
        return json_string_length(string) == t->length &&
               (!t->length || memcmp(json_string_value(string), t->data, t->length) == 0);
}

static void check_result(const json_t *result, const struct worker_message *m, bool modern)
{
        const json_t *content = json_array_get(json_object_get(result, "content"), 0);
        const json_t *meta = json_object_get(result, "_meta"), *details = json_object_get(meta, MCP_META_DETAILS);
        bool is_image = *m->image_type;
        PROMISE(json_object_size(result) == 2U + (modern || m->field_count) + modern);
        PROMISE(json_array_size(json_object_get(result, "content")) == 1);
        PROMISE(json_object_size(content) == 2U + is_image);
        PROMISE(equals(json_object_get(content, is_image ? "data" : "text"), &m->text));
        PROMISE(json_is_true(json_object_get(result, "isError")) == m->is_error);
        PROMISE(json_object_size(meta) == (m->field_count != 0) + (size_t)modern);
        PROMISE(json_object_size(details) == m->field_count);
        for (size_t i = 0; i < m->field_count; i++)
                if (m->fields[i].type == WORKER_STRING)
                        PROMISE(equals(json_object_get(details, m->fields[i].name), &m->fields[i].string));
}

static void check_reply(const struct worker_message *m, bool modern)
{
        CLEANUP_TEXT struct text reply = { 0 }, again = { 0 };
        CLEANUP_JSON json_t *id = json_integer(7), *parsed = NULL;
        PROMISE(mcp_write_tool_reply(&reply, id, modern, m) == 0);
        PROMISE(!memchr(reply.data, '\n', reply.length));
        PROMISE(json_parse_bounded(reply.data, reply.length, JSON_WRITE_MAX, JSON_DEPTH_MAX, &parsed, NULL, NULL,
                                   NULL) == 0);
        PROMISE(json_write(parsed, &again, false) == 0);
        PROMISE(again.length == reply.length && memcmp(again.data, reply.data, reply.length) == 0);
        PROMISE(json_object_size(parsed) == 3);
        check_result(json_object_get(parsed, "result"), m, modern);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        CLEANUP_WORKER_MESSAGE struct worker_message m = { 0 };
        if (worker_message_read((const char *)data, size, &m) == 0) {
                check_reply(&m, false);
                check_reply(&m, true);
        }
        return 0;
}
