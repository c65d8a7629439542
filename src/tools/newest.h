/* Keeps the newest of many files, up to a limit, in a heap whose top is the next to be replaced. */
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
        size_t seen;  /* files that matched; counted by the caller */
        bool failed;  /* memory ran out */
};

void newest_add(struct newest *h, struct timespec when, const char *path);

/* Newest first, then by name. Nothing can be added afterwards. */
void newest_sort(struct newest *h);
void newest_done(struct newest *h);

#endif
