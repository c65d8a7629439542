/* The options of `ringwall doctor`. ringwall-doctor parses them; ringwall needs them for help and completions. */
#ifndef RINGWALL_CLI_DOCTOR_OPTIONS_H
#define RINGWALL_CLI_DOCTOR_OPTIONS_H

#include "base/options.h"

enum doctor_option {
        DOCTOR_OPTION_JSON = 1,
};

extern const struct options_verb doctor_usage;

#endif
