/* Frames; see channel.h. The peer controls every byte; a length above CHANNEL_MAX is a protocol error. */
#include "wire/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

enum { HEADER_SIZE = sizeof(uint32_t), READ_SIZE = 64 << 10 };

int channel_open(struct channel *ret, int fd)
{
        *ret = (struct channel){ .fd = fd };
        int flags = fcntl(fd, F_GETFL);
        return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0;
}

void channel_close(struct channel *c)
{
        fd_close(&c->fd);
        text_done(&c->received);
        text_done(&c->queued);
        c->taken = c->sent = 0;
}

short channel_poll_events(const struct channel *c)
{
        return (short)(POLLIN | (c->queued.length > c->sent ? POLLOUT : 0));
}

int channel_queue_frame(struct channel *c, const void *data, size_t length)
{
        uint32_t header = (uint32_t)length;
        if (length > CHANNEL_MAX)
                return -EMSGSIZE;
        text_add_bytes(&c->queued, (const char *)&header, HEADER_SIZE);
        text_add_bytes(&c->queued, data, length);
        return c->queued.failed ? -ENOMEM : 0;
}

/* Drops the bytes that were taken or sent, unless there are too few of them to be worth the memmove. */
static void discard_consumed(struct text *t, size_t *consumed)
{
        if (*consumed < t->length && *consumed < READ_SIZE)
                return;
        if (*consumed < t->length)
                memmove(t->data, t->data + *consumed, t->length - *consumed);
        t->length -= *consumed;
        *consumed = 0;
}

int channel_flush(struct channel *c)
{
        while (c->sent < c->queued.length) {
                ssize_t n = send(c->fd, c->queued.data + c->sent, c->queued.length - c->sent, MSG_NOSIGNAL);
                if (n < 0 && (errno == EPIPE || errno == ECONNRESET)) {
                        c->peer_closed = true; /* the frames that the peer sent before are still to be read */
                        return 0;
                }
                if (n < 0)
                        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
                c->sent += (size_t)n;
        }
        discard_consumed(&c->queued, &c->sent);
        return 0;
}

static int receive(struct channel *c)
{
        char buffer[READ_SIZE];
        while (c->received.length - c->taken <= CHANNEL_MAX) {
                ssize_t n = read(c->fd, buffer, sizeof buffer);
                if (n < 0 && (errno == EAGAIN || errno == EINTR))
                        return 0;
                if (n == 0 || (n < 0 && errno == ECONNRESET)) {
                        c->peer_closed = true;
                        return 0;
                }
                if (n < 0)
                        return -errno;
                text_add_bytes(&c->received, buffer, (size_t)n);
                if (c->received.failed)
                        return -ENOMEM;
                if ((size_t)n < sizeof buffer) /* the socket is empty, or poll will report the rest */
                        return 0;
        }
        return 0;
}

int channel_pump(struct channel *c)
{
        int sent = channel_flush(c), received = receive(c);
        return sent < 0 ? sent : received;
}

int channel_next_frame(struct channel *c, const char **ret, size_t *ret_length)
{
        uint32_t header = 0;
        discard_consumed(&c->received, &c->taken);
        if (c->received.length - c->taken < HEADER_SIZE)
                return 0;
        memcpy(&header, c->received.data + c->taken, HEADER_SIZE);
        if (header > CHANNEL_MAX)
                return -EPROTO;
        if (c->received.length - c->taken - HEADER_SIZE < header)
                return 0;
        *ret = c->received.data + c->taken + HEADER_SIZE;
        *ret_length = header;
        c->taken += HEADER_SIZE + header;
        return 1;
}
