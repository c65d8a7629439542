/*
 * Binds and connects sockets for the caller; see guard.h.
 *
 * The caller could change the address in its memory or replace the socket after the check (TOCTOU), so no call is let
 * through: for every address family the guard copies the socket and the address, and makes the call itself. Only paths
 * of unix sockets are judged. Binding creates a name like any other. Connecting to a socket sends data to the process
 * that listens there, so it is allowed where writing is.
 *
 * Connecting may block, so it is started without blocking, and a forked process waits if the caller's socket blocks.
 */
#include "linux/guard_git.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "linux/guard_keeper.h"

enum {
        WAIT_MS = 20,
        PATH_OFFSET = offsetof(struct sockaddr_un, sun_path),
        PATH_BYTES = sizeof ((struct sockaddr_un *)0)->sun_path + 1,
};

struct address {
        union {
                struct sockaddr any;
                struct sockaddr_un local;
                struct sockaddr_storage storage;
        };
        socklen_t length;
};

static int read_address(struct guard *g, uint64_t address, uint64_t length, struct address *ret)
{
        if (length > sizeof ret->storage)
                return -EINVAL;
        memset(ret, 0, sizeof *ret);
        ret->length = (socklen_t)length;
        return guard_read_memory(g, address, &ret->storage, length);
}

/* The path of a unix address; NULL for another family, "" for an abstract address or an autobind. */
static const char *local_path(const struct address *a, char ret[PATH_BYTES])
{
        if (a->length < sizeof a->any.sa_family || a->any.sa_family != AF_UNIX)
                return NULL;
        size_t length = a->length > PATH_OFFSET ? a->length - PATH_OFFSET : 0;
        if (length > sizeof a->local.sun_path)
                length = sizeof a->local.sun_path;
        memcpy(ret, a->local.sun_path, length);
        ret[length] = '\0';
        return ret;
}

static int socket_option(int fd, int option)
{
        int value = -1;
        socklen_t length = sizeof value;
        return getsockopt(fd, SOL_SOCKET, option, &value, &length) < 0 ? -1 : value;
}

/*
 * Copies the arguments of bind() and connect(). Returns the caller's socket or -errno. *ret_path is that of
 * local_path(), or NULL if the socket is not a unix socket.
 */
static int fetch_socket(struct guard *g, const uint64_t *args, struct address *ret, char buffer[PATH_BYTES],
                        const char **ret_path)
{
        CLEANUP_FD int fd = guard_copy_caller_fd(g, (int)args[0]);
        int domain = fd < 0 ? -1 : socket_option(fd, SO_DOMAIN);
        int r = fd < 0 ? fd : domain < 0 ? -ENOTSOCK : read_address(g, args[1], (uint32_t)args[2], ret);
        if (r == 0 && !guard_caller_is_waiting(g))
                r = -ESRCH;
        if (r < 0)
                return r;
        *ret_path = domain == AF_UNIX ? local_path(ret, buffer) : NULL;
        return TAKE_FD(fd);
}

/* --- binding --- */

/* Does the caller's own path lead to the directory that was found, without any symlink? */
static bool is_free_of_symlinks(int base, const char *path, int parent)
{
        char directory[PATH_BYTES];
        struct stat wanted, found;
        const char *slash = strrchr(path, '/');
        size_t length = slash ? (size_t)(slash - path) + 1 : 0; /* with the slash, for "/" */
        if (length >= sizeof directory)
                return false;
        memcpy(directory, path, length);
        directory[length] = '\0';
        CLEANUP_FD int fd =
                fd_open_no_symlinks(base < 0 ? AT_FDCWD : base, length ? directory : ".", O_PATH | O_DIRECTORY, 0);
        return fd >= 0 && fstat(fd, &found) == 0 && fstat(parent, &wanted) == 0 && stat_same(&found, &wanted);
}

/*
 * Binds to the caller's own path if it has no symlinks, because getsockname() returns that path. The exclusive lock
 * keeps the box from redirecting it meanwhile. Otherwise binds to the last name in the directory that was found: the
 * kernel would resolve a symlink again, and /proc/self would be the guard's.
 */
static int bind_found(struct guard *g, int fd, const struct address *a, const char *path, const struct guard_name *n)
{
        struct sockaddr_un last = { .sun_family = AF_UNIX };
        CLEANUP_FD int base = *path == '/' ? -1 : guard_open_base(g, AT_FDCWD);
        if (base < 0 && *path != '/')
                return base;
        if (!is_free_of_symlinks(base, path, n->parent)) {
                if (strlen(n->name) >= sizeof last.sun_path || fchdir(n->parent) < 0)
                        return -EINVAL;
                memcpy(last.sun_path, n->name, strlen(n->name) + 1);
                return bind(fd, (const struct sockaddr *)&last, sizeof last) < 0 ? -errno : 0;
        }
        if (base >= 0 && fchdir(base) < 0)
                return -errno;
        return bind(fd, &a->any, a->length) < 0 ? -errno : 0;
}

static long bind_path(struct guard *g, int fd, const struct address *a, const char *path)
{
        if (!g->exclusive)
                return GUARD_RETRY_EXCLUSIVE;
        CLEANUP_GUARD_NAME struct guard_name n;
        int r = guard_find_text(g, AT_FDCWD, path, GUARD_ENTRY, &n);
        if (r == 0 && (n.object >= 0 || n.parent < 0))
                r = -EADDRINUSE;
        if (r == 0 && n.slash)
                r = -ENOENT;
        if (r == 0)
                r = guard_judge_name(g, &n, true);
        if (r == 0)
                r = guard_git_judge(g, &n, GUARD_GIT_CREATE_OTHER, NULL);
        if (r == 0)
                r = guard_apply_umask(g);
        return r < 0 ? r : bind_found(g, fd, a, path, &n);
}

long guard_bind(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        struct address a;
        char buffer[PATH_BYTES];
        const char *path;
        CLEANUP_FD int fd = fetch_socket(g, args, &a, buffer, &path);
        if (fd < 0)
                return fd;
        if (path && *path)
                return bind_path(g, fd, &a, path);
        /* An abstract address on the host's network: processes outside could connect to the box. */
        if (path && !g->own_network)
                return -EACCES;
        return bind(fd, &a.any, a.length) < 0 ? -errno : 0;
}

/* --- in a box without namespaces --- */

/* The box must not listen on the host's network. Unix sockets were judged when they were bound. */
long guard_listen(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        (void)answer;
        CLEANUP_FD int fd = guard_copy_caller_fd(g, (int)args[0]);
        if (fd < 0)
                return fd;
        int domain = socket_option(fd, SO_DOMAIN);
        if (domain != AF_UNIX)
                return domain < 0 ? -ENOTSOCK : -EACCES;
        return listen(fd, (int)args[1]) < 0 ? -errno : 0;
}

/* Returns a TCP socket that can only reach this machine's loopback (socket_server.c). */
long guard_socket(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        enum { TYPE_MASK = 0xf };
        const int flags = (int)((uint32_t)args[1] & ~(uint32_t)TYPE_MASK);
        if (flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK))
                return -EINVAL;
        answer->fd = guard_ask_socket(g, flags & SOCK_NONBLOCK);
        if (answer->fd < 0)
                return answer->fd;
        answer->kind = GUARD_FD;
        answer->mode = S_IFSOCK;
        answer->writable = false;
        answer->close_on_exec = flags & SOCK_CLOEXEC;
        return 0;
}

/* --- connecting --- */

static bool is_granted_socket(const struct plan *plan, const char *path)
{
        for (size_t i = 0; i < plan->unix_socket_count; i++)
                if (strcmp(plan->unix_sockets[i].path, path) == 0)
                        return true;
        return false;
}

static int judge_socket(struct guard *g, const char *path, struct guard_name *n)
{
        int r = guard_find_text(g, AT_FDCWD, path, GUARD_FOLLOW, n);
        if (r < 0)
                return r;
        if (n->object < 0)
                return -ENOENT;
        if (!S_ISSOCK(n->mode))
                return -ECONNREFUSED;
        if (is_granted_socket(g->plan, n->path))
                return 0;
        r = guard_judge_name(g, n, true);
        if (r == -EROFS || (r == 0 && !name_rules_allow(g->rules, n->path, true)))
                return -EACCES;
        return r;
}

static int connect_result(int fd)
{
        int error = socket_option(fd, SO_ERROR);
        return error < 0 ? -errno : -error;
}

/* The caller shares O_NONBLOCK with us, so it is restored at once. */
static int connect_nonblocking(int fd, const struct address *a, int flags)
{
        if (!(flags & O_NONBLOCK) && fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
                return -errno;
        int r = connect(fd, &a->any, a->length) < 0 ? -errno : 0;
        if (!(flags & O_NONBLOCK) && fcntl(fd, F_SETFL, flags) < 0)
                return -errno;
        return r;
}

/*
 * With SO_PASSCRED, connect() binds the socket to an abstract address, and after a failed connect() the box could
 * listen there, on the host's network. So the option is switched off meanwhile. If another thread sets it again, the
 * socket is shut down.
 */
static int connect_without_name(struct guard *g, int fd, const struct address *a, int flags)
{
        const int off = 0, on = 1;
        struct sockaddr_un own = { 0 };
        socklen_t length = sizeof own;
        bool passcred = !g->own_network && socket_option(fd, SO_DOMAIN) == AF_UNIX &&
                        socket_option(fd, SO_PASSCRED) > 0;
        if (passcred && setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &off, sizeof off) < 0)
                return -errno;
        int r = connect_nonblocking(fd, a, flags);
        if (passcred)
                (void)setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
        bool failed_unix = r < 0 && !g->own_network && getsockname(fd, (struct sockaddr *)&own, &length) == 0 &&
                           own.sun_family == AF_UNIX;
        if (failed_unix && length > PATH_OFFSET && !own.sun_path[0])
                (void)shutdown(fd, SHUT_RDWR);
        return r;
}

/*
 * In a forked process: waits for the peer, which may be another program of the box. `in_progress`: connect() returned
 * EINPROGRESS; otherwise EAGAIN, and it has to be retried.
 */
static int await_connection(struct guard *g, int fd, const struct address *a, bool in_progress)
{
        struct pollfd p = { .fd = fd, .events = POLLOUT };
        while (guard_caller_is_waiting(g)) {
                int r = poll(&p, 1, WAIT_MS), interrupted = r > 0 ? 0 : guard_caller_interrupted(g);
                if (interrupted || (r < 0 && errno != EINTR))
                        return interrupted ? interrupted : -errno;
                if (r > 0 && in_progress)
                        return connect_result(fd);
                int again = in_progress ? -EAGAIN : connect_without_name(g, fd, a, O_NONBLOCK);
                if (again != -EAGAIN)
                        return again == -EISCONN ? 0 : again;
        }
        return -ESRCH;
}

static long connect_socket(struct guard *g, int fd, const struct address *a, struct guard_answer *answer)
{
        struct pollfd p = { .fd = fd, .events = POLLOUT };
        int flags = fcntl(fd, F_GETFL);
        if (flags < 0)
                return -errno;
        int r = connect_without_name(g, fd, a, flags);
        if ((flags & O_NONBLOCK) || (r != -EINPROGRESS && r != -EAGAIN))
                return r;
        bool in_progress = r == -EINPROGRESS;
        if (in_progress && poll(&p, 1, 0) > 0)
                return connect_result(fd);
        if (!guard_fork_delegate(g, answer))
                return answer->kind == GUARD_DELEGATED ? 0 : -EAGAIN;
        if (!in_progress)
                (void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
        r = await_connection(g, fd, a, in_progress);
        if (!in_progress)
                (void)fcntl(fd, F_SETFL, flags);
        return r;
}

long guard_connect(struct guard *g, const uint64_t *args, struct guard_answer *answer)
{
        struct address a;
        char buffer[PATH_BYTES], link[GUARD_LINK_BYTES];
        const char *path;
        CLEANUP_GUARD_NAME struct guard_name n = { .parent = -1, .object = -1 };
        CLEANUP_FD int fd = fetch_socket(g, args, &a, buffer, &path);
        if (fd < 0)
                return fd;
        if (path && !*path && !g->scoped_sockets && !g->own_network)
                return -EACCES; /* an abstract address on the host's network */
        if (path && *path) {
                int r = judge_socket(g, path, &n);
                if (r < 0)
                        return r;
                memset(&a.local.sun_path, 0, sizeof a.local.sun_path);
                (void)guard_fd_path(n.object, link);
                memcpy(a.local.sun_path, link, strlen(link) + 1);
                a.length = sizeof a.local;
        }
        return connect_socket(g, fd, &a, answer);
}
