/*
 * Containment: the one way from a path that somebody wrote to a file of a workspace. Theory of operation: workspace.c.
 */
#ifndef RINGWALL_PATH_WORKSPACE_H
#define RINGWALL_PATH_WORKSPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"

struct workspace;

/*
 * Holds the directory `root`, which must be absolute and exist. Links in it are followed once, now; whatever becomes of
 * the name later, this directory is meant.
 */
int workspace_open(const char *root, struct workspace **ret, struct error *e);
void workspace_free(struct workspace *w);
static inline void workspace_free_pointer(struct workspace **w)
{
        workspace_free(*w);
}
#define CLEANUP_WORKSPACE CLEANUP(workspace_free_pointer)

/* Absolute, without links. */
const char *workspace_root(const struct workspace *w);

/* As if this kernel had no openat2; for tests. */
void workspace_forget_openat2(struct workspace *w);

/* A place in a workspace, held by descriptors: what was found, or where something can be made. */
struct spot {
        int parent;     /* the deepest directory on the way that exists; the one it is in, when it exists itself */
        char *name;     /* from there: one name, more when directories are missing; "." for the root */
        char *path;     /* absolute, without links: for messages and as a key, never to be opened */
        int fd;         /* O_PATH; -1 when nothing is there */
        struct stat st; /* of it */
};

#define SPOT_NONE ((struct spot){ .parent = -1, .fd = -1 })
void spot_done(struct spot *s);
#define CLEANUP_SPOT CLEANUP(spot_done)

/*
 * Finds a path: relative ones start at the root, absolute ones must lie in it, links are followed as long as they stay
 * inside. Fails with -EXDEV when it leads out ("path is outside workspace root…"), with -ENOENT when a link on the way
 * leads to nothing; that the end is missing is no failure. Returns 0 or -errno with an error.
 */
int workspace_find(const struct workspace *w, const char *path, struct spot *ret, struct error *e);

/*
 * Opens what was found, a file or a directory, with the flags of open(2). Does not hang on whatever stands there by now.
 * Fails with -ESTALE when it is another file than the one that was found.
 */
int spot_open(const struct spot *s, int flags, struct error *e);

/* Makes a file where nothing is, with the directories that are missing, and opens it for writing. -EEXIST otherwise. */
int spot_create(struct spot *s, mode_t mode, struct error *e);

/*
 * Puts a file with this content in place, at once and for good: who reads sees the old one or the new one, also after a
 * crash. Directories that are missing are made. What is there keeps its mode and owner, a new file gets `mode`. Fails with
 * -ESTALE, and changes nothing, when somebody else wrote there since it was found. The spot then holds the new file.
 */
int spot_replace(struct spot *s, const void *data, size_t length, mode_t mode, struct error *e);

#endif
