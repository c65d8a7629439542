/*
 * ringwall: finds the verb, parses its options, runs it or the helper program that does. This program stays light, for
 * every confined command starts through it; what needs a heavy library is a helper.
 */
#include <string.h>
#include <unistd.h>

#include "base/helper.h"
#include "cli/front.h"
#include "cli/verbs.h"

/* Options that people try before they know the verbs. */
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
        const char *nearest = text_nearest(option, known, ARRAY_SIZE(known));
        CLEANUP_TEXT struct text shown = { 0 };
        text_add_visible(&shown, option, strnlen(option, 60));
        if (nearest)
                return front_refuse(NULL, "unknown option '%s'; did you mean '%s'?", shown.data, nearest);
        return front_refuse(NULL, "unknown option '%s' before the verb", shown.data);
}

/* No verb, or only the first word of some: explain, on standard output only if that was asked for. */
static int explain(const struct verb_group *group, bool asked)
{
        CLEANUP_TEXT struct text t = { 0 };
        verbs_add_help(&t, group, front_is_styled(asked ? STDOUT_FILENO : STDERR_FILENO));
        return asked ? front_print(&t, 0) : front_print_error(&t);
}

static int run_verb(const struct verb *verb, int argc, char **argv, int first)
{
        CLEANUP_OPTIONS struct options_result r;
        int code;
        if (!front_parse(verb->usage, argc, argv, first, &r, &code))
                return code;
        if (verb->run)
                return verb->run(&r);
        struct error e = { 0 };
        (void)helper_exec(verb->helper, argv + first, &e);
        return front_complain(verb->usage->path, "%s", e.text);
}

static bool asks_help(const char *argument)
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
        if (match.group && (!words[1] || asks_help(words[1])))
                return explain(match.group, words[1] != NULL);
        return verbs_refuse(words, words[1] ? 2 : 1);
}

int main(int argc, char **argv)
{
        return front_finish(dispatch(argc, argv));
}
