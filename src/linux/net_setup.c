/* Setting up a network namespace; see net_setup.h. */
#include "linux/net_setup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

enum { BACKLOG = 1024 };

int net_loopback_up(void)
{
        struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
        CLEANUP_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        return fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) < 0 ? -errno : 0;
}

/* Counts the acknowledgements in one packet of the kernel. Returns their number, or the first error as -errno. */
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

int net_send_messages(int protocol, const struct net_messages *m)
{
        CLEANUP_FD int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
        if (fd < 0 || send(fd, m->bytes, m->length, 0) != (ssize_t)m->length)
                return -errno;
        for (unsigned left = m->acknowledgements; left;) {
                _Alignas(struct nlmsghdr) char packet[8192];
                ssize_t n = recv(fd, packet, sizeof packet, 0);
                int count = n < 0 ? -errno : count_answers(packet, (size_t)n);
                if (count < 0)
                        return count;
                left -= (unsigned)count < left ? (unsigned)count : left;
        }
        return 0;
}

/* The start of a file in /proc, as text; "" if it cannot be read. */
static const char *read_start(const char *path, char *buffer, size_t size)
{
        CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, buffer, size - 1);
        buffer[n > 0 ? n : 0] = '\0';
        return buffer;
}

/* The number of the counter `name` among those in a line of /proc/net/snmp, or -1. The line begins with its group. */
static int find_counter(const char *line, const char *name)
{
        size_t length = strlen(name);
        for (int index = 0; *line && *line != '\n'; index++) {
                size_t n = strcspn(line, " \n");
                if (n == length && memcmp(line, name, length) == 0)
                        return index;
                line += n + (line[n] == ' ');
        }
        return -1;
}

static unsigned read_number(const char *line, int index)
{
        for (; index > 0 && line; index--)
                line = (line = strchr(line, ' ')) ? line + 1 : NULL;
        return line ? (unsigned)strtoul(line, NULL, 10) : 0;
}

/* /proc/net/snmp has pairs of lines, the names and the values; the first pair is that of IPv4. */
static unsigned count_unroutable_v4(void)
{
        char buffer[2048];
        const char *names = read_start("/proc/self/net/snmp", buffer, sizeof buffer);
        const char *values = strchr(names, '\n');
        int index = values ? find_counter(names, "OutNoRoutes") : -1;
        return index < 0 ? 0 : read_number(values + 1, index);
}

/* /proc/net/snmp6 has a line for each counter. */
static unsigned count_unroutable_v6(void)
{
        static const char name[] = "Ip6OutNoRoutes";
        char buffer[4096];
        const char *line = strstr(read_start("/proc/self/net/snmp6", buffer, sizeof buffer), name);
        return line ? (unsigned)strtoul(line + strlen(name), NULL, 10) : 0;
}

unsigned net_count_unroutable(void)
{
        return count_unroutable_v4() + count_unroutable_v6();
}

int net_listen(int type, bool v6, uint16_t port)
{
        const struct sockaddr_in6 six = { .sin6_family = AF_INET6,
                                          .sin6_port = htons(port),
                                          .sin6_addr = IN6ADDR_LOOPBACK_INIT };
        const struct sockaddr_in four = { .sin_family = AF_INET,
                                          .sin_port = htons(port),
                                          .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        const struct sockaddr *at = v6 ? (const struct sockaddr *)&six : (const struct sockaddr *)&four;
        CLEANUP_FD int fd = socket(v6 ? AF_INET6 : AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0 || bind(fd, at, v6 ? sizeof six : sizeof four) < 0 ||
            (type == SOCK_STREAM && listen(fd, BACKLOG) < 0))
                return -errno;
        return TAKE_FD(fd);
}
