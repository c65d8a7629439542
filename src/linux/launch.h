/*
 * Starts a box: the processes that one plan confines. Theory of operation: launch.c.
 */
#ifndef RINGWALL_LINUX_LAUNCH_H
#define RINGWALL_LINUX_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "linux/denials.h"
#include "policy/plan.h"

struct cgroup;
struct egress_proxies;

struct launch_request {
        const struct plan *plan;
        char *const *command;     /* argv of the command, NULL-terminated */
        char *const *environment; /* all of what it gets */
        const char *directory;    /* where it starts: the workspace or below */
        const char *scratch;      /* without a mount namespace: scratch_name(); made and removed with the box */
        /* Run in the command's process, behind its walls, instead of a command; with its socket. */
        int (*serve)(int socket, const struct launch_request *request);
        const void *data;         /* of serve's own */
        int socket;               /* the one descriptor that it gets besides the first three */
        const int *streams;       /* three descriptors for it; NULL: the caller's own */
        unsigned terminals;       /* bit n: its descriptor n is a terminal of the box's own; see pty.c */
        bool foreground;          /* it may read from that terminal at once */
        struct cgroup *cgroup;    /* to start in, with the plan's limits; NULL: none */
        int egress;               /* to the process that serves the box's entrances (egress_wire.h); -1: it has none */
        const struct egress_proxies *proxies; /* which the front has made, without a network namespace; NULL: none */
};

/* A running box. */
struct box {
        bool own_pids; /* its processes end with the keeper */
        const char *scratch; /* the request's */
        pid_t pid;   /* the keeper's, in our own pid namespace */
        int pidfd;   /* readable when the keeper has ended */
        int control; /* SOCK_SEQPACKET: struct box_message both ways */
};

enum box_message_kind {
        BOX_SIGNAL,   /* to the keeper: send `number` to the command's process group */
        BOX_CONTINUE, /* to it: continue the command, in the foreground of its terminal if `number` is not 0 */
        BOX_TERMINAL, /* from it: comes with the master of the box's terminal */
        BOX_NOTE,     /* from it: `error` says what this box does not hold, though nobody asked for it by name */
        BOX_STARTED,  /* from it: the command runs; `number` is the Landlock ABI that confines it */
        BOX_STOPPED,  /* from it: the command was stopped by signal `number` */
        BOX_DENIED,   /* from it, at the end: `denial` says what the filter refused */
        BOX_EXITED,   /* from it: the command ended with wait status `number` */
        BOX_FAILED,   /* from it: it could not be started; `number` is the exit code to give (125, 126, 127) */
};

struct box_message {
        enum box_message_kind kind;
        int number;
        struct denial denial; /* BOX_DENIED */
        struct error error; /* BOX_FAILED, BOX_NOTE; its stage is not valid across processes */
};

/*
 * Starts it. Runs as: the caller, who must have one thread. Should leave nothing behind when it fails; must not start a
 * command with less than the plan asks for. Returns 0 or -errno with an error; what goes wrong later inside comes as
 * BOX_FAILED.
 */
int launch_box(const struct launch_request *request, struct box *ret, struct error *e);

/*
 * The next message of the keeper, without waiting. Returns its length, which is 0 when the keeper is gone, or -errno.
 * *ret_fd is the caller's to close, or -1.
 */
ssize_t box_receive(const struct box *box, struct box_message *ret, int *ret_fd);

/* After BOX_EXITED or BOX_FAILED: the box is empty, and its keeper is about to be gone. */
void box_leave(struct box *box);

/* Ends it, with everything in it, and waits for the end. */
void box_end(struct box *box);

#endif
