/* Frames; see channel.h. What the other end controls: all bytes. A length beyond the bound ends the conversation. */
#include "wire/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

enum { HEAD = sizeof(uint32_t), PIECE = 64 << 10 };

int channel_open(struct channel *ret, int fd)
{
        *ret = (struct channel){ .fd = fd };
        int flags = fcntl(fd, F_GETFL);
        return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0;
}

void channel_close(struct channel *c)
{
        fd_close(&c->fd);
        text_done(&c->in);
        text_done(&c->out);
        c->taken = c->sent = 0;
}

short channel_events(const struct channel *c)
{
        return (short)(POLLIN | (c->out.length > c->sent ? POLLOUT : 0));
}

int channel_put(struct channel *c, const void *data, size_t length)
{
        uint32_t head = (uint32_t)length;
        if (length > CHANNEL_MOST)
                return -EMSGSIZE;
        text_add_bytes(&c->out, (const char *)&head, HEAD);
        text_add_bytes(&c->out, data, length);
        return c->out.failed ? -ENOMEM : 0;
}

/* Forgets the front of a buffer, when that is worth the moving. */
static void drop_front(struct text *t, size_t *done)
{
        if (*done < t->length && *done < PIECE)
                return;
        if (*done < t->length)
                memmove(t->data, t->data + *done, t->length - *done);
        t->length -= *done;
        *done = 0;
}

int channel_flush(struct channel *c)
{
        while (c->sent < c->out.length) {
                ssize_t n = send(c->fd, c->out.data + c->sent, c->out.length - c->sent, MSG_NOSIGNAL);
                if (n < 0 && (errno == EPIPE || errno == ECONNRESET)) {
                        c->ended = true; /* what it said before is still to be read */
                        return 0;
                }
                if (n < 0)
                        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
                c->sent += (size_t)n;
        }
        drop_front(&c->out, &c->sent);
        return 0;
}

static int receive_in(struct channel *c)
{
        char piece[PIECE];
        while (c->in.length - c->taken <= CHANNEL_MOST) {
                ssize_t n = read(c->fd, piece, sizeof piece);
                if (n < 0 && (errno == EAGAIN || errno == EINTR))
                        return 0;
                if (n == 0 || (n < 0 && errno == ECONNRESET)) {
                        c->ended = true;
                        return 0;
                }
                if (n < 0)
                        return -errno;
                text_add_bytes(&c->in, piece, (size_t)n);
                if (c->in.failed)
                        return -ENOMEM;
                if ((size_t)n < sizeof piece) /* that was all, or poll will tell of the rest */
                        return 0;
        }
        return 0;
}

int channel_move(struct channel *c)
{
        int sent = channel_flush(c), received = receive_in(c);
        return sent < 0 ? sent : received;
}

int channel_take(struct channel *c, const char **ret, size_t *ret_length)
{
        uint32_t head = 0;
        drop_front(&c->in, &c->taken);
        if (c->in.length - c->taken < HEAD)
                return 0;
        memcpy(&head, c->in.data + c->taken, HEAD);
        if (head > CHANNEL_MOST)
                return -EPROTO;
        if (c->in.length - c->taken - HEAD < head)
                return 0;
        *ret = c->in.data + c->taken + HEAD;
        *ret_length = head;
        c->taken += HEAD + head;
        return 1;
}
