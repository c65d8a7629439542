/* What the verbs that compile a policy share. */
#ifndef RINGWALL_CLI_POLICY_H
#define RINGWALL_CLI_POLICY_H

#include "policy/diagnostics.h"

/* Prints errors and warnings to standard error; standard output has only the result, which a program may parse. */
void policy_print_diagnostics(const struct diagnostics *m);

#endif
