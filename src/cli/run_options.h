/*
 * The flags that say what a policy is. `run` takes them to enforce it, `policy show` to print it; both get the same
 * table, so that what one shows is what the other does.
 */
#ifndef RINGWALL_CLI_RUN_OPTIONS_H
#define RINGWALL_CLI_RUN_OPTIONS_H

#include "base/options.h"

enum run_option {
        RUN_OPTION_POLICY = 100,
        RUN_OPTION_SETTINGS,
        RUN_OPTION_CEILING,
        RUN_OPTION_LEVEL,
        RUN_OPTION_BEST_EFFORT,
        RUN_OPTION_MDWE,
        RUN_OPTION_WORKSPACE,
        RUN_OPTION_READ,
        RUN_OPTION_RO,
        RUN_OPTION_RW,
        RUN_OPTION_DENY_READ,
        RUN_OPTION_DENY_WRITE,
        RUN_OPTION_ALLOW_DOMAIN,
        RUN_OPTION_ALLOW_PRIVATE,
        RUN_OPTION_ALLOW_LOCAL_PORT,
        RUN_OPTION_PUBLISH,
        RUN_OPTION_LIVE,
        RUN_OPTION_UNIX_SOCKET,
        RUN_OPTION_MEMORY,
        RUN_OPTION_CPU,
        RUN_OPTION_PROCESSES,
        RUN_OPTION_TIMEOUT,
        RUN_OPTION_ENV,
        RUN_OPTION_AUDIT,
        RUN_OPTION_JSON_REPORT,
        RUN_OPTION_QUIET,
        RUN_OPTION_VERBOSE,
};

extern const struct options_table run_options_policy;

/* `run` alone: what is told about it. */
extern const struct options_table run_options_report;

#endif
