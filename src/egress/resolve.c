/*
 * Resolving names; see resolve.h.
 *
 * c-ares asks the name servers of /etc/resolv.conf over UDP, and over TCP when an answer is truncated. It has read that
 * file, and this code /etc/hosts, before the process is confined. Answers are cached for their TTL, within bounds.
 *
 * Addresses that are not public (base/address.c) and those of this machine are refused, unless the caller allows
 * private addresses. The other addresses of the same answer may be dialled, the families alternating.
 *
 * What an attacker controls: the name servers' answers. Only addresses are taken from them.
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

enum {
        CACHE_ENTRIES = 64,
        CACHE_SECONDS_MIN = 1,
        CACHE_SECONDS_MAX = 60,
        SOCKETS_MAX = 64,  /* of c-ares, at the same time */
        TIMEOUT_MS = 2500, /* of the first try; c-ares waits longer at the next */
        TRIES = 2,
        HOSTS_BYTES = 4 << 20,
};

struct answer_list {
        union address list[RESOLVE_ADDRESSES_MAX];
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
        } watched[SOCKETS_MAX];
        struct arena *arena;
        struct hosts_file hosts;
        struct cached {
                char name[DOMAIN_MAX + 1];
                struct answer_list answers;
                int64_t expires;
        } cache[CACHE_ENTRIES];
        size_t next;
};

struct resolve_request {
        struct resolver *resolver;
        char name[DOMAIN_MAX + 1];
        uint16_t port;
        bool allow_private, stopped;
        resolve_callback *done;
        void *data;
        struct event *deliver_event;
        struct answer_list answers;
};

/* --- c-ares in the event loop --- */

/* Makes libevent call on_timer() at the next timeout of c-ares, which has no timers of its own. */
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

/* The callback by which c-ares says what to poll a socket for. Sockets beyond SOCKETS_MAX are not polled; their queries
   time out. */
static void watch(void *data, ares_socket_t fd, int readable, int writable)
{
        struct resolver *r = data;
        struct watched *w = NULL;
        for (size_t i = 0; i < SOCKETS_MAX; i++)
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
                hosts_file_parse(&r->hosts, r->arena, text);
}

struct resolver *resolver_new(struct event_base *base, struct error *e)
{
        struct resolver *r = calloc(1, sizeof *r);
        char lookups[] = "b"; /* name servers only: c-ares would read /etc/hosts for every query */
        struct ares_options options = { .flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | ARES_FLAG_EDNS,
                                        .timeout = TIMEOUT_MS,
                                        .tries = TRIES,
                                        .sock_state_cb = watch,
                                        .sock_state_cb_data = r,
                                        .lookups = lookups };
        const int set = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB |
                        ARES_OPT_LOOKUPS;
        if (r) {
                r->base = base;
                r->timer = evtimer_new(base, on_timer, r);
        }
        if (r && r->timer && ares_library_init(ARES_LIB_INIT_ALL) == ARES_SUCCESS &&
            ares_init_options(&r->channel, &options, set) == ARES_SUCCESS) {
                read_hosts(r);
                return r;
        }
        (void)error_errno(e, ENOMEM, "cannot start the DNS resolver");
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

/*
 * Connecting a datagram socket sends nothing, but the kernel chooses a source address. For an address of this machine
 * the source is that address itself.
 */
static bool is_local_address(const union address *a)
{
        union address source = { 0 };
        socklen_t length = sizeof source;
        CLEANUP_FD int fd = socket(a->any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return true; /* unknown, so it is refused */
        if (connect(fd, &a->any, size_of(a)) < 0)
                return false; /* dialling will fail too */
        if (getsockname(fd, &source.any, &length) < 0)
                return true;
        return a->any.sa_family == AF_INET
                       ? a->v4.sin_addr.s_addr == source.v4.sin_addr.s_addr
                       : memcmp(&a->v6.sin6_addr, &source.v6.sin6_addr, sizeof source.v6.sin6_addr) == 0;
}

/* Checks the addresses and calls the callback of the request. */
static void deliver(struct resolve_request *r)
{
        union address allowed[RESOLVE_ADDRESSES_MAX], refused = { 0 };
        size_t count = 0;
        enum deny_reason reason = REASON_NAME_NOT_FOUND;
        for (size_t i = 0; i < r->answers.count; i++) {
                union address a = r->answers.list[i];
                if (a.any.sa_family == AF_INET)
                        a.v4.sin_port = htons(r->port);
                else
                        a.v6.sin6_port = htons(r->port);
                enum deny_reason why = r->allow_private                 ? REASON_NONE
                                       : address_find_refused_range(&a) ? REASON_PRIVATE_ADDRESS
                                       : is_local_address(&a)           ? REASON_LOCAL_ADDRESS
                                                                        : REASON_NONE;
                if (why == REASON_NONE) {
                        allowed[count++] = a;
                } else {
                        reason = why;
                        refused = a;
                }
        }
        if (count)
                r->done(r->data, REASON_NONE, allowed, count);
        else
                r->done(r->data, reason, &refused, reason != REASON_NAME_NOT_FOUND);
}

static void on_deliver(evutil_socket_t fd, short what, void *data)
{
        (void)fd;
        (void)what;
        struct resolve_request *r = data;
        event_free(r->deliver_event);
        if (!r->stopped)
                deliver(r);
        free(r);
}

/* The families alternate, beginning with that of the first address. */
static void interleave_families(const union address *found, size_t count, struct answer_list *ret)
{
        size_t next[2] = { 0, 0 };
        const sa_family_t first = count ? found[0].any.sa_family : AF_INET;
        for (size_t turn = 0; ret->count < RESOLVE_ADDRESSES_MAX && (next[0] < count || next[1] < count); turn ^= 1) {
                while (next[turn] < count && (found[next[turn]].any.sa_family == first) != (turn == 0))
                        next[turn]++;
                if (next[turn] < count)
                        ret->list[ret->count++] = found[next[turn]++];
        }
}

/* --- lookups --- */

static void cache_answers(const struct resolve_request *r, int seconds)
{
        struct resolver *resolver = r->resolver;
        struct cached *c = &resolver->cache[resolver->next];
        resolver->next = (resolver->next + 1) % CACHE_ENTRIES;
        if (seconds < CACHE_SECONDS_MIN)
                seconds = CACHE_SECONDS_MIN;
        else if (seconds > CACHE_SECONDS_MAX)
                seconds = CACHE_SECONDS_MAX;
        (void)snprintf(c->name, sizeof c->name, "%s", r->name);
        c->answers = r->answers;
        c->expires = clock_ms() + seconds * 1000;
}

static void on_answer(void *data, int status, int timeouts, struct ares_addrinfo *found)
{
        struct resolve_request *r = data;
        union address addresses[2 * RESOLVE_ADDRESSES_MAX] = { 0 };
        size_t count = 0;
        int seconds = CACHE_SECONDS_MAX;
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
        interleave_families(addresses, count, &r->answers);
        if (count)
                cache_answers(r, seconds);
        event_active(r->deliver_event, EV_TIMEOUT, 0); /* resolve_start() may not have returned yet */
}

/* Answers from the cache and /etc/hosts, without a query. */
static bool find_known_answers(struct resolve_request *r)
{
        struct resolver *resolver = r->resolver;
        int64_t now = clock_ms();
        for (size_t i = 0; i < CACHE_ENTRIES; i++) {
                if (resolver->cache[i].expires > now && strcmp(resolver->cache[i].name, r->name) == 0) {
                        r->answers = resolver->cache[i].answers;
                        return true;
                }
        }
        union address found[RESOLVE_ADDRESSES_MAX];
        size_t count = address_parse(r->name, found)
                               ? 1
                               : hosts_file_find(&resolver->hosts, r->name, found, RESOLVE_ADDRESSES_MAX);
        interleave_families(found, count, &r->answers);
        return r->answers.count;
}

struct resolve_request *resolve_start(struct resolver *resolver, const char *name, uint16_t port, bool allow_private,
                                      resolve_callback *done, void *data)
{
        struct resolve_request *r = calloc(1, sizeof *r);
        if (!r)
                return NULL;
        *r = (struct resolve_request){
                .resolver = resolver, .port = port, .allow_private = allow_private, .done = done, .data = data
        };
        (void)snprintf(r->name, sizeof r->name, "%s", name);
        r->deliver_event = event_new(resolver->base, -1, 0, on_deliver, r);
        if (!r->deliver_event) {
                free(r);
                return NULL;
        }
        const struct ares_addrinfo_hints hints = { .ai_family = AF_UNSPEC,
                                                   .ai_socktype = SOCK_STREAM,
                                                   .ai_protocol = IPPROTO_TCP };
        if (find_known_answers(r)) {
                event_active(r->deliver_event, EV_TIMEOUT, 0);
        } else {
                ares_getaddrinfo(resolver->channel, name, NULL, &hints, on_answer, r);
                set_timer(resolver);
        }
        return r;
}

void resolve_cancel(struct resolve_request *r)
{
        r->stopped = true; /* on_answer() may still be called; on_deliver() frees the request */
}
