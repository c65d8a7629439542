/* Turns the policy flags of a command line (box/load_flags.h) into a request to the loader. */
#ifndef RINGWALL_CLI_LOAD_OPTIONS_H
#define RINGWALL_CLI_LOAD_OPTIONS_H

#include "base/memory.h"
#include "base/options.h"
#include "box/load_policy.h"

/*
 * The items are in the arena and point into argv. The first --workspace is the workspace; each further one counts as
 * --rw. Returns 0 or -ENOMEM.
 */
int load_request_from_options(struct arena *a, const struct options_result *r, struct load_request *ret);

/* Turns one option, with this value, into an item; false for an option that is not about the policy, such as --json. */
bool load_item_from_option(const struct options_result *r, const struct option_occurrence *use, const char *value,
                           struct load_item *ret);

/* Returns the directory in DIRECTORY or NAME=DIRECTORY. *ret_name is the length of the name, 0 if there is none. */
const char *parse_workspace_option(const char *value, size_t *ret_name);

#endif
