/*
 * Remembers which files a session has read, so that a tool overwrites no file whose present state the agent has not
 * seen. Safe to use from several threads.
 */
#ifndef RINGWALL_PATH_TRACKER_H
#define RINGWALL_PATH_TRACKER_H

#include <sys/stat.h>

struct tracker;

/* NULL if out of memory. */
struct tracker *tracker_new(void);
/* For tests. */
void tracker_free(struct tracker *t);

/*
 * Records that the file was read or written in the state *st. `path` has no links, like held_path.path. Returns 0 or
 * -ENOMEM.
 */
int tracker_mark(struct tracker *t, const char *path, const struct stat *st);

enum tracked {
        TRACKED_NEVER,   /* not read in this session, or forgotten because too many files were read */
        TRACKED_CHANGED, /* read, but changed or replaced since */
        TRACKED_SAME,
};
enum tracked tracker_check(struct tracker *t, const char *path, const struct stat *now);

#endif
