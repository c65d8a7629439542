/*
 * Levels: which of them this machine can hold.
 *
 * What it is for: turns a probe report into one verdict per level, for `ringwall doctor` and for the refusal to start.
 *
 * How it works: one table says what each level needs (without it the level is refused) and what it wants (without it
 * the level runs, and the shortfall has a name). Only a feature that answered "yes" counts: partly, no and unasked do
 * not.
 *
 * What it trusts: the report. No system calls, no state.
 */
#ifndef RINGWALL_BOX_LEVELS_H
#define RINGWALL_BOX_LEVELS_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/plan.h"
#include "wall/wall.h"

enum level_verdict { VERDICT_WORKS, VERDICT_SHORTFALLS, VERDICT_REFUSED };

struct level_need {
        const enum feature_id *any_of; /* one of these is enough; FEATURE_COUNT ends them */
        enum level from, to;           /* the levels that it concerns */
        bool is_hard;
        const char *lost;              /* what is so without it */
};

/* More than the table has; checked where it is. */
enum { LEVEL_NEEDS_MAX = 40 };

struct level_result {
        enum level_verdict verdict;
        const struct level_need *missing[LEVEL_NEEDS_MAX];    /* hard ones */
        size_t missing_count;
        const struct level_need *shortfalls[LEVEL_NEEDS_MAX]; /* the others */
        size_t shortfall_count;
        const char *remark; /* what is so on every machine; NULL: nothing */
        const char *help; /* the one command to try first; NULL when none is known or needed */
};

/* `level` is one of LEVEL_STANDARD … LEVEL_MAXIMUM. */
void level_judge(enum level level, const struct probe_report *report, struct level_result *ret);

/* "works", "shortfalls", "refused" */
const char *level_verdict_name(enum level_verdict verdict);

#endif
