/*
 * A plan's file rules enforced by Landlock alone, for boxes without a mount namespace. Theory of operation:
 * landlock_only.c.
 */
#ifndef RINGWALL_LINUX_LANDLOCK_ONLY_H
#define RINGWALL_LINUX_LANDLOCK_ONLY_H

#include "base/error.h"
#include "linux/resolved_paths.h"
#include "linux/landlock_ruleset.h"
#include "policy/plan.h"

/*
 * Can Landlock enforce these places, with `guarded` together with a guard (guard.h)? Returns 0, or -ENOTSUP with an
 * error that names the first rule it cannot enforce. *ret_unenforced counts the default protections, and with best
 * effort all denials, that are not enforced; *ret_example is the first of them.
 */
int landlock_only_check(const struct plan *plan, const struct resolved_paths *places, bool guarded,
                        size_t *ret_unenforced, const struct resolved_path **ret_example, struct error *e);

/*
 * The ruleset for these places, the plan's unix sockets, the directory `scratch` (NULL: none) and a terminal (-1:
 * none). It grants no port. Pass it to ruleset_enforce().
 */
int landlock_only_build(const struct plan *plan, const struct resolved_paths *places, const char *scratch, int terminal,
                        struct ruleset *ret, struct error *e);

#endif
