/*
 * net: a network namespace has a loopback device and nothing else. A plan without network gets no network sockets at
 * all, which the filter (wall_seccomp.c) and Landlock's rules for ports enforce.
 *
 * A box that may reach hosts has listeners: sockets that the keeper makes inside the box, and that egress serves from
 * outside. All outgoing TCP is redirected to one of them, DNS to another, and everything else is rejected. No process
 * in the box can change that: the capabilities are gone before the command starts. When egress exits, the listeners
 * close.
 *
 * Without nftables only the proxies work, and connections that do not use one fail, because there is no route.
 *
 * A box without a network namespace has two proxies on the host's loopback, which the front has made. Its sockets
 * (socket_server.c), Landlock's rules for ports and the filter ensure that it reaches nothing else.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "linux/box_setup.h"
#include "linux/confine.h"
#include "wire/egress_protocol.h"
#include "linux/filter_install.h"
#include "linux/net_setup.h"
#include "linux/probes.h"
#include "wire/packet.h"

static int open_listener(const struct box_setup *setup, enum egress_listener_kind listener, int type, uint16_t port,
                         bool v6, struct error *e)
{
        const struct egress_listener_message m = { .listener = listener, .port = port, .v6 = v6 };
        CLEANUP_FD int fd = net_listen(type, v6, port);
        int r = fd < 0 ? fd : packet_send(setup->request->egress, &m, sizeof m, fd);
        return r < 0 ? error_errno(e, -r, "cannot make a listener at port %u", port) : 0;
}

/* Makes the listeners of one address family and sends them to egress. */
static int open_listeners_for_family(const struct box_setup *setup, bool transparent, bool v6, struct error *e)
{
        static const struct {
                enum egress_listener_kind listener;
                int type;
                uint16_t port;
        } listeners[] = {
                { LISTENER_TRANSPARENT, SOCK_STREAM, BOX_PORT_TRANSPARENT },
                { LISTENER_DNS_UDP, SOCK_DGRAM, RESERVED_PORT_DNS },
                { LISTENER_DNS_TCP, SOCK_STREAM, RESERVED_PORT_DNS },
                { LISTENER_HTTP_PROXY, SOCK_STREAM, RESERVED_PORT_HTTP_PROXY },
                { LISTENER_SOCKS_PROXY, SOCK_STREAM, RESERVED_PORT_SOCKS },
        };
        int r = 0;
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(listeners); i++)
                if (transparent || listeners[i].listener >= LISTENER_HTTP_PROXY)
                        r = open_listener(setup, listeners[i].listener, listeners[i].type, listeners[i].port, v6, e);
        for (size_t i = 0; r == 0 && i < setup->plan->local_ports.count; i++)
                r = open_listener(setup, LISTENER_LOCAL_PORT, SOCK_STREAM, setup->plan->local_ports.list[i].port, v6,
                                  e);
        return r;
}

/* Waits until egress serves the listeners: nothing runs before that. */
static int wait_for_egress(const struct box_setup *setup, struct error *e)
{
        const struct egress_listener_message complete = { .complete = true };
        char byte;
        ssize_t n = packet_send(setup->request->egress, &complete, sizeof complete, -1);
        while (n >= 0 && (n = read(setup->request->egress, &byte, 1)) < 0 && errno == EINTR)
                n = 0;
        return n == 1 ? 0 : error_set(e, EPIPE, "egress did not start");
}

static int setup_network(struct box_setup *setup, struct error *e)
{
        int nftables_error = net_send_messages(NETLINK_NETFILTER, &net_rules);
        bool transparent = nftables_error == 0;
        /* IPv6 may be disabled */
        bool v6 = transparent && net_send_messages(NETLINK_ROUTE, &net_routes_v6) == 0;
        int r = transparent ? net_send_messages(NETLINK_ROUTE, &net_routes_v4) : 0;
        if (r < 0)
                return error_errno(e, -r, "cannot add an address and a route");
        if (!transparent) {
                struct error note;
                error_errno(&note, -nftables_error,
                            "without nftables only programs that use a proxy reach hosts: http://127.0.0.1:%d, "
                            "socks5h://127.0.0.1:%d",
                            RESERVED_PORT_HTTP_PROXY, RESERVED_PORT_SOCKS);
                send_to_front(setup, BOX_SHORTFALL, 1, &note);
        }
        r = open_listeners_for_family(setup, transparent, false, e);
        if (r == 0 && v6)
                r = open_listeners_for_family(setup, transparent, true, e);
        return r < 0 ? r : wait_for_egress(setup, e);
}

/* A socket belongs to the network namespace in which it was made, and egress cannot enter the box's. */
int net_send_socket(int egress)
{
        char byte;
        ssize_t n = recv(egress, &byte, 1, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n != 1)
                return -EPIPE;
        CLEANUP_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        return packet_send(egress, &byte, 1, fd);
}

static int prepare(struct box_setup *setup, struct error *e)
{
        if (!plan_has_namespace(setup->plan, NAMESPACE_NET))
                return setup->request->proxies ? wait_for_egress(setup, e) : 0;
        int r = net_loopback_up();
        if (r < 0)
                return error_errno(e, -r, "cannot bring the loopback up");
        return setup->request->egress < 0 ? 0 : setup_network(setup, e);
}

static void report(const struct enforced_state *s, struct text *out)
{
        unsigned rights = filter_rights_from_plan(s->plan, s->guard);
        text_add(out, s->egress && !plan_has_namespace(s->plan, NAMESPACE_NET)
                              ? "the hosts that are allowed, by name and by proxy"
                      : s->egress               ? "the hosts that are allowed, by name"
                      : rights & FILTER_NETWORK ? "a loopback of the box's own"
                      : rights & FILTER_UNIX    ? "unix sockets only"
                                                : "no sockets");
}

const struct wall_ops wall_net = { "net", .probe = probe_net, .prepare = prepare, .report = report };
