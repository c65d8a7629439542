/* Egress, outside, can accept on a listener that was made inside a box's network namespace: no relay is needed. */
#include "assume.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static struct sockaddr_in address = { .sin_family = AF_INET };

/* Shares the fd table with main() (CLONE_FILES): main() uses the sockets that this opens in the namespace. */
static int run_inside(void *result)
{
        int *fds = result;
        struct ifreq up = { .ifr_name = "lo", .ifr_flags = IFF_UP };
        socklen_t length = sizeof address;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
                return errno;
        fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        fds[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (ioctl(fds[0], SIOCSIFFLAGS, &up) < 0 || bind(fds[0], (struct sockaddr *)&address, length) < 0 ||
            listen(fds[0], 1) < 0 || getsockname(fds[0], (struct sockaddr *)&address, &length) < 0)
                return errno;
        return 0;
}

int main(void)
{
        assume("a socket belongs to the netns it was made in, whichever process uses it: accept() works outside");
        static char stack[65536] __attribute__((aligned(16)));
        int fds[2] = { -1, -1 };
        pid_t pid = clone(run_inside, stack + sizeof stack, CLONE_VM | CLONE_FILES | SIGCHLD, fds);
        int failed = pid < 0 ? errno : wait_for(pid);
        if (failed) {
                errno = failed;
                skip_cannot("listen in a new netns");
        }
        int outside = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bool refused = connect(outside, (struct sockaddr *)&address, sizeof address) < 0; /* or unreachable */
        bool connected = connect(fds[1], (struct sockaddr *)&address, sizeof address) == 0;
        bool accepted = connected && accept(fds[0], NULL, NULL) >= 0;
        conclude(refused && accepted, "from our netns: %s; from the other: %s", refused ? "refused" : "connected",
                 accepted ? "accepted here" : "not accepted");
}
