/*
 * libringwall: what an agent's programs may do, decided before they run.
 *
 * A policy is put together from files and flags, as the command `ringwall` does it, and compiled into a plan: immutable,
 * every path absolute, every right explicit. A plan is made whole or not at all; what is wrong is said in messages for
 * a person.
 *
 * Nothing here exits, prints, starts a thread or keeps global state. An object may be used by one thread at a time.
 * Functions return 0, or a negative errno value.
 */
#ifndef RINGWALL_H
#define RINGWALL_H

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

#ifdef __cplusplus
}
#endif

#endif
