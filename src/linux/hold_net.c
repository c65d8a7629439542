/*
 * net: a network namespace has a loopback and nothing else. A plan without network gets no socket at all, by the filter
 * (hold_seccomp.c) and by Landlock's ports.
 */
#include <errno.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "linux/confine.h"
#include "linux/filter_install.h"
#include "linux/hold.h"

static int prepare(struct site *site, struct error *e)
{
        if (!site_has(site->plan, SPACE_NET))
                return 0;
        struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
        CLEANUP_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) < 0)
                return error_errno(e, errno, "network namespace", "cannot bring the loopback up");
        return 0;
}

static void report(const struct standing *s, struct text *out)
{
        unsigned rights = filter_rights(s->plan);
        text_add(out, rights & FILTER_NETWORK ? "a loopback of the box's own" : rights & FILTER_UNIX ? "unix sockets only" : "no sockets");
}

const struct hold hold_net = { "net", prepare, NULL, report };
