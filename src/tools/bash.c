/*
 * Bash: runs a command line until it exits or times out, or in the background. A command starts in the directory in
 * which the one before it ended.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "tools/shell_job.h"
#include "tools/tool.h"

enum { DEFAULT_SECONDS = 120, SECONDS_MAX = 600, UNLIMITED_SECONDS = 1 << 30 };

/*
 * The timeout in milliseconds. Other clients' tools take milliseconds and models write those here too; as no timeout is
 * longer than 600 seconds, a number from 1000 on can mean nothing else. Returns -1 with an error in the answer.
 */
static int64_t find_timeout(const struct tool_context *tools, const json_t *arguments, bool background,
                            struct tool_result *answer)
{
        int64_t given = tool_arg_integer(arguments, "timeout", background ? UNLIMITED_SECONDS : DEFAULT_SECONDS);
        bool in_seconds = given <= SECONDS_MAX || !json_object_get(arguments, "timeout");
        if (!in_seconds && given < 1000) {
                tool_fail(answer, "the parameter timeout of Bash is from 1 to %d in seconds, or from 1000 to %d in "
                                  "milliseconds; %lld is neither", SECONDS_MAX, SECONDS_MAX * 1000, (long long)given);
                return -1;
        }
        int64_t timeout_ms = in_seconds ? given * 1000 : given;
        return tools->max_seconds && tools->max_seconds * 1000 < timeout_ms ? tools->max_seconds * 1000 : timeout_ms;
}

static bool can_enter(const char *directory)
{
        struct stat st;
        return stat(directory, &st) == 0 && S_ISDIR(st.st_mode) && access(directory, X_OK) == 0;
}

static struct job *start(struct tool_context *tools, const json_t *arguments, struct tool_result *answer)
{
        struct error e = { 0 };
        bool background = tool_arg_bool(arguments, "run_in_background");
        int64_t timeout_ms = find_timeout(tools, arguments, background, answer);
        if (timeout_ms < 0)
                return NULL;
        const char *root = workspace_root(tools->workspaces[tools->current]);
        char **last = &tools->directories[tools->current];
        bool is_lost = *last && !can_enter(*last);
        const struct shell_job_request request = { .command = tool_arg_string(arguments, "command"),
                                                   .directory = *last && !is_lost ? *last : root,
                                                   .environment = tools->environment, .timeout_ms = timeout_ms,
                                                   .background = background, .filter = tools->filter };
        struct shell_job *s = shell_job_start(&request, &e);
        if (!s) {
                tool_fail(answer, "%s", e.text);
                return NULL;
        }
        s->root = root;
        s->last_directory = last;
        s->lost_directory = is_lost;
        if (!background)
                return &s->job;
        background_shell_add(tools, s, request.command, answer);
        return NULL;
}

/* Keeps the directory in which the command ended for the next one, and says where that is unless it is the root. */
static void keep_directory(const struct shell_job *s, struct tool_result *answer)
{
        char **last = s->last_directory;
        bool is_known = *s->directory, is_root = strcmp(s->directory, s->root) == 0;
        if (s->lost_directory)
                text_format(&answer->text, "bash: the last command's directory is gone; this one started in %s\n",
                            s->root);
        if (is_known || s->lost_directory) {
                free(*last);
                *last = is_known && !is_root ? strdup(s->directory) : NULL;
        }
        if (*last) {
                text_add(&answer->text, "directory: ");
                text_add_escaped(&answer->text, *last, strlen(*last));
                text_add(&answer->text, " (the next command starts there)\n");
        }
}

static size_t character_start(const struct text *t, size_t offset)
{
        while (offset && ((unsigned char)t->data[offset] & 0xc0) == 0x80)
                offset--;
        return offset;
}

/* Adds the output as UTF-8. Bytes that are not valid become three; where that makes it too long, the middle is left
 * out. */
static void add_output(const struct shell_job *s, struct text *out)
{
        CLEANUP_TEXT struct text bytes = { 0 }, valid = { 0 };
        (void)output_capture_print(&s->streams[0], 0, UINT64_MAX, &bytes);
        (void)tool_add_utf8(&valid, bytes.data ? bytes.data : "", bytes.length);
        out->failed |= bytes.failed || valid.failed;
        if (out->failed || valid.length <= bytes.length) {
                text_add_bytes(out, valid.data ? valid.data : "", out->failed ? 0 : valid.length);
                return;
        }
        size_t half = SHELL_OUTPUT_MAX / 2,
               head = character_start(&valid, half < valid.length ? half : valid.length - 1),
               tail = valid.length > half ? character_start(&valid, valid.length - half) : 0;
        tail = tail < head ? head : tail;
        text_add_bytes(out, valid.data, head);
        if (tail > head)
                text_format(out, "\n... (output truncated, %zu bytes elided)\n", tail - head);
        text_add_bytes(out, valid.data + tail, valid.length - tail);
}

static void finish(struct job *j, struct tool_result *answer)
{
        const struct shell_job *s = shell_job_from(j);
        int status = shell_job_exit_status(s);
        add_output(s, &answer->text);
        if (answer->text.length && answer->text.data[answer->text.length - 1] != '\n')
                text_add(&answer->text, "\n");
        if (s->timed_out)
                text_format(&answer->text, "bash: timed out after %gs\n", (double)(s->deadline - s->began) / 1000);
        shell_job_print_left(s, &answer->text);
        if (s->streams[0].bytes > SHELL_OUTPUT_MAX)
                text_add(&answer->text, "(to see all of it: write it to a file, and Read that)\n");
        keep_directory(s, answer);
        text_format(&answer->text, "exit: %d", status);
        answer->details = json_pack("{s:i, s:b, s:I}", "exit_code", status, "timed_out", s->timed_out, "bytes",
                                       (json_int_t)s->streams[0].written);
}

static const struct tool_param parameters[] = {
        { .name = "command", .type = TOOL_STRING, .required = true, .help = "The command line, in bash syntax." },
        { .name = "description", .type = TOOL_STRING, .help = "What the command is for, in a few words." },
        { .name = "timeout", .type = TOOL_INTEGER,
          .help = "Timeout: 1 to 600 in seconds, or 1000 to 600000 in milliseconds. Default 120 seconds, none in the "
                  "background.",
          .min = 1, .max = SECONDS_MAX * 1000 },
        { .name = "run_in_background", .type = TOOL_BOOLEAN,
          .help = "Do not wait: BashOutput shows the output, KillShell ends the command and what it started." },
};

const struct tool tool_bash = {
        .name = "Bash",
        .title = "Run a command",
        .help = "Runs a command line inside the box: the first in the workspace, and each other in the directory in "
                "which the last one ended. Its standard input is empty. Of a long output the head and the tail are "
                "shown. All processes that it started end with it or after the timeout, "
                "daemons too; run_in_background keeps a command running.",
        .destructive = true,
        .in_workspace = true,
        .open_world = true,
        .parameters = parameters,
        .parameter_count = ARRAY_SIZE(parameters),
        .start = start,
        .finish = finish,
};
