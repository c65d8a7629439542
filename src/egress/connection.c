/*
 * Connections.
 *
 * What it is for: a program in the box connects to the fake address of a name, or asks a proxy for a name. This
 * code connects to that name and relays. Connections to local and published ports are only relayed.
 *
 * How it works: hosts_decide() decides about the name and the port. Then the name is resolved and dialled, while the
 * program's first bytes are inspected (inspection.c). Bytes pass only after the inspection has allowed them. They are
 * only peeked (MSG_PEEK), so the kernel can relay them unchanged (splice_relay.c), except the heads of HTTP requests,
 * which are read and sent from memory. connection_advance() is called after every event, does what is possible now, and
 * sets the events to wait for.
 *
 * A refusal is reported to the front, and to the program in its own protocol: an HTTP answer, a TLS alert, a SOCKS
 * reply, or a reset.
 *
 * What the program controls: which bytes it sends and when, and when it closes. The server controls the same. A
 * connection takes a fixed amount of memory and one HTTP head. The number of connections is capped; further ones wait
 * in the kernel's backlog.
 */
#include "egress/connection_state.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "egress/dial.h"
#include "egress/upstream_connect.h"

enum { FIRST_BYTES_SECONDS = 60 }; /* in which the program must send enough for the inspection to decide */

uint8_t connection_peeked[INSPECTION_MAX];

/* --- shared by the connection_*.c files --- */

void connection_set_timer(struct connection *c, int seconds)
{
        const struct timeval when = { .tv_sec = seconds };
        (void)event_add(c->timer, &when);
}

bool connection_peer_has_closed(int fd)
{
        struct pollfd p = { .fd = fd, .events = POLLRDHUP };
        return poll(&p, 1, 0) > 0;
}

void connection_watch_event(struct event *event, bool wanted)
{
        if (wanted)
                (void)event_add(event, NULL);
        else
                (void)event_del(event);
}

void connection_set_low_water(struct connection *c, int bytes)
{
        if (c->low_water != bytes)
                (void)setsockopt(c->client, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes);
        c->low_water = bytes;
}

void connection_wait_for_more(struct connection *c, size_t seen)
{
        connection_set_low_water(c, seen < INT32_MAX ? (int)seen + 1 : INT32_MAX);
        c->seen = seen;
        c->awaits = AWAITS_BYTES;
}

bool connection_consume(struct connection *c, size_t bytes)
{
        return recv(c->client, connection_peeked, bytes, MSG_DONTWAIT) == (ssize_t)bytes;
}

bool connection_is_at_urgent_byte(int fd, ssize_t seen)
{
        int available = 0;
        return ioctl(fd, FIONREAD, &available) == 0 && available > seen &&
               recv(fd, connection_peeked, sizeof connection_peeked, MSG_PEEK | MSG_DONTWAIT) == seen;
}

/* --- the end --- */

void connection_describe(const struct connection *c, struct egress_event *ret)
{
        *ret = (struct egress_event){ .listener = c->listener,
                                      .generation = c->generation,
                                      .rule = c->rule,
                                      .port = c->port,
                                      .sent = c->up.passed,
                                      .received = c->down.passed,
                                      .proxied = c->upstream };
        memcpy(ret->host, c->host, sizeof ret->host);
        if (c->address.any.sa_family)
                address_print(&c->address, ret->address);
}

void connection_stop_reaching(struct connection *c)
{
        if (c->resolving)
                resolve_cancel(c->resolving);
        if (c->dialling)
                dial_cancel(c->dialling);
        if (c->tunnel)
                upstream_connect_cancel(c->tunnel);
        c->resolving = NULL;
        c->dialling = NULL;
        c->tunnel = NULL;
}

void connection_free_event(struct event **e)
{
        if (*e)
                event_free(*e);
        *e = NULL;
}

void connection_finish(struct connection *c)
{
        struct egress *g = c->egress;
        struct egress_event event;
        connection_describe(c, &event);
        event.kind = EGRESS_EVENT_CLOSED;
        if (c->reached && !c->refusal.reason)
                report_event(&g->reporter, &event);
        connection_stop_reaching(c);
        connection_free_event(&c->client_read);
        connection_free_event(&c->client_write);
        connection_free_event(&c->server_read);
        connection_free_event(&c->server_write);
        connection_free_event(&c->timer);
        splice_relay_done(&c->up, &g->pipes);
        splice_relay_done(&c->down, &g->pipes);
        inspection_done(&c->inspection);
        free(c->socks);
        fd_close(&c->client);
        fd_close(&c->server);
        *c->link = c->next;
        if (c->next)
                c->next->link = c->link;
        free(c);
        g->connection_count--;
        for (size_t i = 0; g->full && i < g->listener_count; i++)
                (void)event_add(g->listener_events[i], NULL);
        g->full = false;
}

void connection_close_all(struct egress *g)
{
        while (g->connections)
                connection_finish(g->connections);
}

void connection_reset_on_close(int fd)
{
        const struct linger reset = { .l_onoff = 1 };
        if (fd >= 0)
                (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
}

void connection_abort(struct connection *c)
{
        connection_reset_on_close(c->client);
        connection_reset_on_close(c->server);
        connection_finish(c);
}

uint32_t connection_close_denied(struct egress *g)
{
        uint32_t count = 0;
        for (struct connection *c = g->connections, *next; c; c = next) {
                next = c->next;
                bool to_host = c->listener != LISTENER_LOCAL_PORT && c->listener != LISTENER_PUBLISHED_PORT && *c->host;
                bool host_allowed = hosts_decide(&g->plan->hosts, c->host, c->port, NULL);
                bool address_allowed = !c->reached || c->upstream || !address_find_refused_range(&c->address) ||
                                       hosts_match(&g->plan->private_hosts, c->host, c->port);
                if (to_host && !(host_allowed && address_allowed)) {
                        connection_abort(c);
                        count++;
                }
        }
        return count;
}

/* --- the life cycle --- */

void connection_on_event(evutil_socket_t fd, short what, void *data)
{
        (void)fd;
        (void)what;
        connection_advance(data);
}

void connection_advance(struct connection *c)
{
        switch (c->state) {
        case STATE_READING_REQUEST:
                if (c->listener == LISTENER_SOCKS_PROXY)
                        connection_read_socks_request(c);
                else
                        connection_read_http_request(c);
                break;
        case STATE_REACHING:
                if (connection_inspect(c))
                        connection_watch_event(c->client_read, c->awaits == AWAITS_BYTES);
                break;
        case STATE_CARRYING:
                connection_carry(c);
                break;
        case STATE_REFUSING:
                connection_send_refusal(c);
                break;
        case STATE_DRAINING:
                connection_drain(c);
                break;
        }
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
        (void)fd;
        (void)what;
        connection_abort(data);
}

void connection_accept(struct egress *g, int fd, enum egress_listener_kind listener, uint16_t port)
{
        struct connection *c = calloc(1, sizeof *c);
        if (!c) {
                (void)close(fd);
                return;
        }
        *c = (struct connection){
                .egress = g,
                .listener = listener,
                .state = STATE_READING_REQUEST,
                .rule = -1,
                .port = port,
                .client = fd,
                .server = -1,
                .first_byte = -1,
                .low_water = 1,
                .next = g->connections,
                .link = &g->connections,
        };
        if (c->next)
                c->next->link = &c->next;
        g->connections = c;
        g->connection_count++;
        g->full = g->connection_count >= g->connections_max;
        for (size_t i = 0; g->full && i < g->listener_count; i++)
                if (g->listeners[i].kind != LISTENER_DNS_UDP) /* a packet needs no connection */
                        (void)event_del(g->listener_events[i]);
        splice_relay_init(&c->up, fd, -1);
        splice_relay_init(&c->down, -1, fd);
        c->down.allowance = RELAY_UNLIMITED;
        c->client_read = event_new(g->base, fd, EV_READ | EV_PERSIST, connection_on_event, c);
        c->client_write = event_new(g->base, fd, EV_WRITE | EV_PERSIST, connection_on_event, c);
        c->timer = evtimer_new(g->base, on_timer, c);
        if (!c->client_read || !c->client_write || !c->timer) {
                connection_abort(c);
                return;
        }
        connection_set_timer(c, FIRST_BYTES_SECONDS);
        (void)event_add(c->client_read, NULL);
        if (listener == LISTENER_TRANSPARENT)
                connection_find_host(c);
        if (listener == LISTENER_LOCAL_PORT || listener == LISTENER_PUBLISHED_PORT)
                connection_reach_loopback(c);
}
