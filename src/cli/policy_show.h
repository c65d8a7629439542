/* Prints a plan for the user: each value and rule with its source. */
#ifndef RINGWALL_CLI_POLICY_SHOW_H
#define RINGWALL_CLI_POLICY_SHOW_H

#include <stdbool.h>

#include "base/text.h"
#include "policy/plan.h"

void policy_show_plan(const struct plan *plan, struct text *out, bool styled);

#endif
