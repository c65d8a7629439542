/* Limiting a box: a cgroup when the plan asks for one, and what to tell when the box met a limit. */
#ifndef RINGWALL_BOX_LIMITING_H
#define RINGWALL_BOX_LIMITING_H

#include "box/report.h"
#include "linux/cgroup.h"
#include "policy/plan.h"

/*
 * Makes the cgroup that the plan's limits need; none when it has no limits, or when its number of processes can be held
 * without one. Returns 0, or -errno with an error that names the limit; with best effort a note in the report instead.
 * cgroup_remove() is due after success.
 */
int limits_prepare(struct report *r, struct cgroup *ret, struct error *e);

/*
 * After the end of the box: what it used, and which limit it met. A box that was killed whole for memory ended without a
 * word, and that is no error then.
 */
void limits_finish(struct report *r, const struct cgroup *cgroup);

#endif
