/* Containment of paths in a workspace: a table of cases, and races, each with openat2 and without. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/text.h"
#include "path/workspace.h"

/* A temporary directory with a tree of files; `root` is the workspace in it. */
static struct {
        char base[PATH_MAX], root[PATH_MAX + 8];
        struct workspace *w;
} scene;

static const char *path_in_base(const char *name)
{
        static char path[2 * PATH_MAX];
        (void)snprintf(path, sizeof path, "%s/%s", scene.base, name);
        return path;
}

static void write_file(const char *name, const char *content)
{
        CLEANUP_FD int fd = open(path_in_base(name), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
        assert_true(fd >= 0);
        assert_int_equal(fd_write_all(fd, content, strlen(content)), 0);
}

static void make_symlink(const char *target, const char *name)
{
        assert_int_equal(symlink(target, path_in_base(name)), 0);
}

static int make_scene(void **state)
{
        char name[] = "/tmp/path-test-XXXXXX";
        (void)state;
        assert_non_null(mkdtemp(name));
        char *real = realpath(name, NULL);
        assert_non_null(real);
        (void)snprintf(scene.base, sizeof scene.base, "%s", real);
        free(real);
        (void)snprintf(scene.root, sizeof scene.root, "%s/root", scene.base);
        static const char *const directories[] = { "root", "root/dir", "root/dir/sub", "outside", "root-evil" };
        for (size_t i = 0; i < ARRAY_SIZE(directories); i++)
                assert_int_equal(mkdir(path_in_base(directories[i]), 0755), 0);
        write_file("root/file", "inside");
        write_file("root/dir/sub/deep", "deep");
        write_file("outside/secret", "secret");
        write_file("root-evil/secret", "secret");
        make_symlink("root", "other-root");
        make_symlink("dir/sub", "root/to-sub");
        make_symlink("../file", "root/dir/up");
        make_symlink("../../outside", "root/dir/out");
        make_symlink("/etc", "root/etc");
        make_symlink("nowhere", "root/dangling");
        make_symlink("to-sub/nowhere", "root/dangling-behind-a-link");
        make_symlink("loop", "root/loop");
        make_symlink("../outside/new", "root/plant");
        char inside[PATH_MAX + 16];
        (void)snprintf(inside, sizeof inside, "%s/dir", scene.root);
        make_symlink(inside, "root/absolute");
        (void)snprintf(inside, sizeof inside, "%s/other-root/file", scene.base);
        make_symlink(inside, "root/round-about");
        return workspace_open(scene.root, &scene.w, NULL);
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *where)
{
        (void)st;
        (void)kind;
        (void)where;
        return remove(path);
}

static int remove_scene(void **state)
{
        (void)state;
        workspace_free(scene.w);
        return nftw(scene.base, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* found: the resolved path, below the root; NULL: the error is `code`. missing: the file does not exist. @: `base`. */
static const struct {
        const char *path, *found;
        bool missing;
        int code;
} cases[] = {
        { "file", "/file", false, 0 },
        { "./dir//sub/../sub/deep", "/dir/sub/deep", false, 0 },
        { "", "", false, 0 },
        { ".", "", false, 0 },
        { "dir", "/dir", false, 0 },
        { "dir/", "/dir", false, 0 },
        { "to-sub/deep", "/dir/sub/deep", false, 0 },
        { "dir/up", "/file", false, 0 },
        { "absolute/sub", "/dir/sub", false, 0 },
        { "round-about", "/file", false, 0 },
        { "@root/file", "/file", false, 0 },
        { "@root", "", false, 0 },
        { "@other-root/dir/sub", "/dir/sub", false, 0 },
        { "new", "/new", true, 0 },
        { "new/nested/file.txt", "/new/nested/file.txt", true, 0 },
        { "dir/sub/new", "/dir/sub/new", true, 0 },
        { "to-sub/new", "/dir/sub/new", true, 0 },
        { "@other-root/new/one", "/new/one", true, 0 },
        { "missing/../file", "/file", false, 0 }, /* normalised as text first */
        { "..", NULL, false, EXDEV },
        { "../outside/secret", NULL, false, EXDEV },
        { "dir/../../outside/secret", NULL, false, EXDEV },
        { "/etc/passwd", NULL, false, EXDEV },
        { "/", NULL, false, EXDEV },
        { "@root-evil/secret", NULL, false, EXDEV }, /* a prefix is not a parent */
        { "@root/../outside/secret", NULL, false, EXDEV },
        { "dir/out/secret", NULL, false, EXDEV },
        { "dir/out/new", NULL, false, EXDEV },
        { "etc/passwd", NULL, false, EXDEV },
        { "plant", NULL, false, EXDEV },
        { "dangling", NULL, false, ENOENT },
        { "dangling/new", NULL, false, ENOENT },
        { "dangling-behind-a-link", NULL, false, ENOENT },
        { "loop", NULL, false, ELOOP },
        { "loop/x", NULL, false, ELOOP },
        { "file/x", NULL, false, ENOTDIR },
};

static void check_case(size_t i)
{
        char path[2 * PATH_MAX], expected[2 * PATH_MAX];
        CLEANUP_HELD_PATH struct held_path s = HELD_PATH_NONE;
        struct error e = { 0 };
        (void)snprintf(path, sizeof path, "%s%s%s", cases[i].path[0] == '@' ? scene.base : "",
                       cases[i].path[0] == '@' ? "/" : "", cases[i].path + (cases[i].path[0] == '@'));
        int r = workspace_resolve(scene.w, path, &s, &e);
        if (!cases[i].found) {
                if (r != -cases[i].code)
                        fail_msg("%s: %d (%s) instead of %d", path, r, e.text, -cases[i].code);
                assert_int_equal(e.code, cases[i].code);
                if (cases[i].code == EXDEV) {
                        assert_ptr_equal(strstr(e.text, "path is outside workspace root"), e.text);
                        assert_non_null(strstr(e.text, scene.root));
                }
                return;
        }
        if (r < 0)
                fail_msg("%s: %s", path, e.text);
        (void)snprintf(expected, sizeof expected, "%s%s", scene.root, cases[i].found);
        assert_string_equal(s.path, expected);
        assert_int_equal(s.fd < 0, cases[i].missing);
        if (s.fd >= 0) {
                struct stat expected_stat;
                assert_int_equal(stat(expected, &expected_stat), 0);
                assert_true(expected_stat.st_ino == s.st.st_ino);
        }
}

static void test_paths_are_resolved_only_inside_the_workspace(void **state)
{
        (void)state;
        for (int pass = 0; pass < 2; pass++) {
                for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                        check_case(i);
                workspace_disable_openat2(scene.w);
        }
}

static void test_root_must_be_a_directory_with_an_absolute_path(void **state)
{
        static const char *const bad_roots[] = { "relative", "", "/nonexistent/x", "/etc/passwd" };
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(bad_roots); i++) {
                struct workspace *w = NULL;
                struct error e = { 0 };
                assert_true(workspace_open(bad_roots[i], &w, &e) < 0);
                assert_non_null(strstr(e.text, "workspace root"));
        }
        CLEANUP_WORKSPACE struct workspace *w = NULL;
        assert_int_equal(workspace_open(path_in_base("other-root"), &w, NULL), 0);
        assert_string_equal(workspace_root(w), scene.root);
}

static void test_root_directory_can_be_a_workspace(void **state)
{
        (void)state;
        CLEANUP_WORKSPACE struct workspace *w = NULL;
        CLEANUP_HELD_PATH struct held_path s = HELD_PATH_NONE;
        assert_int_equal(workspace_open("/", &w, NULL), 0);
        for (int pass = 0; pass < 2; pass++) {
                assert_int_equal(workspace_resolve(w, "/etc/passwd", &s, NULL), 0);
                assert_string_equal(s.path, "/etc/passwd");
                held_path_done(&s);
                assert_int_equal(workspace_resolve(w, "..", &s, NULL), -EXDEV);
                assert_int_equal(workspace_resolve(w, "/..", &s, NULL), 0);
                assert_string_equal(s.path, "/");
                held_path_done(&s);
                workspace_disable_openat2(w);
        }
}

static void test_lengths_of_names_and_paths_are_limited(void **state)
{
        (void)state;
        char name[NAME_MAX + 2], path[6000];
        CLEANUP_HELD_PATH struct held_path s = HELD_PATH_NONE;
        memset(name, 'a', sizeof name - 1);
        name[sizeof name - 1] = '\0';
        assert_int_equal(workspace_resolve(scene.w, name, &s, NULL), -ENAMETOOLONG);
        memset(path, 'a', sizeof path - 1);
        path[sizeof path - 1] = '\0';
        assert_int_equal(workspace_resolve(scene.w, path, &s, NULL), -ENAMETOOLONG);
        for (size_t i = 0; i < 2000; i++)
                memcpy(path + 2 * i, "a/", 2);
        path[4000] = '\0';
        assert_int_equal(workspace_resolve(scene.w, path, &s, NULL), 0); /* its first name does not exist */
        assert_true(s.fd < 0);
}

/* Without openat2 the walk refuses a tree that openat2 can open. */
static void test_depth_is_limited_without_openat2(void **state)
{
        (void)state;
        CLEANUP_TEXT struct text deep = { 0 };
        text_add(&deep, "root");
        for (size_t i = 0; i < 250; i++) {
                text_add(&deep, "/d");
                assert_int_equal(mkdir(path_in_base(deep.data), 0755), 0);
        }
        const char *path = deep.data;
        CLEANUP_HELD_PATH struct held_path s = HELD_PATH_NONE;
        assert_int_equal(workspace_resolve(scene.w, path + strlen("root/"), &s, NULL), 0);
        held_path_done(&s);
        workspace_disable_openat2(scene.w);
        assert_int_equal(workspace_resolve(scene.w, path + strlen("root/"), &s, NULL), -ENAMETOOLONG);
}

static void test_file_that_was_replaced_since_it_was_found_is_not_opened(void **state)
{
        (void)state;
        char text[16] = "";
        CLEANUP_HELD_PATH struct held_path s = HELD_PATH_NONE;
        assert_int_equal(workspace_resolve(scene.w, "file", &s, NULL), 0);
        CLEANUP_FD int fd = held_path_open(&s, O_RDONLY, NULL);
        assert_int_equal(read(fd, text, sizeof text), 6);
        assert_string_equal(text, "inside");
        assert_int_equal(unlink(path_in_base("root/file")), 0);
        make_symlink("../outside/secret", "root/file");
        assert_int_equal(held_path_open(&s, O_RDONLY, NULL), -ESTALE);
        assert_int_equal(unlink(path_in_base("root/file")), 0);
        write_file("root/file", "another");
        assert_int_equal(held_path_open(&s, O_RDONLY, NULL), -ESTALE);
        assert_int_equal(unlink(path_in_base("root/file")), 0);
        assert_int_equal(mkfifo(path_in_base("root/file"), 0600), 0);
        assert_int_equal(held_path_open(&s, O_RDONLY, NULL), -ESTALE); /* and does not block for a writer */
}

static void check_content(const char *name, const char *expected)
{
        CLEANUP_FREE char *data = NULL;
        size_t length = 0;
        assert_int_equal(fd_read_file(path_in_base(name), 1000, &data, &length, NULL), 0);
        assert_int_equal(length, strlen(expected));
        assert_memory_equal(data, expected, length);
}

static void test_replacing_keeps_the_mode_and_creates_missing_directories(void **state)
{
        (void)state;
        struct stat st;
        assert_int_equal(chmod(path_in_base("root/file"), 0751), 0);
        CLEANUP_HELD_PATH struct held_path s = HELD_PATH_NONE;
        assert_int_equal(workspace_resolve(scene.w, "dir/up", &s, NULL), 0);
        assert_int_equal(held_path_replace(&s, "new", 3, 0644, NULL), 0);
        check_content("root/file", "new");
        assert_int_equal(stat(path_in_base("root/file"), &st), 0);
        assert_int_equal(st.st_mode & 07777, 0751);
        assert_true(st.st_ino == s.st.st_ino);
        assert_int_equal(lstat(path_in_base("root/dir/up"), &st), 0);
        assert_true(S_ISLNK(st.st_mode)); /* the link stays, its target is replaced */
        assert_int_equal(held_path_replace(&s, "again", 5, 0644, NULL), 0);
        check_content("root/file", "again");
        held_path_done(&s);

        assert_int_equal(workspace_resolve(scene.w, "a/b/c.txt", &s, NULL), 0);
        assert_int_equal(held_path_replace(&s, "c", 1, 0640, NULL), 0);
        check_content("root/a/b/c.txt", "c");
        assert_int_equal(stat(path_in_base("root/a/b/c.txt"), &st), 0);
        assert_int_equal(st.st_mode & 07777, 0640);
        held_path_done(&s);

        assert_int_equal(workspace_resolve(scene.w, "dir", &s, NULL), 0);
        assert_int_equal(held_path_replace(&s, "x", 1, 0644, NULL), -EISDIR);
}

static size_t count_names(const char *directory)
{
        size_t count = 0;
        DIR *dir = opendir(path_in_base(directory));
        assert_non_null(dir);
        while (readdir(dir))
                count++;
        (void)closedir(dir);
        return count;
}

static void test_file_that_another_process_replaced_is_not_overwritten(void **state)
{
        (void)state;
        CLEANUP_HELD_PATH struct held_path s = HELD_PATH_NONE;
        size_t before = count_names("root");
        assert_int_equal(workspace_resolve(scene.w, "file", &s, NULL), 0);
        write_file("root/file.new", "theirs");
        char to[2 * PATH_MAX];
        (void)snprintf(to, sizeof to, "%s", path_in_base("root/file"));
        assert_int_equal(rename(path_in_base("root/file.new"), to), 0);
        assert_int_equal(held_path_replace(&s, "mine", 4, 0644, NULL), -ESTALE);
        check_content("root/file", "theirs");
        assert_int_equal(count_names("root"), before);
        held_path_done(&s);

        assert_int_equal(workspace_resolve(scene.w, "fresh", &s, NULL), 0);
        write_file("root/fresh", "theirs");
        assert_int_equal(held_path_replace(&s, "mine", 4, 0644, NULL), -ESTALE);
        check_content("root/fresh", "theirs");
}

static void test_missing_directory_that_became_a_symlink_is_not_entered(void **state)
{
        (void)state;
        CLEANUP_HELD_PATH struct held_path s = HELD_PATH_NONE;
        assert_int_equal(workspace_resolve(scene.w, "made/file", &s, NULL), 0);
        make_symlink("../outside", "root/made");
        assert_int_equal(held_path_replace(&s, "x", 1, 0644, NULL), -ESTALE);
        assert_int_equal(access(path_in_base("outside/file"), F_OK), -1);
}

#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, make_scene, remove_scene)

int main(void)
{
        const struct CMUnitTest tests[] = {
                IN_SCENE(test_paths_are_resolved_only_inside_the_workspace),
                IN_SCENE(test_root_must_be_a_directory_with_an_absolute_path),
                IN_SCENE(test_root_directory_can_be_a_workspace),
                IN_SCENE(test_lengths_of_names_and_paths_are_limited),
                IN_SCENE(test_depth_is_limited_without_openat2),
                IN_SCENE(test_file_that_was_replaced_since_it_was_found_is_not_opened),
                IN_SCENE(test_replacing_keeps_the_mode_and_creates_missing_directories),
                IN_SCENE(test_file_that_another_process_replaced_is_not_overwritten),
                IN_SCENE(test_missing_directory_that_became_a_symlink_is_not_entered),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
