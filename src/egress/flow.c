/*
 * Passing bytes on; see flow.h.
 *
 * splice(2) moves pages from a socket into a pipe and from there into another socket. A pipe is needed only while bytes are in
 * it, so connections that do nothing have none, and two or three serve most boxes. Only the first few are large, because all
 * pipes of a user together have a limit, and whoever is beyond it gets tiny ones.
 *
 * What the peers control: when bytes come, and whether they are taken. What is not taken stays in one pipe, and then in the
 * kernel's buffers, until the sender has to wait.
 */
#include "egress/flow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

enum { PIPE_BYTES = 1 << 20, LARGE_PIPES = 8, IDLE_PIPES = 16, TURN_BYTES = 4 << 20, FEW_BYTES = 16 << 10 };

void pipes_done(struct pipes *p)
{
        while (p->count) {
                p->count--;
                fd_close(&p->idle[p->count][0]);
                fd_close(&p->idle[p->count][1]);
        }
        free(p->idle);
        p->idle = NULL;
}

static int take_pipe(struct pipes *p, int ret[2])
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

static void close_pipe(struct pipes *p, int pipe[2])
{
        if (pipe[0] >= 0 && fcntl(pipe[0], F_GETPIPE_SZ) == PIPE_BYTES)
                p->large--;
        fd_close(&pipe[0]);
        fd_close(&pipe[1]);
}

static void give_back(struct pipes *p, int pipe[2])
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

void flow_begin(struct flow *f, int from, int to)
{
        *f = (struct flow){ .from = from, .to = to, .pipe = { -1, -1 } };
}

void flow_end(struct flow *f, struct pipes *pipes)
{
        if (f->pipe[0] >= 0 && !f->held)
                give_back(pipes, f->pipe);
        close_pipe(pipes, f->pipe);
        text_done(&f->ahead);
}

/* 0 when all of it is sent, else as empty(). */
static int send_ahead(struct flow *f)
{
        while (f->ahead_sent < f->ahead.length) {
                ssize_t n = send(f->to, f->ahead.data + f->ahead_sent, f->ahead.length - f->ahead_sent, MSG_DONTWAIT | MSG_NOSIGNAL);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return errno == EAGAIN ? FLOW_WRITE : FLOW_BROKEN;
                f->ahead_sent += (size_t)n;
                f->passed += (uint64_t)n;
        }
        text_done(&f->ahead);
        f->ahead_sent = 0;
        return 0;
}

/* From the pipe to the socket. 0 when the pipe is empty, else the flow_result that says why not. */
static int empty(struct flow *f, struct pipes *pipes)
{
        while (f->held) {
                ssize_t n = splice(f->pipe[0], NULL, f->to, NULL, f->held, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0 && errno == EAGAIN)
                        return FLOW_WRITE;
                if (n <= 0)
                        return FLOW_BROKEN;
                f->held -= (size_t)n;
                f->passed += (uint64_t)n;
        }
        if (f->pipe[0] >= 0)
                give_back(pipes, f->pipe);
        return 0;
}

/* Where an urgent byte is, splice passes nothing, and poll says that there is something: it is taken by hand. */
static bool take_urgent(struct flow *f)
{
        char byte;
        if (recv(f->from, &byte, 1, MSG_DONTWAIT) != 1)
                return false;
        text_add_bytes(&f->ahead, &byte, 1);
        if (f->allowance > 0)
                f->allowance--;
        return !f->ahead.failed;
}

enum flow_result flow_move(struct flow *f, struct pipes *pipes)
{
        bool likely = true; /* that there is more */
        for (size_t moved = 0; moved < TURN_BYTES;) {
                int stuck = empty(f, pipes);
                if (!stuck)
                        stuck = send_ahead(f);
                if (stuck)
                        return (enum flow_result)stuck;
                if (f->ended) {
                        if (!f->done)
                                (void)shutdown(f->to, SHUT_WR);
                        f->done = true;
                        return FLOW_DONE;
                }
                if (f->allowance == 0)
                        return FLOW_SPENT;
                if (!likely)
                        return FLOW_READ;
                if (take_pipe(pipes, f->pipe) < 0)
                        return FLOW_BROKEN;
                size_t most = f->allowance > 0 && f->allowance < PIPE_BYTES ? (size_t)f->allowance : PIPE_BYTES;
                ssize_t n = splice(f->from, NULL, f->pipe[1], NULL, most, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
                if (n <= 0) {
                        int code = errno;
                        give_back(pipes, f->pipe);
                        if (n < 0 && code == EINTR)
                                continue;
                        if (n < 0 && code == EAGAIN && !moved && take_urgent(f)) {
                                moved++;
                                continue;
                        }
                        if (n < 0)
                                return code == EAGAIN ? FLOW_READ : FLOW_BROKEN;
                        f->ended = true;
                        continue;
                }
                f->held = (size_t)n;
                moved += (size_t)n;
                likely = n >= FEW_BYTES;
                if (f->allowance > 0)
                        f->allowance -= n;
        }
        return FLOW_AGAIN;
}
