/* wall_harden.c runs after wall_namespaces.c, because a process that is not dumpable cannot write its own uid_map. */
#include "assume.h"

int main(void)
{
        assume("PR_SET_DUMPABLE=0 before writing uid_map makes the write fail with EACCES");
        become_ordinary_user();
        char map[32];
        (void)snprintf(map, sizeof map, "0 %u 1", geteuid());
        if (unshare(CLONE_NEWUSER) < 0)
                skip_cannot("make a user namespace");
        if (prctl(PR_SET_DUMPABLE, 0) < 0)
                skip_cannot("clear the dumpable flag");
        bool refused = !write_text("/proc/self/uid_map", map) && errno == EACCES;
        const char *first = refused ? "EACCES" : strerror(errno);
        (void)prctl(PR_SET_DUMPABLE, 1);
        bool accepted = write_text("/proc/self/uid_map", map);
        conclude(refused && accepted, "not dumpable: %s; dumpable: %s", first, accepted ? "written" : strerror(errno));
}
