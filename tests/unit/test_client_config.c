/*
 * Adding an entry to a client's configuration file. Everything else in the file must be preserved, so each case
 * compares the whole text.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/client_config.h"

struct config_case {
        const char *before;
        int outcome;
        const char *after; /* the new file; for EDIT_CONFLICT the existing entry; NULL for EDIT_UNCHANGED */
};

static json_t *make_value(const char *argument)
{
        json_t *value = json_pack("{s:s, s:[s]}", "command", "/bin/r", "args", argument);
        assert_non_null(value);
        return value;
}

static void assert_case(const struct client_config_format *format, const char *section, const struct config_case *c,
                        bool force)
{
        CLEANUP_JSON json_t *value = make_value("mcp");
        const struct client_entry entry = { section, "ringwall", value };
        CLEANUP_CONFIG_CHANGE struct edit_result change = { 0 };
        struct error e = { 0 };
        int outcome = format->set(&entry, c->before, strlen(c->before), force, &change, &e);
        if (outcome < 0)
                fail_msg("%u:%u: %s: %s", change.line, change.column, e.text, c->before);
        assert_int_equal(outcome, c->outcome);
        assert_false(change.text.failed);
        if (c->after)
                assert_string_equal(change.text.data, c->after);
        else
                assert_int_equal(change.text.length, 0);
}

static void assert_bytes_refused(const struct client_config_format *format, const char *section, const char *text,
                                 size_t length, unsigned line, unsigned column, const char *message)
{
        CLEANUP_JSON json_t *value = make_value("mcp");
        const struct client_entry entry = { section, "ringwall", value };
        CLEANUP_CONFIG_CHANGE struct edit_result change = { 0 };
        struct error e = { 0 };
        assert_int_equal(format->set(&entry, text, length, true, &change, &e), -EINVAL);
        assert_string_equal(e.text, message);
        assert_int_equal(change.line, line);
        assert_int_equal(change.column, column);
        assert_int_equal(change.text.length, 0);
}

static void assert_refused(const struct client_config_format *format, const char *section, const char *text,
                           unsigned line, unsigned column, const char *message)
{
        assert_bytes_refused(format, section, text, strlen(text), line, column, message);
}

/* --- JSON --- */

#define NEW_FILE                                                                                                       \
        "{\n  \"mcpServers\": {\n    \"ringwall\": {\n      \"command\": \"/bin/r\",\n      \"args\": [\n        "     \
        "\"mcp\"\n"                                                                                                    \
        "      ]\n    }\n  }\n}"

static void test_json_entry_is_added_and_the_rest_is_preserved(void **state)
{
        (void)state;
        static const struct config_case cases[] = {
                { "", EDIT_ADDED, NEW_FILE "\n" },
                { " \n", EDIT_ADDED, NEW_FILE "\n" },
                { "{}", EDIT_ADDED, NEW_FILE },
                { "{ \n }\n", EDIT_ADDED, NEW_FILE "\n" },
                /* Numbers, escapes and white space of other members stay as they were written. */
                { "{\n    \"z\": 0.1,\n    \"a\": \"\\u00e9\\/\" ,\n    \"mcpServers\": {}\n}\n", EDIT_ADDED,
                  "{\n    \"z\": 0.1,\n    \"a\": \"\\u00e9\\/\" ,\n    \"mcpServers\": {\n        \"ringwall\": {\n"
                  "            \"command\": \"/bin/r\",\n            \"args\": [\n                \"mcp\"\n            "
                  "]\n"
                  "        }\n    }\n}\n" },
                { "{\n\t\"mcpServers\": {\n\t\t\"x\": { \"command\": \"}\" }\n\t},\n\t\"b\": [1, {}]\n}", EDIT_ADDED,
                  "{\n\t\"mcpServers\": {\n\t\t\"x\": { \"command\": \"}\" },\n\t\t\"ringwall\": {\n\t\t\t\"command\": "
                  "\"/bin/r\",\n\t\t\t\"args\": [\n\t\t\t\t\"mcp\"\n\t\t\t]\n\t\t}\n\t},\n\t\"b\": [1, {}]\n}" },
                { "{\r\n  \"a\": 1e3\r\n}\r\n", EDIT_ADDED,
                  "{\r\n  \"a\": 1e3,\r\n  \"mcpServers\": {\r\n    \"ringwall\": {\r\n      \"command\": "
                  "\"/bin/r\",\r\n"
                  "      \"args\": [\r\n        \"mcp\"\r\n      ]\r\n    }\r\n  }\r\n}\r\n" },
                /* A file of one line stays one line. */
                { "{\"a\":\"\\\"\",\"mcpServers\":{\"x\":{}}}", EDIT_ADDED,
                  "{\"a\":\"\\\"\",\"mcpServers\":{\"x\":{},\"ringwall\":{\"command\":\"/bin/"
                  "r\",\"args\":[\"mcp\"]}}}" },
                { "{\"a\":1}\n", EDIT_ADDED,
                  "{\"a\":1,\"mcpServers\":{\"ringwall\":{\"command\":\"/bin/r\",\"args\":[\"mcp\"]}}}\n" },
                /* The same name at another place in the file is a different entry. */
                { "{\"ringwall\":1,\"mcpServers\":{\"mcpServers\":{\"ringwall\":2}}}", EDIT_ADDED,
                  "{\"ringwall\":1,\"mcpServers\":{\"mcpServers\":{\"ringwall\":2},\"ringwall\":{\"command\":\"/bin/"
                  "r\","
                  "\"args\":[\"mcp\"]}}}" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                assert_case(&client_config_json, "mcpServers", &cases[i], false);
}

static void test_json_entry_of_the_same_name_is_replaced_only_by_force(void **state)
{
        (void)state;
        static const char before[] = "{\n  \"mcpServers\": {\n    \"ringwall\": { \"command\": \"/old\" },\n    \"y\": "
                                     "1.50\n  }\n}\n";
        assert_case(&client_config_json, "mcpServers",
                    &(struct config_case){ before, EDIT_CONFLICT, "{ \"command\": \"/old\" }" }, false);
        assert_case(&client_config_json, "mcpServers", &(struct config_case){ before, EDIT_REPLACED,
                    "{\n  \"mcpServers\": {\n    \"ringwall\": {\n      \"command\": \"/bin/r\",\n      \"args\": [\n"
                    "        \"mcp\"\n      ]\n    },\n    \"y\": 1.50\n  }\n}\n" }, true);
        assert_case(&client_config_json, "mcpServers", &(struct config_case){
                    "{\"mcp\\u0053ervers\":{\"ring\\u0077all\":{}}}", EDIT_REPLACED,
                    "{\"mcp\\u0053ervers\":{\"ring\\u0077all\":{\"command\":\"/bin/r\",\"args\":[\"mcp\"]}}}" }, true);
        assert_case(&client_config_json, "mcpServers",
                    &(struct config_case){ "{\"mcpServers\": {\"ringwall\": {\"args\": [\"\\u006dcp\"], \"command\": "
                                           "\"\\/bin/r\"}}}",
                                           EDIT_UNCHANGED, NULL },
                    true);
}

static void test_malformed_json_is_refused_with_its_position(void **state)
{
        (void)state;
        static const char section[] = "mcpServers";
        assert_refused(&client_config_json, section, "{\n  // mine\n}", 2, 3, "string or '}' expected near '/'");
        assert_refused(&client_config_json, section, "{\n  \"a\": 1,\n}", 3, 1, "string or '}' expected near '}'");
        assert_refused(&client_config_json, section, "[]", 1, 1, "the file is not a JSON object");
        assert_refused(&client_config_json, section, "{\n  \"mcpServers\": []\n}", 2, 17, "this must be an object");
        assert_refused(&client_config_json, section, "{\n\xff}", 2, 1, "the text is not valid UTF-8");
        assert_bytes_refused(&client_config_json, section, "{\"a\": 1\0}", 9, 1, 8, "the text has a zero byte");
        assert_refused(&client_config_json, section, "{\"a\": 1, \"a\": 2}", 1, 12,
                       "duplicate object key near '\"a\"'");
}

/* --- TOML --- */

#define NEW_TABLE "[mcp_servers.ringwall]\ncommand = \"/bin/r\"\nargs = [\"mcp\"]\n"

static void test_toml_table_is_appended(void **state)
{
        (void)state;
        static const struct config_case cases[] = {
                { "", EDIT_ADDED, NEW_TABLE },
                { "model = \"o\"", EDIT_ADDED, "model = \"o\"\n\n" NEW_TABLE },
                { "a = 1\r\n", EDIT_ADDED,
                  "a = 1\r\n\r\n[mcp_servers.ringwall]\r\ncommand = \"/bin/r\"\r\nargs = [\"mcp\"]\r\n" },
                { "[mcp_servers]\n[mcp_servers.other] # x\ncommand = 'y'\n", EDIT_ADDED,
                  "[mcp_servers]\n[mcp_servers.other] # x\ncommand = 'y'\n\n" NEW_TABLE },
                /* Table headers inside strings and arrays are not headers. */
                { "a = \"\"\"\n[mcp_servers.ringwall]\n\"\"\"\nb = '''\n[mcp_servers.ringwall]'''\nc = [\n  [1], # ]\n "
                  " '['\n]\n",
                  EDIT_ADDED,
                  "a = \"\"\"\n[mcp_servers.ringwall]\n\"\"\"\nb = '''\n[mcp_servers.ringwall]'''\nc = [\n  [1], # ]\n "
                  " '['\n]\n\n" NEW_TABLE },
                { "a = \"\"\"x\\\"\"\"\"\"\nb = ''''''\nc.\"d e\".f = {g = [1, 2]}\n", EDIT_ADDED,
                  "a = \"\"\"x\\\"\"\"\"\"\nb = ''''''\nc.\"d e\".f = {g = [1, 2]}\n\n" NEW_TABLE },
                { "[mcp_servers.ringwall-2]\n[x.mcp_servers.ringwall]\n[ringwall]\n", EDIT_ADDED,
                  "[mcp_servers.ringwall-2]\n[x.mcp_servers.ringwall]\n[ringwall]\n\n" NEW_TABLE },
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                assert_case(&client_config_toml, "mcp_servers", &cases[i], false);
}

static void test_toml_table_is_replaced_and_the_rest_is_preserved(void **state)
{
        (void)state;
        static const struct config_case cases[] = {
                { "# top\n [ mcp_servers . \"ringwall\" ] # old\ncommand = 'x'\n# of the next\n\n[next]\na = 1\n",
                  EDIT_REPLACED, "# top\n" NEW_TABLE "# of the next\n\n[next]\na = 1\n" },
                { "[mcp_servers.ringwall]\ncommand = \"/bin/r\"\n\n[mcp_servers.ringwall.env]\nA = \"b\"\n\n[next]\n",
                  EDIT_REPLACED, NEW_TABLE "\n[next]\n" },
                { "[mcp_servers.ringwall.env]\nA = \"b\"\n[next]\na = 1\n[mcp_servers.ringwall]\ncommand = \"x\"",
                  EDIT_REPLACED, NEW_TABLE "[next]\na = 1\n" },
                { "[mcp_servers.ringwall]\r\nargs = [\r\n 'a', # b\r\n]\r\n[next]\r\n", EDIT_REPLACED,
                  "[mcp_servers.ringwall]\r\ncommand = \"/bin/r\"\r\nargs = [\"mcp\"]\r\n[next]\r\n" },
                { "[mcp_servers.'ringwall']\nargs   = [ \"mcp\" ] # fine\n\ncommand=\"\\/bin/r\"\n[next]\n",
                  EDIT_UNCHANGED, NULL },
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                assert_case(&client_config_toml, "mcp_servers", &cases[i], true);
        assert_case(&client_config_toml, "mcp_servers", &(struct config_case){
                    "a = 1\n[mcp_servers.ringwall]\ncommand = 'x'\n\n[b]\n", EDIT_CONFLICT,
                    "[mcp_servers.ringwall]\ncommand = 'x'\n" }, false);
        /* An entry with one more key is a different entry. */
        assert_case(
                &client_config_toml, "mcp_servers",
                &(struct config_case){ NEW_TABLE "enabled = false\n", EDIT_CONFLICT, NEW_TABLE "enabled = false\n" },
                false);
}

static void test_toml_that_cannot_be_edited_is_refused_with_its_position(void **state)
{
        (void)state;
        static const struct {
                const char *text;
                unsigned line, column;
                const char *message;
        } cases[] = {
                { "mcp_servers = { x = {} }\n", 1, 1, "the servers are not written as tables here" },
                { "a = 1\nmcp_servers.ringwall.command = 'x'\n", 2, 1,
                  "the servers are not written as tables here" },
                { "[mcp_servers]\n  ringwall = {}\n", 2, 3,
                  "the servers are not written as tables here" },
                { "[[mcp_servers]]\n", 1, 1, "the servers are an array of tables here" },
                { "[[mcp_servers.ringwall]]\n", 1, 1, "the servers are an array of tables here" },
                { "a = \"x\nb = 1\n", 1, 5, "this string does not end on its line" },
                { "a = '''x\n", 1, 5, "this string does not end" },
                { "\xc3\xa4\n", 1, 1, "expected a name" },
                { "a\n", 1, 2, "expected '='" },
                { "a =\n", 1, 4, "expected a value" },
                { "\na = [1,\n", 2, 5, "this bracket is not closed" },
                { "a = 1]\n", 1, 6, "unmatched closing bracket" },
                { "[a] b\n", 1, 5, "expected the end of the line" },
                { "[a\n", 1, 3, "expected the end of the table's name" },
                { "\"\\q\" = 1\n", 1, 1, "this name is invalid" },
                { "a = 1\n\xff\n", 2, 1, "the text is not valid UTF-8" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                assert_refused(&client_config_toml, "mcp_servers", cases[i].text, cases[i].line, cases[i].column,
                               cases[i].message);
}

static void test_toml_strings_are_escaped(void **state)
{
        (void)state;
        CLEANUP_JSON json_t *value = make_value("\"\\ \n\x7f \xc3\xa4\xf0\x9f\x98\x80");
        const struct client_entry entry = { "s", "n", value };
        CLEANUP_TEXT struct text out = { 0 };
        client_config_toml.print(&entry, &out);
        assert_string_equal(out.data, "[s.n]\ncommand = \"/bin/r\"\nargs = [\"\\\"\\\\ \\u000A\\u007F "
                                      "\xc3\xa4\xf0\x9f\x98\x80\"]\n");
        CLEANUP_CONFIG_CHANGE struct edit_result change = { 0 };
        struct error e = { 0 };
        assert_int_equal(client_config_toml.set(&entry, out.data, out.length, false, &change, &e), EDIT_UNCHANGED);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_json_entry_is_added_and_the_rest_is_preserved),
                cmocka_unit_test(test_json_entry_of_the_same_name_is_replaced_only_by_force),
                cmocka_unit_test(test_malformed_json_is_refused_with_its_position),
                cmocka_unit_test(test_toml_table_is_appended),
                cmocka_unit_test(test_toml_table_is_replaced_and_the_rest_is_preserved),
                cmocka_unit_test(test_toml_that_cannot_be_edited_is_refused_with_its_position),
                cmocka_unit_test(test_toml_strings_are_escaped),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
