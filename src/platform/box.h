/*
 * Starts a box: the processes that one plan confines. Part of the interface to a platform (platform.h). Theory of
 * operation on Linux: linux/launch.c.
 */
#ifndef RINGWALL_PLATFORM_BOX_H
#define RINGWALL_PLATFORM_BOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "policy/plan.h"

struct proxy_endpoints;
struct resource_group;

struct launch_request {
        const struct plan *plan;
        char *const *command;     /* argv of the command, NULL-terminated */
        char *const *environment; /* its complete environment */
        const char *directory;    /* its working directory: the workspace or below */
        const char *scratch;      /* without a mount namespace: box_scratch_name(); made and removed with the box */
        /* If not NULL, the command's process calls this instead of executing a command, after it applied the walls. */
        int (*serve)(int socket, const struct launch_request *request);
        const void *data;         /* for serve */
        int socket;               /* for serve: its one descriptor besides the standard streams */
        const int *streams;       /* standard input, output and error of the command; NULL: the caller's own */
        unsigned terminals;       /* bit n: its descriptor n is a terminal of the box's own; see linux/pty.c */
        bool foreground;          /* the command may read from that terminal at once */
        struct resource_group *resources; /* the group to start in, with the plan's limits (limits.h); NULL: none */
        /* a socket to egress, which serves the box's listeners (wire/egress_protocol.h); -1: the box has no egress */
        int egress;
        const struct proxy_endpoints *proxies; /* the front's, for a box without a network namespace; NULL: none */
};

/*
 * Chooses a name that cannot be guessed for the scratch directory: it contains the private directories of a box without
 * a mount namespace. Does not make the directory.
 */
enum { SCRATCH_LENGTH = 40 };
int box_scratch_name(char ret[SCRATCH_LENGTH], struct error *e);

/* A running box. */
struct box {
        bool own_pids; /* it has a pid namespace: the kernel kills its processes when the keeper exits */
        const char *scratch; /* from the request */
        pid_t pid;   /* the keeper's, in our own pid namespace */
        int pidfd;   /* readable when the keeper has exited */
        int control; /* SOCK_SEQPACKET: struct box_message in both directions */
};

enum { REFUSED_CALLS_MAX = 32, REFUSED_PATHS_MAX = 16, REFUSED_PATH_BYTES = 240 };

/* Special values of a refused call's number. */
enum {
        REFUSED_OTHERS = -1,   /* all calls that did not fit into the list */
        REFUSED_NO_ROUTE = -2, /* attempts to reach an address outside of a box that reaches no host */
};

/* A system call that was refused; platform_describe_call() has its name. */
struct refused_call {
        int number;      /* of the call, or one of the values above */
        uint32_t family; /* for socket and socketpair: their first argument */
        unsigned count;
};

/* A path that a rule denied, and the rule as text. */
struct refused_path {
        unsigned count;
        char path[REFUSED_PATH_BYTES], rule[REFUSED_PATH_BYTES];
};

enum box_message_kind {
        /* to the keeper */
        BOX_SIGNAL,   /* send signal `number` to the command's process group */
        BOX_CONTINUE, /* continue the command, in the foreground of its terminal if `number` is not 0 */
        /* from the keeper */
        BOX_TERMINAL, /* carries the master of the box's terminal as a descriptor */
        BOX_SHORTFALL,     /* `error` describes a rule that this box does not enforce: a default, or best effort */
        BOX_STARTED,  /* the command runs; `number` is the Landlock ABI that confines it, `guard` its guard */
        BOX_STOPPED,  /* the command was stopped by signal `number` */
        BOX_REFUSED_CALL, /* after the command has exited: `call` is a call that the filter refused */
        BOX_REFUSED_PATH, /* after the command has exited: `path` is a path that the guard refused, with its rule */
        BOX_EXITED,   /* the last message: the command's wait status is `number` */
        BOX_FAILED,   /* the last message: the box failed; ringwall exits with `number` (125, 126, 127) */
};

struct box_message {
        enum box_message_kind kind;
        int number;
        int guard; /* BOX_STARTED: for struct enforced_state */
        struct refused_call call; /* BOX_REFUSED_CALL */
        struct refused_path path; /* BOX_REFUSED_PATH */
        struct error error; /* BOX_FAILED, BOX_SHORTFALL */
};

/*
 * Starts a box. Runs in the front, which must have one thread. Leaves nothing behind on failure. Never starts a command
 * with less confinement than the plan asks for. Returns 0 or -errno with an error; the keeper reports a later failure
 * by BOX_FAILED.
 */
int launch_box(const struct launch_request *request, struct box *ret, struct error *e);

/*
 * Receives the keeper's next message, without blocking. Returns its length, 0 when the keeper has exited, or -errno.
 * *ret_fd is the descriptor that came with it, which the caller closes, or -1.
 */
ssize_t box_receive(const struct box *box, struct box_message *ret, int *ret_fd);

/* Closes our descriptors without waiting. Only after BOX_EXITED or BOX_FAILED, when the keeper is about to exit. */
void box_close_fds(struct box *box);

/* Terminates every process of the box, and waits until the keeper has exited. */
void box_kill(struct box *box);

#endif
