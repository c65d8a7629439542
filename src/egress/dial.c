/*
 * Dialling; see dial.h. The next address is tried when an attempt fails, or after ATTEMPT_DELAY_MS. The first
 * connection that is established wins, and the other attempts are closed.
 */
#include "egress/dial.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "egress/resolve.h"

enum { ATTEMPT_DELAY_MS = 250, CONNECT_SECONDS = 30 };

struct dial_request {
        struct event_base *base;
        dial_callback *done;
        void *data;
        union address addresses[RESOLVE_ADDRESSES_MAX];
        size_t count, started, failed;
        int given_fd; /* the caller's socket for the first attempt, or -1 */
        struct attempt {
                struct dial_request *d;
                int fd;
                struct event *writable;
        } attempts[RESOLVE_ADDRESSES_MAX];
        struct event *next;
};

static void close_attempt(struct attempt *a)
{
        if (a->writable)
                event_free(a->writable);
        a->writable = NULL;
        fd_close(&a->fd);
}

void dial_cancel(struct dial_request *d)
{
        for (size_t i = 0; i < d->started; i++)
                close_attempt(&d->attempts[i]);
        event_free(d->next);
        free(d);
}

static void finish(struct dial_request *d, int fd, const union address *address)
{
        const union address which = *address;
        dial_callback *done = d->done;
        void *data = d->data;
        dial_cancel(d);
        done(data, fd, &which);
}

static void schedule_next(struct dial_request *d, int ms)
{
        const struct timeval when = { .tv_usec = ms * 1000 };
        (void)event_add(d->next, &when);
}

static void fail_attempt(struct dial_request *d, struct attempt *a)
{
        close_attempt(a);
        d->failed++;
        schedule_next(d, 0);
}

static void on_writable(evutil_socket_t fd, short what, void *data)
{
        struct attempt *a = data;
        struct dial_request *d = a->d;
        int error = 0;
        socklen_t length = sizeof error;
        if (what & EV_TIMEOUT || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0 || error)
                fail_attempt(d, a);
        else
                finish(d, TAKE_FD(a->fd), &d->addresses[a - d->attempts]);
}

static void start_attempt(struct dial_request *d, size_t which)
{
        const struct timeval timeout = { .tv_sec = CONNECT_SECONDS };
        const union address *to = &d->addresses[which];
        struct attempt *a = &d->attempts[which];
        const int on = 1;
        *a = (struct attempt){ .d = d, .fd = d->given_fd };
        d->given_fd = -1;
        if (a->fd < 0)
                a->fd = socket(to->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (a->fd >= 0) {
                (void)setsockopt(a->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on); /* detects a vanished server */
                (void)setsockopt(a->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
                a->writable = event_new(d->base, a->fd, EV_WRITE, on_writable, a);
        }
        socklen_t length = to->any.sa_family == AF_INET ? sizeof to->v4 : sizeof to->v6;
        if (!a->writable || (connect(a->fd, &to->any, length) < 0 && errno != EINPROGRESS) ||
            event_add(a->writable, &timeout) < 0)
                fail_attempt(d, a);
}

static void on_next(evutil_socket_t fd, short what, void *data)
{
        struct dial_request *d = data;
        (void)fd;
        (void)what;
        if (d->started < d->count) {
                if (d->started + 1 < d->count)
                        schedule_next(d, ATTEMPT_DELAY_MS);
                start_attempt(d, d->started++);
        } else if (d->failed == d->count) {
                finish(d, -1, &d->addresses[d->count - 1]);
        }
}

static struct dial_request *start_dialling(struct event_base *base, int fd, const union address *addresses,
                                           size_t count, dial_callback *done, void *data)
{
        struct dial_request *d = calloc(1, sizeof *d);
        if (!d) {
                fd_close(&fd);
                return NULL;
        }
        *d = (struct dial_request){ .base = base, .done = done, .data = data, .count = count, .given_fd = fd };
        for (size_t i = 0; i < count; i++)
                d->addresses[i] = addresses[i];
        d->next = evtimer_new(base, on_next, d);
        if (!d->next) {
                fd_close(&d->given_fd);
                free(d);
                return NULL;
        }
        d->started = 1;
        if (count > 1)
                schedule_next(d, ATTEMPT_DELAY_MS);
        start_attempt(d, 0);
        return d;
}

struct dial_request *dial_addresses(struct event_base *base, const union address *addresses, size_t count,
                                    dial_callback *done, void *data)
{
        return start_dialling(base, -1, addresses, count, done, data);
}

struct dial_request *dial_with_socket(struct event_base *base, int fd, const union address *address,
                                      dial_callback *done, void *data)
{
        return start_dialling(base, fd, address, 1, done, data);
}
