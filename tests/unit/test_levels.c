/* Verdicts on levels, computed from made-up reports. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "box/levels.h"
#include "wall/wall.h"

/* A machine that can do everything. */
static void fill(struct probe_report *report)
{
        *report = (struct probe_report){ 0 };
        for (enum feature_id id = 0; id < FEATURE_COUNT; id++)
                feature_set(report, id, FEATURE_YES, 0, "made up");
}

static void lack(struct probe_report *report, enum feature_id id, const char *help)
{
        feature_set(report, id, FEATURE_NO, EPERM, "made up");
        report->features[id].help = help;
}

static enum level_verdict judge(enum level level, const struct probe_report *report)
{
        struct level_result result;
        level_judge(level, report, &result);
        return result.verdict;
}

static void check_verdicts(const struct probe_report *report, enum level_verdict standard, enum level_verdict strict,
                           enum level_verdict maximum)
{
        assert_int_equal(judge(LEVEL_STANDARD, report), standard);
        assert_int_equal(judge(LEVEL_STRICT, report), strict);
        assert_int_equal(judge(LEVEL_MAXIMUM, report), maximum);
}

static void test_everything_there_works(void **state)
{
        (void)state;
        struct probe_report report;
        fill(&report);
        check_verdicts(&report, VERDICT_WORKS, VERDICT_WORKS, VERDICT_WORKS);
}

static void test_nothing_asked_is_refused(void **state)
{
        (void)state;
        const struct probe_report report = { 0 };
        check_verdicts(&report, VERDICT_REFUSED, VERDICT_REFUSED, VERDICT_REFUSED);
}

/* One feature taken away at a time, and what becomes of the three levels. */
static void test_each_feature_has_its_consequence(void **state)
{
        (void)state;
        static const struct {
                enum feature_id id;
                const char *verdicts; /* standard, strict, maximum: Works, Shortfalls, Refused */
        } rows[] = {
                { FEATURE_LANDLOCK, "RRR" },
                { FEATURE_SECCOMP, "RRR" },
                { FEATURE_NO_NEW_PRIVS, "RRR" },
                { FEATURE_OPENAT2, "RRR" },
                { FEATURE_USER, "WRR" },
                { FEATURE_PID, "WRR" },
                { FEATURE_MOUNT, "WRR" },
                { FEATURE_IPC, "WRR" },
                { FEATURE_UTS, "WRR" },
                { FEATURE_CGROUP, "WRR" },
                { FEATURE_TOGETHER, "WRR" },
                { FEATURE_ROOT, "WRR" },
                { FEATURE_NET, "WWR" },
                { FEATURE_LOOPBACK, "WWR" },
                { FEATURE_REDIRECT, "WSS" },
                { FEATURE_OVERLAY, "WSS" },
                { FEATURE_PROC, "WRR" },
                { FEATURE_ADDFD, "SSS" },
                { FEATURE_READ_MEMORY, "SSS" },
                { FEATURE_MDWE, "SSS" },
                { FEATURE_CAPABILITIES, "SSS" },
                { FEATURE_LANDLOCK_UNIX, "SSS" },
                { FEATURE_LANDLOCK_SCOPE, "SWW" },
                { FEATURE_LANDLOCK_TRUNCATE, "RWW" },
                { FEATURE_LANDLOCK_REFER, "SSS" },
                { FEATURE_LANDLOCK_TCP, "SWW" },
                { FEATURE_LANDLOCK_UDP, "WWW" },
                { FEATURE_DELEGATION, "WWW" },
                { FEATURE_MANAGER, "WWW" },
                { FEATURE_NPROC, "WWW" },
                { FEATURE_CONTAINER, "WWW" },
        };
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                struct probe_report report;
                fill(&report);
                lack(&report, rows[i].id, NULL);
                char got[4] = "";
                for (enum level level = LEVEL_STANDARD; level <= LEVEL_MAXIMUM; level++)
                        got[level - LEVEL_STANDARD] = "WSR"[judge(level, &report)];
                print_message("without %s\n", feature_info(rows[i].id)->key);
                assert_string_equal(got, rows[i].verdicts);
        }
}

static void test_partly_and_unasked_do_not_count(void **state)
{
        (void)state;
        static const enum feature_state states[] = { FEATURE_UNASKED, FEATURE_NO, FEATURE_PARTLY };
        for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
                struct probe_report report;
                fill(&report);
                feature_set(&report, FEATURE_LANDLOCK, states[i], 0, "made up");
                check_verdicts(&report, VERDICT_REFUSED, VERDICT_REFUSED, VERDICT_REFUSED);
        }
}

static void test_limits_need_one_way_not_all(void **state)
{
        (void)state;
        struct probe_report report;
        struct level_result result;
        fill(&report);
        lack(&report, FEATURE_DELEGATION, NULL);
        lack(&report, FEATURE_MANAGER, "start a manager");
        level_judge(LEVEL_STRICT, &report, &result);
        assert_int_equal(result.shortfall_count, 1); /* processes are still counted by RLIMIT_NPROC */
        assert_non_null(strstr(result.shortfalls[0]->lost, "memory"));
        assert_string_equal(result.help, "start a manager");

        lack(&report, FEATURE_NPROC, NULL);
        level_judge(LEVEL_STRICT, &report, &result);
        assert_int_equal(result.shortfall_count, 2);
}

static void test_help_for_what_is_missing_comes_first(void **state)
{
        (void)state;
        struct probe_report report;
        struct level_result result;
        fill(&report);
        lack(&report, FEATURE_OVERLAY, "help for a shortfall");
        lack(&report, FEATURE_PID, NULL);
        lack(&report, FEATURE_ROOT, "help for a need");
        level_judge(LEVEL_STRICT, &report, &result);
        assert_int_equal(result.verdict, VERDICT_REFUSED);
        assert_int_equal(result.missing_count, 2);
        assert_int_equal(result.shortfall_count, 1);
        assert_string_equal(result.help, "help for a need");

        /* Where nothing needed has a remedy, one for a shortfall would not make the level work. */
        report.features[FEATURE_ROOT].help = NULL;
        level_judge(LEVEL_STRICT, &report, &result);
        assert_null(result.help);
        level_judge(LEVEL_STANDARD, &report, &result);
        assert_null(result.help);
}

static void test_every_feature_has_a_name(void **state)
{
        (void)state;
        for (enum feature_id id = 0; id < FEATURE_COUNT; id++) {
                const struct feature_info *info = feature_info(id);
                assert_non_null(info->key);
                assert_non_null(info->label);
                assert_non_null(strchr(info->key, '.'));
                for (enum feature_id other = 0; other < id; other++)
                        assert_string_not_equal(info->key, feature_info(other)->key);
        }
}

static void test_details_are_printable_and_bounded(void **state)
{
        (void)state;
        struct probe_report report = { 0 };
        feature_set(&report, FEATURE_CGROUP2, FEATURE_YES, 0, "a\033[31mb");
        assert_null(strchr(report.features[FEATURE_CGROUP2].detail, '\033'));

        char line[400];
        memset(line, 'x', sizeof line - 1);
        line[sizeof line - 1] = '\0';
        feature_set(&report, FEATURE_CGROUP2, FEATURE_YES, 0, "%s", line);
        const char *detail = report.features[FEATURE_CGROUP2].detail;
        size_t length = strlen(detail);
        assert_true(length < sizeof report.features[0].detail);
        assert_string_equal(detail + length - strlen("…"), "…");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_everything_there_works),
                cmocka_unit_test(test_nothing_asked_is_refused),
                cmocka_unit_test(test_each_feature_has_its_consequence),
                cmocka_unit_test(test_partly_and_unasked_do_not_count),
                cmocka_unit_test(test_limits_need_one_way_not_all),
                cmocka_unit_test(test_help_for_what_is_missing_comes_first),
                cmocka_unit_test(test_every_feature_has_a_name),
                cmocka_unit_test(test_details_are_printable_and_bounded),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
