/* What the verbs that compile a policy share. */
#ifndef RINGWALL_CLI_POLICY_H
#define RINGWALL_CLI_POLICY_H

#include "policy/messages.h"

/* Errors and warnings, to standard error, so that what a program reads on standard output stays clean. */
void policy_print_messages(const struct messages *m);

#endif
