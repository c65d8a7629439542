/* A directory that a walk has open, and its entries. */
#ifndef RINGWALL_TOOLS_FOLDER_H
#define RINGWALL_TOOLS_FOLDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/ignore.h"

/* Reference-counted, also across threads; the last folder_drop() closes it. */
struct folder {
        atomic_uint holders;
        atomic_uint *open;    /* the walk's count of open folders */
        int fd;
        unsigned depth;
        struct ignore *rules; /* for its entries; its own rules are added when it is read. NULL: none */
        bool is_begun;        /* some of its entries were read */
        size_t length;        /* of `path` */
        char path[];          /* relative to the workspace's root, "" there */
};

/* Takes ownership of the descriptor. Returns NULL when that is negative, or without memory. */
struct folder *folder_new(int fd, const char *path, unsigned depth, struct ignore *rules, atomic_uint *open);
struct folder *folder_hold(struct folder *f);
void folder_drop(struct folder *f);

/* An entry is one byte for its type, and its name. */
enum { ENTRY_DIRECTORY = 'd', ENTRY_FILE = 'f', ENTRY_LINK = 'l' };

/* Files, symbolic links and directories; a search has no use for other types. */
struct listing {
        char *entries;     /* the name of a directory ends with a slash, so that names sort like paths */
        size_t used, size;
        uint32_t *offsets; /* of each entry in `entries` */
        size_t count;
        unsigned ignore_files; /* bits of ignore.h for the files that were seen */
        bool more;         /* there are more entries: call listing_read() again */
};

/* Reads the next entries of a directory, without .git unless `with_git`. Returns false without memory. */
bool listing_read(struct listing *l, int fd, bool with_git);
void listing_sort(struct listing *l);
void listing_done(struct listing *l);

#endif
