/* /proc/self/mountinfo, line by line. */
#ifndef RINGWALL_LINUX_MOUNTINFO_H
#define RINGWALL_LINUX_MOUNTINFO_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct mountinfo_entry {
        uint64_t id;
        const char *device;      /* of the file system, as "8:1" */
        const char *root;        /* the mounted part of the file system */
        const char *point;       /* where it is mounted */
        const char *type;        /* "" if the line did not fit into `line` */
        /*
         * The line that the pointers lead into, so do not copy the struct. 8 x PATH_MAX for two paths, each byte of
         * which may be escaped as four; the rest for the other fields.
         */
        char line[9 * PATH_MAX];
};

/*
 * Parses the next mount of the text; false after the last. Skips lines of another form. *text moves past the line.
 * Makes no system call.
 */
bool mountinfo_next(const char **text, struct mountinfo_entry *ret);

/* Reads /proc/self/mountinfo. The caller frees *ret. Returns 0 or -errno; -EFBIG if it is too large. */
int mountinfo_read(char **ret);

#endif
