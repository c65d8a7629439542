/*
 * The audit trail of one run: how it began, what was enforced, what was refused, how it ended, as records of src/audit.
 * The default is a new file for each run, below the user's state directory.
 */
#ifndef RINGWALL_BOX_AUDIT_TRAIL_H
#define RINGWALL_BOX_AUDIT_TRAIL_H

#include "box/report.h"

enum { AUDIT_SESSION_ID_SIZE = 17 };

struct audit_trail {
        int fd; /* -1: no trail is kept */
        char session[AUDIT_SESSION_ID_SIZE]; /* a random id of this run, in hexadecimal; every record has it */
        bool failed; /* a record could not be written, so the trail is incomplete */
};

/*
 * Opens the trail and writes its first record. With `path` NULL: in the default file if the plan asks for one,
 * else no trail is kept. Refuses a file that the box itself could write. Returns 0 or -errno with an error.
 */
int audit_trail_open(struct audit_trail *t, const char *path, const struct report *r, struct error *e);

/* Records what is enforced. Call it once the command runs. */
void audit_trail_log_walls(struct audit_trail *t, const struct report *r);

/* Records an event while the box runs. Takes ownership of the fields. */
void audit_trail_log(struct audit_trail *t, const char *event, json_t *fields);

/* Records what was refused and how the run ended, and closes the trail. Returns 0, or -EIO if any record was lost. */
int audit_trail_close(struct audit_trail *t, const struct report *r);

#endif
