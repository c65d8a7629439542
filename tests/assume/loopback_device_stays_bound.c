/*
 * Landlock rules have ports but no addresses. So at level standard a box's sockets are bound to the loopback device:
 * they cannot reach another machine, and the box cannot undo that.
 */
#include "assume_net.h"

#include <linux/capability.h>

static void drop_capabilities(void)
{
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 };
        if (syscall(SYS_capset, &header, sets) < 0)
                skip_cannot("drop its capabilities");
}

static int bind_device(int fd, const char *device)
{
        return setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)strlen(device) + 1) < 0 ? errno : 0;
}

static int make_socket_bound_to_lo(void)
{
        int fd = make_loopback_socket();
        if (bind_device(fd, "lo") != 0)
                skip_cannot("bind a socket to a device as an ordinary user");
        return fd;
}

/* Did the kernel ever send an ARP request for the far address? */
static bool has_arp_entry(void)
{
        char line[256];
        bool found = false;
        FILE *list = fopen("/proc/thread-self/net/arp", "re");
        if (!list)
                skip_cannot("list the neighbours");
        while (fgets(line, sizeof line, list))
                found |= strncmp(line, FAR_ADDRESS " ", strlen(FAR_ADDRESS) + 1) == 0;
        (void)fclose(list);
        return found;
}

static bool sends_arp_request(int fd, uint16_t port)
{
        (void)try_connect(fd, FAR_ADDRESS, port);
        (void)usleep(20000);
        return has_arp_entry();
}

int main(void)
{
        assume("a socket bound to lo sends only through lo, even with route_localnet and after a disconnect, and an "
               "ordinary user cannot undo that");
        enter_network_namespace();
        if (!write_text("/proc/sys/net/ipv4/conf/all/route_localnet", "1"))
                skip_cannot("set route_localnet");
        drop_capabilities();
        uint16_t port = 0;
        (void)listen_at("127.0.0.1", &port);
        int fd = make_socket_bound_to_lo(), near = try_connect(fd, "127.0.0.1", port);
        disconnect(fd);
        int rebound = bind_device(fd, "wire"), unbound = bind_device(fd, "");
        bool far = sends_arp_request(fd, port), control = sends_arp_request(make_loopback_socket(), port);
        conclude(control && (near == 0 || near == EINPROGRESS) && !far && rebound == EPERM && unbound == EPERM,
                 "to far: ARP %s unless bound to lo, %s if bound; to lo: %s; rebind: %s; unbind: %s",
                 control ? "sent" : "not sent", far ? "sent" : "not sent", strerror(near), strerror(rebound),
                 strerror(unbound));
}
