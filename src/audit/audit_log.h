/* The audit trail: a file of records, one JSON object per line, append-only. */
#ifndef RINGWALL_AUDIT_AUDIT_LOG_H
#define RINGWALL_AUDIT_AUDIT_LOG_H

#include <jansson.h>

#include "base/error.h"

/*
 * Opens the file, or creates it with mode 0600. Must not follow a link at the end of the path, nor accept a file that
 * another user owns or can write. Returns a descriptor, or -errno with an error.
 */
int audit_log_open(const char *path, struct error *e);

/*
 * Appends one record: time, session, event, then `fields` (may be NULL). Frees `fields` also on failure. One write, so
 * that records of several processes do not interleave. A failed write may leave a part of the record; the next record
 * begins a new line. Returns 0 or -errno.
 */
int audit_log_append(int fd, const char *session, const char *event, json_t *fields);

/* The present time, as "2026-01-31T12:00:00.123Z". */
enum { RECORD_TIME_SIZE = 32 };
void audit_log_timestamp(char ret[RECORD_TIME_SIZE]);

#endif
