/*
 * Changing a client's configuration file: adding and removing an entry, switching its own tools off and on. Everything
 * else in the file must be preserved, so each case compares the whole text.
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
        client_config_toml.print(&entry, NULL, &out);
        assert_string_equal(out.data, "[s.n]\ncommand = \"/bin/r\"\nargs = [\"\\\"\\\\ \\u000A\\u007F "
                                      "\xc3\xa4\xf0\x9f\x98\x80\"]\n");
        CLEANUP_CONFIG_CHANGE struct edit_result change = { 0 };
        struct error e = { 0 };
        assert_int_equal(client_config_toml.set(&entry, out.data, out.length, false, &change, &e), EDIT_UNCHANGED);
}

/* --- removing an entry --- */

/* An entry that is added and then removed leaves the text as it was. */
static void assert_entry_comes_and_goes(const struct client_config_format *format, const char *section,
                                        const char *text)
{
        CLEANUP_JSON json_t *value = make_value("mcp");
        const struct client_entry entry = { section, "ringwall", value };
        CLEANUP_CONFIG_CHANGE struct edit_result added = { 0 }, removed = { 0 };
        struct error e = { 0 };
        assert_int_equal(format->set(&entry, text, strlen(text), false, &added, &e), EDIT_ADDED);
        assert_int_equal(format->remove(&entry, added.text.data, added.text.length, &removed, &e), EDIT_REMOVED);
        assert_string_equal(removed.text.data, text);
        assert_true(json_equal(removed.removed_value, value));
}

static void assert_removed(const struct client_config_format *format, const char *section, const char *before,
                           const char *after, const char *entry_text)
{
        const struct client_entry entry = { section, "ringwall", NULL };
        CLEANUP_CONFIG_CHANGE struct edit_result change = { 0 };
        struct error e = { 0 };
        int outcome = format->remove(&entry, before, strlen(before), &change, &e);
        if (outcome < 0)
                fail_msg("%u:%u: %s: %s", change.line, change.column, e.text, before);
        assert_int_equal(outcome, after ? EDIT_REMOVED : EDIT_UNCHANGED);
        if (!after) {
                assert_int_equal(change.text.length, 0);
                return;
        }
        assert_string_equal(change.text.data ? change.text.data : "", after);
        assert_string_equal(change.removed.data, entry_text);
}

static void test_json_entry_comes_and_goes(void **state)
{
        (void)state;
        static const char *const texts[] = {
                "{\"a\":1}\n",
                "{\n  \"z\": 0.1 ,\n\n  \"a\": \"\\u00e9\"\n \t }  \n\n",
                "{\r\n    \"mcpServers\" : {\r\n        \"x\": {} \r\n    }\r\n}",
                "{\"mcpServers\": {\"x\": {}}, \"a\": {\"mcpServers\": {}}}",
                "{ \"mcpServers\": { \"x\": [ { } , [ ] ] } , \"b\": { } }",
                "{\n\t\"ringwall\": {},\n\t\"mcpServers\": {\n\t\t\t\"x\": {\n}}}",
        };
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                assert_entry_comes_and_goes(&client_config_json, "mcpServers", texts[i]);
}

static void test_json_entry_is_removed_wherever_it_is(void **state)
{
        (void)state;
        static const char s[] = "mcpServers";
        const struct client_config_format *json = &client_config_json;
        assert_removed(json, s, "", NULL, NULL);
        assert_removed(json, s, "{}", NULL, NULL);
        assert_removed(json, s, "{\"ringwall\": {}, \"mcpServers\": {\"x\": {\"ringwall\": 1}}}", NULL, NULL);
        assert_removed(json, s, "{\"mcpServers\": {\"ringwall\": {}}}\n", "{}\n", "{}");
        assert_removed(json, s, "{ \"mcpServers\" : { \"ringwall\" : [ ] } }", "{}", "[ ]");
        assert_removed(json, s, "{\"a\": 1, \"mcpServers\": {\"ringwall\": 1}, \"b\": 2}", "{\"a\": 1, \"b\": 2}", "1");
        assert_removed(json, s, "{\n \"mcpServers\": {\n  \"ringwall\": {}\n },\n \"b\": 2\n}", "{\n \"b\": 2\n}",
                       "{}");
        assert_removed(json, s, "{\"mcpServers\": {\n  \"ringwall\": \"}\\\"\",\n  \"y\": 1.50\n}}",
                       "{\"mcpServers\": {\n  \"y\": 1.50\n}}", "\"}\\\"\"");
        assert_removed(json, s, "{\"mcpServers\": {\"x\":1 , \"ring\\u0077all\" :{} , \"y\":2}}",
                       "{\"mcpServers\": {\"x\":1 , \"y\":2}}", "{}");
}

static void test_toml_entry_comes_and_goes(void **state)
{
        (void)state;
        static const char *const texts[] = {
                "a = 1\n", "a = 1\n\n\n", "a = 1\r\n\r\n[b]\r\nc = 2\r\n", "# a comment\n",
                "[mcp_servers.x]\ncommand = \"\"\"\n[mcp_servers.ringwall]\n\"\"\"\n \t\n",
                "[mcp_servers]\n[x.mcp_servers.ringwall]\n",
        };
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                assert_entry_comes_and_goes(&client_config_toml, "mcp_servers", texts[i]);
}

static void test_toml_entry_is_removed_wherever_it_is(void **state)
{
        (void)state;
        static const char s[] = "mcp_servers", table[] = "[mcp_servers.ringwall]\ncommand = 'x'\n";
        const struct client_config_format *toml = &client_config_toml;
        assert_removed(toml, s, "", NULL, NULL);
        assert_removed(toml, s, "[mcp_servers.x]\na = 1\n[ringwall]\n", NULL, NULL);
        assert_removed(toml, s, table, "", table);
        assert_removed(toml, s, "[mcp_servers.ringwall]\ncommand = 'x'\n[b]\n", "[b]\n", table);
        assert_removed(toml, s, "a = 1\n\n[mcp_servers.ringwall]\ncommand = 'x'\n\n[b]\n", "a = 1\n\n[b]\n", table);
        assert_removed(toml, s, "a = 1\n\n[mcp_servers.ringwall]\ncommand = 'x'\n# of b\n[b]\n",
                       "a = 1\n\n# of b\n[b]\n", table);
        assert_removed(toml, s, "[mcp_servers.ringwall.env]\nA = \"b\"\n[next]\na = 1\n[mcp_servers.ringwall]\nx = 1",
                       "[next]\na = 1\n", "[mcp_servers.ringwall.env]\nA = \"b\"\n[mcp_servers.ringwall]\nx = 1");
}

/* --- the client's own tools --- */

static const char *const deny_names[] = { "Bash", "Edit", "Read", NULL };
static const struct client_switches deny = { "permissions", "deny", deny_names };
static const char *const feature_names[] = { "shell", "patch", NULL };
static const struct client_switches features = { "features", NULL, feature_names };

struct switch_case {
        const char *before;
        const char *after;    /* NULL for EDIT_UNCHANGED */
        uint32_t present;     /* before the change */
        bool is_reversible;   /* switching on what was switched off gives the old text */
};

static void assert_switched_off(const struct client_config_format *format, const struct client_switches *s,
                                const struct switch_case *c)
{
        CLEANUP_CONFIG_CHANGE struct edit_result off = { 0 }, again = { 0 }, on = { 0 };
        struct error e = { 0 };
        int outcome = format->switch_off(s, c->before, strlen(c->before), &off, &e);
        if (outcome < 0)
                fail_msg("%u:%u: %s: %s", off.line, off.column, e.text, c->before);
        assert_int_equal(outcome, c->after ? EDIT_ADDED : EDIT_UNCHANGED);
        assert_int_equal(off.present, c->present);
        if (!c->after)
                return;
        assert_string_equal(off.text.data, c->after);
        assert_int_equal(format->switch_off(s, off.text.data, off.text.length, &again, &e), EDIT_UNCHANGED);
        assert_int_equal(again.present, client_switches_all(s));
        outcome = format->switch_on(s, client_switches_all(s) & ~c->present, off.text.data, off.text.length, &on, &e);
        assert_int_equal(outcome, EDIT_REMOVED);
        if (c->is_reversible)
                assert_string_equal(on.text.data, c->before);
}

static void assert_switched_on(const struct client_config_format *format, const struct client_switches *s,
                               uint32_t which, const char *before, const char *after)
{
        CLEANUP_CONFIG_CHANGE struct edit_result on = { 0 };
        struct error e = { 0 };
        int outcome = format->switch_on(s, which, before, strlen(before), &on, &e);
        if (outcome < 0)
                fail_msg("%u:%u: %s: %s", on.line, on.column, e.text, before);
        assert_int_equal(outcome, after ? EDIT_REMOVED : EDIT_UNCHANGED);
        if (after)
                assert_string_equal(on.text.data ? on.text.data : "", after);
}

static void test_json_names_are_added_to_the_list(void **state)
{
        (void)state;
        static const struct switch_case cases[] = {
                { "", "{\n  \"permissions\": {\n    \"deny\": [\n      \"Bash\",\n      \"Edit\",\n      \"Read\"\n"
                      "    ]\n  }\n}\n", 0, false },
                { "{\"a\":1}", "{\"a\":1,\"permissions\":{\"deny\":[\"Bash\",\"Edit\",\"Read\"]}}", 0, true },
                { "{\n \"permissions\": {\n  \"allow\": [ ]\n }\n}\n",
                  "{\n \"permissions\": {\n  \"allow\": [ ],\n  \"deny\": [\n   \"Bash\",\n   \"Edit\",\n   \"Read\"\n"
                  "  ]\n }\n}\n", 0, true },
                /* The elements are separated as those that are there. */
                { "{\"permissions\": {\"deny\": [\"a\" ,\t\"b\"]}}",
                  "{\"permissions\": {\"deny\": [\"a\" ,\t\"b\" ,\t\"Bash\" ,\t\"Edit\" ,\t\"Read\"]}}", 0, true },
                { "{\"permissions\": {\"deny\": [ \"Edit\" ] } }",
                  "{\"permissions\": {\"deny\": [ \"Edit\", \"Bash\", \"Read\" ] } }", 2, true },
                { "{\"permissions\": {\"deny\": [\r\n    \"a, ]\\\"\"\r\n]}}",
                  "{\"permissions\": {\"deny\": [\r\n    \"a, ]\\\"\",\r\n    \"Bash\",\r\n    \"Edit\",\r\n"
                  "    \"Read\"\r\n]}}", 0, true },
                /* Other spellings of a name, other types, and a name with a pattern. */
                { "{\"permissions\":{\"deny\":[1,{\"Bash\":[]},\"B\\u0061sh\",\"Edit(x)\"]}}",
                  "{\"permissions\":{\"deny\":[1,{\"Bash\":[]},\"B\\u0061sh\",\"Edit(x)\",\"Edit\",\"Read\"]}}", 1,
                  true },
                { "{\"permissions\": {\"deny\": [ ]}}",
                  "{\"permissions\": {\"deny\": [\"Bash\",\"Edit\",\"Read\"]}}", 0, false },
                { "{\"permissions\":{\"deny\":[\"Read\",\"x\",\"Edit\",\"Bash\"]}}", NULL, 7, false },
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                assert_switched_off(&client_config_json, &deny, &cases[i]);
}

static void test_json_names_are_removed_from_the_list(void **state)
{
        (void)state;
        const struct client_config_format *json = &client_config_json;
        assert_switched_on(json, &deny, 7, "", NULL);
        assert_switched_on(json, &deny, 7, "{\"permissions\": {\"deny\": [\"x\"]}}", NULL);
        assert_switched_on(json, &deny, 0, "{\"permissions\": {\"deny\": [\"Bash\"]}}", NULL);
        assert_switched_on(json, &deny, 7, "{\"permissions\": {\"deny\": [\"Bash\", \"Edit\"]}}", "{}");
        assert_switched_on(json, &deny, 7, "{\"permissions\": {\"deny\": [\"Bash\"], \"allow\": []}}",
                           "{\"permissions\": {\"allow\": []}}");
        assert_switched_on(json, &deny, 7, "{\"a\": [\"Bash\"], \"permissions\": {\"deny\": [\"Bash\"]}}",
                           "{\"a\": [\"Bash\"]}");
        assert_switched_on(json, &deny, 7,
                           "{\"permissions\": {\"deny\": [ \"Bash\" , \"x\" , \"Edit\",\"Read\" , 1 ]}}",
                           "{\"permissions\": {\"deny\": [ \"x\" , 1 ]}}");
        assert_switched_on(json, &deny, 7,
                           "{\"permissions\": {\"deny\": [\n\"Bash\",\n\"Bash\",\n\"Edit\",\n[\"Read\"]\n]}}",
                           "{\"permissions\": {\"deny\": [\n[\"Read\"]\n]}}");
        assert_switched_on(json, &deny, 5, "{\"permissions\": {\"deny\": [\"Bash\", \"Edit\", \"Read\"]}}",
                           "{\"permissions\": {\"deny\": [\"Edit\"]}}");
        assert_switched_on(json, &deny, 2, "{\"permissions\": {\"deny\": [\"x\", \"Edit\"]}}",
                           "{\"permissions\": {\"deny\": [\"x\"]}}");
}

#define ADDED_TABLE "[features]\nshell = false\npatch = false\n"

static void test_toml_keys_are_added_to_the_table(void **state)
{
        (void)state;
        static const struct switch_case cases[] = {
                { "", ADDED_TABLE, 0, false },
                { "a = 1\n", "a = 1\n\n" ADDED_TABLE, 0, true },
                { "a = 1\r\n", "a = 1\r\n\r\n[features]\r\nshell = false\r\npatch = false\r\n", 0, true },
                { "[features.x]\nshell = true\n", "[features.x]\nshell = true\n\n" ADDED_TABLE, 0, true },
                { "[features]\nx = 1 # x\n# end\n\n[b]\n",
                  "[features]\nx = 1 # x\nshell = false\npatch = false\n# end\n\n[b]\n", 0, true },
                { "  [ features ] # mine", "  [ features ] # mine\nshell = false\npatch = false\n", 0, false },
                { "[features]\n\tpatch=false # why\n[b]\n", "[features]\n\tpatch=false # why\nshell = false\n[b]\n", 2,
                  true },
                { "[features]\n\"shell\" = true\t# why\n", "[features]\n\"shell\" = false\t# why\npatch = false\n", 0,
                  false },
                { "[features]\npatch = [\n  1, # ]\n]\nshell = 'true'", "[features]\npatch = false\nshell = false", 0,
                  false },
                { "[features]\nshell = \"\"\"\n[features]\"\"\"\npatch = false\n",
                  "[features]\nshell = false\npatch = false\n", 2, false },
                { "[features]\nshell.x = 1\nx.patch = 1\n[b]",
                  "[features]\nshell.x = 1\nx.patch = 1\nshell = false\npatch = false\n[b]", 0, true },
                { "[features]\npatch = false\nshell=false\n", NULL, 3, false },
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                assert_switched_off(&client_config_toml, &features, &cases[i]);
}

static void test_toml_keys_are_removed_from_the_table(void **state)
{
        (void)state;
        const struct client_config_format *toml = &client_config_toml;
        assert_switched_on(toml, &features, 3, "", NULL);
        assert_switched_on(toml, &features, 3, "shell = false\n[features]\nshell = true\n[b]\npatch = false\n", NULL);
        assert_switched_on(toml, &features, 3, ADDED_TABLE, "");
        assert_switched_on(toml, &features, 1, ADDED_TABLE, "[features]\npatch = false\n");
        assert_switched_on(toml, &features, 3, "a = 1\n\n" ADDED_TABLE "\n[b]\n", "a = 1\n\n[b]\n");
        assert_switched_on(toml, &features, 3, "[features] # mine\n  shell = false # x\nx = 1\npatch = false",
                           "[features] # mine\nx = 1\n");
        /* A header with a comment, and comments between the keys, are kept. */
        assert_switched_on(toml, &features, 3, "[features] # mine\nshell = false\n", "[features] # mine\n");
        assert_switched_on(toml, &features, 3, "[features]\n# why\nshell = false\n", "[features]\n# why\n");
}

static void assert_switch_refused(const struct client_config_format *format, const struct client_switches *s,
                                  const char *text, unsigned line, unsigned column, const char *message)
{
        for (int on = 0; on < 2; on++) {
                CLEANUP_CONFIG_CHANGE struct edit_result change = { 0 };
                struct error e = { 0 };
                int r = on ? format->switch_on(s, client_switches_all(s), text, strlen(text), &change, &e)
                           : format->switch_off(s, text, strlen(text), &change, &e);
                assert_int_equal(r, -EINVAL);
                assert_string_equal(e.text, message);
                assert_int_equal(change.line, line);
                assert_int_equal(change.column, column);
                assert_int_equal(change.text.length, 0);
        }
}

static void test_switches_in_another_form_are_refused(void **state)
{
        (void)state;
        const struct client_config_format *json = &client_config_json, *toml = &client_config_toml;
        assert_switch_refused(json, &deny, "{\n \"permissions\": 1}", 2, 17, "this must be an object");
        assert_switch_refused(json, &deny, "{\"permissions\": {\"deny\": \"Bash\"}}", 1, 26, "this must be a list");
        assert_switch_refused(json, &deny, "[]", 1, 1, "the file is not a JSON object");
        assert_switch_refused(json, &deny, "{\"permissions\": {\"deny\": [\"Bash\",]}}", 1, 34,
                              "unexpected token near ']'");
        assert_switch_refused(toml, &features, "features = { shell = true }\n", 1, 1,
                              "the settings are not written as a table here");
        assert_switch_refused(toml, &features, "a = 1\n features.x = 1\n", 2, 2,
                              "the settings are not written as a table here");
        assert_switch_refused(toml, &features, "[[features]]\n", 1, 1, "the settings are an array of tables here");
        assert_switch_refused(toml, &features, "[features.shell]\n", 1, 1, "this setting is a table here");
        assert_switch_refused(toml, &features, "[features]\n[features]\n", 2, 1, "this table is there twice");
        assert_switch_refused(toml, &features, "[features]\nshell = false\nshell = false\n", 3, 1,
                              "this key is there twice");
        assert_switch_refused(toml, &features, "[features]\nshell = \n", 2, 9, "expected a value");
}

static void test_file_with_both_is_printed_as_it_is_written(void **state)
{
        (void)state;
        static const struct {
                const struct client_config_format *format;
                const struct client_switches *switches;
        } formats[] = { { &client_config_json, &deny }, { &client_config_toml, &features } };
        for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
                CLEANUP_JSON json_t *value = make_value("mcp");
                const struct client_entry entry = { "servers", "ringwall", value };
                CLEANUP_CONFIG_CHANGE struct edit_result first = { 0 }, second = { 0 };
                CLEANUP_TEXT struct text printed = { 0 };
                struct error e = { 0 };
                formats[i].format->print(&entry, formats[i].switches, &printed);
                assert_int_equal(formats[i].format->set(&entry, "", 0, false, &first, &e), EDIT_ADDED);
                assert_int_equal(formats[i].format->switch_off(formats[i].switches, first.text.data, first.text.length,
                                                               &second, &e), EDIT_ADDED);
                assert_string_equal(printed.data, second.text.data);
        }
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
                cmocka_unit_test(test_json_entry_comes_and_goes),
                cmocka_unit_test(test_json_entry_is_removed_wherever_it_is),
                cmocka_unit_test(test_toml_entry_comes_and_goes),
                cmocka_unit_test(test_toml_entry_is_removed_wherever_it_is),
                cmocka_unit_test(test_json_names_are_added_to_the_list),
                cmocka_unit_test(test_json_names_are_removed_from_the_list),
                cmocka_unit_test(test_toml_keys_are_added_to_the_table),
                cmocka_unit_test(test_toml_keys_are_removed_from_the_table),
                cmocka_unit_test(test_switches_in_another_form_are_refused),
                cmocka_unit_test(test_file_with_both_is_printed_as_it_is_written),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
