/* Refusals: system calls that the filter refused, file paths that the guard refused, hosts that egress refused. */
#ifndef RINGWALL_BOX_REFUSALS_H
#define RINGWALL_BOX_REFUSALS_H

#include <jansson.h>
#include <stdbool.h>

#include "base/memory.h"
#include "base/text.h"
#include "platform/box.h"
#include "policy/plan.h"
#include "wire/egress_protocol.h"

enum { REFUSED_HOSTS_MAX = 64 };

struct refusals {
        struct refused_call calls[REFUSED_CALLS_MAX];
        size_t call_count;
        struct refused_path paths[REFUSED_PATHS_MAX];
        size_t path_count;
        struct egress_event *hosts; /* each refusal once, with its count */
        size_t host_count;
        bool hosts_truncated;  /* hosts beyond REFUSED_HOSTS_MAX are not kept */
        struct hosts *changes; /* the host rules of generation 1, 2…; those of generation 0 are in the plan */
        size_t change_count;
};

void refusals_add_call(struct refusals *r, const struct refused_call *call);
void refusals_add_path(struct refusals *r, const struct refused_path *path);
void refusals_add_host(struct refusals *r, struct arena *a, const struct egress_event *event);

/* The rule that decided the event, among the hosts that were in force at that moment; NULL: no rule did. */
const struct host_rule *refusals_host_rule(const struct refusals *r, const struct plan *plan,
                                           const struct egress_event *event);

/*
 * Append one line for each refusal: what was tried, and the rule that refused it. A call or a host also has the flag or
 * key that would allow it, if there is one.
 */
void refusals_explain_calls_and_paths(const struct refusals *r, const struct plan *plan, const char *prefix,
                                      struct text *out);
void refusals_explain_hosts(const struct refusals *r, const struct plan *plan, const char *prefix, struct text *out);

/* {"call", "count", "what", "rule", "source", "allow"} and {"path", "rule", "count"}; NULL without memory. */
json_t *refusals_call_to_json(const struct plan *plan, const struct refused_call *d);
json_t *refusals_path_to_json(const struct refused_path *n);

/* All refusals, as a list. */
json_t *refusals_to_json(const struct refusals *r, const struct plan *plan);

#endif
