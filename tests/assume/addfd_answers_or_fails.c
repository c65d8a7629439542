/*
 * The guard and the socket server answer a notified call with a descriptor, by one ioctl. If that fails, they can still
 * answer with an error.
 */
#include "assume_seccomp.h"

#include <sys/resource.h>

#ifndef SECCOMP_ADDFD_FLAG_SEND
#define SECCOMP_ADDFD_FLAG_SEND (1UL << 1)
#endif

/* Forks a child that makes one notified call; `full`: with no free descriptor. Receives the notification. */
static pid_t start_call(int listener, bool full, struct seccomp_notif *ret)
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
                skip_cannot("receive a notification");
        return pid;
}

static int answer_with_fd(int listener, uint64_t id)
{
        struct seccomp_notif_addfd add = {
                .id = id, .flags = SECCOMP_ADDFD_FLAG_SEND, .srcfd = STDIN_FILENO, .newfd_flags = O_CLOEXEC
        };
        return ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0 ? errno : 0;
}

int main(void)
{
        assume("ADDFD with SEND answers in one step; if the caller has no free descriptor it fails with EMFILE and the "
               "call can still get another answer; if the caller is dead it fails with ENOENT");
        int listener = filter_getppid(SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER);
        struct seccomp_notif request;
        pid_t pid = start_call(listener, false, &request);
        int added = answer_with_fd(listener, request.id), child_status = wait_for(pid);
        pid = start_call(listener, true, &request);
        int added_to_full = answer_with_fd(listener, request.id);
        struct seccomp_notif_resp denial = { .id = request.id, .error = -EXDEV };
        bool denial_sent = ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &denial) == 0;
        int denied_status = wait_for(pid);
        pid = start_call(listener, false, &request);
        (void)kill(pid, SIGKILL);
        (void)wait_for(pid);
        int added_to_dead = answer_with_fd(listener, request.id);
        conclude(added == 0 && child_status == 0 && added_to_full == EMFILE && denial_sent && denied_status == EXDEV &&
                         added_to_dead == ENOENT,
                 "ADDFD: %s, exit status %d; no free descriptor: %s, then answered with %s; dead caller: %s",
                 strerror(added), child_status, strerror(added_to_full), strerror(denied_status),
                 strerror(added_to_dead));
}
