/*
 * A cell is a box that runs a function of ringwall instead of a command. It has a socket to that function and, if the
 * plan asks for one, an audit trail. The MCP server and each session's tools run in a cell.
 */
#ifndef RINGWALL_SESSION_CELL_H
#define RINGWALL_SESSION_CELL_H

#include "box/box_run.h"

struct cell {
        struct arena *arena;
        struct box_run run;
};

struct cell_request {
        const struct plan *plan;
        const char *name;   /* for records, in place of a command */
        int (*serve)(int socket, const struct launch_request *request); /* runs inside; returns the exit status */
        const void *data;   /* request->data of serve() */
        const char *directory; /* working directory; NULL: as for a command of the plan */
        const int *streams; /* its stdin, stdout and stderr */
        int type;           /* of the socket: SOCK_STREAM, SOCK_SEQPACKET */
};

/* Starts the cell. The caller must have one thread. Returns our end of its socket, or -errno with an error. */
int cell_start(struct cell *c, const struct cell_request *request, struct error *e);

/* Handles all pending messages of its keeper and its egress. Poll what box_run_fill_pollfds() gives to know of them. */
void cell_receive(struct cell *c);

/* From now on the cell may reach the hosts of this plan, which must outlive the cell. Returns as egress_change(). */
int cell_change_hosts(struct cell *c, const struct plan *plan, struct error *e);

/*
 * Ends the cell with every process in it. The caller has closed its end of the socket, so serve() returns by itself; a
 * cell that has not ended after a second is killed. The report can be read until cell_free(). Returns 0, or -EIO when
 * the audit trail is incomplete.
 */
int cell_end(struct cell *c);
void cell_free(struct cell *c);

#endif
