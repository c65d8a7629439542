/* places.c: a link that must not be replaced becomes a mount point of itself, and still leads where it led. */
#include "assume.h"

int main(void)
{
        assume("a symbolic link can be mounted on itself, is followed as before, and cannot be unlinked or replaced");
        make_private_tmp();
        if (mkdir("/tmp/d", 0700) < 0 || mkdir("/tmp/real", 0700) < 0 || mkdir("/tmp/real/f", 0700) < 0 ||
            symlink("../real", "/tmp/d/link") < 0)
                cannot_ask("make files");
        int tree = open_tree(AT_FDCWD, "/tmp/d/link", OPEN_TREE_CLONE | AT_SYMLINK_NOFOLLOW);
        int here = open("/tmp/d/link", O_PATH | O_NOFOLLOW);
        bool moved = move_mount(tree, "", here, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0;
        bool followed = access("/tmp/d/link/f", F_OK) == 0;
        int unlinked = unlink("/tmp/d/link") < 0 ? errno : 0;
        int replaced = rename("/tmp/real", "/tmp/d/link") < 0 ? errno : 0;
        int taken = rename("/tmp/d/link", "/tmp/d/other") < 0 ? errno : 0;
        conclude(moved && followed && unlinked == EBUSY && replaced && taken == EBUSY,
                 "mounted: %d, followed: %d, unlink: %s, replace: %s, move away: %s", moved, followed, strerror(unlinked),
                 strerror(replaced), strerror(taken));
}
