/* The new mount interface in the few shapes that are needed. All return -1 with errno, like the calls below them. */
#ifndef RINGWALL_LINUX_MOUNTS_H
#define RINGWALL_LINUX_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>

/* A new file system, not attached anywhere. Options are name, value pairs; a value of "" makes a flag. */
int mounts_new(const char *type, const char *const *options, uint64_t attributes);

/* A copy of the mounts at a path and below, not attached anywhere. "" is the directory itself. */
int mounts_clone(int directory, const char *path);

/* Sets MOUNT_ATTR_… on it, and on all below it. */
int mounts_set(int tree, uint64_t attributes, bool recursive);

/* Shows the tree at a name below a directory, which must lead over no link that somebody else could have made. */
int mounts_attach(int tree, int directory, const char *name);

/* Attaches a tree on top of what `target` (O_PATH) is. */
int mounts_move(int tree, int target);

/* No mount or unmount travels between this namespace and another. */
int mounts_make_private(void);

/* After pivot_root(".", "."): the old root, which lies on top of us, goes. */
int mounts_detach_here(void);

#endif
