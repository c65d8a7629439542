/*
 * Dialling; see dial.h. The next address is tried when the one before has failed, or after a quarter of a second; the first
 * connection that stands wins, and the others are closed.
 */
#include "egress/dial.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "egress/resolve.h"

enum { NEXT_MS = 250, PATIENCE_SECONDS = 30 };

struct dialling {
        struct event_base *base;
        dial_done *done;
        void *data;
        union address addresses[RESOLVE_ADDRESSES];
        size_t count, begun, failed;
        int made; /* a socket for the first; -1: none */
        struct attempt {
                struct dialling *d;
                int fd;
                struct event *writable;
        } attempts[RESOLVE_ADDRESSES];
        struct event *next;
};

static void close_attempt(struct attempt *a)
{
        if (a->writable)
                event_free(a->writable);
        a->writable = NULL;
        fd_close(&a->fd);
}

void dial_stop(struct dialling *d)
{
        for (size_t i = 0; i < d->begun; i++)
                close_attempt(&d->attempts[i]);
        event_free(d->next);
        free(d);
}

static void finish(struct dialling *d, int fd, const union address *address)
{
        const union address which = *address;
        dial_done *done = d->done;
        void *data = d->data;
        dial_stop(d);
        done(data, fd, &which);
}

/* In a moment, or at once. */
static void come_back(struct dialling *d, int ms)
{
        const struct timeval when = { .tv_usec = ms * 1000 };
        (void)event_add(d->next, &when);
}

static void fail(struct dialling *d, struct attempt *a)
{
        close_attempt(a);
        d->failed++;
        come_back(d, 0);
}

static void on_writable(evutil_socket_t fd, short what, void *data)
{
        struct attempt *a = data;
        struct dialling *d = a->d;
        int error = 0;
        socklen_t length = sizeof error;
        if (what & EV_TIMEOUT || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0 || error)
                fail(d, a);
        else
                finish(d, TAKE_FD(a->fd), &d->addresses[a - d->attempts]);
}

static void begin(struct dialling *d, size_t which)
{
        const struct timeval patience = { .tv_sec = PATIENCE_SECONDS };
        const union address *to = &d->addresses[which];
        struct attempt *a = &d->attempts[which];
        const int on = 1;
        *a = (struct attempt){ .d = d, .fd = d->made };
        d->made = -1;
        if (a->fd < 0)
                a->fd = socket(to->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (a->fd >= 0) {
                (void)setsockopt(a->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on); /* a server may vanish */
                (void)setsockopt(a->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
                a->writable = event_new(d->base, a->fd, EV_WRITE, on_writable, a);
        }
        socklen_t length = to->any.sa_family == AF_INET ? sizeof to->v4 : sizeof to->v6;
        if (!a->writable || (connect(a->fd, &to->any, length) < 0 && errno != EINPROGRESS) || event_add(a->writable, &patience) < 0)
                fail(d, a);
}

static void on_next(evutil_socket_t fd, short what, void *data)
{
        struct dialling *d = data;
        (void)fd;
        (void)what;
        if (d->begun < d->count) {
                if (d->begun + 1 < d->count)
                        come_back(d, NEXT_MS);
                begin(d, d->begun++);
        } else if (d->failed == d->count) {
                finish(d, -1, &d->addresses[d->count - 1]);
        }
}

static struct dialling *start(struct event_base *base, int made, const union address *addresses, size_t count, dial_done *done,
                              void *data)
{
        struct dialling *d = calloc(1, sizeof *d);
        if (!d) {
                fd_close(&made);
                return NULL;
        }
        *d = (struct dialling){ .base = base, .done = done, .data = data, .count = count, .made = made };
        for (size_t i = 0; i < count; i++)
                d->addresses[i] = addresses[i];
        d->next = evtimer_new(base, on_next, d);
        if (!d->next) {
                fd_close(&d->made);
                free(d);
                return NULL;
        }
        d->begun = 1;
        if (count > 1)
                come_back(d, NEXT_MS);
        begin(d, 0);
        return d;
}

struct dialling *dial_start(struct event_base *base, const union address *addresses, size_t count, dial_done *done, void *data)
{
        return start(base, -1, addresses, count, done, data);
}

struct dialling *dial_with(struct event_base *base, int fd, const union address *address, dial_done *done, void *data)
{
        return start(base, fd, address, 1, done, data);
}
