/*
 * The gate: what is decided before a tool runs, and what is taken out of what it answers. It helps against accidents; the
 * boundary is the kernel's.
 */
#ifndef RINGWALL_GATE_GATE_H
#define RINGWALL_GATE_GATE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/text.h"
#include "gate/scrub.h"
#include "policy/domain.h"
#include "policy/plan.h"

struct gate {
        const struct plan *plan;
        domain_to_ascii *to_ascii;
        struct scrubber *scrubber;
};

/* Whether a call must not be made; then the text says why, and what would allow it. */
bool gate_refuses(const struct gate *g, const char *tool, const json_t *arguments, struct text *ret_why);

/*
 * Takes secrets out of every text in a result, or in what is told of its progress; pictures are left as they are. Returns
 * what was taken out, as an object of counts by shape, or NULL for nothing. When it fails, *ret_failed is set, and the value
 * must not be shown.
 */
json_t *gate_scrub(const struct gate *g, json_t *value, bool *ret_failed);

#endif
