/* /proc/self/mountinfo, line by line. */
#ifndef RINGWALL_LINUX_MOUNTINFO_H
#define RINGWALL_LINUX_MOUNTINFO_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct mountinfo_entry {
        uint64_t id;
        const char *device;       /* of the file system, as "8:1" */
        const char *root, *point; /* the directory of the file system that is mounted, and where */
        const char *type;         /* "" if the line was truncated before it */
        char line[9 * PATH_MAX];  /* room for two paths, each byte of which may be escaped as four */
};

/* Parses the next mount of the text; false after the last. Skips lines of another form. Opens no file. */
bool mountinfo_next(const char **text, struct mountinfo_entry *ret);

/* Reads /proc/self/mountinfo. Returns what fd_read_file() does. */
int mountinfo_read(char **ret);

#endif
