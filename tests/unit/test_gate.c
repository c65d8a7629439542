/* The gate: which calls are refused, and that secrets are scrubbed from every text of an answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "gate/gate.h"

/* In two pieces, so that scanners do not take this file for a leak. */
#define KEY "AKIA" "IOSFODNN7ABCDEFG"

static struct plan_denied_command denied[] = { { .name = "sudo", .from = { .name = "test" } } };
static const struct plan plan = { .denied_commands = denied, .denied_command_count = 1 };

static bool refuse_to_ascii(const char *name, char *ret, size_t size)
{
        (void)name;
        (void)ret;
        (void)size;
        return false;
}

static void check(const char *tool, const char *parameter, const char *value, const char *expected)
{
        const struct gate gate = { .plan = &plan, .to_ascii = refuse_to_ascii };
        CLEANUP_TEXT struct text why = { 0 };
        CLEANUP_JSON json_t *arguments = json_pack("{s:s}", parameter, value);
        bool refused = gate_check_call(&gate, tool, arguments, &why);
        if (refused != (expected != NULL) || (expected && !strstr(why.data, expected)))
                fail_msg("%s %s: %s", tool, value, why.data ? why.data : "let through");
}

static void test_only_commands_of_bash_and_urls_of_web_fetch_are_checked(void **state)
{
        (void)state;
        check("Bash", "command", "sudo ls", "command rejected: command uses denylisted token \"sudo\"");
        check("Bash", "command", "echo sudo", NULL);
        check("Bash", "description", "sudo ls", NULL);
        check("Write", "command", "sudo ls", NULL);
        check("WebFetch", "url", "http://127.0.0.1/", "127.0.0.1 may not be fetched from");
        check("WebFetch", "url", "file:///etc/passwd", "http");
        check("WebFetch", "url", "https://example.com/", NULL);
        check("Read", "url", "http://127.0.0.1/", NULL);
        const struct gate gate = { .plan = &plan, .to_ascii = refuse_to_ascii };
        CLEANUP_TEXT struct text why = { 0 };
        CLEANUP_JSON json_t *not_a_string = json_pack("{s:i}", "command", 7);
        assert_false(gate_check_call(&gate, "Bash", not_a_string, &why)); /* the tool itself reports the error */
        assert_false(gate_check_call(&gate, "Bash", NULL, &why));
}

static void test_secrets_are_scrubbed_from_every_text_but_image_data(void **state)
{
        (void)state;
        CLEANUP_SCRUBBER struct scrubber *scrubber = NULL;
        struct error e = { 0 };
        assert_int_equal(scrubber_new(NULL, 0, &scrubber, &e), 0);
        const struct gate gate = { .plan = &plan, .scrubber = scrubber };
        bool failed = true;
        CLEANUP_JSON json_t *value = json_pack("{s:[{s:s, s:s}, {s:s, s:s}], s:{s:[s, i]}}", "content", "type", "text",
                                               "text", "a " KEY " b", "type", "image", "data", KEY, "_meta",
                                               "paths", KEY, 7);
        CLEANUP_JSON json_t *counted = gate_scrub_result(&gate, value, &failed);
        char *text = json_dumps(value, JSON_COMPACT), *counts = json_dumps(counted, JSON_COMPACT);
        assert_false(failed);
        assert_string_equal(text, "{\"content\":[{\"type\":\"text\",\"text\":\"a [REDACTED:aws-access-key] b\"},"
                                  "{\"type\":\"image\",\"data\":\"" KEY "\"}],"
                                  "\"_meta\":{\"paths\":[\"[REDACTED:aws-access-key]\",7]}}");
        assert_string_equal(counts, "{\"aws-access-key\":2}");
        free(text);
        free(counts);
        CLEANUP_JSON json_t *plain = json_pack("{s:s}", "text", "nothing to hide");
        assert_null(gate_scrub_result(&gate, plain, &failed));
        assert_false(failed);
        assert_string_equal(json_string_value(json_object_get(plain, "text")), "nothing to hide");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_only_commands_of_bash_and_urls_of_web_fetch_are_checked),
                cmocka_unit_test(test_secrets_are_scrubbed_from_every_text_but_image_data),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
