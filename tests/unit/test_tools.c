/* The tools, each through the table that a client's call goes through. */
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
#include "base/memory.h"
#include "tools/fragment.h"
#include "tools/ignore.h"
#include "tools/scan.h"
#include "tools/shell.h"
#include "tools/tool.h"
#include "tools/walk.h"
#include "tools/wildcard.h"

static struct toolbox box;
static char root[PATH_MAX];

static int make_box(void **state)
{
        (void)state;
        char name[] = "/tmp/ringwall-tools-XXXXXX";
        assert_non_null(mkdtemp(name));
        char *real = realpath(name, NULL);
        assert_non_null(real);
        (void)snprintf(root, sizeof root, "%s", real);
        free(real);
        assert_int_equal(chdir(root), 0);
        static struct workspace *list[1];
        assert_int_equal(workspace_open(root, &list[0], NULL), 0);
        box = (struct toolbox){ .workspaces = list, .workspace_count = 1, .tracker = tracker_new(), .new_mode = 0640 };
        assert_non_null(box.tracker);
        return 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
        (void)st;
        (void)kind;
        (void)where;
        return remove(path);
}

static int drop_box(void **state)
{
        (void)state;
        workspace_free(box.workspaces[0]);
        tracker_free(box.tracker);
        assert_int_equal(chdir("/"), 0);
        return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void put_bytes(const char *name, const char *content, size_t length)
{
        CLEANUP_FD int fd = open(name, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
        assert_int_equal(fd_write_all(fd, content, length), 0);
}

static void put(const char *name, const char *content)
{
        put_bytes(name, content, strlen(content));
}

static void check_content(const char *name, const char *expected)
{
        CLEANUP_FREE char *data = NULL;
        size_t length = 0;
        assert_int_equal(fd_read_file(name, 1 << 20, &data, &length, NULL), 0);
        assert_int_equal(length, strlen(expected));
        assert_memory_equal(data, expected, length);
}

/* To its end, as the worker does it. */
static void run_job(struct job *j)
{
        while (!j->kind->step(j)) {
                struct pollfd events[JOB_FDS];
                nfds_t count = j->kind->poll(j, events);
                assert_in_range(count, 1, JOB_FDS);
                assert_true(poll(events, count, j->kind->deadline(j) == 0 ? 0 : 50) >= 0);
        }
}

/* Calls a tool with arguments as JSON with ' for ". The answer lives until the next call. */
static const char *call(const char *tool, const char *arguments, bool *ret_error)
{
        static struct tool_answer answer;
        static char *text;
        tool_answer_done(&answer);
        free(text);
        char *copy = strdup(arguments);
        for (char *p = copy; (p = strchr(p, '\''));)
                *p = '"';
        json_t *parsed = json_loads(copy, 0, NULL);
        assert_non_null(parsed);
        struct job *job = toolbox_call(&box, tool_find(tool), parsed, &answer);
        if (job) {
                run_job(job);
                toolbox_finish(tool_find(tool), job, &answer);
                job_free(job);
        }
        json_decref(parsed);
        free(copy);
        *ret_error = answer.is_error;
        assert_int_equal(answer.is_error, answer.structured == NULL);
        text = text_take(&answer.text);
        return text;
}

#define GOOD(tool, arguments, expected) check(tool, arguments, false, expected)
#define BAD(tool, arguments, expected) check(tool, arguments, true, expected)

/* $ in the expected text is the root. */
static void check(const char *tool, const char *arguments, bool error, const char *expected)
{
        struct text whole = { 0 };
        bool failed = false;
        const char *text = call(tool, arguments, &failed);
        for (const char *p = expected; *p; p++) {
                if (*p == '$')
                        text_add(&whole, root);
                else
                        text_add_bytes(&whole, p, 1);
        }
        if (strcmp(text, whole.data ? whole.data : "") != 0 || failed != error)
                fail_msg("%s %s: %s%s\ninstead of %s", tool, arguments, failed ? "error: " : "", text, whole.data);
        text_done(&whole);
}

static void test_read_shows_lines_with_numbers(void **state)
{
        (void)state;
        put("f", "one\ntwo\n\nfour");
        GOOD("Read", "{'file_path': 'f'}", "1\tone\n2\ttwo\n3\t\n4\tfour\n");
        GOOD("Read", "{'file_path': 'f', 'offset': 2, 'limit': 2}", "2\ttwo\n3\t\n(there is more: go on with offset 4)\n");
        GOOD("Read", "{'file_path': 'f', 'offset': 4}", "4\tfour\n");
        BAD("Read", "{'file_path': 'f', 'offset': 5}", "offset 5 exceeds line count 4");
        put("e", "");
        GOOD("Read", "{'file_path': 'e'}", "($/e is empty)");
        put("n", "\n");
        GOOD("Read", "{'file_path': 'n'}", "1\t\n");
        BAD("Read", "{'file_path': 'n', 'offset': 2}", "offset 2 exceeds line count 1");
        put("crlf", "a\r\nb\r\n");
        GOOD("Read", "{'file_path': 'crlf'}", "1\ta\r\n2\tb\r\n");
}

static void test_read_says_what_it_cannot_show(void **state)
{
        (void)state;
        assert_int_equal(mkdir("d", 0755), 0);
        assert_int_equal(mkfifo("p", 0644), 0);
        assert_int_equal(symlink("/etc", "out"), 0);
        BAD("Read", "{'file_path': 'none'}", "no such file: $/none");
        BAD("Read", "{'file_path': 'd'}", "path is a directory: $/d");
        BAD("Read", "{'file_path': 'p'}", "$/p is a fifo and cannot be read");
        BAD("Read", "{'file_path': '../x'}", "path is outside workspace root: ../x is not in $");
        BAD("Read", "{'file_path': 'out/passwd'}", "path is outside workspace root: out/passwd is not in $");
        put_bytes("b", "a\0b", 3);
        BAD("Read", "{'file_path': 'b'}", "$/b is a binary file of 3 bytes");
        put("latin", "caf\xe9\n");
        GOOD("Read", "{'file_path': 'latin'}",
             "1\tcaf\xef\xbf\xbd\n(the file is not UTF-8; bytes that are not are shown as \xef\xbf\xbd)\n");
}

static void test_read_takes_files_of_any_size(void **state)
{
        (void)state;
        bool error = false;
        CLEANUP_FD int fd = open("huge", O_CREAT | O_RDWR | O_CLOEXEC, 0644);
        assert_int_equal(fd_write_all(fd, "first\nsecond\n", 13), 0);
        assert_int_equal(ftruncate(fd, 10LL << 30), 0); /* 10 GiB, most of it a hole */
        assert_non_null(strstr(call("Read", "{'file_path': 'huge', 'limit': 2}", &error), "binary"));
        char *line = malloc(3 << 20);
        memset(line, 'x', 3 << 20);
        put_bytes("long", line, 3 << 20);
        free(line);
        const char *text = call("Read", "{'file_path': 'long'}", &error);
        assert_false(error);
        assert_in_range(strlen(text), 1 << 20, (1 << 20) + 100);
        assert_non_null(strstr(text, "… (the line goes on for 2097152 bytes)"));
        struct text many = { 0 };
        for (int i = 0; i < 5000; i++)
                text_add(&many, "line\n");
        put("many", many.data);
        text_done(&many);
        assert_non_null(strstr(call("Read", "{'file_path': 'many'}", &error), "2000\tline\n(there is more: go on with offset 2001)\n"));
}

static void test_read_shows_images(void **state)
{
        (void)state;
        static const char png[] = "\x89PNG\r\n\x1a\nrest";
        struct tool_answer answer;
        put_bytes("i.png", png, sizeof png - 1);
        json_t *arguments = json_pack("{s:s}", "file_path", "i.png");
        assert_null(toolbox_call(&box, &tool_read, arguments, &answer));
        assert_string_equal(answer.image_type, "image/png");
        assert_string_equal(answer.text.data, "iVBORw0KGgpyZXN0");
        tool_answer_done(&answer);
        json_decref(arguments);
}

static void test_write_makes_files_and_their_directories(void **state)
{
        (void)state;
        struct stat st;
        GOOD("Write", "{'file_path': 'a/b/new', 'content': 'text\\n'}", "wrote 5 bytes to $/a/b/new");
        check_content("a/b/new", "text\n");
        assert_int_equal(stat("a/b/new", &st), 0);
        assert_int_equal(st.st_mode & 07777, 0640);
        GOOD("Write", "{'file_path': 'a/b/new', 'content': ''}", "wrote 0 bytes to $/a/b/new"); /* what we wrote we have seen */
        check_content("a/b/new", "");
        BAD("Write", "{'file_path': 'a/b', 'content': ''}", "path is a directory: $/a/b");
        BAD("Write", "{'file_path': '../x', 'content': ''}", "path is outside workspace root: ../x is not in $");
}

static void test_nothing_is_overwritten_that_was_not_read_as_it_is(void **state)
{
        (void)state;
        bool error = false;
        put("f", "old");
        assert_int_equal(symlink("f", "l"), 0);
        BAD("Write", "{'file_path': 'f', 'content': 'new'}", "refusing to overwrite $/f: Read it first");
        BAD("Edit", "{'file_path': 'l', 'old_string': 'o', 'new_string': 'n'}", "refusing to edit $/f: Read it first");
        (void)call("Read", "{'file_path': 'l'}", &error);
        assert_false(error);
        put("f", "else");
        BAD("Write", "{'file_path': 'f', 'content': 'new'}",
            "refusing to overwrite $/f: it changed since you read it: Read it again");
        check_content("f", "else");
        (void)call("Read", "{'file_path': 'f'}", &error);
        GOOD("Write", "{'file_path': 'l', 'content': 'new'}", "wrote 3 bytes to $/f");
        check_content("f", "new");
}

static void test_edit_replaces_exactly(void **state)
{
        (void)state;
        bool error = false;
        put("f", "a b a\nno newline");
        (void)call("Read", "{'file_path': 'f'}", &error);
        BAD("Edit", "{'file_path': 'f', 'old_string': 'x', 'new_string': 'y'}", "old_string not found in $/f");
        BAD("Edit", "{'file_path': 'f', 'old_string': 'a', 'new_string': 'y'}",
            "old_string matched 2 times in $/f; add context to make it unique or set replace_all=true");
        BAD("Edit", "{'file_path': 'f', 'old_string': '', 'new_string': 'y'}", "old_string is empty");
        BAD("Edit", "{'file_path': 'f', 'old_string': 'a', 'new_string': 'a'}", "old_string and new_string are the same");
        BAD("Edit", "{'file_path': 'none', 'old_string': 'a', 'new_string': 'b'}", "no such file: $/none");
        GOOD("Edit", "{'file_path': 'f', 'old_string': 'b a', 'new_string': '$'}", "replaced 1 occurrence(s) in $/f");
        check_content("f", "a $\nno newline");
        GOOD("Edit", "{'file_path': 'f', 'old_string': 'n', 'new_string': '', 'replace_all': true}",
             "replaced 3 occurrence(s) in $/f");
        check_content("f", "a $\no ewlie");
}

static void test_edit_keeps_the_line_ends_of_the_file(void **state)
{
        (void)state;
        bool error = false;
        put("f", "one\r\ntwo\r\nthree\r\n");
        (void)call("Read", "{'file_path': 'f'}", &error);
        GOOD("Edit", "{'file_path': 'f', 'old_string': 'one\\ntwo', 'new_string': '1\\n2\\n2'}", "replaced 1 occurrence(s) in $/f");
        check_content("f", "1\r\n2\r\n2\r\nthree\r\n");
        GOOD("Edit", "{'file_path': 'f', 'old_string': 'three\\r\\n', 'new_string': '3\\n'}", "replaced 1 occurrence(s) in $/f");
        check_content("f", "1\r\n2\r\n2\r\n3\n");
}

static void test_glob_patterns(void **state)
{
        (void)state;
        static const struct {
                const char *pattern, *path;
                bool matches;
        } rows[] = {
                { "*.c", "a.c", true },          { "*.c", "d/a.c", false },        { "d/*.c", "d/a.c", true },
                { "**/*.c", "a.c", true },       { "**/*.c", "d/e/a.c", true },    { "d/**", "d/e/f", true },
                { "d/**", "d", false },          { "d/**", "e/f", false },         { "**", "a/b", true },
                { "a/**/b", "a/b", true },       { "a/**/b", "a/x/y/b", true },    { "a/**/b", "a/x/y/c", false },
                { "a/**/b/**/c", "a/b/b/x/c", true }, { "**/x/**", "a/x/b", true }, { "?[ab].c", "xa.c", true },
                { "?[ab].c", "xc.c", false },    { "a", "a/b", false },            { "a/b", "a", false },
                { "**/a/**/a/**/a/**/a/**/b", "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/c", false },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                if (glob_matches(rows[i].pattern, rows[i].path) != rows[i].matches)
                        fail_msg("%s and %s", rows[i].pattern, rows[i].path);
}

static void put_at(const char *name, const char *content, time_t when)
{
        const struct timespec times[] = { { when, 0 }, { when, 0 } };
        put(name, content);
        assert_int_equal(utimensat(AT_FDCWD, name, times, 0), 0);
}

static void test_glob_finds_the_newest_first(void **state)
{
        (void)state;
        assert_int_equal(mkdir("d", 0755) | mkdir("d/e", 0755) | mkdir("out", 0755) | mkdir(".git", 0755), 0);
        put_at("a.c", "", 100);
        put_at("d/b.c", "", 300);
        put_at("d/e/c.c", "", 200);
        put_at("d/e/d.c", "", 200);
        put_at("d/x.h", "", 500);
        put_at("out/gen.c", "", 900);
        put_at(".git/hook.c", "", 900);
        put_at("new\nline.c", "", 50);
        assert_int_equal(symlink("..", "d/loop"), 0);
        put_at(".gitignore", "# generated\n/out/\n", 1);
        GOOD("Glob", "{'pattern': '*.c'}", "$/d/b.c\n$/d/e/c.c\n$/d/e/d.c\n$/a.c\n$/new\\x0aline.c\n");
        GOOD("Glob", "{'pattern': 'd/**/*.c', 'limit': 2}", "$/d/b.c\n$/d/e/c.c\n(1 more match; narrow the pattern or raise the limit)\n");
        GOOD("Glob", "{'pattern': '*.c', 'path': 'd/e'}", "$/d/e/c.c\n$/d/e/d.c\n");
        GOOD("Glob", "{'pattern': 'gen.*', 'ignored': true}", "$/out/gen.c\n");
        GOOD("Glob", "{'pattern': 'gen.*'}", "no file matches");
        BAD("Glob", "{'pattern': '[a'}", "the pattern is wrong: a '[' is not closed; write \\[ for the character itself");
        BAD("Glob", "{'pattern': '*', 'path': 'a.c'}", "$/a.c is not a directory");
        BAD("Glob", "{'pattern': '*', 'path': 'none'}", "no such directory: $/none");
        BAD("Glob", "{'pattern': '*', 'path': '/etc'}", "path is outside workspace root: /etc is not in $");
}

static void test_gitignore_rules(void **state)
{
        (void)state;
        assert_int_equal(mkdir("sub", 0755) | mkdir("sub/deep", 0755) | mkdir("logs", 0755), 0);
        static const char *const names[] = { "keep.log", "x.log", "sub/x.log", "sub/keep.tmp", "sub/deep/only", "only", "logs/a",
                                             "sub/#odd", "sub/deep/local" };
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                put_at(names[i], "", 100 + (time_t)i);
        put_at(".gitignore", "*.log\n!keep.log\n*.tmp\r\n/only\nlogs/\n\\#odd\n\n   \n", 1);
        put_at("sub/.gitignore", "!keep.tmp\ndeep/local\n", 1);
        GOOD("Glob", "{'pattern': '[!.]*'}", "$/sub/deep/only\n$/sub/keep.tmp\n$/keep.log\n");
}

static void test_grep_finds_files_lines_and_counts(void **state)
{
        (void)state;
        assert_int_equal(mkdir("d", 0755), 0);
        put("a.txt", "one\ntwo two\nthree\nTWO\n");
        put("d/b.c", "int two;\r\nint x;");
        put_bytes("bin", "two\0two", 7);
        put("left.log", "two\n");
        put(".gitignore", "*.log\n");
        GOOD("Grep", "{'pattern': 'two'}", "$/a.txt\n$/d/b.c\n");
        GOOD("Grep", "{'pattern': 'two', 'output_mode': 'content'}", "$/a.txt:2:two two\n$/d/b.c:1:int two;\n");
        GOOD("Grep", "{'pattern': 'two', 'output_mode': 'count', 'case_insensitive': true}", "$/a.txt:2\n$/d/b.c:1\n");
        GOOD("Grep", "{'pattern': 'x;$', 'output_mode': 'content', 'glob': '*.c'}", "$/d/b.c:2:int x;\n");
        GOOD("Grep", "{'pattern': '^', 'output_mode': 'count', 'path': 'a.txt'}", "$/a.txt:4\n");
        GOOD("Grep", "{'pattern': 'two', 'glob': '*.log'}", "nothing matches");
        GOOD("Grep", "{'pattern': 'two', 'glob': '*.log', 'ignored': true}", "$/left.log\n");
        BAD("Grep", "{'pattern': 'a('}", "the pattern is wrong at its character 3: missing closing parenthesis");
        BAD("Grep", "{'pattern': 'a', 'path': 'none'}", "no such file or directory: $/none");
        BAD("Grep", "{'pattern': 'a', 'path': '..'}", "path is outside workspace root: .. is not in $");
        BAD("Grep", "{'pattern': 'a', 'output_mode': 'x'}", "output_mode is one of files_with_matches, content, count");
}

static void test_grep_shows_what_is_around(void **state)
{
        (void)state;
        put("f", "1\n2\n3 x\n4\n5\n6\n7 x\n8 x\n9\n");
        GOOD("Grep", "{'pattern': 'x', 'output_mode': 'content', 'context': 1}",
             "$/f-2-2\n$/f:3:3 x\n$/f-4-4\n--\n$/f-6-6\n$/f:7:7 x\n$/f:8:8 x\n$/f-9-9\n");
        GOOD("Grep", "{'pattern': 'x', 'output_mode': 'content', 'before': 2}",
             "$/f-1-1\n$/f-2-2\n$/f:3:3 x\n--\n$/f-5-5\n$/f-6-6\n$/f:7:7 x\n$/f:8:8 x\n");
        GOOD("Grep", "{'pattern': 'x', 'output_mode': 'content', 'head_limit': 1}",
             "$/f:3:3 x\n(there is more; narrow the pattern or raise head_limit)\n");
        GOOD("Grep", "{'pattern': '2\\\\s3', 'output_mode': 'content'}", "nothing matches"); /* not over the end of a line */
        GOOD("Grep", "{'pattern': '2\\\\s3', 'output_mode': 'content', 'multiline': true}", "$/f:2:2\n$/f:3:3 x\n");
}

static void test_grep_has_bounds(void **state)
{
        (void)state;
        bool error = false;
        char *line = malloc(100000);
        memset(line, 'a', 100000);
        put_bytes("long", line, 100000);
        free(line);
        const char *text = call("Grep", "{'pattern': 'a', 'output_mode': 'content'}", &error);
        assert_false(error);
        assert_in_range(strlen(text), 2000, 2200);
        BAD("Grep", "{'pattern': '(a|aa)+[^a]'}", "the pattern takes too long; make it simpler");
        put("other", "aab\n");
        GOOD("Grep", "{'pattern': '(a|aa)+[^a]'}", /* one file does not spoil the others */
             "$/other\n(1 files were passed over: the pattern takes too long in them)\n");
        put_bytes("odd", "caf\xe9 x\n", 7);
        GOOD("Grep", "{'pattern': 'x', 'output_mode': 'content', 'path': 'odd'}", "$/odd:1:caf\xef\xbf\xbd x\n");
}

static void test_rules_from_around_and_from_other_files(void **state)
{
        (void)state;
        assert_int_equal(mkdir("src", 0755) | mkdir("src/deep", 0755) | mkdir(".git", 0755) | mkdir(".git/info", 0755), 0);
        static const char *const names[] = { "src/a.o", "src/deep/b.o", "src/deep/c.c", "src/deep/d.local", "src/deep/e.own",
                                             "src/deep/back.o" };
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                put_at(names[i], "x\n", 100 + (time_t)i);
        put_at(".gitignore", "*.o\n/src/deep/c.*\n", 1);
        put_at(".git/info/exclude", "*.local\n", 1);
        put_at("src/.ignore", "*.own\n!back.o\n", 1);
        GOOD("Glob", "{'pattern': '[!.]*'}", "$/src/deep/back.o\n");
        GOOD("Glob", "{'pattern': '[!.]*', 'path': 'src/deep'}", "$/src/deep/back.o\n");
        GOOD("Grep", "{'pattern': 'x', 'path': 'src/deep'}", "$/src/deep/back.o\n");
        GOOD("Grep", "{'pattern': 'x', 'path': 'src/a.o'}", "$/src/a.o\n"); /* what was named is wanted */
        put_at("src/.ignore", "", 1);
        GOOD("Glob", "{'pattern': '[!.]*', 'path': 'src'}", "$/src/deep/e.own\n");
}

static void test_filters_by_names_and_types(void **state)
{
        (void)state;
        assert_int_equal(mkdir("d", 0755), 0);
        static const char *const names[] = { "a.c", "b.h", "c.py", "d/e.c", "d/Makefile", "d/{x}", "d/t.tsx" };
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                put_at(names[i], "x\n", 100 - (time_t)i);
        GOOD("Grep", "{'pattern': 'x', 'type': 'c'}", "$/a.c\n$/b.h\n$/d/e.c\n");
        GOOD("Grep", "{'pattern': 'x', 'type': 'c', 'glob': 'd/*'}", "$/d/e.c\n");
        GOOD("Grep", "{'pattern': 'x', 'type': 'make'}", "$/d/Makefile\n");
        GOOD("Grep", "{'pattern': 'x', 'glob': '*.{py,ts{,x}}'}", "nothing matches"); /* braces do not nest */
        GOOD("Grep", "{'pattern': 'x', 'glob': '*.{py,tsx}'}", "$/c.py\n$/d/t.tsx\n");
        GOOD("Glob", "{'pattern': '{*.c,d/*.tsx}'}", "$/a.c\n$/d/e.c\n$/d/t.tsx\n");
        GOOD("Glob", "{'pattern': 'd/**/*.{c,tsx}'}", "$/d/e.c\n$/d/t.tsx\n");
        GOOD("Glob", "{'pattern': '**/Make*'}", "$/d/Makefile\n");
        BAD("Grep", "{'pattern': 'x', 'type': 'pyton'}",
            "there is no type 'pyton'; did you mean python? Known with this letter: pascal, perl, php, protobuf, ps, py, python");
        BAD("Grep", "{'pattern': 'x', 'glob': '[a'}", "glob is wrong: a '[' is not closed; write \\[ for the character itself");
        BAD("Glob", "{'pattern': '{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}'}",
            "the pattern is wrong: its braces stand for too many patterns");
}

static void test_fragments_of_patterns(void **state)
{
        (void)state;
        static const struct {
                const char *pattern, *fragment, *caseless; /* NULL: none */
        } rows[] = {
                { "plain", NULL, NULL },             { "\\b[a-z]+_[0-9]{3}\\b", "_[0-9]{3}", "_[0-9]{3}" },
                { "[A-Z][a-z]+ing", "ing", "ing" }, { "\\w+_init\\s*\\(", "_init", "_init" },
                { "a?bc", "bc", "bc" },             { "x*(foo|bar)baz", "baz", "baz" },
                { ".foo|bar", NULL, NULL },         { ".(?i)foo", NULL, NULL },
                { ".(?:a(b)c)de", "de", "de" },     { ".fo+bar", "bar", "bar" },
                { ".ab{0,2}cd", "cd", "cd" },       { "\\d\\Qa.b\\E", NULL, NULL },
                { ".\\.\\*x", "\\.\\*x", "\\.\\*x" }, { "[]a]bcd", "bcd", "bcd" },
                { "[[:alpha:]]bcd", NULL, NULL },   { "(*UTF)abc", NULL, NULL },
                { ".\xc3\xa9t", "\xc3\xa9t", "t" }, { "^kernel$", "kernel", "ernel" },
                { "(?=foo)bar", "bar", "bar" },     { ".a{2}b", "a{2}b", "a{2}b" },
                { "a.literal", "literal", "literal" }, { "((?x)a#)b(\n)c", NULL, NULL },
                { ".a[bc]d", "a[bc]", "a[bc]" },    { "(a[)]b)c", "c", "c" },
                { ".\\x41bc", NULL, NULL },         { "(a(*ACCEPT)b)c", NULL, NULL },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                for (int caseless = 0; caseless < 2; caseless++) {
                        size_t start = 0, length = 0;
                        const char *expected = caseless ? rows[i].caseless : rows[i].fragment;
                        bool found = fragment_find(rows[i].pattern, caseless, &start, &length);
                        if (found != (expected != NULL) ||
                            (found && (strlen(expected) != length || memcmp(rows[i].pattern + start, expected, length) != 0)))
                                fail_msg("%s: %.*s", rows[i].pattern, found ? (int)length : 0, rows[i].pattern + start);
                }
        }
}

static unsigned random_below(unsigned bound)
{
        static uint64_t state = 42;
        state = state * 6364136223846793005U + 1442695040888963407U;
        return (unsigned)(state >> 33) % bound;
}

static void add_random(struct text *out, const char *const *pieces, size_t count, unsigned most)
{
        for (unsigned i = 0, n = 1 + random_below(most); i < n; i++)
                text_add(out, pieces[random_below((unsigned)count)]);
}

static size_t count_lines(const struct matcher *r, const char *text, size_t length, bool one_by_one)
{
        static const atomic_bool stop;
        struct matcher_hand *h = matcher_hand_new(r, &stop);
        size_t count = 0, start = 0, end = 0;
        for (size_t at = 0, next = length; at < length; at = next) {
                next = one_by_one ? (size_t)((const char *)memchr(text + at, '\n', length - at) - text) + 1 : length;
                matcher_begin(h, text + at, next - at, 0);
                while (matcher_next(h, &start, &end) == 1)
                        count += at + end;
        }
        matcher_hand_free(h);
        return count;
}

/* Whatever is looked for first, what is found is what a search line by line finds. */
static void test_the_quick_way_finds_what_the_slow_one_does(void **state)
{
        (void)state;
        static const char *const pieces[] = { "a", "b", "_", "k", "[ab]", "[^a]", "\\w", ".", "a+", "b*", "k?", "_{2}", "(a|b_)",
                                              "(?:ab)?", "^", "$", "\\b", "|", "\\s", "\xc3\xa9", "(?=b)", "(?!k)", "[a-k]{1,2}" };
        static const char *const words[] = { "a", "b", "_", "k", "K", "ab", "\n", " ", "\xc3\xa9", "\xe9", "\xe2\x84\xaa", "B_" };
        for (int i = 0; i < 3000; i++) {
                CLEANUP_TEXT struct text pattern = { 0 }, text = { 0 };
                char why[200];
                add_random(&pattern, pieces, ARRAY_SIZE(pieces), 7);
                add_random(&text, words, ARRAY_SIZE(words), 60);
                text_add(&text, "\n");
                struct matcher *r = matcher_new(pattern.data, (struct matcher_options){ .caseless = i % 2 }, why, sizeof why);
                if (!r)
                        continue;
                if (count_lines(r, text.data, text.length, false) != count_lines(r, text.data, text.length, true))
                        fail_msg("%s in %s", pattern.data, text.data);
                matcher_free(r);
        }
}

/* A file that does not fit into the window gives what one that fits does. */
static void test_grep_reads_large_files_in_windows(void **state)
{
        (void)state;
        static const char *const questions[] = {
                "{'pattern': '[37]5', 'output_mode': 'content', 'context': 2}",
                "{'pattern': '99$', 'output_mode': 'content', 'before': 3}",
                "{'pattern': ' 1.?0', 'output_mode': 'content', 'after': 5}",
                "{'pattern': '^line 1', 'output_mode': 'count'}",
                "{'pattern': '8\\nline 9$', 'output_mode': 'content', 'multiline': true}",
                "{'pattern': '\\\\Aline|long x', 'output_mode': 'content'}",
        };
        CLEANUP_TEXT struct text lines = { 0 };
        for (int i = 0; i < 400; i++)
                text_format(&lines, "line %d\n%s", i, i == 200 ? "a very long xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n" : "");
        put("f", lines.data);
        for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
                bool error = false;
                CLEANUP_FREE char *whole = strdup(call("Grep", questions[i], &error));
                assert_false(error);
                assert_string_not_equal(whole, "nothing matches");
                for (size_t window = 4; window < 200; window += 13) {
                        scan_set_window(window);
                        assert_string_equal(call("Grep", questions[i], &error), whole);
                }
                scan_set_window(256 << 10);
        }
}

/* However many threads there are, the answer is the same. */
static void test_searches_with_any_number_of_threads(void **state)
{
        (void)state;
        static const char *const questions[][2] = {
                { "Grep", "{'pattern': 'x'}" }, { "Grep", "{'pattern': 'x', 'head_limit': 7}" },
                { "Grep", "{'pattern': 'x', 'output_mode': 'content', 'head_limit': 33}" },
                { "Glob", "{'pattern': '**/f*1', 'limit': 20}" },
        };
        char name[64];
        for (int i = 0; i < 30; i++) {
                (void)snprintf(name, sizeof name, i % 3 ? "d%d/e" : "d%d", i - i % 3);
                (void)mkdir(name, 0755);
                for (int j = 0; j < (i == 6 ? 300 : 12); j++) {
                        (void)snprintf(name, sizeof name, i % 3 ? "d%d/e/f%d-%d" : "d%d/f%d-%d", i - i % 3, i, j);
                        put_at(name, "x\ny\nx\n", 100 + i);
                }
        }
        assert_int_equal(mkdir("many", 0755), 0);
        for (int i = 0; i < 17000; i++) { /* more than is read of a directory at a time */
                (void)snprintf(name, sizeof name, "many/m%d", i);
                assert_int_equal(link("d0/f0-0", name), 0);
        }
        GOOD("Glob", "{'pattern': 'm*9', 'limit': 1}", "$/many/m10009\n(1699 more match; narrow the pattern or raise the limit)\n");
        for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
                bool error = false;
                CLEANUP_FREE char *alone = NULL;
                walk_limit_threads(0);
                alone = strdup(call(questions[i][0], questions[i][1], &error));
                assert_false(error);
                for (unsigned most = 1; most <= 8; most *= 2) {
                        walk_limit_threads(most);
                        assert_string_equal(call(questions[i][0], questions[i][1], &error), alone);
                }
        }
        json_t *arguments = json_pack("{s:s}", "pattern", "x");
        for (unsigned i = 0; i < 100; i++) { /* and nobody has to wait for its end */
                struct tool_answer answer;
                walk_limit_threads(i % 9);
                struct job *job = toolbox_call(&box, &tool_grep, arguments, &answer);
                assert_non_null(job);
                (void)usleep(i * 10);
                if (i % 4 == 0)
                        (void)job->kind->step(job);
                job_free(job);
        }
        json_decref(arguments);
        walk_limit_threads(8);
        (void)usleep(200000); /* the last threads go */
}

/* What could take for ever is noticed: many places that each take their time, and one line without end. */
static void test_grep_can_be_stopped_in_a_file(void **state)
{
        (void)state;
        CLEANUP_TEXT struct text lines = { 0 };
        for (int i = 0; i < 20000; i++)
                text_add(&lines, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ");
        put("f", lines.data);
        struct tool_answer answer;
        json_t *arguments = json_pack("{s:s}", "pattern", "a*a*a*a*a*[bc]");
        struct job *job = toolbox_call(&box, &tool_grep, arguments, &answer);
        assert_non_null(job);
        (void)usleep(100000);
        assert_false(job->kind->step(job));
        CLEANUP_TEXT struct text message = { 0 };
        assert_int_equal(job->kind->progress(job, &message), 0);
        assert_string_equal(message.data, "0 files searched");
        job_free(job);
        json_decref(arguments);
        (void)usleep(300000); /* under a sanitizer: it has ended, or its memory is lost */
        BAD("Grep", "{'pattern': '(?=(a+))\\\\1\\\\1[bc]|(a|aa)+[bc]'}", "the pattern takes too long; make it simpler");
}

/* Runs a command to its end, as the worker does. */
static struct shell *run_shell(const char *command, int64_t timeout_ms)
{
        static char path[] = "PATH=/usr/local/bin:/usr/bin:/bin", *environment[] = { path, NULL };
        struct error e = { 0 };
        const struct shell_request request = { .command = command, .directory = root, .environment = environment,
                                               .timeout_ms = timeout_ms };
        struct shell *s = shell_start(&request, &e);
        if (!s)
                fail_msg("%s", e.text);
        run_job(&s->job);
        return s;
}

static void check_shell(const char *command, int64_t timeout_ms, const char *expected, int status)
{
        struct shell *s = run_shell(command, timeout_ms);
        CLEANUP_TEXT struct text out = { 0 };
        capture_print(&s->streams[0], 0, &out);
        assert_string_equal(out.data ? out.data : "", expected);
        assert_int_equal(shell_exit_status(s), status);
        shell_free(s);
}

static void test_a_command_runs_to_its_end(void **state)
{
        (void)state;
        check_shell("echo one; echo two >&2; exit 3", 10000, "one\ntwo\n", 3);
        check_shell("kill -9 $$", 10000, "", 137);
        check_shell("read x; echo \"<$x>\"", 10000, "<>\n", 0); /* there is nothing to read */
        check_shell("no-such-command-anywhere 2>/dev/null", 10000, "", 127);
        CLEANUP_TEXT struct text expected = { 0 };
        text_format(&expected, "%s\n", root);
        check_shell("pwd", 10000, expected.data, 0);
        check_shell("env | grep -v '^PATH=\\|^PWD=\\|^SHLVL=\\|^_='", 10000, "", 1);
        check_shell("sleep 1 & echo left", 10000, "left\n", 0); /* one that stays does not keep us */
}

static void test_a_command_has_its_time(void **state)
{
        (void)state;
        check_shell("echo before; sleep 100 | sleep 100", 300, "before\n", 124);
        check_shell("trap '' TERM INT; while :; do :; done", 200, "", 124);
}

static void test_long_output_keeps_its_head_and_its_tail(void **state)
{
        (void)state;
        struct shell *s = run_shell("echo first; head -c 5000000 /dev/zero | tr '\\0' x; echo; echo last", 30000);
        CLEANUP_TEXT struct text out = { 0 };
        capture_print(&s->streams[0], 0, &out);
        assert_true(out.length < SHELL_KEPT + 100);
        assert_memory_equal(out.data, "first\nxxx", 9);
        assert_string_equal(out.data + out.length - 7, "x\nlast\n");
        assert_non_null(strstr(out.data, "\n... (output truncated, 4897612 bytes elided)\n"));
        assert_true(s->streams[0].written == 5000012);
        shell_free(s);
}

/* A filter that holds back lines which have not ended, and says "no" for "yes". */
struct held {
        struct text line;
};

static void *begin_held(void *context)
{
        (void)context;
        return calloc(1, sizeof(struct held));
}

static bool feed_held(void *stream, const char *bytes, size_t length, struct text *out)
{
        struct held *h = stream;
        text_add_bytes(&h->line, bytes ? bytes : "", length);
        bool whole = !bytes || (length && bytes[length - 1] == '\n');
        if (whole && h->line.length) {
                text_add(out, strstr(h->line.data, "yes") ? "no\n" : h->line.data);
                h->line.length = 0;
        }
        return !out->failed;
}

static void end_held(void *stream)
{
        text_done(&((struct held *)stream)->line);
        free(stream);
}

static void test_output_goes_through_the_filter_as_it_comes(void **state)
{
        (void)state;
        static const struct capture_filter held = { begin_held, feed_held, end_held, NULL };
        static char path[] = "PATH=/usr/bin:/bin", *environment[] = { path, NULL };
        const struct shell_request request = { .command = "printf ye; sleep 0.2; printf 's\\n'; sleep 0.2; printf end",
                                               .directory = root, .environment = environment, .timeout_ms = 10000, .filter = &held };
        struct error e = { 0 };
        struct shell *s = shell_start(&request, &e);
        assert_non_null(s);
        run_job(&s->job);
        CLEANUP_TEXT struct text out = { 0 };
        capture_print(&s->streams[0], 0, &out);
        assert_string_equal(out.data, "no\nend");
        assert_int_equal(s->streams[0].written, 7);
        assert_int_equal(s->streams[0].bytes, 6);
        shell_free(s);
}

static void test_a_command_in_the_background(void **state)
{
        (void)state;
        static char path[] = "PATH=/usr/bin:/bin", *environment[] = { path, NULL };
        box.environment = environment;
        bool error = false;
        char id[64], arguments[200];
        const char *text = call("Bash", "{'command': 'echo one; read x < fifo; echo two', 'run_in_background': true}", &error);
        assert_false(error);
        assert_int_equal(sscanf(text, "shell_id: %32s", id), 1);
        assert_int_equal(mkfifo("fifo", 0600), 0);
        (void)snprintf(arguments, sizeof arguments, "{'shell_id': '%s'}", id);
        for (int i = 0; i < 200 && !strstr(text, "one"); i++) {
                (void)usleep(10000);
                text = call("BashOutput", arguments, &error);
        }
        assert_non_null(strstr(text, "command: echo one; read x < fifo; echo two\nstatus: running\nstarted: 20"));
        assert_non_null(strstr(text, "stdout (4 bytes, what is new):\none\nstderr (0 bytes):\n"));
        text = call("BashOutput", arguments, &error);
        assert_non_null(strstr(text, "stdout (4 bytes):\nstderr (0 bytes):\n"));
        GOOD("KillShell", arguments, box.background[0]->ended ? "it had ended already" : "killed");
        BAD("BashOutput", "{'shell_id': 'x'}", "unknown shell_id: x");
        text = call("Bash", "{'command': 'echo out; echo err >&2; exit 5', 'run_in_background': true}", &error);
        assert_int_equal(sscanf(text, "shell_id: %32s", id), 1);
        (void)snprintf(arguments, sizeof arguments, "{'shell_id': '%s', 'all': true}", id);
        for (int i = 0; i < 200 && !box.background[0]->ended; i++) {
                (void)usleep(10000);
                (void)call("BashOutput", arguments, &error);
        }
        text = call("BashOutput", arguments, &error);
        assert_non_null(strstr(text, "\nstatus: exited with 5\nstarted: 20"));
        assert_non_null(strstr(text, "stdout (4 bytes):\nout\nstderr (4 bytes):\nerr\n"));
        for (int i = 0; i < BACKGROUND_MOST - 1; i++)
                (void)call("Bash", "{'command': 'sleep 100', 'run_in_background': true}", &error);
        assert_false(error);
        (void)call("Bash", "{'command': 'sleep 100', 'run_in_background': true}", &error); /* the one that ended makes room */
        assert_false(error);
        BAD("Bash", "{'command': 'sleep 100', 'run_in_background': true}", "too many commands run in the background");
        background_free(&box);
}

static void test_arguments_are_checked_by_the_table(void **state)
{
        (void)state;
        BAD("Read", "{}", "Read needs the parameter file_path");
        BAD("Read", "{'file_path': 1}", "the parameter file_path of Read must be a string");
        BAD("Read", "{'file_path': 'f', 'offset': 'x'}", "the parameter offset of Read must be an integer");
        BAD("Read", "{'file_path': 'f', 'offset': 0}", "the parameter offset of Read must be from 1 to 9007199254740992");
        BAD("Read", "{'file_path': 'f', 'path': 'x'}", "Read has no parameter 'path'");
        BAD("Read", "[]", "Read needs its arguments as an object");
        assert_null(tool_find("read"));
}

static void test_a_client_is_told_everything(void **state)
{
        (void)state;
        for (size_t i = 0; i < tool_count; i++) {
                json_t *o = tool_describe(tools[i], NULL, 0);
                assert_non_null(o);
                static const char *const hints[] = { "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint" };
                for (size_t j = 0; j < ARRAY_SIZE(hints); j++)
                        assert_true(json_is_boolean(json_object_get(json_object_get(o, "annotations"), hints[j])));
                assert_string_equal(json_string_value(json_object_get(json_object_get(o, "inputSchema"), "type")), "object");
                assert_string_equal(json_string_value(json_object_get(json_object_get(o, "outputSchema"), "type")), "object");
                json_decref(o);
        }
}

#define IN_BOX(test) cmocka_unit_test_setup_teardown(test, make_box, drop_box)

int main(void)
{
        const struct CMUnitTest tests[] = {
                IN_BOX(test_read_shows_lines_with_numbers),
                IN_BOX(test_read_says_what_it_cannot_show),
                IN_BOX(test_read_takes_files_of_any_size),
                IN_BOX(test_read_shows_images),
                IN_BOX(test_write_makes_files_and_their_directories),
                IN_BOX(test_nothing_is_overwritten_that_was_not_read_as_it_is),
                IN_BOX(test_edit_replaces_exactly),
                IN_BOX(test_edit_keeps_the_line_ends_of_the_file),
                cmocka_unit_test(test_glob_patterns),
                IN_BOX(test_glob_finds_the_newest_first),
                IN_BOX(test_gitignore_rules),
                IN_BOX(test_grep_finds_files_lines_and_counts),
                IN_BOX(test_grep_shows_what_is_around),
                IN_BOX(test_grep_has_bounds),
                IN_BOX(test_rules_from_around_and_from_other_files),
                IN_BOX(test_filters_by_names_and_types),
                cmocka_unit_test(test_fragments_of_patterns),
                cmocka_unit_test(test_the_quick_way_finds_what_the_slow_one_does),
                IN_BOX(test_grep_reads_large_files_in_windows),
                IN_BOX(test_searches_with_any_number_of_threads),
                IN_BOX(test_grep_can_be_stopped_in_a_file),
                IN_BOX(test_a_command_runs_to_its_end),
                IN_BOX(test_a_command_has_its_time),
                IN_BOX(test_long_output_keeps_its_head_and_its_tail),
                IN_BOX(test_output_goes_through_the_filter_as_it_comes),
                IN_BOX(test_a_command_in_the_background),
                IN_BOX(test_arguments_are_checked_by_the_table),
                IN_BOX(test_a_client_is_told_everything),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
