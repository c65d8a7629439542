/*
 * What a process gives up for good before it runs somebody else's program: capabilities, privileges to come, files by
 * Landlock. Theory of operation: confine.c.
 */
#ifndef RINGWALL_LINUX_CONFINE_H
#define RINGWALL_LINUX_CONFINE_H

#include "base/error.h"
#include "policy/plan.h"

/*
 * Empties the bounding set (where the caller may: inside a user namespace or as root), the ambient and all other sets,
 * and sets no_new_privs. Should leave no capability at all; must not succeed otherwise.
 */
int confine_privileges(struct error *e);

/*
 * Restricts the files of the calling process, and of all it starts, to the plan's, in a root of root.c, which shows only
 * what may be read. Without such a root: carve.h.
 */
int confine_files(const struct plan *plan, struct error *e);

/* Which filter the plan asks for: enum filter_right. */
unsigned filter_rights(const struct plan *plan);

#endif
