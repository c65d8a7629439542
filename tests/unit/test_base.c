/*
 * src/base: errors, memory, descriptors, text. All other code passes sizes and bytes from outside to these functions,
 * so their limits are tested: caps, truncation, malformed UTF-8, paths that are not regular files.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/memory.h"
#include "base/text.h"

/* errors */

static void test_error_has_a_message_and_returns_the_negative_code(void **state)
{
        (void)state;
        struct error e = { 0 };
        assert_int_equal(error_set(&e, EPERM, "no %s for %d", "rights", 7), -EPERM);
        assert_int_equal(e.code, EPERM);
        assert_string_equal(e.text, "no rights for 7");

        assert_int_equal(error_errno(&e, ENOENT, "cannot open %s", "x"), -ENOENT);
        assert_string_equal(e.text, "cannot open x: No such file or directory");
        assert_int_equal(error_errno(&e, 99999, "odd"), -99999);
        assert_string_equal(e.text, "odd: unknown error");

        assert_int_equal(error_wrap(&e, "policy"), -99999);
        assert_string_equal(e.text, "policy: odd: unknown error");
}

static void test_error_may_be_null(void **state)
{
        (void)state;
        assert_int_equal(error_set(NULL, EIO, "x"), -EIO);
        assert_int_equal(error_errno(NULL, EIO, "x"), -EIO);
        assert_int_equal(error_wrap(NULL, "x"), 0);
}

static void test_error_truncates_a_long_text(void **state)
{
        (void)state;
        char longer[2 * sizeof(((struct error *)0)->text)];
        memset(longer, 'a', sizeof longer - 1);
        longer[sizeof longer - 1] = '\0';

        struct error e = { 0 };
        (void)error_set(&e, EINVAL, "%s", longer);
        assert_int_equal(strlen(e.text), sizeof e.text - 1);
        (void)error_errno(&e, EINVAL, "%s", longer);
        assert_int_equal(strlen(e.text), sizeof e.text - 1);
        (void)error_wrap(&e, "front");
        assert_int_equal(strlen(e.text), sizeof e.text - 1);
        assert_memory_equal(e.text, "front: aaa", 10);
        (void)error_wrap(&e, longer);
        assert_int_equal(strlen(e.text), sizeof e.text - 1);
}

/* memory */

static void test_take_ptr_clears_the_variable(void **state)
{
        (void)state;
        CLEANUP_FREE char *kept = malloc(8);
        char *taken = TAKE_PTR(kept);
        assert_null(kept);
        assert_non_null(taken);
        free(taken);
        arena_free(NULL);
}

static void test_arena_memory_is_zeroed_aligned_and_not_shared(void **state)
{
        (void)state;
        CLEANUP_ARENA struct arena *a = arena_new(1 << 20);
        unsigned char *last = NULL;
        for (size_t size = 0; size < 300; size++) {
                unsigned char *p = arena_alloc(a, size);
                assert_non_null(p);
                assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
                for (size_t i = 0; i < size; i++)
                        assert_int_equal(p[i], 0);
                memset(p, (int)(size % 251) + 1, size);
                for (size_t i = 0; last && i < size - 1; i++)
                        assert_int_equal(last[i], (size - 1) % 251 + 1);
                last = p;
        }
}

static void test_arena_enforces_its_cap(void **state)
{
        (void)state;
        enum { CAP = 10000 };
        CLEANUP_ARENA struct arena *a = arena_new(CAP);
        assert_null(arena_alloc(a, CAP + 1));
        assert_null(arena_alloc(a, SIZE_MAX));
        assert_null(arena_alloc(a, SIZE_MAX - 15));
        size_t got = 0;
        while (arena_alloc(a, 100))
                got += 100;
        assert_true(got <= CAP);
        assert_true(got > CAP / 2);
        assert_null(arena_strdup(a, "a string that does not fit either, because the arena has no hundred bytes left, "
                                    "and this is longer than that by some"));
}

static void test_null_arena_allocates_nothing(void **state)
{
        (void)state;
        int *array = NULL;
        size_t count = 0;
        assert_null(arena_alloc(NULL, 1));
        assert_null(arena_strdup(NULL, "x"));
        assert_null(arena_strndup(NULL, "x", SIZE_MAX));
        assert_null(arena_format(NULL, "%d", 1));
        assert_null(arena_array_push(NULL, &array, &count, sizeof *array));
        assert_int_equal(count, 0);
}

static void test_arena_copies_and_formats_strings(void **state)
{
        (void)state;
        CLEANUP_ARENA struct arena *a = arena_new(1 << 16);
        assert_string_equal(arena_strndup(a, "abcdef", 3), "abc");
        assert_string_equal(arena_strndup(a, "x", 0), "");
        assert_string_equal(arena_strdup(a, "whole"), "whole");
        assert_string_equal(arena_format(a, "%s-%03d", "n", 7), "n-007");
        assert_string_equal(arena_format(a, "%s", ""), "");
}

static void test_arena_array_grows_and_keeps_its_elements(void **state)
{
        (void)state;
        CLEANUP_ARENA struct arena *a = arena_new(1 << 20);
        struct pair {
                size_t first, second;
        } *pairs = NULL;
        size_t count = 0;
        for (size_t i = 0; i < 1000; i++) {
                struct pair *p = arena_array_push(a, &pairs, &count, sizeof *p);
                assert_non_null(p);
                assert_int_equal(p->first, 0);
                assert_int_equal(p->second, 0);
                *p = (struct pair){ i, i * i };
        }
        assert_int_equal(count, 1000);
        for (size_t i = 0; i < count; i++) {
                assert_int_equal(pairs[i].first, i);
                assert_int_equal(pairs[i].second, i * i);
        }
}

static void test_arena_array_that_cannot_grow_changes_nothing(void **state)
{
        (void)state;
        CLEANUP_ARENA struct arena *a = arena_new(1000);
        size_t count = 0, before = 0;
        long *numbers = NULL;
        while (arena_array_push(a, &numbers, &count, sizeof *numbers))
                numbers[count - 1] = (long)(before = count);
        assert_true(count > 0);
        assert_int_equal(count, before);
        for (size_t i = 0; i < count; i++)
                assert_int_equal(numbers[i], i + 1);
        assert_null(arena_array_push(a, &numbers, &count, SIZE_MAX / 2));
}

/* descriptors */

static char folder[] = "/tmp/base-test-XXXXXX";
static char name[sizeof folder + 8];

static int make_folder(void **state)
{
        (void)state;
        if (!mkdtemp(folder))
                return -1;
        (void)snprintf(name, sizeof name, "%s/name", folder);
        return 0;
}

static int remove_folder(void **state)
{
        (void)state;
        (void)unlink(name);
        return rmdir(folder);
}

static void write_file(const char *data, size_t length)
{
        CLEANUP_FD int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        assert_int_equal(fd_write_all(fd, data, length), 0);
}

static void test_fd_close_sets_the_variable_to_minus_one(void **state)
{
        (void)state;
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        int number = fd;
        fd_close(&fd);
        assert_int_equal(fd, -1);
        assert_int_equal(fcntl(number, F_GETFD), -1);
        fd_close(&fd);

        fd = 5;
        assert_int_equal(TAKE_FD(fd), 5);
        assert_int_equal(fd, -1);
}

static void test_fd_reads_a_file_of_any_size_below_the_cap(void **state)
{
        (void)state;
        static char data[100000];
        for (size_t i = 0; i < sizeof data; i++)
                data[i] = (char)(i * 31 % 251);
        static const size_t sizes[] = { 0, 1, 16382, 16383, 16384, 16385, 65536, sizeof data };
        for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
                write_file(data, sizes[i]);
                CLEANUP_FREE char *got = NULL;
                size_t length = 99;
                struct error e = { 0 };
                assert_int_equal(fd_read_file(name, sizes[i], &got, &length, &e), 0);
                assert_int_equal(length, sizes[i]);
                assert_memory_equal(got, data, length);
                assert_int_equal(got[length], '\0');
                assert_int_equal(e.code, 0);
        }
}

static void assert_read_fails(const char *path, size_t cap, int code, const char *message)
{
        char *got = (char *)path;
        size_t length = 99;
        struct error e = { 0 };
        assert_int_equal(fd_read_file(path, cap, &got, &length, &e), -code);
        assert_ptr_equal(got, path);
        assert_int_equal(length, 99);
        assert_int_equal(e.code, code);
        assert_non_null(strstr(e.text, message));
        assert_non_null(strstr(e.text, path));
}

static void test_fd_refuses_a_file_above_the_cap(void **state)
{
        (void)state;
        write_file("12345", 5);
        assert_read_fails(name, 4, EFBIG, "larger than 4 bytes");
        assert_read_fails("/proc/self/maps", 10, EFBIG, "larger than 10 bytes");
}

static void test_fd_refuses_everything_but_regular_files(void **state)
{
        (void)state;
        assert_read_fails(folder, 100, EISDIR, "is a directory");
        assert_read_fails("/dev/zero", 100, EINVAL, "not a regular file");
        (void)unlink(name);
        assert_read_fails(name, 100, ENOENT, "No such file");
        assert_int_equal(mkfifo(name, 0600), 0);
        assert_read_fails(name, 100, EINVAL, "not a regular file");
        (void)unlink(name);
}

static void test_fd_write_errors_are_returned(void **state)
{
        (void)state;
        CLEANUP_FD int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
        assert_int_equal(fd_write_all(full, "x", 1), -ENOSPC);
        assert_int_equal(fd_write_all(full, "x", 0), 0);
        assert_int_equal(fd_write_all(-1, "x", 1), -EBADF);
}

static void ignore_signal(int signal_number)
{
        (void)signal_number;
}

/* A pipe holds 64 KiB, so the writer blocks; the reader sends it a signal after each read. */
static void test_fd_write_all_continues_after_short_writes_and_signals(void **state)
{
        (void)state;
        enum { LENGTH = 1 << 20 };
        int ends[2];
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        pid_t writer = getpid();
        pid_t reader = fork();
        assert_true(reader >= 0);
        if (reader == 0) {
                (void)close(ends[1]);
                static char piece[1 << 16];
                size_t total = 0;
                for (ssize_t n; (n = read(ends[0], piece, sizeof piece)) > 0; total += (size_t)n)
                        (void)kill(writer, SIGUSR1);
                _exit(total == LENGTH ? 0 : 1);
        }
        struct sigaction action = { .sa_handler = ignore_signal }, before;
        assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
        fd_close(&ends[0]);
        static char data[LENGTH];
        assert_int_equal(fd_write_all(ends[1], data, sizeof data), 0);
        fd_close(&ends[1]);
        int status = -1;
        while (waitpid(reader, &status, 0) < 0 && errno == EINTR)
                ;
        assert_int_equal(status, 0);
        assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
}

/* text */

static void test_text_grows(void **state)
{
        (void)state;
        CLEANUP_TEXT struct text t = { 0 };
        for (int i = 0; i < 1000; i++)
                text_format(&t, "%03d,", i);
        assert_false(t.failed);
        assert_int_equal(t.length, 4000);
        assert_int_equal(strlen(t.data), 4000);
        assert_memory_equal(t.data + 3996, "999,", 5);
        text_add(&t, "end");
        text_add_bytes(&t, "a\0b", 3);
        assert_memory_equal(t.data + 4000, "enda\0b", 7);
}

static void test_text_take_leaves_an_empty_text(void **state)
{
        (void)state;
        struct text t = { 0 };
        CLEANUP_FREE char *empty = text_take(&t);
        assert_string_equal(empty, "");
        text_add(&t, "x");
        CLEANUP_FREE char *x = text_take(&t);
        assert_string_equal(x, "x");
        assert_null(t.data);
        assert_int_equal(t.length, 0);
}

static void test_text_stays_failed_after_a_failure(void **state)
{
        (void)state;
        struct text t = { 0 };
        text_add(&t, "kept");
        text_add_bytes(&t, "x", SIZE_MAX / 2);
        assert_true(t.failed);
        text_add(&t, "late");
        text_format(&t, "%s", "late");
        assert_string_equal(t.data, "kept");
        assert_null(text_take(&t));
        assert_false(t.failed);
}

static void test_text_escapes_control_and_bidi_characters(void **state)
{
        (void)state;
        static const struct {
                const char *raw, *shown;
        } cases[] = {
                { "plain ünï→🙂", "plain ünï→🙂" },
                { "a\nb\tc\r", "a\\x0ab\\x09c\\x0d" },
                { "\033[2J\x7f", "\\x1b[2J\\x7f" },
                { "\xc2\x9b" "31m", "\\xc2\\x9b31m" },   /* CSI as one character, U+009B */
                { "\xe2\x80\xae" "gpj", "\\xe2\\x80\\xaegpj" }, /* right-to-left override */
                { "\xe2\x81\xa6x", "\\xe2\\x81\\xa6x" }, /* left-to-right isolate */
                { "\xff\xc3", "\\xff\\xc3" },
                { "\xc3(", "\\xc3(" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                CLEANUP_TEXT struct text t = { 0 };
                text_add_escaped(&t, cases[i].raw, strlen(cases[i].raw));
                assert_string_equal(t.data, cases[i].shown);
        }
        CLEANUP_TEXT struct text t = { 0 };
        text_add_escaped(&t, "a\0b", 3);
        assert_string_equal(t.data, "a\\x00b");
}

/* Table 3-7 of the Unicode standard: the first and last sequence of each range, and the sequences just outside. */
static void test_text_validates_utf8(void **state)
{
        (void)state;
        static const char *const good[] = {
                "", "\x01", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xe0\xbf\xbf", "\xe1\x80\x80",
                "\xec\xbf\xbf", "\xed\x80\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80",
                "\xf0\xbf\xbf\xbf", "\xf1\x80\x80\x80", "\xf3\xbf\xbf\xbf", "\xf4\x80\x80\x80", "\xf4\x8f\xbf\xbf",
        };
        static const char *const bad[] = {
                "\x80", "\xbf", "\xc0\x80", "\xc0\xaf", "\xc1\xbf", "\xc2", "\xc2\x7f", "\xc2\xc0", "\xe0\x80\x80",
                "\xe0\x9f\xbf", "\xe1\x80", "\xe1\x80\x7f", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x80\x80\x80",
                "\xf0\x8f\xbf\xbf", "\xf1\x80\x80", "\xf1\x80\x80\xc0", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
                "\xfe", "\xff",
        };
        for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
                size_t length = strlen(good[i]);
                assert_int_equal(text_utf8_valid_length(good[i], length), length);
                if (length)
                        assert_int_equal(text_utf8_sequence_length(good[i], length), length);
        }
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                char line[16];
                (void)snprintf(line, sizeof line, "ok%s", bad[i]);
                assert_int_equal(text_utf8_valid_length(line, strlen(line)), 2);
                assert_int_equal(text_utf8_sequence_length(bad[i], strlen(bad[i])), 1);
        }
        assert_int_equal(text_utf8_valid_length("a\0b", 3), 3);
        assert_int_equal(text_utf8_valid_length("a\xe2\x82\xac", 3), 1); /* a truncated sequence */
}

static void test_text_finds_the_nearest_word(void **state)
{
        (void)state;
        static const char *const words[] = { "filesystem", "network", "mode", "security", "runtime" };
        static const struct {
                const char *word, *nearest;
        } cases[] = {
                { "network", "network" },   { "netwrok", "network" },       { "filesytem", "filesystem" },
                { "modes", "mode" },        { "mdoe", "mode" },             { "secuirty", "security" },
                { "runtimes", "runtime" },  { "something else", NULL },     { "", NULL },
                { "zzzz", NULL },           { "Network", "network" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                const char *nearest = text_suggest(cases[i].word, words, ARRAY_SIZE(words));
                if (cases[i].nearest)
                        assert_string_equal(nearest, cases[i].nearest);
                else
                        assert_null(nearest);
        }
        assert_null(text_suggest("mode", words, 0));
        char longer[200];
        memset(longer, 'm', sizeof longer - 1);
        longer[sizeof longer - 1] = '\0';
        assert_null(text_suggest(longer, words, ARRAY_SIZE(words)));
        const char *const long_words[] = { longer };
        assert_null(text_suggest("mode", long_words, 1));
}

static void test_text_starts(void **state)
{
        (void)state;
        assert_true(text_has_prefix("--policy=x", "--policy="));
        assert_true(text_has_prefix("x", ""));
        assert_false(text_has_prefix("--pol", "--policy="));
}

static void test_text_parses_only_plain_numbers(void **state)
{
        (void)state;
        unsigned long long n = 7;
        assert_true(text_parse_unsigned("0", 1, &n));
        assert_int_equal(n, 0);
        assert_true(text_parse_unsigned("0042", 4, &n));
        assert_int_equal(n, 42);
        assert_true(text_parse_unsigned("18446744073709551615", 20, &n));
        assert_true(n == ULLONG_MAX);
        assert_true(text_parse_unsigned("12x", 2, &n));
        assert_int_equal(n, 12);
        static const char *const bad[] = { "", "-1", "+1", " 1", "1 ", "0x1", "1e3", "1.0", "18446744073709551616",
                                           "99999999999999999999", "\xd9\xa1" };
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
                assert_false(text_parse_unsigned(bad[i], strlen(bad[i]), &n));
        assert_int_equal(n, 12);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_error_has_a_message_and_returns_the_negative_code),
                cmocka_unit_test(test_error_may_be_null),
                cmocka_unit_test(test_error_truncates_a_long_text),
                cmocka_unit_test(test_take_ptr_clears_the_variable),
                cmocka_unit_test(test_arena_memory_is_zeroed_aligned_and_not_shared),
                cmocka_unit_test(test_arena_enforces_its_cap),
                cmocka_unit_test(test_null_arena_allocates_nothing),
                cmocka_unit_test(test_arena_copies_and_formats_strings),
                cmocka_unit_test(test_arena_array_grows_and_keeps_its_elements),
                cmocka_unit_test(test_arena_array_that_cannot_grow_changes_nothing),
                cmocka_unit_test(test_fd_close_sets_the_variable_to_minus_one),
                cmocka_unit_test(test_fd_reads_a_file_of_any_size_below_the_cap),
                cmocka_unit_test(test_fd_refuses_a_file_above_the_cap),
                cmocka_unit_test(test_fd_refuses_everything_but_regular_files),
                cmocka_unit_test(test_fd_write_errors_are_returned),
                cmocka_unit_test(test_fd_write_all_continues_after_short_writes_and_signals),
                cmocka_unit_test(test_text_grows),
                cmocka_unit_test(test_text_take_leaves_an_empty_text),
                cmocka_unit_test(test_text_stays_failed_after_a_failure),
                cmocka_unit_test(test_text_escapes_control_and_bidi_characters),
                cmocka_unit_test(test_text_validates_utf8),
                cmocka_unit_test(test_text_finds_the_nearest_word),
                cmocka_unit_test(test_text_starts),
                cmocka_unit_test(test_text_parses_only_plain_numbers),
        };
        return cmocka_run_group_tests_name("base", tests, make_folder, remove_folder);
}
