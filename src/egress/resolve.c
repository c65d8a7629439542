/*
 * Looking names up; see resolve.h.
 *
 * c-ares asks the servers of /etc/resolv.conf, by UDP, and by TCP where an answer is too long for it. It read that file, and we
 * /etc/hosts, before the process was confined. An answer is used for other connections to the same name as long as it says,
 * within bounds.
 *
 * What is refused: addresses that are no public server's (base/address.c), and those of this machine, which the kernel tells by
 * the source that it would use for them. All others of the same answer may be dialled, the families taking turns.
 *
 * What the other side controls: the servers' answers. None of them is believed to be more than an address.
 */
#include "egress/resolve.h"

#include <ares.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/memory.h"
#include "egress/hosts_file.h"

static const char stage[] = "resolver";

enum {
        CACHE_ENTRIES = 64,
        CACHE_LEAST_S = 1,
        CACHE_MOST_S = 60,
        SOCKETS = 64,        /* of the resolver's, at the same time */
        TIMEOUT_MS = 2500,   /* of the first try; the next ones have more */
        TRIES = 2,
        HOSTS_BYTES = 4 << 20,
};

struct answer_list {
        union address list[RESOLVE_ADDRESSES];
        size_t count;
};

struct resolver {
        struct event_base *base;
        ares_channel channel;
        struct event *timer;
        struct watched {
                struct resolver *resolver;
                struct event *event;
                int fd;
        } watched[SOCKETS];
        struct arena *arena;
        struct hosts_file hosts;
        struct cached {
                char name[CAP_DOMAIN + 1];
                struct answer_list answers;
                int64_t until;
        } cache[CACHE_ENTRIES];
        size_t next;
};

struct resolving {
        struct resolver *resolver;
        char name[CAP_DOMAIN + 1];
        uint16_t port;
        bool any, stopped;
        resolve_done *done;
        void *data;
        struct event *soon;
        struct answer_list answers;
};

/* --- c-ares in our loop --- */

/* When it wants to be called though nothing came. */
static void set_timer(struct resolver *r)
{
        struct timeval when;
        if (ares_timeout(r->channel, NULL, &when))
                (void)event_add(r->timer, &when);
        else
                (void)event_del(r->timer);
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
        struct resolver *r = data;
        (void)fd;
        (void)what;
        ares_process_fd(r->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
        set_timer(r);
}

static void on_socket(evutil_socket_t fd, short what, void *data)
{
        struct resolver *r = ((struct watched *)data)->resolver;
        ares_process_fd(r->channel, what & EV_READ ? fd : ARES_SOCKET_BAD, what & EV_WRITE ? fd : ARES_SOCKET_BAD);
        set_timer(r);
}

/* A socket beyond those that can be watched is never answered, and its question is given up after a while. */
static void watch(void *data, ares_socket_t fd, int readable, int writable)
{
        struct resolver *r = data;
        struct watched *w = NULL;
        for (size_t i = 0; i < SOCKETS; i++)
                if (r->watched[i].event ? r->watched[i].fd == fd : !w)
                        w = &r->watched[i];
        if (!w)
                return;
        if (w->event)
                event_free(w->event);
        short what = (short)(EV_PERSIST | (readable ? EV_READ : 0) | (writable ? EV_WRITE : 0));
        *w = (struct watched){ r, readable || writable ? event_new(r->base, fd, what, on_socket, w) : NULL, fd };
        if (w->event)
                (void)event_add(w->event, NULL);
}

static void read_hosts(struct resolver *r)
{
        CLEANUP_FREE char *text = NULL;
        size_t length = 0;
        r->arena = arena_new(8 * (size_t)HOSTS_BYTES);
        if (r->arena && fd_read_file("/etc/hosts", HOSTS_BYTES, &text, &length, NULL) == 0)
                hosts_file_read(&r->hosts, r->arena, text);
}

struct resolver *resolver_new(struct event_base *base, struct error *e)
{
        struct resolver *r = calloc(1, sizeof *r);
        char lookups[] = "b"; /* name servers alone: it would read /etc/hosts at every question */
        struct ares_options options = { .flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | ARES_FLAG_EDNS, .timeout = TIMEOUT_MS,
                                        .tries = TRIES, .sock_state_cb = watch, .sock_state_cb_data = r, .lookups = lookups };
        const int set = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB | ARES_OPT_LOOKUPS;
        if (r) {
                r->base = base;
                r->timer = evtimer_new(base, on_timer, r);
        }
        if (r && r->timer && ares_library_init(ARES_LIB_INIT_ALL) == ARES_SUCCESS &&
            ares_init_options(&r->channel, &options, set) == ARES_SUCCESS) {
                read_hosts(r);
                return r;
        }
        (void)error_errno(e, ENOMEM, stage, "cannot begin");
        if (r && r->timer)
                event_free(r->timer);
        free(r);
        return NULL;
}

/* --- addresses --- */

static socklen_t size_of(const union address *a)
{
        return a->any.sa_family == AF_INET ? sizeof a->v4 : sizeof a->v6;
}

/* Connecting a datagram socket sends nothing: the kernel only chooses a source, and to itself it speaks from the same address. */
static bool is_own(const union address *a)
{
        union address source = { 0 };
        socklen_t length = sizeof source;
        CLEANUP_FD int fd = socket(a->any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return true; /* nobody can tell */
        if (connect(fd, &a->any, size_of(a)) < 0)
                return false; /* then it cannot be dialled either */
        if (getsockname(fd, &source.any, &length) < 0)
                return true;
        return a->any.sa_family == AF_INET ? a->v4.sin_addr.s_addr == source.v4.sin_addr.s_addr
                                           : memcmp(&a->v6.sin6_addr, &source.v6.sin6_addr, sizeof source.v6.sin6_addr) == 0;
}

static void give(struct resolving *r)
{
        union address good[RESOLVE_ADDRESSES], bad = { 0 };
        size_t count = 0;
        enum egress_reason reason = REASON_UNKNOWN;
        for (size_t i = 0; i < r->answers.count; i++) {
                union address a = r->answers.list[i];
                if (a.any.sa_family == AF_INET)
                        a.v4.sin_port = htons(r->port);
                else
                        a.v6.sin6_port = htons(r->port);
                enum egress_reason why = r->any ? REASON_NONE
                                         : address_refused(&a) ? REASON_PRIVATE : is_own(&a) ? REASON_OWN : REASON_NONE;
                if (why == REASON_NONE) {
                        good[count++] = a;
                } else {
                        reason = why;
                        bad = a;
                }
        }
        if (count)
                r->done(r->data, REASON_NONE, good, count);
        else
                r->done(r->data, reason, &bad, reason != REASON_UNKNOWN);
}

static void on_soon(evutil_socket_t fd, short what, void *data)
{
        (void)fd;
        (void)what;
        struct resolving *r = data;
        event_free(r->soon);
        if (!r->stopped)
                give(r);
        free(r);
}

/* One family and the other in turn, the first being what the resolver put first. */
static void take_turns(const union address *found, size_t count, struct answer_list *ret)
{
        size_t next[2] = { 0, 0 };
        const sa_family_t first = count ? found[0].any.sa_family : AF_INET;
        for (size_t turn = 0; ret->count < RESOLVE_ADDRESSES && (next[0] < count || next[1] < count); turn ^= 1) {
                while (next[turn] < count && (found[next[turn]].any.sa_family == first) != (turn == 0))
                        next[turn]++;
                if (next[turn] < count)
                        ret->list[ret->count++] = found[next[turn]++];
        }
}

/* --- looking up --- */

static void remember(const struct resolving *r, int seconds)
{
        struct resolver *x = r->resolver;
        struct cached *c = &x->cache[x->next];
        x->next = (x->next + 1) % CACHE_ENTRIES;
        seconds = seconds < CACHE_LEAST_S ? CACHE_LEAST_S : seconds > CACHE_MOST_S ? CACHE_MOST_S : seconds;
        (void)snprintf(c->name, sizeof c->name, "%s", r->name);
        c->answers = r->answers;
        c->until = clock_ms() + seconds * 1000;
}

static void on_answer(void *data, int status, int timeouts, struct ares_addrinfo *found)
{
        struct resolving *r = data;
        union address addresses[2 * RESOLVE_ADDRESSES] = { 0 };
        size_t count = 0;
        int seconds = CACHE_MOST_S;
        (void)timeouts;
        const struct ares_addrinfo_node *n = status == ARES_SUCCESS && found ? found->nodes : NULL;
        for (; n && count < ARRAY_SIZE(addresses); n = n->ai_next) {
                if (n->ai_addrlen > sizeof addresses[0])
                        continue;
                memcpy(&addresses[count++], n->ai_addr, n->ai_addrlen);
                seconds = n->ai_ttl < seconds ? n->ai_ttl : seconds;
        }
        if (found)
                ares_freeaddrinfo(found);
        take_turns(addresses, count, &r->answers);
        if (count)
                remember(r, seconds);
        event_active(r->soon, EV_TIMEOUT, 0); /* we may still be in resolve_start() */
}

/* What needs no question. */
static bool is_known(struct resolving *r)
{
        struct resolver *x = r->resolver;
        int64_t now = clock_ms();
        for (size_t i = 0; i < CACHE_ENTRIES; i++) {
                if (x->cache[i].until > now && strcmp(x->cache[i].name, r->name) == 0) {
                        r->answers = x->cache[i].answers;
                        return true;
                }
        }
        union address found[RESOLVE_ADDRESSES];
        size_t count = address_read(r->name, found) ? 1 : hosts_file_find(&x->hosts, r->name, found, RESOLVE_ADDRESSES);
        take_turns(found, count, &r->answers);
        return r->answers.count;
}

struct resolving *resolve_start(struct resolver *x, const char *name, uint16_t port, bool any, resolve_done *done, void *data)
{
        struct resolving *r = calloc(1, sizeof *r);
        if (!r)
                return NULL;
        *r = (struct resolving){ .resolver = x, .port = port, .any = any, .done = done, .data = data };
        (void)snprintf(r->name, sizeof r->name, "%s", name);
        r->soon = event_new(x->base, -1, 0, on_soon, r);
        if (!r->soon) {
                free(r);
                return NULL;
        }
        const struct ares_addrinfo_hints hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_protocol = IPPROTO_TCP };
        if (is_known(r)) {
                event_active(r->soon, EV_TIMEOUT, 0);
        } else {
                ares_getaddrinfo(x->channel, name, NULL, &hints, on_answer, r);
                set_timer(x);
        }
        return r;
}

void resolve_stop(struct resolving *r)
{
        r->stopped = true; /* the answer still comes, and is the end */
}
