/* Makes parts of ringwall-policy(5) from the tables of the policy. Only docgen links this. */
#ifndef RINGWALL_CLI_DOCGEN_POLICY_H
#define RINGWALL_CLI_DOCGEN_POLICY_H

#include "base/text.h"

/* Adds every key with its type, default and meaning, as scdoc text. */
void docgen_add_keys(struct text *t);
/* Adds the managed sets by group, and the git hosts, as scdoc text. */
void docgen_add_sets(struct text *t);

#endif
