/*
 * YAML and JSON to nodes, and the messages for errors. An attacker may control the whole text, so most of these tests
 * use text that no person would write.
 */
#include "test_policy_fixture.h"

#include <time.h>

#include "policy/node.h"

typedef int parser(struct arena *, const char *, const char *, size_t, struct diagnostics *, struct node **);

struct parsed {
        struct arena *arena;
        struct diagnostics *messages;
        struct text printed;
        struct node *root;
        int result;
};

static void parsed_done(struct parsed *p)
{
        arena_free(p->arena);
        diagnostics_free(p->messages);
        text_done(&p->printed);
}
#define PARSED CLEANUP(parsed_done) struct parsed

static struct parsed parse_bytes(parser *parse, const char *text, size_t length)
{
        struct parsed p = { .arena = arena_new(ARENA_BYTES_MAX), .messages = diagnostics_new() };
        assert_non_null(p.arena);
        assert_non_null(p.messages);
        assert_int_equal(diagnostics_add_input(p.messages, "f", text,
                                               length < POLICY_FILE_BYTES_MAX ? length : POLICY_FILE_BYTES_MAX),
                         0);
        p.result = parse(p.arena, "f", text, length, p.messages, &p.root);
        diagnostics_print(p.messages, &p.printed, false);
        text_add(&p.printed, "");
        if (p.result == 1)
                assert_true(diagnostics_count(p.messages, DIAGNOSTIC_ERROR) > 0);
        return p;
}

static struct parsed parse_yaml(const char *text)
{
        return parse_bytes(node_from_yaml, text, strlen(text));
}

static struct parsed parse_json(const char *text)
{
        return parse_bytes(node_from_json, text, strlen(text));
}

static void assert_message(const struct parsed *p, const char *text)
{
        if (!strstr(p->printed.data, text))
                fail_msg("expected '%s' in:\n%s", text, p->printed.data);
}

static void assert_position(const struct node *n, unsigned line, unsigned column)
{
        assert_non_null(n);
        assert_int_equal(n->from.line, line);
        assert_int_equal(n->from.column, column);
}

static void test_every_value_has_its_position(void **state)
{
        (void)state;
        PARSED y = parse_yaml("a: 1\nb:\n  - x\n  - {c: \"é\", d: z}\n");
        assert_int_equal(y.result, 0);
        assert_position(node_get(y.root, "a"), 1, 4);
        const struct node *b = node_get(y.root, "b");
        assert_position(b->items[0], 3, 5);
        assert_position(node_get(b->items[1], "c"), 4, 9);
        assert_position(node_get(b->items[1], "d"), 4, 17); /* columns are characters, not bytes */
        assert_int_equal(b->items[1]->name_places[1].column, 14);
        assert_int_equal(node_get(b->items[1], "c")->scalar, SCALAR_QUOTED);
        assert_null(node_get(y.root, "nothing"));

        PARSED j = parse_json("{\"a\": 1,\n \"b\": [\"x\\\"\", {\"é\": null, \"d\": true}]}");
        assert_int_equal(j.result, 0);
        assert_position(node_get(j.root, "a"), 1, 7);
        b = node_get(j.root, "b");
        assert_position(b->items[0], 2, 8);
        assert_position(node_get(b->items[1], "d"), 2, 32);
        assert_int_equal(node_get(b->items[1], "é")->scalar, SCALAR_NULL);
        assert_string_equal(b->items[0]->text, "x\"");
}

static void test_plain_scalars_are_not_interpreted(void **state)
{
        (void)state;
        PARSED p = parse_yaml("a: off\nb: no\nc: 010\nd: 1e3\ne: ~\nf:\ng: null\nh: ''\ni: \"null\"\nj: 12:30\n");
        static const struct {
                const char *key, *text;
                enum scalar_kind kind;
        } rows[] = {
                { "a", "off", SCALAR_PLAIN },   { "b", "no", SCALAR_PLAIN }, { "c", "010", SCALAR_PLAIN },
                { "d", "1e3", SCALAR_PLAIN },   { "e", "~", SCALAR_PLAIN },  { "f", "", SCALAR_NULL },
                { "g", "null", SCALAR_NULL },   { "h", "", SCALAR_QUOTED },  { "i", "null", SCALAR_QUOTED },
                { "j", "12:30", SCALAR_PLAIN },
        };
        assert_int_equal(p.result, 0);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                assert_string_equal(node_get(p.root, rows[i].key)->text, rows[i].text);
                assert_int_equal(node_get(p.root, rows[i].key)->scalar, rows[i].kind);
        }
}

static void test_empty_files_are_empty_policies(void **state)
{
        (void)state;
        static const char *const texts[] = {
                "",     "\n\n",         "# only a comment\n", "---\n", "---\n...\n", "null\n", "{}",
                "\r\n", "\xef\xbb\xbf", "\xef\xbb\xbf# bom\n"
        };
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                PARSED p = parse_yaml(texts[i]);
                if (p.result != 0 || p.root->kind != NODE_MAP || p.root->count != 0)
                        fail_msg("'%s': %s", texts[i], p.printed.data);
        }
}

static void test_crlf_bom_and_a_missing_last_newline_are_accepted(void **state)
{
        (void)state;
        static const char *const texts[] = { "a: x\r\nb: y\r\n",
                                             "\xef\xbb\xbf"
                                             "a: x\nb: y\n",
                                             "a: x\nb: y" };
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                PARSED p = parse_yaml(texts[i]);
                if (p.result != 0)
                        fail_msg("%zu: %s", i, p.printed.data);
                assert_string_equal(node_get(p.root, "a")->text, "x");
                assert_string_equal(node_get(p.root, "b")->text, "y");
        }
}

static void test_alias_is_replaced_by_its_anchor(void **state)
{
        (void)state;
        PARSED p = parse_yaml("a: &x [1, 2]\nb: *x\nc: &x 3\nd: *x\n");
        assert_int_equal(p.result, 0);
        assert_int_equal(node_get(p.root, "b")->count, 2);
        assert_string_equal(node_get(p.root, "d")->text, "3"); /* the last anchor of that name */
}

static const struct {
        const char *text, *position, *message;
} broken_yaml[] = {
        { "a: *x\n", "f:1:4", "no anchor is called 'x'" },
        { "a: &x [*x]\n", "f:1:8", "contains it" },
        { "a: &x {b: *x}\n", "f:1:11", "contains it" },
        { "a: 1\nb: 2\na: 3\n", "f:3:1", "given twice" },
        { "a: {b: 1, b: 1}\n", "f:1:11", "given twice" },
        { "[a]: 1\n", "f:1:1", "a key must be a word" },
        { "? {a: 1}\n: 1\n", "f:1:3", "a key must be a word" },
        { "a: !!str 1\n", "f:1:4", "tag" },
        { "a: !!python/object:os.system x\n", "f:1:4", "tag" },
        { "!x {a: 1}\n", "f:1:1", "tag" },
        { "a: 1\n---\nb: 1\n", "f:2:1", "second document" },
        { "a:\n\t- b\n", "f:2:1", "tab" },
        { "a: [1\n", "f:2:1", "" },
        { "a: \"x\n", "f:2:1", "" },
        { "a: b: c\n", "f:1:5", "" },
        { "a: @x\n", "f:1:4", "quotes" },
        { "a: 'x' y\n", "f:1:8", "" },
        { "a: \"\\0\"\n", "f:1:4", "NUL" },
        { "a: \"\\ud800\"\n", "f:1:", "" },
        { "a: 1\nb: \x01\n", "f:2:4", "control characters" },
        { "# é\nb: 1\nc: \x07\n", "f:3:4", "control characters" },
        { "a: 1\nb: \xff\n", "f:2:4", "UTF-8" },
        { "a: \xc0\xaf\n", "f:1:4", "UTF-8" },
        { "a: \xed\xa0\x80\n", "f:1:4", "UTF-8" },
        { "a: é\xc3", "f:1:5", "UTF-8" },
        { "%YAML 9.9\n---\na: 1\n", "f:1:1", "" },
        { "a: x\rb: y\r", "f:1:5", "ends a line" },
};

static void test_malformed_yaml_is_refused_with_its_position(void **state)
{
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(broken_yaml); i++) {
                PARSED p = parse_yaml(broken_yaml[i].text);
                /* After a duplicate key parsing continues; settings_parse_policy() refuses the file. */
                if (diagnostics_count(p.messages, DIAGNOSTIC_ERROR) == 0)
                        fail_msg("accepted: %s", broken_yaml[i].text);
                assert_message(&p, broken_yaml[i].position);
                assert_message(&p, broken_yaml[i].message);
        }
}

static void test_malformed_json_is_refused_with_its_position(void **state)
{
        (void)state;
        static const struct {
                const char *text, *position;
        } rows[] = {
                { "", "f" },
                { "{", "f:1:" },
                { "{\"a\": 1,}", "f:1:" },
                { "{\"a\": 1} x", "f:1:" },
                { "{\"a\": 1, \"a\": 2}", "f:1:" },
                { "[1, 2", "f:1:" },
                { "{\"a\": \"\\u0000\"}", "f:1:" },
                { "{\"a\\u0000b\": 1}", "f:1:" },
                { "{'a': 1}", "f:1:" },
                { "{\"a\": 01}", "f:1:" },
                { "{\"a\":\n nul}", "f:2:" },
                { "{\"a\": \"\\ud800\"}", "f:1:" },
                { "// comment\n{}", "f:1:" },
                { "{\"a\": 1e999}", "f:1:" },
                { "{\"a\": NaN}", "f:1:" },
                { "{\"a\": \"\xff\"}", "f:1:8" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                PARSED p = parse_json(rows[i].text);
                if (p.result != 1)
                        fail_msg("accepted: %s", rows[i].text);
                assert_message(&p, rows[i].position);
        }
}

static void test_nul_is_refused(void **state)
{
        (void)state;
        static const char text[] = "mode: auto\0\nx: y\n";
        static parser *const parsers[] = { node_from_yaml, node_from_json };
        for (size_t i = 0; i < ARRAY_SIZE(parsers); i++) {
                PARSED p = parse_bytes(parsers[i], text, sizeof text - 1);
                assert_int_equal(p.result, 1);
                assert_message(&p, "f:1:11");
                assert_message(&p, "NUL");
        }
}

/* Line breaks that only YAML knows must not shift line numbers, nor end a comment. */
static void test_unicode_line_breaks_do_not_shift_positions(void **state)
{
        (void)state;
        static const char *const breaks[] = { "\xe2\x80\xa8", "\xe2\x80\xa9", "\xc2\x85" };
        for (size_t i = 0; i < ARRAY_SIZE(breaks); i++) {
                char text[64];
                (void)snprintf(text, sizeof text, "# a%smode: auto\nb: *x\n", breaks[i]);
                PARSED p = parse_yaml(text);
                assert_int_equal(p.result, 1);
                if (!strstr(p.printed.data, "f:1:4"))
                        fail_msg("%zu: %s", i, p.printed.data);
        }
}

/* `piece` is repeated. A `#` in it is replaced by the index, for up to 2000 repetitions. */
struct repeated {
        const char *head, *piece, *tail;
        size_t times;
        const char *message;
};

static void assert_capped(parser *parse, const struct repeated *r)
{
        CLEANUP_TEXT struct text t = { 0 };
        text_add(&t, r->head);
        for (size_t i = 0; i < r->times; i++) {
                const char *number = strchr(r->piece, '#');
                if (r->times <= 2000 && number)
                        text_format(&t, "%.*s%zu%s", (int)(number - r->piece), r->piece, i, number + 1);
                else
                        text_add(&t, r->piece);
        }
        text_add(&t, r->tail);
        clock_t start = clock();
        PARSED p = parse_bytes(parse, t.data, t.length);
        double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
        if (r->message)
                assert_message(&p, r->message);
        assert_int_equal(p.result, r->message ? 1 : 0);
        if (seconds > 2.0)
                fail_msg("'%s' %zu times took %.1f s", r->piece, r->times, seconds);
}

static void test_limits_are_enforced_quickly_and_named(void **state)
{
        (void)state;
        static const struct repeated yaml[] = {
                { "", "[", "", 100000, "nested more than 24 deep" },
                { "", "{a: ", "", 100000, "nested more than 24 deep" },
                { "", "- ", "x", 100000, "nested more than 24 deep" },
                { "[", "a, ", "]", 39000, NULL },
                { "[", "a, ", "]", 41000, "more than 40000 values" },
                { "", "k#: 1\n", "", 1024, NULL },
                { "", "k#: 1\n", "", 1025, "more than 1024 keys" },
                { "", "- &a# x\n", "", 256, NULL },
                { "", "- &a# x\n", "", 257, "more than 256 anchors" },
                { "a: ", "x", "\n", 4096, NULL },
                { "a: ", "x", "\n", 4097, "too long" },
                { "a: \"", "é", "\"\n", 2049, "too long" },
                { "#", "x", "\n", 1 << 20, "too large" },
                { "#", "x", "\n", 10 << 20, "too large" },
                { "", "? ", "", 100000, "" },
                { "", "a: &a\n", "", 1000, "" },
                { "", "'", "", 100001, "" },
                { "a: |\n", "  x\n", "", 100000, "too long" },
                { "", "!<", "", 100000, "" },
                { "", "&", "", 100000, "" },
                { "", "%A B\n", "", 60000, "" },
                { "a: \"", "\\\n", "", 100000, "" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(yaml); i++)
                assert_capped(node_from_yaml, &yaml[i]);
        static const struct repeated json[] = {
                { "", "[", "", 100000, "" },
                { "", "{\"a\":", "", 100000, "" },
                { "[0", ",1", "]", 39000, NULL },
                { "[0", ",1", "]", 41000, "more than 40000 values" },
                { "[\"", "x", "\"]", 4097, "too long" },
                { "[\"", "x", "\"]", 10 << 20, "too large" },
                { "", " ", "{}", 1 << 20, "too large" },
                { "", " ", "{}", (1 << 20) - 2, NULL },
        };
        for (size_t i = 0; i < ARRAY_SIZE(json); i++)
                assert_capped(node_from_json, &json[i]);
}

static void test_alias_bomb_is_refused_at_the_limit(void **state)
{
        (void)state;
        CLEANUP_TEXT struct text t = { 0 };
        text_add(&t, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for (size_t i = 1; i < 20; i++) {
                text_format(&t, "a%zu: &a%zu [", i, i);
                for (size_t j = 0; j < 10; j++)
                        text_format(&t, "*a%zu, ", i - 1);
                text_add(&t, "]\n");
        }
        clock_t start = clock();
        PARSED p = parse_bytes(node_from_yaml, t.data, t.length);
        assert_int_equal(p.result, 1);
        assert_message(&p, "more than 40000 values");
        assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 1.0);
}

static const char sample[] =
        "runtime: {workdir: ./é}\nsecurity:\n  sandbox: &s\n    level: strict # x\n    allow_paths:\n"
        "      - \"/a\\t\":ro\n      - 'b''c'\n    x: *s\n  y: |\n    text\n  z: >-\n    more\n...\n";

/* Truncated text, and text with random bytes, is parsed or refused, and never crashes the parser. */
static void test_truncated_and_corrupted_text_does_not_crash_the_parser(void **state)
{
        (void)state;
        unsigned long long seed = 99;
        char copy[sizeof sample];
        for (size_t i = 0; i < sizeof sample; i++) {
                PARSED yaml = parse_bytes(node_from_yaml, sample, i);
                PARSED json = parse_bytes(node_from_json, sample, i);
                assert_true(yaml.result >= 0 && json.result >= 0);
        }
        for (size_t i = 0; i < 3000; i++) {
                memcpy(copy, sample, sizeof sample);
                for (size_t n = 1 + random_below(&seed, 3); n > 0; n--)
                        copy[random_below(&seed, sizeof sample - 1)] = (char)random_below(&seed, 256);
                PARSED p = parse_bytes(node_from_yaml, copy, sizeof sample - 1);
                assert_true(p.result >= 0);
        }
}

/* Messages */

static void test_message_shows_the_line_and_a_caret(void **state)
{
        (void)state;
        WORLD w = world_new();
        world_read(&w, "mode: auto\nsecurity:\n  sandbox:\n    pool_size: 99 # é\n    \"é\": 1\n");
        assert_false(world_compile(&w));
        assert_string_equal(
                w.printed.data,
                "p1.yaml:4:16: error: '99' for security.sandbox.pool_size: this is too large\n"
                "     4 |     pool_size: 99 # é\n"
                "       |                ^\n"
                "       = expected a whole number from 1 to 32\n"
                "p1.yaml:5:5: error: unknown key 'é' in security.sandbox\n"
                "     5 |     \"é\": 1\n"
                "       |     ^\n"
                "       = known here: level, namespaces, pool_size, pool_max, session_timeout, idle_timeout, "
                "workspace_snapshot, audit, mdwe, allow_paths, resources\n");
}

static void test_caret_of_a_long_line_is_under_its_position(void **state)
{
        (void)state;
        CLEANUP_TEXT struct text t = { 0 };
        text_add(&t, "{\"network\": {\"allowed_domains\": [");
        for (size_t i = 0; i < 300; i++)
                text_add(&t, "\"bücher.example\", ");
        text_add(&t, "]}, \"mode\": \"WRONG\"}");
        WORLD w = world_new();
        world_read(&w, t.data);
        assert_false(world_compile(&w));
        const char *line = strstr(w.printed.data, "     1 | ");
        assert_non_null(line);
        const char *second = strchr(line, '\n') + 1, *caret = strchr(second, '^');
        size_t at = 0;
        for (const char *p = second; p < caret; p++)
                at += text_utf8_sequence_length(line + at, strlen(line + at));
        assert_true(text_has_prefix(line + at, "\"WRONG\""));
        assert_true(second - line < 400);
}

static void test_messages_have_no_control_characters(void **state)
{
        (void)state;
        WORLD w = world_new();
        world_read(&w, "\"a\\e[2J\\a\\u009b1m\\u202e\": 1\n# \xc2\x9b\nmode: \"\\e]0;x\\a\"\nruntime:\n  workdir: "
                       "\"\\e[1A\\u0000\"\n");
        assert_false(world_compile(&w));
        for (const char *p = w.printed.data; *p; p++)
                assert_true((unsigned char)*p >= 0x20 ? *p != 0x7f : *p == '\n');
        assert_null(strstr(w.printed.data, "\xc2\x9b"));
        assert_null(strstr(w.printed.data, "\xe2\x80\xae"));
}

static void test_many_errors_are_reported_up_to_a_limit_and_the_rest_counted(void **state)
{
        (void)state;
        WORLD w = world_new();
        CLEANUP_TEXT struct text t = { 0 };
        for (size_t i = 0; i < POLICY_MESSAGES_MAX + 7; i++)
                text_format(&t, "k%zu: 1\n", i);
        world_read(&w, t.data);
        assert_false(world_compile(&w));
        assert_world_message(&w, "p1.yaml:1:1");
        assert_world_message(&w, "p1.yaml:40:1");
        assert_world_message(&w, "and 7 more\n");
        assert_int_equal(diagnostics_count(w.messages, DIAGNOSTIC_ERROR), POLICY_MESSAGES_MAX + 7);
        CLEANUP_JSON json_t *json = diagnostics_to_json(w.messages);
        assert_int_equal(json_array_size(json), POLICY_MESSAGES_MAX);
}

/* A message that is truncated inside a character must not be lost in the JSON. */
static void test_message_truncated_inside_a_character_is_not_lost(void **state)
{
        (void)state;
        for (size_t shift = 0; shift < 4; shift++) {
                WORLD w = world_new();
                CLEANUP_TEXT struct text t = { 0 };
                text_add_bytes(&t, "aaaa", shift);
                for (size_t i = 0; i < 400; i++)
                        text_add(&t, "é€");
                text_add(&t, ": 1\nmode: [x]\n");
                world_read(&w, t.data);
                assert_false(world_compile(&w));
                CLEANUP_JSON json_t *json = diagnostics_to_json(w.messages);
                assert_int_equal(json_array_size(json), 2);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_value_has_its_position),
                cmocka_unit_test(test_plain_scalars_are_not_interpreted),
                cmocka_unit_test(test_empty_files_are_empty_policies),
                cmocka_unit_test(test_crlf_bom_and_a_missing_last_newline_are_accepted),
                cmocka_unit_test(test_alias_is_replaced_by_its_anchor),
                cmocka_unit_test(test_malformed_yaml_is_refused_with_its_position),
                cmocka_unit_test(test_malformed_json_is_refused_with_its_position),
                cmocka_unit_test(test_nul_is_refused),
                cmocka_unit_test(test_unicode_line_breaks_do_not_shift_positions),
                cmocka_unit_test(test_limits_are_enforced_quickly_and_named),
                cmocka_unit_test(test_alias_bomb_is_refused_at_the_limit),
                cmocka_unit_test(test_truncated_and_corrupted_text_does_not_crash_the_parser),
                cmocka_unit_test(test_message_shows_the_line_and_a_caret),
                cmocka_unit_test(test_caret_of_a_long_line_is_under_its_position),
                cmocka_unit_test(test_messages_have_no_control_characters),
                cmocka_unit_test(test_many_errors_are_reported_up_to_a_limit_and_the_rest_counted),
                cmocka_unit_test(test_message_truncated_inside_a_character_is_not_lost),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
