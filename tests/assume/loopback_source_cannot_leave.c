/* Landlock rules have ports but no addresses. A source address of 127.0.0.1 keeps a socket on this machine. */
#include "assume_net.h"

static int connect_on_device(const char *device)
{
        int fd = make_loopback_socket();
        if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)strlen(device) + 1) < 0)
                skip_cannot("bind a socket to a device");
        return try_connect(fd, FAR_ADDRESS, 4000);
}

/* Can a socket that is bound to lo connect to a far address? */
static bool connects_on_lo(void)
{
        struct sockaddr_in peer;
        socklen_t length = sizeof peer;
        int fd = make_loopback_socket();
        (void)setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", sizeof "lo");
        (void)try_connect(fd, FAR_ADDRESS, 4000);
        (void)usleep(50000);
        return getpeername(fd, (struct sockaddr *)&peer, &length) == 0;
}

int main(void)
{
        assume("a socket bound to 127.0.0.1 cannot be connected to another machine, before or after a disconnect, "
               "unless route_localnet is set");
        enter_network_namespace();
        uint16_t port = 0;
        (void)listen_at("127.0.0.1", &port);
        int unbound = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), bound = make_loopback_socket();
        int control = try_connect(unbound, FAR_ADDRESS, port), far = try_connect(bound, FAR_ADDRESS, port);
        int near = try_connect(bound, "127.0.0.1", port);
        disconnect(bound);
        int again = try_connect(bound, FAR_ADDRESS, port), wire = connect_on_device("wire");
        bool on_lo = connects_on_lo();
        if (!write_text("/proc/sys/net/ipv4/conf/wire/route_localnet", "1"))
                skip_cannot("set route_localnet");
        int routed = try_connect(make_loopback_socket(), FAR_ADDRESS, port);
        conclude(control == EINPROGRESS && far == EINVAL && (near == 0 || near == EINPROGRESS) && again == EINVAL &&
                         wire == EINVAL && !on_lo && routed == EINPROGRESS,
                 "unbound: %s; bound: %s; to 127.0.0.1: %s; after a disconnect: %s; on the device: %s; on lo: %s; "
                 "with route_localnet: %s",
                 strerror(control), strerror(far), strerror(near), strerror(again), strerror(wire),
                 on_lo ? "connected" : "not connected", strerror(routed));
}
