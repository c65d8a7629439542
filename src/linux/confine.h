/*
 * What a process gives up permanently before it runs foreign code: capabilities, gaining privileges, files by Landlock.
 * Theory of operation: confine.c.
 */
#ifndef RINGWALL_LINUX_CONFINE_H
#define RINGWALL_LINUX_CONFINE_H

#include "base/error.h"
#include "linux/landlock_ruleset.h"
#include "policy/plan.h"

/*
 * Empties the bounding set (where the caller may: inside a user namespace or as root), the ambient set and all other
 * sets, and sets no_new_privs. Succeeds only if no capability is left, or with `keep_ptrace` only CAP_SYS_PTRACE, for
 * the guard that is forked later.
 */
int drop_privileges(bool keep_ptrace, struct error *e);

/* Does the caller have CAP_SYS_PTRACE, to read the memory of processes in its user namespace? */
bool confine_has_ptrace(void);

/* Empties only the permitted, effective and inheritable sets; `keep_ptrace` as for drop_privileges(). */
int confine_capabilities(bool keep_ptrace, struct error *e);

/* Makes the CAP_SYS_PTRACE that `keep_ptrace` left effective or ineffective. */
int confine_set_ptrace_effective(bool effective, struct error *e);

/* Memory that was writable cannot become executable, in the caller and all that it starts. -EINVAL before Linux 6.3. */
int enable_mdwe(struct error *e);

/*
 * The ruleset for the plan's files in a root of box_root.c, which contains only readable files. Without such a root:
 * landlock_only.h. Call it inside the root; pass the result to ruleset_enforce().
 */
int landlock_under_mounts_build(const struct plan *plan, struct ruleset *ret, struct error *e);

#endif
