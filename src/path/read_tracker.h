/*
 * Remembers which files a session has read, so that a tool overwrites no file whose present state the agent has not
 * seen. Safe to use from several threads.
 */
#ifndef RINGWALL_PATH_READ_TRACKER_H
#define RINGWALL_PATH_READ_TRACKER_H

#include <sys/stat.h>

struct read_tracker;

/* NULL if out of memory. */
struct read_tracker *read_tracker_new(void);
/* Takes NULL. The tools of a box need not call it: their tracker lives as long as its process. */
void read_tracker_free(struct read_tracker *t);

/*
 * Records that the file was read or written in the state *st. `path` has no links, like held_path.path. Returns 0 or
 * -ENOMEM.
 */
int read_tracker_record(struct read_tracker *t, const char *path, const struct stat *st);

enum read_state {
        READ_STATE_UNREAD, /* not read in this session, or forgotten because too many files were read */
        READ_STATE_STALE,  /* read, but changed or replaced since */
        READ_STATE_CURRENT,
};
enum read_state tracker_check(struct read_tracker *t, const char *path, const struct stat *now);

#endif
