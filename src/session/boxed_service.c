/* Boxes that run a function of ringwall; see boxed_service.h. */
#include "session/boxed_service.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"
#include "policy/input_limits.h"

enum { EXIT_MS_MAX = 1000 }; /* for the function to return and the keeper to send its last messages */

int boxed_service_start(struct boxed_service *c, const struct boxed_service_request *request, struct error *e)
{
        int sockets[2];
        *c = (struct boxed_service){ .run = BOX_RUN_NONE, .arena = arena_new(ARENA_BYTES_MAX) };
        char **command = c->arena ? arena_alloc(c->arena, 2 * sizeof *command) : NULL;
        if (command)
                command[0] = arena_strdup(c->arena, request->name);
        if (!command || !command[0] || socketpair(AF_UNIX, request->type | SOCK_CLOEXEC, 0, sockets) < 0) {
                int code = command && command[0] ? errno : ENOMEM;
                boxed_service_free(c);
                return error_errno(e, code, "cannot prepare %s", request->name);
        }
        CLEANUP_FD int ours = sockets[0], theirs = sockets[1];
        struct launch_request launch = { .plan = request->plan,
                                         .command = command,
                                         .serve = request->serve,
                                         .data = request->data,
                                         .directory = request->directory,
                                         .socket = theirs,
                                         .streams = request->streams };
        int r = box_run_begin(&c->run, c->arena, request->plan, command, NULL, e);
        if (r == 0)
                r = box_run_start(&c->run, &launch, e);
        if (r == 0)
                return TAKE_FD(ours);
        (void)box_run_finish(&c->run, false); /* the caller gets the error of the start */
        boxed_service_free(c);
        return r;
}

void cell_receive(struct boxed_service *c)
{
        bool received = true;
        while (received) {
                struct box_message m;
                CLEANUP_FD int fd = -1;
                received = box_run_receive(&c->run, &m, &fd);
        }
}

int boxed_service_set_hosts(struct boxed_service *c, const struct plan *plan, struct error *e)
{
        return c->run.alive ? egress_set_hosts(&c->run.running.egress, plan, e) : 0;
}

int boxed_service_stop(struct boxed_service *c)
{
        int64_t now = clock_ms(), until = now + EXIT_MS_MAX;
        for (cell_receive(c); c->run.alive && !c->run.over && now < until; cell_receive(c), now = clock_ms()) {
                struct pollfd events[BOX_RUN_FDS];
                box_run_fill_pollfds(&c->run, events);
                (void)poll(events, ARRAY_SIZE(events), (int)(until - now));
        }
        return c->arena ? box_run_finish(&c->run, false) : 0;
}

void boxed_service_free(struct boxed_service *c)
{
        arena_free(c->arena);
        *c = (struct boxed_service){ .run = BOX_RUN_NONE };
}
