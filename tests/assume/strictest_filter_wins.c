/* Filters are stacked in any order: a denial cannot be undone by a notification, nor by a later filter. */
#include "assume_seccomp.h"

/* 0 when getppid gets the errno although another filter wants to notify it or allows it. */
static int try_order(bool notify_first)
{
        pid_t pid = fork();
        if (pid == 0) {
                (void)alarm(5); /* a notification that nobody answers would hang */
                if (notify_first)
                        (void)filter_getppid(SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER);
                (void)filter_getppid(SECCOMP_RET_ERRNO | EXDEV, 0);
                if (!notify_first)
                        (void)filter_getppid(SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER);
                (void)filter_getppid(SECCOMP_RET_ALLOW, 0);
                _exit(syscall(SYS_getppid) == -1 && errno == EXDEV ? 0 : 1);
        }
        return pid < 0 ? 1 : wait_for(pid);
}

int main(void)
{
        assume("of stacked filters the strictest verdict wins, in any order: ERRNO outranks USER_NOTIF and ALLOW");
        int first = try_order(true), last = try_order(false);
        if (first == 77 || last == 77)
                cannot_ask("install filters");
        conclude(first == 0 && last == 0, "notify then errno: %d, errno then notify: %d (0 is the errno)", first, last);
}
