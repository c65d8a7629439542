/*
 * The server: sessions, and the requests that are being answered in them, whatever carries the messages. Theory of
 * operation: server.c.
 */
#ifndef RINGWALL_MCP_SERVER_H
#define RINGWALL_MCP_SERVER_H

#include <event2/event.h>
#include <stdint.h>
#include <sys/queue.h>

#include "gate/gate.h"
#include "mcp/protocol.h"
#include "session/broker.h"
#include "wire/channel.h"

struct exchange;
struct session;

/* More than ringwall's own methods and tools: for a program that links the server and has its own. */
struct mcp_extension {
        /* A request, before anybody else sees it. True: it is answered, now or later, by exchange_*(). */
        bool (*take)(struct exchange *x);
        /* A client's answer to a request that was sent by exchange_send(). */
        void (*hear)(struct session *s, const struct mcp_message *response);
        /* An exchange that it took is over, or nobody waits for it any more. */
        void (*gone)(struct exchange *x);
};

struct server {
        const struct mcp_offer *offer;
        const struct mcp_extension *extension; /* NULL: none */
        const struct gate *gate;               /* NULL: none */
        struct event_base *base;
        struct event *orphaned; /* nobody makes boxes for us any more */
        int broker;
        struct session *sessions[BROKER_SESSIONS]; /* the first is always there */
};

/* A client, or all the clients that keep no session of their own; and its box of tools. */
struct session {
        struct server *server;
        uint32_t number;
        bool shared; /* by several clients, whose requests may have the same ids */
        struct channel channel;
        struct event *readable, *writable; /* of the channel; NULL: there are no tools now */
        json_int_t last_call;
        size_t waiting; /* exchanges */
        LIST_HEAD(exchange_list, exchange) exchanges;
};

/* How messages of an exchange get to the client. */
struct route {
        /*
         * Takes the message over. With the last one, which is NULL when there is nothing more to say, the exchange is over;
         * `status` is what HTTP says of it.
         */
        void (*send)(struct exchange *x, json_t *message, bool last, int status);
        /* Lets the client come back for the rest; for routes that can. */
        void (*detach)(struct exchange *x);
        /* A header of the request, while it is being taken; NULL when there is none. For routes that have headers. */
        const char *(*header)(const struct exchange *x, const char *name);
};

/* A request that is being answered. */
struct exchange {
        struct session *session;
        LIST_ENTRY(exchange) others;
        struct mcp_message message;
        json_int_t call;     /* its number, when tools work on it */
        json_int_t progress; /* that was told */
        bool extended;       /* the extension's */
        const struct route *route;
        void *carrier;       /* the route's own */
        struct exchange **place; /* where the carrier keeps it; NULL: nowhere */
        void *data;          /* the extension's own */
};

/*
 * Prepares it, with its first session and the box of that. `files` when what it listens to may be files, which not every
 * loop can wait for. Returns 0 or -errno with an error; server_close() either way.
 */
int server_open(struct server *s, const struct mcp_offer *offer, const struct mcp_extension *extension, int broker, bool files,
                struct error *e);
void server_close(struct server *s);

/* Until server_stop(), or until nobody makes boxes for it any more. */
void server_run(struct server *s);
void server_stop(struct server *s);

/* NULL when there are too many. Its box is made with its first call. */
struct session *session_open(struct server *s);
void session_close(struct session *s);

/*
 * A client's message that is not bad; it is taken over. A request is answered by the route, at once or later. Until its
 * last message has been sent, or exchange_drop(), the exchange is in *place, which may be NULL itself.
 */
void server_take(struct session *s, struct mcp_message *m, const struct route *route, void *carrier, struct exchange **place);

/* Nobody waits for it any more: what it started ends, and the route hears nothing more of it. */
void exchange_drop(struct exchange *x);

/* Each is the last of the exchange. They take results and data over. */
void exchange_result(struct exchange *x, json_t *result);
void exchange_error(struct exchange *x, int code, const char *message, json_t *data, int status);

/* A message on the way; taken over. */
void exchange_send(struct exchange *x, json_t *message);

#endif
