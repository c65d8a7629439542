/* The JSON Schema of the policy file, made from the table of keys, so that editors complete and check it. */
#ifndef RINGWALL_POLICY_SCHEMA_H
#define RINGWALL_POLICY_SCHEMA_H

#include <jansson.h>

/* A new object (draft 2020-12); NULL if out of memory. */
json_t *schema_of_policy(void);

#endif
