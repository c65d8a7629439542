/* The flags of run_options.h as a request to the loader. */
#ifndef RINGWALL_CLI_REQUEST_H
#define RINGWALL_CLI_REQUEST_H

#include "base/memory.h"
#include "base/options.h"
#include "box/load.h"

/* The items live in the arena and point into argv. Returns 0 or -ENOMEM. */
int request_from_options(struct arena *a, const struct options_result *r, struct load_request *ret);

#endif
