/*
 * Watches a policy's files while a box runs: when one of them changes, the policy is compiled again, and the box may
 * reach the hosts of the new plan. Nothing else of a running box can change.
 */
#ifndef RINGWALL_BOX_LIVE_H
#define RINGWALL_BOX_LIVE_H

#include "base/memory.h"
#include "base/text.h"
#include "box/load.h"

struct live {
        struct load_request request;
        int changes; /* an inotify descriptor; when readable, call live_read(); -1: no files are watched */
};
#define LIVE_NONE ((struct live){ .changes = -1 })

/*
 * Watches the files from which the plan was compiled, if it has network.live. Only files that exist now are watched, by
 * their real paths; a file that the box could write is an error. The state lives in the arena. Returns 0 or -errno with
 * an error.
 */
int live_begin(struct live *ret, struct arena *a, const struct load_request *request, const struct plan *plan,
               struct error *e);

/*
 * Compiles the files again if one has changed. Returns 1 with a plan, for egress_change(); 0 when no file has changed;
 * -errno when the policy cannot be used, with the reason for the user in `complaint`. The caller owns the plan, and
 * keeps it as long as reports refer to its rules.
 */
int live_read(struct live *l, struct plan **ret, struct text *complaint);

void live_end(struct live *l);

#endif
