/* Filters can be stacked in any order: neither a notification nor a later filter undoes a denial. */
#include "assume_seccomp.h"

/* Returns 0 if getppid fails with EXDEV although other filters notify or allow it. */
static int try_order(bool notify_first)
{
        pid_t pid = fork();
        if (pid == 0) {
                (void)alarm(5); /* an unanswered notification would hang */
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
        int notify_then_errno = try_order(true), errno_then_notify = try_order(false);
        if (notify_then_errno == 77 || errno_then_notify == 77)
                skip_cannot("install filters");
        conclude(notify_then_errno == 0 && errno_then_notify == 0,
                 "notify then errno: %d, errno then notify: %d (0 is EXDEV)", notify_then_errno, errno_then_notify);
}
