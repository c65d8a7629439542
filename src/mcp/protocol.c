/*
 * MCP's two eras; see protocol.h.
 *
 * A legacy client (2025-11-25 and before) begins with `initialize`. A modern one (2026-07-28) has no such beginning:
 * each of its requests has its version in `params._meta`, so each message shows which era it belongs to. Over HTTP a
 * modern request repeats parts of its body in headers, and both must agree.
 *
 * An attacker controls the whole message. It is parsed with bounds, keys match exactly, and each mistake gets the error
 * that the protocol defines for it. An unknown tool is a protocol error; wrong arguments are an error result of the
 * tool, which the agent sees and can correct.
 */
#include "mcp/protocol.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/base64.h"
#include "base/json.h"
#include "base/memory.h"

enum { TOOLS_TTL_MS = 3600000 /* the tools do not change while the server runs */ };

/* The newest comes first: a client that requests an unknown version gets it. */
static const char *const legacy_versions[] = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" };

bool mcp_legacy_version_supported(const char *version)
{
        for (size_t i = 0; i < ARRAY_SIZE(legacy_versions); i++)
                if (strcmp(legacy_versions[i], version) == 0)
                        return true;
        return false;
}

/* --- answers --- */

/* `id` is NULL if the message has no valid id. */
json_t *mcp_error(const json_t *id, int code, const char *message, json_t *data)
{
        json_t *error = json_pack("{s:i, s:s}", "code", code, "message", message);
        if (error && data)
                json_object_set_new(error, "data", data);
        json_t *reply = json_pack("{s:s, s:o}", "jsonrpc", "2.0", "error", error);
        if (reply && id)
                json_object_set(reply, "id", (json_t *)(uintptr_t)id);
        return reply;
}

#define SERVER_INFO                                                                                                    \
        "\"" MCP_META "serverInfo\":{\"name\":\"ringwall\",\"title\":\"ringwall\",\"version\":\"" RINGWALL_VERSION "\"}"

static json_t *server_info(void)
{
        return json_pack("{s:s, s:s, s:s}", "name", "ringwall", "title", "ringwall", "version", RINGWALL_VERSION);
}

json_t *mcp_result(const json_t *id, bool modern, json_t *result)
{
        if (result && modern) {
                if (!json_object_get(result, "resultType"))
                        json_object_set_new(result, "resultType", json_string("complete"));
                if (!json_object_get(result, "_meta"))
                        json_object_set_new(result, "_meta", json_object());
                json_object_set_new(json_object_get(result, "_meta"), MCP_META "serverInfo", server_info());
        }
        return json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result);
}

json_t *mcp_notification(const char *method, json_t *params)
{
        return json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method, "params", params);
}

/* Adds the escape of one character, which has `length` bytes of valid UTF-8. */
static void add_escape(struct text *out, const unsigned char *s, size_t length)
{
        static const char letters[128] = { ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n',  ['\f'] = 'f',
                                           ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\' };
        static const unsigned char lead_bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
        uint32_t c = s[0] & lead_bits[length];
        for (size_t i = 1; i < length; i++)
                c = c << 6 | (s[i] & 0x3fU);
        if (c < 0x80 && letters[c])
                text_add_bytes(out, (char[]){ '\\', letters[c] }, 2);
        else if (c == 0x7f)
                text_add(out, "\\u007f");
        else if (c < 0x10000)
                text_format(out, "\\u%04X", c);
        else
                text_format(out, "\\u%04X\\u%04X", 0xd800 + ((c - 0x10000) >> 10), 0xdc00 + (c & 0x3ff));
}

/* How many of the first bytes a string of JSON has as they are. */
static size_t plain_length(const unsigned char *s, size_t length)
{
        size_t n = 0;
        while (n < length && s[n] >= 0x20 && s[n] < 0x7f && s[n] != '"' && s[n] != '\\')
                n++;
        return n;
}

/* Adds valid UTF-8 as a string of JSON. Stops early when the reply is too long to be sent. */
static void add_string(struct text *out, const char *bytes, size_t length)
{
        text_add(out, "\"");
        while (length && out->length <= JSON_WRITE_MAX) {
                size_t n = plain_length((const unsigned char *)bytes, length);
                text_add_bytes(out, bytes, n);
                if (n == 0) {
                        n = text_utf8_sequence_length(bytes, length);
                        add_escape(out, (const unsigned char *)bytes, n);
                }
                bytes += n;
                length -= n;
        }
        text_add(out, "\"");
}

static void add_text(struct text *out, const struct text *t)
{
        add_string(out, t->data ? t->data : "", t->length);
}

static void add_details(struct text *out, const struct worker_message *answer)
{
        static const char *const literals[] = { "false", "true" };
        text_add(out, "\"" MCP_META_DETAILS "\":{");
        for (size_t i = 0; i < answer->field_count; i++) {
                const struct worker_field *f = &answer->fields[i];
                text_format(out, "%s\"%s\":", i ? "," : "", f->name);
                switch (f->type) {
                case WORKER_NULL:
                        text_add(out, "null");
                        break;
                case WORKER_BOOLEAN:
                        text_add(out, literals[f->number != 0]);
                        break;
                case WORKER_INTEGER:
                        text_format(out, "%lld", (long long)f->number);
                        break;
                case WORKER_STRING:
                        add_text(out, &f->string);
                        break;
                }
        }
        text_add(out, "}");
}

static void add_content(struct text *out, const struct worker_message *answer)
{
        bool is_image = *answer->image_type;
        text_add(out, is_image ? "{\"type\":\"image\",\"data\":" : "{\"type\":\"text\",\"text\":");
        add_text(out, &answer->text);
        if (is_image)
                text_format(out, ",\"mimeType\":\"%s\"", answer->image_type);
        text_add(out, "}");
}

int mcp_write_tool_reply(struct text *out, const json_t *id, bool modern, const struct worker_message *answer)
{
        text_add(out, "{\"jsonrpc\":\"2.0\",\"id\":");
        if (json_is_string(id))
                add_string(out, json_string_value(id), json_string_length(id));
        else
                text_format(out, "%lld", (long long)json_integer_value(id));
        text_add(out, ",\"result\":{\"content\":[");
        add_content(out, answer);
        text_add(out, answer->is_error ? "],\"isError\":true" : "],\"isError\":false");
        if (answer->field_count || modern)
                text_add(out, ",\"_meta\":{");
        if (answer->field_count)
                add_details(out, answer);
        if (modern)
                text_add(out, answer->field_count ? "," SERVER_INFO : SERVER_INFO);
        text_add(out, answer->field_count || modern ? "}" : "");
        text_add(out, modern ? ",\"resultType\":\"complete\"}}" : "}}");
        return out->failed ? -ENOMEM : out->length > JSON_WRITE_MAX ? -EFBIG : 0;
}

json_t *mcp_tool_error(const char *why)
{
        return json_pack("{s:[{s:s, s:s}], s:b}", "content", "type", "text", "text", why, "isError", 1);
}

/* --- results of methods --- */

static json_t *capabilities(const struct mcp_server_config *offer, bool modern)
{
        return offer->capabilities ? offer->capabilities(modern) : json_pack("{s:{s:b}}", "tools", "listChanged", 0);
}

static json_t *add_instructions(const struct mcp_server_config *offer, json_t *result)
{
        if (result && offer->instructions)
                json_object_set_new(result, "instructions", json_string(offer->instructions));
        return result;
}

json_t *mcp_initialize(const struct mcp_server_config *offer, const json_t *params, const char **why)
{
        const char *requested = json_string_value(json_object_get(params, "protocolVersion"));
        if (!requested) {
                *why = "initialize needs protocolVersion";
                return NULL;
        }
        return add_instructions(offer,
                                json_pack("{s:s, s:o, s:o}", "protocolVersion",
                                          mcp_legacy_version_supported(requested) ? requested : legacy_versions[0],
                                          "capabilities", capabilities(offer, false), "serverInfo", server_info()));
}

json_t *mcp_discover(const struct mcp_server_config *offer)
{
        json_t *versions = json_array();
        json_array_append_new(versions, json_string(MCP_VERSION_MODERN));
        for (size_t i = 0; i < ARRAY_SIZE(legacy_versions); i++)
                json_array_append_new(versions, json_string(legacy_versions[i]));
        return add_instructions(offer, json_pack("{s:o, s:o, s:i, s:s}", "supportedVersions", versions, "capabilities",
                                                 capabilities(offer, true), "ttlMs", TOOLS_TTL_MS, "cacheScope",
                                                 "private"));
}

static bool is_offered(const struct mcp_server_config *offer, const struct tool *t)
{
        return t && (t->reads_only || !offer->readonly);
}

json_t *mcp_list_tools(const struct mcp_server_config *offer, const json_t *params, bool modern, const char **why)
{
        json_t *list = json_array(), *cursor = json_object_get(params, "cursor");
        if (cursor && !(json_is_string(cursor) && !*json_string_value(cursor))) {
                json_decref(list);
                *why = "unknown cursor: the list of tools has one page only";
                return NULL;
        }
        for (size_t i = 0; i < tool_count; i++)
                if (is_offered(offer, tool_table[i]))
                        json_array_append_new(list,
                                              tool_describe(tool_table[i], offer->workspaces, offer->workspace_count));
        json_t *result = json_pack("{s:o}", "tools", list);
        if (result && modern) {
                json_object_set_new(result, "ttlMs", json_integer(TOOLS_TTL_MS));
                json_object_set_new(result, "cacheScope", json_string("private"));
        }
        return result;
}

const struct tool *mcp_find_tool(const struct mcp_server_config *offer, const json_t *params)
{
        const char *name = json_string_value(json_object_get(params, "name"));
        const struct tool *tool = name ? tool_find(name) : NULL;
        return is_offered(offer, tool) ? tool : NULL;
}

/* --- messages --- */

static void refuse(struct mcp_message *m, int code, const char *message, json_t *data)
{
        m->kind = MCP_INVALID;
        m->status = 400;
        m->error = mcp_error(m->id, code, message, data);
}

/* A value that cannot be sent in a header as it is comes as base64. */
bool mcp_header_matches(const char *header, const char *value)
{
        static const char begin[] = "=?base64?", end[] = "?=";
        const size_t begins = sizeof begin - 1, ends = sizeof end - 1, length = header ? strlen(header) : 0;
        CLEANUP_TEXT struct text decoded = { 0 };
        if (length < begins + ends || strncmp(header, begin, begins) != 0 || strcmp(header + length - ends, end) != 0)
                return header && strcmp(header, value) == 0;
        return base64_decode(&decoded, header + begins, length - begins - ends) && decoded.length == strlen(value) &&
               memcmp(decoded.data, value, decoded.length) == 0;
}

/* The name or URI in the params of a method that has one; else NULL. */
static const char *find_name(const struct mcp_message *m)
{
        static const struct {
                const char *method, *key;
        } names[] = { { "tools/call", "name" }, { "prompts/get", "name" }, { "resources/read", "uri" } };
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (strcmp(names[i].method, m->method) == 0)
                        return json_string_value(json_object_get(m->params, names[i].key));
        return NULL;
}

/* Compares the headers of a modern request with its body. NULL if they agree, else the message of the error. */
static const char *find_mismatch(const struct mcp_headers *h, const struct mcp_message *m, const char *version)
{
        const char *name = find_name(m);
        return !h->version || strcmp(h->version, version) != 0
                ? "the header MCP-Protocol-Version must equal the version in params._meta"
             : !h->method || strcmp(h->method, m->method) != 0 ? "the header Mcp-Method must equal the body's method"
             : name && !mcp_header_matches(h->name, name) ? "the header Mcp-Name must equal the name or uri in the body"
                                                     : NULL;
}

static void read_modern(const struct mcp_headers *headers, struct mcp_message *m)
{
        const json_t *meta = json_object_get(m->params, "_meta");
        const char *version = json_string_value(json_object_get(meta, MCP_META "protocolVersion"));
        m->modern = true;
        if (!version || !json_is_object(json_object_get(meta, MCP_META "clientCapabilities"))) {
                refuse(m, MCP_INVALID_PARAMS, "params._meta must have " MCP_META "protocolVersion and " MCP_META
                       "clientCapabilities", NULL);
                return;
        }
        const char *mismatch = headers ? find_mismatch(headers, m, version) : NULL;
        bool known = strcmp(version, MCP_VERSION_MODERN) == 0;
        if (mismatch && (known || strcmp(headers->version ? headers->version : "", version) != 0))
                refuse(m, MCP_HEADER_MISMATCH, mismatch, NULL);
        else if (!known)
                refuse(m, MCP_UNSUPPORTED_VERSION, "this protocol version is not supported",
                       json_pack("{s:[s], s:s}", "supported", MCP_VERSION_MODERN, "requested", version));
}

static void read_request(const struct mcp_headers *headers, struct mcp_message *m)
{
        const json_t *meta = json_object_get(m->params, "_meta");
        if (json_object_get(meta, MCP_META "protocolVersion") || strcmp(m->method, "server/discover") == 0 ||
            (headers && headers->version && !mcp_legacy_version_supported(headers->version)))
                read_modern(headers, m);
}

void mcp_reject_message(const struct request_id *id, const char *why, struct mcp_message *ret)
{
        *ret = (struct mcp_message){ .json = request_id_take(id) };
        ret->id = ret->json;
        refuse(ret, MCP_PARSE_ERROR, why, NULL);
}

static void reject_unparsed(const char *text, size_t length, const struct error *why, struct mcp_message *ret)
{
        struct request_id id = { 0 };
        CLEANUP_TEXT struct text sentence = { 0 };
        request_id_feed(&id, text, length);
        text_format(&sentence, "the message cannot be parsed: %s", why->text);
        if (sentence.data)
                text_remove_invalid_utf8(sentence.data); /* the error may be truncated inside a character */
        mcp_reject_message(&id, sentence.data ? sentence.data : "the message cannot be parsed", ret);
}

static bool is_valid_id(const json_t *id)
{
        return json_is_string(id) || json_is_integer(id);
}

void mcp_parse_message(const struct mcp_headers *headers, const char *text, size_t length, struct mcp_message *ret)
{
        struct error why = { 0 };
        *ret = (struct mcp_message){ .kind = MCP_INVALID };
        if (json_parse_bounded(text, length, MCP_BYTES_MAX, JSON_DEPTH_MAX, &ret->json, &why, NULL, NULL) < 0) {
                reject_unparsed(text, length, &why, ret);
                return;
        }
        const json_t *whole = ret->json, *id = json_object_get(whole, "id");
        const char *version = json_string_value(json_object_get(whole, "jsonrpc"));
        bool answer = json_object_get(whole, "result") || json_object_get(whole, "error");
        ret->method = json_string_value(json_object_get(whole, "method"));
        ret->id = is_valid_id(id) ? id : NULL;
        if (!version || strcmp(version, "2.0") != 0 || (!ret->method && !answer) || (id && !ret->id)) {
                refuse(ret, MCP_INVALID_REQUEST,
                       json_is_array(whole) ? "batches are not supported" : "this is not a JSON-RPC 2.0 message", NULL);
                return;
        }
        ret->params = json_object_get(whole, "params");
        ret->kind = !ret->method ? MCP_RESPONSE : id ? MCP_REQUEST : MCP_NOTIFICATION;
        if (ret->params && !json_is_object(ret->params)) {
                ret->params = NULL;
                if (ret->kind == MCP_REQUEST)
                        refuse(ret, MCP_INVALID_PARAMS, "params must be an object", NULL);
        } else if (ret->kind == MCP_REQUEST) {
                read_request(headers, ret);
        }
}

void mcp_message_done(struct mcp_message *m)
{
        json_decref(m->json);
        json_decref(m->error);
        *m = (struct mcp_message){ .kind = MCP_INVALID };
}
