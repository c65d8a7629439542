/* Reaching the host of a connection: checks that it is allowed, resolves and dials it; see connection.c. */
#include "egress/connection_state.h"

#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include "egress/dial.h"
#include "egress/socks.h"
#include "egress/upstream_connect.h"
#include "policy/default_ports.h"

/* The socket is connected to the host, perhaps through the upstream proxy. May free the connection. */
static void start_relaying(struct connection *c, int fd)
{
        struct event_base *base = c->egress->base;
        const int on = 1;
        c->server = c->up.to = c->down.from = fd;
        (void)setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof on);
        c->server_read = event_new(base, fd, EV_READ | EV_PERSIST, connection_on_event, c);
        c->server_write = event_new(base, fd, EV_WRITE | EV_PERSIST, connection_on_event, c);
        if (!c->server_read || !c->server_write) {
                connection_abort(c);
                return;
        }
        c->reached = true;
        c->state = STATE_CARRYING;
        if (c->listener == LISTENER_SOCKS_PROXY)
                socks_reply(SOCKS_CONNECTED, &c->down.ahead);
        connection_advance(c);
}

static void on_tunnel(void *data, int fd, int status)
{
        struct connection *c = data;
        char answer[24] = "no valid answer";
        c->tunnel = NULL;
        if (status)
                (void)snprintf(answer, sizeof answer, "status %d", status);
        if (fd < 0)
                connection_refuse(c, REASON_UPSTREAM_REJECTED, answer);
        else
                start_relaying(c, fd);
}

static void on_reached(void *data, int fd, const union address *address)
{
        struct connection *c = data;
        struct egress *g = c->egress;
        c->dialling = NULL;
        c->address = *address;
        if (fd < 0) {
                connection_refuse(c, c->upstream ? REASON_UPSTREAM_UNREACHABLE : REASON_UNREACHABLE, "");
        } else if (!c->upstream) {
                start_relaying(c, fd);
        } else {
                c->tunnel = upstream_connect_start(g->base, fd, &g->upstream, c->host, c->port, on_tunnel, c);
                if (!c->tunnel)
                        connection_abort(c);
        }
}

static void on_resolved(void *data, enum deny_reason reason, const union address *addresses, size_t count)
{
        struct connection *c = data;
        c->resolving = NULL;
        if (reason != REASON_NONE) {
                if (count)
                        c->address = addresses[0];
                connection_refuse(c, c->upstream ? REASON_UPSTREAM_UNREACHABLE : reason, "");
                return;
        }
        c->dialling = dial_addresses(c->egress->base, addresses, count, on_reached, c);
        if (!c->dialling)
                connection_abort(c);
}

/* The reason to refuse this host and port, or REASON_NONE. */
static enum deny_reason find_refusal(struct connection *c)
{
        const struct plan *plan = c->egress->plan;
        const struct host_rule *rule = NULL;
        bool allowed = hosts_decide(&plan->hosts, c->host, c->port, &rule);
        c->rule = rule ? (int32_t)(rule - plan->hosts.list) : -1;
        c->generation = c->egress->generation;
        if (allowed)
                return REASON_NONE;
        return rule                                          ? REASON_HOST_DENIED
               : hosts_allow_any_port(&plan->hosts, c->host) ? REASON_PORT_NOT_ALLOWED
                                                             : REASON_HOST_NOT_ALLOWED;
}

void connection_reach(struct connection *c)
{
        struct egress *g = c->egress;
        enum deny_reason reason = find_refusal(c);
        if (reason != REASON_NONE) {
                connection_refuse(c, reason, "");
                return;
        }
        const struct destination *proxy = &g->upstream.proxy;
        bool allow_private = hosts_match(&g->plan->private_hosts, c->host, c->port) != NULL;
        inspection_init(&c->inspection, c->host, c->port, c->is_proxy_request);
        c->state = STATE_REACHING;
        if (!port_is_default(NULL, c->port)) /* a server may speak first there, so the program may be silent */
                (void)event_del(c->timer);
        c->upstream = upstream_proxy_applies(&g->upstream, c->host, c->port);
        c->resolving = c->upstream ? resolve_start(g->resolver, proxy->host, proxy->port, true, on_resolved, c)
                                   : resolve_start(g->resolver, c->host, c->port, allow_private, on_resolved, c);
        if (!c->resolving)
                connection_abort(c);
        else
                connection_advance(c);
}

void connection_reach_loopback(struct connection *c)
{
        struct egress *g = c->egress;
        union address addresses[] = {
                { .v4 = { .sin_family = AF_INET,
                          .sin_port = htons(c->port),
                          .sin_addr.s_addr = htonl(INADDR_LOOPBACK) } },
                { .v6 = { .sin6_family = AF_INET6, .sin6_port = htons(c->port), .sin6_addr = IN6ADDR_LOOPBACK_INIT } },
        };
        c->state = STATE_REACHING;
        c->up.allowance = RELAY_UNLIMITED;
        (void)snprintf(c->host, sizeof c->host, "localhost");
        (void)event_del(c->timer);
        if (c->listener == LISTENER_LOCAL_PORT) {
                c->dialling = dial_addresses(g->base, addresses, ARRAY_SIZE(addresses), on_reached, c);
        } else {
                int fd = egress_request_socket(g);
                c->dialling = fd < 0 ? NULL : dial_with_socket(g->base, fd, addresses, on_reached, c);
        }
        if (!c->dialling)
                connection_abort(c);
        else
                (void)event_del(c->client_read);
}
