/*
 * The table of verbs. main() dispatches by it, `help` prints it, and docgen makes manual pages and completions from it.
 * CONTRIBUTING.md says what a new verb needs.
 */
#ifndef RINGWALL_CLI_VERBS_H
#define RINGWALL_CLI_VERBS_H

#include <stddef.h>

#include "base/options.h"

struct verb {
        const struct options_verb *usage;
        int (*run)(struct options_result *r); /* returns the exit code; NULL: `helper` is executed instead */
        const char *helper;                   /* a libexec program, which gets the same arguments */
};

/* The common first word of several verbs, which is not a verb itself. */
struct verb_group {
        const char *name, *summary;
};

extern const struct verb verbs[];
extern const size_t verbs_count;
extern const struct verb_group verb_groups[];
extern const size_t verb_groups_count;

/* What the first words of a command line name: a verb, a group, or nothing. */
struct verb_match {
        const struct verb *verb;
        const struct verb_group *group;
        int words; /* how many words were used */
};
struct verb_match verbs_find(const char *const *words, int count);

/* Prints that the words do not name a verb, and suggests the nearest one; returns the exit code. */
int verbs_report_unknown(const char *const *words, int count);

/* Adds the list of all verbs, or of the verbs of one group. */
void verbs_add_help(struct text *t, const struct verb_group *only, bool styled);

/* Ids of options of `policy check` and `policy show`. The policy's flags in the same verb begin at KEY_FLAG_ID. */
enum verb_option {
        VERB_OPTION_JSON = 1,
};

int verb_run(struct options_result *r);
int verb_policy_check(struct options_result *r);
int verb_policy_show(struct options_result *r);
int verb_policy_schema(struct options_result *r);
int verb_mcp_install(struct options_result *r);
int verb_mcp_uninstall(struct options_result *r);
int verb_help(struct options_result *r);
int verb_version(struct options_result *r);

#endif
