/* When a guard dies, the notified calls of its box must neither hang nor be executed. */
#include "assume_seccomp.h"

int main(void)
{
        assume("when the last listener is closed, notified calls fail with ENOSYS, even those that already wait");
        int listener = filter_getppid(SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER);
        pid_t waiting = fork();
        if (waiting == 0) {
                (void)close(listener);
                _exit(syscall(SYS_getppid) == -1 && errno == ENOSYS ? 0 : 1);
        }
        struct seccomp_notif request = { 0 };
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0)
                skip_cannot("receive a notification");
        (void)close(listener);
        int woken = wait_for(waiting);
        bool refused = syscall(SYS_getppid) == -1 && errno == ENOSYS;
        conclude(woken == 0 && refused, "the waiting call: %d (0 is ENOSYS), a new one: %s", woken,
                 refused ? "ENOSYS" : strerror(errno));
}
