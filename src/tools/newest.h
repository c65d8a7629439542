/* The newest of many files: as many as are wanted, in a heap whose top is the one to go next. */
#ifndef RINGWALL_TOOLS_NEWEST_H
#define RINGWALL_TOOLS_NEWEST_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct found {
        struct timespec when;
        char *path;
};

struct newest {
        struct found *list;
        size_t count;
        size_t limit; /* set by the caller, at least 1 */
        size_t seen;  /* for the caller's own counting */
        bool failed;  /* memory ran out */
};

void newest_add(struct newest *h, struct timespec when, const char *path);

/* The newest first, then by name; nothing can be added any more. */
void newest_sort(struct newest *h);
void newest_done(struct newest *h);

#endif
