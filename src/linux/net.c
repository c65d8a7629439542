/*
 * The network wall: a network namespace with loopback alone, in which every TCP connection lands with egress.
 *
 * What it is for: `maximum` always has a network namespace, and a plan that names hosts has one with a redirection in
 * it. This file asks for each step: the namespace, its loopback, an nftables NAT table, and a connection that is
 * caught.
 *
 * How it works: in a fresh user and network namespace, over netlink, with no tool in between. The last question is
 * put as a box would put it: connect to an address that exists nowhere (192.0.2.1, kept for documentation by RFC
 * 5737) and see who answers, and which address the kernel says was asked for.
 *
 * What it trusts: the kernel's netlink answers. No packet leaves: the namespace has no device but loopback.
 *
 * Needs of the kernel: network namespaces; nf_tables with nft_chain_nat and nft_redir, built in or loadable.
 */
#include "linux/probes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/common.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <libnftnl/table.h>
#include <linux/if.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter_ipv4.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "linux/ask.h"
#include "linux/spaces.h"

enum { LOOPBACK_INDEX = 1, NAT_OUTPUT_PRIORITY = -100 };
enum { NOWHERE = 0xc0000201 }; /* 192.0.2.1 */
static const char table_name[] = "ringwall", chain_name[] = "output";

static int raise_loopback(struct answer *a)
{
        CLEANUP_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return ask_failed(a, "make a socket");
        struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
        if (ioctl(fd, SIOCSIFFLAGS, &request) < 0)
                return ask_failed(a, "bring loopback up");
        return 0;
}

static void close_netlink(struct mnl_socket **s)
{
        if (*s)
                (void)mnl_socket_close(*s);
}

/* Sends messages that each ask for an acknowledgement, and takes that many. 0, or -errno of the first refusal. */
static int transact(int bus, const void *data, size_t length, unsigned int acknowledgements)
{
        CLEANUP(close_netlink) struct mnl_socket *s = mnl_socket_open2(bus, SOCK_CLOEXEC);
        if (!s || mnl_socket_bind(s, 0, MNL_SOCKET_AUTOPID) < 0)
                return -errno;
        if (mnl_socket_sendto(s, data, length) < 0)
                return -errno;
        while (acknowledgements-- > 0) {
                char reply[4096];
                ssize_t n = mnl_socket_recvfrom(s, reply, sizeof reply);
                if (n < 0)
                        return -errno;
                /* Sequence and port are not checked: nobody else talks in this namespace. */
                if (mnl_cb_run(reply, (size_t)n, 0, 0, NULL, NULL) < 0)
                        return -errno;
        }
        return 0;
}

/* Everything goes out through loopback, from 127.0.0.1: enough of a route for a connect() to be made and caught. */
static int route_everything(struct answer *a)
{
        char buffer[512] = { 0 };
        struct nlmsghdr *h = mnl_nlmsg_put_header(buffer);
        h->nlmsg_type = RTM_NEWROUTE;
        h->nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_ACK;
        struct rtmsg *route = mnl_nlmsg_put_extra_header(h, sizeof *route);
        route->rtm_family = AF_INET;
        route->rtm_table = RT_TABLE_MAIN;
        route->rtm_protocol = RTPROT_STATIC;
        route->rtm_scope = RT_SCOPE_LINK;
        route->rtm_type = RTN_UNICAST;
        mnl_attr_put_u32(h, RTA_OIF, LOOPBACK_INDEX);
        mnl_attr_put_u32(h, RTA_PREFSRC, htonl(INADDR_LOOPBACK));
        int r = transact(NETLINK_ROUTE, buffer, h->nlmsg_len, 1);
        return r < 0 ? ask_failed_with(a, -r, "add a route") : 0;
}

static struct nlmsghdr *put(struct mnl_nlmsg_batch *batch, uint16_t type, uint16_t flags)
{
        return nftnl_nlmsg_build_hdr(mnl_nlmsg_batch_current(batch), type, NFPROTO_IPV4,
                                     (uint16_t)(NLM_F_CREATE | NLM_F_ACK | flags), 0);
}

static int put_table(struct mnl_nlmsg_batch *batch)
{
        struct nftnl_table *t = nftnl_table_alloc();
        if (!t)
                return -ENOMEM;
        (void)nftnl_table_set_str(t, NFTNL_TABLE_NAME, table_name);
        nftnl_table_nlmsg_build_payload(put(batch, NFT_MSG_NEWTABLE, 0), t);
        nftnl_table_free(t);
        (void)mnl_nlmsg_batch_next(batch);
        return 0;
}

static int put_chain(struct mnl_nlmsg_batch *batch)
{
        struct nftnl_chain *c = nftnl_chain_alloc();
        if (!c)
                return -ENOMEM;
        (void)nftnl_chain_set_str(c, NFTNL_CHAIN_TABLE, table_name);
        (void)nftnl_chain_set_str(c, NFTNL_CHAIN_NAME, chain_name);
        (void)nftnl_chain_set_str(c, NFTNL_CHAIN_TYPE, "nat");
        nftnl_chain_set_u32(c, NFTNL_CHAIN_HOOKNUM, NF_INET_LOCAL_OUT);
        nftnl_chain_set_s32(c, NFTNL_CHAIN_PRIO, NAT_OUTPUT_PRIORITY);
        nftnl_chain_nlmsg_build_payload(put(batch, NFT_MSG_NEWCHAIN, 0), c);
        nftnl_chain_free(c);
        (void)mnl_nlmsg_batch_next(batch);
        return 0;
}

/* meta l4proto tcp redirect to :port */
static int add_expressions(struct nftnl_rule *rule, uint16_t port)
{
        struct nftnl_expr *meta = nftnl_expr_alloc("meta"), *compare = nftnl_expr_alloc("cmp");
        struct nftnl_expr *number = nftnl_expr_alloc("immediate"), *redirect = nftnl_expr_alloc("redir");
        struct nftnl_expr *const all[] = { meta, compare, number, redirect };
        bool complete = true;
        for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
                complete = complete && all[i];
                if (all[i])
                        nftnl_rule_add_expr(rule, all[i]); /* the rule frees it */
        }
        if (!complete)
                return -ENOMEM;
        const uint8_t tcp = IPPROTO_TCP;
        const uint16_t network_port = htons(port);
        nftnl_expr_set_u32(meta, NFTNL_EXPR_META_KEY, NFT_META_L4PROTO);
        nftnl_expr_set_u32(meta, NFTNL_EXPR_META_DREG, NFT_REG_1);
        nftnl_expr_set_u32(compare, NFTNL_EXPR_CMP_SREG, NFT_REG_1);
        nftnl_expr_set_u32(compare, NFTNL_EXPR_CMP_OP, NFT_CMP_EQ);
        (void)nftnl_expr_set(compare, NFTNL_EXPR_CMP_DATA, &tcp, sizeof tcp);
        nftnl_expr_set_u32(number, NFTNL_EXPR_IMM_DREG, NFT_REG_1);
        (void)nftnl_expr_set(number, NFTNL_EXPR_IMM_DATA, &network_port, sizeof network_port);
        nftnl_expr_set_u32(redirect, NFTNL_EXPR_REDIR_REG_PROTO_MIN, NFT_REG_1);
        return 0;
}

static int put_rule(struct mnl_nlmsg_batch *batch, uint16_t port)
{
        struct nftnl_rule *rule = nftnl_rule_alloc();
        if (!rule)
                return -ENOMEM;
        (void)nftnl_rule_set_str(rule, NFTNL_RULE_TABLE, table_name);
        (void)nftnl_rule_set_str(rule, NFTNL_RULE_CHAIN, chain_name);
        int r = add_expressions(rule, port);
        if (r == 0) {
                nftnl_rule_nlmsg_build_payload(put(batch, NFT_MSG_NEWRULE, NLM_F_APPEND), rule);
                (void)mnl_nlmsg_batch_next(batch);
        }
        nftnl_rule_free(rule);
        return r;
}

/* table, chain and rule in one transaction: all of it or nothing */
static int add_redirect(uint16_t port, struct answer *a)
{
        enum { MESSAGES = 3 };
        char buffer[2 * 4096];
        struct mnl_nlmsg_batch *batch = mnl_nlmsg_batch_start(buffer, sizeof buffer / 2);
        if (!batch)
                return ask_failed_with(a, ENOMEM, "build a ruleset");
        (void)nftnl_batch_begin(mnl_nlmsg_batch_current(batch), 0);
        (void)mnl_nlmsg_batch_next(batch);
        int r = put_table(batch);
        if (r == 0)
                r = put_chain(batch);
        if (r == 0)
                r = put_rule(batch, port);
        (void)nftnl_batch_end(mnl_nlmsg_batch_current(batch), 0);
        (void)mnl_nlmsg_batch_next(batch);
        if (r == 0)
                r = transact(NETLINK_NETFILTER, mnl_nlmsg_batch_head(batch), mnl_nlmsg_batch_size(batch), MESSAGES);
        mnl_nlmsg_batch_stop(batch);
        return r < 0 ? ask_failed_with(a, -r, "add an nftables redirect") : 0;
}

/* A listener on 127.0.0.1; its port comes back in host order. */
static int listen_somewhere(uint16_t *ret_port, struct answer *a)
{
        CLEANUP_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t length = sizeof address;
        if (fd < 0 || bind(fd, (const struct sockaddr *)&address, length) < 0 || listen(fd, 1) < 0 ||
            getsockname(fd, (struct sockaddr *)&address, &length) < 0)
                return ask_failed(a, "listen on loopback");
        *ret_port = ntohs(address.sin_port);
        return TAKE_FD(fd);
}

/* -errno when the connection did not arrive. TCP completes a handshake without accept(), so one process plays both. */
static int connect_and_accept(int listener, const struct sockaddr_in *to, int *ret_fd)
{
        CLEANUP_FD int out = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (out < 0)
                return -errno;
        if (connect(out, (const struct sockaddr *)to, sizeof *to) < 0 && errno != EINPROGRESS)
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

static int ask_namespace(unsigned long unused, struct answer *a)
{
        (void)unused;
        int r = spaces_enter(CLONE_NEWNET, a);
        if (r < 0)
                return r;
        /* The host's interfaces must be gone: a fresh loopback is down, so nothing can be reached. */
        CLEANUP_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(NOWHERE) };
        if (fd < 0)
                return ask_failed(a, "make a socket");
        if (connect(fd, (const struct sockaddr *)&to, sizeof to) == 0 || errno != ENETUNREACH)
                return ask_failed_with(a, EPROTO, "find no way out");
        ask_say(a, "made; it has no way out");
        return 0;
}

static int ask_loopback(unsigned long unused, struct answer *a)
{
        (void)unused;
        int r = spaces_enter(CLONE_NEWNET, a);
        if (r >= 0)
                r = raise_loopback(a);
        if (r < 0)
                return r;
        struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        uint16_t port = 0;
        CLEANUP_FD int listener = listen_somewhere(&port, a);
        if (listener < 0)
                return listener;
        to.sin_port = htons(port);
        CLEANUP_FD int fd = -1;
        r = connect_and_accept(listener, &to, &fd);
        return r < 0 ? ask_failed_with(a, -r, "connect over loopback") : 0;
}

static int ask_nftables(unsigned long unused, struct answer *a)
{
        (void)unused;
        int r = spaces_enter(CLONE_NEWNET, a);
        if (r >= 0)
                r = add_redirect(9, a);
        if (r < 0)
                return r;
        ask_say(a, "table, nat chain and redirect rule added");
        return 0;
}

static int ask_redirect(unsigned long unused, struct answer *a)
{
        (void)unused;
        int r = spaces_enter(CLONE_NEWNET, a);
        if (r >= 0)
                r = raise_loopback(a);
        if (r >= 0)
                r = route_everything(a);
        if (r < 0)
                return r;
        uint16_t port = 0;
        CLEANUP_FD int listener = listen_somewhere(&port, a);
        if (listener < 0)
                return listener;
        r = add_redirect(port, a);
        if (r < 0)
                return r;
        const struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(443),
                                        .sin_addr.s_addr = htonl(NOWHERE) };
        CLEANUP_FD int fd = -1;
        r = connect_and_accept(listener, &to, &fd);
        if (r < 0)
                return ask_failed_with(a, -r, "catch a connection");
        struct sockaddr_in asked = { 0 };
        socklen_t length = sizeof asked;
        if (getsockopt(fd, IPPROTO_IP, SO_ORIGINAL_DST, &asked, &length) < 0)
                return ask_failed(a, "ask where it wanted to go");
        if (asked.sin_addr.s_addr != to.sin_addr.s_addr || asked.sin_port != to.sin_port)
                return ask_failed_with(a, EPROTO, "get told where it wanted to go");
        ask_say(a, "a connect to 192.0.2.1:443 came to us");
        return 0;
}

void net_probe(struct probe_report *report)
{
        static const struct question questions[] = {
                { FEATURE_NET, ask_namespace, 0 },
                { FEATURE_LOOPBACK, ask_loopback, 0 },
                { FEATURE_NFTABLES, ask_nftables, 0 },
                { FEATURE_REDIRECT, ask_redirect, 0 },
        };
        ask_all(report, questions, ARRAY_SIZE(questions));
}
