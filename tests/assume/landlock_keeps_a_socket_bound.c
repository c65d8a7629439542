/* A socket that was bound to an address without a port can be bound a second time, unless Landlock refuses it. */
#include "assume_landlock.h"
#include "assume_net.h"

enum { RIGHT_BIND_TCP = 1, RIGHT_CONNECT_TCP = 2 };

static int try_bind(int fd, sa_family_t family)
{
        struct sockaddr_in anywhere = { .sin_family = family };
        return bind(fd, (struct sockaddr *)&anywhere, sizeof anywhere) < 0 ? errno : 0;
}

/* Allows the caller to connect to one port, and to bind to none. */
static void restrict_ports(uint16_t port)
{
        struct {
                uint64_t fs, net;
        } ruleset = { .net = RIGHT_BIND_TCP | RIGHT_CONNECT_TCP };
        struct {
                uint64_t access, port;
        } rule = { RIGHT_CONNECT_TCP, port };
        int fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, sizeof ruleset, 0);
        if (fd < 0 || syscall(SYS_landlock_add_rule, fd, 2 /* LANDLOCK_RULE_NET_PORT */, &rule, 0) < 0 ||
            prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_landlock_restrict_self, fd, 0) < 0)
                skip_cannot("restrict itself with Landlock");
}

int main(void)
{
        assume("a socket bound without a port can be bound again; Landlock that handles BIND_TCP refuses that, for "
               "AF_UNSPEC too");
        require_landlock(4);
        enter_network_namespace();
        uint16_t port = 0, second_port = 0;
        (void)listen_at("127.0.0.1", &port);
        (void)listen_at("127.0.0.1", &second_port);
        int unrestricted = try_bind(make_loopback_socket(), AF_INET);
        int fd = make_loopback_socket(); /* made before the restriction: Landlock checks the caller, not the maker */
        restrict_ports(port);
        int restricted = try_bind(fd, AF_INET), unspecified = try_bind(fd, AF_UNSPEC);
        int allowed_port = try_connect(fd, "127.0.0.1", port);
        disconnect(fd);
        int other_port = try_connect(fd, "127.0.0.1", second_port);
        conclude(unrestricted == 0 && restricted == EACCES && unspecified == EACCES &&
                         (allowed_port == 0 || allowed_port == EINPROGRESS) && other_port == EACCES,
                 "bound again: %s; under Landlock: %s, AF_UNSPEC %s; connect to the port: %s; to another: %s",
                 strerror(unrestricted), strerror(restricted), strerror(unspecified), strerror(allowed_port),
                 strerror(other_port));
}
