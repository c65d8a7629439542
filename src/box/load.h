/*
 * From files and flags to a plan: finds and reads the layers, in their order, and compiles them.
 *
 *   /etc/ringwall/policy.yaml, the person's own policy.yaml, the policies and settings that are named, flags;
 *   cut by /etc/ringwall/ceiling.yaml and every ceiling that is named.
 *
 * No policy is ever picked up from a workspace.
 */
#ifndef RINGWALL_BOX_LOAD_H
#define RINGWALL_BOX_LOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "policy/keys.h"
#include "policy/messages.h"
#include "policy/plan.h"

#define LOAD_SYSTEM_POLICY "/etc/ringwall/policy.yaml"
#define LOAD_SYSTEM_CEILING "/etc/ringwall/ceiling.yaml"

enum load_kind { LOAD_POLICY, LOAD_SETTINGS, LOAD_CEILING, LOAD_FLAG, LOAD_GRANT };

/* One thing that was named, in the order of the command line. */
struct load_item {
        enum load_kind kind;
        enum key_id key;    /* LOAD_FLAG */
        enum access access; /* LOAD_GRANT */
        const char *value;  /* a file's name, or the flag's value */
        const char *flag;   /* how it was given: "--rw" */
};

struct load_request {
        const struct load_item *items;
        size_t count;
        bool alone; /* neither the machine's policy nor the person's; the machine's ceiling holds in any case */
};

/*
 * Returns 0 with a plan; 1 when messages say what is wrong; negative with an error. Files are read in full before
 * anything is compiled, so the messages cover all of them.
 */
int load_plan(const struct load_request *request, struct messages *m, struct plan **ret, struct error *e);

/*
 * The same request with every file by the one name that the kernel has for it, and without looking for others: what is read again
 * later is then what was read first, from the same places. Lives in the arena. Returns 0 or -errno with an error.
 */
int load_pin(const struct load_request *request, struct arena *a, struct load_request *ret, struct error *e);

/*
 * Checks one file by itself: native, or srt's settings if it is JSON with srt's keys. 0, 1 or negative; what cannot be
 * read is a message too.
 */
int load_check_file(const char *path, struct messages *m, struct error *e);

#endif
