/*
 * Containment: the only way from an untrusted path to a file of a workspace. Theory of operation: workspace.c.
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
 * Opens the directory `root`, which must be absolute and exist. Its links are resolved once, here: if the name later
 * refers to another directory, this one stays the root.
 */
int workspace_open(const char *root, struct workspace **ret, struct error *e);
void workspace_free(struct workspace *w);
static inline void workspace_free_pointer(struct workspace **w)
{
        workspace_free(*w);
}
#define CLEANUP_WORKSPACE CLEANUP(workspace_free_pointer)

/* The root's path: absolute, without links. */
const char *workspace_root(const struct workspace *w);

/* Behaves as if the kernel had no openat2; for tests. */
void workspace_disable_openat2(struct workspace *w);

/* A resolved path, as open descriptors: of a file or directory that exists, or that can be created. */
struct held_path {
        int parent; /* the directory of the file, or its deepest ancestor that exists; for the root: the root itself */
        char *name;     /* relative to parent: one name, several when directories are missing; "." for the root */
        char *path;     /* absolute, without links: for messages and as a key; never opened */
        int fd;         /* O_PATH, or open for writing after held_path_replace(); -1 when the file does not exist */
        struct stat st; /* of fd */
};

#define HELD_PATH_NONE ((struct held_path){ .parent = -1, .fd = -1 })
void held_path_done(struct held_path *s);
#define CLEANUP_HELD_PATH CLEANUP(held_path_done)

/*
 * Resolves a path: a relative one starts at the root, an absolute one must lie in it, links are followed if they stay
 * inside. Fails with -EXDEV when the path leads outside ("path is outside workspace root…"), with -ENOENT when a link
 * on the way is dangling. A path whose end does not exist is not an error. Returns 0 or -errno with an error.
 */
int workspace_resolve(const struct workspace *w, const char *path, struct held_path *ret, struct error *e);

/*
 * Opens the file or directory that was found, with the flags of open(2). Never blocks, even if it was replaced by a
 * FIFO. Fails with -ESTALE if it was replaced since it was found.
 */
int held_path_open(const struct held_path *s, int flags, struct error *e);

/* Creates a file and its missing directories, and opens it to read and write. -EEXIST if something exists there. */
int held_path_create(struct held_path *s, mode_t mode, struct error *e);

/*
 * Moves the entry `name` of the directory `from` to *to, where nothing may be, and creates missing directories. -EXDEV:
 * that is on another file system. On success *to holds the entry.
 */
int held_path_move_here(struct held_path *to, const struct held_path *from, const char *name, struct error *e);

/*
 * Writes or replaces the file, atomically and durably: a reader sees the old content or the new, also after a crash.
 * Creates missing directories; a new file gets `mode`. An existing file must be writable for the caller, and keeps its
 * owner, mode and attributes; where a new file cannot have these, the old one is written in place, not atomically.
 * Fails with -ESTALE, and leaves the file alone, if another process changed it since it was found; a file system
 * without RENAME_EXCHANGE cannot detect this. -ENOTRECOVERABLE: it was detected too late, the new content is in place,
 * and the other process's version is in a temporary file beside it. On success *s has the new file.
 */
int held_path_replace(struct held_path *s, const void *data, size_t length, mode_t mode, struct error *e);

#endif
