/*
 * From a plan to a running box: what this version cannot hold is refused, the environment is put together, and the
 * platform starts it.
 */
#ifndef RINGWALL_BOX_START_H
#define RINGWALL_BOX_START_H

#include "base/error.h"
#include "base/memory.h"
#include "box/egressing.h"
#include "box/report.h"
#include "linux/cgroup.h"
#include "linux/launch.h"
#include "policy/plan.h"

/* 0 when every rule can be held as far as that can be known beforehand, else -ENOTSUP with the rule and its source. */
int start_check(const struct plan *plan, struct error *e);

/* The variables that the command gets, NULL behind the last; `scratch` and `proxies` as in struct launch_request. NULL: no memory. */
char **start_environment(struct arena *a, const struct plan *plan, const char *scratch, const struct egress_proxies *proxies);

/* A box that was started, the process that carries its connections, and the cgroup that it runs in, if any. */
struct running {
        struct box box;
        struct egressing egress;
        struct cgroup cgroup;
};

/*
 * Fills the request's plan-dependent parts (environment, directory if there is none, scratch, cgroup, egress, proxies), which live in the
 * report's arena, and launches. The caller sets plan, command, streams, terminals, foreground. Returns 0 or -errno with an error.
 */
int start_box(struct launch_request *request, struct report *r, struct trail *trail, struct running *ret, struct error *e);

/* After box_leave() or box_end(): reads how limits were met into the report, and removes the cgroup. */
void start_finish(struct running *running, struct report *r);

#endif
