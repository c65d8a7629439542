/*
 * ringwall-egress: the process that carries a box's connections.
 *
 * What it is for: a box's network namespace has no route out. This process runs outside, serves the listeners that the
 * keeper made inside, and relays the box's connections to the hosts that the plan allows. Level standard has no network
 * namespace: there the listeners are two proxies that the front made on the host's loopback.
 *
 * How it works: one event loop (libevent). DNS queries are answered with a fake address for each name
 * (dns_server.c, fake_ip.c), so a connection to such an address is a connection to that name; connection.c relays
 * it.
 *
 * What it can do itself: after its start it cannot open files, start programs or inspect other processes; before Linux
 * 6.12 it can still signal processes of the same user. It reads the resolver's configuration before it confines itself.
 * It needs TCP and DNS to the outside.
 *
 * When it exits, the listeners are closed and the box has no network. It exits when the keeper or the front does.
 */
#include "egress/egress.h"

#include <errno.h>
#include <event2/util.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "egress/connection.h"
#include "egress/dns_server.h"
#include "platform/platform.h"
#include "policy/input_limits.h"
#include "wire/packet.h"

enum { PLAN_BYTES = 16 << 20, PLAN_DEPTH = 16, ACCEPT_AT_ONCE = 16 };

/* Reads a plan, and the values of HTTPS_PROXY and NO_PROXY, in the form that egress_protocol.h describes. */
static int read_config(int fd, struct upstream_proxy *ret_upstream, struct plan **ret, struct error *e)
{
        CLEANUP_FREE char *text = NULL;
        CLEANUP_JSON json_t *json = NULL;
        size_t length = 0;
        int r = fd_read_all(fd, "the plan", PLAN_BYTES, &text, &length, e);
        if (r < 0)
                return r;
        const size_t plan_length = strlen(text);
        const char *proxy = plan_length < length ? text + plan_length + 1 : "", *no_proxy = proxy + strlen(proxy);
        no_proxy += no_proxy < text + length; /* skips the NUL before the value */
        if (json_parse_bounded(text, plan_length, PLAN_BYTES, PLAN_DEPTH, &json, NULL, NULL, NULL) < 0)
                return error_set(e, EINVAL, "the plan is not valid JSON");
        const char *wrong = upstream_proxy_parse(proxy, no_proxy, ret_upstream);
        if (wrong)
                return error_set(e, EINVAL, "the proxy in HTTPS_PROXY cannot be used: %s", wrong);
        return plan_from_json(json, ret, e);
}

/* Replaces the standard streams (the plan and the user's terminal), then gives up everything but the network. */
static int confine(struct error *e)
{
        CLEANUP_FD int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
                if (null < 0 || dup2(null, fd) < 0)
                        return error_errno(e, errno, "cannot redirect the standard streams to /dev/null");
        if (prctl(PR_SET_DUMPABLE, 0) < 0)
                return error_errno(e, errno, "cannot make the process undumpable");
        return platform_restrict_to_network(e);
}

/* Raises the descriptor limit to its maximum and returns how many connections it allows. Further ones wait in the
   kernel's backlog, instead of failing later when no descriptor is left. */
static size_t raise_descriptor_limit(void)
{
        /* FDS_EACH: two sockets and two pipes. OTHER_FDS: listeners, DNS, idle pipes. */
        enum { CONNECTIONS_MAX = 1024, FDS_EACH = 6, OTHER_FDS = 96 };
        struct rlimit limit;
        if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
                return 1;
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
        if (limit.rlim_cur >= OTHER_FDS + FDS_EACH * CONNECTIONS_MAX)
                return CONNECTIONS_MAX;
        return limit.rlim_cur < OTHER_FDS + FDS_EACH ? 1 : (size_t)(limit.rlim_cur - OTHER_FDS) / FDS_EACH;
}

/* --- listeners --- */

static void on_listener(evutil_socket_t listener, short what, void *data)
{
        const struct listener *l = data;
        struct egress *g = l->egress;
        (void)what;
        if (l->kind == LISTENER_DNS_UDP) {
                dns_server_read_packets(g, listener);
                return;
        }
        for (int i = 0; i < ACCEPT_AT_ONCE && !g->full; i++) {
                int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK); // cppcheck-suppress nullPointer
                if (fd < 0)
                        return;
                if (l->kind == LISTENER_DNS_TCP)
                        dns_server_take_stream(g, fd);
                else
                        connection_accept(g, fd, l->kind, l->port);
        }
}

static int add_listener(struct egress *g, enum egress_listener_kind listener, uint16_t port, int fd, struct error *e)
{
        if (g->listener_count == EGRESS_LISTENERS_MAX)
                return error_set(e, E2BIG, "too many listeners");
        struct listener *l = &g->listeners[g->listener_count];
        const int on = 1;
        *l = (struct listener){ g, listener, port };
        /* Accepted connections inherit both options. OOBINLINE: an urgent byte is relayed like any other. */
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        (void)setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof on);
        struct event *event = event_new(g->base, fd, EV_READ | EV_PERSIST, on_listener, l);
        if (!event || event_add(event, NULL) < 0)
                return error_errno(e, ENOMEM, "no memory");
        g->listener_events[g->listener_count++] = event;
        return 0;
}

static int handle_listener(struct egress *g, const struct egress_listener_message *m, int fd, struct error *e)
{
        if (m->listener >= LISTENER_PUBLISHED_PORT || fd < 0)
                return error_set(e, EPROTO, "the keeper sent an invalid message instead of a listener");
        g->v6 |= m->v6;
        if (*m->token)
                (void)snprintf(g->token, sizeof g->token, "%.*s", (int)sizeof m->token - 1, m->token);
        return add_listener(g, m->listener, m->port, fd, e);
}

/* Listens on a port of the host's loopback that leads into the box. */
static int publish(struct egress *g, int family, uint16_t port, struct error *e)
{
        const struct sockaddr_in6 six = { .sin6_family = AF_INET6,
                                          .sin6_port = htons(port),
                                          .sin6_addr = IN6ADDR_LOOPBACK_INIT };
        const struct sockaddr_in four = { .sin_family = AF_INET,
                                          .sin_port = htons(port),
                                          .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        bool v6 = family == AF_INET6;
        const int on = 1;
        CLEANUP_FD int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
            bind(fd, v6 ? (const struct sockaddr *)&six : (const struct sockaddr *)&four,
                 v6 ? sizeof six : sizeof four) < 0 ||
            listen(fd, SOMAXCONN) < 0)
                return v6 && errno != EADDRINUSE ? 0 /* the machine has no IPv6 */
                                                 : error_errno(e, errno, "cannot publish port %u", port);
        int r = add_listener(g, LISTENER_PUBLISHED_PORT, port, fd, e);
        if (r == 0)
                (void)TAKE_FD(fd); /* the listener owns it and is never closed */
        return r;
}

static int publish_all(struct egress *g, struct error *e)
{
        const struct ports *ports = &g->plan->published;
        int r = 0;
        for (size_t i = 0; ports->list && r == 0 && i < ports->count; i++) {
                r = publish(g, AF_INET, ports->list[i].port, e);
                if (r == 0)
                        r = publish(g, AF_INET6, ports->list[i].port, e);
        }
        return r;
}

int egress_request_socket(struct egress *g)
{
        char byte = 0;
        int fd = -1;
        ssize_t n = send(g->keeper, &byte, 1, MSG_NOSIGNAL);
        if (n == 1)
                n = packet_receive(g->keeper, &byte, 1, 0, &fd);
        return n == 1 && fd >= 0 ? fd : -EPIPE;
}

/* Receives the listeners from the keeper until the message `complete`. */
static int receive_listeners(struct egress *g, struct error *e)
{
        for (;;) {
                struct egress_listener_message m;
                CLEANUP_FD int fd = -1;
                ssize_t n = packet_receive(g->keeper, &m, sizeof m, 0, &fd);
                if (n == -EINTR)
                        continue;
                if (n == 0)
                        return -ECANCELED; /* the keeper failed, and has reported its error itself */
                if (n != sizeof m)
                        return error_set(e, EPROTO, "the keeper sent an invalid message instead of a listener");
                if (m.complete)
                        return 0;
                int r = handle_listener(g, &m, fd, e);
                if (r < 0)
                        return r;
                (void)TAKE_FD(fd); /* the listener owns it and is never closed */
        }
}

/* --- changes --- */

/* Frees the old plan: events name its rules by index and generation, so they need no pointer into it. */
static void apply_hosts_update(struct egress *g, const struct egress_hosts_update *change, int fd)
{
        CLEANUP_PLAN struct plan *plan = NULL;
        struct upstream_proxy unused = { 0 };
        struct error e = { 0 };
        struct egress_event event = { .kind = EGRESS_EVENT_HOSTS_CHANGED, .rule = -1 };
        int r = read_config(fd, &unused, &plan, &e);
        upstream_proxy_done(&unused);
        if (r < 0)
                return; /* the old hosts stay; the front waits for EGRESS_EVENT_HOSTS_CHANGED and then kills egress */
        struct plan *old = g->plan;
        g->plan = plan;
        plan = old;
        g->generation = change->generation;
        event.generation = g->generation;
        event.count = change->close ? connection_close_denied(g) : 0;
        report_event(&g->reporter, &event);
}

static void on_front(evutil_socket_t front, short what, void *data)
{
        struct egress *g = data;
        struct egress_hosts_update change;
        CLEANUP_FD int fd = -1;
        ssize_t n = packet_receive(front, &change, sizeof change, MSG_DONTWAIT, &fd);
        (void)what;
        if (n == -EAGAIN || n == -EINTR)
                return;
        if (n == sizeof change && fd >= 0)
                apply_hosts_update(g, &change, fd);
        else
                (void)event_base_loopbreak(g->base); /* the front has exited */
}

/* The keeper sends nothing by itself, so its socket becomes readable only when it has exited. */
static void on_keeper(evutil_socket_t fd, short what, void *data)
{
        (void)fd;
        (void)what;
        (void)event_base_loopbreak(((struct egress *)data)->base);
}

/* --- start --- */

static int serve(struct egress *g, struct error *e)
{
        int r = receive_listeners(g, e);
        if (r < 0)
                return r;
        struct event *keeper = event_new(g->base, g->keeper, EV_READ, on_keeper, g);
        struct event *front = event_new(g->base, g->reporter.front, EV_READ | EV_PERSIST, on_front, g);
        if (!keeper || !front || event_add(keeper, NULL) < 0 || event_add(front, NULL) < 0 ||
            send(g->keeper, "", 1, MSG_NOSIGNAL) != 1)
                return error_errno(e, ENOMEM, "cannot start the event loop");
        (void)event_base_dispatch(g->base);
        connection_close_all(g);
        event_reporter_end(&g->reporter);
        event_free(keeper);
        event_free(front);
        return 0;
}

/* Replaces libevent's own log function, which would write to standard error, the user's terminal. */
static void discard_log(int severity, const char *message)
{
        (void)severity;
        (void)message;
}

/*
 * The changelist delays epoll_ctl() until the next epoll_wait(), so changes that cancel each other cost no call. A
 * socket may then be closed before epoll is told to forget it. That is safe only because no other process has a copy of
 * these sockets: epoll would go on reporting events of the copy.
 */
static struct event_base *make_base(void)
{
        struct event_config *config = event_config_new();
        struct event_base *base = NULL;
        if (config && event_config_set_flag(config, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST) == 0)
                base = event_base_new_with_config(config);
        if (config)
                event_config_free(config);
        return base;
}

/* Does everything that needs to open files, then confines the process so that it cannot any more. */
static int prepare(struct egress *g, struct error *e)
{
        int r = read_config(STDIN_FILENO, &g->upstream, &g->plan, e);
        if (r < 0 || !g->plan)
                return r;
        g->connections_max = raise_descriptor_limit();
        event_set_log_callback(discard_log);
        (void)signal(SIGPIPE, SIG_IGN); /* splice to a closed socket */
        g->base = evutil_secure_rng_init() == 0 ? make_base() : NULL;
        if (!g->base)
                return error_errno(e, ENOMEM, "cannot make an event loop");
        g->resolver = resolver_new(g->base, e);
        if (!g->resolver)
                return -e->code;
        r = publish_all(g, e);
        return r < 0 ? r : confine(e);
}

int main(void)
{
        static struct egress g = { .keeper = EGRESS_KEEPER_FD, .reporter.front = EGRESS_FRONT_FD };
        struct error e = { 0 };
        int r = prepare(&g, &e);
        if (r == 0)
                r = serve(&g, &e);
        if (r < 0 && e.code) {
                struct egress_event failed = { .kind = EGRESS_EVENT_FAILED, .rule = -1 };
                (void)snprintf(failed.other, sizeof failed.other, "%.*s", (int)sizeof failed.other - 1, e.text);
                report_event(&g.reporter, &failed);
        }
        plan_free(g.plan);
        return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
