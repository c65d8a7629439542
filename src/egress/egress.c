/*
 * ringwall-egress: the process through which a box's connections go.
 *
 * What it is for: a box's network namespace has no way out. This process stands outside, holds the box's entrances, which the keeper
 * made inside, and carries to the hosts that the plan allows what comes in by them.
 *
 * How it works: one loop (libevent). DNS is answered with addresses that stand for names (dns_server.c, names.c), so a connection to
 * such an address is one to that name; connection.c makes and carries it.
 *
 * What it can do itself: it opens no file, starts no program, and cannot look at another process; before Linux 6.12 it could still
 * signal those of the same person. It read the resolver's files before. It speaks TCP and DNS to the outside, as it has to.
 *
 * If it dies, the entrances die with it: the box has no network then. It ends when the keeper does, or the front.
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
#include "linux/confine.h"
#include "linux/filter_install.h"
#include "policy/caps.h"
#include "wire/wire.h"

static const char stage[] = "egress";

enum { PLAN_BYTES = 16 << 20, PLAN_DEPTH = 16, ACCEPT_AT_ONCE = 16 };

/* From the front: what it is to do, and with whom. */
static int read_order(int fd, struct upstream *ret_upstream, struct plan **ret, struct error *e)
{
        CLEANUP_FREE char *text = NULL;
        CLEANUP_JSON json_t *json = NULL;
        size_t length = 0;
        int r = fd_read_open(fd, "the plan", PLAN_BYTES, &text, &length, e);
        if (r < 0)
                return r;
        const size_t plan = strlen(text);
        const char *proxy = plan < length ? text + plan + 1 : "", *without = proxy + strlen(proxy);
        without += without < text + length;
        if (json_parse_bounded(text, plan, PLAN_BYTES, PLAN_DEPTH, &json, NULL, NULL, NULL) < 0)
                return error_set(e, EINVAL, stage, "the plan is no JSON");
        const char *wrong = upstream_read(proxy, without, ret_upstream);
        if (wrong)
                return error_set(e, EINVAL, stage, "the proxy in HTTPS_PROXY cannot be used: %s", wrong);
        return plan_from_json(json, ret, e);
}

/* No file, no program, no privilege; the machine's network, but nobody's sockets by name. */
static int confine(struct error *e)
{
        struct ruleset none = { .fd = -1 };
        CLEANUP_FD int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) /* the plan, and the person's terminal */
                if (null < 0 || dup2(null, fd) < 0)
                        return error_errno(e, errno, stage, "cannot let go of the standard streams");
        if (prctl(PR_SET_DUMPABLE, 0) < 0)
                return error_errno(e, errno, stage, "cannot become undumpable");
        int r = confine_privileges(e);
        if (r == 0)
                r = ruleset_begin(&none, true, e);
        if (r == 0)
                r = ruleset_enforce(&none, e);
        if (r == 0 && (r = filter_install(FILTER_NETWORK, NULL)) < 0)
                error_errno(e, -r, stage, "cannot install the filter");
        return r;
}

/* As many as there may be; connections that would find none left wait outside, instead of failing in the middle. */
static size_t raise_descriptors(void)
{
        enum { CONNECTIONS_MOST = 1024, EACH = 6, OTHERS = 96 }; /* two sockets and two pipes; entrances, DNS, pipes that are idle */
        struct rlimit limit;
        if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
                return 1;
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
        if (limit.rlim_cur >= OTHERS + EACH * CONNECTIONS_MOST)
                return CONNECTIONS_MOST;
        return limit.rlim_cur < OTHERS + EACH ? 1 : (size_t)(limit.rlim_cur - OTHERS) / EACH;
}

/* --- entrances --- */

static void on_entrance(evutil_socket_t listener, short what, void *data)
{
        const struct listening *l = data;
        struct egress *g = l->egress;
        (void)what;
        if (l->entrance == EGRESS_DNS_PACKETS) {
                dns_server_packets(g, listener);
                return;
        }
        for (int i = 0; i < ACCEPT_AT_ONCE && !g->full; i++) {
                int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK); // cppcheck-suppress nullPointer
                if (fd < 0)
                        return;
                if (l->entrance == EGRESS_DNS_STREAM)
                        dns_server_stream(g, fd);
                else
                        connection_begin(g, fd, l->entrance, l->port);
        }
}

static int add_entrance(struct egress *g, enum egress_entrance entrance, uint16_t port, int fd, struct error *e)
{
        if (g->listener_count == EGRESS_LISTENERS)
                return error_set(e, E2BIG, stage, "too many entrances");
        struct listening *l = &g->listening[g->listener_count];
        const int on = 1;
        *l = (struct listening){ g, entrance, port };
        /* Its connections have these too. An urgent byte is one like others. */
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        (void)setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof on);
        struct event *listener = event_new(g->base, fd, EV_READ | EV_PERSIST, on_entrance, l);
        if (!listener || event_add(listener, NULL) < 0)
                return error_errno(e, ENOMEM, stage, "no memory");
        g->listeners[g->listener_count++] = listener;
        return 0;
}

static int take_entrance(struct egress *g, const struct egress_listener *m, int fd, struct error *e)
{
        if (m->entrance >= EGRESS_COMPLETE || fd < 0)
                return error_set(e, EPROTO, stage, "the keeper sent something else than an entrance");
        g->v6 |= m->v6;
        if (*m->token)
                (void)snprintf(g->token, sizeof g->token, "%.*s", (int)sizeof m->token - 1, m->token);
        return add_entrance(g, m->entrance, m->port, fd, e);
}

static int publish(struct egress *g, int family, uint16_t port, struct error *e)
{
        const struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT };
        const struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        bool v6 = family == AF_INET6;
        const int on = 1;
        CLEANUP_FD int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
            bind(fd, v6 ? (const struct sockaddr *)&six : (const struct sockaddr *)&four, v6 ? sizeof six : sizeof four) < 0 ||
            listen(fd, SOMAXCONN) < 0)
                return v6 && errno != EADDRINUSE ? 0 /* the machine has no IPv6 */
                                                 : error_errno(e, errno, stage, "cannot publish port %u", port);
        int r = add_entrance(g, EGRESS_PUBLISHED, port, fd, e);
        if (r == 0)
                (void)TAKE_FD(fd); /* the listener's, for good */
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

int egress_take_socket(struct egress *g)
{
        char byte = 0;
        int fd = -1;
        ssize_t n = send(g->keeper, &byte, 1, MSG_NOSIGNAL);
        if (n == 1)
                n = wire_receive(g->keeper, &byte, 1, 0, &fd);
        return n == 1 && fd >= 0 ? fd : -EPIPE;
}

/* From the keeper, until all are there. */
static int take_entrances(struct egress *g, struct error *e)
{
        for (;;) {
                struct egress_listener m;
                CLEANUP_FD int fd = -1;
                ssize_t n = wire_receive(g->keeper, &m, sizeof m, 0, &fd);
                if (n == -EINTR)
                        continue;
                if (n == 0)
                        return -ECANCELED; /* it failed, and has said so */
                if (n != sizeof m)
                        return error_set(e, EPROTO, stage, "the keeper sent something else than an entrance");
                if (m.entrance == EGRESS_COMPLETE)
                        return 0;
                int r = take_entrance(g, &m, fd, e);
                if (r < 0)
                        return r;
                (void)TAKE_FD(fd); /* the listener's, for good */
        }
}

/* --- changes --- */

/* The old plan goes: what is told of its rules, is told by their number and its generation. */
static void change_hosts(struct egress *g, const struct egress_change *change, int fd)
{
        CLEANUP_PLAN struct plan *plan = NULL;
        struct upstream none = { 0 };
        struct error e = { 0 };
        struct egress_event event = { .kind = EGRESS_CHANGED, .rule = -1 };
        int r = read_order(fd, &none, &plan, &e);
        upstream_done(&none);
        if (r < 0)
                return; /* nothing has changed, and nobody is told that it has */
        struct plan *old = g->plan;
        g->plan = plan;
        plan = old;
        g->generation = change->generation;
        event.generation = g->generation;
        event.count = change->close ? connection_end_refused(g) : 0;
        tell(&g->telling, &event);
}

static void on_front(evutil_socket_t front, short what, void *data)
{
        struct egress *g = data;
        struct egress_change change;
        CLEANUP_FD int fd = -1;
        ssize_t n = wire_receive(front, &change, sizeof change, MSG_DONTWAIT, &fd);
        (void)what;
        if (n == -EAGAIN || n == -EINTR)
                return;
        if (n == sizeof change && fd >= 0)
                change_hosts(g, &change, fd);
        else
                (void)event_base_loopbreak(g->base); /* it is gone */
}

/* It says nothing; it ends. */
static void on_keeper(evutil_socket_t fd, short what, void *data)
{
        (void)fd;
        (void)what;
        (void)event_base_loopbreak(((struct egress *)data)->base);
}

/* --- the whole --- */

static int serve(struct egress *g, struct error *e)
{
        int r = take_entrances(g, e);
        if (r < 0)
                return r;
        struct event *keeper = event_new(g->base, g->keeper, EV_READ, on_keeper, g);
        struct event *front = event_new(g->base, g->telling.front, EV_READ | EV_PERSIST, on_front, g);
        if (!keeper || !front || event_add(keeper, NULL) < 0 || event_add(front, NULL) < 0 || send(g->keeper, "", 1, MSG_NOSIGNAL) != 1)
                return error_errno(e, ENOMEM, stage, "cannot begin");
        (void)event_base_dispatch(g->base);
        connection_end_all(g);
        telling_end(&g->telling);
        event_free(keeper);
        event_free(front);
        return 0;
}

/* libevent would write to our standard error, which is the person's. */
static void say_nothing(int severity, const char *message)
{
        (void)severity;
        (void)message;
}

/*
 * Changes of what is waited for are made when the loop waits, so many take each other back before. That is right only because
 * nobody else has the sockets that are closed here: a copy would go on waking us.
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

/* Everything that needs a file, and then never again one. */
static int prepare(struct egress *g, struct error *e)
{
        int r = read_order(STDIN_FILENO, &g->upstream, &g->plan, e);
        if (r < 0 || !g->plan)
                return r;
        g->connections_most = raise_descriptors();
        event_set_log_callback(say_nothing);
        (void)signal(SIGPIPE, SIG_IGN); /* splice to a socket that is gone */
        g->base = evutil_secure_rng_init() == 0 ? make_base() : NULL;
        if (!g->base)
                return error_errno(e, ENOMEM, stage, "cannot begin");
        g->resolver = resolver_new(g->base, e);
        if (!g->resolver)
                return -e->code;
        r = publish_all(g, e);
        return r < 0 ? r : confine(e);
}

int main(void)
{
        static struct egress g = { .keeper = EGRESS_TO_KEEPER, .telling.front = EGRESS_TO_FRONT };
        struct error e = { 0 };
        int r = prepare(&g, &e);
        if (r == 0)
                r = serve(&g, &e);
        if (r < 0 && e.code) {
                struct egress_event failed = { .kind = EGRESS_FAILED, .rule = -1 };
                (void)snprintf(failed.other, sizeof failed.other, "%.*s", (int)sizeof failed.other - 1, e.text);
                tell(&g.telling, &failed);
        }
        plan_free(g.plan);
        return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
