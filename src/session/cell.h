/*
 * A function of ours in a box of its own: a plan's walls around it, a socket to it, and a record of it where the plan wants
 * one. The agent's tools run so, and so does the server that speaks with the agent.
 */
#ifndef RINGWALL_SESSION_CELL_H
#define RINGWALL_SESSION_CELL_H

#include "box/start.h"
#include "box/trail.h"

struct cell {
        struct arena *arena;
        struct report report;
        struct running running;
        struct trail trail;
        bool alive;
        bool said_all; /* its keeper has: it has ended, or is about to */
};

struct cell_request {
        const struct plan *plan;
        const char *name;   /* for records, in place of a command */
        int (*serve)(int socket, const struct launch_request *request); /* runs inside; its result is the exit status */
        const void *data;   /* of serve's, in request->data */
        const char *directory; /* where it starts; NULL: as a command of the plan would */
        const int *streams; /* three descriptors for it */
        int type;           /* of the socket: SOCK_STREAM, SOCK_SEQPACKET */
};

/* Starts it. The caller has one thread. Returns our end of its socket, or -errno with an error. */
int cell_start(struct cell *c, const struct cell_request *asked, struct error *e);

/* Readable when its keeper has something to say: then cell_hear(). -1 when it never will again. */
int cell_fd(const struct cell *c);
void cell_hear(struct cell *c);

/* The same for the process that carries its connections. */
int cell_egress_fd(const struct cell *c);

/* From now on it reaches the hosts of this plan, which must live as long as it does. As egress_change(). */
int cell_change_hosts(struct cell *c, const struct plan *plan, struct error *e);

/*
 * Ends it, with everything in its box: the caller has closed its end of the socket, which is how it knows. What the
 * keeper says last, and the report, can be read until cell_free(). Returns 0, or -EIO when its record could not be
 * written to its end.
 */
int cell_end(struct cell *c);
void cell_free(struct cell *c);

#endif
