/* A directory that a walk has open, and its entries. */
#ifndef RINGWALL_TOOLS_WALK_DIR_H
#define RINGWALL_TOOLS_WALK_DIR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/gitignore.h"

/* Reference-counted, also across threads; the last walk_dir_unref() closes it. */
struct walk_dir {
        atomic_uint holders;
        atomic_uint *open;    /* the walk's count of open folders */
        int fd;
        unsigned depth;
        struct gitignore *rules; /* for its entries; its own rules are added when it is read. NULL: none */
        bool is_begun;        /* some of its entries were read */
        size_t length;        /* of `path` */
        char path[];          /* relative to the workspace's root, "" there */
};

/* Takes ownership of the descriptor. Returns NULL when that is negative, or without memory. */
struct walk_dir *walk_dir_new(int fd, const char *path, unsigned depth, struct gitignore *rules, atomic_uint *open);
struct walk_dir *walk_dir_ref(struct walk_dir *f);
void walk_dir_unref(struct walk_dir *f);

/* An entry is one byte for its type, and its name. */
enum { ENTRY_DIRECTORY = 'd', ENTRY_FILE = 'f', ENTRY_LINK = 'l', ENTRY_OTHER = 'o' };

/* Files, symbolic links and directories; with `all`, other types too, for which a search has no use. */
struct dir_listing {
        bool all;
        char *entries;     /* the name of a directory ends with a slash, so that names sort like paths */
        size_t used, size;
        uint32_t *offsets; /* of each entry in `entries` */
        size_t count;
        unsigned ignore_files; /* bits of gitignore.h for the files that were seen */
        bool more;         /* there are more entries: call dir_listing_read() again */
};

/* Reads the next entries of a directory, without .git unless `with_git`. Returns false without memory. */
bool dir_listing_read(struct dir_listing *l, int fd, bool with_git);
void dir_listing_sort(struct dir_listing *l);
void dir_listing_done(struct dir_listing *l);

#endif
