/* For the programs that test sockets: a network namespace with a second device. */
#ifndef RINGWALL_TESTS_ASSUME_NET_H
#define RINGWALL_TESTS_ASSUME_NET_H

#include "assume.h"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define OWN_ADDRESS "192.0.2.1" /* the address of the second device */
#define FAR_ADDRESS "192.0.2.9" /* an address of another machine, routed through the second device */

static inline struct sockaddr_in make_address(const char *address, uint16_t port)
{
        struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
        (void)inet_pton(AF_INET, address, &a.sin_addr);
        return a;
}

static inline void add_attribute(struct nlmsghdr *h, uint16_t type, const char *data, size_t length)
{
        struct rtattr *a = (struct rtattr *)((char *)h + NLMSG_ALIGN(h->nlmsg_len));
        a->rta_type = type;
        a->rta_len = (uint16_t)RTA_LENGTH(length);
        memcpy(RTA_DATA(a), data, length);
        h->nlmsg_len = NLMSG_ALIGN(h->nlmsg_len) + (uint32_t)RTA_ALIGN(a->rta_len);
}

/* Makes a veth pair, one end of which is called "wire". */
static inline void make_veth_pair(void)
{
        static const char kind[] = { 8, 0, IFLA_INFO_KIND, 0, 'v', 'e', 't', 'h' };
        struct {
                struct nlmsghdr head;
                struct ifinfomsg link;
                char space[64];
        } m = { .head = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg)), .nlmsg_type = RTM_NEWLINK,
                          .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK } };
        struct {
                struct nlmsghdr head;
                struct nlmsgerr error;
                char space[256];
        } answer = { 0 };
        add_attribute(&m.head, IFLA_IFNAME, "wire", sizeof "wire");
        add_attribute(&m.head, IFLA_LINKINFO, kind, sizeof kind);
        int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
        if (fd < 0 || send(fd, &m, m.head.nlmsg_len, 0) < 0 || recv(fd, &answer, sizeof answer, 0) < 0)
                skip_cannot("use netlink");
        (void)close(fd);
        errno = -answer.error.error;
        if (errno)
                skip_cannot("make a second device");
}

/* Enters a new network namespace with a loopback and a second device, through which other addresses are routed. */
static inline void enter_network_namespace(void)
{
        struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP }, wire = { .ifr_name = "wire" };
        enter_namespaces(CLONE_NEWNET);
        make_veth_pair();
        struct sockaddr_in own = make_address(OWN_ADDRESS, 0);
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        memcpy(&wire.ifr_addr, &own, sizeof own);
        if (ioctl(fd, SIOCSIFFLAGS, &lo) < 0 || ioctl(fd, SIOCSIFADDR, &wire) < 0)
                skip_cannot("set up the devices");
        wire.ifr_flags = IFF_UP;
        if (ioctl(fd, SIOCSIFFLAGS, &wire) < 0)
                skip_cannot("bring the second device up");
        (void)close(fd);
}

/* Returns a listening socket. If *port is 0 the kernel chooses the port; *port is set to it. */
static inline int listen_at(const char *address, uint16_t *port)
{
        struct sockaddr_in a = make_address(address, *port);
        socklen_t length = sizeof a;
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(fd, 8) < 0 ||
            getsockname(fd, (struct sockaddr *)&a, &length) < 0)
                skip_cannot("listen");
        *port = ntohs(a.sin_port);
        return fd;
}

/* Returns a socket that is bound to 127.0.0.1, without a port yet. */
static inline int make_loopback_socket(void)
{
        const int on = 1;
        struct sockaddr_in a = make_address("127.0.0.1", 0);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0 || setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on) < 0 ||
            bind(fd, (struct sockaddr *)&a, sizeof a) < 0)
                skip_cannot("bind a socket");
        return fd;
}

/* Returns 0 or the errno of a non-blocking connect(). EINPROGRESS: the kernel sends packets. */
static inline int try_connect(int fd, const char *address, uint16_t port)
{
        struct sockaddr_in a = make_address(address, port);
        return connect(fd, (struct sockaddr *)&a, sizeof a) < 0 ? errno : 0;
}

/* Disconnects a socket, so that it can be connected again. */
static inline void disconnect(int fd)
{
        struct sockaddr none = { .sa_family = AF_UNSPEC };
        if (connect(fd, &none, sizeof none) < 0)
                skip_cannot("disconnect a socket");
}

#endif
