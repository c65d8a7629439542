/* Glob and Grep: what they find, in which order, and their limits. */
#include "test_tools_fixture.h"

static void test_glob_patterns_match_paths(void **state)
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

static void write_file_at(const char *name, const char *content, time_t when)
{
        const struct timespec times[] = { { when, 0 }, { when, 0 } };
        write_file(name, content);
        assert_int_equal(utimensat(AT_FDCWD, name, times, 0), 0);
}

static void test_glob_finds_the_newest_first(void **state)
{
        (void)state;
        assert_int_equal(mkdir("d", 0755) | mkdir("d/e", 0755) | mkdir("out", 0755) | mkdir(".git", 0755), 0);
        write_file_at("a.c", "", 100);
        write_file_at("d/b.c", "", 300);
        write_file_at("d/e/c.c", "", 200);
        write_file_at("d/e/d.c", "", 200);
        write_file_at("d/x.h", "", 500);
        write_file_at("out/gen.c", "", 900);
        write_file_at(".git/hook.c", "", 900);
        write_file_at("new\nline.c", "", 50);
        assert_int_equal(symlink("..", "d/loop"), 0);
        write_file_at(".gitignore", "# generated\n/out/\n", 1);
        EXPECT_OK("Glob", "{'pattern': '*.c'}", "$/d/b.c\n$/d/e/c.c\n$/d/e/d.c\n$/a.c\n$/new\\x0aline.c\n");
        EXPECT_OK("Glob", "{'pattern': 'd/**/*.c', 'limit': 2}",
                  "$/d/b.c\n$/d/e/c.c\n(1 more match: continue with offset 2, or narrow the pattern)\n");
        EXPECT_OK("Glob", "{'pattern': '*.c', 'path': 'd/e'}", "$/d/e/c.c\n$/d/e/d.c\n");
        EXPECT_OK("Glob", "{'pattern': 'gen.*', 'ignored': true}", "$/out/gen.c\n");
        EXPECT_OK("Glob", "{'pattern': 'gen.*'}", "no file matches");
        EXPECT_ERROR("Glob", "{'pattern': '[a'}",
                     "invalid pattern: a '[' is not closed; write \\[ for the character itself");
        EXPECT_ERROR("Glob", "{'pattern': '*', 'path': 'a.c'}", "$/a.c is not a directory");
        EXPECT_ERROR("Glob", "{'pattern': '*', 'path': 'none'}", "no such directory: $/none");
        EXPECT_ERROR("Glob", "{'pattern': '*', 'path': '/etc'}", "path is outside workspace root: /etc is not in $");
}

static void test_gitignore_rules_are_applied(void **state)
{
        (void)state;
        assert_int_equal(mkdir("sub", 0755) | mkdir("sub/deep", 0755) | mkdir("logs", 0755), 0);
        static const char *const names[] = { "keep.log", "x.log",  "sub/x.log", "sub/keep.tmp",  "sub/deep/only",
                                             "only",     "logs/a", "sub/#odd",  "sub/deep/local" };
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                write_file_at(names[i], "", 100 + (time_t)i);
        write_file_at(".gitignore", "*.log\n!keep.log\n*.tmp\r\n/only\nlogs/\n\\#odd\n\n   \n", 1);
        write_file_at("sub/.gitignore", "!keep.tmp\ndeep/local\n", 1);
        EXPECT_OK("Glob", "{'pattern': '[!.]*'}", "$/sub/deep/only\n$/sub/keep.tmp\n$/keep.log\n");
}

static void test_grep_finds_files_lines_and_counts(void **state)
{
        (void)state;
        assert_int_equal(mkdir("d", 0755), 0);
        write_file("a.txt", "one\ntwo two\nthree\nTWO\n");
        write_file("d/b.c", "int two;\r\nint x;");
        write_bytes("bin", "two\0two", 7);
        write_file("left.log", "two\n");
        write_file(".gitignore", "*.log\n");
        EXPECT_OK("Grep", "{'pattern': 'two'}", "$/a.txt\n$/d/b.c\n");
        EXPECT_OK("Grep", "{'pattern': 'two', 'output_mode': 'content'}", "$/a.txt:2:two two\n$/d/b.c:1:int two;\n");
        EXPECT_OK("Grep", "{'pattern': 'two', 'output_mode': 'content', '-n': false}",
                  "$/a.txt:two two\n$/d/b.c:int two;\n");
        EXPECT_OK("Grep", "{'pattern': 'TWO', '-i': true, '-C': 0}", "$/a.txt\n$/d/b.c\n");
        EXPECT_OK("Grep", "{'pattern': 'two', 'output_mode': 'count', 'case_insensitive': true}",
                  "$/a.txt:2\n$/d/b.c:1\n");
        EXPECT_OK("Grep", "{'pattern': 'x;$', 'output_mode': 'content', 'glob': '*.c'}", "$/d/b.c:2:int x;\n");
        EXPECT_OK("Grep", "{'pattern': '^', 'output_mode': 'count', 'path': 'a.txt'}", "$/a.txt:4\n");
        EXPECT_OK("Grep", "{'pattern': 'two', 'glob': '*.log'}", "nothing matches");
        EXPECT_OK("Grep", "{'pattern': 'two', 'glob': '*.log', 'ignored': true}", "$/left.log\n");
        EXPECT_ERROR("Grep", "{'pattern': 'a('}", "invalid pattern at byte 3: missing closing parenthesis");
        EXPECT_ERROR("Grep", "{'pattern': 'a', 'path': 'none'}", "no such file or directory: $/none");
        EXPECT_ERROR("Grep", "{'pattern': 'a', 'path': '..'}", "path is outside workspace root: .. is not in $");
        EXPECT_ERROR("Grep", "{'pattern': 'a', 'output_mode': 'x'}",
                     "the parameter output_mode of Grep must be one of files_with_matches, content, count");
}

static void test_grep_shows_context_lines(void **state)
{
        (void)state;
        write_file("f", "1\n2\n3 x\n4\n5\n6\n7 x\n8 x\n9\n");
        EXPECT_OK("Grep", "{'pattern': 'x', 'output_mode': 'content', 'context': 1}",
                  "$/f-2-2\n$/f:3:3 x\n$/f-4-4\n--\n$/f-6-6\n$/f:7:7 x\n$/f:8:8 x\n$/f-9-9\n");
        EXPECT_OK("Grep", "{'pattern': 'x', 'output_mode': 'content', 'before': 2}",
                  "$/f-1-1\n$/f-2-2\n$/f:3:3 x\n--\n$/f-5-5\n$/f-6-6\n$/f:7:7 x\n$/f:8:8 x\n");
        EXPECT_OK("Grep", "{'pattern': 'x', 'output_mode': 'content', 'head_limit': 1}",
                  "$/f:3:3 x\n(there is more: continue with offset 1, or narrow the pattern)\n");
        /* a match does not span lines */
        EXPECT_OK("Grep", "{'pattern': '2\\\\s3', 'output_mode': 'content'}", "nothing matches");
        EXPECT_OK("Grep", "{'pattern': '2\\\\s3', 'output_mode': 'content', 'multiline': true}",
                  "$/f:2:2\n$/f:3:3 x\n");
}

static void test_grep_limits_lines_and_slow_patterns(void **state)
{
        (void)state;
        bool error = false;
        char *line = malloc(100000);
        memset(line, 'a', 100000);
        write_bytes("long", line, 100000);
        free(line);
        const char *text = call("Grep", "{'pattern': 'a', 'output_mode': 'content'}", &error);
        assert_false(error);
        assert_in_range(strlen(text), 2000, 2200);
        EXPECT_ERROR("Grep", "{'pattern': '(a|aa)+[^a]'}", "the pattern takes too long; make it simpler");
        write_file("other", "aab\n");
        EXPECT_OK("Grep", "{'pattern': '(a|aa)+[^a]'}", /* other files are still searched */
                  "$/other\n(1 files were skipped: the pattern takes too long in them)\n");
        write_bytes("odd", "caf\xe9 x\n", 7);
        EXPECT_OK("Grep", "{'pattern': 'x', 'output_mode': 'content', 'path': 'odd'}", "$/odd:1:caf\xef\xbf\xbd x\n");
}

static void test_ignore_rules_of_parents_and_other_files_are_applied(void **state)
{
        (void)state;
        assert_int_equal(mkdir("src", 0755) | mkdir("src/deep", 0755) | mkdir(".git", 0755) | mkdir(".git/info", 0755),
                         0);
        static const char *const names[] = { "src/a.o",          "src/deep/b.o",   "src/deep/c.c",
                                             "src/deep/d.local", "src/deep/e.own", "src/deep/back.o" };
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                write_file_at(names[i], "x\n", 100 + (time_t)i);
        write_file_at(".gitignore", "*.o\n/src/deep/c.*\n", 1);
        write_file_at(".git/info/exclude", "*.local\n", 1);
        write_file_at("src/.ignore", "*.own\n!back.o\n", 1);
        EXPECT_OK("Glob", "{'pattern': '[!.]*'}", "$/src/deep/back.o\n");
        EXPECT_OK("Glob", "{'pattern': '[!.]*', 'path': 'src/deep'}", "$/src/deep/back.o\n");
        EXPECT_OK("Grep", "{'pattern': 'x', 'path': 'src/deep'}", "$/src/deep/back.o\n");
        EXPECT_OK("Grep", "{'pattern': 'x', 'path': 'src/a.o'}", "$/src/a.o\n"); /* named, so not ignored */
        write_file_at("src/.ignore", "", 1);
        EXPECT_OK("Glob", "{'pattern': '[!.]*', 'path': 'src'}", "$/src/deep/e.own\n");
}

static void test_files_are_filtered_by_glob_and_type(void **state)
{
        (void)state;
        assert_int_equal(mkdir("d", 0755), 0);
        static const char *const names[] = { "a.c", "b.h", "c.py", "d/e.c", "d/Makefile", "d/{x}", "d/t.tsx" };
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                write_file_at(names[i], "x\n", 100 - (time_t)i);
        EXPECT_OK("Grep", "{'pattern': 'x', 'type': 'c'}", "$/a.c\n$/b.h\n$/d/e.c\n");
        EXPECT_OK("Grep", "{'pattern': 'x', 'type': 'c', 'glob': 'd/*'}", "$/d/e.c\n");
        EXPECT_OK("Grep", "{'pattern': 'x', 'type': 'make'}", "$/d/Makefile\n");
        EXPECT_OK("Grep", "{'pattern': 'x', 'glob': '*.{py,ts{,x}}'}", "nothing matches"); /* braces do not nest */
        EXPECT_OK("Grep", "{'pattern': 'x', 'glob': '*.{py,tsx}'}", "$/c.py\n$/d/t.tsx\n");
        EXPECT_OK("Glob", "{'pattern': '{*.c,d/*.tsx}'}", "$/a.c\n$/d/e.c\n$/d/t.tsx\n");
        EXPECT_OK("Glob", "{'pattern': 'd/**/*.{c,tsx}'}", "$/d/e.c\n$/d/t.tsx\n");
        EXPECT_OK("Glob", "{'pattern': '**/Make*'}", "$/d/Makefile\n");
        EXPECT_ERROR("Grep", "{'pattern': 'x', 'type': 'pyton'}",
                     "there is no type 'pyton'; did you mean python? Known with this letter: pascal, perl, php, "
                     "protobuf, ps, py, python");
        EXPECT_ERROR("Grep", "{'pattern': 'x', 'glob': '[a'}",
                     "invalid glob: a '[' is not closed; write \\[ for the character itself");
        EXPECT_ERROR("Glob", "{'pattern': '{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}'}",
                     "invalid pattern: its braces expand to too many patterns");
}

static void test_fragments_of_patterns_are_found(void **state)
{
        (void)state;
        static const struct {
                const char *pattern, *fragment, *caseless; /* NULL: no fragment */
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
                        bool found = regex_prefilter_find(rows[i].pattern, caseless, &start, &length);
                        if (found != (expected != NULL) ||
                            (found &&
                             (strlen(expected) != length || memcmp(rows[i].pattern + start, expected, length) != 0)))
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

static void add_random(struct text *out, const char *const *pieces, size_t count, unsigned threads)
{
        for (unsigned i = 0, n = 1 + random_below(threads); i < n; i++)
                text_add(out, pieces[random_below((unsigned)count)]);
}

static size_t count_lines(const struct regex_matcher *r, const char *text, size_t length, bool one_by_one)
{
        static const atomic_bool stop;
        struct matcher_state *h = matcher_state_new(r, &stop);
        size_t count = 0, start = 0, end = 0;
        for (size_t at = 0, next = length; at < length; at = next) {
                next = one_by_one ? (size_t)((const char *)memchr(text + at, '\n', length - at) - text) + 1 : length;
                match_begin(h, text + at, next - at, 0);
                while (match_next(h, &start, &end) == 1)
                        count += at + end;
        }
        matcher_state_free(h);
        return count;
}

/* The matcher first looks for fragments in the whole text; it finds the same as a search line by line. */
static void test_searching_for_fragments_first_finds_the_same_lines(void **state)
{
        (void)state;
        static const char *const pieces[] = { "a",   "b",  "_",   "k",        "[ab]",   "[^a]",    "\\w",       ".",
                                              "a+",  "b*", "k?",  "_{2}",     "(a|b_)", "(?:ab)?", "^",         "$",
                                              "\\b", "|",  "\\s", "\xc3\xa9", "(?=b)",  "(?!k)",   "[a-k]{1,2}" };
        static const char *const words[] = {
                "a", "b", "_", "k", "K", "ab", "\n", " ", "\xc3\xa9", "\xe9", "\xe2\x84\xaa", "B_"
        };
        int compiled = 0;
        for (int i = 0; i < 3000; i++) {
                CLEANUP_TEXT struct text pattern = { 0 }, text = { 0 };
                char why[200];
                add_random(&pattern, pieces, ARRAY_SIZE(pieces), 7);
                add_random(&text, words, ARRAY_SIZE(words), 60);
                text_add(&text, "\n");
                struct regex_matcher *r =
                        regex_matcher_new(pattern.data, (struct regex_options){ .caseless = i % 2 }, why, sizeof why);
                if (!r)
                        continue;
                compiled++;
                if (count_lines(r, text.data, text.length, false) != count_lines(r, text.data, text.length, true))
                        fail_msg("%s in %s", pattern.data, text.data);
                regex_matcher_free(r);
        }
        assert_true(compiled > 1500);
}

/* The result is the same if the file does not fit into the window. */
static void test_grep_finds_the_same_with_any_window_size(void **state)
{
        (void)state;
        static const char *const searches[] = {
                "{'pattern': '[37]5', 'output_mode': 'content', 'context': 2}",
                "{'pattern': '99$', 'output_mode': 'content', 'before': 3}",
                "{'pattern': ' 1.?0', 'output_mode': 'content', 'after': 5}",
                "{'pattern': '^line 1', 'output_mode': 'count'}",
                "{'pattern': '8\\nline 9$', 'output_mode': 'content', 'multiline': true}",
                "{'pattern': '\\\\Aline|long x', 'output_mode': 'content'}",
        };
        CLEANUP_TEXT struct text lines = { 0 };
        for (int i = 0; i < 400; i++)
                text_format(&lines, "line %d\n%s", i,
                            i == 200 ? "a very long xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n" : "");
        write_file("f", lines.data);
        for (size_t i = 0; i < ARRAY_SIZE(searches); i++) {
                bool error = false;
                CLEANUP_FREE char *expected = strdup(call("Grep", searches[i], &error));
                assert_false(error);
                assert_string_not_equal(expected, "nothing matches");
                for (size_t window = 4; window < 200; window += 13) {
                        grep_set_window(window);
                        assert_string_equal(call("Grep", searches[i], &error), expected);
                }
                grep_set_window(256 << 10);
        }
}

/* The answer is the same for any number of threads. */
static void test_searches_find_the_same_with_any_number_of_threads(void **state)
{
        (void)state;
        static const char *const searches[][2] = {
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
                        write_file_at(name, "x\ny\nx\n", 100 + i);
                }
        }
        assert_int_equal(mkdir("many", 0755), 0);
        for (int i = 0; i < 17000; i++) { /* more than one read of a directory returns */
                (void)snprintf(name, sizeof name, "many/m%d", i);
                assert_int_equal(link("d0/f0-0", name), 0);
        }
        EXPECT_OK("Glob", "{'pattern': 'm*9', 'limit': 1}",
                  "$/many/m10009\n(1699 more match: continue with offset 1, or narrow the pattern)\n");
        for (size_t i = 0; i < ARRAY_SIZE(searches); i++) {
                bool error = false;
                CLEANUP_FREE char *expected = NULL;
                tree_walk_set_threads_max(0);
                expected = strdup(call(searches[i][0], searches[i][1], &error));
                assert_false(error);
                for (unsigned threads = 1; threads <= 8; threads *= 2) {
                        tree_walk_set_threads_max(threads);
                        assert_string_equal(call(searches[i][0], searches[i][1], &error), expected);
                }
        }
        json_t *arguments = json_pack("{s:s}", "pattern", "x");
        for (unsigned i = 0; i < 100; i++) { /* a search can be freed before it ends */
                struct tool_result answer;
                tree_walk_set_threads_max(i % 9);
                struct job *job = tool_call(&box, &tool_grep, arguments, &answer);
                assert_non_null(job);
                (void)usleep(i * 10);
                if (i % 4 == 0)
                        (void)job->kind->step(job);
                job_free(job);
        }
        json_decref(arguments);
        tree_walk_set_threads_max(8);
        (void)usleep(200000); /* until the last threads have exited */
}

/* Searches that would take very long can be stopped: many slow matches, and an endless line. */
static void test_grep_can_be_stopped_inside_a_file(void **state)
{
        (void)state;
        CLEANUP_TEXT struct text lines = { 0 };
        for (int i = 0; i < 20000; i++)
                text_add(&lines, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ");
        write_file("f", lines.data);
        struct tool_result answer;
        json_t *arguments = json_pack("{s:s}", "pattern", "a*a*a*a*a*[bc]");
        struct job *job = tool_call(&box, &tool_grep, arguments, &answer);
        assert_non_null(job);
        (void)usleep(100000);
        assert_false(job->kind->step(job));
        CLEANUP_TEXT struct text message = { 0 };
        assert_int_equal(job->kind->progress(job, &message), 0);
        assert_string_equal(message.data, "0 files searched");
        job_free(job);
        json_decref(arguments);
        (void)usleep(300000); /* the search must have ended, or the leak sanitizer reports it */
        EXPECT_ERROR("Grep", "{'pattern': '(?=(a+))\\\\1\\\\1[bc]|(a|aa)+[bc]'}",
                     "the pattern takes too long; make it simpler");
}

static void test_list_shows_the_entries_of_a_directory(void **state)
{
        (void)state;
        write_file("b", "12345");
        write_file(".hidden", "");
        write_file("new\nline", "");
        assert_int_equal(mkdir("a", 0755), 0);
        assert_int_equal(symlink("../x", "link"), 0);
        assert_int_equal(mkfifo("pipe", 0600), 0);
        EXPECT_OK("List", "{}",
                  ".hidden  0 bytes\na/\nb  5 bytes\nlink -> ../x\nnew\\x0aline  0 bytes\npipe  (a fifo)\n");
        EXPECT_OK("List", "{'path': '.', 'limit': 2, 'offset': 1}",
                  "a/\nb  5 bytes\n(3 more: continue with offset 3)\n");
        EXPECT_OK("List", "{'path': 'a'}", "($/a is empty)");
        EXPECT_ERROR("List", "{'offset': 6}", "offset 6 exceeds the 6 entries of $");
        EXPECT_ERROR("List", "{'path': 'b'}", "$/b is not a directory");
        EXPECT_ERROR("List", "{'path': 'none'}", "no such directory: $/none");
        EXPECT_ERROR("List", "{'path': '..'}", "path is outside workspace root: .. is not in $");
}

/* Calls a tool again and again with the offset that its answer names. Checks each answer's size; returns all lines. */
static void read_pages(const char *tool, const char *arguments, struct text *ret, size_t *ret_pages)
{
        bool error = false;
        long offset = 0;
        for (*ret_pages = 0; offset >= 0; ++*ret_pages) {
                CLEANUP_TEXT struct text with_offset = { 0 };
                text_format(&with_offset, "{%s, 'offset': %ld}", arguments, offset);
                const char *text = call(tool, with_offset.data, &error), *more = strstr(text, "continue with offset ");
                assert_false(error);
                assert_in_range(strlen(text), 1, TOOL_TEXT_MAX);
                offset = more ? strtol(more + strlen("continue with offset "), NULL, 10) : -1;
                const char *end = more ? more : text + strlen(text);
                while (more && end > text && end[-1] != '\n')
                        end--;
                text_add_bytes(ret, text, (size_t)(end - text));
        }
}

static void test_long_results_are_shown_in_pages(void **state)
{
        (void)state;
        CLEANUP_TEXT struct text lines = { 0 }, names = { 0 }, found = { 0 }, listed = { 0 }, seen = { 0 };
        size_t pages = 0;
        assert_int_equal(mkdir("many", 0755), 0);
        for (int i = 0; i < 2000; i++) {
                char name[100];
                (void)snprintf(name, sizeof name, "many/%060d", i);
                write_file(name, "");
                text_format(&names, "%s  0 bytes\n", name + 5);
                text_format(&lines, "%d of many words\n", i);
        }
        write_file("f", lines.data);
        read_pages("Grep", "'pattern': 'words', 'path': 'f', 'output_mode': 'content', 'head_limit': 100000", &found,
                   &pages);
        assert_in_range(pages, 3, 10);
        for (int i = 0; i < 2000; i++) {
                CLEANUP_TEXT struct text line = { 0 };
                text_format(&line, "%s/f:%d:%d of many words\n", root, i + 1, i);
                assert_non_null(strstr(found.data, line.data));
        }
        read_pages("List", "'path': 'many'", &listed, &pages);
        assert_string_equal(listed.data, names.data);
        read_pages("Glob", "'pattern': '00*', 'limit': 1000", &seen, &pages);
        assert_in_range(pages, 3, 20);
        size_t count = 0;
        for (const char *p = seen.data; (p = strchr(p, '\n')); p++)
                count++;
        assert_int_equal(count, 2000);
        EXPECT_ERROR("Grep", "{'pattern': 'words', 'output_mode': 'content', 'offset': 5000}",
                     "offset 5000 exceeds the 2000 lines of the result");
        EXPECT_ERROR("Glob", "{'pattern': '00*', 'offset': 5000}", "offset 5000 exceeds the 2000 files that match");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_glob_patterns_match_paths),
                cmocka_unit_test(test_fragments_of_patterns_are_found),
                cmocka_unit_test(test_searching_for_fragments_first_finds_the_same_lines),
                IN_BOX(test_glob_finds_the_newest_first),
                IN_BOX(test_gitignore_rules_are_applied),
                IN_BOX(test_grep_finds_files_lines_and_counts),
                IN_BOX(test_grep_shows_context_lines),
                IN_BOX(test_grep_limits_lines_and_slow_patterns),
                IN_BOX(test_ignore_rules_of_parents_and_other_files_are_applied),
                IN_BOX(test_files_are_filtered_by_glob_and_type),
                IN_BOX(test_grep_finds_the_same_with_any_window_size),
                IN_BOX(test_searches_find_the_same_with_any_number_of_threads),
                IN_BOX(test_grep_can_be_stopped_inside_a_file),
                IN_BOX(test_list_shows_the_entries_of_a_directory),
                IN_BOX(test_long_results_are_shown_in_pages),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
