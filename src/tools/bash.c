/* Bash: a command line, run to its end or to its time's. */
#include "base/memory.h"
#include "tools/shell.h"
#include "tools/tool.h"

enum { DEFAULT_SECONDS = 120, MOST_SECONDS = 600, WHOLE_SESSION = 1 << 30 };

static struct job *start(struct toolbox *box, const json_t *arguments, struct tool_answer *answer)
{
        struct error e = { 0 };
        bool background = tool_flag(arguments, "run_in_background");
        int64_t seconds = tool_integer(arguments, "timeout", background ? WHOLE_SESSION : DEFAULT_SECONDS);
        if (box->most_seconds && box->most_seconds < seconds)
                seconds = box->most_seconds;
        const struct shell_request request = { .command = tool_string(arguments, "command"),
                                               .directory = workspace_root(box->workspaces[box->current]),
                                               .environment = box->environment, .timeout_ms = seconds * 1000,
                                               .background = background, .filter = box->filter };
        struct shell *s = shell_start(&request, &e);
        if (!s)
                tool_fail(answer, "%s", e.text);
        if (!s || !background)
                return s ? &s->job : NULL;
        background_add(box, s, request.command, answer);
        return NULL;
}

static void finish(struct job *j, struct tool_answer *answer)
{
        const struct shell *s = shell_of(j);
        CLEANUP_TEXT struct text output = { 0 };
        int status = shell_exit_status(s);
        capture_print(&s->streams[0], 0, &output);
        tool_add_utf8(&answer->text, output.data ? output.data : "", output.length);
        if (answer->text.length && answer->text.data[answer->text.length - 1] != '\n')
                text_add(&answer->text, "\n");
        if (s->timed_out)
                text_format(&answer->text, "bash: timed out after %llds\n", (long long)((s->deadline - s->began) / 1000));
        text_format(&answer->text, "exit: %d", status);
        answer->structured = json_pack("{s:i, s:b, s:I}", "exit_code", status, "timed_out", s->timed_out, "bytes",
                                       (json_int_t)s->streams[0].written);
}

static const struct tool_field parameters[] = {
        { "command", TOOL_STRING, true, "What to run, as bash understands it.", 0, 0 },
        { "description", TOOL_STRING, false, "What it is for, in a few words.", 0, 0 },
        { "timeout", TOOL_INTEGER, false, "Seconds that it may take; 120 if it is left out.", 1, MOST_SECONDS },
        { "run_in_background", TOOL_BOOLEAN, false, "Do not wait: BashOutput shows what it writes, KillShell ends it.", 0, 0 },
};

static const struct tool_field results[] = {
        { "exit_code", TOOL_INTEGER, false, "Its exit status: 128 and the signal that ended it, 124 when its time was up.", 0, 0 },
        { "timed_out", TOOL_BOOLEAN, false, "Whether its time was up.", 0, 0 },
        { "bytes", TOOL_INTEGER, false, "How much it wrote, shown or not.", 0, 0 },
        { "shell_id", TOOL_STRING, false, "In the background: its handle.", 0, 0 },
};

const struct tool tool_bash = {
        .name = "Bash",
        .title = "Run a command",
        .help = "Runs a command line in the workspace, inside the box. It has nothing to read; its output is shown, in its head and "
                "its tail if it is long. When its time is up, all that it started is killed.",
        .destructive = true,
        .in_workspace = true,
        .open_world = true,
        .parameters = parameters,
        .parameter_count = ARRAY_SIZE(parameters),
        .results = results,
        .result_count = ARRAY_SIZE(results),
        .start = start,
        .finish = finish,
};
