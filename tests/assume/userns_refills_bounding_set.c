/* The keeper empties the bounding set inside the box's user namespace: entering one would fill it again. */
#include "assume.h"

#include <linux/capability.h>

static int has_sys_admin(void)
{
        return prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0);
}

int main(void)
{
        assume("unshare(CLONE_NEWUSER) undoes PR_CAPBSET_DROP, which fails with EPERM for an ordinary user outside a "
               "user namespace");
        become_ordinary_user();
        bool refused = prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0) < 0 && errno == EPERM;
        enter_namespaces(0);
        if (prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0) < 0)
                skip_cannot("drop from the bounding set");
        int dropped = has_sys_admin();
        if (unshare(CLONE_NEWUSER) < 0)
                skip_cannot("make a second user namespace");
        int again = has_sys_admin();
        conclude(refused && dropped == 0 && again == 1, "outside: %s; after the drop %d, after a new user namespace %d",
                 refused ? "EPERM" : "allowed", dropped, again);
}
