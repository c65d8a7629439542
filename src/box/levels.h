/*
 * Which levels this machine can enforce.
 *
 * What it is for: turns a probe report into one verdict per level, for `ringwall doctor`.
 *
 * How it works: one table says what each level requires (without it the level does not work) and what it wants
 * (without it the level works, with a shortfall that is named). Only a feature whose state is "yes" counts: partly, no
 * and unasked do not.
 *
 * What it trusts: the report. No system calls, no state.
 */
#ifndef RINGWALL_BOX_LEVELS_H
#define RINGWALL_BOX_LEVELS_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/plan.h"
#include "feature/feature.h"

enum level_verdict { VERDICT_WORKS, VERDICT_SHORTFALLS, VERDICT_REFUSED };

struct level_requirement {
        const enum feature_id *any_of; /* one of these is enough; FEATURE_COUNT terminates the list */
        enum level from, to;           /* the levels that it applies to */
        bool is_required;              /* the level does not work without it */
        const char *consequence;       /* of not having it, for the user */
};

/* At least the length of the table in levels.c, where this is asserted. */
enum { LEVEL_REQUIREMENTS_MAX = 40 };

struct level_result {
        enum level_verdict verdict;
        const struct level_requirement *missing[LEVEL_REQUIREMENTS_MAX];    /* required, and not met */
        size_t missing_count;
        const struct level_requirement *shortfalls[LEVEL_REQUIREMENTS_MAX]; /* wanted, and not met */
        size_t shortfall_count;
        const char *remark; /* a restriction of this level that no feature lifts; NULL: none */
        const char *help;   /* the one command to try first; NULL when none is known or needed */
};

/* `level` is one of LEVEL_STANDARD … LEVEL_MAXIMUM. */
void level_evaluate(enum level level, const struct probe_report *report, struct level_result *ret);

/* "works", "shortfalls", "refused" */
const char *level_verdict_name(enum level_verdict verdict);

#endif
