/*
 * Boxes on request. The server that speaks with agents is confined itself, so it cannot make any: it asks the process
 * outside that started it. Theory of operation: broker.c.
 */
#ifndef RINGWALL_SESSION_BROKER_H
#define RINGWALL_SESSION_BROKER_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "box/live.h"
#include "linux/launch.h"
#include "policy/plan.h"

enum { BROKER_SESSIONS = 128 }; /* at the same time, each with its box of tools */

/* --- outside --- */

struct broker {
        const struct plan *plan; /* of the tools' boxes */
        int (*tools)(int channel, const struct launch_request *request);
        const void *tools_data;  /* in its request->data */
        int (*server)(int broker, const struct launch_request *request);
        const void *server_data; /* in its request->data */
        const int *listeners;    /* sockets that the server accepts on */
        size_t listener_count;
        void (*tell)(const char *sentence); /* to the person who started it */
        struct live *live;       /* files whose hosts hold for the tools' boxes as they change; NULL: none */
};

/*
 * Starts the server in a box of its own and gives it what it asks for, until it ends or a signal asks for the end. The
 * caller has one thread. Returns the exit status of the whole, or -errno with an error when there never was a box to serve
 * with.
 */
int broker_run(const struct broker *b, struct error *e);

/* --- in the server --- */

/* The next socket to accept on, or -errno. */
int broker_listener(int broker);

/* A box of tools for this session. Returns the channel to it, or -errno with an error. */
int broker_start(int broker, uint32_t session, struct error *e);

/*
 * The session's box is not needed any more, or has ended by itself; the channel is closed already. With `why`, which costs
 * the wait, what became of it.
 */
void broker_end(int broker, uint32_t session, struct error *why);

/* Puts an event into the session's record, if one is kept. Takes the fields over. */
void broker_record(int broker, uint32_t session, const char *event, json_t *fields);

#endif
