/*
 * Following a policy's files while a box runs: when one of them changes, its hosts are those that the box may reach. Nothing else
 * of a plan can change.
 */
#ifndef RINGWALL_BOX_LIVE_H
#define RINGWALL_BOX_LIVE_H

#include "base/memory.h"
#include "base/text.h"
#include "box/load.h"

struct live {
        struct load_request request;
        int changes; /* readable when something has happened to the files: then live_read(); -1: nobody follows */
};
#define LIVE_NONE ((struct live){ .changes = -1 })

/*
 * Follows the files of which the plan was made, if it asks for that. They are those that are there now, by the one name that the
 * kernel has for each; a file that the box could write is refused. What it keeps lives in the arena. Returns 0 or -errno with
 * an error.
 */
int live_begin(struct live *ret, struct arena *a, const struct load_request *request, const struct plan *plan, struct error *e);

/*
 * What the files say now: 1 with a plan, for egress_change(); 0 when nothing has happened to them; -errno when they cannot be used, and
 * `complaint` says why to a person. The plan is the caller's, who keeps it as long as reports speak of its rules.
 */
int live_read(struct live *l, struct plan **ret, struct text *complaint);

void live_end(struct live *l);

#endif
