/* Packets with descriptors; see packet.h. */
#include "wire/packet.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

int packet_send(int socket, const void *data, size_t length, int fd)
{
        union {
                struct cmsghdr align;
                char space[CMSG_SPACE(sizeof(int))];
        } control = { 0 };
        struct iovec piece = { .iov_base = (void *)(uintptr_t)data, .iov_len = length };
        struct msghdr m = { .msg_iov = &piece, .msg_iovlen = 1 };
        if (fd >= 0) {
                m.msg_control = control.space;
                m.msg_controllen = sizeof control.space;
                struct cmsghdr *c = CMSG_FIRSTHDR(&m);
                c->cmsg_level = SOL_SOCKET;
                c->cmsg_type = SCM_RIGHTS;
                c->cmsg_len = CMSG_LEN(sizeof(int));
                memcpy(CMSG_DATA(c), &fd, sizeof fd);
        }
        ssize_t sent = sendmsg(socket, &m, MSG_NOSIGNAL);
        return sent == (ssize_t)length ? 0 : sent < 0 ? -errno : -EMSGSIZE;
}

ssize_t packet_receive(int socket, void *data, size_t length, int flags, int *ret_fd)
{
        union {
                struct cmsghdr align;
                char space[CMSG_SPACE(sizeof(int))];
        } control = { 0 };
        struct iovec piece = { .iov_base = data, .iov_len = length };
        struct msghdr m = { .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control.space,
                            .msg_controllen = sizeof control.space };
        *ret_fd = -1;
        ssize_t n = recvmsg(socket, &m, flags | MSG_CMSG_CLOEXEC);
        if (n < 0 && errno == ECONNRESET) /* the peer exited without reading all; its own packets are still here */
                n = recvmsg(socket, &m, flags | MSG_CMSG_CLOEXEC);
        struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
        if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
                memcpy(ret_fd, CMSG_DATA(c), sizeof *ret_fd);
        return n < 0 ? -errno : n;
}
