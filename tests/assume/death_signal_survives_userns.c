/* A keeper enters namespaces and is still killed when the front dies. */
#include "assume.h"

int main(void)
{
        assume("PR_SET_PDEATHSIG is kept by unshare(CLONE_NEWUSER) and by writing uid_map, and fork does not inherit "
               "it");
        become_ordinary_user();
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
                skip_cannot("set the death signal");
        enter_namespaces(CLONE_NEWNS | CLONE_NEWPID);
        int kept = 0;
        (void)prctl(PR_GET_PDEATHSIG, &kept);
        pid_t pid = fork();
        if (pid == 0) {
                int inherited = 0;
                (void)prctl(PR_GET_PDEATHSIG, &inherited);
                _exit(inherited);
        }
        int inherited = wait_for(pid);
        conclude(kept == SIGKILL && inherited == 0, "after unshare: %d, in a child: %d", kept, inherited);
}
