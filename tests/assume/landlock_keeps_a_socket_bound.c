/* A socket that was bound to an address without a port can be bound once more; Landlock must refuse it. */
#include "assume_landlock.h"
#include "assume_net.h"

enum { RIGHT_BIND_TCP = 1, RIGHT_CONNECT_TCP = 2 };

static int try_bind(int fd, sa_family_t family)
{
        struct sockaddr_in anywhere = { .sin_family = family };
        return bind(fd, (struct sockaddr *)&anywhere, sizeof anywhere) < 0 ? errno : 0;
}

/* Connecting to one port, binding to none. */
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
                cannot_ask("restrict itself with Landlock");
}

int main(void)
{
        assume("a socket bound without a port can be bound again, and Landlock without a rule for it refuses that, for AF_UNSPEC too");
        need_landlock(4);
        enter_network();
        uint16_t port = 0, other = 0;
        (void)listen_at("127.0.0.1", &port);
        (void)listen_at("127.0.0.1", &other);
        int free_again = try_bind(make_bound(), AF_INET);
        int before = make_bound(); /* whoever made it: what counts is who uses it */
        restrict_ports(port);
        int again = try_bind(before, AF_INET), unspecified = try_bind(before, AF_UNSPEC);
        int named = try_connect(before, "127.0.0.1", port);
        disconnect(before);
        int refused = try_connect(before, "127.0.0.1", other);
        conclude(free_again == 0 && again == EACCES && unspecified == EACCES && (named == 0 || named == EINPROGRESS) && refused == EACCES,
                 "bound again: %s; under Landlock: %s, AF_UNSPEC %s; to the port: %s; to another: %s", strerror(free_again),
                 strerror(again), strerror(unspecified), strerror(named), strerror(refused));
}
