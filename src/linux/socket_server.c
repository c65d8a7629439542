/*
 * Sockets for a box without a network namespace; see socket_server.h.
 *
 * What it is for: such a box is on the host's network. Landlock lets its programs connect to the ports of their
 * proxies, but does not check addresses: the same port of any machine would be allowed. So no program makes a TCP
 * socket itself. Its socket() is notified, and the answer is a socket that cannot leave the machine:
 *
 * - It is bound to the loopback device. Whatever it sends goes there, whatever the routes are, and no process without
 *   capabilities can bind it to another device (assume: loopback_device_stays_bound).
 * - It is bound to 127.0.0.1, which no other device sends out, and stays so when it is disconnected (assume:
 *   loopback_source_stays_home). It has no port yet, so it could be bound once more; Landlock, which allows no port for
 *   bind(), forbids that (assume: landlock_keeps_a_socket_bound).
 *
 * The machine's own addresses are reached over the loopback too. So the proxies occupy their ports at all addresses
 * (src/box/loopback_proxies.c); at a local port that the plan names, any server on this machine can be reached.
 *
 * What an attacker controls: the arguments, which are in registers and cannot change any more, and how often it calls.
 * Each answer needs a socket only for a moment; nothing is kept.
 *
 * Needs of the kernel: SO_BINDTODEVICE for an ordinary user (5.7); ADDFD with SEND (5.14), so that the descriptor is
 * installed only together with the answer.
 */
#include "linux/socket_server.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "linux/kernel_abi.h"

int socket_make(int nonblocking)
{
        const struct sockaddr_in loopback = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        static const char device[] = "lo";
        const int on = 1;
        CLEANUP_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | nonblocking, IPPROTO_TCP);
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, sizeof device) < 0 ||
            setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on) < 0 ||
            bind(fd, (const struct sockaddr *)&loopback, sizeof loopback) < 0)
                return -errno;
        return TAKE_FD(fd);
}

int socket_serve(int listener, const struct seccomp_notif *request)
{
        enum { TYPE_MASK = 0xf };
        const int flags = (int)((uint32_t)request->data.args[1] & ~(uint32_t)TYPE_MASK);
        if (flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK))
                return EINVAL;
        CLEANUP_FD int fd = socket_make(flags & SOCK_NONBLOCK);
        if (fd < 0)
                return fd == -EMFILE ? ENFILE : -fd; /* the limit is this process's, not the caller's */
        struct seccomp_notif_addfd addfd = { .id = request->id, .flags = SECCOMP_ADDFD_FLAG_SEND, .srcfd = (uint32_t)fd,
                                             .newfd_flags = flags & SOCK_CLOEXEC ? O_CLOEXEC : 0 };
        return ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &addfd) < 0 ? errno : 0;
}
