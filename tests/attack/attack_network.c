/* Attacks on the loopback of the host, and sockets of special families. They use no address but 127.0.0.1 and ::1. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/vm_sockets.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attack.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

static struct sockaddr_in loopback(const char *port)
{
        return (struct sockaddr_in){ .sin_family = AF_INET,
                                     .sin_port = htons((in_port_t)parse_number(port)),
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static int connect_ip4(const char *port, int protocol)
{
        struct sockaddr_in address = loopback(port);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, protocol);
        if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
                return -errno;
        return write_line(fd);
}

static int connect_tcp(char **a)
{
        return connect_ip4(a[0], IPPROTO_TCP);
}

static int connect_mptcp(char **a)
{
        int r = connect_ip4(a[0], IPPROTO_MPTCP);
        return r == -EPROTONOSUPPORT || r == -ENOPROTOOPT ? CANNOT_TRY : r;
}

/* Connects to ::1, or to 127.0.0.1 as an IPv4-mapped IPv6 address. */
static int connect_ip6(const char *port, bool mapped)
{
        struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_port = htons((in_port_t)parse_number(port)) };
        inet_pton(AF_INET6, mapped ? "::ffff:127.0.0.1" : "::1", &address.sin6_addr);
        int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
                return -errno;
        return write_line(fd);
}

static int connect_tcp6(char **a)
{
        return connect_ip6(a[0], false);
}

static int connect_ipv4_mapped(char **a)
{
        return connect_ip6(a[0], true);
}

/* TCP fast open sends data with the first packet and needs no connect(). */
static int send_tcp_fast_open(char **a)
{
        struct sockaddr_in address = loopback(a[0]);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return -errno;
        return outcome(sendto(fd, "attacked", 8, MSG_FASTOPEN, (struct sockaddr *)&address, sizeof address));
}

static int send_udp(char **a)
{
        struct sockaddr_in address = loopback(a[0]);
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        return fd < 0 ? -errno : outcome(sendto(fd, "attacked", 8, 0, (struct sockaddr *)&address, sizeof address));
}

static int send_udp6(char **a)
{
        struct sockaddr_in6 address = { .sin6_family = AF_INET6,
                                        .sin6_port = htons((in_port_t)parse_number(a[0])),
                                        .sin6_addr = IN6ADDR_LOOPBACK_INIT };
        int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        return fd < 0 ? -errno : outcome(sendto(fd, "attacked", 8, 0, (struct sockaddr *)&address, sizeof address));
}

/* Listens on a port, so that a process outside can connect and control the box. */
static int listen_tcp(char **a)
{
        struct sockaddr_in address = loopback(a[0]);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 1) < 0)
                return -errno;
        struct pollfd incoming = { fd, POLLIN, 0 };
        if (poll(&incoming, 1, 3000) != 1)
                return -ETIMEDOUT;
        /* Without accept() the connection is reset when this process exits, maybe before the client sees it. */
        return outcome(accept4(fd, NULL, NULL, SOCK_CLOEXEC));
}

static int raw_socket(char **a)
{
        (void)a;
        struct sockaddr_in address = loopback("0");
        struct icmphdr echo = { .type = ICMP_ECHO };
        int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);
        return fd < 0 ? -errno
                      : outcome(sendto(fd, &echo, sizeof echo, 0, (struct sockaddr *)&address, sizeof address));
}

static int packet_socket(char **a)
{
        (void)a;
        int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
        return outcome(fd);
}

/* Lists the listening TCP sockets. */
static int netlink_dump(char **a)
{
        (void)a;
        struct {
                struct nlmsghdr head;
                struct inet_diag_req_v2 body;
        } request = { { sizeof request, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, 1, 0 },
                      { .sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP, .idiag_states = 1 << TCP_LISTEN } };
        char reply[8192];
        int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
        if (fd < 0 || send(fd, &request, sizeof request, 0) < 0)
                return -errno;
        return outcome(recv(fd, reply, sizeof reply, 0));
}

static int vsock_socket(char **a)
{
        (void)a;
        int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
        return fd < 0 && errno == EAFNOSUPPORT ? CANNOT_TRY : outcome(fd);
}

static int alg_socket(char **a)
{
        (void)a;
        int fd = socket(AF_ALG, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        return fd < 0 && errno == EAFNOSUPPORT ? CANNOT_TRY : outcome(fd);
}

const struct attack network_attacks[] = {
        { "connect_tcp", 1, connect_tcp },
        { "connect_mptcp", 1, connect_mptcp },
        { "connect_tcp6", 1, connect_tcp6 },
        { "connect_ipv4_mapped", 1, connect_ipv4_mapped },
        { "send_tcp_fast_open", 1, send_tcp_fast_open },
        { "send_udp", 1, send_udp },
        { "send_udp6", 1, send_udp6 },
        { "listen_tcp", 1, listen_tcp },
        { "raw_socket", 0, raw_socket },
        { "packet_socket", 0, packet_socket },
        { "netlink_dump", 0, netlink_dump },
        { "vsock_socket", 0, vsock_socket },
        { "alg_socket", 0, alg_socket },
        { 0 },
};
