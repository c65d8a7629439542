/* The parts of src/linux that only parse text: mounts, the path of our cgroup; and the table of Landlock's ABIs. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>

#include <cmocka.h>

#include "linux/cgroup_files.h"
#include "linux/landlock_table.h"
#include "linux/mountinfo.h"
#include "linux/probes.h"

static void test_cgroup_is_found_below_its_mount(void **state)
{
        (void)state;
        static const struct {
                const char *mountinfo, *cgroup, *path; /* path NULL: not found */
        } rows[] = {
                { "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n", "0::/user.slice/a.scope\n",
                  "/sys/fs/cgroup/user.slice/a.scope" },
                { "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw", "0::/", "/sys/fs/cgroup" },
                /* hybrid: both versions of cgroups */
                { "31 23 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                  "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
                  "4:memory:/x\n0::/y\n", "/sys/fs/cgroup/unified/y" },
                /* a container that has a part of the tree mounted and sees host paths in /proc/self/cgroup */
                { "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "0::/docker/abc/child\n",
                  "/sys/fs/cgroup/child" },
                { "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "0::/docker/abc\n",
                  "/sys/fs/cgroup" },
                { "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "0::/docker/abcd\n", NULL },
                /* outside our cgroup namespace */
                { "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/../other\n", NULL },
                { "30 23 0:26 / /a\\040b rw - cgroup2 cgroup2 rw\n", "0::/c\n", "/a b/c" },
                { "31 23 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", "4:memory:/x\n", NULL },
                { "", "0::/\n", NULL },
                { "30 - cgroup2 \n- cgroup2\n - cgroup2 x\n", "0::/\n", NULL },
        };
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                char path[256] = "";
                size_t top = 0;
                int r = cgroup_parse_path(rows[i].mountinfo, rows[i].cgroup, path, sizeof path, &top);
                print_message("%s", rows[i].cgroup);
                assert_int_equal(r, rows[i].path ? 0 : -ENOENT);
                if (rows[i].path)
                        assert_string_equal(path, rows[i].path);
        }
}

static void test_cgroup_path_that_is_too_long_is_an_error(void **state)
{
        (void)state;
        char path[8];
        size_t top;
        assert_int_equal(cgroup_parse_path("30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/\n", path,
                                           sizeof path, &top),
                         -ENAMETOOLONG);
}

static void test_malformed_and_long_lines_of_mountinfo_are_handled(void **state)
{
        (void)state;
        static struct mountinfo_entry m; /* static, because it is large */
        char text[12 * PATH_MAX] = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\nwhat is this\nx 1 8:1 / /x rw - ext4 x rw\n"
                                   "22 1 0:5 /a\\040b /c\\134d rw shared:1 - tmpfs none rw\n23 1 0:6 / /long rw ";
        const char *at = text;
        memset(text + strlen(text), 'x',
               sizeof text - strlen(text) - 1); /* the line is too long: its type is cut off */
        assert_true(mountinfo_next(&at, &m));
        assert_int_equal(m.id, 1);
        assert_string_equal(m.device, "8:1");
        assert_string_equal(m.point, "/");
        assert_string_equal(m.type, "ext4");
        assert_true(mountinfo_next(&at, &m));
        assert_int_equal(m.id, 22);
        assert_string_equal(m.root, "/a b");
        assert_string_equal(m.point, "/c\\d");
        assert_string_equal(m.type, "tmpfs");
        assert_true(mountinfo_next(&at, &m));
        assert_int_equal(m.id, 23);
        assert_string_equal(m.device, "0:6");
        assert_string_equal(m.type, "");
        assert_false(mountinfo_next(&at, &m));
}

/* Each ABI has the rights of the one before, and each right belongs to some ABI. */
static void test_rights_grow_with_the_abi(void **state)
{
        (void)state;
        enum { ABI_1_RIGHTS = 13 };
        struct landlock_attr before = landlock_all_rights(0);
        assert_false(before.handled_fs || before.handled_net || before.scoped);
        for (int abi = 1; abi <= landlock_newest_known(); abi++) {
                struct landlock_attr all = landlock_all_rights(abi);
                assert_int_equal(all.handled_fs & before.handled_fs, before.handled_fs);
                assert_int_equal(all.handled_net & before.handled_net, before.handled_net);
                assert_int_equal(all.scoped & before.scoped, before.scoped);
                before = all;
        }
        assert_int_equal(landlock_all_rights(1).handled_fs, (1ULL << ABI_1_RIGHTS) - 1);
        for (size_t i = 0; i < landlock_right_count; i++) {
                assert_true(landlock_abi_has(landlock_newest_known(), landlock_rights[i].feature));
                assert_false(landlock_abi_has(0, landlock_rights[i].feature));
        }
        assert_false(landlock_abi_has(landlock_newest_known(), FEATURE_SECCOMP));
        assert_string_equal(landlock_release(FEATURE_LANDLOCK_TCP), "6.7");
}

static void test_abi_newer_than_known_is_reported(void **state)
{
        (void)state;
        char text[128];
        landlock_describe_abi(landlock_newest_known(), text, sizeof text);
        assert_string_equal(text, "ABI 10");
        landlock_describe_abi(landlock_newest_known() + 2, text, sizeof text);
        assert_non_null(strstr(text, "ABI 12, newer than the 10 known here"));
}

static void test_rights_are_listed_by_name(void **state)
{
        (void)state;
        static const struct {
                enum feature_id feature;
                const char *names;
        } rows[] = {
                { FEATURE_LANDLOCK_FILES, "execute write_file read_file read_dir remove_dir remove_file make_char "
                                          "make_dir make_reg make_sock make_fifo make_block make_sym" },
                { FEATURE_LANDLOCK_REFER, "refer" },
                { FEATURE_LANDLOCK_TRUNCATE, "truncate" },
                { FEATURE_LANDLOCK_TCP, "bind_tcp connect_tcp" },
                { FEATURE_LANDLOCK_IOCTL_DEV, "ioctl_dev" },
                { FEATURE_LANDLOCK_SCOPE, "abstract_unix_socket signal" },
                { FEATURE_LANDLOCK_AUDIT, "log_same_exec_off log_new_exec_on log_subdomains_off" },
                { FEATURE_LANDLOCK_TSYNC, "tsync" },
                { FEATURE_LANDLOCK_UNIX, "resolve_unix" },
                { FEATURE_LANDLOCK_UDP, "bind_udp connect_send_udp" },
        };
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                char text[240];
                landlock_list_rights(rows[i].feature, text, sizeof text);
                assert_string_equal(text, rows[i].names);
        }
}

/* On a kernel before 5.6, Docker users were told to switch off their filter, because openat2 was missing. */
static void test_container_is_not_blamed_for_calls_that_an_old_kernel_lacks(void **state)
{
        (void)state;
        static const struct {
                const char *engine;
                enum feature_id feature;
                int error;
                const char *advice, *advice_on_old_kernel; /* the beginnings; NULL: none */
        } rows[] = {
                { "docker", FEATURE_OPENAT2, ENOSYS, "docker run --security-opt seccomp=unconfined", NULL },
                { "podman", FEATURE_CLOSE_RANGE, ENOSYS, "podman run --security-opt seccomp=unconfined", NULL },
                { "docker", FEATURE_OPENAT2, EPERM, "docker run", "docker run" },
                { "docker", FEATURE_SECCOMP, ENOSYS, "docker run", "docker run" },
                { "docker", FEATURE_OPENAT2, EINVAL, NULL, NULL },
                { "lxc", FEATURE_OPENAT2, ENOSYS, NULL, NULL },
        };
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                for (int old = 0; old < 2; old++) {
                        struct probe_report report = { 0 };
                        feature_set(&report, FEATURE_CONTAINER, FEATURE_YES, 0, "%s: a marker", rows[i].engine);
                        feature_set(&report, rows[i].feature, FEATURE_NO, rows[i].error, "missing");
                        /* UNAME26: the kernel calls itself 2.6.x. */
                        int before = personality(old ? UNAME26 : PER_LINUX);
                        assert_true(before >= 0);
                        host_find_remedies(&report);
                        assert_true(personality((unsigned long)before) >= 0);
                        const char *expected = old ? rows[i].advice_on_old_kernel : rows[i].advice;
                        const char *help = report.features[rows[i].feature].help;
                        if (expected)
                                assert_true(help && strncmp(help, expected, strlen(expected)) == 0);
                        else
                                assert_null(help);
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_cgroup_is_found_below_its_mount),
                cmocka_unit_test(test_cgroup_path_that_is_too_long_is_an_error),
                cmocka_unit_test(test_malformed_and_long_lines_of_mountinfo_are_handled),
                cmocka_unit_test(test_rights_grow_with_the_abi),
                cmocka_unit_test(test_abi_newer_than_known_is_reported),
                cmocka_unit_test(test_rights_are_listed_by_name),
                cmocka_unit_test(test_container_is_not_blamed_for_calls_that_an_old_kernel_lacks),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
