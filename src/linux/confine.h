/*
 * What a process gives up for good before it runs somebody else's program: capabilities, privileges to come, files by
 * Landlock. Theory of operation: confine.c.
 */
#ifndef RINGWALL_LINUX_CONFINE_H
#define RINGWALL_LINUX_CONFINE_H

#include "base/error.h"
#include "linux/ruleset.h"
#include "policy/plan.h"

/*
 * Empties the bounding set (where the caller may: inside a user namespace or as root), the ambient and all other sets,
 * and sets no_new_privs. Should leave no capability at all; must not succeed otherwise.
 */
int confine_privileges(struct error *e);

/* Memory that was written does not become code, in the caller and all that it starts. Fails with -EINVAL before 6.3. */
int confine_memory(struct error *e);

/*
 * The ruleset of the plan's files in a root of root.c, which shows only what may be read. Without such a root: carve.h.
 * Call it inside; ruleset_enforce() takes it.
 */
int confine_files(const struct plan *plan, struct ruleset *ret, struct error *e);

/* Which filter the plan asks for: enum filter_right. */
unsigned filter_rights(const struct plan *plan);

#endif
