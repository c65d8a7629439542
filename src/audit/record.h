/* A file of records, one JSON object per line, only ever appended to. */
#ifndef RINGWALL_AUDIT_RECORD_H
#define RINGWALL_AUDIT_RECORD_H

#include <jansson.h>

#include "base/error.h"

/*
 * Opens or makes it, mode 0600. Must not follow a link at the end of the path, nor take what others may write. Returns
 * a descriptor, or -errno with an error.
 */
int record_open(const char *path, struct error *e);

/*
 * Adds one record: time, session, event, then the fields, which are taken over (NULL: none). One write, so records of
 * several processes do not mix. Returns 0 or -errno.
 */
int record_add(int fd, const char *session, const char *event, json_t *fields);

/* "2026-01-31T12:00:00.123Z", for this moment. */
enum { RECORD_TIME = 32 };
void record_time(char ret[RECORD_TIME]);

#endif
