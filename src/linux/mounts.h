/*
 * Thin wrappers of the new mount interface (fsopen, open_tree, move_mount). All return -1 with errno, like the calls.
 */
#ifndef RINGWALL_LINUX_MOUNTS_H
#define RINGWALL_LINUX_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>

/* A new file system, not attached anywhere. Options are pairs of name and value; an empty value sets a flag. */
int mounts_new(const char *type, const char *const *options, uint64_t attributes);

/* A recursive copy of the mounts at a path, not attached anywhere. An empty path means the directory itself. */
int mounts_clone(int directory, const char *path);

/* Sets MOUNT_ATTR_… on the mount, and with `recursive` on all mounts below it. */
int mounts_set(int tree, uint64_t attributes, bool recursive);

/*
 * Attaches the tree at a path below a directory. May follow symbolic links, so no other process may control that path.
 */
int mounts_attach(int tree, int directory, const char *name);

/* Attaches the tree on top of `target`, an O_PATH descriptor. */
int mounts_move(int tree, int target);

/* Stops the propagation of mounts and unmounts between this namespace and others. */
int mounts_make_private(void);

/* After pivot_root(".", "."): detaches the old root, which is mounted on top of the current directory. */
int mounts_detach_here(void);

#endif
