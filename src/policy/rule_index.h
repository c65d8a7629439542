/*
 * Finds the few rules that can speak of a path among thousands. A rule can match a path only if its anchor, the part
 * of it without pattern characters, is that path or a parent; the index is sorted by anchor, so a look-up costs a
 * search for each parent.
 */
#ifndef RINGWALL_POLICY_RULE_INDEX_H
#define RINGWALL_POLICY_RULE_INDEX_H

#include "base/memory.h"
#include "policy/plan.h"

/* The length of the anchor at the front of the rule's path: without a slash at the end, 0 for the root. */
size_t rule_anchor_length(const struct rule *r);

struct rule_index;

/* Points into `rules`, which must stay as they are. NULL without memory. */
struct rule_index *rule_index_new(struct arena *a, const struct rules *rules);

/* The rules that may match a path. Start with zeroes; the list is reused from call to call. */
struct rule_candidates {
        struct rules rules;
        size_t room;
};

/* False without memory. What rules_decide() says of these rules is what it would say of all. */
bool rule_index_candidates(struct rule_index *index, struct arena *a, const char *path, struct rule_candidates *ret);

#endif
