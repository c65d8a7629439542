/* Wrappers of the new mount interface; see mount_api.h. */
#include "linux/mount_api.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

int mount_new_fs(const char *type, const char *const *options, uint64_t attributes)
{
        CLEANUP_FD int context = fsopen(type, FSOPEN_CLOEXEC);
        if (context < 0)
                return -1;
        for (; options && *options; options += 2) {
                enum fsconfig_command command = *options[1] ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG;
                if (fsconfig(context, command, options[0], *options[1] ? options[1] : NULL, 0) < 0)
                        return -1;
        }
        if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
                return -1;
        return fsmount(context, FSMOUNT_CLOEXEC, (unsigned)attributes);
}

int mount_clone_tree(int directory, const char *path)
{
        return open_tree(directory, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW |
                                                  (*path ? 0U : AT_EMPTY_PATH));
}

int mount_set_attributes(int tree, uint64_t attributes, bool recursive)
{
        struct mount_attr attr = { .attr_set = attributes };
        return mount_setattr(tree, "", AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0U), &attr, sizeof attr);
}

int mount_attach_at(int tree, int directory, const char *name)
{
        return move_mount(tree, "", directory, name, MOVE_MOUNT_F_EMPTY_PATH);
}

int mount_attach_fd(int tree, int target)
{
        return move_mount(tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

int mount_make_all_private(void)
{
        struct mount_attr attr = { .propagation = MS_PRIVATE };
        return mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attr, sizeof attr);
}

int mount_detach_cwd(void)
{
        return umount2(".", MNT_DETACH);
}
