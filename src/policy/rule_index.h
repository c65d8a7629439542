/*
 * Finds the few rules that can match a path among thousands. A rule can match only if its anchor, the leading names
 * without pattern characters, is the path or a parent of it. The index is sorted by anchor, so that a lookup costs one
 * binary search for each parent.
 */
#ifndef RINGWALL_POLICY_RULE_INDEX_H
#define RINGWALL_POLICY_RULE_INDEX_H

#include "base/memory.h"
#include "policy/plan.h"

/* The length of the anchor at the start of the rule's path, without a trailing slash; 0 for the root. */
size_t rule_anchor_length(const struct rule *r);

struct rule_index;

/* Points into `rules`, which must not change. NULL if out of memory. */
struct rule_index *rule_index_new(struct arena *a, const struct rules *rules);

/* The rules that may match a path. Initialised to zero; the list is reused from call to call. */
struct rule_candidates {
        struct rules rules;
        size_t room; /* rules allocated */
};

/* rules_decide() answers for these rules as it would for all. False if out of memory. */
bool rule_index_candidates(struct rule_index *index, struct arena *a, const char *path, struct rule_candidates *ret);

#endif
