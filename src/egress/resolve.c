/*
 * Looking names up; see resolve.h.
 *
 * libevent's resolver asks the servers of /etc/resolv.conf, and knows /etc/hosts; both were read before the process was confined.
 * An answer is used for a few seconds for other connections to the same name, as a browser does.
 *
 * What is refused: addresses that are no public server's (base/address.c), and those of this machine, which the kernel tells by
 * the source that it would use for them. All others of the same answer may be dialled, in the order of their families' turns.
 *
 * What the other side controls: the servers' answers. None of them is believed to be more than an address.
 */
#include "egress/resolve.h"

#include <errno.h>
#include <event2/dns.h>
#include <event2/util.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

static const char stage[] = "resolver";

enum { CACHE_ENTRIES = 64, CACHE_MS = 5000 };

struct answer_list {
        union address list[RESOLVE_ADDRESSES];
        size_t count;
};

struct resolver {
        struct event_base *base;
        struct evdns_base *dns;
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
        struct evdns_getaddrinfo_request *request;
        struct event *soon;
        struct answer_list answers;
};

struct resolver *resolver_new(struct event_base *base, struct error *e)
{
        struct resolver *r = calloc(1, sizeof *r);
        if (r)
                r->dns = evdns_base_new(base, EVDNS_BASE_DISABLE_WHEN_INACTIVE);
        if (!r || !r->dns) {
                free(r);
                (void)error_errno(e, ENOMEM, stage, "no memory");
                return NULL;
        }
        r->base = base;
        (void)evdns_base_resolv_conf_parse(r->dns, DNS_OPTIONS_ALL, "/etc/resolv.conf"); /* without it there is 127.0.0.1 */
        evdns_base_search_clear(r->dns); /* a name is what it is */
        (void)evdns_base_set_option(r->dns, "max-inflight:", "256");
        return r;
}

void resolver_free(struct resolver *r)
{
        if (r)
                evdns_base_free(r->dns, 0);
        free(r);
}

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
        if (fd < 0 || connect(fd, &a->any, size_of(a)) < 0 || getsockname(fd, &source.any, &length) < 0)
                return false; /* then it cannot be dialled either */
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
                enum egress_reason why = r->any ? REASON_NONE : address_refused(&a) ? REASON_PRIVATE : is_own(&a) ? REASON_OWN : REASON_NONE;
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

static void end(struct resolving *r)
{
        if (r->soon)
                event_free(r->soon);
        free(r);
}

static void on_soon(evutil_socket_t fd, short what, void *data)
{
        (void)fd;
        (void)what;
        struct resolving *r = data;
        if (!r->stopped)
                give(r);
        end(r);
}

/* One family and the other in turn, the first being what the resolver put first. */
static void take_turns(const struct evutil_addrinfo *found, struct answer_list *ret)
{
        const struct evutil_addrinfo *next[2] = { found, found };
        int families[2] = { found->ai_family, found->ai_family == AF_INET ? AF_INET6 : AF_INET };
        for (size_t turn = 0; ret->count < RESOLVE_ADDRESSES && (next[0] || next[1]); turn ^= 1) {
                while (next[turn] && next[turn]->ai_family != families[turn])
                        next[turn] = next[turn]->ai_next;
                if (next[turn] && next[turn]->ai_addrlen <= sizeof(union address)) {
                        memcpy(&ret->list[ret->count++], next[turn]->ai_addr, next[turn]->ai_addrlen);
                        next[turn] = next[turn]->ai_next;
                }
        }
}

static void remember(const struct resolving *r)
{
        struct resolver *x = r->resolver;
        struct cached *c = &x->cache[x->next];
        x->next = (x->next + 1) % CACHE_ENTRIES;
        (void)snprintf(c->name, sizeof c->name, "%s", r->name);
        c->answers = r->answers;
        c->until = clock_ms() + CACHE_MS;
}

static void on_answer(int result, struct evutil_addrinfo *found, void *data)
{
        struct resolving *r = data;
        r->request = NULL;
        if (result == 0 && found) {
                take_turns(found, &r->answers);
                remember(r);
        }
        if (found)
                evutil_freeaddrinfo(found);
        if (r->soon) { /* still in resolve_start() */
                event_active(r->soon, EV_TIMEOUT, 0);
                return;
        }
        if (!r->stopped)
                give(r);
        end(r);
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
        int64_t now = clock_ms();
        for (size_t i = 0; i < CACHE_ENTRIES; i++) {
                if (x->cache[i].until > now && strcmp(x->cache[i].name, name) == 0) {
                        r->answers = x->cache[i].answers;
                        event_active(r->soon, EV_TIMEOUT, 0);
                        return r;
                }
        }
        const struct evutil_addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_protocol = IPPROTO_TCP,
                                               .ai_flags = EVUTIL_AI_ADDRCONFIG };
        r->request = evdns_getaddrinfo(x->dns, name, NULL, &hints, on_answer, r);
        if (r->request) {
                event_free(r->soon);
                r->soon = NULL;
        }
        return r;
}

void resolve_stop(struct resolving *r)
{
        r->stopped = true;
        if (r->request)
                evdns_getaddrinfo_cancel(r->request); /* which calls back, later, and that is the end */
}
