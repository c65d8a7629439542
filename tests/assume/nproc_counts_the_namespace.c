/* Without a cgroup, RLIMIT_NPROC set in a box's user namespace limits the box and nobody else. */
#include "assume.h"

#include <sys/resource.h>

enum { OUTSIDE = 9, LIMIT = 8 };

static int start_sleepers(pid_t *pids, int count)
{
        int started = 0;
        while (started < count && (pids[started] = fork()) >= 0) {
                if (pids[started] == 0) {
                        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                        (void)sleep(20);
                        _exit(0);
                }
                started++;
        }
        return started;
}

static void stop(const pid_t *pids, int count)
{
        for (int i = 0; i < count; i++) {
                (void)kill(pids[i], SIGKILL);
                (void)wait_for(pids[i]);
        }
}

int main(void)
{
        assume("RLIMIT_NPROC in a fresh user namespace counts that namespace's processes alone");
        become_ordinary();
        pid_t outside[OUTSIDE], inside[LIMIT];
        int others = start_sleepers(outside, OUTSIDE);
        enter_namespaces(0);
        const struct rlimit limit = { LIMIT, LIMIT };
        if (setrlimit(RLIMIT_NPROC, &limit) < 0)
                cannot_ask("set RLIMIT_NPROC");
        errno = 0;
        int started = start_sleepers(inside, LIMIT), error = errno;
        stop(inside, started);
        stop(outside, others);
        conclude(others == OUTSIDE && started == LIMIT - 1 && error == EAGAIN,
                 "with %d processes outside and a limit of %d, %d were forked, then: %s", others, LIMIT, started,
                 strerror(error));
}
