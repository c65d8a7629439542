/*
 * Listening; see mcp_listen.h. A client of the server can do whatever the box allows, so the server must not be
 * reachable from other machines: only loopback addresses are allowed. Remote access needs a tunnel.
 */
#include "cli/mcp_listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/random.h"
#include "base/text.h"
#include "base/address.h"

enum { BACKLOG = 128, TOKEN_MIN = 16, TOKEN_LENGTH = 64 };

/* --- loopback --- */

/* "127.0.0.1:80", "localhost:80", "[::1]:80", "80". */
static int parse_address(const char *text, union address *ret, socklen_t *ret_length, struct error *e)
{
        const char *colon = strrchr(text, ':'), *port = colon ? colon + 1 : text;
        char host[INET6_ADDRSTRLEN + 2] = "127.0.0.1";
        unsigned long long number;
        if (!text_parse_unsigned(port, strlen(port), &number) || number > UINT16_MAX)
                return error_set(e, EINVAL, "'%s' is not an address to listen on; use 127.0.0.1:PORT or unix:PATH",
                                 text);
        if (colon && (size_t)(colon - text) < sizeof host)
                (void)snprintf(host, sizeof host, "%.*s", (int)(colon - text), text);
        else if (colon)
                host[0] = '\0';
        if (strcmp(host, "[::1]") == 0) {
                ret->v6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT,
                                                 .sin6_port = htons((uint16_t)number) };
                *ret_length = sizeof ret->v6;
                return 0;
        }
        ret->v4 = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)number) };
        *ret_length = sizeof ret->v4;
        if (inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, &ret->v4.sin_addr) == 1 &&
            ntohl(ret->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET)
                return 0;
        return error_set(e, EPERM,
                         "refused to listen on %s: only loopback addresses are allowed, because every client can use "
                         "the tools; from another machine, use a tunnel (ssh -L)",
                         text);
}

static int listen_loopback(const char *address, struct mcp_listener *ret, struct error *e)
{
        union address to = { 0 };
        socklen_t length = 0;
        const int on = 1;
        int r = parse_address(address, &to, &length, e);
        if (r < 0)
                return r;
        CLEANUP_FD int fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 || bind(fd, &to.any, length) < 0 ||
            listen(fd, BACKLOG) < 0 || getsockname(fd, &to.any, &length) < 0)
                return error_errno(e, errno, "cannot listen on %s", address);
        char host[INET6_ADDRSTRLEN] = "[::1]";
        bool four = to.any.sa_family == AF_INET;
        if (four)
                (void)inet_ntop(AF_INET, &to.v4.sin_addr, host, sizeof host);
        (void)snprintf(ret->url, sizeof ret->url, "http://%s:%u/mcp", host,
                       ntohs(four ? to.v4.sin_port : to.v6.sin6_port));
        ret->fd = TAKE_FD(fd);
        return 0;
}

/* --- unix sockets --- */

/* Removes a socket that a former server left behind, on which no process listens. */
static int remove_stale(const struct sockaddr_un *to, struct error *e)
{
        struct stat st;
        CLEANUP_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (lstat(to->sun_path, &st) < 0)
                return 0;
        if (!S_ISSOCK(st.st_mode))
                return error_set(e, EEXIST, "%s exists and is not a socket", to->sun_path);
        if (fd < 0 || connect(fd, (const struct sockaddr *)to, sizeof *to) == 0 || errno != ECONNREFUSED)
                return error_set(e, EADDRINUSE, "another server listens on %s", to->sun_path);
        return unlink(to->sun_path) < 0 ? error_errno(e, errno, "cannot remove %s", to->sun_path) : 0;
}

static int listen_local(const char *path, struct mcp_listener *ret, struct error *e)
{
        struct sockaddr_un to = { .sun_family = AF_UNIX };
        if (!*path || strlen(path) >= sizeof to.sun_path)
                return error_set(e, ENAMETOOLONG, "the path of a unix socket has 1 to %zu bytes",
                                 sizeof to.sun_path - 1);
        memcpy(to.sun_path, path, strlen(path));
        CLEANUP_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        int r = fd < 0 ? error_errno(e, errno, "cannot make a socket") : remove_stale(&to, e);
        if (r < 0)
                return r;
        mode_t before = umask(0177);
        r = bind(fd, (const struct sockaddr *)&to, sizeof to) < 0 || listen(fd, BACKLOG) < 0
                ? error_errno(e, errno, "cannot listen on %s", path) : 0;
        (void)umask(before);
        if (r < 0)
                return r;
        (void)snprintf(ret->url, sizeof ret->url, "unix:%s", path);
        ret->path = path;
        ret->local = true;
        ret->fd = TAKE_FD(fd);
        return 0;
}

int mcp_listen(const char *address, struct mcp_listener *ret, struct error *e)
{
        static const char prefix[] = "unix:";
        *ret = (struct mcp_listener){ .fd = -1 };
        return text_has_prefix(address, prefix) ? listen_local(address + sizeof prefix - 1, ret, e)
                                            : listen_loopback(address, ret, e);
}

void mcp_listener_close(struct mcp_listener *l)
{
        if (l->path)
                (void)unlink(l->path);
        fd_close(&l->fd);
        l->path = NULL;
}

/* --- the token --- */

int mcp_load_token(const char *file, char ret[MCP_TOKEN_MAX], struct error *e)
{
        struct stat st;
        if (!file) {
                int made = random_hex(ret, TOKEN_LENGTH + 1);
                return made < 0 ? error_errno(e, -made, "cannot make a token") : 0;
        }
        CLEANUP_FD int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0 || fstat(fd, &st) < 0)
                return error_errno(e, errno, "cannot read the token in %s", file);
        if (!S_ISREG(st.st_mode) || (st.st_mode & 077) || st.st_uid != geteuid())
                return error_set(e, EPERM, "%s must be a file of yours that nobody else can read (chmod 600)", file);
        ssize_t n = read(fd, ret, MCP_TOKEN_MAX - 1);
        ret[n > 0 ? n : 0] = '\0';
        ret[strcspn(ret, "\r\n")] = '\0';
        for (const char *c = ret; *c; c++)
                if (*c <= ' ' || *c > '~')
                        return error_set(e, EINVAL, "the token in %s has characters that are not allowed in a header",
                                         file);
        if (strlen(ret) < TOKEN_MIN || strlen(ret) >= MCP_TOKEN_MAX - 1)
                return error_set(e, EINVAL, "the token in %s must have %d to %d characters", file, TOKEN_MIN,
                                 MCP_TOKEN_MAX - 2);
        return 0;
}
