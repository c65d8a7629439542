/* The audit trail: what is left of it after a write that failed. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "audit/audit_log.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/memory.h"

/* Lets the file grow by at most `bytes`, as on a disk that is nearly full, while one record is appended. */
static int append_with_room_for(int fd, size_t bytes, const char *event)
{
        struct rlimit before, limit;
        struct stat st;
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
        limit = before;
        limit.rlim_cur = (rlim_t)st.st_size + bytes;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        int r = audit_log_append(fd, "s", event, NULL);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        return r;
}

static void assert_event(const char *line, size_t length, const char *event)
{
        CLEANUP_JSON json_t *record = json_loadb(line, length, 0, NULL);
        assert_non_null(record);
        assert_string_equal(json_string_value(json_object_get(record, "event")), event);
}

/* The part of a record that was written stayed without a newline, so the next record could not be read either. */
static void test_record_after_a_full_disk_begins_a_new_line(void **state)
{
        (void)state;
        char path[] = "/tmp/test-audit-XXXXXX";
        CLEANUP_FD int made = mkstemp(path);
        assert_true(made >= 0);
        struct error e;
        CLEANUP_FD int fd = audit_log_open(path, &e);
        assert_true(fd >= 0);
        void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
        assert_int_equal(audit_log_append(fd, "s", "first", NULL), 0);
        assert_int_equal(append_with_room_for(fd, 10, "lost"), -EFBIG);
        assert_int_equal(append_with_room_for(fd, 0, "lost"), -EFBIG);
        assert_int_equal(audit_log_append(fd, "s", "third", NULL), 0);
        assert_int_equal(audit_log_append(fd, "s", "fourth", NULL), 0);
        (void)signal(SIGXFSZ, handler);

        CLEANUP_FREE char *text = NULL;
        size_t length;
        assert_int_equal(fd_read_file(path, 4096, &text, &length, NULL), 0);
        assert_int_equal(unlink(path), 0);
        static const char *const events[] = { "first", NULL, "third", "fourth" }; /* NULL: the part of a record */
        const char *line = text;
        for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
                size_t n = strcspn(line, "\n");
                assert_int_equal(line[n], '\n');
                if (events[i])
                        assert_event(line, n, events[i]);
                else
                        assert_int_equal(n, 10);
                line += n + 1;
        }
        assert_int_equal(*line, '\0');
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_record_after_a_full_disk_begins_a_new_line),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
