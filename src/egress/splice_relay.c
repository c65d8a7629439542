/*
 * Relaying bytes; see splice_relay.h.
 *
 * splice(2) moves pages from a socket into a pipe and from there into another socket. A pipe is needed only while it
 * holds bytes, so idle connections have none, and two or three pipes serve most boxes. Only the first few are large,
 * because the kernel limits the pipe pages of a user, and a user above the limit gets tiny pipes.
 *
 * What the peers control: when they send, and whether they read. Bytes that a peer does not read stay in one pipe and
 * in the sockets' buffers; when these are full, the sender blocks.
 */
#include "egress/splice_relay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

enum {
        PIPE_BYTES = 1 << 20,
        LARGE_PIPES = 8,
        IDLE_PIPES = 16,
        TURN_BYTES = 4 << 20, /* about the maximum that one call of splice_relay_pump() moves */
        FEW_BYTES = 16 << 10, /* after a smaller read the socket is probably empty */
};

static int pipe_pool_get(struct pipe_pool *p, int ret[2])
{
        if (p->count) {
                p->count--;
                ret[0] = p->idle[p->count][0];
                ret[1] = p->idle[p->count][1];
                return 0;
        }
        if (pipe2(ret, O_CLOEXEC | O_NONBLOCK) < 0)
                return -errno;
        if (p->large < LARGE_PIPES && fcntl(ret[0], F_SETPIPE_SZ, PIPE_BYTES) == PIPE_BYTES)
                p->large++;
        return 0;
}

static void close_pipe(struct pipe_pool *p, int pipe[2])
{
        if (pipe[0] >= 0 && fcntl(pipe[0], F_GETPIPE_SZ) == PIPE_BYTES)
                p->large--;
        fd_close(&pipe[0]);
        fd_close(&pipe[1]);
}

static void release_pipe(struct pipe_pool *p, int pipe[2])
{
        if (!p->idle)
                p->idle = calloc(IDLE_PIPES, sizeof *p->idle);
        if (p->idle && p->count < IDLE_PIPES) {
                p->idle[p->count][0] = pipe[0];
                p->idle[p->count++][1] = pipe[1];
                pipe[0] = pipe[1] = -1;
        } else {
                close_pipe(p, pipe);
        }
}

void splice_relay_init(struct splice_relay *f, int from, int to)
{
        *f = (struct splice_relay){ .from = from, .to = to, .pipe = { -1, -1 } };
}

void splice_relay_done(struct splice_relay *f, struct pipe_pool *pipes)
{
        if (f->pipe[0] >= 0 && !f->in_pipe)
                release_pipe(pipes, f->pipe);
        close_pipe(pipes, f->pipe);
        text_done(&f->ahead);
}

/* Returns 0 when all of `ahead` is sent, else the relay_status that says why not. */
static int send_prefix(struct splice_relay *f)
{
        while (f->ahead_sent < f->ahead.length) {
                ssize_t n = send(f->to, f->ahead.data + f->ahead_sent, f->ahead.length - f->ahead_sent,
                                 MSG_DONTWAIT | MSG_NOSIGNAL);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return errno == EAGAIN ? RELAY_WANT_WRITE : RELAY_BROKEN;
                f->ahead_sent += (size_t)n;
                f->passed += (uint64_t)n;
        }
        text_done(&f->ahead);
        f->ahead_sent = 0;
        return 0;
}

/* Moves bytes from the pipe to the socket. Returns 0 when the pipe is empty, else the relay_status that says why not.
 */
static int drain_pipe(struct splice_relay *f, struct pipe_pool *pipes)
{
        while (f->in_pipe) {
                ssize_t n = splice(f->pipe[0], NULL, f->to, NULL, f->in_pipe, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0 && errno == EAGAIN)
                        return RELAY_WANT_WRITE;
                if (n <= 0)
                        return RELAY_BROKEN;
                f->in_pipe -= (size_t)n;
                f->passed += (uint64_t)n;
        }
        if (f->pipe[0] >= 0)
                release_pipe(pipes, f->pipe);
        return 0;
}

/* At an urgent byte splice returns EAGAIN although poll reports the socket as readable, so the byte is read by recv. */
static bool read_urgent_byte(struct splice_relay *f)
{
        char byte;
        if (recv(f->from, &byte, 1, MSG_DONTWAIT) != 1)
                return false;
        text_add_bytes(&f->ahead, &byte, 1);
        if (f->allowance > 0)
                f->allowance--;
        return !f->ahead.failed;
}

enum relay_status splice_relay_pump(struct splice_relay *f, struct pipe_pool *pipes)
{
        bool more_likely = true; /* are more bytes of `from` likely to be readable? */
        for (size_t moved = 0; moved < TURN_BYTES;) {
                int blocked = drain_pipe(f, pipes);
                if (!blocked)
                        blocked = send_prefix(f);
                if (blocked)
                        return (enum relay_status)blocked;
                if (f->ended) {
                        if (!f->done)
                                (void)shutdown(f->to, SHUT_WR);
                        f->done = true;
                        return RELAY_DONE;
                }
                if (f->allowance == 0)
                        return RELAY_ALLOWANCE_SPENT;
                if (!more_likely)
                        return RELAY_WANT_READ;
                if (pipe_pool_get(pipes, f->pipe) < 0)
                        return RELAY_BROKEN;
                size_t max = f->allowance > 0 && f->allowance < PIPE_BYTES ? (size_t)f->allowance : PIPE_BYTES;
                ssize_t n = splice(f->from, NULL, f->pipe[1], NULL, max, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
                if (n <= 0) {
                        int code = errno;
                        release_pipe(pipes, f->pipe);
                        if (n < 0 && code == EINTR)
                                continue;
                        if (n < 0 && code == EAGAIN && !moved && read_urgent_byte(f)) {
                                moved++;
                                continue;
                        }
                        if (n < 0)
                                return code == EAGAIN ? RELAY_WANT_READ : RELAY_BROKEN;
                        f->ended = true;
                        continue;
                }
                f->in_pipe = (size_t)n;
                moved += (size_t)n;
                more_likely = n >= FEW_BYTES;
                if (f->allowance > 0)
                        f->allowance -= n;
        }
        return RELAY_YIELD;
}
