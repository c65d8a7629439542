/*
 * Sockets for a box without a network namespace; see socket_giver.h.
 *
 * What it is for: such a box is on the host's network. Landlock lets its programs connect to the ports of their proxies, but knows no
 * addresses: the same port of any machine would do. So no program makes a TCP socket itself. Its call is notified, and it gets
 * one that cannot leave:
 *
 *   - It is bound to the loopback device. What it sends goes there, whatever the routes are, and without capabilities nobody can bind it
 *     to another (assume: loopback_device_stays_bound).
 *   - It is bound to 127.0.0.1, an address that no other device lets out, and stays so when it is disconnected (assume:
 *     loopback_source_stays_home). It has no port yet, so it could be bound once more; Landlock, which allows no port for that,
 *     forbids it (assume: landlock_keeps_a_socket_bound).
 *
 * The machine's own addresses are behind the loopback too. The proxies therefore have their ports at all of them (src/box/proxies.c); at
 * the number of a local port that the plan names, what listens there can be reached.
 *
 * What an attacker controls: the arguments, which lie in registers and cannot change any more, and how often it asks. Each answer
 * costs a socket that is ours for a moment; nothing is kept.
 *
 * Needs of the kernel: devices that an ordinary user may bind to (5.7); ADDFD with SEND (5.14), so that a descriptor is in the box
 * only if the call was answered by it.
 */
#include "linux/socket_giver.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "linux/kernel_abi.h"

static int make_socket(int nonblocking)
{
        const struct sockaddr_in home = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        static const char device[] = "lo";
        const int on = 1;
        CLEANUP_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | nonblocking, IPPROTO_TCP);
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, sizeof device) < 0 ||
            setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on) < 0 ||
            bind(fd, (const struct sockaddr *)&home, sizeof home) < 0)
                return -errno;
        return TAKE_FD(fd);
}

int socket_give(int listener, const struct seccomp_notif *request)
{
        enum { TYPE = 0xf };
        const int flags = (int)((uint32_t)request->data.args[1] & ~(uint32_t)TYPE);
        if (flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK))
                return EINVAL;
        CLEANUP_FD int fd = make_socket(flags & SOCK_NONBLOCK);
        if (fd < 0)
                return fd == -EMFILE ? ENFILE : -fd; /* the keeper's room is not the caller's */
        struct seccomp_notif_addfd gift = { .id = request->id, .flags = SECCOMP_ADDFD_FLAG_SEND, .srcfd = (uint32_t)fd,
                                            .newfd_flags = flags & SOCK_CLOEXEC ? O_CLOEXEC : 0 };
        return ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &gift) < 0 ? errno : 0;
}
