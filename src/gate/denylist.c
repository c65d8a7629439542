/* The command denylist; see denylist.h. */
#include "gate/denylist.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "gate/runner.h"
#include "policy/caps.h"
#include "policy/pattern.h"

struct search {
        const struct plan_command *denied;
        size_t count;
        size_t first; /* where the first one found so far stands */
        struct denied *ret;
};

static bool matches(const char *entry, const char *name)
{
        if (!strpbrk(entry, "*?[\\"))
                return strcmp(entry, name) == 0;
        char pattern[CAP_NAME + 2], path[CAP_NAME + 2];
        (void)snprintf(pattern, sizeof pattern, "/%s", entry);
        (void)snprintf(path, sizeof path, "/%s", name);
        return pattern_match(pattern, path);
}

static void keep(struct search *s, const struct shell_word *word, const struct plan_command *rule)
{
        size_t length = word->text.length < sizeof s->ret->token ? word->text.length : sizeof s->ret->token - 1;
        /* What is not known in front of the name is shown as a shell would write it. */
        for (size_t i = 0; i < length; i++)
                s->ret->token[i] = word->text.bytes[i] == SHELL_UNKNOWN ? '$' : word->text.bytes[i];
        s->ret->token[length] = '\0';
        s->ret->rule = rule;
        s->ret->offset = s->first = word->at;
}

static void check(void *context, const struct shell_word *word)
{
        struct search *s = context;
        struct shell_text t;
        char name[CAP_NAME + 1];
        if (word->at >= s->first || !runner_name(word, &t) || t.length > CAP_NAME)
                return;
        memcpy(name, t.bytes, t.length);
        name[t.length] = '\0';
        for (size_t i = 0; i < s->count; i++)
                if (matches(s->denied[i].name, name)) {
                        keep(s, word, &s->denied[i]);
                        return;
                }
}

static void find_place(struct denied *d, const char *command)
{
        d->line = d->column = 1;
        for (size_t i = 0; i < d->offset;) {
                d->column++;
                if (command[i] == '\n') {
                        d->line++;
                        d->column = 1;
                }
                i += text_utf8_step(command + i, d->offset - i);
        }
}

bool denylist_find(const char *command, const struct plan_command *denied, size_t count, struct denied *ret)
{
        struct denied found;
        struct search s = { denied, count, SIZE_MAX, &found };
        size_t length = strnlen(command, COMMAND_LINE_MAX);
        runner_walk_line((struct shell_text){ command, NULL, length }, check, &s);
        if (s.first == SIZE_MAX)
                return false;
        find_place(&found, command);
        *ret = found;
        return true;
}

void denylist_explain(const struct denied *d, struct text *out)
{
        text_add(out, "command rejected: command uses denylisted token \"");
        text_add_visible(out, d->token, strlen(d->token));
        text_format(out, "\" at line %u, column %u; gate.denied_commands: [-", d->line, d->column);
        text_add_visible(out, d->rule->name, strlen(d->rule->name));
        text_add(out, "] in the policy would allow it");
}
