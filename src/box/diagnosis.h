/* What this machine can enforce: every wall asked, every level judged. */
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

/* Asks by children that leave nothing behind (linux/ask.h). */
void diagnosis_make(struct diagnosis *ret);

/* NULL without memory. */
json_t *diagnosis_to_json(const struct diagnosis *d);

#endif
