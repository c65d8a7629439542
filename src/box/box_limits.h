/* The limits of a box: makes its resource group, and reports which limit the box reached. */
#ifndef RINGWALL_BOX_BOX_LIMITS_H
#define RINGWALL_BOX_BOX_LIMITS_H

#include "box/report.h"
#include "platform/limits.h"
#include "policy/plan.h"

/*
 * Makes the group by resource_group_make(). Returns 0, or -errno with an error that names the limit. If the plan asks
 * for best effort, adds a note to the report and returns 0 instead. After success the caller must call
 * resource_group_remove().
 */
int box_limits_create(struct report *r, struct resource_group **ret, struct error *e);

/*
 * Call it when the box has ended: adds to the report what the box used, and which limit it reached. If the OOM killer
 * killed the whole box, the report says out of memory; without this the keeper's missing last message would count as a
 * failure of ringwall.
 */
void box_limits_collect(struct report *r, const struct resource_group *group);

#endif
