/* What this machine can enforce: probes every wall and evaluates every level. */
#ifndef RINGWALL_BOX_DIAGNOSIS_H
#define RINGWALL_BOX_DIAGNOSIS_H

#include <jansson.h>
#include <sys/utsname.h>

#include "box/levels.h"

struct diagnosis {
        struct utsname kernel;
        unsigned int uid;
        struct probe_report report;
        struct level_result levels[LEVEL_MAXIMUM + 1]; /* LEVEL_OFF stays empty */
};

/* Probes in child processes, which leave nothing behind. */
void diagnosis_run(struct diagnosis *ret);

/* The JSON of `ringwall doctor --json`; NULL without memory. */
json_t *diagnosis_to_json(const struct diagnosis *d);

#endif
