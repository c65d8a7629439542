/* The root directory that a box sees, made of mounts. Theory of operation: box_root.c. */
#ifndef RINGWALL_LINUX_BOX_ROOT_H
#define RINGWALL_LINUX_BOX_ROOT_H

#include "base/error.h"
#include "policy/plan.h"

/*
 * Makes the root that the plan describes and enters it. Runs in the keeper, which is in new user, mount and pid
 * namespaces and has every capability there. On success there is no way back to the old root, and every denial of the
 * plan that mounts enforce is in place. Returns 0 or -errno with an error; after an error the keeper must exit.
 */
int box_root_enter(const struct plan *plan, struct error *e);

#endif
