/*
 * The audit trail of one run: what was applied, what was intercepted, how it began and ended, as records of
 * src/audit. Where no file is named, one of its own below the user's state directory.
 */
#ifndef RINGWALL_BOX_TRAIL_H
#define RINGWALL_BOX_TRAIL_H

#include "box/report.h"

enum { TRAIL_SESSION = 17 };

struct trail {
        int fd; /* -1: no trail is kept */
        char session[TRAIL_SESSION];
        bool failed; /* a record could not be written */
};

/*
 * Opens it and writes the beginning. `path` NULL: where the plan says that there is a record, the default place; else
 * none. Refuses a file that the box itself could write. Returns 0 or -errno with an error.
 */
int trail_begin(struct trail *t, const char *path, const struct report *r, struct error *e);

/* The walls stand; called once the command runs. */
void trail_started(struct trail *t, const struct report *r);

/* Something that happened in between. Takes the fields over. */
void trail_event(struct trail *t, const char *event, json_t *fields);

/* What was intercepted, and the end. Returns 0, or -EIO when anything could not be written. Closes it. */
int trail_end(struct trail *t, const struct report *r);

#endif
