/*
 * One thread exchanges a directory and a symlink to the outside as fast as it can, while another reads files through
 * that name. Naive code, which checks a path and then opens it, must read the outside file at least once. Ours must
 * never, in a million tries, with openat2 and without.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "path/workspace.h"

enum { NAIVE_TRIES = 200000, TRIES = 20000, LONG_TRIES = 1000000 };

static char base[] = "/tmp/path-race-XXXXXX";
static atomic_bool stop;

static void write_file(const char *name, const char *content)
{
        CLEANUP_FD int fd = open(name, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
        assert_int_equal(fd_write_all(fd, content, strlen(content)), 0);
}

static int make_scene(void **state)
{
        (void)state;
        assert_non_null(mkdtemp(base));
        assert_int_equal(chdir(base), 0);
        assert_int_equal(mkdir("outside", 0755) | mkdir("root", 0755) | mkdir("root/dir", 0755), 0);
        write_file("outside/file", "outside");
        write_file("root/dir/file", "inside");
        return symlink("../outside", "root/link");
}

static int remove_scene(void **state)
{
        (void)state;
        static const char *const names[] = { "root/dir/file", "root/link/file", "root/dir", "root/link", "root",
                                             "outside/file", "outside" };
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (remove(names[i]) < 0 && errno != ENOENT && errno != ENOTDIR)
                        perror(names[i]);
        return chdir("/") | rmdir(base);
}

static void *exchange(void *unused)
{
        (void)unused;
        while (!atomic_load(&stop))
                (void)renameat2(AT_FDCWD, "root/dir", AT_FDCWD, "root/link", RENAME_EXCHANGE);
        return NULL;
}

static char first_letter(int fd)
{
        char letter = 0;
        return read(fd, &letter, 1) == 1 ? letter : 0;
}

/* Like other public servers: opens the path after checking that its real path is in the root. */
static char read_naively(const char *root)
{
        char real[PATH_MAX];
        if (!realpath("root/dir/file", real) || strncmp(real, root, strlen(root)) != 0)
                return 0;
        CLEANUP_FD int fd = open("root/dir/file", O_RDONLY | O_CLOEXEC);
        return fd < 0 ? 0 : first_letter(fd);
}

static char read_safely(const struct workspace *w)
{
        CLEANUP_HELD_PATH struct held_path s = HELD_PATH_NONE;
        if (workspace_resolve(w, "dir/file", &s, NULL) < 0 || s.fd < 0)
                return 0;
        CLEANUP_FD int fd = held_path_open(&s, O_RDONLY, NULL);
        return fd < 0 ? 0 : first_letter(fd);
}

static void test_race_never_reads_a_file_outside_the_workspace(void **state)
{
        (void)state;
        pthread_t thread;
        char *root = realpath("root", NULL);
        CLEANUP_WORKSPACE struct workspace *w = NULL;
        assert_int_equal(workspace_open(root, &w, NULL), 0);
        assert_int_equal(pthread_create(&thread, NULL, exchange, NULL), 0);
        size_t tries = getenv("RINGWALL_LONG") ? LONG_TRIES : TRIES;
        size_t naive_outside = 0, inside[2] = { 0 }, outside[2] = { 0 };
        for (size_t i = 0; i < NAIVE_TRIES && naive_outside < 10; i++)
                naive_outside += read_naively(root) == 'o';
        for (int pass = 0; pass < 2; pass++) {
                for (size_t i = 0; i < tries; i++) {
                        char letter = read_safely(w);
                        inside[pass] += letter == 'i';
                        outside[pass] += letter == 'o';
                }
                workspace_disable_openat2(w);
        }
        atomic_store(&stop, true);
        (void)pthread_join(thread, NULL);
        free(root);
        print_message("naive code read outside %zu times; ours read inside %zu and %zu times of %zu\n", naive_outside,
                      inside[0], inside[1], tries);
        assert_true(naive_outside > 0);
        assert_int_equal(outside[0], 0);
        assert_int_equal(outside[1], 0);
        assert_true(inside[0] > 0 && inside[1] > 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_race_never_reads_a_file_outside_the_workspace, make_scene,
                                                remove_scene),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
