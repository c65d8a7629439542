/*
 * The verbs: one row each, from which main dispatches, `help` explains and docgen makes manual pages and completions.
 * A new verb is a row in verbs.c and a file of its own.
 */
#ifndef RINGWALL_CLI_VERBS_H
#define RINGWALL_CLI_VERBS_H

#include <stddef.h>

#include "base/options.h"

struct verb {
        const struct options_verb *usage;
        int (*run)(struct options_result *r); /* returns the exit code; NULL when a helper does the work */
        const char *helper;                   /* the libexec program that does it, given the same arguments */
};

/* The first word of verbs that belong together; it is no verb itself. */
struct verb_group {
        const char *name, *summary;
};

extern const struct verb verbs[];
extern const size_t verbs_count;
extern const struct verb_group verb_groups[];
extern const size_t verb_groups_count;

/* What the front words of a command line name: a verb, or else a group, or neither. */
struct verb_match {
        const struct verb *verb;
        const struct verb_group *group;
        int words; /* how many words were used */
};
struct verb_match verbs_find(const char *const *words, int count);

/* Complains that the words name no verb, with the nearest that there is; returns the exit code. */
int verbs_refuse(const char *const *words, int count);

/* The short help of the whole program, or of the verbs of one group. */
void verbs_add_help(struct text *t, const struct verb_group *only, bool styled);

/* Ids of the options that belong to single verbs; those of run_options.h begin above them. */
enum verb_option {
        VERB_OPTION_JSON = 1,
};

int verb_run(struct options_result *r);
int verb_policy_check(struct options_result *r);
int verb_policy_show(struct options_result *r);
int verb_policy_schema(struct options_result *r);
int verb_mcp_install(struct options_result *r);
int verb_help(struct options_result *r);
int verb_version(struct options_result *r);

#endif
