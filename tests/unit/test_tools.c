/* The tools for files and commands, called through the table of tools like a client's calls. */
#include <signal.h>

#include "test_tools_fixture.h"

static void test_read_shows_lines_with_numbers(void **state)
{
        (void)state;
        write_file("f", "one\ntwo\n\nfour");
        EXPECT_OK("Read", "{'file_path': 'f'}", "1\tone\n2\ttwo\n3\t\n4\tfour\n");
        EXPECT_OK("Read", "{'file_path': 'f', 'offset': 2, 'limit': 2}",
                  "2\ttwo\n3\t\n(there is more: continue with offset 4)\n");
        EXPECT_OK("Read", "{'file_path': 'f', 'offset': 4}", "4\tfour\n");
        EXPECT_ERROR("Read", "{'file_path': 'f', 'offset': 5}", "offset 5 exceeds line count 4");
        write_file("e", "");
        EXPECT_OK("Read", "{'file_path': 'e'}", "($/e is empty)");
        write_file("n", "\n");
        EXPECT_OK("Read", "{'file_path': 'n'}", "1\t\n");
        EXPECT_ERROR("Read", "{'file_path': 'n', 'offset': 2}", "offset 2 exceeds line count 1");
        write_file("crlf", "a\r\nb\r\n");
        EXPECT_OK("Read", "{'file_path': 'crlf'}",
                  "1\ta\n2\tb\n(lines end with CRLF, which Edit and Write keep)\n");
}

static void test_read_reports_files_that_it_cannot_show(void **state)
{
        (void)state;
        assert_int_equal(mkdir("d", 0755), 0);
        assert_int_equal(mkfifo("p", 0644), 0);
        assert_int_equal(symlink("/etc", "out"), 0);
        EXPECT_ERROR("Read", "{'file_path': 'none'}", "no such file: $/none");
        EXPECT_ERROR("Read", "{'file_path': 'd'}", "path is a directory: $/d");
        EXPECT_ERROR("Read", "{'file_path': 'p'}", "$/p is a fifo and cannot be read");
        EXPECT_ERROR("Read", "{'file_path': '../x'}", "path is outside workspace root: ../x is not in $");
        EXPECT_ERROR("Read", "{'file_path': 'out/passwd'}", "path is outside workspace root: out/passwd is not in $");
        write_file("latin", "caf\xe9\n");
        EXPECT_OK("Read", "{'file_path': 'latin'}",
                  "1\tcaf\xef\xbf\xbd\n(the file is not valid UTF-8; invalid bytes are shown as \xef\xbf\xbd)\n");
}

static void test_answer_of_read_is_bounded_for_large_files(void **state)
{
        (void)state;
        bool error = false;
        CLEANUP_FD int fd = open("huge", O_CREAT | O_RDWR | O_CLOEXEC, 0644);
        assert_int_equal(fd_write_all(fd, "first\nsecond\n", 13), 0);
        assert_int_equal(ftruncate(fd, 10LL << 30), 0); /* 10 GiB, most of it a hole */
        assert_non_null(strstr(call("Read", "{'file_path': 'huge', 'limit': 2}", &error), "binary file"));
        char *line = malloc(3 << 20);
        memset(line, 'x', 3 << 20);
        write_bytes("long", line, 3 << 20);
        free(line);
        const char *text = call("Read", "{'file_path': 'long'}", &error);
        assert_false(error);
        assert_in_range(strlen(text), 2000, 2300);
        assert_non_null(strstr(text, "… (3143728 more bytes in this line)\n(long lines are cut; to see more of line N: "
                                     "Bash, sed -n Np '"));
        struct text many = { 0 };
        for (int i = 0; i < 5000; i++)
                text_add(&many, "line\n");
        write_file("many", many.data);
        text_done(&many);
        assert_non_null(strstr(call("Read", "{'file_path': 'many'}", &error), "2000\tline\n(there is more: continue "
                                                                              "with offset 2001)\n"));
}

static void test_answer_of_read_fits_a_models_context(void **state)
{
        (void)state;
        bool error = false;
        struct text lines = { 0 };
        for (int i = 0; i < 2000; i++)
                text_format(&lines, "%0100d\n", i);
        write_file("f", lines.data);
        text_done(&lines);
        const char *text = call("Read", "{'file_path': 'f'}", &error), *more = strstr(text, "(there is more: ");
        assert_in_range(strlen(text), TOOL_TEXT_MAX - 2000, TOOL_TEXT_MAX);
        assert_non_null(more);
        /* the next call shows the next line */
        CLEANUP_TEXT struct text arguments = { 0 }, expected = { 0 };
        long next = strtol(more + strcspn(more, "0123456789"), NULL, 10);
        text_format(&arguments, "{'file_path': 'f', 'limit': 1, 'offset': %ld}", next);
        text_format(&expected, "%ld\t%0100d\n(there is more: continue with offset %ld)\n", next, (int)next - 1,
                    next + 1);
        EXPECT_OK("Read", arguments.data, expected.data);
}

static void test_read_shows_the_bytes_of_a_binary_file(void **state)
{
        (void)state;
        write_bytes("b", "a\0b", 3);
        EXPECT_OK("Read", "{'file_path': 'b'}",
                  "($/b is a binary file of 3 bytes; offset and limit count rows of 16 bytes)\n"
                  "1\t00000000: 6100 62\n");
        write_bytes("rows", "0123456789abcde\0" "0123456789abcdef" "x", 33);
        EXPECT_OK("Read", "{'file_path': 'rows', 'offset': 2, 'limit': 1}",
                  "($/rows is a binary file of 33 bytes; offset and limit count rows of 16 bytes)\n"
                  "2\t00000010: 3031 3233 3435 3637 3839 6162 6364 6566\n(there is more: continue with offset 3)\n");
        EXPECT_OK("Read", "{'file_path': 'rows', 'offset': 3}",
                  "($/rows is a binary file of 33 bytes; offset and limit count rows of 16 bytes)\n3\t00000020: 78\n");
        EXPECT_ERROR("Read", "{'file_path': 'rows', 'offset': 4}", "offset 4 exceeds the file's 3 rows of 16 bytes");
        /* a binary file that was read can be overwritten */
        EXPECT_OK("Write", "{'file_path': 'b', 'content': 'text'}", "wrote 4 bytes to $/b");
}

static void test_read_shows_images(void **state)
{
        (void)state;
        static const char png[] = "\x89PNG\r\n\x1a\nrest";
        struct tool_result answer;
        write_bytes("i.png", png, sizeof png - 1);
        json_t *arguments = json_pack("{s:s}", "file_path", "i.png");
        assert_null(tool_call(&box, &tool_read, arguments, &answer));
        assert_string_equal(answer.image_type, "image/png");
        assert_string_equal(answer.text.data, "iVBORw0KGgpyZXN0");
        tool_result_done(&answer);
        json_decref(arguments);
}

/* Runs a command until it ends, like the worker. */
static struct shell_job *run_shell(const char *command, int64_t timeout_ms)
{
        static char path[] = "PATH=/usr/local/bin:/usr/bin:/bin", *environment[] = { path, NULL };
        struct error e = { 0 };
        const struct shell_job_request request = { .command = command, .directory = root, .environment = environment,
                                               .timeout_ms = timeout_ms };
        struct shell_job *s = shell_job_start(&request, &e);
        if (!s)
                fail_msg("%s", e.text);
        run_job(&s->job);
        return s;
}

static void check_shell(const char *command, int64_t timeout_ms, const char *expected, int status)
{
        struct shell_job *s = run_shell(command, timeout_ms);
        CLEANUP_TEXT struct text out = { 0 };
        (void)output_capture_print(&s->streams[0], 0, UINT64_MAX, &out);
        assert_string_equal(out.data ? out.data : "", expected);
        assert_int_equal(shell_job_exit_status(s), status);
        shell_job_free(s);
}

static void test_command_returns_its_output_and_exit_status(void **state)
{
        (void)state;
        check_shell("echo one; echo two >&2; exit 3", 10000, "one\ntwo\n", 3);
        check_shell("kill -9 $$", 10000, "", 137);
        check_shell("read x; echo \"<$x>\"", 10000, "<>\n", 0); /* standard input is empty */
        check_shell("no-such-command-anywhere 2>/dev/null", 10000, "", 127);
        CLEANUP_TEXT struct text expected = { 0 };
        text_format(&expected, "%s\n", root);
        check_shell("pwd", 10000, expected.data, 0);
        check_shell("env | grep -v '^PATH=\\|^PWD=\\|^SHLVL=\\|^_='", 10000, "", 1);
        check_shell("sleep 1 & echo left", 10000, "left\n", 0); /* a background process does not delay the result */
}

/* A killed process is a zombie until its new parent has reaped it. */
static void wait_until_gone(const char *pid)
{
        for (int i = 0; i < 2000 && kill((pid_t)strtol(pid, NULL, 10), 0) == 0; i++)
                (void)usleep(5000);
        assert_int_equal(kill((pid_t)strtol(pid, NULL, 10), 0), -1);
}

/* A function of bash: starts a daemon, waits until it is `sleep`, and prints its pid. */
#define START \
        "start() { setsid -f sh -c 'echo $$ >pid; exec sleep 1000'; " \
        "until grep -qs sleep /proc/$(cat pid 2>/dev/null)/comm; do sleep 0.01; done; cat pid; rm pid; }; "

/* Runs a command and checks the names of what it left running. The command prints the pids of that. */
static void check_left(const char *command, const char *expected)
{
        struct shell_job *s = run_shell(command, 10000);
        CLEANUP_TEXT struct text out = { 0 };
        (void)output_capture_print(&s->streams[0], 0, UINT64_MAX, &out);
        assert_string_equal(s->left.data ? s->left.data : "", expected);
        assert_int_equal(shell_job_exit_status(s), 0);
        shell_job_free(s);
        for (char *pid = out.data; pid && *pid; pid += strcspn(pid, "\n") + 1)
                wait_until_gone(pid);
}

static void test_what_a_command_leaves_running_ends_with_it(void **state)
{
        (void)state;
        check_left("sleep 1000 & until grep -qs sleep /proc/$!/comm; do sleep 0.01; done; echo $!", "sleep");
        check_left(START "start", "sleep");
        check_left(START "start; start", "sleep, sleep");
        check_left("true & wait", "");
        check_left(START "for i in 1 2 3 4 5 6 7 8 9 10; do start; done",
                   "sleep, sleep, sleep, sleep, sleep, sleep, sleep, sleep, …");
}

static void test_daemon_is_killed_at_the_timeout(void **state)
{
        (void)state;
        struct shell_job *s = run_shell(START "start; sleep 1000", 3000);
        CLEANUP_TEXT struct text out = { 0 };
        (void)output_capture_print(&s->streams[0], 0, UINT64_MAX, &out);
        assert_int_equal(shell_job_exit_status(s), 124);
        assert_true(out.length > 1);
        wait_until_gone(out.data);
        shell_job_free(s);
}

static void test_killed_reaper_counts_as_a_killed_command(void **state)
{
        (void)state;
        check_shell("kill -9 $PPID; sleep 1000", 10000, "", 137);
}

static void test_command_is_killed_at_its_timeout(void **state)
{
        (void)state;
        check_shell("echo before; sleep 100 | sleep 100", 300, "before\n", 124);
        check_shell("trap '' TERM INT; while :; do :; done", 200, "", 124);
}

static void test_long_output_is_truncated_in_the_middle(void **state)
{
        (void)state;
        struct shell_job *s = run_shell("echo first; head -c 5000000 /dev/zero | tr '\\0' x; echo; echo last", 30000);
        CLEANUP_TEXT struct text out = { 0 };
        (void)output_capture_print(&s->streams[0], 0, UINT64_MAX, &out);
        assert_true(out.length < SHELL_OUTPUT_MAX + 100);
        assert_memory_equal(out.data, "first\nxxx", 9);
        assert_string_equal(out.data + out.length - 7, "x\nlast\n");
        assert_non_null(strstr(out.data, "\n... (output truncated, 4978012 bytes elided)\n"));
        assert_true(s->streams[0].written == 5000012);
        shell_job_free(s);
}

/* An output filter that holds back incomplete lines, and replaces lines with "yes" by "no". */
struct line_filter {
        struct text line;
};

static void *begin_line_filter(void *context)
{
        (void)context;
        return calloc(1, sizeof(struct line_filter));
}

static bool feed_line_filter(void *stream, const char *bytes, size_t length, struct text *out)
{
        struct line_filter *h = stream;
        text_add_bytes(&h->line, bytes ? bytes : "", length);
        bool complete = !bytes || (length && bytes[length - 1] == '\n');
        if (complete && h->line.length) {
                text_add(out, strstr(h->line.data, "yes") ? "no\n" : h->line.data);
                h->line.length = 0;
        }
        return !out->failed;
}

static void end_line_filter(void *stream)
{
        text_done(&((struct line_filter *)stream)->line);
        free(stream);
}

static void test_output_is_filtered_while_the_command_runs(void **state)
{
        (void)state;
        static const struct output_scrub_ops line_filter = { begin_line_filter, feed_line_filter, end_line_filter,
                                                             NULL };
        static char path[] = "PATH=/usr/bin:/bin", *environment[] = { path, NULL };
        const struct shell_job_request request = { .command =
                                                           "printf ye; sleep 0.2; printf 's\\n'; sleep 0.2; printf end",
                                                   .directory = root,
                                                   .environment = environment,
                                                   .timeout_ms = 10000,
                                                   .filter = &line_filter };
        struct error e = { 0 };
        struct shell_job *s = shell_job_start(&request, &e);
        assert_non_null(s);
        run_job(&s->job);
        CLEANUP_TEXT struct text out = { 0 };
        (void)output_capture_print(&s->streams[0], 0, UINT64_MAX, &out);
        assert_string_equal(out.data, "no\nend");
        assert_int_equal(s->streams[0].written, 7);
        assert_int_equal(s->streams[0].bytes, 6);
        shell_job_free(s);
}

static void test_background_commands_are_read_killed_and_limited(void **state)
{
        (void)state;
        static char path[] = "PATH=/usr/bin:/bin", *environment[] = { path, NULL };
        box.environment = environment;
        bool error = false;
        char id[64], arguments[200];
        assert_int_equal(mkfifo("fifo", 0600), 0);
        const char *text =
                call("Bash", "{'command': 'echo one; read x < fifo; echo two', 'run_in_background': true}", &error);
        assert_false(error);
        assert_int_equal(sscanf(text, "shell_id: %32s", id), 1);
        (void)snprintf(arguments, sizeof arguments, "{'shell_id': '%s'}", id);
        for (int i = 0; i < 200 && !strstr(text, "one"); i++) {
                (void)usleep(10000);
                text = call("BashOutput", arguments, &error);
        }
        assert_non_null(strstr(text, "command: echo one; read x < fifo; echo two\nstatus: running\nstarted: 20"));
        assert_non_null(strstr(text, "stdout (4 bytes, new output only):\none\nstderr (0 bytes):\n"));
        text = call("BashOutput", arguments, &error);
        assert_non_null(strstr(text, "stdout (4 bytes):\nstderr (0 bytes):\n"));
        EXPECT_OK("KillShell", arguments, box.background[0]->ended ? "the command had already exited" : "killed");
        EXPECT_ERROR("BashOutput", "{'shell_id': 'x'}", "unknown shell_id: x");
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
        for (int i = 0; i < BACKGROUND_MAX - 1; i++)
                (void)call("Bash", "{'command': 'sleep 100', 'run_in_background': true}", &error);
        assert_false(error);
        /* the command that exited frees its slot */
        (void)call("Bash", "{'command': 'sleep 100', 'run_in_background': true}", &error);
        assert_false(error);
        EXPECT_ERROR("Bash", "{'command': 'sleep 100', 'run_in_background': true}",
                     "too many background commands are running; end one with KillShell");
        background_shells_free(&box);
}

static void test_command_starts_where_the_last_one_ended(void **state)
{
        (void)state;
        static char path[] = "PATH=/usr/bin:/bin", *environment[] = { path, NULL };
        box.environment = environment;
        assert_int_equal(mkdir("a", 0755), 0);
        assert_int_equal(mkdir("a/b", 0755), 0);
        static const char in_a[] = "directory: $/a (the next command starts there)\nexit: ";
        CLEANUP_TEXT struct text zero = { 0 }, three = { 0 }, pwd = { 0 };
        text_format(&zero, "%s0", in_a);
        text_format(&three, "%s3", in_a);
        text_format(&pwd, "$/a\n%s0", in_a);
        EXPECT_OK("Bash", "{'command': 'cd a'}", zero.data);
        EXPECT_OK("Bash", "{'command': 'pwd'}", pwd.data);
        EXPECT_OK("Bash", "{'command': 'exit 3'}", three.data);
        EXPECT_OK("Bash", "{'command': '(cd b); exec true'}", zero.data);
        EXPECT_OK("Bash", "{'command': 'trap - EXIT; cd b'}", zero.data); /* not known where it ended */
        EXPECT_OK("Bash", "{'command': '# a comment\\nfalse; x='}", zero.data);
        EXPECT_OK("Bash", "{'command': 'echo /etc >&200; cd b'}",
                  "directory: /etc (the next command starts there)\nexit: 0");
        /* what is no directory is not used */
        EXPECT_OK("Bash", "{'command': 'cd /; echo /none >&200'}",
                  "directory: /none (the next command starts there)\nexit: 0");
        CLEANUP_TEXT struct text lost = { 0 };
        text_format(&lost, "%s\nbash: the last command's directory is gone; this one started in %s\nexit: 0", root,
                    root);
        EXPECT_OK("Bash", "{'command': 'pwd'}", lost.data);
        EXPECT_OK("Bash", "{'command': 'cd a; rmdir b; echo x/y >&200; exit 3'}", "exit: 3");
        EXPECT_OK("Bash", "{'command': 'cd a; sleep 100', 'timeout': 1}", "bash: timed out after 1s\nexit: 124");
        EXPECT_OK("Bash", "{'command': 'cd a'}", zero.data);
        EXPECT_OK("Bash", "{'command': 'cd ..'}", "exit: 0");
        bool error = false;
        assert_non_null(strstr(call("Bash", "{'command': 'true\\nfi'}", &error), "bash: -c: line 2: syntax error"));
        assert_non_null(strstr(call("Bash", "{'command': 'none'}", &error), "bash: line 1: none: command not found"));
}

static void test_long_output_in_the_background_is_shown_in_pieces(void **state)
{
        (void)state;
        static char path[] = "PATH=/usr/bin:/bin", *environment[] = { path, NULL };
        box.environment = environment;
        bool error = false;
        char id[64], arguments[200];
        CLEANUP_TEXT struct text all = { 0 }, expected = { 0 };
        const char *text = call("Bash", "{'command': 'for i in {1..3000}; do echo $i Ã©Ã©; done', "
                                        "'run_in_background': true}", &error);
        assert_int_equal(sscanf(text, "shell_id: %32s", id), 1);
        (void)snprintf(arguments, sizeof arguments, "{'shell_id': '%s'}", id);
        while (!box.background[0]->ended) {
                (void)usleep(10000);
                (void)shell_job_advance(box.background[0]);
        }
        for (bool more = true; more;) {
                text = call("BashOutput", arguments, &error);
                assert_in_range(strlen(text), 100, TOOL_TEXT_MAX);
                const char *start = strstr(text, "new output only):\n") + strlen("new output only):\n"),
                           *end = strstr(start, "(there is more: call BashOutput again; ");
                more = end;
                text_add_bytes(&all, start, (size_t)((end ? end : strstr(start, "stderr (")) - start));
        }
        for (int i = 1; i <= 3000; i++)
                text_format(&expected, "%d Ã©Ã©\n", i);
        /* where a piece ended inside a line, a newline was added */
        size_t at = 0;
        for (size_t i = 0; i < all.length && at < expected.length; i++)
                if (all.data[i] == expected.data[at])
                        at++;
                else
                        assert_int_equal(all.data[i], '\n');
        assert_int_equal(at, expected.length);
        background_shells_free(&box);
}

static void test_arguments_are_checked_against_the_table(void **state)
{
        (void)state;
        EXPECT_ERROR("Read", "{}", "Read needs the parameter file_path");
        EXPECT_ERROR("Read", "{'file_path': 1}", "the parameter file_path of Read must be a string");
        EXPECT_ERROR("Read", "{'file_path': 'f', 'offset': 'x'}", "the parameter offset of Read must be an integer");
        EXPECT_ERROR("Read", "{'file_path': 'f', 'offset': 0}",
                     "the parameter offset of Read must be from 1 to 9007199254740992");
        EXPECT_ERROR("Read", "{'file_path': 'f', 'path': 'x'}", "Read has no parameter 'path'");
        EXPECT_ERROR("Read", "{'file_path': 'f', 'offset': 1.5}", "the parameter offset of Read must be an integer");
        EXPECT_ERROR("Read", "{'file_path': 'f', 'offset': 1e300}", "the parameter offset of Read must be an integer");
        EXPECT_ERROR("Read", "{'file_path': null}", "the parameter file_path of Read must be a string");
        EXPECT_ERROR("Bash", "{'command': 'true', 'timeout': 601}",
                     "the parameter timeout of Bash is from 1 to 600 in seconds, or from 1000 to 600000 in "
                     "milliseconds; 601 is neither");
        EXPECT_ERROR("Bash", "{'command': 'true', 'timeout': 600001}",
                     "the parameter timeout of Bash must be from 1 to 600000");
        EXPECT_ERROR("Read", "[]", "the arguments of Read must be an object");
        assert_null(tool_find("read"));
}

static void test_integers_may_be_written_with_a_fraction_of_zero_and_null_is_the_default(void **state)
{
        (void)state;
        write_file("f", "1\n2\n");
        EXPECT_OK("Read", "{'file_path': 'f', 'offset': 2.0, 'limit': null}", "2\t2\n");
}

static void test_a_parameter_has_a_second_name(void **state)
{
        (void)state;
        EXPECT_ERROR("BashOutput", "{'bash_id': 'none'}", "unknown shell_id: none");
        EXPECT_ERROR("BashOutput", "{'bash_id': 'a', 'shell_id': 'a'}",
                     "BashOutput was given shell_id and bash_id, which are the same parameter");
}

static void test_every_tool_has_annotations_and_schemas(void **state)
{
        (void)state;
        for (size_t i = 0; i < tool_count; i++) {
                json_t *o = tool_describe(tool_table[i], NULL, 0);
                assert_non_null(o);
                static const char *const hints[] = { "readOnlyHint", "destructiveHint", "idempotentHint",
                                                     "openWorldHint" };
                for (size_t j = 0; j < ARRAY_SIZE(hints); j++)
                        assert_true(json_is_boolean(json_object_get(json_object_get(o, "annotations"), hints[j])));
                const json_t *schema = json_object_get(o, "inputSchema");
                assert_string_equal(json_string_value(json_object_get(schema, "type")), "object");
                assert_null(json_object_get(o, "outputSchema")); /* with it, clients hide the text from the model */
                json_decref(o);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IN_BOX(test_read_shows_lines_with_numbers),
                IN_BOX(test_read_reports_files_that_it_cannot_show),
                IN_BOX(test_answer_of_read_is_bounded_for_large_files),
                IN_BOX(test_answer_of_read_fits_a_models_context),
                IN_BOX(test_read_shows_the_bytes_of_a_binary_file),
                IN_BOX(test_read_shows_images),
                IN_BOX(test_command_returns_its_output_and_exit_status),
                IN_BOX(test_command_is_killed_at_its_timeout),
                IN_BOX(test_what_a_command_leaves_running_ends_with_it),
                IN_BOX(test_daemon_is_killed_at_the_timeout),
                IN_BOX(test_killed_reaper_counts_as_a_killed_command),
                IN_BOX(test_long_output_is_truncated_in_the_middle),
                IN_BOX(test_output_is_filtered_while_the_command_runs),
                IN_BOX(test_background_commands_are_read_killed_and_limited),
                IN_BOX(test_command_starts_where_the_last_one_ended),
                IN_BOX(test_long_output_in_the_background_is_shown_in_pieces),
                IN_BOX(test_arguments_are_checked_against_the_table),
                IN_BOX(test_integers_may_be_written_with_a_fraction_of_zero_and_null_is_the_default),
                IN_BOX(test_a_parameter_has_a_second_name),
                IN_BOX(test_every_tool_has_annotations_and_schemas),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
