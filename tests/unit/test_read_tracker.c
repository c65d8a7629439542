/* The tracker of files that were read. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "path/read_tracker.h"

static const struct stat read_stat = {
        .st_dev = 1, .st_ino = 2, .st_size = 3, .st_mtim = { 4, 5 }, .st_ctim = { 6, 7 }
};

static void test_file_is_the_same_until_its_stat_changes(void **state)
{
        (void)state;
        struct read_tracker *t = read_tracker_new();
        assert_non_null(t);
        assert_int_equal(tracker_check(t, "/a", &read_stat), READ_STATE_UNREAD);
        assert_int_equal(read_tracker_record(t, "/a", &read_stat), 0);
        assert_int_equal(tracker_check(t, "/a", &read_stat), READ_STATE_CURRENT);
        assert_int_equal(tracker_check(t, "/b", &read_stat), READ_STATE_UNREAD);
        struct stat changes[] = { read_stat, read_stat, read_stat, read_stat, read_stat, read_stat, read_stat };
        changes[0].st_dev++;
        changes[1].st_ino++;
        changes[2].st_size++;
        changes[3].st_mtim.tv_sec++;
        changes[4].st_mtim.tv_nsec++;
        changes[5].st_ctim.tv_sec++;
        changes[6].st_ctim.tv_nsec++;
        for (size_t i = 0; i < ARRAY_SIZE(changes); i++)
                assert_int_equal(tracker_check(t, "/a", &changes[i]), READ_STATE_STALE);
        assert_int_equal(read_tracker_record(t, "/a", &changes[2]), 0);
        assert_int_equal(tracker_check(t, "/a", &changes[2]), READ_STATE_CURRENT);
        read_tracker_free(t);
}

static void test_number_of_tracked_files_is_limited(void **state)
{
        (void)state;
        struct read_tracker *t = read_tracker_new();
        char path[32];
        for (int i = 0; i < 100000; i++) {
                (void)snprintf(path, sizeof path, "/file/%d", i);
                assert_int_equal(read_tracker_record(t, path, &read_stat), 0);
                assert_int_equal(tracker_check(t, path, &read_stat), READ_STATE_CURRENT);
        }
        size_t known = 0;
        for (int i = 0; i < 100000; i++) {
                (void)snprintf(path, sizeof path, "/file/%d", i);
                known += tracker_check(t, path, &read_stat) == READ_STATE_CURRENT;
        }
        assert_in_range(known, 8000, 20000);
        read_tracker_free(t);
}

static void *mark_many(void *data)
{
        char path[32];
        for (int i = 0; i < 20000; i++) {
                (void)snprintf(path, sizeof path, "/file/%d", i % 500);
                (void)read_tracker_record(data, path, &read_stat);
                if (tracker_check(data, path, &read_stat) != READ_STATE_CURRENT)
                        return data;
        }
        return NULL;
}

static void test_several_threads_can_use_a_tracker(void **state)
{
        (void)state;
        pthread_t threads[4];
        struct read_tracker *t = read_tracker_new();
        for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
                assert_int_equal(pthread_create(&threads[i], NULL, mark_many, t), 0);
        for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
                void *failed = NULL;
                assert_int_equal(pthread_join(threads[i], &failed), 0);
                assert_null(failed);
        }
        read_tracker_free(t);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_file_is_the_same_until_its_stat_changes),
                cmocka_unit_test(test_number_of_tracked_files_is_limited),
                cmocka_unit_test(test_several_threads_can_use_a_tracker),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
