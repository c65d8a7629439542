/*
 * From a plan to a running box: refuses a plan that cannot be enforced, assembles the environment, and has the platform
 * start the box.
 */
#ifndef RINGWALL_BOX_START_H
#define RINGWALL_BOX_START_H

#include "base/error.h"
#include "base/memory.h"
#include "box/egress_process.h"
#include "box/report.h"
#include "platform/box.h"
#include "platform/limits.h"
#include "policy/plan.h"

/*
 * Returns 0 when every rule of the plan can be enforced, as far as that is known before the box starts; else -ENOTSUP
 * with an error that names the rule and its source.
 */
int start_check_supported(const struct plan *plan, struct error *e);

/*
 * The command's environment, terminated by NULL; `scratch` and `proxies` are those of struct launch_request. Returns
 * NULL without memory.
 */
char **start_build_environment(struct arena *a, const struct plan *plan, const char *scratch,
                               const struct proxy_endpoints *proxies);

/* A box that was started, its egress process and its resource group, if it has them. */
struct running_box {
        struct box box;
        struct egress_process egress;
        struct resource_group *resources;
};

/*
 * Fills the members of the request that depend on the plan (environment, scratch, resources, egress, proxies, and
 * directory if it is NULL), in the report's arena, and launches the box. The caller sets the other members. Returns 0
 * or -errno with an error.
 */
int start_box(struct launch_request *request, struct report *r, struct audit_trail *trail, struct running_box *ret,
              struct error *e);

/* Call it after box_close_fds() or box_kill(): stops egress, reports the limits that were hit, removes the group. */
void running_box_finish(struct running_box *running, struct report *r);

#endif
