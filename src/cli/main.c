/*
 * ringwall: finds the verb, parses its options, and runs it or executes its helper program. This program stays small,
 * because every confined command is started by it; a verb that needs a large library is a helper program.
 */
#include <string.h>
#include <unistd.h>

#include "base/helper.h"
#include "cli/program.h"
#include "cli/verbs.h"

/* Options before the verb that are accepted as verbs. */
static const struct {
        const char *option, *verb;
} spellings[] = {
        { "-h", "help" },
        { "--help", "help" },
        { "--version", "version" },
};

static int refuse_option(const char *option)
{
        const char *known[ARRAY_SIZE(spellings)];
        for (size_t i = 0; i < ARRAY_SIZE(spellings); i++)
                known[i] = spellings[i].option;
        const char *nearest = text_suggest(option, known, ARRAY_SIZE(known));
        CLEANUP_TEXT struct text shown = { 0 };
        text_add_escaped(&shown, option, strnlen(option, 60));
        if (nearest)
                return program_usage_error(NULL, "unknown option '%s'; did you mean '%s'?", shown.data, nearest);
        return program_usage_error(NULL, "unknown option '%s' before the verb", shown.data);
}

/* For a command line with no verb, or only a group's name. Help that was not requested goes to standard error. */
static int explain(const struct verb_group *group, bool requested)
{
        CLEANUP_TEXT struct text t = { 0 };
        verbs_add_help(&t, group, program_is_styled(requested ? STDOUT_FILENO : STDERR_FILENO));
        return requested ? program_print(&t, 0) : program_print_error(&t);
}

static int run_verb(const struct verb *verb, int argc, char **argv, int first)
{
        CLEANUP_OPTIONS struct options_result r;
        int code;
        if (!program_parse(verb->usage, argc, argv, first, &r, &code))
                return code;
        if (verb->run)
                return verb->run(&r);
        struct error e = { 0 };
        (void)helper_exec(verb->helper, argv + first, &e);
        return program_error(verb->usage->path, "%s", e.text);
}

static bool is_help_option(const char *argument)
{
        return strcmp(argument, "-h") == 0 || strcmp(argument, "--help") == 0;
}

static int dispatch(int argc, char **argv)
{
        if (argc < 2)
                return explain(NULL, false);
        const char *words[2] = { argv[1], argc > 2 ? argv[2] : NULL };
        for (size_t i = 0; i < ARRAY_SIZE(spellings); i++)
                if (strcmp(argv[1], spellings[i].option) == 0)
                        words[0] = spellings[i].verb;
        if (words[0][0] == '-')
                return refuse_option(words[0]);

        struct verb_match match = verbs_find(words, words[1] ? 2 : 1);
        if (match.verb)
                return run_verb(match.verb, argc, argv, 1 + match.words);
        if (match.group && (!words[1] || is_help_option(words[1])))
                return explain(match.group, words[1] != NULL);
        return verbs_report_unknown(words, words[1] ? 2 : 1);
}

int main(int argc, char **argv)
{
        return program_finish(dispatch(argc, argv));
}
