/* The tables of tools, prompts and resources that the suite expects; see fixture.h. */
#include "fixture.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"

json_t *parse_quoted(const char *text)
{
        CLEANUP_TEXT struct text copy = { 0 };
        json_t *value = NULL;
        text_add(&copy, text);
        for (char *p = copy.data; p && (p = strchr(p, '\''));)
                *p = '"';
        (void)json_parse_bounded(copy.data, copy.length, MCP_BYTES_MAX, JSON_DEPTH_MAX, &value, NULL, NULL, NULL);
        if (!value) {
                (void)fprintf(stderr, "fixture: not JSON: %s\n", text);
                abort();
        }
        return value;
}

const char *argument(const struct pending_request *x, const char *name)
{
        const char *value = json_string_value(json_object_get(json_object_get(x->message.params, "arguments"), name));
        return value ? value : "";
}

void answer_text(struct pending_request *x, const char *text)
{
        request_answer_result(x, json_pack("{s:[{s:s, s:s}]}", "content", "type", "text", "text", text));
}

/* Answers with a result that a modern client may cache: it is told for how long. */
static void answer_cacheable(struct pending_request *x, json_t *result)
{
        if (x->message.modern) {
                json_object_set_new(result, "ttlMs", json_integer(0));
                json_object_set_new(result, "cacheScope", json_string("private"));
        }
        request_answer_result(x, result);
}

/* --- tools --- */

static const char schema_2020[] = "{'$schema':'https://json-schema.org/draft/2020-12/schema','type':'object',"
                                  "'$defs':{'address':{'$anchor':'addressDef','type':'object',"
                                  "'properties':{'street':{'type':'string'},'city':{'type':'string'}}}},"
                                  "'properties':{'name':{'type':'string'},'address':{'$ref':'#/$defs/address'},"
                                  "'contactMethod':{'type':'string','enum':['phone','email']},'phone':{'type':'string'}"
                                  ",'email':{'type':'string'}},"
                                  "'allOf':[{'anyOf':[{'required':['phone']},{'required':['email']}]}],"
                                  "'if':{'properties':{'contactMethod':{'const':'phone'}},'required':['contactMethod']}"
                                  ","
                                  "'then':{'required':['phone']},'else':{'required':['email']},'additionalProperties':"
                                  "false}";

#define DESCRIPTION "For the suite"
#define TEXT(words) "{'content':[{'type':'text','text':'" words "'}]}"
#define ONE_STRING(name) "{'type':'object','properties':{'" name "':{'type':'string'}},'required':['" name "']}"
#define INPUT "test_input_required_result_"

/* The first tool must be callable without arguments, because some scenarios call the first tool. */
static const struct fixture_tool fixtures[] = {
        { "test_simple_text", .result = TEXT("This is a simple text response for testing.") },
        { "test_image_content", .result = "{'content':[{'type':'image','data':'" IMAGE "','mimeType':'image/png'}]}" },
        { "test_audio_content", .result = "{'content':[{'type':'audio','data':'" SOUND "','mimeType':'audio/wav'}]}" },
        { "test_embedded_resource", .result = "{'content':[{'type':'resource','resource':{'uri':'test://"
                                              "embedded-resource','mimeType':'text/plain',"
                                              "'text':'This is an embedded resource content.'}}]}" },
        { "test_multiple_content_types", .result = "{'content':[{'type':'text','text':'Multiple content types test:'},"
                                                   "{'type':'image','data':'" IMAGE "','mimeType':'image/png'},"
                                                   "{'type':'resource','resource':{'uri':'test://"
                                                   "mixed-content-resource','mimeType':'application/json',"
                                                   "'text':'{\\'test\\':\\'data\\',\\'value\\':123}'}}]}" },
        { "test_error_handling", .result = "{'isError':true,'content':[{'type':'text',"
                                           "'text':'This tool intentionally returns an error for testing'}]}" },
        { "json_schema_2020_12_tool", .result = TEXT("ok"), .schema = schema_2020 },
        { "test_custom_header", .result = TEXT("ok"),
          .schema = "{'type':'object','properties':{'region':{'type':'string','x-mcp-header':'Region'}},"
                    "'required':['region']}" },
        { "test_tool_with_logging", .call = reply_after_logging },
        { "test_tool_with_progress", .call = reply_after_progress },
        { "test_reconnection", .call = reply_after_reconnection },
        { "test_sampling", .call = ask_sampling, .schema = ONE_STRING("prompt") },
        { "test_elicitation", .call = ask_elicitation, .schema = ONE_STRING("message") },
        { "test_elicitation_sep1034_defaults", .call = ask_defaults },
        { "test_elicitation_sep1330_enums", .call = ask_choices },
        { "test_logging_tool", .call = log_if_requested },
        { "test_trigger_tool_change", .call = announce_changed_tools },
        { "test_trigger_prompt_change", .call = announce_changed_prompts },
        { "test_missing_capability", .call = answer_input },
        { "test_streaming_elicitation", .call = answer_input },
        { INPUT "elicitation", .call = answer_input },
        { INPUT "sampling", .call = answer_input },
        { INPUT "list_roots", .call = answer_input },
        { INPUT "request_state", .call = answer_input },
        { INPUT "tampered_state", .call = answer_input },
        { INPUT "multiple_inputs", .call = answer_input },
        { INPUT "multi_round", .call = answer_input },
        { INPUT "capabilities", .call = answer_input },
};

static json_t *schema_of(const struct fixture_tool *t)
{
        return parse_quoted(t->schema ? t->schema : "{'type':'object','properties':{}}");
}

void list_tools(struct pending_request *x)
{
        json_t *list = json_array();
        for (size_t i = 0; i < ARRAY_SIZE(fixtures); i++)
                json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "name", fixtures[i].name, "description",
                                                      DESCRIPTION, "inputSchema", schema_of(&fixtures[i])));
        answer_cacheable(x, json_pack("{s:o}", "tools", list));
}

/* Do the headers Mcp-Param-* have the values of the arguments? */
static bool headers_match_arguments(const struct pending_request *x, const struct fixture_tool *t)
{
        CLEANUP_JSON json_t *schema = schema_of(t);
        const char *name;
        json_t *property;
        json_object_foreach (json_object_get(schema, "properties"), name, property) {
                const char *suffix = json_string_value(json_object_get(property, "x-mcp-header"));
                CLEANUP_TEXT struct text header = { 0 };
                if (!suffix)
                        continue;
                text_format(&header, "Mcp-Param-%s", suffix);
                if (!mcp_header_matches(x->route->header(x, header.data), argument(x, name)))
                        return false;
        }
        return true;
}

void call_tool(struct pending_request *x)
{
        const char *name = json_string_value(json_object_get(x->message.params, "name"));
        for (size_t i = 0; i < ARRAY_SIZE(fixtures); i++) {
                const struct fixture_tool *t = &fixtures[i];
                if (!name || strcmp(t->name, name) != 0)
                        continue;
                if (x->message.modern && !headers_match_arguments(x, t))
                        request_answer_error(x, MCP_HEADER_MISMATCH,
                                             "a header Mcp-Param-* must be what the argument is", NULL, 400);
                else if (t->call)
                        t->call(x);
                else
                        request_answer_result(x, parse_quoted(t->result));
                return;
        }
        request_answer_error(x, MCP_INVALID_PARAMS, "there is no such tool", NULL, 200);
}

/* --- prompts --- */

static json_t *text_block(const char *text)
{
        return json_pack("{s:s, s:s}", "type", "text", "text", text);
}

static json_t *prompt_simple(struct pending_request *x)
{
        (void)x;
        return json_pack("[o]", text_block("This is a simple prompt for testing."));
}

static json_t *prompt_with_arguments(struct pending_request *x)
{
        CLEANUP_TEXT struct text text = { 0 };
        text_format(&text, "Prompt with arguments: arg1='%s', arg2='%s'", argument(x, "arg1"), argument(x, "arg2"));
        return json_pack("[o]", text_block(text.data));
}

static json_t *prompt_with_resource(struct pending_request *x)
{
        json_t *resource = json_pack("{s:s, s:s, s:s}", "uri", argument(x, "resourceUri"), "mimeType", "text/plain",
                                     "text", "Embedded resource content for testing.");
        return json_pack("[{s:s, s:o}, o]", "type", "resource", "resource", resource,
                         text_block("Please process the embedded resource above."));
}

static json_t *prompt_with_image(struct pending_request *x)
{
        (void)x;
        return json_pack("[{s:s, s:s, s:s}, o]", "type", "image", "data", IMAGE, "mimeType", "image/png",
                         text_block("Please analyze the image above."));
}

static json_t *prompt_with_input(struct pending_request *x)
{
        CLEANUP_JSON json_t *input = require_input(x);
        CLEANUP_TEXT struct text text = { 0 };
        if (!input || json_write(input, &text, false) < 0)
                return NULL;
        return json_pack("[o]", text_block(text.data));
}

static const struct {
        const char *name;
        json_t *(*content)(struct pending_request *x); /* returns a block for each message, or NULL if it has replied */
        const char *arguments;
} prompts[] = {
        { "test_simple_prompt", prompt_simple, "[]" },
        { "test_prompt_with_arguments", prompt_with_arguments,
          "[{'name':'arg1','required':true},{'name':'arg2','required':true}]" },
        { "test_prompt_with_embedded_resource", prompt_with_resource, "[{'name':'resourceUri','required':true}]" },
        { "test_prompt_with_image", prompt_with_image, "[]" },
        { INPUT "prompt", prompt_with_input, "[]" },
};

void list_prompts(struct pending_request *x)
{
        json_t *list = json_array();
        for (size_t i = 0; i < ARRAY_SIZE(prompts); i++)
                json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "name", prompts[i].name, "description",
                                                      DESCRIPTION, "arguments", parse_quoted(prompts[i].arguments)));
        answer_cacheable(x, json_pack("{s:o}", "prompts", list));
}

static void answer_prompt(struct pending_request *x, json_t *content)
{
        json_t *messages = json_array(), *block;
        size_t i;
        json_array_foreach (content, i, block)
                json_array_append_new(messages, json_pack("{s:s, s:O}", "role", "user", "content", block));
        json_decref(content);
        request_answer_result(x, json_pack("{s:o}", "messages", messages));
}

void get_prompt(struct pending_request *x)
{
        const char *name = json_string_value(json_object_get(x->message.params, "name"));
        for (size_t i = 0; i < ARRAY_SIZE(prompts); i++) {
                if (!name || strcmp(prompts[i].name, name) != 0)
                        continue;
                json_t *content = prompts[i].content(x);
                if (content)
                        answer_prompt(x, content);
                return;
        }
        request_answer_error(x, MCP_INVALID_PARAMS, "there is no such prompt", NULL, 200);
}

/* --- resources --- */

static const struct {
        const char *uri, *name, *type, *key, *content;
} resources[] = {
        { "test://static-text", "static-text", "text/plain", "text",
          "This is the content of the static text resource." },
        { "test://static-binary", "static-binary", "image/png", "blob", IMAGE },
        { "test://watched-resource", "watched-resource", "text/plain", "text", "This is watched." },
};

void list_resources(struct pending_request *x)
{
        json_t *list = json_array();
        for (size_t i = 0; i < ARRAY_SIZE(resources); i++)
                json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "uri", resources[i].uri, "name",
                                                      resources[i].name, "description", DESCRIPTION, "mimeType",
                                                      resources[i].type));
        answer_cacheable(x, json_pack("{s:o}", "resources", list));
}

void list_templates(struct pending_request *x)
{
        answer_cacheable(x, parse_quoted("{'resourceTemplates':[{'uriTemplate':'test://template/{id}/data','name':"
                                         "'template','description':'" DESCRIPTION "','mimeType':'application/json'}"
                                         "]}"));
}

static void answer_content(struct pending_request *x, const char *uri, const char *type, const char *key,
                           const char *content)
{
        answer_cacheable(x, json_pack("{s:[{s:s, s:s, s:s}]}", "contents", "uri", uri, "mimeType", type, key, content));
}

/* Answers with the content of test://template/ID/data. False if the URI is not of this form. */
static bool read_template(struct pending_request *x, const char *uri)
{
        static const char begin[] = "test://template/", end[] = "/data";
        const char *id = uri + sizeof begin - 1;
        size_t length = text_has_prefix(uri, begin) ? strcspn(id, "/") : 0;
        CLEANUP_TEXT struct text out = { 0 };
        if (!length || strcmp(id + length, end) != 0)
                return false;
        CLEANUP_JSON json_t *content = json_pack("{s:s%, s:b, s:s+%}", "id", id, length, "templateTest", 1, "data",
                                                 "Data for ID: ", id, length);
        if (!content || json_write(content, &out, false) < 0)
                return false;
        answer_content(x, uri, "application/json", "text", out.data);
        return true;
}

void read_resource(struct pending_request *x)
{
        const char *uri = json_string_value(json_object_get(x->message.params, "uri"));
        for (size_t i = 0; uri && i < ARRAY_SIZE(resources); i++) {
                if (strcmp(resources[i].uri, uri) == 0) {
                        answer_content(x, uri, resources[i].type, resources[i].key, resources[i].content);
                        return;
                }
        }
        if (!uri || !read_template(x, uri))
                request_answer_error(x, x->message.modern ? MCP_INVALID_PARAMS : RESOURCE_NOT_FOUND,
                                     "Resource not found", json_pack("{s:s}", "uri", uri ? uri : ""), 200);
}
