/* Which levels work, computed from made-up reports of the kernel's features. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "box/levels.h"
#include "feature/feature.h"

/* The report of a kernel that has every feature. */
static void set_all_features(struct probe_report *report)
{
        *report = (struct probe_report){ 0 };
        for (enum feature_id id = 0; id < FEATURE_COUNT; id++)
                feature_set(report, id, FEATURE_YES, 0, "made up");
}

static void remove_feature(struct probe_report *report, enum feature_id id, const char *help)
{
        feature_set(report, id, FEATURE_NO, EPERM, "made up");
        report->features[id].help = help;
}

static enum level_verdict verdict_on(enum level level, const struct probe_report *report)
{
        struct level_result result;
        level_evaluate(level, report, &result);
        return result.verdict;
}

static void check_verdicts(const struct probe_report *report, enum level_verdict standard, enum level_verdict strict,
                           enum level_verdict maximum)
{
        assert_int_equal(verdict_on(LEVEL_STANDARD, report), standard);
        assert_int_equal(verdict_on(LEVEL_STRICT, report), strict);
        assert_int_equal(verdict_on(LEVEL_MAXIMUM, report), maximum);
}

static void test_every_level_works_with_all_features(void **state)
{
        (void)state;
        struct probe_report report;
        set_all_features(&report);
        check_verdicts(&report, VERDICT_WORKS, VERDICT_WORKS, VERDICT_WORKS);
}

static void test_every_level_is_refused_if_nothing_was_probed(void **state)
{
        (void)state;
        const struct probe_report report = { 0 };
        check_verdicts(&report, VERDICT_REFUSED, VERDICT_REFUSED, VERDICT_REFUSED);
}

/* The verdicts on the three levels if one feature is missing. */
static void test_verdicts_without_one_feature(void **state)
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
                { FEATURE_USER_NAMESPACE, "WRR" },
                { FEATURE_PID_NAMESPACE, "WRR" },
                { FEATURE_MOUNT_NAMESPACE, "WRR" },
                { FEATURE_IPC_NAMESPACE, "WRR" },
                { FEATURE_UTS_NAMESPACE, "WRR" },
                { FEATURE_CGROUP_NAMESPACE, "WRR" },
                { FEATURE_NAMESPACES_COMBINED, "WRR" },
                { FEATURE_PIVOT_ROOT, "WRR" },
                { FEATURE_NET_NAMESPACE, "WRR" },
                { FEATURE_LOOPBACK, "WRR" },
                { FEATURE_TCP_REDIRECT, "WSS" },
                { FEATURE_OVERLAY, "WSS" },
                { FEATURE_MOUNT_PROC, "WRR" },
                { FEATURE_ADDFD, "WRR" },
                { FEATURE_VM_READV, "SRR" },
                { FEATURE_WAIT_KILLABLE, "SRR" },
                { FEATURE_MDWE, "SSS" },
                { FEATURE_CAPABILITIES, "SSS" },
                { FEATURE_LANDLOCK_UNIX, "WWW" },
                { FEATURE_LANDLOCK_SCOPE, "SWW" },
                { FEATURE_LANDLOCK_TRUNCATE, "RWW" },
                { FEATURE_LANDLOCK_REFER, "SSS" },
                { FEATURE_LANDLOCK_TCP, "SWW" },
                { FEATURE_LANDLOCK_UDP, "WWW" },
                { FEATURE_CGROUP_DELEGATION, "WWW" },
                { FEATURE_SYSTEMD_SCOPE, "WWW" },
                { FEATURE_NPROC, "WWW" },
                { FEATURE_CONTAINER, "WWW" },
        };
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                struct probe_report report;
                set_all_features(&report);
                remove_feature(&report, rows[i].id, NULL);
                char verdicts[4] = "";
                for (enum level level = LEVEL_STANDARD; level <= LEVEL_MAXIMUM; level++)
                        verdicts[level - LEVEL_STANDARD] = "WSR"[verdict_on(level, &report)];
                print_message("without %s\n", feature_info(rows[i].id)->key);
                assert_string_equal(verdicts, rows[i].verdicts);
        }
}

static void test_partial_or_unprobed_feature_counts_as_missing(void **state)
{
        (void)state;
        static const enum feature_state states[] = { FEATURE_UNKNOWN, FEATURE_NO, FEATURE_PARTIAL };
        for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
                struct probe_report report;
                set_all_features(&report);
                feature_set(&report, FEATURE_LANDLOCK, states[i], 0, "made up");
                check_verdicts(&report, VERDICT_REFUSED, VERDICT_REFUSED, VERDICT_REFUSED);
        }
}

static void test_limits_need_only_one_mechanism(void **state)
{
        (void)state;
        struct probe_report report;
        struct level_result result;
        set_all_features(&report);
        remove_feature(&report, FEATURE_CGROUP_DELEGATION, NULL);
        remove_feature(&report, FEATURE_SYSTEMD_SCOPE, "start a manager");
        level_evaluate(LEVEL_STRICT, &report, &result);
        assert_int_equal(result.shortfall_count, 1); /* RLIMIT_NPROC still limits processes */
        assert_non_null(strstr(result.shortfalls[0]->consequence, "memory"));
        assert_string_equal(result.help, "start a manager");

        remove_feature(&report, FEATURE_NPROC, NULL);
        level_evaluate(LEVEL_STRICT, &report, &result);
        assert_int_equal(result.shortfall_count, 2);
}

static void test_help_for_a_missing_feature_comes_before_help_for_a_shortfall(void **state)
{
        (void)state;
        struct probe_report report;
        struct level_result result;
        set_all_features(&report);
        remove_feature(&report, FEATURE_OVERLAY, "help for a shortfall");
        remove_feature(&report, FEATURE_PID_NAMESPACE, NULL);
        remove_feature(&report, FEATURE_PIVOT_ROOT, "help for a need");
        level_evaluate(LEVEL_STRICT, &report, &result);
        assert_int_equal(result.verdict, VERDICT_REFUSED);
        assert_int_equal(result.missing_count, 2);
        assert_int_equal(result.shortfall_count, 1);
        assert_string_equal(result.help, "help for a need");

        /* If nothing helps against what is missing, help for a shortfall would not make the level work. */
        report.features[FEATURE_PIVOT_ROOT].help = NULL;
        level_evaluate(LEVEL_STRICT, &report, &result);
        assert_null(result.help);
        level_evaluate(LEVEL_STANDARD, &report, &result);
        assert_null(result.help);
}

static void test_every_feature_has_a_unique_name(void **state)
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

static void test_details_are_printable_and_truncated(void **state)
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
                cmocka_unit_test(test_every_level_works_with_all_features),
                cmocka_unit_test(test_every_level_is_refused_if_nothing_was_probed),
                cmocka_unit_test(test_verdicts_without_one_feature),
                cmocka_unit_test(test_partial_or_unprobed_feature_counts_as_missing),
                cmocka_unit_test(test_limits_need_only_one_mechanism),
                cmocka_unit_test(test_help_for_a_missing_feature_comes_before_help_for_a_shortfall),
                cmocka_unit_test(test_every_feature_has_a_unique_name),
                cmocka_unit_test(test_details_are_printable_and_truncated),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
