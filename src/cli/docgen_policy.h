/* The parts of ringwall-policy(5) that the policy's own tables know. Only docgen links this. */
#ifndef RINGWALL_CLI_DOCGEN_POLICY_H
#define RINGWALL_CLI_DOCGEN_POLICY_H

#include "base/text.h"

/* Every key with its type, default and meaning; the managed sets by group, and the git hosts. scdoc text. */
void docgen_add_keys(struct text *t);
void docgen_add_sets(struct text *t);

#endif
