/*
 * JSON with limits. The text is untrusted: anything but strict JSON is refused with its position, and the caller limits
 * its size and depth. Writing the same value gives the same bytes every time.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"

enum { BYTES_MAX = 1 << 20, DEPTH_MAX = 8 };

struct position {
        unsigned line, column;
};

static int parse_bytes(const char *text, size_t length, json_t **ret, struct error *e, struct position *ret_position)
{
        return json_parse_bounded(text, length, BYTES_MAX, DEPTH_MAX, ret, e, &ret_position->line,
                                  &ret_position->column);
}

/* Asserts that the text is refused with this code, at this position, with this part of a message. */
static void assert_refused(const char *text, size_t length, int code, unsigned line, unsigned column,
                           const char *message)
{
        json_t *untouched = NULL;
        struct error e = { 0 };
        struct position position = { 99, 99 };
        assert_int_equal(parse_bytes(text, length, &untouched, &e, &position), -code);
        assert_null(untouched);
        assert_int_equal(e.code, code);
        assert_int_equal(position.line, line);
        assert_int_equal(position.column, column);
        if (!strstr(e.text, message))
                fail_msg("'%s' is not in the message '%s'", message, e.text);
}
#define REFUSED(text, ...) assert_refused((text), sizeof(text) - 1, __VA_ARGS__)

static void assert_round_trip(const char *text)
{
        CLEANUP_JSON json_t *value = NULL;
        CLEANUP_TEXT struct text t = { 0 };
        struct error e = { 0 };
        struct position position;
        assert_int_equal(parse_bytes(text, strlen(text), &value, &e, &position), 0);
        assert_int_equal(position.line, 0);
        assert_int_equal(json_write(value, &t, false), 0);
        assert_string_equal(t.data, text);
}

static void test_parsed_value_is_written_in_the_same_order(void **state)
{
        (void)state;
        assert_round_trip("{\"zebra\":1,\"ant\":[true,false,null],\"mole\":{\"b\":\"x\",\"a\":-2.5}}");
        assert_round_trip("[]");
        assert_round_trip("\"a scalar alone\"");
        assert_round_trip("{\"\\u00E9\":\"\\u001F\\\"\\\\\"}");
        assert_round_trip("[9223372036854775807,-9223372036854775808]");
}

static void test_malformed_json_is_refused_with_its_position(void **state)
{
        (void)state;
        REFUSED("", EINVAL, 1, 1, "line 1, column 1: ");
        REFUSED("{\n  \"a\": tru\n}", EINVAL, 2, 10, "line 2, column 10: ");
        REFUSED("[1,]", EINVAL, 1, 4, "near ']'");
        REFUSED("{} {}", EINVAL, 1, 4, "end of file expected");
        REFUSED("{'a': 1}", EINVAL, 1, 2, "");
        REFUSED("[1 // no\n]", EINVAL, 1, 4, "");
        REFUSED("[NaN]", EINVAL, 1, 4, "");
        REFUSED("[01]", EINVAL, 1, 2, "");
        REFUSED("[99999999999999999999]", EINVAL, 1, 21, "too big integer");
        REFUSED("[1e999]", EINVAL, 1, 6, "real number overflow");
        REFUSED("[\"\n\"]", EINVAL, 1, 2, "");
        REFUSED("\xef\xbb\xbf{}", EINVAL, 1, 1, "");
}

static void test_duplicate_keys_are_refused_at_any_depth(void **state)
{
        (void)state;
        REFUSED("{\"a\": 1, \"a\": 2}", EINVAL, 1, 12, "duplicate object key");
        REFUSED("[{\"b\":\n{\"a\": 1, \"\\u0061\": 2}}]", EINVAL, 2, 17, "duplicate object key");
}

static void test_nul_and_invalid_utf8_are_refused(void **state)
{
        (void)state;
        REFUSED("[\"a\\u0000b\"]", EINVAL, 1, 11, "\\u0000 is not allowed in a string");
        REFUSED("{\"a\\u0000b\": 1}", EINVAL, 1, 11, "");
        REFUSED("[\"a\0b\"]", EINVAL, 1, 4, "");
        REFUSED("[0.1\0]", EINVAL, 1, 5, "");
        REFUSED("{}\0", EINVAL, 1, 3, "");
        REFUSED("[\"\xc3\x28\"]", EINVAL, 1, 2, "unable to decode");
        REFUSED("[\"\xed\xa0\x80\"]", EINVAL, 1, 2, "unable to decode");
        REFUSED("[\"\\ud800\"]", EINVAL, 1, 9, "");
}

static void test_message_has_no_control_characters(void **state)
{
        (void)state;
        json_t *value = NULL;
        struct error e = { 0 };
        struct position position;
        const char text[] = "[\033]2;title\007]";
        assert_int_equal(parse_bytes(text, sizeof text - 1, &value, &e, &position), -EINVAL);
        for (const char *c = e.text; *c; c++)
                assert_true((unsigned char)*c >= 0x20);
}

static void test_depth_is_limited_before_the_parser_recurses(void **state)
{
        (void)state;
        CLEANUP_JSON json_t *value = NULL;
        struct error e = { 0 };
        struct position position;
        assert_int_equal(parse_bytes("[[[[[[[[]]]]]]]]", 16, &value, &e, &position), 0);
        REFUSED("[[[[[[[[[]]]]]]]]]", ELOOP, 1, 9, "line 1, column 9: nested too deeply");
        REFUSED("{\"é\":\n  [[[[[[[{\"x\":1}]]]]]]]}", ELOOP, 2, 10, "nested too deeply");

        enum { HUGE_LENGTH = 1 << 20 };
        char *brackets = malloc(HUGE_LENGTH);
        assert_non_null(brackets);
        memset(brackets, '[', HUGE_LENGTH);
        assert_refused(brackets, HUGE_LENGTH, ELOOP, 1, 9, "nested too deeply");
        free(brackets);
}

static void test_brackets_in_strings_do_not_count_as_depth(void **state)
{
        (void)state;
        assert_round_trip("[\"[[[[[[[[[[[[[[\",\"\\\"[[[[[[[[[[[[\",\"\\\\\",[[\"{{{{{{{{{{{{\"]]]");
        assert_round_trip("[[],[],[],[],[],[],[],[],[],[],{},{},{}]");
        REFUSED("[\"unfinished [[[[[[[[[[[[", EINVAL, 1, 25, "");
        REFUSED("[\"unfinished \\", EINVAL, 1, 14, "");
        REFUSED("]]]]]]]]]", EINVAL, 1, 1, "");
}

static void test_size_is_limited(void **state)
{
        (void)state;
        json_t *value = NULL;
        struct error e = { 0 };
        assert_int_equal(json_parse_bounded("[1,2]", 5, 4, 8, &value, &e, NULL, NULL), -EFBIG);
        assert_string_equal(e.text, "5 bytes of JSON, more than the 4 allowed");
        assert_null(value);
        assert_int_equal(json_parse_bounded("[1,2]", 5, 5, 8, &value, NULL, NULL, NULL), 0);
        json_decref(value);
}

static void test_pretty_output_is_indented(void **state)
{
        (void)state;
        CLEANUP_JSON json_t *value = json_pack("{s:i, s:[s, s], s:{}}", "b", 1, "a", "x", "y", "c");
        CLEANUP_TEXT struct text t = { 0 };
        text_add(&t, "before ");
        assert_int_equal(json_write(value, &t, true), 0);
        assert_string_equal(t.data, "before {\n  \"b\": 1,\n  \"a\": [\n    \"x\",\n    \"y\"\n  ],\n  \"c\": {}\n}");
}

static void test_failed_write_leaves_the_text_as_it_was(void **state)
{
        (void)state;
        CLEANUP_TEXT struct text t = { 0 };
        text_add(&t, "before");

        CLEANUP_JSON json_t *outer = json_array(), *inner = json_array();
        assert_int_equal(json_array_append(outer, inner), 0);
        assert_int_equal(json_array_append(inner, outer), 0);
        assert_int_equal(json_write(outer, &t, false), -EINVAL); /* a cycle */
        assert_string_equal(t.data, "before");
        assert_int_equal(json_array_clear(inner), 0);

        enum { STRING_LENGTH = 1 << 20 };
        char *letters = malloc(STRING_LENGTH);
        assert_non_null(letters);
        memset(letters, 'a', STRING_LENGTH);
        CLEANUP_JSON json_t *string = json_stringn(letters, STRING_LENGTH), *many = json_array();
        free(letters);
        for (int i = 0; i <= JSON_WRITE_MAX / STRING_LENGTH; i++)
                assert_int_equal(json_array_append(many, string), 0);
        assert_int_equal(json_write(many, &t, false), -EFBIG);
        assert_string_equal(t.data, "before");
        assert_int_equal(t.length, 6);

        t.failed = true;
        assert_int_equal(json_write(string, &t, false), -ENOMEM);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_parsed_value_is_written_in_the_same_order),
                cmocka_unit_test(test_malformed_json_is_refused_with_its_position),
                cmocka_unit_test(test_duplicate_keys_are_refused_at_any_depth),
                cmocka_unit_test(test_nul_and_invalid_utf8_are_refused),
                cmocka_unit_test(test_message_has_no_control_characters),
                cmocka_unit_test(test_depth_is_limited_before_the_parser_recurses),
                cmocka_unit_test(test_brackets_in_strings_do_not_count_as_depth),
                cmocka_unit_test(test_size_is_limited),
                cmocka_unit_test(test_pretty_output_is_indented),
                cmocka_unit_test(test_failed_write_leaves_the_text_as_it_was),
        };
        return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
