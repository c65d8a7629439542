/*
 * Thin wrappers of the new mount interface (fsopen, open_tree, move_mount). All return -1 with errno, like the calls.
 */
#ifndef RINGWALL_LINUX_MOUNT_API_H
#define RINGWALL_LINUX_MOUNT_API_H

#include <stdbool.h>
#include <stdint.h>

/* A new file system, not attached anywhere. Options are pairs of name and value; an empty value sets a flag. */
int mount_new_fs(const char *type, const char *const *options, uint64_t attributes);

/* A recursive copy of the mounts at a path, not attached anywhere. An empty path means the directory itself. */
int mount_clone_tree(int directory, const char *path);

/* Sets MOUNT_ATTR_… on the mount, and with `recursive` on all mounts below it. */
int mount_set_attributes(int tree, uint64_t attributes, bool recursive);

/*
 * Attaches the tree at a path below a directory. May follow symbolic links, so no other process may control that path.
 */
int mount_attach_at(int tree, int directory, const char *name);

/* Attaches the tree on top of `target`, an O_PATH descriptor. */
int mount_attach_fd(int tree, int target);

/* Stops the propagation of mounts and unmounts between this namespace and others. */
int mount_make_all_private(void);

/* After pivot_root(".", "."): detaches the old root, which is mounted on top of the current directory. */
int mount_detach_cwd(void);

#endif
