/* The first process of a pid namespace is a child of the process that made the namespace. */
#include "assume.h"

int main(void)
{
        assume("unshare(CLONE_NEWPID) does not move the caller; its next child is process 1");
        become_ordinary_user();
        pid_t before = getpid();
        enter_namespaces(CLONE_NEWPID);
        pid_t after = getpid(), child = fork();
        if (child < 0)
                skip_cannot("fork");
        if (child == 0)
                _exit(getpid() == 1 ? 0 : 1);
        bool first = wait_for(child) == 0;
        conclude(before == after && first, "the caller stayed %d; its child was %s", (int)after,
                 first ? "process 1" : "not process 1");
}
