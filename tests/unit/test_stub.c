/* The stub platform: it refuses to run or restrict anything. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "box/diagnosis.h"
#include "box/start.h"
#include "platform/platform.h"

static void test_every_level_is_refused(void **state)
{
        (void)state;
        struct diagnosis d;
        diagnosis_run(&d);
        for (int level = LEVEL_STANDARD; level <= LEVEL_MAXIMUM; level++)
                assert_int_equal(d.levels[level].verdict, VERDICT_REFUSED);
}

static void test_no_box_is_started(void **state)
{
        (void)state;
        char word[] = "true";
        char *const command[] = { word, NULL };
        struct plan plan = { .workspace = "/", .home = "/" };
        struct arena *arena = arena_new(1 << 20);
        struct report report;
        struct running_box running;
        struct error e = { 0 };
        report_init(&report, arena, &plan, command);
        struct launch_request request = { .plan = &plan, .command = command };
        assert_int_equal(start_box(&request, &report, NULL, &running, &e), -ENOTSUP);
        assert_non_null(strstr(e.text, "can confine nothing"));
        arena_free(arena);
}

static void test_no_process_can_restrict_itself(void **state)
{
        (void)state;
        struct plan plan = { .workspace = "/", .home = "/" };
        struct error e = { 0 };
        assert_int_equal(platform_restrict_self(&plan, &e), -ENOTSUP);
        assert_int_equal(platform_restrict_to_network(&e), -ENOTSUP);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_level_is_refused),
                cmocka_unit_test(test_no_box_is_started),
                cmocka_unit_test(test_no_process_can_restrict_itself),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
