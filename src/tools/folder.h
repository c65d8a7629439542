/* A directory that a walk has open, and what lies in it. */
#ifndef RINGWALL_TOOLS_FOLDER_H
#define RINGWALL_TOOLS_FOLDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/ignore.h"

/* Many may hold it, on several threads; the last closes it. */
struct folder {
        atomic_uint holders;
        atomic_uint *open;    /* where open folders are counted */
        int fd;
        unsigned depth;
        struct ignore *rules; /* for what lies in it; those of its own are added when it is read. NULL: none */
        bool is_begun;        /* it was read, if not to its end */
        size_t length;
        char path[];          /* from the workspace's root on, "" there */
};

/* Takes the descriptor over; NULL when that is none, or without memory. */
struct folder *folder_new(int fd, const char *path, unsigned depth, struct ignore *rules, atomic_uint *open);
struct folder *folder_hold(struct folder *f);
void folder_drop(struct folder *f);

/* An entry is one byte that says what it is, and its name. */
enum { ENTRY_DIRECTORY = 'd', ENTRY_FILE = 'f', ENTRY_LINK = 'l' };

/* Files, links and directories; nothing else is of any use to a search. */
struct listing {
        char *entries;     /* the name of a directory ends with a slash, so that they sort as their paths do */
        size_t used, size;
        uint32_t *places;  /* of the entries */
        size_t count;
        unsigned ignore_files; /* of ignore.h, that were seen */
        bool more;         /* than are held at a time: read again */
};

/* Reads on in a directory, without .git unless it is wanted. False without memory. */
bool listing_read(struct listing *l, int fd, bool with_git);
void listing_sort(struct listing *l);
void listing_done(struct listing *l);

#endif
