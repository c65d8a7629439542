/* The command denylist; see denylist.h. */
#include "gate/denylist.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
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

/* --- what is called --- */

/* Where the programs of the system are. A program elsewhere is the project's own, whatever its name. */
static bool is_system_directory(const char *path, size_t length)
{
        static const char *const directories[] = {
                "/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/snap/bin",
                "/run/wrappers/bin", "/run/current-system/sw/bin",
        };
        for (size_t i = 0; i < ARRAY_SIZE(directories); i++)
                if (length == strlen(directories[i]) && memcmp(path, directories[i], length) == 0)
                        return true;
        return false;
}

/* Appends a component to the path of *length bytes. False if the path gets too long. */
static bool add_component(char *path, size_t *length, struct shell_text component)
{
        if (component.length == 0 || (component.length == 1 && component.bytes[0] == '.'))
                return true;
        if (component.length == 2 && memcmp(component.bytes, "..", 2) == 0) {
                const char *slash = *length ? memrchr(path, '/', *length) : NULL;
                *length = slash ? (size_t)(slash - path) : 0;
                return true;
        }
        if (*length + 1 + component.length > PATH_NAME_MAX)
                return false;
        path[(*length)++] = '/';
        memcpy(path + *length, component.bytes, component.length);
        *length += component.length;
        return true;
}

/* Is the directory before the name one of the system? The path is absolute, and may have .. and repeated slashes. */
static bool is_in_system(struct shell_text path, size_t name_length)
{
        char directory[PATH_NAME_MAX];
        size_t length = 0, end = path.length - name_length;
        for (size_t i = 0; i < end;) {
                const char *slash = memchr(path.bytes + i, '/', end - i);
                size_t next = slash ? (size_t)(slash - path.bytes) : end;
                if (!add_component(directory, &length, (struct shell_text){ path.bytes + i, NULL, next - i }))
                        return false;
                i = next + 1;
        }
        return is_system_directory(directory, length);
}

/* Writes the name that the call looks up. False if it is unknown, or a path to a program that is not the system's. */
static bool find_name(const struct shell_call *call, char name[static PATH_NAME_MAX + 1])
{
        struct shell_text path = call->words->text, t;
        if (!wrapper_name(call->words, &t) || t.length > PATH_NAME_MAX)
                return false;
        if (t.length < path.length && (path.bytes[0] != '/' || !is_in_system(path, t.length)))
                return false;
        memcpy(name, t.bytes, t.length);
        name[t.length] = '\0';
        return true;
}

static bool is_text(struct shell_text t, const char *text)
{
        return t.length == strlen(text) && memcmp(t.bytes, text, t.length) == 0;
}

/* Calls that only print something. */
static bool is_harmless(const struct shell_call *call, const char *name)
{
        static const struct {
                const char *name;     /* NULL: any */
                const char *argument; /* the only one; NULL: none */
        } harmless[] = { { NULL, "--help" }, { NULL, "--version" }, { "mount", NULL }, { "mount", "-l" } };
        for (size_t i = 0; i < ARRAY_SIZE(harmless) && !call->is_open; i++) {
                const char *argument = harmless[i].argument;
                if (harmless[i].name && strcmp(harmless[i].name, name) != 0)
                        continue;
                if (call->count == (argument ? 2 : 1) && (!argument || is_text(call->words[1].text, argument)))
                        return true;
        }
        return false;
}

/* --- rules --- */

/* Appends a word to the token, with a space before all but the first. */
static void add_to_token(struct denied_call *d, struct shell_text word)
{
        size_t used = strlen(d->token);
        if (used && used + 1 < sizeof d->token)
                d->token[used++] = ' ';
        /* An unknown part of the path before the name is shown as '$', as a variable would be written. */
        for (size_t i = 0; i < word.length && used + 1 < sizeof d->token; i++)
                d->token[used++] = word.bytes[i] == SHELL_UNKNOWN ? '$' : word.bytes[i];
        d->token[used] = '\0';
}

/* The next word of a rule, and where the one after it begins. */
static const char *take_rule_word(const char *rule, char word[static PATH_NAME_MAX + 1])
{
        size_t length = strcspn(rule, " ");
        size_t copied = length < PATH_NAME_MAX ? length : PATH_NAME_MAX;
        memcpy(word, rule, copied);
        word[copied] = '\0';
        return rule + length + (rule[length] == ' ');
}

/*
 * Does the call match the rule? "git push" matches a call of git whose first word that is no option is "push". Sets the
 * token to the words that match.
 */
static bool matches_rule(const struct shell_call *call, const char *name, const char *rule, struct denied_call *d)
{
        char expected[PATH_NAME_MAX + 1], word[PATH_NAME_MAX + 1];
        rule = take_rule_word(rule, expected);
        if (!matches(expected, name))
                return false;
        d->token[0] = '\0';
        add_to_token(d, call->words->text);
        for (size_t at = 1; *rule; at++) {
                rule = take_rule_word(rule, expected);
                at = wrapper_find_operand(call, at);
                if (at == call->count || call->words[at].text.length > PATH_NAME_MAX)
                        return false;
                struct shell_text t = call->words[at].text;
                memcpy(word, t.bytes, t.length);
                word[t.length] = '\0';
                if (memchr(t.bytes, SHELL_UNKNOWN, t.length) || !matches(expected, word))
                        return false;
                add_to_token(d, t);
        }
        return true;
}

static void check_call(void *context, const struct shell_call *call)
{
        struct search *s = context;
        struct denied_call found;
        char name[PATH_NAME_MAX + 1];
        if (call->words->at >= s->first || !find_name(call, name) || is_harmless(call, name))
                return;
        for (size_t i = 0; i < s->count; i++)
                if (matches_rule(call, name, s->denied[i].name, &found)) {
                        found.rule = &s->denied[i];
                        found.offset = s->first = call->words->at;
                        *s->ret = found;
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
        wrapper_walk_line((struct shell_text){ command, NULL, length }, check_call, &s);
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
