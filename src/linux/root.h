/* The root directory that a box sees, made of mounts. Theory of operation: root.c. */
#ifndef RINGWALL_LINUX_ROOT_H
#define RINGWALL_LINUX_ROOT_H

#include "base/error.h"
#include "policy/plan.h"

/*
 * In the keeper, which is in new user, mount and pid namespaces and holds every capability there. Makes the root that
 * the plan describes and moves into it. Should leave no way back to the old one; must not leave out a denial of the
 * plan. Returns 0 or -errno with an error.
 */
int root_enter(const struct plan *plan, struct error *e);

#endif
