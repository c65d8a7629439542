/* The command denylist; see denylist.h. */
#include "gate/denylist.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "gate/wrapper_commands.h"
#include "policy/input_limits.h"
#include "policy/path_pattern.h"

struct search {
        const struct plan_denied_command *denied;
        size_t count;
        size_t first; /* offset of the earliest match so far; SIZE_MAX: no match */
        struct denied_call *ret;
};

static bool matches(const char *entry, const char *name)
{
        if (!strpbrk(entry, "*?[\\"))
                return strcmp(entry, name) == 0;
        char pattern[PATH_NAME_MAX + 2], path[PATH_NAME_MAX + 2];
        (void)snprintf(pattern, sizeof pattern, "/%s", entry);
        (void)snprintf(path, sizeof path, "/%s", name);
        return path_pattern_match(pattern, path);
}

static void record_match(struct search *s, const struct shell_word *word, const struct plan_denied_command *rule)
{
        size_t length = word->text.length < sizeof s->ret->token ? word->text.length : sizeof s->ret->token - 1;
        /* An unknown part of the path before the name is shown as '$', as a variable would be written. */
        for (size_t i = 0; i < length; i++)
                s->ret->token[i] = word->text.bytes[i] == SHELL_UNKNOWN ? '$' : word->text.bytes[i];
        s->ret->token[length] = '\0';
        s->ret->rule = rule;
        s->ret->offset = s->first = word->at;
}

static void check_called_word(void *context, const struct shell_word *word)
{
        struct search *s = context;
        struct shell_text t;
        char name[PATH_NAME_MAX + 1];
        if (word->at >= s->first || !wrapper_name(word, &t) || t.length > PATH_NAME_MAX)
                return;
        memcpy(name, t.bytes, t.length);
        name[t.length] = '\0';
        for (size_t i = 0; i < s->count; i++)
                if (matches(s->denied[i].name, name)) {
                        record_match(s, word, &s->denied[i]);
                        return;
                }
}

static void find_line_and_column(struct denied_call *d, const char *command)
{
        d->line = d->column = 1;
        for (size_t i = 0; i < d->offset;) {
                d->column++;
                if (command[i] == '\n') {
                        d->line++;
                        d->column = 1;
                }
                i += text_utf8_sequence_length(command + i, d->offset - i);
        }
}

bool denylist_check(const char *command, const struct plan_denied_command *denied, size_t count,
                    struct denied_call *ret)
{
        struct denied_call found;
        struct search s = { denied, count, SIZE_MAX, &found };
        size_t length = strnlen(command, COMMAND_LINE_MAX);
        wrapper_walk_line((struct shell_text){ command, NULL, length }, check_called_word, &s);
        if (s.first == SIZE_MAX)
                return false;
        find_line_and_column(&found, command);
        *ret = found;
        return true;
}

void denylist_explain(const struct denied_call *d, struct text *out)
{
        text_add(out, "command rejected: command uses denylisted token \"");
        text_add_escaped(out, d->token, strlen(d->token));
        text_format(out, "\" at line %u, column %u; gate.denied_commands: [-", d->line, d->column);
        text_add_escaped(out, d->rule->name, strlen(d->rule->name));
        text_add(out, "] in the policy would allow it");
}
