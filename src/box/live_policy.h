/*
 * Watches a policy's files while a box runs: when one of them changes, the policy is compiled again, and the box may
 * reach the hosts of the new plan. Nothing else of a running box can change.
 */
#ifndef RINGWALL_BOX_LIVE_POLICY_H
#define RINGWALL_BOX_LIVE_POLICY_H

#include "base/memory.h"
#include "base/text.h"
#include "box/load_policy.h"

struct live_policy {
        struct load_request request;
        int changes; /* an inotify descriptor; when readable, call live_policy_reload(); -1: no files are watched */
};
#define LIVE_POLICY_NONE ((struct live_policy){ .changes = -1 })

/*
 * Watches the files from which the plan was compiled, if it has network.live. Only files that exist now are watched, by
 * their real paths; a file that the box could write is an error. The state lives in the arena. Returns 0 or -errno with
 * an error.
 */
int live_policy_open(struct live_policy *ret, struct arena *a, const struct load_request *request,
                     const struct plan *plan, struct error *e);

/*
 * Compiles the files again if one has changed. Returns 1 with a plan, for egress_set_hosts(); 0 when no file has
 * changed; -errno when the policy cannot be used, with the reason for the user in `reason`. The caller owns the plan,
 * and keeps it as long as reports refer to its rules.
 */
int live_policy_reload(struct live_policy *l, struct plan **ret, struct text *reason);

void live_policy_close(struct live_policy *l);

#endif
