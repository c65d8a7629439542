/*
 * A boxed service is a function of ringwall that runs in a box instead of a command. The caller has a socket to it and,
 * if the plan asks for one, an audit trail. The MCP server and each session's tools are boxed services.
 */
#ifndef RINGWALL_SESSION_BOXED_SERVICE_H
#define RINGWALL_SESSION_BOXED_SERVICE_H

#include "box/box_run.h"

struct boxed_service {
        struct arena *arena;
        struct box_run run;
};

struct boxed_service_request {
        const struct plan *plan;
        const char *name;   /* for records, in place of a command */
        int (*serve)(int socket, const struct launch_request *request); /* runs inside; returns the exit status */
        const void *data;   /* request->data of serve() */
        const char *directory; /* working directory; NULL: as for a command of the plan */
        const int *streams; /* its stdin, stdout and stderr */
        int type;           /* of the socket: SOCK_STREAM, SOCK_SEQPACKET */
};

/* Starts the box. The caller must have one thread. Returns our end of its socket, or -errno with an error. */
int boxed_service_start(struct boxed_service *c, const struct boxed_service_request *request, struct error *e);

/* Handles all pending messages of its keeper and its egress. Poll what box_run_fill_pollfds() gives to know of them. */
void cell_receive(struct boxed_service *c);

/* From now on the box may reach the hosts of this plan, which must outlive the box. Returns as egress_set_hosts(). */
int boxed_service_set_hosts(struct boxed_service *c, const struct plan *plan, struct error *e);

/*
 * Ends the box with every process in it. The caller has closed its end of the socket, so serve() returns by itself; a
 * box that has not ended after a second is killed. The report can be read until boxed_service_free(). Returns 0, or
 * -EIO when the audit trail is incomplete.
 */
int boxed_service_stop(struct boxed_service *c);
void boxed_service_free(struct boxed_service *c);

#endif
