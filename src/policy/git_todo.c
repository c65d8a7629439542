/*
 * To-do lists of git's sequencer; see git_config.h. `git rebase --continue` outside the box would run the program of an
 * "exec" line.
 *
 * As in git, a command is a whole word or its one-letter form, after optional blanks. A word that is not in the table
 * is refused, because a later git may give it a meaning.
 */
#include <string.h>

#include "policy/input_limits.h"
#include "policy/git_config.h"

static const struct {
        const char *word;
        char letter;
} harmless[] = {
        { "pick", 'p' },  { "revert", 0 }, { "edit", 'e' },  { "reword", 'r' }, { "fixup", 'f' },
        { "squash", 's' }, { "break", 'b' }, { "label", 'l' }, { "reset", 't' },  { "merge", 'm' },
        { "update-ref", 'u' }, { "noop", 0 }, { "drop", 'd' },
};

static bool line_is_harmless(const char *line, const char *end)
{
        while (line < end && (*line == ' ' || *line == '\t'))
                line++;
        if (line < end && end[-1] == '\r')
                end--;
        if (line == end || *line == '#')
                return true;
        size_t length = 0;
        while (line + length < end && !strchr(" \t\r", line[length]))
                length++;
        for (size_t i = 0; i < ARRAY_SIZE(harmless); i++)
                if ((length == 1 && *line == harmless[i].letter) ||
                    (length == strlen(harmless[i].word) && memcmp(line, harmless[i].word, length) == 0))
                        return true;
        return false;
}

bool git_todo_is_harmless(const char *text, size_t length, struct text *why)
{
        text = text ? text : "";
        const char *end = text + length;
        if (length > POLICY_FILE_BYTES_MAX || (length && memchr(text, '\0', length))) {
                if (why)
                        text_add(why,
                                 length > POLICY_FILE_BYTES_MAX ? "the list is too long" : "the list has a NUL byte");
                return false;
        }
        unsigned number = 1;
        for (const char *line = text; line < end; number++) {
                const char *newline = memchr(line, '\n', (size_t)(end - line));
                const char *line_end = newline ? newline : end;
                if (!line_is_harmless(line, line_end)) {
                        if (why)
                                text_format(why, "line %u may run a program", number);
                        return false;
                }
                line = newline ? newline + 1 : end;
        }
        return true;
}
