/* A plan for a person to read: each value and rule with where it comes from. */
#ifndef RINGWALL_CLI_POLICY_SHOW_H
#define RINGWALL_CLI_POLICY_SHOW_H

#include <stdbool.h>

#include "base/text.h"
#include "policy/plan.h"

void policy_show_plan(const struct plan *plan, struct text *out, bool styled);

#endif
