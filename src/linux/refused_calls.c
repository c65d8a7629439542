/*
 * Refused calls; see refused_calls.h.
 *
 * What an attacker controls: which calls are made, with which arguments, and how often. The list of counts is bounded,
 * and refused_calls_answer() returns after ANSWERS_MAX answers, so that its caller can handle other events. If a
 * process is killed while it waits, its answer fails with ENOENT, which is ignored.
 *
 * Needs of the kernel: user notification (5.0), CONTINUE (5.5) for refused_calls_let_exec_continue.
 */
#include "linux/refused_calls.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "linux/filter_install.h"
#include "linux/kernel_abi.h"
#include "linux/socket_server.h"

enum { ANSWERS_MAX = 64 };

int refused_calls_init(struct refused_calls *ret, unsigned rights, bool shared)
{
        static struct refused_log local;
        void *log =
                shared ? mmap(NULL, sizeof local, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) : &local;
        if (log == MAP_FAILED)
                return -errno;
        *ret = (struct refused_calls){ .listener = -1, .rights = rights, .log = log };
        return 0;
}

int refused_calls_let_exec_continue(const struct refused_calls *d)
{
        struct seccomp_notif request = { 0 };
        if (ioctl(d->listener, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0)
                return -errno;
        struct seccomp_notif_resp response = { .id = request.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
        return ioctl(d->listener, SECCOMP_IOCTL_NOTIF_SEND, &response) < 0 ? -errno : 0;
}

static void count_call(struct refused_log *d, const struct seccomp_data *data)
{
        bool socket = data->nr == SYS_socket || data->nr == SYS_socketpair;
        struct refused_call new = { .number = data->nr, .family = socket ? (uint32_t)data->args[0] : 0, .count = 1 };
        for (size_t i = 0; i < d->call_count; i++) {
                struct refused_call *old = &d->calls[i];
                if (old->number == REFUSED_OTHERS || (old->number == new.number && old->family == new.family)) {
                        old->count += old->count < UINT32_MAX;
                        return;
                }
        }
        if (d->call_count == REFUSED_CALLS_MAX - 1)
                new.number = REFUSED_OTHERS;
        d->calls[d->call_count++] = new;
}

void refused_calls_count(struct refused_calls *d, const struct seccomp_notif *request)
{
        if (filter_errno(d->rights, &request->data))
                count_call(d->log, &request->data);
}

void refused_calls_answer_one(struct refused_calls *d, const struct seccomp_notif *request)
{
        int answer = filter_errno(d->rights, &request->data);
        if (!answer && (answer = socket_serve(d->listener, request)) == 0)
                return;
        struct seccomp_notif_resp response = { .id = request->id, .error = -answer };
        /* ENOENT: the caller was killed. Without a listener its calls fail with ENOSYS instead of waiting for ever. */
        if (ioctl(d->listener, SECCOMP_IOCTL_NOTIF_SEND, &response) < 0 && errno != ENOENT)
                fd_close(&d->listener);
}

/* One entry for each rule, with the first path: a program that is denied once is often denied for many paths. */
void refused_calls_note_path(struct refused_calls *d, const char *path, const char *rule)
{
        struct refused_log *log = d->log;
        for (size_t i = 0; i < log->path_count; i++)
                if (strncmp(log->paths[i].rule, rule, sizeof log->paths[i].rule - 1) == 0) {
                        log->paths[i].count++;
                        return;
                }
        if (log->path_count == REFUSED_PATHS_MAX)
                return;
        struct refused_path *new = &log->paths[log->path_count++];
        new->count = 1;
        (void)snprintf(new->path, sizeof new->path, "%s", path);
        (void)snprintf(new->rule, sizeof new->rule, "%s", rule);
}

void refused_calls_answer(struct refused_calls *d)
{
        struct pollfd waiting = { .fd = d->listener, .events = POLLIN };
        for (int i = 0; i < ANSWERS_MAX && d->listener >= 0 && poll(&waiting, 1, 0) > 0; i++) {
                struct seccomp_notif request = { 0 };
                if (!(waiting.revents & POLLIN)) {
                        fd_close(&d->listener);
                        return;
                }
                if (ioctl(d->listener, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0) {
                        if (errno != ENOENT && errno != EINTR) /* ENOENT: the caller was killed */
                                fd_close(&d->listener);
                        continue;
                }
                refused_calls_count(d, &request);
                refused_calls_answer_one(d, &request);
        }
}
