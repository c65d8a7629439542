/* The parts of limits that only format and parse text: settings and values of cgroups, D-Bus addresses. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "linux/cgroup.h"
#include "linux/cgroup_files.h"
#include "linux/systemd_scope.h"

static void test_only_requested_limits_are_written(void **state)
{
        (void)state;
        static const struct {
                struct cgroup_limits limits;
                const char *written; /* "controller file=value;" for each */
        } rows[] = {
                { { 0 }, "" },
                { { .memory = 64 << 20 },
                  "memory memory.max=67108864;memory memory.swap.max=0;memory memory.oom.group=1;" },
                { { .processes = 20, .own_processes = 1 }, "pids pids.max=21;" },
                { { .processes = 20, .own_processes = 2 }, "pids pids.max=22;" },
                { { .cpu = 250 }, "cpu cpu.max=25000 100000;" },
                /* the minimum of a policy and of the kernel */
                { { .cpu = 10 }, "cpu cpu.max=1000 100000;" },
                { { .cpu = 4096000 }, "cpu cpu.max=409600000 100000;" },
                { { .processes = 4194303, .own_processes = 1 }, "pids pids.max=4194304;" },
                { { .processes = 4194304 }, "" }, /* the maximum of pids.max and of the kernel */
                { { .memory = 1 << 20, .cpu = 1000, .processes = 1, .own_processes = 1 },
                  "memory memory.max=1048576;memory memory.swap.max=0;memory memory.oom.group=1;pids pids.max=2;"
                  "cpu cpu.max=100000 100000;" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct cgroup_write_entry settings[CGROUP_WRITE_ENTRIES_MAX];
                char written[512] = "";
                size_t used = 0, count = cgroup_write_entries(&rows[i].limits, settings);
                assert_true(count <= CGROUP_WRITE_ENTRIES_MAX);
                for (size_t k = 0; k < count; k++)
                        used += (size_t)snprintf(written + used, sizeof written - used, "%s %s=%s;",
                                                 settings[k].controller, settings[k].file, settings[k].value);
                assert_string_equal(written, rows[i].written);
        }
}

static void test_values_are_found_by_their_whole_name(void **state)
{
        (void)state;
        static const char events[] = "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 1\n";
        assert_int_equal(cgroup_event_count(events, "oom"), 3);
        assert_int_equal(cgroup_event_count(events, "oom_kill"), 2);
        assert_int_equal(cgroup_event_count(events, "oom_group_kill"), 1);
        assert_int_equal(cgroup_event_count(events, "kill"), 0);
        assert_int_equal(cgroup_event_count(events, "ma"), 0);
        assert_int_equal(cgroup_event_count("", "max"), 0);
        assert_int_equal(cgroup_event_count("max\nmax x\nmax -1\n", "max"), 0);
        assert_int_equal(cgroup_event_count("usage_usec 18446744073709551615", "usage_usec"), UINT64_MAX);
}

static void test_controllers_are_found_as_whole_words(void **state)
{
        (void)state;
        assert_true(cgroup_has_controller("cpuset cpu io memory pids", "cpu"));
        assert_true(cgroup_has_controller("cpuset cpu io memory pids", "pids"));
        assert_false(cgroup_has_controller("cpuset io", "cpu"));
        assert_false(cgroup_has_controller("xcpu", "cpu"));
        assert_false(cgroup_has_controller("", "cpu"));
}

static void test_length_of_the_cgroup_mount_point_is_returned(void **state)
{
        (void)state;
        char path[256];
        size_t top = 0;
        assert_int_equal(cgroup_parse_path("30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/a/b\n", path,
                                           sizeof path, &top),
                         0);
        assert_string_equal(path, "/sys/fs/cgroup/a/b");
        assert_int_equal(top, strlen("/sys/fs/cgroup"));
}

static void test_special_characters_in_an_address_are_escaped(void **state)
{
        (void)state;
        char text[64], small[8];
        assert_int_equal(dbus_escape_path("/run/user/1000/systemd/private", text, sizeof text), 0);
        assert_string_equal(text, "/run/user/1000/systemd/private");
        assert_int_equal(dbus_escape_path("/a,b;c=%d e", text, sizeof text), 0);
        assert_string_equal(text, "/a%2cb%3bc%3d%25d%20e");
        assert_int_equal(dbus_escape_path("/\xc3\xa4", text, sizeof text), 0);
        assert_string_equal(text, "/%c3%a4");
        assert_int_equal(dbus_escape_path("/too/long", small, sizeof small), -ENAMETOOLONG);
        assert_int_equal(dbus_escape_path("", text, sizeof text), 0);
        assert_string_equal(text, "");
}

static void test_cgroup_that_was_never_made_can_be_removed(void **state)
{
        (void)state;
        struct cgroup none = CGROUP_NONE;
        struct resource_usage usage = { .oom_kills = 1 };
        cgroup_read_usage(&none, &usage);
        assert_int_equal(usage.oom_kills, 0);
        cgroup_remove(&none);
        assert_int_equal(none.directory, -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_only_requested_limits_are_written),
                cmocka_unit_test(test_values_are_found_by_their_whole_name),
                cmocka_unit_test(test_controllers_are_found_as_whole_words),
                cmocka_unit_test(test_length_of_the_cgroup_mount_point_is_returned),
                cmocka_unit_test(test_special_characters_in_an_address_are_escaped),
                cmocka_unit_test(test_cgroup_that_was_never_made_can_be_removed),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
