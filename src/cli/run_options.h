/* The options of `ringwall run` that are not about the policy (box/load_flags.h): its reports. */
#ifndef RINGWALL_CLI_RUN_OPTIONS_H
#define RINGWALL_CLI_RUN_OPTIONS_H

#include "base/options.h"

enum run_option {
        RUN_OPTION_AUDIT = 100,
        RUN_OPTION_JSON_REPORT,
        RUN_OPTION_QUIET,
        RUN_OPTION_VERBOSE,
};

extern const struct options_table run_options_report;

#endif
