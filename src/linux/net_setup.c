/* Setting up a network namespace; see net_setup.h. */
#include "linux/net_setup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/fd.h"

enum { BACKLOG = 1024 };

int net_raise_loopback(void)
{
        struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
        CLEANUP_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        return fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) < 0 ? -errno : 0;
}

/* Counts what the kernel acknowledges in one packet. Returns the number, or the first refusal as -errno. */
static int count_answers(const char *packet, size_t length)
{
        int count = 0;
        for (const struct nlmsghdr *h = (const void *)packet; NLMSG_OK(h, length); h = NLMSG_NEXT(h, length)) {
                const struct nlmsgerr *answer = NLMSG_DATA(h);
                if (h->nlmsg_type != NLMSG_ERROR)
                        continue;
                if (answer->error)
                        return answer->error;
                count++;
        }
        return count;
}

int net_tell_kernel(int bus, const struct net_messages *m)
{
        CLEANUP_FD int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, bus);
        if (fd < 0 || send(fd, m->bytes, m->length, 0) != (ssize_t)m->length)
                return -errno;
        for (unsigned left = m->acknowledgements; left;) {
                _Alignas(struct nlmsghdr) char packet[8192];
                ssize_t n = recv(fd, packet, sizeof packet, 0);
                int counted = n < 0 ? -errno : count_answers(packet, (size_t)n);
                if (counted < 0)
                        return counted;
                left -= (unsigned)counted < left ? (unsigned)counted : left;
        }
        return 0;
}

int net_listen(int type, bool v6, uint16_t port)
{
        const struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT };
        const struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        const struct sockaddr *at = v6 ? (const struct sockaddr *)&six : (const struct sockaddr *)&four;
        CLEANUP_FD int fd = socket(v6 ? AF_INET6 : AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0 || bind(fd, at, v6 ? sizeof six : sizeof four) < 0 || (type == SOCK_STREAM && listen(fd, BACKLOG) < 0))
                return -errno;
        return TAKE_FD(fd);
}
