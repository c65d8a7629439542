/*
 * libringwall: confines an agent's programs by a policy that is compiled before they run.
 *
 * A policy is assembled from files and flags, as the command `ringwall` does, and compiled into a plan: immutable,
 * every path absolute, every right explicit. A policy with a mistake gives no plan, only messages for the user.
 *
 * A plan is enforced on a command, in a box of its own, or on the calling process itself.
 *
 * The library never exits, prints, starts a thread or keeps global state. One thread at a time may use an object.
 * Functions that return an int return 0 or a negative errno value, unless said otherwise. docs/library.md has an
 * example.
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

/* An empty policy; NULL without memory. ringwall_policy_free takes NULL. */
RINGWALL_PUBLIC struct ringwall_policy *ringwall_policy_new(void);
RINGWALL_PUBLIC void ringwall_policy_free(struct ringwall_policy *policy);

/*
 * Adds a flag of `ringwall run` by its long name without the dashes: ("policy", FILE), ("rw", PATH), ("level",
 * "strict"), ("best-effort", NULL)… Files are applied before other flags, in whatever order they are added. -ENOENT for
 * an unknown flag, -EINVAL when the value is missing or the flag takes none. Files are opened when the policy is
 * compiled.
 */
RINGWALL_PUBLIC int ringwall_policy_set(struct ringwall_policy *policy, const char *flag, const char *value);

/* Ignores /etc/ringwall/policy.yaml and the user's own policy. The machine's ceiling still applies. */
RINGWALL_PUBLIC void ringwall_policy_ignore_defaults(struct ringwall_policy *policy);

/* Compiles for the current directory, or for the workspace that was set. -EBADMSG when the policy has mistakes. */
RINGWALL_PUBLIC int ringwall_policy_compile(struct ringwall_policy *policy, struct ringwall_plan **ret);

/* Errors and warnings of the last compilation, as text for the user; "" when there are none. Never NULL. */
RINGWALL_PUBLIC const char *ringwall_policy_messages(const struct ringwall_policy *policy);

RINGWALL_PUBLIC void ringwall_plan_free(struct ringwall_plan *plan);

/* The plan as JSON, as `ringwall policy show --json` prints it. The caller frees it; NULL without memory. */
RINGWALL_PUBLIC char *ringwall_plan_to_json(const struct ringwall_plan *plan);

/* Does the plan allow reading, or writing, this absolute path? 1, 0, or -EINVAL for a path that is not absolute. */
RINGWALL_PUBLIC int ringwall_plan_allows_path(const struct ringwall_plan *plan, const char *path, int write);

/*
 * Probes what this machine can enforce, and returns the JSON that `ringwall doctor --json` prints. Forks short-lived
 * child processes, so the calling process must have one thread. The caller frees it; NULL without memory.
 */
RINGWALL_PUBLIC char *ringwall_machine_to_json(void);

/*
 * Starts the command, found in the PATH of the plan's environment, in a box that enforces the plan; -ENOTSUP when a
 * rule cannot be enforced. The calling process must have one thread. `streams` are the command's standard input, output
 * and error; NULL: the caller's own. After a failure ringwall_box_report() of *ret says why; *ret is not set after
 * -ENOMEM, nor after -EINVAL for an empty command. The plan must live as long as the box.
 */
RINGWALL_PUBLIC int ringwall_spawn(const struct ringwall_plan *plan, char *const command[], const int streams[3],
                                   struct ringwall_box **ret);

/*
 * A descriptor for poll(2) that is readable when the box has ended. The box owns it. -1 when the box was never started,
 * and after ringwall_box_wait().
 */
RINGWALL_PUBLIC int ringwall_box_pidfd(const struct ringwall_box *box);

/* Sends a signal to the command's process group. */
RINGWALL_PUBLIC int ringwall_box_signal(struct ringwall_box *box, int number);

/*
 * Replaces the hosts that the box may reach by those of this plan; nothing else of the plan is used. If the plan has
 * network.live: all, open connections to hosts that are no longer allowed are closed. Returns when the change is in
 * force. -ENOTSUP when the box has no network: it starts with one if its plan names hosts or has network.live. The plan
 * must live as long as the box. After any other failure the box has no network any more.
 */
RINGWALL_PUBLIC int ringwall_box_change_hosts(struct ringwall_box *box, const struct ringwall_plan *plan);

/*
 * Waits until the box has ended, and enforces the plan's time limit meanwhile. *ret_status is the exit status of
 * `ringwall run`: the command's own, 128+signal, 124 after a timeout, 125 when ringwall failed or refused the plan, 126
 * when the command cannot be executed, 127 when it is not found. -EINTR when a signal handler ran: call it again.
 */
RINGWALL_PUBLIC int ringwall_box_wait(struct ringwall_box *box, int *ret_status);

/*
 * What was enforced, what was refused and how the box ended, as JSON (`ringwall run --json-report`). The caller frees
 * it; NULL without memory.
 */
RINGWALL_PUBLIC char *ringwall_box_report(const struct ringwall_box *box);

/* Terminates every process of the box if it still runs, and frees it. Takes NULL. */
RINGWALL_PUBLIC void ringwall_box_free(struct ringwall_box *box);

/*
 * Confines the calling process and its future children, for good. The plan's level must be standard: the others need a
 * new process. The process loses files, system calls and privileges that the plan does not grant, /tmp and the home
 * directory included; open descriptors stay open. -ENOTSUP, before the process has lost anything, for what a process
 * cannot enforce on itself: limits, an audit trail, a network; and, unless the plan asks for best effort, rules about
 * names inside writable directories (a default rule only if the name exists). The process must have one thread. After
 * another failure it may be partly confined, and should exit.
 */
RINGWALL_PUBLIC int ringwall_restrict_self(const struct ringwall_plan *plan);

/*
 * A workspace resolves paths beneath one directory. No path leads out of it, whatever the path contains and whatever
 * other processes change in the directory at the same time. `root` must be the absolute path of an existing directory;
 * its symbolic links are resolved once, now.
 */
RINGWALL_PUBLIC int ringwall_workspace_open(const char *root, struct ringwall_workspace **ret);
RINGWALL_PUBLIC void ringwall_workspace_free(struct ringwall_workspace *workspace);

/* Absolute, without symbolic links. */
RINGWALL_PUBLIC const char *ringwall_workspace_root(const struct ringwall_workspace *workspace);

/* Why the last call failed, for the user; "" when it succeeded. Valid until the next call. */
RINGWALL_PUBLIC const char *ringwall_workspace_message(const struct ringwall_workspace *workspace);

/*
 * Resolves a path: a relative one starts at the root, symbolic links are followed as long as they stay inside, and the
 * last names need not exist. -EXDEV when it leads out. The caller frees *ret, which is only for messages: to open it
 * would race with processes that change the tree, so use the functions below.
 */
RINGWALL_PUBLIC int ringwall_workspace_resolve(struct ringwall_workspace *workspace, const char *path, char **ret);

/*
 * Opens an existing file or directory, with the flags of open(2), and returns the descriptor: O_PATH to stat it,
 * O_DIRECTORY to list it. Never blocks, for example on a FIFO. -ESTALE when the file was replaced meanwhile.
 */
RINGWALL_PUBLIC int ringwall_workspace_open_file(struct ringwall_workspace *workspace, const char *path, int flags);

/* Makes a new file, and missing directories, and returns a descriptor for writing. -EEXIST when the path exists. */
RINGWALL_PUBLIC int ringwall_workspace_create(struct ringwall_workspace *workspace, const char *path, unsigned mode);

/*
 * Writes a file atomically: readers see the old content or the new. An existing file keeps its mode and owner; a new
 * file gets `mode`. -ESTALE, and nothing is changed, when another process wrote the file at the same time.
 */
RINGWALL_PUBLIC int ringwall_workspace_replace(struct ringwall_workspace *workspace, const char *path, const void *data,
                                               size_t length, unsigned mode);

#ifdef __cplusplus
}
#endif

#endif
