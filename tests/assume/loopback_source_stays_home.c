/* Landlock knows ports and no addresses. What keeps a socket at home is where it speaks from. */
#include "assume_net.h"

static int to_device(const char *device)
{
        int fd = make_bound();
        if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)strlen(device) + 1) < 0)
                cannot_ask("bind a socket to a device");
        return try_connect(fd, FAR_ADDRESS, 4000);
}

/* The answer of the loopback to a socket that was told to go there with a far address: none. */
static bool arrives_by_loopback(void)
{
        struct sockaddr_in peer;
        socklen_t length = sizeof peer;
        int fd = make_bound();
        (void)setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", sizeof "lo");
        (void)try_connect(fd, FAR_ADDRESS, 4000);
        (void)usleep(50000);
        return getpeername(fd, (struct sockaddr *)&peer, &length) == 0;
}

int main(void)
{
        assume("a socket bound to 127.0.0.1 cannot be connected to another machine, before or after a disconnect, unless "
               "route_localnet is set");
        enter_network();
        uint16_t port = 0;
        (void)listen_at("127.0.0.1", &port);
        int any = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), bound = make_bound();
        int control = try_connect(any, FAR_ADDRESS, port), far = try_connect(bound, FAR_ADDRESS, port);
        int near = try_connect(bound, "127.0.0.1", port);
        disconnect(bound);
        int again = try_connect(bound, FAR_ADDRESS, port), wire = to_device("wire");
        bool by_loopback = arrives_by_loopback();
        if (!write_text("/proc/sys/net/ipv4/conf/wire/route_localnet", "1"))
                cannot_ask("set route_localnet");
        int routed = try_connect(make_bound(), FAR_ADDRESS, port);
        conclude(control == EINPROGRESS && far == EINVAL && (near == 0 || near == EINPROGRESS) && again == EINVAL && wire == EINVAL &&
                 !by_loopback && routed == EINPROGRESS,
                 "free: %s; bound: %s; at home: %s; after a disconnect: %s; to the device: %s; by the loopback: %s; "
                 "with route_localnet: %s", strerror(control), strerror(far), strerror(near), strerror(again), strerror(wire),
                 by_loopback ? "arrived" : "nowhere", strerror(routed));
}
