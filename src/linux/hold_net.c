/*
 * net: a network namespace has a loopback and nothing else. A plan without network gets no socket at all, by the filter
 * (hold_seccomp.c) and by Landlock's ports.
 *
 * A box that may reach hosts has entrances to them: sockets that are made here, inside, and served by egress, outside. All TCP
 * that goes elsewhere is redirected to one of them, DNS to another, and what is neither is rejected. Nothing in the box can
 * change that: the capabilities are gone before the command starts. When egress dies the entrances die with it.
 *
 * Without nftables only the proxies serve, and connections that do not use one fail for want of a route.
 *
 * A box without a network namespace has two proxies on the host's loopback, which the front has made. That it reaches nothing else is
 * held by its sockets (socket_giver.c), by Landlock's ports and by the filter.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "linux/confine.h"
#include "linux/egress_wire.h"
#include "linux/filter_install.h"
#include "linux/hold.h"
#include "linux/net_setup.h"
#include "wire/wire.h"

static const char stage[] = "network namespace";

static int make_entrance(const struct site *site, enum egress_entrance entrance, int type, uint16_t port, bool v6, struct error *e)
{
        const struct egress_listener m = { .entrance = entrance, .port = port, .v6 = v6 };
        CLEANUP_FD int fd = net_listen(type, v6, port);
        int r = fd < 0 ? fd : wire_send(site->request->egress, &m, sizeof m, fd);
        return r < 0 ? error_errno(e, -r, stage, "cannot make an entrance at port %u", port) : 0;
}

/* Those of one family, to egress. */
static int make_entrances(const struct site *site, bool direct, bool v6, struct error *e)
{
        static const struct {
                enum egress_entrance entrance;
                int type;
                uint16_t port;
        } entrances[] = {
                { EGRESS_TRANSPARENT, SOCK_STREAM, BOX_PORT_DIRECT }, { EGRESS_DNS_PACKETS, SOCK_DGRAM, BOX_PORT_DNS },
                { EGRESS_DNS_STREAM, SOCK_STREAM, BOX_PORT_DNS },     { EGRESS_HTTP_PROXY, SOCK_STREAM, BOX_PORT_HTTP },
                { EGRESS_SOCKS_PROXY, SOCK_STREAM, BOX_PORT_SOCKS },
        };
        int r = 0;
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(entrances); i++)
                if (direct || entrances[i].entrance >= EGRESS_HTTP_PROXY)
                        r = make_entrance(site, entrances[i].entrance, entrances[i].type, entrances[i].port, v6, e);
        for (size_t i = 0; r == 0 && i < site->plan->local_ports.count; i++)
                r = make_entrance(site, EGRESS_LOCAL_PORT, SOCK_STREAM, site->plan->local_ports.list[i].port, v6, e);
        return r;
}

/* Nothing runs before somebody serves. */
static int await_egress(const struct site *site, struct error *e)
{
        const struct egress_listener complete = { .entrance = EGRESS_COMPLETE };
        char byte;
        ssize_t n = wire_send(site->request->egress, &complete, sizeof complete, -1);
        while (n >= 0 && (n = read(site->request->egress, &byte, 1)) < 0 && errno == EINTR)
                n = 0;
        return n == 1 ? 0 : error_set(e, EPIPE, "egress", "the process that carries the box's connections did not start");
}

static int open_entrances(struct site *site, struct error *e)
{
        int refused = net_tell_kernel(NETLINK_NETFILTER, &net_rules);
        bool direct = refused == 0;
        bool v6 = direct && net_tell_kernel(NETLINK_ROUTE, &net_routes_v6) == 0; /* a kernel may have been told to have none */
        int r = direct ? net_tell_kernel(NETLINK_ROUTE, &net_routes_v4) : 0;
        if (r < 0)
                return error_errno(e, -r, stage, "cannot add an address and a route");
        if (!direct) {
                struct error note;
                error_errno(&note, -refused, stage, "without nftables only programs that use a proxy reach hosts: http://127.0.0.1:%d, "
                            "socks5h://127.0.0.1:%d", BOX_PORT_HTTP, BOX_PORT_SOCKS);
                site_tell(site, BOX_NOTE, 1, &note);
        }
        r = make_entrances(site, direct, false, e);
        if (r == 0 && v6)
                r = make_entrances(site, direct, true, e);
        return r < 0 ? r : await_egress(site, e);
}

/* A socket belongs to the namespace that it was made in, and egress cannot go there. */
int net_give_socket(int egress)
{
        char byte;
        ssize_t n = recv(egress, &byte, 1, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n != 1)
                return -EPIPE;
        CLEANUP_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        return wire_send(egress, &byte, 1, fd);
}

static int prepare(struct site *site, struct error *e)
{
        if (!site_has(site->plan, SPACE_NET))
                return site->request->proxies ? await_egress(site, e) : 0;
        int r = net_raise_loopback();
        if (r < 0)
                return error_errno(e, -r, stage, "cannot bring the loopback up");
        return site->request->egress < 0 ? 0 : open_entrances(site, e);
}

static void report(const struct standing *s, struct text *out)
{
        unsigned rights = filter_rights(s->plan);
        text_add(out, s->egress && !site_has(s->plan, SPACE_NET) ? "the hosts that are allowed, by name and by proxy"
                      : s->egress ? "the hosts that are allowed, by name"
                      : rights & FILTER_NETWORK ? "a loopback of the box's own"
                      : rights & FILTER_UNIX ? "unix sockets only" : "no sockets");
}

const struct hold hold_net = { "net", prepare, NULL, report };
