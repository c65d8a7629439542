/* Landlock knows ports and no addresses. A socket that was bound to the loopback device cannot leave the machine, for good. */
#include "assume_net.h"

#include <linux/capability.h>

static void drop_capabilities(void)
{
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 };
        if (syscall(SYS_capset, &header, sets) < 0)
                cannot_ask("give its capabilities up");
}

static int bind_device(int fd, const char *device)
{
        return setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)strlen(device) + 1) < 0 ? errno : 0;
}

static int make_tied(void)
{
        int fd = make_bound();
        if (bind_device(fd, "lo") != 0)
                cannot_ask("bind a socket to a device as an ordinary user");
        return fd;
}

/* Did the kernel ever ask who has the far address? */
static bool was_looked_for(void)
{
        char line[256];
        bool found = false;
        FILE *list = fopen("/proc/thread-self/net/arp", "re");
        if (!list)
                cannot_ask("list the neighbours");
        while (fgets(line, sizeof line, list))
                found |= strncmp(line, FAR_ADDRESS " ", strlen(FAR_ADDRESS) + 1) == 0;
        (void)fclose(list);
        return found;
}

static bool leaves(int fd, uint16_t port)
{
        (void)try_connect(fd, FAR_ADDRESS, port);
        (void)usleep(20000);
        return was_looked_for();
}

int main(void)
{
        assume("what a socket sends that is bound to lo goes by lo, with route_localnet too, after a disconnect too, and an ordinary "
               "user cannot take that back");
        enter_network();
        if (!write_text("/proc/sys/net/ipv4/conf/all/route_localnet", "1"))
                cannot_ask("set route_localnet");
        drop_capabilities();
        uint16_t port = 0;
        (void)listen_at("127.0.0.1", &port);
        int fd = make_tied(), near = try_connect(fd, "127.0.0.1", port);
        disconnect(fd);
        int moved = bind_device(fd, "wire"), freed = bind_device(fd, "");
        bool far = leaves(fd, port), control = leaves(make_bound(), port);
        conclude(control && (near == 0 || near == EINPROGRESS) && !far && moved == EPERM && freed == EPERM,
                 "far: %s without, %s with it; at home: %s; moved: %s; freed: %s", control ? "sent" : "nothing", far ? "sent" : "nothing",
                 strerror(near), strerror(moved), strerror(freed));
}
