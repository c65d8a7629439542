/* Oracles for what comes out of a compilation, shared by the targets that compile: the plan and the messages. */
#ifndef RINGWALL_FUZZ_PLANS_H
#define RINGWALL_FUZZ_PLANS_H

#include "policy/facts.h"
#include "policy/plan.h"
#include "policy/settings.h"

/* A made-up machine, the same for every input. */
extern const struct facts fuzz_facts;

typedef int settings_reader(struct settings *s, const char *name, const char *text, size_t length, const char *base);

/* The whole way of one file, with every promise checked: read, compile, print, write, read back. */
void plans_check_text(settings_reader *read, const char *text, size_t length);

/* A plan: its JSON reads back as the same plan, its rules are in one spelling, its denials hold. */
void plan_check(const struct plan *plan);

/* Messages: they can be shown and written, all of them. `failed` is what the functions that made them returned. */
void messages_check(const struct messages *m, bool failed);

#endif
