/*
 * The interface to a platform: all that the folders above know about the kernel's means of confinement.
 *
 * What it is for: src/linux implements it. So does src/stub, which refuses everything and proves that the folders above
 * use nothing else of a platform. Another platform is one more folder beside these two; meson's option `platform`
 * chooses.
 *
 * How it works: box.h starts a box and exchanges messages with its keeper. limits.h limits its resources. This header
 * has the rest: what a machine can do, what a plan may ask of it, what is enforced, and how our own processes confine
 * themselves.
 */
#ifndef RINGWALL_PLATFORM_PLATFORM_H
#define RINGWALL_PLATFORM_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "policy/plan.h"
#include "feature/feature.h"

/* --- what this machine can do --- */

/*
 * Probes the host (container, sysctls, LSM) and the features that each wall needs, then looks for remedies.
 * Forks children, which have exited when it returns.
 */
void platform_probe(struct probe_report *ret);

/*
 * Returns 0 when this machine can enforce every rule of the plan, as far as that is known before the box starts; else
 * -ENOTSUP with an error that names the rule and its source.
 */
int platform_check_plan(const struct plan *plan, struct error *e);

/* Can rules about file names be enforced inside directories that a box of this plan may write? */
bool platform_enforces_names(const struct plan *plan);

/* A grant of a managed set that is left out, because its path crosses a symbolic link that a box could have made. */
struct left_out_grant {
        const struct rule *rule;
        const char *link, *target;
};
int platform_find_left_out(const struct plan *plan, struct arena *a, struct left_out_grant **ret, size_t *ret_count,
                           struct error *e);

/*
 * May a file in the directory be the same file as `path`, through another mount? Also true when the mounts cannot be
 * read. Both must be real paths.
 */
bool platform_may_alias(const char *directory, const char *path);

/* --- what is enforced --- */

/* On a running box, as far as the front knows. */
struct enforced_state {
        const struct plan *plan;
        int landlock_abi; /* from BOX_STARTED */
        int guard;        /* from BOX_STARTED; only the platform interprets it */
        bool resources;   /* the box has a resource group (limits.h) */
        bool egress;      /* the box has an egress process */
};

/* The name of the wall with this index, from 0 on. NULL: there are no more walls. */
const char *platform_wall_name(size_t index);

/* Appends what this wall enforces, in a few words; nothing if the plan asks nothing of it. */
void platform_describe_wall(size_t index, const struct enforced_state *state, struct text *out);

/* The name of a system call that was refused, and the group that it belongs to. False: the call is not known. */
bool platform_describe_call(int number, const char **ret_call, const char **ret_group);

/* --- our own processes --- */

/*
 * Enforces a plan of level standard on the calling process and on its future children, for good. The process must have
 * one thread. Returns 0 or -errno with an error: -ENOTSUP for what a process cannot enforce on itself (namespaces,
 * limits, a network), -EBUSY with several threads. After a failure the process may be partly confined.
 */
int platform_restrict_self(const struct plan *plan, struct error *e);

/*
 * The same for a process that only needs the network: it keeps the host's network, and loses files, programs,
 * privileges, and unix sockets of other processes.
 */
int platform_restrict_to_network(struct error *e);

/*
 * Afterwards the caller and its future children cannot ptrace processes that are confined as the caller was before. On
 * Linux the caller enters a nested Landlock domain. Its access rights do not change. Returns 0 or -errno.
 */
int platform_enter_nested_domain(void);

/*
 * Runs the function in a new process that shares the caller's memory until it executes a program or exits; the caller
 * is suspended meanwhile, as with vfork(). The new process has its own descriptors, signal actions and credentials.
 * Returns its pid, or -1 with errno.
 */
pid_t platform_vfork(int (*run)(void *data), void *data);

#endif
