/* /proc/self/mountinfo, line by line. */
#ifndef RINGWALL_LINUX_MOUNTINFO_H
#define RINGWALL_LINUX_MOUNTINFO_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct mount {
        uint64_t id;
        const char *device;       /* "8:1": of the file system */
        const char *root, *point; /* what is shown of it, and where */
        const char *type;         /* "" when its line was too long to know */
        char line[9 * PATH_MAX];  /* two paths, of which every byte may be written as four */
};

/* The next mount of the text; false behind the last. What is no such line is passed over. Touches no file. */
bool mountinfo_next(const char **text, struct mount *ret);

/* The text. As fd_read_file(). */
int mountinfo_read(char **ret);

#endif
