/*
 * Commands in the background: Bash starts them, BashOutput shows what they wrote since the last time, KillShell ends them.
 * Their handles cannot be guessed. They last as long as the session; when there are too many, the one that ended first
 * makes room.
 */
#include <string.h>

#include "audit/record.h"
#include "base/memory.h"
#include "base/random.h"
#include "tools/shell.h"
#include "tools/tool.h"

static struct shell **find_room(struct toolbox *box)
{
        struct shell **room = NULL;
        for (size_t i = 0; i < BACKGROUND_MOST; i++) {
                struct shell **s = &box->background[i];
                if (!*s)
                        return s;
                if ((*s)->ended && (!room || (*s)->began < (*room)->began))
                        room = s;
        }
        return room;
}

void background_add(struct toolbox *box, struct shell *s, const char *command, struct tool_answer *answer)
{
        struct shell **room = find_room(box);
        s->command = strdup(command);
        if (!room || !s->command || random_name(s->id, sizeof s->id) < 0) {
                tool_fail(answer, !room ? "too many commands run in the background"
                                        : s->command ? "there are no random numbers" : "no memory");
                shell_free(s);
                return;
        }
        record_time(s->started);
        shell_free(*room);
        *room = s;
        text_format(&answer->text, "shell_id: %s", s->id);
        answer->structured = json_pack("{s:s}", "shell_id", s->id);
}

void background_free(struct toolbox *box)
{
        for (size_t i = 0; i < BACKGROUND_MOST; i++) {
                shell_free(box->background[i]);
                box->background[i] = NULL;
        }
}

static struct shell *find(struct toolbox *box, const json_t *arguments, struct tool_answer *answer)
{
        const char *id = tool_string(arguments, "shell_id");
        for (size_t i = 0; i < BACKGROUND_MOST; i++)
                if (box->background[i] && strcmp(box->background[i]->id, id) == 0)
                        return box->background[i];
        tool_fail(answer, "unknown shell_id: %.60s", id);
        return NULL;
}

/* What is new of a stream, or all of it. */
static void show_stream(struct capture *c, const char *name, bool all, struct text *out)
{
        CLEANUP_TEXT struct text output = { 0 };
        capture_print(c, all ? 0 : c->told, &output);
        c->told = c->bytes;
        text_format(out, "%s (%llu bytes%s):\n", name, (unsigned long long)c->written, all || !output.length ? "" : ", what is new");
        (void)tool_add_utf8(out, output.data ? output.data : "", output.length);
        if (output.data && output.length && output.data[output.length - 1] != '\n')
                text_add(out, "\n");
}

static void show(struct toolbox *box, const json_t *arguments, struct tool_answer *answer)
{
        struct shell *s = find(box, arguments, answer);
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
        answer->structured = json_pack("{s:b, s:I, s:I}", "running", !s->ended, "stdout_bytes", (json_int_t)s->streams[0].written,
                                       "stderr_bytes", (json_int_t)s->streams[1].written);
        if (answer->structured && s->ended)
                json_object_set_new(answer->structured, "exit_code", json_integer(shell_exit_status(s)));
}

static void end(struct toolbox *box, const json_t *arguments, struct tool_answer *answer)
{
        struct shell *s = find(box, arguments, answer);
        if (!s)
                return;
        bool ran = !shell_step(s);
        text_add(&answer->text, ran ? "killed" : "it had ended already");
        answer->structured = json_pack("{s:b}", "killed", ran);
        for (size_t i = 0; i < BACKGROUND_MOST; i++)
                if (box->background[i] == s)
                        box->background[i] = NULL;
        shell_free(s);
}

static const struct tool_field show_parameters[] = {
        { "shell_id", TOOL_STRING, true, "As Bash gave it.", 0, 0 },
        { "all", TOOL_BOOLEAN, false, "All output, not only what is new.", 0, 0 },
};

static const struct tool_field show_results[] = {
        { "running", TOOL_BOOLEAN, true, "Whether it still runs.", 0, 0 },
        { "stdout_bytes", TOOL_INTEGER, true, "How much it wrote to its standard output so far.", 0, 0 },
        { "stderr_bytes", TOOL_INTEGER, true, "The same of its standard error.", 0, 0 },
        { "exit_code", TOOL_INTEGER, false, "Its exit status, once it has ended.", 0, 0 },
};

const struct tool tool_bash_output = {
        .name = "BashOutput",
        .title = "See what a background command wrote",
        .help = "Shows what a command in the background wrote since the last time, and whether it still runs.",
        .parameters = show_parameters,
        .parameter_count = ARRAY_SIZE(show_parameters),
        .results = show_results,
        .result_count = ARRAY_SIZE(show_results),
        .run = show,
};

static const struct tool_field end_results[] = {
        { "killed", TOOL_BOOLEAN, true, "Whether it was still running.", 0, 0 },
};

const struct tool tool_kill_shell = {
        .name = "KillShell",
        .title = "End a background command",
        .help = "Ends a command in the background, with all that it started.",
        .destructive = true,
        .parameters = show_parameters,
        .parameter_count = 1,
        .results = end_results,
        .result_count = ARRAY_SIZE(end_results),
        .run = end,
};
