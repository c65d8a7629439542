/*
 * Following a policy's files while a box runs: when one of them changes, its hosts are those that the box may reach. Nothing else
 * of a plan can change.
 */
#ifndef RINGWALL_BOX_LIVE_H
#define RINGWALL_BOX_LIVE_H

#include "box/egressing.h"
#include "box/load.h"

struct live {
        struct load_request request;
        int changes; /* readable when something has happened to the files: then live_take(); -1: nobody follows */
};
#define LIVE_NONE ((struct live){ .changes = -1 })

/*
 * Follows the files of which the plan was made, if it asks for that. They are those that are there now, by the one name that the
 * kernel has for each; a file that the box could write is refused. What it keeps lives in the arena. Returns 0 or -errno with
 * an error.
 */
int live_begin(struct live *ret, struct arena *a, const struct load_request *request, const struct plan *plan, struct error *e);

/*
 * Takes over what the files say now. Returns 0; 1 when messages say what is wrong with them, or negative with an error: then the hosts
 * are what they were. The plan that it makes is never freed: the report speaks of its rules.
 */
int live_take(struct live *l, struct egressing *g, struct messages *m, struct error *e);

void live_end(struct live *l);

#endif
