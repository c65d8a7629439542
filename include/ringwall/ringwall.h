/*
 * libringwall: what an agent's programs may do, decided before they run.
 *
 * A policy is put together from files and flags, as the command `ringwall` does it, and compiled into a plan: immutable,
 * every path absolute, every right explicit. A plan is made whole or not at all; what is wrong is said in messages for
 * a person.
 *
 * A plan is enforced on a command, in a box of its own, or on the calling process itself.
 *
 * Nothing here exits, prints, starts a thread or keeps global state. An object may be used by one thread at a time.
 * Functions return 0, or a negative errno value. docs/library.md has an example.
 */
#ifndef RINGWALL_H
#define RINGWALL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RINGWALL_PUBLIC __attribute__((visibility("default")))
#else
#define RINGWALL_PUBLIC
#endif

struct ringwall_policy;
struct ringwall_plan;
struct ringwall_box;
struct ringwall_workspace;

/* "0.1.0" */
RINGWALL_PUBLIC const char *ringwall_version(void);

/* A policy without anything in it; NULL without memory. ringwall_policy_free takes NULL. */
RINGWALL_PUBLIC struct ringwall_policy *ringwall_policy_new(void);
RINGWALL_PUBLIC void ringwall_policy_free(struct ringwall_policy *policy);

/*
 * Adds a flag of `ringwall run` by its long name without the dashes: ("policy", FILE), ("rw", PATH), ("level",
 * "strict"), ("best-effort", NULL)… Files come before other flags whatever the order. -ENOENT when there is no such
 * flag, -EINVAL when the value is missing or not wanted. Files are opened when the policy is compiled.
 */
RINGWALL_PUBLIC int ringwall_policy_set(struct ringwall_policy *policy, const char *flag, const char *value);

/* Leaves out /etc/ringwall/policy.yaml and the user's own policy. The machine's ceiling holds in any case. */
RINGWALL_PUBLIC void ringwall_policy_ignore_defaults(struct ringwall_policy *policy);

/* Compiles for the current directory, or for the workspace that was set. -EBADMSG when the policy has mistakes. */
RINGWALL_PUBLIC int ringwall_policy_compile(struct ringwall_policy *policy, struct ringwall_plan **ret);

/* Errors and warnings of the last compilation, as text for a person; "" when there are none. Never NULL. */
RINGWALL_PUBLIC const char *ringwall_policy_messages(const struct ringwall_policy *policy);

RINGWALL_PUBLIC void ringwall_plan_free(struct ringwall_plan *plan);

/* The plan as JSON, as `ringwall policy show --json` prints it. The caller frees it; NULL without memory. */
RINGWALL_PUBLIC char *ringwall_plan_to_json(const struct ringwall_plan *plan);

/* Does the plan let this absolute path be read, or written? 1, 0, or -EINVAL for a path that is not absolute. */
RINGWALL_PUBLIC int ringwall_plan_allows_path(const struct ringwall_plan *plan, const char *path, int write);

/*
 * What this machine can hold, asked of its kernel, as `ringwall doctor --json` prints it. Makes a few short-lived child
 * processes. The caller frees it; NULL without memory.
 */
RINGWALL_PUBLIC char *ringwall_machine_to_json(void);

/*
 * Starts the command, found in the PATH of the plan's environment, in a box that holds the plan, or refuses: -ENOTSUP
 * when a rule cannot be held. The caller must have one thread at this moment. `streams` are its standard input, output
 * and error; NULL: the caller's own. Why a start failed is in ringwall_box_report() of *ret, which is set in any case
 * but -ENOMEM. The plan must live as long as the box.
 */
RINGWALL_PUBLIC int ringwall_spawn(const struct ringwall_plan *plan, char *const command[], const int streams[3],
                                   struct ringwall_box **ret);

/* Readable when the box has ended, for poll(2). The box owns it. -1 when it was never started. */
RINGWALL_PUBLIC int ringwall_box_pidfd(const struct ringwall_box *box);

/* Sends a signal to the command's process group. */
RINGWALL_PUBLIC int ringwall_box_signal(struct ringwall_box *box, int number);

/*
 * From now on the box may reach the hosts of this plan instead of its own; of the plan nothing else is taken. If it has network.live: all,
 * open connections to hosts that are not allowed any more end. Returns when that holds. -ENOTSUP when the box was started without a
 * network: a plan has one that names hosts, or has network.live. The plan must live as long as the box. After another failure the
 * box has no network any more.
 */
RINGWALL_PUBLIC int ringwall_box_change_hosts(struct ringwall_box *box, const struct ringwall_plan *plan);

/*
 * Waits for the end, and enforces the plan's time limit while it waits. *ret_status is what `ringwall run` would exit
 * with: the command's own status, 128+signal, 124 timed out, 125 the plan could not be held, 126, 127.
 */
RINGWALL_PUBLIC int ringwall_box_wait(struct ringwall_box *box, int *ret_status);

/*
 * What was enforced, what was refused and how it ended, as JSON (`ringwall run --json-report`). The caller frees it;
 * NULL without memory.
 */
RINGWALL_PUBLIC char *ringwall_box_report(const struct ringwall_box *box);

/* Ends the box, with everything in it, if it still runs. Takes NULL. */
RINGWALL_PUBLIC void ringwall_box_free(struct ringwall_box *box);

/*
 * Confines the calling process itself, and all that it starts, for good. The plan's level must be standard: the others
 * need a process that is made for it. Files, system calls and privileges are given up; /tmp and the home are out of reach
 * unless the plan grants them, open descriptors stay. -ENOTSUP, before anything is given up, for what a process cannot hold
 * for itself: limits, a record, and names that are protected and exist, unless the plan asks for best effort. The process must have one thread. After a failure it may be confined
 * in part, and should end.
 */
RINGWALL_PUBLIC int ringwall_restrict_self(const struct ringwall_plan *plan);

/*
 * A directory that paths are found in and never lead out of, whatever they say and whatever else happens in it at the same
 * time. `root` must be absolute and an existing directory; links in it are followed once, now.
 */
RINGWALL_PUBLIC int ringwall_workspace_open(const char *root, struct ringwall_workspace **ret);
RINGWALL_PUBLIC void ringwall_workspace_free(struct ringwall_workspace *workspace);

/* Absolute, without links. */
RINGWALL_PUBLIC const char *ringwall_workspace_root(const struct ringwall_workspace *workspace);

/* Why the last call failed, for a person; "" when it did not. Valid until the next. */
RINGWALL_PUBLIC const char *ringwall_workspace_message(const struct ringwall_workspace *workspace);

/*
 * Where a path leads: relative ones start at the root, links are followed as long as they stay inside, the end may be
 * missing. -EXDEV when it leads out. The caller frees *ret. It is a name for messages: who opens it again races with
 * whoever changes the tree, so use the functions below.
 */
RINGWALL_PUBLIC int ringwall_workspace_resolve(struct ringwall_workspace *workspace, const char *path, char **ret);

/*
 * Opens what exists, with the flags of open(2), and returns the descriptor: O_PATH to look at it, O_DIRECTORY to list it.
 * Never waits, for a fifo, say. -ESTALE when it was exchanged meanwhile.
 */
RINGWALL_PUBLIC int ringwall_workspace_open_file(struct ringwall_workspace *workspace, const char *path, int flags);

/* Makes a file where nothing is, with missing directories, and returns a descriptor for writing. */
RINGWALL_PUBLIC int ringwall_workspace_create(struct ringwall_workspace *workspace, const char *path, unsigned mode);

/*
 * Puts a file in place at once: whoever reads sees the old content or the new. What is there keeps its mode and owner;
 * `mode` is a new file's. -ESTALE, and nothing changed, when somebody else wrote there at the same time.
 */
RINGWALL_PUBLIC int ringwall_workspace_replace(struct ringwall_workspace *workspace, const char *path, const void *data,
                                               size_t length, unsigned mode);

#ifdef __cplusplus
}
#endif

#endif
