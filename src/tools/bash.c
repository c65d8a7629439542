/* Bash: runs a command line until it exits or times out, or in the background. */
#include "base/memory.h"
#include "tools/shell_job.h"
#include "tools/tool.h"

enum { DEFAULT_SECONDS = 120, SECONDS_MAX = 600, UNLIMITED_SECONDS = 1 << 30 };

static struct job *start(struct tool_context *tools, const json_t *arguments, struct tool_result *answer)
{
        struct error e = { 0 };
        bool background = tool_arg_bool(arguments, "run_in_background");
        int64_t seconds = tool_arg_integer(arguments, "timeout", background ? UNLIMITED_SECONDS : DEFAULT_SECONDS);
        if (tools->max_seconds && tools->max_seconds < seconds)
                seconds = tools->max_seconds;
        const struct shell_job_request request = { .command = tool_arg_string(arguments, "command"),
                                                   .directory = workspace_root(tools->workspaces[tools->current]),
                                                   .environment = tools->environment, .timeout_ms = seconds * 1000,
                                                   .background = background, .filter = tools->filter };
        struct shell_job *s = shell_job_start(&request, &e);
        if (!s)
                tool_fail(answer, "%s", e.text);
        if (!s || !background)
                return s ? &s->job : NULL;
        background_shell_add(tools, s, request.command, answer);
        return NULL;
}

static void finish(struct job *j, struct tool_result *answer)
{
        const struct shell_job *s = shell_job_from(j);
        CLEANUP_TEXT struct text output = { 0 };
        int status = shell_job_exit_status(s);
        output_capture_print(&s->streams[0], 0, &output);
        tool_add_utf8(&answer->text, output.data ? output.data : "", output.length);
        if (answer->text.length && answer->text.data[answer->text.length - 1] != '\n')
                text_add(&answer->text, "\n");
        if (s->timed_out)
                text_format(&answer->text, "bash: timed out after %llds\n",
                            (long long)((s->deadline - s->began) / 1000));
        shell_job_print_left(s, &answer->text);
        text_format(&answer->text, "exit: %d", status);
        answer->details = json_pack("{s:i, s:b, s:I}", "exit_code", status, "timed_out", s->timed_out, "bytes",
                                       (json_int_t)s->streams[0].written);
}

static const struct tool_param parameters[] = {
        { "command", TOOL_STRING, true, "The command line, in bash syntax.", 0, 0 },
        { "description", TOOL_STRING, false, "What the command is for, in a few words.", 0, 0 },
        { "timeout", TOOL_INTEGER, false, "Timeout in seconds; default 120, none in the background.", 1, SECONDS_MAX },
        { "run_in_background", TOOL_BOOLEAN, false,
          "Do not wait: BashOutput shows the output, KillShell ends the command and what it started.", 0, 0 },
};

const struct tool tool_bash = {
        .name = "Bash",
        .title = "Run a command",
        .help = "Runs a command line in the workspace, inside the box. Its standard input is empty. Of a long output "
                "the head and the tail are shown. All processes that it started end with it or after the timeout, "
                "daemons too; run_in_background keeps a command running.",
        .destructive = true,
        .in_workspace = true,
        .open_world = true,
        .parameters = parameters,
        .parameter_count = ARRAY_SIZE(parameters),
        .start = start,
        .finish = finish,
};
