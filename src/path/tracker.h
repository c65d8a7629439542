/*
 * What has been read in a session: nothing is overwritten that its reader has not seen as it is now. Safe to use from
 * several threads.
 */
#ifndef RINGWALL_PATH_TRACKER_H
#define RINGWALL_PATH_TRACKER_H

#include <sys/stat.h>

struct tracker;

/* NULL without memory. */
struct tracker *tracker_new(void);
void tracker_free(struct tracker *t);

/* `path` without links, as a spot has it, and the file as it was when it was read or written. */
int tracker_mark(struct tracker *t, const char *path, const struct stat *st);

enum tracked {
        TRACKED_NEVER,   /* not read in this session; also when so many were that this one was forgotten */
        TRACKED_CHANGED, /* read, and another file or another content since */
        TRACKED_SAME,
};
enum tracked tracker_ask(struct tracker *t, const char *path, const struct stat *now);

#endif
