/*
 * Probes the guard, which performs system calls for the programs of a box (seccomp user notification).
 *
 * What it is for: the guard enforces the rules that mounts and Landlock cannot express. This file asks whether the
 * kernel lets it: install a listener, receive a notification, put a descriptor into the caller, read the caller's
 * memory, and delay the caller's signals until the call is answered.
 *
 * How it works: two processes per question. The asking child acts as the guard; its own child acts as the box: it
 * installs a filter that notifies one harmless call, sends the listener over a socket, and makes the call with a known
 * argument. If either process fails it exits, and the other sees the socket or the listener close, so neither hangs.
 *
 * What it trusts: here both processes are our own code. In a real box an attacker controls the caller's arguments and
 * memory, so a verdict must never depend on memory that can change after it was read.
 *
 * Needs of the kernel: notification 5.0, ADDFD 5.9, ADDFD that also answers 5.14, WAIT_KILLABLE_RECV 5.19;
 * process_vm_readv, which a container's filter or Yama may refuse.
 */
#include "linux/probes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"
#include "linux/probe_child.h"
#include "linux/kernel_abi.h"

enum { EXPECTED_VALUE = 4242 };
static const char known_argument[] = "ringwall"; /* the guard must be able to read it */

typedef int serve_function(int listener, const struct seccomp_notif *request, struct probe_answer *a);

struct exchange {
        unsigned long filter_flags;
        serve_function *serve;
        bool returns_fd; /* the notified call returns a descriptor, not EXPECTED_VALUE */
};

static int send_listener(int socket_fd, int listener)
{
        char byte = 0;
        struct iovec io = { .iov_base = &byte, .iov_len = 1 };
        union {
                struct cmsghdr header;
                char space[CMSG_SPACE(sizeof(int))];
        } control = { 0 };
        struct msghdr message = { .msg_iov = &io, .msg_iovlen = 1, .msg_control = &control,
                                  .msg_controllen = sizeof control };
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &listener, sizeof listener);
        return sendmsg(socket_fd, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Returns the listener; -1 when the peer closed the socket without sending one. */
static int receive_listener(int socket_fd)
{
        char byte;
        struct iovec io = { .iov_base = &byte, .iov_len = 1 };
        union {
                struct cmsghdr header;
                char space[CMSG_SPACE(sizeof(int))];
        } control;
        struct msghdr message = { .msg_iov = &io, .msg_iovlen = 1, .msg_control = &control,
                                  .msg_controllen = sizeof control };
        if (recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC) != 1)
                return -1;
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof(int)))
                return -1;
        int fd;
        memcpy(&fd, CMSG_DATA(c), sizeof fd);
        return fd;
}

/* Notifies getppid and allows the rest. Not by libseccomp, because 2.5 does not know WAIT_KILLABLE_RECV. */
static int install_listener(unsigned long flags)
{
        struct sock_filter code[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = { .len = ARRAY_SIZE(code), .filter = code };
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return -errno;
        int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER | flags, &program);
        return fd < 0 ? -errno : fd;
}

/* Acts as the box, in its own process. Returns 0 or a positive errno, which becomes the exit status. */
static int act_as_box(const struct exchange *x, int socket_fd)
{
        CLEANUP_FD int listener = install_listener(x->filter_flags);
        if (listener < 0)
                return -listener;
        int r = send_listener(socket_fd, listener);
        if (r < 0)
                return -r;
        fd_close(&listener); /* the guard has the only copy now: if it exits, the call fails with ENOSYS */
        long result = syscall(SYS_getppid, known_argument);
        if (result < 0)
                return errno;
        struct stat st;
        if (x->returns_fd)
                return fstat((int)result, &st) == 0 && S_ISFIFO(st.st_mode) ? 0 : EPROTO;
        return result == EXPECTED_VALUE ? 0 : EPROTO;
}

static int serve_value(int listener, const struct seccomp_notif *request, struct probe_answer *a)
{
        struct seccomp_notif_resp response = { .id = request->id, .val = EXPECTED_VALUE };
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response) < 0)
                return probe_fail(a, "answer the notification");
        return 0;
}

static int serve_memory(int listener, const struct seccomp_notif *request, struct probe_answer *a)
{
        char text[sizeof known_argument] = "";
        struct iovec local = { .iov_base = text, .iov_len = sizeof text };
        struct iovec remote = { .iov_base = (void *)(uintptr_t)request->data.args[0], .iov_len = sizeof text };
        if (process_vm_readv((pid_t)request->pid, &local, 1, &remote, 1, 0) != (ssize_t)sizeof text)
                return probe_fail(a, "read the caller's memory");
        if (memcmp(text, known_argument, sizeof text) != 0)
                return probe_fail_with(a, EPROTO, "find the argument in the caller's memory");
        return serve_value(listener, request, a);
}

static int serve_fd(int listener, const struct seccomp_notif *request, struct probe_answer *a)
{
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) < 0)
                return probe_fail(a, "make a pipe");
        CLEANUP_FD int reader = ends[0];
        CLEANUP_FD int writer = ends[1];
        struct seccomp_notif_addfd add = { .id = request->id, .flags = SECCOMP_ADDFD_FLAG_SEND,
                                           .srcfd = (uint32_t)writer };
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0)
                return probe_fail(a, "put a descriptor into the caller (Linux 5.14)");
        return 0;
}

static int serve_one(const struct exchange *x, int listener, struct probe_answer *a)
{
        struct seccomp_notif_sizes sizes;
        if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0)
                return probe_fail(a, "ask for the notification's size");
        union {
                struct seccomp_notif request;
                char bytes[512]; /* a newer kernel may write a longer struct; the buffer must be zeroed */
        } buffer = { .bytes = "" };
        if (sizes.seccomp_notif > sizeof buffer)
                return probe_fail_with(a, EOVERFLOW, "fit a notification into the buffer");
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &buffer.request) < 0)
                return probe_fail(a, "receive a notification");
        return x->serve(listener, &buffer.request, a);
}

enum { EXCHANGE_NOTIFY, EXCHANGE_ADDFD, EXCHANGE_WAIT_KILLABLE, EXCHANGE_READ_MEMORY };
static const struct exchange exchanges[] = {
        [EXCHANGE_NOTIFY] = { 0, serve_value, false },
        [EXCHANGE_ADDFD] = { 0, serve_fd, true },
        [EXCHANGE_WAIT_KILLABLE] = { SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, serve_value, false },
        [EXCHANGE_READ_MEMORY] = { 0, serve_memory, false },
};

static int ask_exchange(unsigned long which, struct probe_answer *a)
{
        const struct exchange *x = &exchanges[which];
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return probe_fail(a, "make a socket pair");
        CLEANUP_FD int guard_socket = pair[0];
        CLEANUP_FD int box_socket = pair[1];
        pid_t parent = getpid();
        pid_t pid = fork();
        if (pid < 0)
                return probe_fail(a, "fork");
        if (pid == 0) {
                probe_die_with_parent(parent);
                _exit(act_as_box(x, box_socket));
        }
        fd_close(&box_socket);
        int listener = receive_listener(guard_socket);
        int served = listener < 0 ? 0 : serve_one(x, listener, a);
        fd_close(&listener); /* before waiting, or a box without an answer would never wake up */
        int r = probe_wait_child(pid);
        if (served < 0)
                return served;
        return r < 0 ? probe_fail_with(a, -r, "install a listener and get an answer") : 0;
}

void probe_guard(struct probe_report *report)
{
        static const struct probe_question questions[] = {
                { FEATURE_NOTIFY, ask_exchange, EXCHANGE_NOTIFY },
                { FEATURE_ADDFD, ask_exchange, EXCHANGE_ADDFD },
                { FEATURE_WAIT_KILLABLE, ask_exchange, EXCHANGE_WAIT_KILLABLE },
                { FEATURE_VM_READV, ask_exchange, EXCHANGE_READ_MEMORY },
        };
        probe_features(report, questions, ARRAY_SIZE(questions));
}
