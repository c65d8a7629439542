/* The bounding set is emptied inside the box's user namespace, never before. */
#include "assume.h"

#include <linux/capability.h>

static int has(void)
{
        return prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0);
}

int main(void)
{
        assume("unshare(CLONE_NEWUSER) undoes PR_CAPBSET_DROP, and outside of one an ordinary user gets EPERM from it");
        become_ordinary();
        bool refused = prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0) < 0 && errno == EPERM;
        enter_namespaces(0);
        if (prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0) < 0)
                cannot_ask("drop from the bounding set");
        int dropped = has();
        if (unshare(CLONE_NEWUSER) < 0)
                cannot_ask("make a second user namespace");
        int again = has();
        conclude(refused && dropped == 0 && again == 1, "outside: %s; after the drop %d, after a new user namespace %d",
                 refused ? "EPERM" : "allowed", dropped, again);
}
