/*
 * Denials; see denials.h.
 *
 * What an attacker controls: which calls are made, with which arguments, and how often. Nothing here grows with it, and
 * whoever waits for us is served after so many answers; a caller that is killed while it waits makes the answer fail with
 * ENOENT, which is as good.
 *
 * Needs of the kernel: user notification (5.0), CONTINUE (5.5) for denials_let_pass.
 */
#include "linux/denials.h"

#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "linux/filter_install.h"
#include "linux/kernel_abi.h"
#include "linux/socket_giver.h"

enum { ANSWERS_AT_ONCE = 64 };

int denials_begin(struct denials *ret, unsigned rights, bool shared)
{
        static struct denials_told own;
        void *told = shared ? mmap(NULL, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) : &own;
        if (told == MAP_FAILED)
                return -errno;
        *ret = (struct denials){ .listener = -1, .rights = rights, .told = told };
        return 0;
}

int denials_let_pass(const struct denials *d)
{
        struct seccomp_notif request = { 0 };
        if (ioctl(d->listener, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0)
                return -errno;
        struct seccomp_notif_resp response = { .id = request.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
        return ioctl(d->listener, SECCOMP_IOCTL_NOTIF_SEND, &response) < 0 ? -errno : 0;
}

static void count(struct denials_told *d, const struct seccomp_data *data)
{
        bool socket = data->nr == SYS_socket || data->nr == SYS_socketpair;
        struct denial new = { .number = data->nr, .family = socket ? (uint32_t)data->args[0] : 0, .count = 1 };
        for (size_t i = 0; i < d->count; i++) {
                struct denial *old = &d->list[i];
                if (old->number == -1 || (old->number == new.number && old->family == new.family)) {
                        old->count += old->count < UINT32_MAX;
                        return;
                }
        }
        if (d->count == DENIALS_MAX - 1)
                new.number = -1;
        d->list[d->count++] = new;
}

void denials_answer(struct denials *d)
{
        struct pollfd waiting = { .fd = d->listener, .events = POLLIN };
        for (int i = 0; i < ANSWERS_AT_ONCE && d->listener >= 0 && poll(&waiting, 1, 0) > 0; i++) {
                struct seccomp_notif request = { 0 };
                if (!(waiting.revents & POLLIN)) {
                        fd_close(&d->listener);
                        return;
                }
                if (ioctl(d->listener, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0) {
                        if (errno != ENOENT && errno != EINTR) /* ENOENT: it was killed meanwhile */
                                fd_close(&d->listener);
                        continue;
                }
                int answer = filter_answer(d->rights, &request.data);
                if (answer)
                        count(d->told, &request.data);
                else if ((answer = socket_give(d->listener, &request)) == 0)
                        continue;
                struct seccomp_notif_resp response = { .id = request.id, .error = -answer };
                /* ENOENT: as above. Whom we cannot answer must not wait for ever: without a listener it fails with ENOSYS. */
                if (ioctl(d->listener, SECCOMP_IOCTL_NOTIF_SEND, &response) < 0 && errno != ENOENT)
                        fd_close(&d->listener);
        }
}
