/* A symlink that must not be replaced is bind mounted on itself (resolved_paths.c, RESOLVED_PINNED), and can still be
 * followed. */
#include "assume.h"

int main(void)
{
        assume("a symbolic link can be mounted on itself, is followed as before, and cannot be unlinked or replaced");
        make_private_tmp();
        if (mkdir("/tmp/d", 0700) < 0 || mkdir("/tmp/real", 0700) < 0 || mkdir("/tmp/real/f", 0700) < 0 ||
            symlink("../real", "/tmp/d/link") < 0)
                skip_cannot("make files");
        int tree = open_tree(AT_FDCWD, "/tmp/d/link", OPEN_TREE_CLONE | AT_SYMLINK_NOFOLLOW);
        int link = open("/tmp/d/link", O_PATH | O_NOFOLLOW);
        bool mounted = move_mount(tree, "", link, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0;
        bool followed = access("/tmp/d/link/f", F_OK) == 0;
        int unlinked = unlink("/tmp/d/link") < 0 ? errno : 0;
        int replaced = rename("/tmp/real", "/tmp/d/link") < 0 ? errno : 0;
        int renamed = rename("/tmp/d/link", "/tmp/d/other") < 0 ? errno : 0;
        conclude(mounted && followed && unlinked == EBUSY && replaced && renamed == EBUSY,
                 "mounted: %d, followed: %d, unlink: %s, replace: %s, rename: %s", mounted, followed,
                 strerror(unlinked), strerror(replaced), strerror(renamed));
}
