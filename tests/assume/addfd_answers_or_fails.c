/* A descriptor as the answer to a call: one step, which either is done or leaves the call waiting for another answer. */
#include "assume_seccomp.h"

#include <sys/resource.h>

#ifndef SECCOMP_ADDFD_FLAG_SEND
#define SECCOMP_ADDFD_FLAG_SEND (1UL << 1)
#endif

/* Starts a child that makes one call, which is notified. Returns its process. */
static pid_t call(int listener, bool full, struct seccomp_notif *ret)
{
        pid_t pid = fork();
        if (pid == 0) {
                struct rlimit none = { 0, 0 };
                if (full)
                        (void)setrlimit(RLIMIT_NOFILE, &none);
                long r = syscall(SYS_getppid);
                _exit(r >= 0 ? fcntl((int)r, F_GETFD) == FD_CLOEXEC ? 0 : 1 : errno);
        }
        *ret = (struct seccomp_notif){ 0 };
        if (pid < 0 || ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, ret) < 0)
                cannot_ask("receive a notification");
        return pid;
}

static int give(int listener, uint64_t id)
{
        struct seccomp_notif_addfd add = { .id = id, .flags = SECCOMP_ADDFD_FLAG_SEND, .srcfd = STDIN_FILENO, .newfd_flags = O_CLOEXEC };
        return ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0 ? errno : 0;
}

int main(void)
{
        assume("ADDFD with SEND answers in one step; if the caller has no room it fails with EMFILE and the call can be answered "
               "otherwise; if the caller is dead, with ENOENT");
        int listener = filter_getppid(SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER);
        struct seccomp_notif request;
        pid_t pid = call(listener, false, &request);
        int given = give(listener, request.id), got = wait_for(pid);
        pid = call(listener, true, &request);
        int full = give(listener, request.id);
        struct seccomp_notif_resp otherwise = { .id = request.id, .error = -EXDEV };
        bool answered = ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &otherwise) == 0;
        int heard = wait_for(pid);
        pid = call(listener, false, &request);
        (void)kill(pid, SIGKILL);
        (void)wait_for(pid);
        int dead = give(listener, request.id);
        conclude(given == 0 && got == 0 && full == EMFILE && answered && heard == EXDEV && dead == ENOENT,
                 "given: %s, got %d; to a full one: %s, then %s; to a dead one: %s", strerror(given), got, strerror(full),
                 strerror(heard), strerror(dead));
}
