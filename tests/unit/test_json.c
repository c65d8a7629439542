/*
 * JSON with bounds. The text is anybody's: what is not strict JSON is refused with its place, and neither its size nor
 * its depth costs more than the caller allowed. What is written is the same bytes every time.
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

enum { CAP_BYTES = 1 << 20, CAP_DEPTH = 8 };

struct place {
        unsigned line, column;
};

static int parse_bytes(const char *text, size_t length, json_t **ret, struct error *e, struct place *ret_place)
{
        return json_parse_bounded(text, length, CAP_BYTES, CAP_DEPTH, ret, e, &ret_place->line, &ret_place->column);
}

/* Refused with this code, at this place, with these words in the message. */
static void assert_refused(const char *text, size_t length, int code, unsigned line, unsigned column, const char *words)
{
        json_t *untouched = NULL;
        struct error e = { 0 };
        struct place place = { 99, 99 };
        assert_int_equal(parse_bytes(text, length, &untouched, &e, &place), -code);
        assert_null(untouched);
        assert_int_equal(e.code, code);
        assert_int_equal(place.line, line);
        assert_int_equal(place.column, column);
        if (!strstr(e.text, words))
                fail_msg("'%s' is not in '%s'", words, e.text);
}
#define REFUSED(text, ...) assert_refused((text), sizeof(text) - 1, __VA_ARGS__)

static void assert_round_trip(const char *text)
{
        CLEANUP_JSON json_t *value = NULL;
        CLEANUP_TEXT struct text t = { 0 };
        struct error e = { 0 };
        struct place place;
        assert_int_equal(parse_bytes(text, strlen(text), &value, &e, &place), 0);
        assert_int_equal(place.line, 0);
        assert_int_equal(json_write(value, &t, false), 0);
        assert_string_equal(t.data, text);
}

static void test_what_is_read_is_written_in_the_same_order(void **state)
{
        (void)state;
        assert_round_trip("{\"zebra\":1,\"ant\":[true,false,null],\"mole\":{\"b\":\"x\",\"a\":-2.5}}");
        assert_round_trip("[]");
        assert_round_trip("\"a scalar alone\"");
        assert_round_trip("{\"\\u00E9\":\"\\u001F\\\"\\\\\"}");
        assert_round_trip("[9223372036854775807,-9223372036854775808]");
}

static void test_what_is_no_json_is_refused_with_its_place(void **state)
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

static void test_duplicate_keys_are_refused_however_deep(void **state)
{
        (void)state;
        REFUSED("{\"a\": 1, \"a\": 2}", EINVAL, 1, 12, "duplicate object key");
        REFUSED("[{\"b\":\n{\"a\": 1, \"\\u0061\": 2}}]", EINVAL, 2, 17, "duplicate object key");
}

static void test_nul_and_broken_utf8_are_refused(void **state)
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

static void test_a_message_cannot_move_the_cursor(void **state)
{
        (void)state;
        json_t *value = NULL;
        struct error e = { 0 };
        struct place place;
        const char text[] = "[\033]2;title\007]";
        assert_int_equal(parse_bytes(text, sizeof text - 1, &value, &e, &place), -EINVAL);
        for (const char *c = e.text; *c; c++)
                assert_true((unsigned char)*c >= 0x20);
}

static void test_depth_is_capped_before_anything_recurses(void **state)
{
        (void)state;
        CLEANUP_JSON json_t *value = NULL;
        struct error e = { 0 };
        struct place place;
        assert_int_equal(parse_bytes("[[[[[[[[]]]]]]]]", 16, &value, &e, &place), 0);
        REFUSED("[[[[[[[[[]]]]]]]]]", ELOOP, 1, 9, "line 1, column 9: nested too deeply");
        REFUSED("{\"é\":\n  [[[[[[[{\"x\":1}]]]]]]]}", ELOOP, 2, 10, "nested too deeply");

        enum { HUGE = 1 << 20 };
        char *brackets = malloc(HUGE);
        assert_non_null(brackets);
        memset(brackets, '[', HUGE);
        assert_refused(brackets, HUGE, ELOOP, 1, 9, "nested too deeply");
        free(brackets);
}

static void test_brackets_in_strings_are_not_depth(void **state)
{
        (void)state;
        assert_round_trip("[\"[[[[[[[[[[[[[[\",\"\\\"[[[[[[[[[[[[\",\"\\\\\",[[\"{{{{{{{{{{{{\"]]]");
        assert_round_trip("[[],[],[],[],[],[],[],[],[],[],{},{},{}]");
        REFUSED("[\"unfinished [[[[[[[[[[[[", EINVAL, 1, 25, "");
        REFUSED("[\"unfinished \\", EINVAL, 1, 14, "");
        REFUSED("]]]]]]]]]", EINVAL, 1, 1, "");
}

static void test_size_is_capped(void **state)
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

static void test_pretty_output(void **state)
{
        (void)state;
        CLEANUP_JSON json_t *value = json_pack("{s:i, s:[s, s], s:{}}", "b", 1, "a", "x", "y", "c");
        CLEANUP_TEXT struct text t = { 0 };
        text_add(&t, "before ");
        assert_int_equal(json_write(value, &t, true), 0);
        assert_string_equal(t.data, "before {\n  \"b\": 1,\n  \"a\": [\n    \"x\",\n    \"y\"\n  ],\n  \"c\": {}\n}");
}

static void test_a_failed_write_leaves_the_text_as_it_was(void **state)
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

        enum { PIECE = 1 << 20 };
        char *letters = malloc(PIECE);
        assert_non_null(letters);
        memset(letters, 'a', PIECE);
        CLEANUP_JSON json_t *piece = json_stringn(letters, PIECE), *many = json_array();
        free(letters);
        for (int i = 0; i <= JSON_WRITE_MAX / PIECE; i++)
                assert_int_equal(json_array_append(many, piece), 0);
        assert_int_equal(json_write(many, &t, false), -EFBIG);
        assert_string_equal(t.data, "before");
        assert_int_equal(t.length, 6);

        t.failed = true;
        assert_int_equal(json_write(piece, &t, false), -ENOMEM);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_is_read_is_written_in_the_same_order),
                cmocka_unit_test(test_what_is_no_json_is_refused_with_its_place),
                cmocka_unit_test(test_duplicate_keys_are_refused_however_deep),
                cmocka_unit_test(test_nul_and_broken_utf8_are_refused),
                cmocka_unit_test(test_a_message_cannot_move_the_cursor),
                cmocka_unit_test(test_depth_is_capped_before_anything_recurses),
                cmocka_unit_test(test_brackets_in_strings_are_not_depth),
                cmocka_unit_test(test_size_is_capped),
                cmocka_unit_test(test_pretty_output),
                cmocka_unit_test(test_a_failed_write_leaves_the_text_as_it_was),
        };
        return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
