/*
 * Probes the network wall: a network namespace that has only loopback, and redirects every TCP connection to egress.
 *
 * What it is for: `maximum` always has a network namespace, and a plan that names hosts has one with a redirection in
 * it. This file asks for each step: the namespace, its loopback, an nftables NAT table, and a redirected connection.
 *
 * How it works: each question makes a new user and network namespace and sends it the same netlink messages as for a
 * box (net_setup.h). The last question connects to an address that no host has (192.0.2.1, reserved for documentation
 * by RFC 5737). The connection must reach our listener, and SO_ORIGINAL_DST must be that address.
 *
 * What it trusts: the kernel's netlink answers. No packet leaves the machine: the namespace has no device but loopback.
 *
 * Needs of the kernel: network namespaces; nf_tables with nft_chain_nat, nft_redir, nft_fib_inet and nft_reject_inet,
 * built in or loadable.
 */
#include "linux/probes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "linux/probe_child.h"
#include "linux/net_setup.h"
#include "linux/probe_namespaces.h"
#include "policy/plan.h"

enum { UNUSED_ADDRESS = 0xc0000201 }; /* 192.0.2.1 */

static int raise_loopback(struct probe_answer *a)
{
        int r = net_loopback_up();
        return r < 0 ? probe_fail_with(a, -r, "bring loopback up") : 0;
}

static int add_rules(struct probe_answer *a)
{
        int r = net_send_messages(NETLINK_NETFILTER, &net_rules);
        return r < 0 ? probe_fail_with(a, -r, "add an nftables redirect") : 0;
}

static int listen_at(uint16_t port, struct probe_answer *a)
{
        int fd = net_listen(SOCK_STREAM, false, port);
        return fd < 0 ? probe_fail_with(a, -fd, "listen on loopback") : fd;
}

/*
 * Returns -errno when the connection does not arrive at the listener. TCP completes the handshake before accept(), so
 * one process can be both client and server.
 */
static int connect_and_accept(int listener, const struct sockaddr_in *to, int *ret_fd)
{
        CLEANUP_FD int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (client < 0)
                return -errno;
        if (connect(client, (const struct sockaddr *)to, sizeof *to) < 0 && errno != EINPROGRESS)
                return -errno;
        struct pollfd p = { .fd = listener, .events = POLLIN };
        if (poll(&p, 1, 2000) != 1)
                return -ETIMEDOUT;
        struct sockaddr_in from;
        socklen_t length = sizeof from;
        int fd = accept4(listener, (struct sockaddr *)&from, &length, SOCK_CLOEXEC);
        if (fd < 0)
                return -errno;
        *ret_fd = fd;
        return 0;
}

static int ask_namespace(unsigned long unused, struct probe_answer *a)
{
        (void)unused;
        int r = probe_enter_namespaces(CLONE_NEWNET, a);
        if (r < 0)
                return r;
        /* The host's interfaces are not in the new namespace, and its loopback is down: nothing can be reached. */
        CLEANUP_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9),
                                  .sin_addr.s_addr = htonl(UNUSED_ADDRESS) };
        if (fd < 0)
                return probe_fail(a, "make a socket");
        if (connect(fd, (const struct sockaddr *)&to, sizeof to) == 0 || errno != ENETUNREACH)
                return probe_fail_with(a, EPROTO, "verify that no address can be reached");
        probe_describe(a, "made, and no address can be reached from it");
        return 0;
}

static int ask_loopback(unsigned long unused, struct probe_answer *a)
{
        (void)unused;
        int r = probe_enter_namespaces(CLONE_NEWNET, a);
        if (r >= 0)
                r = raise_loopback(a);
        if (r < 0)
                return r;
        const struct sockaddr_in to = { .sin_family = AF_INET,
                                        .sin_port = htons(RESERVED_PORT_HTTP_PROXY),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        CLEANUP_FD int listener = listen_at(RESERVED_PORT_HTTP_PROXY, a);
        if (listener < 0)
                return listener;
        CLEANUP_FD int fd = -1;
        r = connect_and_accept(listener, &to, &fd);
        return r < 0 ? probe_fail_with(a, -r, "connect over loopback") : 0;
}

static int ask_nftables(unsigned long unused, struct probe_answer *a)
{
        (void)unused;
        int r = probe_enter_namespaces(CLONE_NEWNET, a);
        if (r >= 0)
                r = add_rules(a);
        if (r < 0)
                return r;
        probe_describe(a, "table, chains and rules added");
        return 0;
}

static int ask_redirect(unsigned long unused, struct probe_answer *a)
{
        (void)unused;
        int r = probe_enter_namespaces(CLONE_NEWNET, a);
        if (r >= 0)
                r = raise_loopback(a);
        if (r >= 0 && (r = net_send_messages(NETLINK_ROUTE, &net_routes_v4)) < 0)
                return probe_fail_with(a, -r, "add a route");
        if (r >= 0)
                r = add_rules(a);
        if (r < 0)
                return r;
        CLEANUP_FD int listener = listen_at(BOX_PORT_TRANSPARENT, a);
        if (listener < 0)
                return listener;
        const struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(443),
                                        .sin_addr.s_addr = htonl(UNUSED_ADDRESS) };
        CLEANUP_FD int fd = -1;
        r = connect_and_accept(listener, &to, &fd);
        if (r < 0)
                return probe_fail_with(a, -r, "redirect a connection");
        struct sockaddr_in original = { 0 };
        socklen_t length = sizeof original;
        if (getsockopt(fd, IPPROTO_IP, SO_ORIGINAL_DST, &original, &length) < 0)
                return probe_fail(a, "read SO_ORIGINAL_DST");
        if (original.sin_addr.s_addr != to.sin_addr.s_addr || original.sin_port != to.sin_port)
                return probe_fail_with(a, EPROTO, "verify SO_ORIGINAL_DST");
        probe_describe(a, "a connection to 192.0.2.1:443 was redirected");
        return 0;
}

void probe_net(struct probe_report *report)
{
        static const struct probe_question questions[] = {
                { FEATURE_NET_NAMESPACE, ask_namespace, 0 },
                { FEATURE_LOOPBACK, ask_loopback, 0 },
                { FEATURE_NFTABLES, ask_nftables, 0 },
                { FEATURE_TCP_REDIRECT, ask_redirect, 0 },
        };
        probe_features(report, questions, ARRAY_SIZE(questions));
}
