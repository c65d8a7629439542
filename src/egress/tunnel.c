/*
 * Asking a proxy for a way; see tunnel.h. Its answer is looked at where it lies and only the head is taken out: a host that speaks
 * first may have spoken already.
 *
 * What the proxy controls: the answer. It is bounded, in bytes and in time.
 */
#include "egress/tunnel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "egress/http_target.h"

enum { ANSWER_MOST = 16 << 10, PATIENCE_SECONDS = 60 };

struct tunnel {
        int fd;
        struct event *readable;
        size_t seen; /* bytes of an answer that was not whole */
        tunnel_done *done;
        void *data;
};

void tunnel_stop(struct tunnel *t)
{
        if (t->readable)
                event_free(t->readable);
        fd_close(&t->fd);
        free(t);
}

static void finish(struct tunnel *t, int fd, int status)
{
        tunnel_done *done = t->done;
        void *data = t->data;
        tunnel_stop(t);
        done(data, fd, status);
}

/* Woken when there is more than this, or when there never will be. */
static void wait_for_more(struct tunnel *t, size_t seen)
{
        const int least = (int)seen + 1;
        (void)setsockopt(t->fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
        t->seen = seen;
}

static void on_readable(evutil_socket_t fd, short what, void *data)
{
        static const char head_end[] = "\r\n\r\n";
        struct tunnel *t = data;
        char answer[ANSWER_MOST];
        ssize_t n = what & EV_TIMEOUT ? 0 : recv(fd, answer, sizeof answer, MSG_PEEK | MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        const char *end = n > 0 ? memmem(answer, (size_t)n, head_end, strlen(head_end)) : NULL;
        int status = n > 0 ? http_response_status(answer, (size_t)n) : -EPIPE;
        if (!end && status >= 0 && (size_t)n > t->seen && (size_t)n < sizeof answer) {
                wait_for_more(t, (size_t)n);
                return;
        }
        size_t head = end ? (size_t)(end - answer) + strlen(head_end) : 0;
        bool through = end && status >= 200 && status <= 299 && recv(fd, answer, head, MSG_DONTWAIT) == (ssize_t)head;
        wait_for_more(t, 0);
        finish(t, through ? TAKE_FD(t->fd) : -1, status < 0 ? 0 : status);
}

struct tunnel *tunnel_start(struct event_base *base, int fd, const struct upstream *u, const char *host, uint16_t port,
                            tunnel_done *done, void *data)
{
        const struct timeval patience = { .tv_sec = PATIENCE_SECONDS };
        CLEANUP_TEXT struct text request = { 0 };
        struct tunnel *t = calloc(1, sizeof *t);
        if (!t) {
                fd_close(&fd);
                return NULL;
        }
        *t = (struct tunnel){ .fd = fd, .done = done, .data = data };
        t->readable = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, t);
        upstream_write_request(u, host, port, &request);
        if (!t->readable || request.failed || event_add(t->readable, &patience) < 0) {
                tunnel_stop(t);
                return NULL;
        }
        /* It fits into the buffer of a new connection. If that is broken already, reading will say so. */
        (void)send(fd, request.data, request.length, MSG_DONTWAIT | MSG_NOSIGNAL);
        return t;
}
