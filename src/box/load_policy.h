/*
 * From files and flags to a plan: finds and reads the layers, in their order, and compiles them.
 *
 *   /etc/ringwall/policy.yaml, the user's own policy.yaml, the policies and settings that the request names, flags;
 *   limited by /etc/ringwall/ceiling.yaml and every ceiling that the request names.
 *
 * A policy in a workspace is never read unless the request names it.
 */
#ifndef RINGWALL_BOX_LOAD_POLICY_H
#define RINGWALL_BOX_LOAD_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "policy/keys.h"
#include "policy/diagnostics.h"
#include "policy/plan.h"

#define LOAD_SYSTEM_POLICY "/etc/ringwall/policy.yaml"
#define LOAD_SYSTEM_CEILING "/etc/ringwall/ceiling.yaml"

/* The kinds before LOAD_FLAG are files; LOAD_FLAG and LOAD_GRANT are flags. Comparisons rely on this order. */
enum load_item_kind { LOAD_POLICY, LOAD_SRT_SETTINGS, LOAD_CEILING, LOAD_FLAG, LOAD_GRANT };

/* One file or flag of a command line. */
struct load_item {
        enum load_item_kind kind;
        enum key_id key;    /* LOAD_FLAG */
        enum access access; /* LOAD_GRANT */
        const char *value;  /* the file's path, or the flag's value */
        const char *flag;   /* the flag that gave it, without its dashes: "rw" */
};

struct load_request {
        const struct load_item *items; /* in the order of the command line */
        size_t count;
        bool ignore_defaults; /* ignore the machine's policy and the user's; the machine's ceiling still applies */
};

/*
 * Returns 0 with a plan; 1 when the policy has mistakes, which are in the messages; -errno with an error. All files are
 * read before anything is compiled, so the messages cover all of them.
 */
int load_plan(const struct load_request *request, struct diagnostics *m, struct plan **ret, struct error *e);

/*
 * Makes a request that names the real path of every file, the machine's and the user's policy included if they exist,
 * and ignores the defaults: loading it later reads the same files. Lives in the arena. Returns 0 or -errno with an
 * error.
 */
int load_resolve_paths(const struct load_request *request, struct arena *a, struct load_request *ret, struct error *e);

/*
 * Checks one file by itself: native, or srt's settings if it is JSON with srt's keys. Returns 0, 1 or -errno, as
 * load_plan(). A file that cannot be read is a mistake: 1, with a message.
 */
int load_check_file(const char *path, struct diagnostics *m, struct error *e);

#endif
