/*
 * Connections.
 *
 * What it is for: a program in the box connects to an address that stands for a name, or asks a proxy for a name; here the
 * connection to that name is made, and carried.
 *
 * How it works: the name and the port are decided on first (hosts_decide). Then the name is looked up and dialled while the
 * program's first bytes are looked at where they lie (MSG_PEEK), so that what passes is passed by the kernel, untouched
 * (flow.c). Nothing is passed that was not looked at (inspection.c). One function, go_on(), is called whenever anything has
 * happened, does what can be done, and says what to wait for.
 *
 * Refusals are told to the front, and to the program in a way that it understands: an HTTP answer, a TLS alert, a SOCKS reply, or a
 * reset.
 *
 * What the program controls: every byte it sends, when, and when it goes. What the server controls: the same. Each connection has
 * a fixed size but for one head of HTTP; their number is bounded, and further ones wait in the kernel.
 */
#include "egress/connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter_ipv4.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "egress/dial.h"
#include "egress/hello.h"
#include "egress/http_target.h"
#include "egress/inspection.h"
#include "egress/refusal.h"
#include "egress/socks.h"
#include "egress/token.h"
#include "egress/tunnel.h"
#include "policy/default_ports.h"

enum {
        FIRST_SECONDS = 60,   /* until the program has said enough to be looked at */
        REFUSED_SECONDS = 2,  /* until it has read why it was refused */
        IP6_ORIGINAL_DST = 80, /* IP6T_SO_ORIGINAL_DST, whose header clashes with others */
};

enum stage {
        STAGE_ASKED,    /* a proxy: the program says where it wants to go */
        STAGE_REACHING, /* the name is looked up and dialled */
        STAGE_CARRYING,
        STAGE_REFUSING, /* it waits for a byte that tells in which language to refuse */
        STAGE_LEAVING,  /* it has been told; what it still sends is thrown away */
};

struct connection {
        struct egress *egress;
        struct connection *next, **link;
        enum egress_entrance entrance;
        enum stage stage;
        char host[CAP_DOMAIN + 1];
        uint16_t port;
        uint32_t generation;
        int32_t rule;
        union address address; /* that was dialled */
        bool reached;
        bool proxied;          /* by HTTP, without a tunnel */
        bool upstream;         /* through the person's own proxy */
        int client, server;
        struct event *client_read, *client_write, *server_read, *server_write, *timer;
        struct resolving *resolving;
        struct dialling *dialling;
        struct tunnel *tunnel;
        struct flow up, down;
        struct inspection inspection;
        int first;     /* the byte with which the program began; -1: not yet */
        size_t seen;   /* bytes that were not enough */
        int least;     /* bytes that wake it */
        bool looking;  /* it waits for more bytes to look at */
        bool waiting;  /* for the server's answer */
        struct socks *socks;
        struct egress_event refusal;
};

/* What is looked at, of whichever connection it is. */
static uint8_t shown[INSPECTION_MOST];

static void go_on(struct connection *c);

static const char *name_of(const struct egress *g, const union address *a)
{
        return a->any.sa_family == AF_INET6 ? names_find(&g->names, a->v6.sin6_addr.s6_addr, sizeof a->v6.sin6_addr)
                                            : names_find(&g->names, (const uint8_t *)&a->v4.sin_addr, sizeof a->v4.sin_addr);
}

/* --- the end --- */

static void describe(const struct connection *c, struct egress_event *ret)
{
        *ret = (struct egress_event){ .way = c->entrance, .generation = c->generation, .rule = c->rule, .port = c->port,
                                      .sent = c->up.passed, .received = c->down.passed, .proxied = c->upstream };
        memcpy(ret->host, c->host, sizeof ret->host);
        if (c->address.any.sa_family)
                address_print(&c->address, ret->address);
}

static void stop_reaching(struct connection *c)
{
        if (c->resolving)
                resolve_stop(c->resolving);
        if (c->dialling)
                dial_stop(c->dialling);
        if (c->tunnel)
                tunnel_stop(c->tunnel);
        c->resolving = NULL;
        c->dialling = NULL;
        c->tunnel = NULL;
}

static void free_event(struct event **e)
{
        if (*e)
                event_free(*e);
        *e = NULL;
}

static void finish(struct connection *c)
{
        struct egress *g = c->egress;
        struct egress_event event;
        describe(c, &event);
        event.kind = EGRESS_PASSED;
        if (c->reached && !c->refusal.reason)
                tell(&g->telling, &event);
        stop_reaching(c);
        free_event(&c->client_read);
        free_event(&c->client_write);
        free_event(&c->server_read);
        free_event(&c->server_write);
        free_event(&c->timer);
        flow_end(&c->up, &g->pipes);
        flow_end(&c->down, &g->pipes);
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
                (void)event_add(g->listeners[i], NULL);
        g->full = false;
}

void connection_end_all(struct egress *g)
{
        while (g->connections)
                finish(g->connections);
}

/* Closing it then sends a reset. */
static void make_reset(int fd)
{
        const struct linger at_once = { .l_onoff = 1 };
        if (fd >= 0)
                (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

/* One side is gone: the other hears the same. */
static void break_off(struct connection *c)
{
        make_reset(c->client);
        make_reset(c->server);
        finish(c);
}

uint32_t connection_end_refused(struct egress *g)
{
        uint32_t count = 0;
        for (struct connection *c = g->connections, *next; c; c = next) {
                next = c->next;
                bool to_host = c->entrance != EGRESS_LOCAL_PORT && c->entrance != EGRESS_PUBLISHED && *c->host;
                bool allowed = hosts_decide(&g->plan->hosts, c->host, c->port, NULL);
                bool public = !c->reached || c->upstream || !address_refused(&c->address) ||
                              hosts_find(&g->plan->private_hosts, c->host, c->port);
                if (to_host && !(allowed && public)) {
                        break_off(c);
                        count++;
                }
        }
        return count;
}

/* --- refusing --- */

static void set_timer(struct connection *c, int seconds)
{
        const struct timeval when = { .tv_sec = seconds };
        (void)event_add(c->timer, &when);
}

static bool has_left(int fd)
{
        struct pollfd p = { .fd = fd, .events = POLLRDHUP };
        return poll(&p, 1, 0) > 0;
}

static void throw_away(struct connection *c)
{
        ssize_t n;
        while ((n = recv(c->client, shown, sizeof shown, MSG_DONTWAIT)) > 0)
                ;
        if (n == 0 || errno != EAGAIN)
                finish(c);
}

/* The last word. May end the connection. */
static void send_last(struct connection *c, const struct text *words)
{
        if (words->failed || send(c->client, words->data, words->length, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)words->length) {
                break_off(c);
                return;
        }
        (void)shutdown(c->client, SHUT_WR);
        c->stage = STAGE_LEAVING;
        set_timer(c, REFUSED_SECONDS);
        throw_away(c);
}

/* In the language that its first byte is of, for which it may have to wait. May end the connection. */
static void say_refusal(struct connection *c)
{
        CLEANUP_TEXT struct text out = { 0 };
        uint8_t byte = 0;
        if (c->first < 0 && recv(c->client, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1)
                c->first = byte;
        refusal_write(&c->refusal, c->first, &out);
        if (out.length)
                send_last(c, &out);
        else if (c->first >= 0 || has_left(c->client))
                break_off(c);
}

/* May end the connection. */
static void refuse(struct connection *c, enum egress_reason reason, const char *other)
{
        bool speaks_first = port_is_default(NULL, c->port) || c->entrance != EGRESS_TRANSPARENT || c->first >= 0 || c->looking;
        describe(c, &c->refusal);
        c->refusal.reason = reason;
        (void)snprintf(c->refusal.other, sizeof c->refusal.other, "%s", other);
        tell_refusal(&c->egress->telling, &c->refusal);
        stop_reaching(c);
        free_event(&c->server_read);
        free_event(&c->server_write);
        make_reset(c->server);
        fd_close(&c->server);
        if (c->stage == STAGE_CARRYING && c->down.passed) { /* in the middle of an answer: nothing can be said */
                break_off(c);
                return;
        }
        c->stage = STAGE_REFUSING;
        set_timer(c, REFUSED_SECONDS);
        (void)event_del(c->client_write);
        (void)event_add(c->client_read, NULL);
        if (speaks_first)
                say_refusal(c);
        else
                break_off(c);
}

/* --- reaching --- */

static void on_event(evutil_socket_t fd, short what, void *data)
{
        (void)fd;
        (void)what;
        go_on(data);
}

/* What is said at this socket from now on, the host says and hears. May end the connection. */
static void begin_carrying(struct connection *c, int fd)
{
        struct event_base *base = c->egress->base;
        const int on = 1;
        c->server = c->up.to = c->down.from = fd;
        (void)setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof on);
        c->server_read = event_new(base, fd, EV_READ | EV_PERSIST, on_event, c);
        c->server_write = event_new(base, fd, EV_WRITE | EV_PERSIST, on_event, c);
        if (!c->server_read || !c->server_write) {
                break_off(c);
                return;
        }
        c->reached = true;
        c->stage = STAGE_CARRYING;
        if (c->entrance == EGRESS_SOCKS_PROXY)
                socks_reply(SOCKS_CONNECTED, &c->down.ahead);
        go_on(c);
}

static void on_tunnel(void *data, int fd, int status)
{
        struct connection *c = data;
        char answer[24] = "no answer";
        c->tunnel = NULL;
        if (status)
                (void)snprintf(answer, sizeof answer, "status %d", status);
        if (fd < 0)
                refuse(c, REASON_PROXY_REFUSED, answer);
        else
                begin_carrying(c, fd);
}

static void on_reached(void *data, int fd, const union address *address)
{
        struct connection *c = data;
        struct egress *g = c->egress;
        c->dialling = NULL;
        c->address = *address;
        if (fd < 0) {
                refuse(c, c->upstream ? REASON_PROXY : REASON_UNREACHABLE, "");
        } else if (!c->upstream) {
                begin_carrying(c, fd);
        } else {
                c->tunnel = tunnel_start(g->base, fd, &g->upstream, c->host, c->port, on_tunnel, c);
                if (!c->tunnel)
                        break_off(c);
        }
}

static void on_resolved(void *data, enum egress_reason reason, const union address *addresses, size_t count)
{
        struct connection *c = data;
        c->resolving = NULL;
        if (reason != REASON_NONE) {
                if (count)
                        c->address = addresses[0];
                refuse(c, c->upstream ? REASON_PROXY : reason, "");
                return;
        }
        c->dialling = dial_start(c->egress->base, addresses, count, on_reached, c);
        if (!c->dialling)
                break_off(c);
}

/* Why this host and port are refused, if they are. */
static enum egress_reason decide(struct connection *c)
{
        const struct plan *plan = c->egress->plan;
        const struct host_rule *rule = NULL;
        bool allowed = hosts_decide(&plan->hosts, c->host, c->port, &rule);
        c->rule = rule ? (int32_t)(rule - plan->hosts.list) : -1;
        c->generation = c->egress->generation;
        if (allowed)
                return REASON_NONE;
        return rule ? REASON_DENIED : hosts_know(&plan->hosts, c->host) ? REASON_PORT : REASON_NAME;
}

/* May end the connection. */
static void reach(struct connection *c)
{
        struct egress *g = c->egress;
        enum egress_reason reason = decide(c);
        if (reason != REASON_NONE) {
                refuse(c, reason, "");
                return;
        }
        const struct destination *proxy = &g->upstream.proxy;
        bool any = hosts_find(&g->plan->private_hosts, c->host, c->port) != NULL;
        inspection_begin(&c->inspection, c->host, c->port, c->proxied);
        c->stage = STAGE_REACHING;
        if (!port_is_default(NULL, c->port)) /* where a server may speak first, and for as long as it likes */
                (void)event_del(c->timer);
        c->upstream = upstream_carries(&g->upstream, c->host, c->port);
        c->resolving = c->upstream ? resolve_start(g->resolver, proxy->host, proxy->port, true, on_resolved, c)
                                   : resolve_start(g->resolver, c->host, c->port, any, on_resolved, c);
        if (!c->resolving)
                break_off(c);
        else
                go_on(c);
}

/* Loopback to loopback, out of the box or into it, whatever is spoken. May end the connection. */
static void reach_loopback(struct connection *c)
{
        struct egress *g = c->egress;
        union address addresses[] = {
                { .v4 = { .sin_family = AF_INET, .sin_port = htons(c->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) } },
                { .v6 = { .sin6_family = AF_INET6, .sin6_port = htons(c->port), .sin6_addr = IN6ADDR_LOOPBACK_INIT } },
        };
        c->stage = STAGE_REACHING;
        c->up.allowance = FLOW_ALL;
        (void)snprintf(c->host, sizeof c->host, "localhost");
        (void)event_del(c->timer);
        if (c->entrance == EGRESS_LOCAL_PORT) {
                c->dialling = dial_start(g->base, addresses, ARRAY_SIZE(addresses), on_reached, c);
        } else {
                int fd = egress_take_socket(g);
                c->dialling = fd < 0 ? NULL : dial_with(g->base, fd, addresses, on_reached, c);
        }
        if (!c->dialling)
                break_off(c);
        else
                (void)event_del(c->client_read);
}

/* --- carrying --- */

static void wake_at(struct connection *c, int least)
{
        if (c->least != least)
                (void)setsockopt(c->client, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
        c->least = least;
}

/* Waits until more than this has come, without being woken for what is there already. */
static void wait_for_more(struct connection *c, size_t seen)
{
        wake_at(c, seen < INT32_MAX ? (int)seen + 1 : INT32_MAX);
        c->seen = seen;
        c->looking = true;
}

/* Takes a head out of the stream. */
static bool take(struct connection *c, size_t bytes)
{
        return recv(c->client, shown, bytes, MSG_DONTWAIT) == (ssize_t)bytes;
}

/* An urgent byte ends every look at what is there, while the kernel says that there is more. Nobody needs one in a head. */
static bool is_stuck(int fd, ssize_t seen)
{
        int there = 0;
        return ioctl(fd, FIONREAD, &there) == 0 && there > seen && recv(fd, shown, sizeof shown, MSG_PEEK | MSG_DONTWAIT) == seen;
}

/*
 * Looks at what the program has sent, unless something that was looked at is still on its way. False: the connection was
 * refused, and may be gone.
 */
static bool look(struct connection *c)
{
        c->looking = false;
        while (c->up.allowance == 0 && !c->up.ahead.length && !c->up.ended && !c->waiting) {
                struct inspected found;
                if (inspection_awaits_answer(&c->inspection)) {
                        c->waiting = true;
                        break;
                }
                ssize_t n = recv(c->client, shown, sizeof shown, MSG_PEEK | MSG_DONTWAIT);
                if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
                        wait_for_more(c, 0);
                        return true;
                }
                if (n <= 0) {
                        c->up.allowance = FLOW_ALL; /* the end, which is passed on */
                        if (n < 0 || !inspection_is_between(&c->inspection)) {
                                break_off(c);
                                return false;
                        }
                        return true;
                }
                if (c->first < 0)
                        c->first = shown[0];
                bool ended = c->seen && (size_t)n == c->seen && has_left(c->client);
                switch (inspection_look(&c->inspection, shown, (size_t)n, ended, &found)) {
                case INSPECTION_MORE:
                        if (is_stuck(c->client, n)) {
                                break_off(c);
                                return false;
                        }
                        wait_for_more(c, (size_t)n);
                        return true;
                case INSPECTION_PASS:
                        c->up.allowance = (int64_t)found.bytes;
                        break;
                case INSPECTION_TAKE:
                        c->up.ahead = found.instead;
                        if (found.instead.failed || !take(c, found.bytes)) {
                                break_off(c);
                                return false;
                        }
                        break;
                case INSPECTION_ALL:
                        c->up.allowance = FLOW_ALL;
                        break;
                case INSPECTION_WAIT:
                        c->waiting = true;
                        break;
                case INSPECTION_REFUSE:
                        refuse(c, found.reason, found.other);
                        return false;
                }
                (void)event_del(c->timer);
        }
        c->seen = 0;
        return true;
}

/* An answer decides what the program may say next. False: it can never be looked at. */
static bool look_at_answer(struct connection *c)
{
        static const uint8_t none[] = { 0 };
        ssize_t n = recv(c->server, shown, sizeof shown, MSG_PEEK | MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return true;
        if (n > 0 && is_stuck(c->server, n))
                return false;
        if (n <= 0 || has_left(c->server))
                c->waiting = !inspection_answer(&c->inspection, none, sizeof none); /* it will never be whole */
        else
                c->waiting = !inspection_answer(&c->inspection, shown, (size_t)n);
        const int least = c->waiting ? (int)n + 1 : 1;
        (void)setsockopt(c->server, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
        return true;
}

/*
 * While it waits: that the program has gone without another word can be passed on already. True: it is worth listening for
 * that.
 */
static bool watch_client(struct connection *c)
{
        ssize_t n = recv(c->client, shown, sizeof shown, MSG_PEEK | MSG_DONTWAIT);
        if (n == 0)
                c->up.allowance = FLOW_ALL;
        if (n > 0)
                wake_at(c, (int)n + 1);
        else if (n < 0)
                wake_at(c, 1);
        return n < 0 || (n > 0 && (size_t)n < sizeof shown && !has_left(c->client) && !is_stuck(c->client, n));
}

static void want(struct event *event, bool wanted)
{
        if (wanted)
                (void)event_add(event, NULL);
        else
                (void)event_del(event);
}

/* May end the connection. */
static void carry(struct connection *c)
{
        struct pipes *pipes = &c->egress->pipes;
        enum flow_result up, down;
        bool watching;
        if (c->waiting && !look_at_answer(c)) {
                break_off(c);
                return;
        }
        do {
                if (!look(c))
                        return;
                watching = c->waiting && watch_client(c);
                up = flow_move(&c->up, pipes);
        } while (up == FLOW_SPENT && !c->looking && !c->waiting);
        down = c->waiting ? FLOW_READ : flow_move(&c->down, pipes); /* an answer is looked at before it passes */
        if (up == FLOW_BROKEN || down == FLOW_BROKEN) {
                break_off(c);
                return;
        }
        if (up == FLOW_DONE && down == FLOW_DONE) {
                finish(c);
                return;
        }
        if (up == FLOW_READ)
                wake_at(c, 1);
        want(c->client_read, up == FLOW_READ || (up == FLOW_SPENT && (c->looking || watching)));
        want(c->server_write, up == FLOW_WRITE);
        want(c->server_read, down == FLOW_READ);
        want(c->client_write, down == FLOW_WRITE);
        if (up == FLOW_AGAIN || down == FLOW_AGAIN)
                event_active(c->client_read, EV_READ, 0);
}

/* --- proxies --- */

/* Hosts are reached by name; an address may be one of those that stand for a name. False: it is another. */
static bool take_destination(struct connection *c, const struct destination *to)
{
        union address a;
        const char *name = to->host;
        if (to->is_address && address_read(to->host, &a))
                name = name_of(c->egress, &a);
        c->port = to->port;
        if (name)
                (void)snprintf(c->host, sizeof c->host, "%s", name);
        else
                c->address = a;
        return name;
}

static void tell_wrong_token(struct connection *c)
{
        (void)snprintf(c->host, sizeof c->host, "localhost");
        describe(c, &c->refusal);
        c->refusal.reason = REASON_TOKEN;
        tell_refusal(&c->egress->telling, &c->refusal);
}

/* A client without a token is asked for it, which some wait for, and nobody is told; it comes anew. May end the connection. */
static void ask_for_token(struct connection *c, enum token_verdict verdict)
{
        CLEANUP_TEXT struct text challenge = { 0 };
        if (verdict == TOKEN_WRONG)
                tell_wrong_token(c);
        refusal_write_challenge(&challenge);
        send_last(c, &challenge);
}

static void ask_socks(struct connection *c)
{
        CLEANUP_TEXT struct text answer = { 0 };
        if (!c->socks && (c->socks = calloc(1, sizeof *c->socks)))
                socks_begin(c->socks, *c->egress->token ? c->egress->token : NULL);
        for (int r = 0; c->socks && r == 0;) {
                ssize_t n = recv(c->client, shown, sizeof shown, MSG_PEEK | MSG_DONTWAIT);
                if (n < 0 && errno == EAGAIN)
                        return;
                size_t used = 0;
                r = n <= 0 ? -EPIPE : socks_take(c->socks, (const char *)shown, (size_t)n, &used, &answer);
                if (n > 0)
                        (void)take(c, used);
                if (answer.length && send(c->client, answer.data, answer.length, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
                        r = -EPIPE;
                text_done(&answer);
                if (r == 1) {
                        if (take_destination(c, &c->socks->destination))
                                reach(c);
                        else
                                refuse(c, REASON_NO_NAME, "");
                        return;
                }
                if (r == -EACCES)
                        tell_wrong_token(c);
                if (r < 0) {
                        finish(c);
                        return;
                }
        }
        if (!c->socks)
                finish(c);
}

/* CONNECT is answered when the host is reached; another request is passed on by the inspection, which knows the form. */
static void ask_http(struct connection *c)
{
        struct http_request request;
        struct destination to;
        size_t used = 0;
        ssize_t n = recv(c->client, shown, sizeof shown, MSG_PEEK | MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN)
                return;
        if (n <= 0) {
                finish(c);
                return;
        }
        http_begin_relay(&request);
        int taken = http_take(&request, (const char *)shown, (size_t)n, &used);
        if (taken == 0) {
                bool ended = c->seen && (size_t)n == c->seen && has_left(c->client);
                http_done(&request);
                if (ended || is_stuck(c->client, n))
                        break_off(c);
                else
                        wait_for_more(c, (size_t)n);
                return;
        }
        bool known = taken > 0 && !http_host(&request, &to), tunnel = known && http_is_connect(&request);
        enum token_verdict token = taken > 0 && *c->egress->token ? token_judge(c->egress->token, &request) : TOKEN_RIGHT;
        http_done(&request);
        c->seen = 0;
        if (token != TOKEN_RIGHT) {
                ask_for_token(c, token);
        } else if (!known) {
                refuse(c, REASON_BAD_HTTP, "");
        } else if (!take_destination(c, &to)) {
                refuse(c, REASON_NO_NAME, "");
        } else {
                if (tunnel && take(c, used))
                        text_add(&c->down.ahead, "HTTP/1.1 200 Connection established\r\n\r\n");
                c->proxied = !tunnel;
                reach(c);
        }
}

/* --- the whole --- */

/* Whatever has happened. May end the connection. */
static void go_on(struct connection *c)
{
        switch (c->stage) {
        case STAGE_ASKED:
                if (c->entrance == EGRESS_SOCKS_PROXY)
                        ask_socks(c);
                else
                        ask_http(c);
                break;
        case STAGE_REACHING:
                if (look(c))
                        want(c->client_read, c->looking);
                break;
        case STAGE_CARRYING:
                carry(c);
                break;
        case STAGE_REFUSING:
                say_refusal(c);
                break;
        case STAGE_LEAVING:
                throw_away(c);
                break;
        }
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
        (void)fd;
        (void)what;
        break_off(data);
}

/* The name that was connected to. */
static void find_host(struct connection *c)
{
        union address asked = { 0 };
        socklen_t length = sizeof asked;
        int family = AF_INET;
        socklen_t family_length = sizeof family;
        (void)getsockopt(c->client, SOL_SOCKET, SO_DOMAIN, &family, &family_length);
        bool v6 = family == AF_INET6;
        const char *name = NULL;
        if (getsockopt(c->client, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IP6_ORIGINAL_DST : SO_ORIGINAL_DST, &asked, &length) == 0) {
                c->port = ntohs(v6 ? asked.v6.sin6_port : asked.v4.sin_port);
                name = name_of(c->egress, &asked);
        }
        if (name) {
                (void)snprintf(c->host, sizeof c->host, "%s", name);
                reach(c);
        } else {
                c->address = asked;
                refuse(c, REASON_NO_NAME, "");
        }
}

void connection_begin(struct egress *g, int fd, enum egress_entrance entrance, uint16_t port)
{
        struct connection *c = calloc(1, sizeof *c);
        if (!c) {
                (void)close(fd);
                return;
        }
        *c = (struct connection){ .egress = g, .entrance = entrance, .stage = STAGE_ASKED, .rule = -1, .port = port, .client = fd,
                                  .server = -1, .first = -1, .least = 1, .next = g->connections, .link = &g->connections };
        if (c->next)
                c->next->link = &c->next;
        g->connections = c;
        g->connection_count++;
        g->full = g->connection_count >= g->connections_most;
        for (size_t i = 0; g->full && i < g->listener_count; i++)
                if (g->listening[i].entrance != EGRESS_DNS_PACKETS) /* which take no room */
                        (void)event_del(g->listeners[i]);
        flow_begin(&c->up, fd, -1);
        flow_begin(&c->down, -1, fd);
        c->down.allowance = FLOW_ALL;
        c->client_read = event_new(g->base, fd, EV_READ | EV_PERSIST, on_event, c);
        c->client_write = event_new(g->base, fd, EV_WRITE | EV_PERSIST, on_event, c);
        c->timer = evtimer_new(g->base, on_timer, c);
        if (!c->client_read || !c->client_write || !c->timer) {
                break_off(c);
                return;
        }
        set_timer(c, FIRST_SECONDS);
        (void)event_add(c->client_read, NULL);
        if (entrance == EGRESS_TRANSPARENT)
                find_host(c);
        if (entrance == EGRESS_LOCAL_PORT || entrance == EGRESS_PUBLISHED)
                reach_loopback(c);
}
