/* WebFetch: the report of its child process, and requests that are refused before a child is started. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "tools/tool.h"
#include "tools/web_fetch_report.h"

/* --- reports --- */

static void test_report_is_parsed_as_it_was_written(void **state)
{
        (void)state;
        static const struct web_report rows[] = {
                { WEB_OK, { "https://example.com/", 200, "text/html", "a\0b", 3, false }, "" },
                { WEB_OK, { "https://example.com/", 404, NULL, "", 0, false }, "" },
                { WEB_OK, { "https://example.com/", 200, "text/plain", "x", 1, true }, "" },
                { WEB_BAD_CERTIFICATE, { .url = "https://example.com/", .body = "" }, "it is too old" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                CLEANUP_TEXT struct text out = { 0 };
                struct web_report r;
                web_report_write(&rows[i], &out);
                assert_true(web_report_parse(out.data, out.length, &r));
                assert_int_equal(r.failure, rows[i].failure);
                assert_string_equal(r.detail, rows[i].detail);
                assert_string_equal(r.response.url, rows[i].response.url);
                assert_int_equal(r.response.status, rows[i].response.status);
                assert_int_equal(r.response.cut, rows[i].response.cut);
                assert_int_equal(r.response.length, rows[i].response.length);
                assert_memory_equal(r.response.body, rows[i].response.body, r.response.length);
                assert_int_equal(r.response.content_type == NULL, rows[i].response.content_type == NULL);
                if (r.response.content_type)
                        assert_string_equal(r.response.content_type, rows[i].response.content_type);
        }
}

static void test_long_texts_are_truncated_so_that_a_report_can_be_parsed(void **state)
{
        (void)state;
        CLEANUP_TEXT struct text out = { 0 };
        CLEANUP_FREE char *long_text = malloc(2 * WEB_BODY_MAX);
        assert_non_null(long_text);
        memset(long_text, 'x', 2 * WEB_BODY_MAX);
        long_text[2 * WEB_BODY_MAX - 1] = '\0';
        const struct web_report long_report = { WEB_BAD_RESPONSE,
                                                { long_text, 200, long_text, long_text, 2 * WEB_BODY_MAX, false },
                                                long_text };
        struct web_report r;
        web_report_write(&long_report, &out);
        assert_true(out.length <= WEB_REPORT_MAX);
        assert_true(web_report_parse(out.data, out.length, &r));
        assert_int_equal(strlen(r.response.url), URL_MAX + DOMAIN_MAX);
        assert_int_equal(strlen(r.response.content_type), WEB_TYPE_MAX);
        assert_int_equal(strlen(r.detail), WEB_DETAIL_MAX);
        assert_int_equal(r.response.length, WEB_BODY_MAX);
        assert_true(r.response.cut);
}

static void test_malformed_reports_are_refused(void **state)
{
        (void)state;
        CLEANUP_TEXT struct text out = { 0 };
        const struct web_report valid = { WEB_OK,
                                          { "https://example.com/", 200, "text/html", "abc", 3, false },
                                          "" };
        struct web_report r;
        web_report_write(&valid, &out);
        for (size_t length = 0; length < out.length; length++)
                assert_false(web_report_parse(out.data, length, &r)); /* truncated anywhere */
        text_add(&out, "more");
        assert_false(web_report_parse(out.data, out.length, &r));
        out.length -= strlen("more");
        assert_true(web_report_parse(out.data, out.length, &r));
        static const struct {
                size_t number; /* index of one of the first four numbers */
                uint32_t value;
        } invalid[] = { { 0, WEB_FAILURES }, { 0, UINT32_MAX }, { 1, 1000 }, { 2, 2 }, { 3, 2 }, { 3, UINT32_MAX } };
        for (size_t i = 0; i < ARRAY_SIZE(invalid); i++) {
                uint32_t before;
                char *field = out.data + invalid[i].number * sizeof before;
                memcpy(&before, field, sizeof before);
                memcpy(field, &invalid[i].value, sizeof invalid[i].value);
                assert_false(web_report_parse(out.data, out.length, &r));
                memcpy(field, &before, sizeof before);
        }
}

/* --- the tool --- */

static void check_refused(struct tool_context *box, const char *text, const char *part)
{
        struct tool_result answer;
        json_t *arguments = json_loads(text, 0, NULL);
        assert_null(tool_call(box, tool_find("WebFetch"), arguments, &answer));
        if (!strstr(answer.text.data, part))
                fail_msg("%s", answer.text.data);
        assert_true(answer.is_error);
        tool_result_done(&answer);
        json_decref(arguments);
}

static void test_invalid_requests_are_refused_before_a_child_is_started(void **state)
{
        (void)state;
        struct host_rule denial = { .allow = false, .domain.name = "example.com" };
        const struct plan plan = { .hosts = { &denial, 1 } };
        struct tool_context box = { .plan = &plan };
        check_refused(&box, "{\"url\": \"https://example.com/\", \"format\": \"pdf\"}",
                      "the parameter format of WebFetch must be one of text, html, raw");
        check_refused(&box, "{\"url\": \"https://example.com/\", \"timeout\": 121}", "must be from 1 to 120");
        check_refused(&box, "{\"url\": \"https://example.com/\", \"timeout\": 0}", "must be from 1 to 120");
        check_refused(&box, "{}", "WebFetch needs the parameter url");
        check_refused(&box, "{\"url\": \"https://10.0.0.1/\"}",
                      "10.0.0.1 may not be fetched from: it is in 10.0.0.0/8");
        check_refused(&box, "{\"url\": \"https://example.com/\"}",
                      "example.com cannot be reached: the policy allows no host, so the box reaches none; ringwall "
                      "mcp --allow-domain example.com would allow it");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_report_is_parsed_as_it_was_written),
                cmocka_unit_test(test_long_texts_are_truncated_so_that_a_report_can_be_parsed),
                cmocka_unit_test(test_malformed_reports_are_refused),
                cmocka_unit_test(test_invalid_requests_are_refused_before_a_child_is_started),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
