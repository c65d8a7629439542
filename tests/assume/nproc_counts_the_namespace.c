/* Without a cgroup, RLIMIT_NPROC set in a box's user namespace limits the box alone. */
#include "assume.h"

#include <sys/resource.h>

enum { OUTSIDE_COUNT = 9, LIMIT = 8 };

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

static void kill_all(const pid_t *pids, int count)
{
        for (int i = 0; i < count; i++) {
                (void)kill(pids[i], SIGKILL);
                (void)wait_for(pids[i]);
        }
}

int main(void)
{
        assume("RLIMIT_NPROC in a fresh user namespace counts only that namespace's processes");
        become_ordinary_user();
        pid_t outside[OUTSIDE_COUNT], inside[LIMIT];
        int outside_count = start_sleepers(outside, OUTSIDE_COUNT);
        enter_namespaces(0);
        const struct rlimit limit = { LIMIT, LIMIT };
        if (setrlimit(RLIMIT_NPROC, &limit) < 0)
                skip_cannot("set RLIMIT_NPROC");
        errno = 0;
        int started = start_sleepers(inside, LIMIT), error = errno;
        kill_all(inside, started);
        kill_all(outside, outside_count);
        conclude(outside_count == OUTSIDE_COUNT && started == LIMIT - 1 && error == EAGAIN,
                 "with %d processes outside and a limit of %d, %d were forked, then: %s", outside_count, LIMIT, started,
                 strerror(error));
}
