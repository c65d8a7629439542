/*
 * Background commands: Bash starts them, BashOutput shows their new output, KillShell ends them. Their ids cannot be
 * guessed. They last as long as the session; when all slots are taken, a new command replaces the oldest one that has
 * exited.
 */
#include <string.h>

#include "audit/record.h"
#include "base/memory.h"
#include "base/random.h"
#include "tools/shell.h"
#include "tools/tool.h"

static struct shell **find_slot(struct toolbox *tools)
{
        struct shell **slot = NULL;
        for (size_t i = 0; i < BACKGROUND_MAX; i++) {
                struct shell **s = &tools->background[i];
                if (!*s)
                        return s;
                if ((*s)->ended && (!slot || (*s)->began < (*slot)->began))
                        slot = s;
        }
        return slot;
}

void background_add(struct toolbox *tools, struct shell *s, const char *command, struct tool_answer *answer)
{
        struct shell **slot = find_slot(tools);
        s->command = strdup(command);
        if (!slot || !s->command || random_name(s->id, sizeof s->id) < 0) {
                tool_fail(answer, !slot ? "too many background commands are running; end one with KillShell"
                                        : s->command ? "cannot get random bytes for a shell_id" : "no memory");
                shell_free(s);
                return;
        }
        record_time(s->started);
        shell_free(*slot);
        *slot = s;
        text_format(&answer->text, "shell_id: %s", s->id);
        answer->structured = json_pack("{s:s}", "shell_id", s->id);
}

void background_free(struct toolbox *tools)
{
        for (size_t i = 0; i < BACKGROUND_MAX; i++) {
                shell_free(tools->background[i]);
                tools->background[i] = NULL;
        }
}

static struct shell *find_shell(struct toolbox *tools, const json_t *arguments, struct tool_answer *answer)
{
        const char *id = tool_string(arguments, "shell_id");
        for (size_t i = 0; i < BACKGROUND_MAX; i++)
                if (tools->background[i] && strcmp(tools->background[i]->id, id) == 0)
                        return tools->background[i];
        tool_fail(answer, "unknown shell_id: %.60s", id);
        return NULL;
}

/* Shows the new output of a stream, or all of it. */
static void show_stream(struct capture *c, const char *name, bool all, struct text *out)
{
        CLEANUP_TEXT struct text output = { 0 };
        capture_print(c, all ? 0 : c->shown, &output);
        c->shown = c->bytes;
        text_format(out, "%s (%llu bytes%s):\n", name, (unsigned long long)c->written,
                    all || !output.length ? "" : ", new output only");
        (void)tool_add_utf8(out, output.data ? output.data : "", output.length);
        if (output.data && output.length && output.data[output.length - 1] != '\n')
                text_add(out, "\n");
}

static void show_output(struct toolbox *tools, const json_t *arguments, struct tool_answer *answer)
{
        struct shell *s = find_shell(tools, arguments, answer);
        if (!s)
                return;
        (void)shell_step(s);
        text_add(&answer->text, "command: ");
        (void)tool_add_utf8(&answer->text, s->command, strlen(s->command));
        if (s->ended)
                text_format(&answer->text, "\nstatus: exited with %d\n", shell_exit_status(s));
        else
                text_add(&answer->text, "\nstatus: running\n");
        text_format(&answer->text, "started: %s\n", s->started);
        show_stream(&s->streams[0], "stdout", tool_flag(arguments, "all"), &answer->text);
        show_stream(&s->streams[1], "stderr", tool_flag(arguments, "all"), &answer->text);
        answer->structured = json_pack("{s:b, s:I, s:I}", "running", !s->ended, "stdout_bytes",
                                       (json_int_t)s->streams[0].written, "stderr_bytes",
                                       (json_int_t)s->streams[1].written);
        if (answer->structured && s->ended)
                json_object_set_new(answer->structured, "exit_code", json_integer(shell_exit_status(s)));
}

static void kill_shell(struct toolbox *tools, const json_t *arguments, struct tool_answer *answer)
{
        struct shell *s = find_shell(tools, arguments, answer);
        if (!s)
                return;
        bool was_running = !shell_step(s);
        text_add(&answer->text, was_running ? "killed" : "the command had already exited");
        answer->structured = json_pack("{s:b}", "killed", was_running);
        for (size_t i = 0; i < BACKGROUND_MAX; i++)
                if (tools->background[i] == s)
                        tools->background[i] = NULL;
        shell_free(s);
}

static const struct tool_field output_parameters[] = {
        { "shell_id", TOOL_STRING, true, "The id that Bash returned.", 0, 0 },
        { "all", TOOL_BOOLEAN, false, "Show all output, not only new output.", 0, 0 },
};

static const struct tool_field output_results[] = {
        { "running", TOOL_BOOLEAN, true, "Whether the command is still running.", 0, 0 },
        { "stdout_bytes", TOOL_INTEGER, true, "Bytes written to standard output so far.", 0, 0 },
        { "stderr_bytes", TOOL_INTEGER, true, "Bytes written to standard error so far.", 0, 0 },
        { "exit_code", TOOL_INTEGER, false, "The exit status, once the command has exited.", 0, 0 },
};

const struct tool tool_bash_output = {
        .name = "BashOutput",
        .title = "Show the output of a background command",
        .help = "Shows what a background command has written since the last call, and whether it is still running.",
        .parameters = output_parameters,
        .parameter_count = ARRAY_SIZE(output_parameters),
        .results = output_results,
        .result_count = ARRAY_SIZE(output_results),
        .run = show_output,
};

static const struct tool_field kill_results[] = {
        { "killed", TOOL_BOOLEAN, true, "Whether the command was still running.", 0, 0 },
};

const struct tool tool_kill_shell = {
        .name = "KillShell",
        .title = "End a background command",
        .help = "Ends a background command and all processes that it started.",
        .destructive = true,
        .parameters = output_parameters,
        .parameter_count = 1,
        .results = kill_results,
        .result_count = ARRAY_SIZE(kill_results),
        .run = kill_shell,
};
