/*
 * Detaches a helper process; see daemonize.h. Other processes may wait until the front's output and terminal are
 * closed, or its working directory is unused, so a helper process must not keep them open.
 */
#include "linux/daemonize.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

void daemonize_child(const char *name, int first, int second)
{
        (void)setsid();
        detach_within_session(name, first, second);
}

void detach_within_session(const char *name, int first, int second)
{
        sigset_t all;
        (void)sigfillset(&all);
        (void)sigprocmask(SIG_BLOCK, &all, NULL);
        (void)setpgid(0, 0);
        (void)prctl(PR_SET_NAME, name);
        /* First moves both above 2: dup2() to 0 or 1 could overwrite the other one. */
        first = fcntl(first, F_DUPFD, 3);
        int other = second < 0 ? first : fcntl(second, F_DUPFD, 3);
        if (first < 0 || other < 0 || dup2(first, 0) < 0 || dup2(other, 1) < 0 || chdir("/") < 0 ||
            syscall(SYS_close_range, second < 0 ? 1U : 2U, ~0U, 0) < 0)
                _exit(1);
}

void wait_for_eof(int fd)
{
        char byte;
        while (read(fd, &byte, 1) < 0 && errno == EINTR)
                ;
}
