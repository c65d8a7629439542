/* `ringwall help` and `ringwall version`. */
#include <ringwall/ringwall.h>
#include <unistd.h>

#include "cli/program.h"
#include "cli/verbs.h"

int verb_help(struct options_result *r)
{
        const char *const *words = (const char *const *)r->positionals;
        int count = (int)r->positional_count;
        struct verb_match match = verbs_find(words, count);
        bool styled = program_is_styled(STDOUT_FILENO);
        CLEANUP_TEXT struct text t = { 0 };
        if (match.words < count)
                return verbs_report_unknown(words, count);
        if (match.verb)
                options_add_help(&t, match.verb->usage, PROGRAM_NAME, styled);
        else
                verbs_add_help(&t, match.group, styled);
        return program_print(&t, 0);
}

int verb_version(struct options_result *r)
{
        (void)r;
        CLEANUP_TEXT struct text t = { 0 };
        text_format(&t, PROGRAM_NAME " %s\n", ringwall_version());
        return program_print(&t, 0);
}
