/*
 * Background commands: Bash starts them, BashOutput shows their new output, KillShell ends them. Their ids cannot be
 * guessed. They last as long as the session; when all slots are taken, a new command replaces the oldest one that has
 * exited.
 */
#include <string.h>

#include "audit/audit_log.h"
#include "base/memory.h"
#include "base/random.h"
#include "tools/shell_job.h"
#include "tools/tool.h"

enum { STREAM_SHOWN_MAX = 11000 }; /* of each stream in one answer */

static struct shell_job **find_slot(struct tool_context *tools)
{
        struct shell_job **slot = NULL;
        for (size_t i = 0; i < BACKGROUND_MAX; i++) {
                struct shell_job **s = &tools->background[i];
                if (!*s)
                        return s;
                if ((*s)->ended && (!slot || (*s)->began < (*slot)->began))
                        slot = s;
        }
        return slot;
}

void background_shell_add(struct tool_context *tools, struct shell_job *s, const char *command,
                          struct tool_result *answer)
{
        struct shell_job **slot = find_slot(tools);
        s->command = strdup(command);
        if (!slot || !s->command || random_hex(s->id, sizeof s->id) < 0) {
                tool_fail(answer, !slot ? "too many background commands are running; end one with KillShell"
                                        : s->command ? "cannot get random bytes for a shell_id" : "no memory");
                shell_job_free(s);
                return;
        }
        audit_log_timestamp(s->started);
        shell_job_free(*slot);
        *slot = s;
        text_format(&answer->text, "shell_id: %s", s->id);
        answer->details = json_pack("{s:s}", "shell_id", s->id);
}

void background_shells_free(struct tool_context *tools)
{
        for (size_t i = 0; i < BACKGROUND_MAX; i++) {
                shell_job_free(tools->background[i]);
                tools->background[i] = NULL;
        }
}

static struct shell_job *find_shell(struct tool_context *tools, const json_t *arguments, struct tool_result *answer)
{
        const char *id = tool_arg_string(arguments, "shell_id");
        for (size_t i = 0; i < BACKGROUND_MAX; i++)
                if (tools->background[i] && strcmp(tools->background[i]->id, id) == 0)
                        return tools->background[i];
        tool_fail(answer, "unknown shell_id: %.60s", id);
        return NULL;
}

/* How many bytes at the end are the beginning of a character in UTF-8. */
static size_t unfinished_character(const struct text *t)
{
        for (size_t n = 1; n <= 3 && n <= t->length; n++) {
                unsigned char c = (unsigned char)t->data[t->length - n];
                size_t whole = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
                if (c < 0x80 || c >= 0xc0)
                        return whole > n ? n : 0;
        }
        return 0;
}

/* Shows the output of a stream that was not shown yet, but not more than an answer has room for. */
static void show_stream(struct output_capture *c, const char *name, bool all, struct text *out)
{
        CLEANUP_TEXT struct text output = { 0 };
        uint64_t next = output_capture_print(c, all ? 0 : c->shown, STREAM_SHOWN_MAX, &output);
        if (next < c->bytes) {
                size_t rest = unfinished_character(&output);
                output.length -= rest;
                next -= rest;
        }
        c->shown = next;
        text_format(out, "%s (%llu bytes%s):\n", name, (unsigned long long)c->written,
                    all || !output.length ? "" : ", new output only");
        (void)tool_add_utf8(out, output.data ? output.data : "", output.length);
        if (output.data && output.length && output.data[output.length - 1] != '\n')
                text_add(out, "\n");
        if (next < c->bytes)
                text_format(out, "(there is more: call BashOutput again; %llu bytes are left)\n",
                            (unsigned long long)(c->bytes - next));
}

static void show_output(struct tool_context *tools, const json_t *arguments, struct tool_result *answer)
{
        struct shell_job *s = find_shell(tools, arguments, answer);
        if (!s)
                return;
        (void)shell_job_advance(s);
        text_add(&answer->text, "command: ");
        (void)tool_add_utf8(&answer->text, s->command, strlen(s->command));
        if (s->ended)
                text_format(&answer->text, "\nstatus: exited with %d\n", shell_job_exit_status(s));
        else
                text_add(&answer->text, "\nstatus: running\n");
        shell_job_print_left(s, &answer->text);
        text_format(&answer->text, "started: %s\n", s->started);
        show_stream(&s->streams[0], "stdout", tool_arg_bool(arguments, "all"), &answer->text);
        show_stream(&s->streams[1], "stderr", tool_arg_bool(arguments, "all"), &answer->text);
        answer->details = json_pack("{s:b, s:I, s:I}", "running", !s->ended, "stdout_bytes",
                                       (json_int_t)s->streams[0].written, "stderr_bytes",
                                       (json_int_t)s->streams[1].written);
        if (answer->details && s->ended)
                json_object_set_new(answer->details, "exit_code", json_integer(shell_job_exit_status(s)));
}

static void kill_shell(struct tool_context *tools, const json_t *arguments, struct tool_result *answer)
{
        struct shell_job *s = find_shell(tools, arguments, answer);
        if (!s)
                return;
        bool was_running = !shell_job_advance(s);
        text_add(&answer->text, was_running ? "killed" : "the command had already exited");
        answer->details = json_pack("{s:b}", "killed", was_running);
        for (size_t i = 0; i < BACKGROUND_MAX; i++)
                if (tools->background[i] == s)
                        tools->background[i] = NULL;
        shell_job_free(s);
}

static const struct tool_param output_parameters[] = {
        { .name = "shell_id", .type = TOOL_STRING, .required = true, .help = "The id that Bash returned.",
          .also = "bash_id" },
        { .name = "all", .type = TOOL_BOOLEAN, .help = "Start again with the first output." },
};

const struct tool tool_bash_output = {
        .name = "BashOutput",
        .title = "Show the output of a background command",
        .help = "Shows what a background command has written since the last call, and whether it is still running. A "
                "long "
                "output is shown in pieces, one for each call.",
        .parameters = output_parameters,
        .parameter_count = ARRAY_SIZE(output_parameters),
        .run = show_output,
};

const struct tool tool_kill_shell = {
        .name = "KillShell",
        .title = "End a background command",
        .help = "Ends a background command and all processes that it started.",
        .destructive = true,
        .parameters = output_parameters,
        .parameter_count = 1,
        .run = kill_shell,
};
