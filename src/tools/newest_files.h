/* Keeps the newest of many files, up to a limit, in a heap whose top is the next to be replaced. */
#ifndef RINGWALL_TOOLS_NEWEST_FILES_H
#define RINGWALL_TOOLS_NEWEST_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct newest_file {
        struct timespec when;
        char *path;
};

struct newest_files {
        struct newest_file *list;
        size_t count;
        size_t limit; /* set by the caller, at least 1 */
        size_t seen;  /* files that matched; counted by the caller */
        bool failed;  /* memory ran out */
};

void newest_files_add(struct newest_files *h, struct timespec when, const char *path);

/* Newest first, then by name. Nothing can be added afterwards. */
void newest_files_sort(struct newest_files *h);
void newest_files_done(struct newest_files *h);

#endif
