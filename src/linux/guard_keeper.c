/*
 * Requests of a guard to its keeper in a box without namespaces (level standard).
 *
 * What it is for: two things that a guard cannot do there. If Yama restricts ptrace, only an ancestor of a process, or
 * a process with CAP_SYS_PTRACE, may read its memory and copy its descriptors; the keeper is the ancestor of all
 * processes of the box. And a box that may reach hosts gets sockets that are bound to the loopback (socket_server.c):
 * the Landlock rules of command and guard forbid that bind, and the keeper has not taken those rules.
 *
 * How it works: all guards of a box share one socket to the keeper. A guard holds a lock from request to answer.
 *
 * What it trusts: the guard is our code, but it parses input from the box. The kernel limits what the keeper can be
 * asked for: Landlock lets it inspect only processes of the box's own domain, Yama only its descendants.
 *
 * What an attacker controls: memory that is slow to read (mapped from a slow file system) blocks the keeper. A signal
 * from the user then terminates the keeper, and the watchdog (keeper.c) the box.
 */
#include "linux/guard_keeper.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"
#include "linux/guard.h"
#include "linux/socket_server.h"
#include "wire/packet.h"

enum request_kind { READ_MEMORY, COPY_FD, MAKE_SOCKET };

struct request {
        enum request_kind kind;
        pid_t tid, tgid;  /* tgid for COPY_FD only */
        uint64_t address; /* READ_MEMORY */
        size_t size;
        int number;       /* COPY_FD: the descriptor; MAKE_SOCKET: SOCK_NONBLOCK or 0 */
};

struct probe_answer {
        long result; /* a length, or -errno; a descriptor is passed along with the message */
        char bytes[KEEPER_BYTES_MAX];
};

/* --- in the guard --- */

static long ask_keeper(struct guard *g, const struct request *q, struct probe_answer *ret, int *ret_fd)
{
        *ret_fd = -1;
        guard_lock_keeper(g);
        int r = packet_send(g->keeper, q, sizeof *q, -1);
        ssize_t n = r < 0 ? r : packet_receive(g->keeper, ret, sizeof *ret, 0, ret_fd);
        guard_unlock_keeper(g);
        if (n < (ssize_t)sizeof ret->result)
                return n < 0 ? n : -EPIPE;
        return ret->result;
}

ssize_t guard_ask_memory(struct guard *g, pid_t tid, uint64_t address, void *ret, size_t size)
{
        struct probe_answer a;
        int no_fd;
        const struct request q = { .kind = READ_MEMORY, .tid = tid, .address = address,
                                   .size = size < KEEPER_BYTES_MAX ? size : KEEPER_BYTES_MAX };
        long n = ask_keeper(g, &q, &a, &no_fd);
        fd_close(&no_fd);
        if (n > (long)q.size)
                return -EIO;
        for (long i = 0; i < n; i++)
                ((char *)ret)[i] = a.bytes[i];
        return n;
}

static int ask_fd(struct guard *g, const struct request *q)
{
        struct probe_answer a;
        CLEANUP_FD int fd = -1;
        long r = ask_keeper(g, q, &a, &fd);
        return r < 0 ? (int)r : fd < 0 ? -EBADF : TAKE_FD(fd);
}

int guard_ask_fd(struct guard *g, pid_t tid, pid_t tgid, int fd)
{
        return ask_fd(g, &(struct request){ .kind = COPY_FD, .tid = tid, .tgid = tgid, .number = fd });
}

int guard_ask_socket(struct guard *g, int nonblocking)
{
        return ask_fd(g, &(struct request){ .kind = MAKE_SOCKET, .number = nonblocking });
}

/* --- in the keeper --- */

static long read_memory(const struct request *q, char *ret)
{
        struct iovec here = { .iov_base = ret, .iov_len = q->size };
        struct iovec there[2];
        if (q->size > KEEPER_BYTES_MAX)
                return -EINVAL;
        unsigned long count = guard_split_pages(q->address, q->size, there);
        ssize_t n = process_vm_readv(q->tid, &here, 1, there, count, 0);
        return n < 0 ? -errno : n;
}

static int copy_fd(const struct request *q)
{
        CLEANUP_FD int process = guard_open_process(q->tid, q->tgid);
        int copy = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, q->number, 0);
        return copy < 0 ? -errno : copy;
}

int guard_keeper_answer(int socket)
{
        struct request q;
        struct probe_answer a = { 0 };
        CLEANUP_FD int fd = -1;
        ssize_t n = recv(socket, &q, sizeof q, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n != sizeof q)
                return -EPIPE;
        if (q.tid == getpid() || q.tgid == getpid())
                q.tid = q.tgid = -1; /* the keeper itself is never a caller */
        switch (q.kind) {
        case READ_MEMORY:
                a.result = read_memory(&q, a.bytes);
                break;
        case COPY_FD:
                a.result = fd = copy_fd(&q);
                break;
        case MAKE_SOCKET:
                a.result = fd = socket_make(q.number);
                break;
        }
        size_t length = sizeof a.result + (q.kind == READ_MEMORY && a.result > 0 ? (size_t)a.result : 0);
        return packet_send(socket, &a, length, fd < 0 ? -1 : fd);
}
