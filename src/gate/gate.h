/*
 * The gate: checks a tool call before it runs, and removes secrets from its result. This protects against accidents;
 * the security boundary is the box, which the kernel enforces.
 */
#ifndef RINGWALL_GATE_GATE_H
#define RINGWALL_GATE_GATE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/text.h"
#include "gate/scrub.h"
#include "policy/host_pattern.h"
#include "policy/plan.h"

struct gate {
        const struct plan *plan;
        to_ascii_function *to_ascii;
        struct scrubber *scrubber;
};

/* True if the call must not run; then `ret_why` says why, and which setting would allow it if there is one. */
bool gate_check_call(const struct gate *g, const char *tool, const json_t *arguments, struct text *ret_why);

/*
 * Removes secrets from every string of a result or a progress message; image data is not scanned. Returns how many
 * secrets of each pattern were removed, as a JSON object, or NULL if there were none. On failure *ret_failed is true,
 * and the caller must not show the value.
 */
json_t *gate_scrub_result(const struct gate *g, json_t *value, bool *ret_failed);

#endif
