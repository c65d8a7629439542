/* A plan of level standard, enforced on the calling process itself. */
#ifndef RINGWALL_LINUX_RESTRICT_H
#define RINGWALL_LINUX_RESTRICT_H

#include "base/error.h"
#include "policy/plan.h"

/*
 * For good, with all that it starts. Runs as: a process with one thread. -ENOTSUP for a plan with namespaces, -EBUSY with
 * more threads. After a failure the process may be confined in part.
 */
int restrict_self(const struct plan *plan, struct error *e);

#endif
