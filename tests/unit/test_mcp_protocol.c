/* The MCP protocol, message by message, in its legacy and its modern version. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "mcp/server.h"

static const struct mcp_server_config all_tools = { 0 }, readonly_tools = { .readonly = true };

/* The send function of a route that keeps the last message. */
static void keep_reply(struct pending_request *x, json_t *message, bool last, int status)
{
        char **reply = x->transport;
        (void)last;
        (void)status;
        free(*reply);
        *reply = message ? json_dumps(message, JSON_COMPACT) : NULL;
        json_decref(message);
}

static const struct transport_ops route = { .send = keep_reply };

/* Returns the reply to a message, in which ' stands for ", as text, or NULL. There is no broker. */
static char *reply_to(const struct mcp_server_config *offer, const char *message)
{
        struct server server = { .offer = offer, .broker = -1 };
        struct session *session = session_open(&server);
        struct mcp_message m;
        char *copy = strdup(message), *reply = NULL;
        for (char *p = copy; (p = strchr(p, '\''));)
                *p = '"';
        mcp_parse_message(NULL, copy, strlen(copy), &m);
        free(copy);
        if (m.kind == MCP_INVALID) {
                reply = json_dumps(m.error, JSON_COMPACT);
                mcp_message_done(&m);
        } else {
                server_handle_message(session, &m, &route, &reply, NULL);
        }
        assert_int_equal(session->waiting, 0);
        session_close(session);
        return reply;
}

static void check_has(const struct mcp_server_config *m, const char *message, const char *expected)
{
        char *reply = reply_to(m, message);
        CLEANUP_TEXT struct text expected_json = { 0 };
        for (const char *p = expected; *p; p++)
                text_add_bytes(&expected_json, *p == '\'' ? "\"" : p, 1);
        if (!reply || !strstr(reply, expected_json.data))
                fail_msg("%s: the reply is %s\nwithout %s", message, reply ? reply : "missing", expected_json.data);
        free(reply);
}

static void check_no_reply(const char *message)
{
        char *reply = reply_to(&all_tools, message);
        if (reply)
                fail_msg("%s: %s", message, reply);
}

static void test_initialize_answers_with_a_version_that_the_client_knows(void **state)
{
        (void)state;
        static const char *const known[] = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" };
        for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
                CLEANUP_TEXT struct text message = { 0 }, answer = { 0 };
                text_format(&message,
                            "{'jsonrpc':'2.0','id':1,'method':'initialize','params':{'protocolVersion':'%s'}}",
                            known[i]);
                text_format(&answer, "'protocolVersion':'%s'", known[i]);
                check_has(&all_tools, message.data, answer.data);
        }
        /* Never the modern version, because clients would give up. */
        check_has(&all_tools,
                  "{'jsonrpc':'2.0','id':1,'method':'initialize','params':{'protocolVersion':'2026-07-28'}}",
                  "'protocolVersion':'2025-11-25'");
        check_has(&all_tools, "{'jsonrpc':'2.0','id':1,'method':'initialize','params':{}}", "-32602");
}

#define META_2026                                                                                                      \
        "'_meta':{'io.modelcontextprotocol/protocolVersion':'2026-07-28','io.modelcontextprotocol/"                    \
        "clientCapabilities':{}}"

static void test_modern_client_needs_no_initialize(void **state)
{
        (void)state;
        check_has(&all_tools, "{'jsonrpc':'2.0','id':1,'method':'server/discover','params':{" META_2026 "}}",
                  "'supportedVersions':['2026-07-28',");
        check_has(&all_tools, "{'jsonrpc':'2.0','id':1,'method':'server/discover','params':{" META_2026 "}}",
                  "'resultType':'complete'");
        check_has(&all_tools, "{'jsonrpc':'2.0','id':1,'method':'tools/list','params':{" META_2026 "}}",
                  "'cacheScope':'private'");
        check_has(&all_tools, "{'jsonrpc':'2.0','id':1,'method':'tools/list','params':{" META_2026 "}}", "'ttlMs':");
        check_has(&all_tools, "{'jsonrpc':'2.0','id':1,'method':'initialize','params':{" META_2026 "}}", "-32601");
        check_has(&all_tools, "{'jsonrpc':'2.0','id':1,'method':'server/discover'}", "-32602");
        check_has(&all_tools,
                  "{'jsonrpc':'2.0','id':1,'method':'ping','params':{'_meta':{'io.modelcontextprotocol/"
                  "protocolVersion':'2026-07-28'}}}",
                  "-32602");
        check_has(&all_tools,
                  "{'jsonrpc':'2.0','id':1,'method':'ping','params':{'_meta':{'io.modelcontextprotocol/"
                  "protocolVersion':'2027-01-01','io.modelcontextprotocol/clientCapabilities':{}}}}",
                  "'code':-32022,'message':'this protocol version is not "
                  "supported','data':{'supported':['2026-07-28'],'requested':'2027-01-01'}");
}

static void test_malformed_messages_get_an_error(void **state)
{
        (void)state;
        check_has(&all_tools, "nonsense", "{'jsonrpc':'2.0','error':{'code':-32700");
        check_has(&all_tools, "{'jsonrpc':'2.0','id':1,'id':2,'method':'ping'}", "-32700"); /* an ambiguous id */
        check_has(&all_tools, "[]", "batches are not supported");
        check_has(&all_tools, "[{'jsonrpc':'2.0','id':1,'method':'ping'}]", "-32600");
        check_has(&all_tools, "{'id':1,'method':'ping'}", "-32600");
        check_has(&all_tools, "{'jsonrpc':'1.0','id':1,'method':'ping'}", "-32600");
        check_has(&all_tools, "{'jsonrpc':'2.0','id':null,'method':'ping'}", "{'jsonrpc':'2.0','error':{'code':-32600");
        check_has(&all_tools, "{'jsonrpc':'2.0','id':1.5,'method':'ping'}", "-32600");
        check_has(&all_tools, "{'jsonrpc':'2.0','id':{},'method':'ping'}", "-32600");
        check_has(&all_tools, "{'jsonrpc':'2.0','id':1,'method':7}", "-32600");
        check_has(&all_tools, "{'jsonrpc':'2.0','id':1,'method':'ping','params':[]}", "-32602");
        check_has(&all_tools, "{'jsonrpc':'2.0','id':1,'method':'Ping'}", "-32601");
        check_has(&all_tools, "{'jsonrpc':'2.0','id':1,'method':'tools/call','params':{'name':'rm'}}",
                  "'code':-32602,'message':'there is no tool ");
        check_has(&all_tools, "{'jsonrpc':'2.0','id':1,'method':'tools/call','params':{}}", "-32602");
        check_has(&all_tools, "{'jsonrpc':'2.0','id':1,'method':'tools/list','params':{'cursor':'x'}}", "-32602");
}

static void test_message_that_cannot_be_parsed_gets_an_error_with_its_id(void **state)
{
        static const char *const paths[] = { "'a\\u0000b'",          "'\\ud800'",     "1e999",
                                             "99999999999999999999", "{'a':1,'a':2}", "'}],\\\\\\'id\\':3,\\u0000'" };
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
                CLEANUP_TEXT struct text first = { 0 }, last = { 0 };
                text_format(&first, "{'id':7,'jsonrpc':'2.0','method':'x','params':[{'id':8,'a':%s}]}", paths[i]);
                text_format(&last, "{ 'jsonrpc':'2.0', 'method' : 'x','params':[{'id':8,'a':%s}] , 'id' : 'a' }",
                            paths[i]);
                check_has(&all_tools, first.data, "'id':7}");
                check_has(&all_tools, last.data, "'id':'a'}");
        }
        CLEANUP_TEXT struct text deep = { 0 };
        text_add(&deep, "{'jsonrpc':'2.0','params':");
        for (size_t i = 0; i < 100; i++)
                text_add(&deep, "[");
        for (size_t i = 0; i < 100; i++)
                text_add(&deep, "]");
        text_add(&deep, ",'method':'x','id':7}");
        check_has(&all_tools, deep.data, "nested too deeply'},'id':7}");
        check_has(&all_tools, "{'jsonrpc':'1.0','id':7,'method':'ping'}", "'id':7}");
        check_has(&all_tools, "{'a':1e999,'id':{'id':7}}", "}}");
        check_has(&all_tools, "{'a':1e999,'id':7.5}", "}}");
        check_has(&all_tools, "[{'a':1e999,'id':7}]", "}}");
}

static void test_id_is_found_in_a_message_that_comes_in_pieces(void **state)
{
        static const char message[] = "{\"jsonrpc\":\"2.0\",\"id\" : \"x\\\"y\" ,\"method\":\"m\"}";
        (void)state;
        for (size_t piece = 1; piece < sizeof message; piece++) {
                struct request_id r = { 0 };
                for (size_t at = 0; at < sizeof message - 1; at += piece)
                        request_id_feed(&r, message + at,
                                        at + piece < sizeof message - 1 ? piece : sizeof message - 1 - at);
                CLEANUP_JSON json_t *id = request_id_take(&r);
                assert_string_equal(json_string_value(id), "x\"y");
        }
}

static void test_notifications_and_responses_get_no_reply(void **state)
{
        (void)state;
        check_no_reply("{'jsonrpc':'2.0','method':'notifications/initialized'}");
        check_no_reply("{'jsonrpc':'2.0','method':'nothing/known','params':7}");
        check_no_reply("{'jsonrpc':'2.0','id':1,'result':{}}");
        check_no_reply("{'jsonrpc':'2.0','id':1,'error':{'code':1,'message':'x'}}");
        check_no_reply("{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':'a'}}");
        check_no_reply("{'jsonrpc':'2.0','method':'notifications/cancelled'}");
}

static void test_reply_repeats_the_id(void **state)
{
        (void)state;
        check_has(&all_tools, "{'jsonrpc':'2.0','id':9007199254740993,'method':'ping'}",
                  "'id':9007199254740993,'result':{}");
        check_has(&all_tools, "{'jsonrpc':'2.0','id':'\\u00e9','method':'ping'}", "'id':'\xc3\xa9'");
        check_has(&all_tools, "{'jsonrpc':'2.0','id':'','method':'ping'}", "'id':''");
        check_has(&all_tools, "{'jsonrpc':'2.0','id':0,'method':'ping'}", "'id':0,");
}

static void test_readonly_offers_only_tools_that_read(void **state)
{
        (void)state;
        static const char list[] = "{'jsonrpc':'2.0','id':1,'method':'tools/list'}";
        char *all = reply_to(&all_tools, list), *some = reply_to(&readonly_tools, list);
        assert_non_null(strstr(all, "\"name\":\"Write\""));
        assert_null(strstr(some, "\"name\":\"Write\""));
        assert_non_null(strstr(some, "\"name\":\"Read\""));
        free(all);
        free(some);
        check_has(&readonly_tools, "{'jsonrpc':'2.0','id':1,'method':'tools/call','params':{'name':'Write'}}",
                  "-32602");
}

static void test_reply_to_a_tool_call(void **state)
{
        (void)state;
        CLEANUP_JSON json_t *id = json_integer(7);
        struct worker_message answer = { .text = { .data = (char[]){ "t" }, .length = 1 } };
        answer.fields[answer.field_count++] =
                (struct worker_field){ .name = "lines", .type = WORKER_INTEGER, .number = 1 };
        CLEANUP_TEXT struct text reply = { 0 };
        assert_int_equal(mcp_write_tool_reply(&reply, id, false, &answer), 0);
        assert_string_equal(reply.data, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"text\","
                                        "\"text\":\"t\"}],\"isError\":false,"
                                        "\"_meta\":{\"ringwall/details\":{\"lines\":1}}}}");
        /* If no box can be started, the call fails with a tool error. */
        check_has(&all_tools,
                  "{'jsonrpc':'2.0','id':7,'method':'tools/call','params':{'name':'Read','arguments':{},'x':1}}",
                  "'isError':true");
        check_has(&all_tools, "{'jsonrpc':'2.0','id':7,'method':'tools/call','params':{'name':'Read'," META_2026 "}}",
                  "'resultType':'complete'");
}

/* Writes the answer as the worker does, and reads it as the server does. The caller frees both. */
static void pass_answer(const struct tool_result *answer, struct text *ret_frame, struct worker_message *ret)
{
        CLEANUP_JSON json_t *secrets = json_pack("{s:i, s:i}", "aws-access-key-id", 2, "jwt", 1);
        assert_int_equal(worker_message_write_answer(ret_frame, 5, answer, secrets), 0);
        assert_int_equal(worker_message_read(ret_frame->data, ret_frame->length, ret), 0);
        assert_int_equal(ret->call, 5);
        assert_true(json_equal(ret->secrets, secrets));
}

static void test_reply_is_written_as_the_json_library_writes_it(void **state)
{
        (void)state;
        CLEANUP_TEXT struct text frame = { 0 }, all = { 0 }, reply = { 0 }, written = { 0 };
        CLEANUP_WORKER_MESSAGE struct worker_message m = { 0 };
        for (unsigned char c = 1; c < 0x80; c++)
                text_add_bytes(&all, (const char *)&c, 1);
        text_add(&all, "\xc2\x80\xc3\xa9\xe2\x80\xa8\xef\xbf\xbf\xf0\x90\x80\x80\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf");
        CLEANUP_JSON json_t *details = json_pack("{s:s, s:I, s:b, s:b, s:n}", "path", all.data, "at", (json_int_t)-7,
                                                 "more", 1, "less", 0, "none");
        CLEANUP_JSON json_t *id = json_string(all.data);
        pass_answer(&(struct tool_result){ .is_error = true, .text = all, .details = details }, &frame, &m);
        assert_int_equal(mcp_write_tool_reply(&reply, id, true, &m), 0);
        CLEANUP_JSON json_t *expected =
                mcp_result(id, true, json_pack("{s:[{s:s, s:s}], s:b, s:{s:O}}", "content", "type", "text", "text",
                                               all.data, "isError", 1, "_meta", MCP_META_DETAILS, details));
        assert_int_equal(json_write(expected, &written, false), 0);
        CLEANUP_JSON json_t *parsed = json_loads(reply.data, 0, NULL);
        assert_true(json_equal(parsed, expected));
        CLEANUP_TEXT struct text again = { 0 };
        assert_int_equal(json_write(parsed, &again, false), 0);
        assert_string_equal(reply.data, again.data);
}

/* A command in the box may control the worker, so the server must refuse what the worker's own code never writes. */
static void test_forged_messages_of_a_worker_are_refused(void **state)
{
        (void)state;
        CLEANUP_TEXT struct text frame = { 0 };
        CLEANUP_WORKER_MESSAGE struct worker_message good = { 0 };
        CLEANUP_JSON json_t *details = json_pack("{s:s, s:b}", "path", "/p", "more", 0);
        const struct tool_result answer = { .text = { .data = (char[]){ "text" }, .length = 4 }, .details = details };
        pass_answer(&answer, &frame, &good);
        static const struct {
                const char *find, *put;
        } forged[] = { { "text", "te\0t" }, { "text", "te\xfft" }, { "path", "PATH" }, { "path", "pa\"h" },
                       { "path", "more" }, { "/p", "/\xc3" }, { "jwt", "\xc3\xa9t" } };
        for (size_t i = 0; i < ARRAY_SIZE(forged); i++) {
                CLEANUP_WORKER_MESSAGE struct worker_message m = { 0 };
                CLEANUP_TEXT struct text copy = { 0 };
                text_add_bytes(&copy, frame.data, frame.length);
                char *at = memmem(copy.data, copy.length, forged[i].find, strlen(forged[i].find));
                memcpy(at, forged[i].put, strlen(forged[i].find));
                assert_int_equal(worker_message_read(copy.data, copy.length, &m), -EPROTO);
        }
        for (size_t length = 0; length <= frame.length; length++) {
                CLEANUP_WORKER_MESSAGE struct worker_message m = { 0 };
                CLEANUP_FREE char *exact = malloc(length + 1);
                memcpy(exact, frame.data, length);
                exact[length] = '\0';
                assert_int_equal(worker_message_read(exact, length, &m), length == frame.length ? 0 : -EPROTO);
        }
        CLEANUP_WORKER_MESSAGE struct worker_message m = { 0 };
        text_add_bytes(&frame, "x", 1);
        assert_int_equal(worker_message_read(frame.data, frame.length, &m), -EPROTO);
}

static void test_details_that_the_server_would_refuse_are_not_sent(void **state)
{
        (void)state;
        CLEANUP_TEXT struct text frame = { 0 };
        CLEANUP_JSON json_t *nested = json_pack("{s:{}}", "path");
        assert_int_equal(worker_message_write_answer(&frame, 5, &(struct tool_result){ .details = nested }, NULL),
                         -EINVAL);
}

static void test_image_must_be_base64_of_an_image_type(void **state)
{
        static const struct {
                const char *type, *data;
                int expected;
        } cases[] = { { "image/png", "aGk=", 0 }, { "image/png", "a b", -EPROTO }, { "text/html", "aGk=", -EPROTO },
                      { "image/", "aGk=", -EPROTO }, { "image/a\"b", "aGk=", -EPROTO }, { "i", "aGk=", -EPROTO } };
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                CLEANUP_TEXT struct text frame = { 0 }, data = { 0 };
                CLEANUP_WORKER_MESSAGE struct worker_message m = { 0 };
                text_add(&data, cases[i].data);
                const struct tool_result answer = { .text = data, .image_type = cases[i].type };
                assert_int_equal(worker_message_write_answer(&frame, 1, &answer, NULL), 0);
                assert_int_equal(worker_message_read(frame.data, frame.length, &m), cases[i].expected);
        }
}

/* Returns the error code of the refusal, or 0 if the message is accepted. ' stands for ". */
static int error_code_of(const struct mcp_headers *headers, const char *message)
{
        struct mcp_message m;
        char *copy = strdup(message);
        for (char *p = copy; (p = strchr(p, '\''));)
                *p = '"';
        mcp_parse_message(headers, copy, strlen(copy), &m);
        free(copy);
        int code = m.kind == MCP_INVALID
                           ? (int)json_integer_value(json_object_get(json_object_get(m.error, "error"), "cod"
                                                                                                        "e"))
                           : 0;
        assert_int_equal(m.status, code ? 400 : 0);
        mcp_message_done(&m);
        return code;
}

static void test_headers_and_body_of_a_modern_request_must_agree(void **state)
{
        (void)state;
        static const char call[] = "{'jsonrpc':'2.0','id':1,'method':'tools/call','params':{'name':'Read'," META_2026
                                   "}}";
        static const char unknown_version[] =
                "{'jsonrpc':'2.0','id':1,'method':'x','params':{'_meta':{"
                "'io.modelcontextprotocol/protocolVersion':'v999','io.modelcontextprotocol/"
                "clientCapabilities':{}}}}";
        static const char legacy[] = "{'jsonrpc':'2.0','id':1,'method':'tools/list'}";
        static const struct {
                struct mcp_headers headers;
                const char *message;
                int code;
        } cases[] = {
                { { "2026-07-28", "tools/call", "Read" }, call, 0 },
                { { "2026-07-28", "tools/call", "=?base64?UmVhZA==?=" }, call, 0 },
                { { "2026-07-28", "tools/call", "=?base64?UmVhZA=?=" }, call, MCP_HEADER_MISMATCH },
                { { "2026-07-28", "tools/call", "=?base64?Um!hZA==?=" }, call, MCP_HEADER_MISMATCH },
                { { "2026-07-28", "tools/call", "Write" }, call, MCP_HEADER_MISMATCH },
                { { "2026-07-28", "tools/call", NULL }, call, MCP_HEADER_MISMATCH },
                { { "2026-07-28", "Tools/Call", "Read" }, call, MCP_HEADER_MISMATCH },
                { { "2026-07-28", NULL, "Read" }, call, MCP_HEADER_MISMATCH },
                { { NULL, "tools/call", "Read" }, call, MCP_HEADER_MISMATCH },
                { { "2025-11-25", "tools/call", "Read" }, call, MCP_HEADER_MISMATCH },
                { { "2026-07-28", "x", NULL }, unknown_version, MCP_HEADER_MISMATCH },
                { { "v999", "x", NULL }, unknown_version, MCP_UNSUPPORTED_VERSION },
                { { "2025-11-25", NULL, NULL }, legacy, 0 },
                { { NULL, NULL, NULL }, legacy, 0 },
                { { "2026-07-28", "tools/list", NULL }, legacy, MCP_INVALID_PARAMS },
                { { "v999", "tools/list", NULL }, legacy, MCP_INVALID_PARAMS },
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                if (error_code_of(&cases[i].headers, cases[i].message) != cases[i].code)
                        fail_msg("case %zu: %d", i, error_code_of(&cases[i].headers, cases[i].message));
        assert_int_equal(error_code_of(NULL, call), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_initialize_answers_with_a_version_that_the_client_knows),
                cmocka_unit_test(test_modern_client_needs_no_initialize),
                cmocka_unit_test(test_malformed_messages_get_an_error),
                cmocka_unit_test(test_message_that_cannot_be_parsed_gets_an_error_with_its_id),
                cmocka_unit_test(test_id_is_found_in_a_message_that_comes_in_pieces),
                cmocka_unit_test(test_notifications_and_responses_get_no_reply),
                cmocka_unit_test(test_reply_repeats_the_id),
                cmocka_unit_test(test_readonly_offers_only_tools_that_read),
                cmocka_unit_test(test_reply_to_a_tool_call),
                cmocka_unit_test(test_reply_is_written_as_the_json_library_writes_it),
                cmocka_unit_test(test_forged_messages_of_a_worker_are_refused),
                cmocka_unit_test(test_details_that_the_server_would_refuse_are_not_sent),
                cmocka_unit_test(test_image_must_be_base64_of_an_image_type),
                cmocka_unit_test(test_headers_and_body_of_a_modern_request_must_agree),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
