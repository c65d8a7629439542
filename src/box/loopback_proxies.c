/*
 * Proxies on the host's loopback; see loopback_proxies.h.
 *
 * How it works: the front opens both listeners before the box starts, because Landlock's rules and the environment need
 * their ports, and sends them to egress. Landlock lets the box connect to these ports at every address of the machine,
 * so the proxies listen on all addresses; but only on the loopback device, which other machines cannot reach.
 *
 * The front keeps a copy of both sockets: if egress dies, no other local process can take a port that the box still
 * trusts. This needs a bind to an explicit port, because only such a bind survives shutdown() of the listener; the
 * kernel chooses a free port.
 *
 * What other local processes can do: connect, and be refused without the token, which is in the box's environment and
 * nowhere else. Their idle connections count towards the number that egress allows, until egress closes them.
 */
#include "box/loopback_proxies.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/random.h"
#include "wire/packet.h"

/* A port that was free a moment ago at every address of this machine; 0: there is none. */
static uint16_t find_free_port(void)
{
        struct sockaddr_in at = { .sin_family = AF_INET };
        socklen_t length = sizeof at;
        CLEANUP_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bool found = fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof at) == 0 &&
                     getsockname(fd, (struct sockaddr *)&at, &length) == 0;
        return found ? ntohs(at.sin_port) : 0;
}

static int listen_at(uint16_t port)
{
        static const char device[] = "lo";
        const struct sockaddr_in any_address = { .sin_family = AF_INET, .sin_port = htons(port) };
        CLEANUP_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, sizeof device) < 0 ||
            bind(fd, (const struct sockaddr *)&any_address, sizeof any_address) < 0 || listen(fd, SOMAXCONN) < 0)
                return -errno;
        return TAKE_FD(fd);
}

static int listen_at_free_port(uint16_t *ret_port, struct error *e)
{
        enum { TRIES = 32 };
        int fd = -EADDRINUSE;
        for (int i = 0; fd == -EADDRINUSE && i < TRIES; i++) {
                *ret_port = find_free_port();
                fd = *ret_port ? listen_at(*ret_port) : -errno;
        }
        return fd < 0 ? error_errno(e, -fd, "cannot open a proxy on the host's loopback") : fd;
}

int loopback_proxies_open(struct loopback_proxies *ret, struct error *e)
{
        struct loopback_proxies p = LOOPBACK_PROXIES_NONE;
        int r = random_hex(p.endpoints.token, sizeof p.endpoints.token);
        if (r < 0)
                return error_errno(e, -r, "cannot make a token");
        p.http = listen_at_free_port(&p.endpoints.http, e);
        if (p.http >= 0)
                p.socks = listen_at_free_port(&p.endpoints.socks, e);
        if (p.http < 0 || p.socks < 0) {
                r = p.http < 0 ? p.http : p.socks;
                loopback_proxies_close(&p);
                return r;
        }
        *ret = p;
        return 0;
}

int loopback_proxies_send(const struct loopback_proxies *p, int egress, struct error *e)
{
        struct egress_listener_message m = { .listener = LISTENER_HTTP_PROXY, .port = p->endpoints.http };
        memcpy(m.token, p->endpoints.token, sizeof m.token);
        int r = packet_send(egress, &m, sizeof m, p->http);
        m.listener = LISTENER_SOCKS_PROXY;
        m.port = p->endpoints.socks;
        if (r == 0)
                r = packet_send(egress, &m, sizeof m, p->socks);
        return r < 0 ? error_errno(e, -r, "cannot send the proxies to egress") : 0;
}

void loopback_proxies_stop(const struct loopback_proxies *p)
{
        if (p->http >= 0)
                (void)shutdown(p->http, SHUT_RDWR);
        if (p->socks >= 0)
                (void)shutdown(p->socks, SHUT_RDWR);
}

void loopback_proxies_close(struct loopback_proxies *p)
{
        fd_close(&p->http);
        fd_close(&p->socks);
        *p = LOOPBACK_PROXIES_NONE;
}
