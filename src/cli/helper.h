/* Helper programs: verbs that live in programs of their own, found as git finds its own. */
#ifndef RINGWALL_CLI_HELPER_H
#define RINGWALL_CLI_HELPER_H

#include "base/error.h"

/*
 * Replaces this process by the helper, with these arguments behind its name. Returns only when that failed: -ENOENT
 * when there is no such helper, -errno otherwise.
 */
int helper_exec(const char *name, char *const *arguments, struct error *e);

#endif
