/* Checks of a compiled plan and of the diagnostics, for the targets that compile policies. */
#ifndef RINGWALL_FUZZ_PLAN_CHECKS_H
#define RINGWALL_FUZZ_PLAN_CHECKS_H

#include "policy/host_facts.h"
#include "policy/plan.h"
#include "policy/settings.h"

/* A made-up machine, the same for every input. */
extern const struct host_facts fuzz_facts;

typedef int settings_reader(struct settings *s, const char *name, const char *text, size_t length, const char *base);

/* Reads a policy file, compiles it, and checks the diagnostics and the plan. */
void plans_check_text(settings_reader *read, const char *text, size_t length);

/* Checks that the plan's JSON reads back as the same plan, its paths are canonical, and its denials are enforced. */
void plan_check(const struct plan *plan);

/* Checks that all diagnostics can be printed and written as JSON, and that there is an error exactly if `failed`. */
void diagnostics_check(const struct diagnostics *m, bool failed);

#endif
