/*
 * A tunnel through the upstream proxy; see upstream_connect.h. The proxy's answer is peeked, and only its head is read:
 * bytes of a host that speaks first may follow it.
 *
 * What the proxy controls: its answer. The head is capped at ANSWER_MAX, and the wait for it at twice ANSWER_SECONDS:
 * libevent's timeout begins again with each part, but no part that comes after the deadline extends the wait.
 */
#include "egress/upstream_connect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"
#include "egress/http_destination.h"

enum { ANSWER_MAX = 16 << 10, ANSWER_SECONDS = 60 };

struct upstream_connect {
        int fd;
        struct event *readable;
        size_t seen;      /* bytes of the answer so far, while it is incomplete */
        int64_t deadline; /* by clock_ms(); after it an incomplete answer is a failure */
        upstream_connect_callback *done;
        void *data;
};

void upstream_connect_cancel(struct upstream_connect *t)
{
        if (t->readable)
                event_free(t->readable);
        fd_close(&t->fd);
        free(t);
}

static void finish(struct upstream_connect *t, int fd, int status)
{
        upstream_connect_callback *done = t->done;
        void *data = t->data;
        upstream_connect_cancel(t);
        done(data, fd, status);
}

/* Makes the socket readable only when there are more than `seen` bytes, or at EOF. */
static void wait_for_more(struct upstream_connect *t, size_t seen)
{
        const int least = (int)seen + 1;
        (void)setsockopt(t->fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
        t->seen = seen;
}

static void on_readable(evutil_socket_t fd, short what, void *data)
{
        static const char head_end[] = "\r\n\r\n";
        struct upstream_connect *t = data;
        char answer[ANSWER_MAX];
        ssize_t n = what & EV_TIMEOUT ? 0 : recv(fd, answer, sizeof answer, MSG_PEEK | MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        const char *end = n > 0 ? memmem(answer, (size_t)n, head_end, strlen(head_end)) : NULL;
        int status = n > 0 ? http_response_status(answer, (size_t)n) : -EPIPE;
        if (!end && status >= 0 && (size_t)n > t->seen && (size_t)n < sizeof answer && clock_ms() < t->deadline) {
                wait_for_more(t, (size_t)n);
                return;
        }
        size_t head = end ? (size_t)(end - answer) + strlen(head_end) : 0;
        bool opened = end && status >= 200 && status <= 299 && recv(fd, answer, head, MSG_DONTWAIT) == (ssize_t)head;
        wait_for_more(t, 0);
        finish(t, opened ? TAKE_FD(t->fd) : -1, status < 0 ? 0 : status);
}

struct upstream_connect *upstream_connect_start(struct event_base *base, int fd, const struct upstream_proxy *u,
                                                const char *host, uint16_t port, upstream_connect_callback *done,
                                                void *data)
{
        const struct timeval timeout = { .tv_sec = ANSWER_SECONDS };
        CLEANUP_TEXT struct text request = { 0 };
        struct upstream_connect *t = calloc(1, sizeof *t);
        if (!t) {
                fd_close(&fd);
                return NULL;
        }
        *t = (struct upstream_connect){
                .fd = fd, .done = done, .data = data, .deadline = clock_ms() + timeout.tv_sec * 1000,
        };
        t->readable = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, t);
        upstream_proxy_write_connect(u, host, port, &request);
        if (!t->readable || request.failed || event_add(t->readable, &timeout) < 0) {
                upstream_connect_cancel(t);
                return NULL;
        }
        /* The request fits into the send buffer of a new connection. If the connection is broken, recv will fail. */
        (void)send(fd, request.data, request.length, MSG_DONTWAIT | MSG_NOSIGNAL);
        return t;
}
