/* The read tracker. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "path/tracker.h"

static const struct stat seen = { .st_dev = 1, .st_ino = 2, .st_size = 3, .st_mtim = { 4, 5 }, .st_ctim = { 6, 7 } };

static void test_what_was_read_is_known_until_it_changes(void **state)
{
        (void)state;
        struct tracker *t = tracker_new();
        assert_non_null(t);
        assert_int_equal(tracker_ask(t, "/a", &seen), TRACKED_NEVER);
        assert_int_equal(tracker_mark(t, "/a", &seen), 0);
        assert_int_equal(tracker_ask(t, "/a", &seen), TRACKED_SAME);
        assert_int_equal(tracker_ask(t, "/b", &seen), TRACKED_NEVER);
        struct stat changes[] = { seen, seen, seen, seen, seen, seen, seen };
        changes[0].st_dev++;
        changes[1].st_ino++;
        changes[2].st_size++;
        changes[3].st_mtim.tv_sec++;
        changes[4].st_mtim.tv_nsec++;
        changes[5].st_ctim.tv_sec++;
        changes[6].st_ctim.tv_nsec++;
        for (size_t i = 0; i < ARRAY_SIZE(changes); i++)
                assert_int_equal(tracker_ask(t, "/a", &changes[i]), TRACKED_CHANGED);
        assert_int_equal(tracker_mark(t, "/a", &changes[2]), 0);
        assert_int_equal(tracker_ask(t, "/a", &changes[2]), TRACKED_SAME);
        tracker_free(t);
}

static void test_it_stays_small_and_forgets_what_is_old(void **state)
{
        (void)state;
        struct tracker *t = tracker_new();
        char path[32];
        for (int i = 0; i < 100000; i++) {
                (void)snprintf(path, sizeof path, "/file/%d", i);
                assert_int_equal(tracker_mark(t, path, &seen), 0);
                assert_int_equal(tracker_ask(t, path, &seen), TRACKED_SAME);
        }
        size_t known = 0;
        for (int i = 0; i < 100000; i++) {
                (void)snprintf(path, sizeof path, "/file/%d", i);
                known += tracker_ask(t, path, &seen) == TRACKED_SAME;
        }
        assert_in_range(known, 8000, 20000);
        tracker_free(t);
}

static void *mark_many(void *data)
{
        char path[32];
        for (int i = 0; i < 20000; i++) {
                (void)snprintf(path, sizeof path, "/file/%d", i % 500);
                (void)tracker_mark(data, path, &seen);
                if (tracker_ask(data, path, &seen) != TRACKED_SAME)
                        return data;
        }
        return NULL;
}

static void test_several_threads_at_once(void **state)
{
        (void)state;
        pthread_t threads[4];
        struct tracker *t = tracker_new();
        for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
                assert_int_equal(pthread_create(&threads[i], NULL, mark_many, t), 0);
        for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
                void *wrong = NULL;
                assert_int_equal(pthread_join(threads[i], &wrong), 0);
                assert_null(wrong);
        }
        tracker_free(t);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_was_read_is_known_until_it_changes),
                cmocka_unit_test(test_it_stays_small_and_forgets_what_is_old),
                cmocka_unit_test(test_several_threads_at_once),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
