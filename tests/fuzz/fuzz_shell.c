/*
 * Shell command lines. The walk terminates for any input; the words of a command are in the line, in its order; a
 * denied command that is found has a valid position, and is found again, further on, if a harmless line is put
 * before it.
 */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "fuzz.h"
#include "gate/shell_grammar.h"
#include "gate/denylist.h"
#include "policy/input_limits.h"

static const struct plan_denied_command rules[] = {
        { .name = "sudo" }, { .name = "su" }, { .name = "mount" }, { .name = "mkfs.*" }, { .name = "[xy]?" },
        { .name = "git push" },
};

static bool check_command(void *context, const struct shell_command *command)
{
        const size_t *length = context;
        PROMISE(command->count > 0 && command->depth >= 1 && command->depth <= COMMAND_DEPTH_MAX);
        for (size_t i = 0; i < command->count; i++) {
                const struct shell_word *w = &command->words[i];
                PROMISE(w->at < *length);
                PROMISE(i == 0 || w->at > command->words[i - 1].at);
                for (size_t j = 0; j < w->text.length; j++)
                        PROMISE(w->text.origins[j] < *length && w->text.origins[j] >= w->at);
        }
        const struct shell_text *name = &command->words[0].text;
        return name->length && name->bytes[0] == 's'; /* some commands count as shells that read their input */
}

static void check_position(const char *line, const struct denied_call *d)
{
        unsigned newlines = 0;
        size_t line_start = 0;
        PROMISE(d->offset < strlen(line));
        for (size_t i = 0; i < d->offset; i++)
                if (line[i] == '\n') {
                        newlines++;
                        line_start = i + 1;
                }
        PROMISE(d->line == newlines + 1);
        PROMISE(d->column >= 1 && d->column <= d->offset - line_start + 1);
}

static void check_after_other_line(const char *line, const struct denied_call *d)
{
        static const char before[] = "true\n";
        CLEANUP_TEXT struct text longer = { 0 };
        struct denied_call again;
        text_add(&longer, before);
        text_add(&longer, line);
        PROMISE(!longer.failed && denylist_check(longer.data, rules, ARRAY_SIZE(rules), &again));
        PROMISE(again.rule == d->rule && again.offset == d->offset + strlen(before));
        PROMISE(again.line == d->line + 1 && again.column == d->column);
        PROMISE(strcmp(again.token, d->token) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        CLEANUP_FREE char *line = fuzz_string(data, size);
        size_t length = strlen(line);
        shell_walk_commands((struct shell_text){ line, NULL, length }, 0, check_command, &length);
        /* Command lines inside a word may contain NULs, in place of parts whose value is unknown. */
        shell_walk_commands((struct shell_text){ (const char *)data, NULL, size }, 0, check_command, &size);
        struct denied_call d;
        if (!denylist_check(line, rules, ARRAY_SIZE(rules), &d))
                return 0;
        CLEANUP_TEXT struct text explanation = { 0 };
        denylist_explain(&d, &explanation);
        PROMISE(!explanation.failed &&
                text_has_prefix(explanation.data, "command rejected: command uses denylisted token \""));
        promise_printable(explanation.data);
        check_position(line, &d);
        if (length + 8 < COMMAND_LINE_MAX)
                check_after_other_line(line, &d);
        return 0;
}
