/* The flags of run_options.h as a request to the loader. */
#ifndef RINGWALL_CLI_REQUEST_H
#define RINGWALL_CLI_REQUEST_H

#include "base/memory.h"
#include "base/options.h"
#include "box/load.h"

/*
 * The items live in the arena and point into argv. A workspace behind the first is one more directory that may be written.
 * Returns 0 or -ENOMEM.
 */
int request_from_options(struct arena *a, const struct options_result *r, struct load_request *ret);

/*
 * One of the options, with this value, as an item; false for a flag of the verb's own, such as --json.
 */
bool request_item(const struct options_result *r, const struct option_use *use, const char *value, struct load_item *ret);

/* The directory of a workspace that may have a name in front of it; where the name ends is in *ret_name, which is 0 for none. */
const char *request_workspace(const char *value, size_t *ret_name);

#endif
