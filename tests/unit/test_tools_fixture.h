/* A toolbox whose workspace is an empty directory, and calls of tools as a client makes them. */
#ifndef RINGWALL_TEST_TOOLS_FIXTURE_H
#define RINGWALL_TEST_TOOLS_FIXTURE_H

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
#include "tools/regex_prefilter.h"
#include "tools/gitignore.h"
#include "tools/grep_file.h"
#include "tools/shell_job.h"
#include "tools/tool.h"
#include "tools/tree_walk.h"
#include "tools/glob_pattern.h"

static struct tool_context box;
static char root[PATH_MAX];

static int make_box(void **state)
{
        (void)state;
        char name[] = "/tmp/tools-test-XXXXXX";
        assert_non_null(mkdtemp(name));
        char *real = realpath(name, NULL);
        assert_non_null(real);
        (void)snprintf(root, sizeof root, "%s", real);
        free(real);
        assert_int_equal(chdir(root), 0);
        static struct workspace *list[1];
        assert_int_equal(workspace_open(root, &list[0], NULL), 0);
        box = (struct tool_context){
                .workspaces = list, .workspace_count = 1, .tracker = read_tracker_new(), .new_mode = 0640
        };
        assert_non_null(box.tracker);
        return 0;
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *where)
{
        (void)st;
        (void)kind;
        (void)where;
        return remove(path);
}

static int remove_workspace(void **state)
{
        (void)state;
        workspace_free(box.workspaces[0]);
        read_tracker_free(box.tracker);
        assert_int_equal(chdir("/"), 0);
        return nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

__attribute__((unused)) static void write_bytes(const char *name, const char *content, size_t length)
{
        CLEANUP_FD int fd = open(name, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
        assert_int_equal(fd_write_all(fd, content, length), 0);
}

__attribute__((unused)) static void write_file(const char *name, const char *content)
{
        write_bytes(name, content, strlen(content));
}

__attribute__((unused)) static void check_content(const char *name, const char *expected)
{
        CLEANUP_FREE char *data = NULL;
        size_t length = 0;
        assert_int_equal(fd_read_file(name, 1 << 20, &data, &length, NULL), 0);
        assert_int_equal(length, strlen(expected));
        assert_memory_equal(data, expected, length);
}

/* Runs a job until it ends, like the worker. */
__attribute__((unused)) static void run_job(struct job *j)
{
        while (!j->kind->step(j)) {
                struct pollfd events[JOB_POLL_FDS_MAX];
                nfds_t count = j->kind->poll(j, events);
                assert_in_range(count, 1, JOB_POLL_FDS_MAX);
                assert_true(poll(events, count, j->kind->deadline(j) == 0 ? 0 : 50) >= 0);
        }
}

/* Calls a tool. In the arguments, which are JSON, ' stands for ". The answer is valid until the next call. */
__attribute__((unused)) static const char *call(const char *tool, const char *arguments, bool *ret_error)
{
        static struct tool_result answer;
        static char *text;
        tool_result_done(&answer);
        free(text);
        char *copy = strdup(arguments);
        for (char *p = copy; (p = strchr(p, '\''));)
                *p = '"';
        json_t *parsed = json_loads(copy, 0, NULL);
        assert_non_null(parsed);
        struct job *job = tool_call(&box, tool_find(tool), parsed, &answer);
        if (job) {
                run_job(job);
                tool_finish(tool_find(tool), job, &answer);
                job_free(job);
        }
        json_decref(parsed);
        free(copy);
        *ret_error = answer.is_error;
        assert_int_equal(answer.is_error, answer.details == NULL);
        text = text_take(&answer.text);
        return text;
}

#define EXPECT_OK(tool, arguments, expected) check(tool, arguments, false, expected)
#define EXPECT_ERROR(tool, arguments, expected) check(tool, arguments, true, expected)

/* In the expected text $ stands for the root. */
__attribute__((unused)) static void check(const char *tool, const char *arguments, bool error, const char *expected)
{
        struct text expanded = { 0 };
        bool failed = false;
        const char *text = call(tool, arguments, &failed);
        for (const char *p = expected; *p; p++) {
                if (*p == '$')
                        text_add(&expanded, root);
                else
                        text_add_bytes(&expanded, p, 1);
        }
        if (strcmp(text, expanded.data ? expanded.data : "") != 0 || failed != error)
                fail_msg("%s %s: %s%s\ninstead of %s", tool, arguments, failed ? "error: " : "", text, expanded.data);
        text_done(&expanded);
}

#define IN_BOX(test) cmocka_unit_test_setup_teardown(test, make_box, remove_workspace)

#endif
