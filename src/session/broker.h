/*
 * The broker starts boxes for the MCP server, which is confined itself and cannot start any. Theory of operation:
 * broker.c.
 */
#ifndef RINGWALL_SESSION_BROKER_H
#define RINGWALL_SESSION_BROKER_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "box/live_policy.h"
#include "platform/box.h"
#include "policy/plan.h"

enum { BROKER_SESSIONS_MAX = 128 }; /* at the same time, each with its own box of tools */

/* --- in the broker --- */

struct broker_config {
        const struct plan *plan; /* of the boxes of tools */
        int (*worker)(int channel, const struct launch_request *request); /* runs in each session's box */
        const void *worker_data; /* request->data of worker() */
        int (*server)(int broker, const struct launch_request *request); /* runs in the server's box */
        const void *server_data; /* request->data of server() */
        const int *listeners;    /* listening sockets for the server */
        size_t listener_count;
        void (*print_message)(const char *sentence); /* prints a message to the user */
        struct live_policy *live; /* policy files; when they change, so do the allowed hosts of the tools; NULL: none */
};

/*
 * Starts the server in its own box and handles its requests until it exits, or until SIGTERM, SIGINT or SIGHUP. The
 * caller must have one thread. Returns the exit status (0, or 128 + the signal), or -errno with an error when the
 * server failed or no box of tools could ever be started.
 */
int broker_run(const struct broker_config *b, struct error *e);

/* --- in the server --- */

/* Receives the next listening socket. Returns it, or -errno. */
int broker_receive_listener(int broker);

/* Starts a box of tools for this session. Returns the channel to it, or -errno with an error. */
int broker_start_session(int broker, uint32_t session, struct error *e);

/*
 * Ends the session's box, which may have ended by itself. The caller has closed the channel. If `why` is not NULL,
 * waits until the box has ended and stores the reason.
 */
void broker_end_session(int broker, uint32_t session, struct error *why);

/* Adds a record to the session's audit trail, if it has one. Takes ownership of the fields. */
void broker_log_event(int broker, uint32_t session, const char *event, json_t *fields);

#endif
