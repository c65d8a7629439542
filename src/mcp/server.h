/*
 * The server: sessions and their pending requests, independent of the transport (stdio, HTTP). Theory of operation:
 * server.c.
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

struct pending_request;
struct session;

/* Methods and tools beyond ringwall's own. Only a test adds some (tests/mcp/fixture.c). */
struct mcp_extension {
        /* Called first for every request. True: the extension replies, now or later, by request_*(). */
        bool (*on_request)(struct pending_request *x);
        /* A client's response to a request that was sent by request_send(). */
        void (*on_response)(struct session *s, const struct mcp_message *response);
        /* A request that the extension took over has been answered or dropped, and is about to be freed. */
        void (*on_done)(struct pending_request *x);
};

struct server {
        const struct mcp_server_config *offer;
        const struct mcp_extension *extension; /* NULL: none */
        const struct gate *gate;               /* NULL: none */
        struct event_base *base;
        struct event *broker_closed; /* fires when the broker has exited */
        int broker;
        struct session *sessions[BROKER_SESSIONS_MAX]; /* the first always exists */
};

/* One client with its box of tools. */
struct session {
        struct server *server;
        uint32_t number;
        bool shared; /* by several clients, whose requests may have the same ids */
        bool has_shells; /* a command was started in the background */
        struct channel channel;
        struct event *readable, *writable; /* of the channel; NULL: the session has no box now */
        json_int_t last_call;
        size_t waiting; /* number of pending requests */
        LIST_HEAD(pending_list, pending_request) pending;
};

/* How a transport sends the messages of a request to the client. */
struct transport_ops {
        /*
         * Sends a message and takes ownership of it. `last` ends the request; then the message is NULL if there is no
         * reply. `status` is the HTTP status.
         */
        void (*send)(struct pending_request *x, json_t *message, bool last, int status);
        /* Closes the connection, so that the client has to reconnect for the rest. NULL for stdio. */
        void (*detach)(struct pending_request *x);
        /* A header of the request, or NULL; valid only while the request is handed to the server. NULL for stdio. */
        const char *(*header)(const struct pending_request *x, const char *name);
        /* Sends the reply to a call, a line of JSON without its end. NULL: send() gets it, parsed. */
        void (*send_tool_reply)(struct pending_request *x, struct text *line);
};

/* A pending request. */
struct pending_request {
        struct session *session;
        LIST_ENTRY(pending_request) others;
        struct mcp_message message;
        json_int_t call;         /* number of the call to the tools; 0: none */
        json_int_t progress;     /* last value that was sent to the client */
        bool by_extension;       /* the extension replies */
        const struct transport_ops *route;
        void *transport;         /* the transport's own data */
        struct pending_request **slot; /* the transport's pointer to the request, set to NULL at the end; may be NULL */
        void *data;              /* the extension's own data */
};

/*
 * Prepares the server, its first session and the box of that session. `files`: the input may be a regular file, which
 * epoll cannot watch. Returns 0 or -errno with an error; call server_close() in both cases.
 */
int server_open(struct server *s, const struct mcp_server_config *offer, const struct mcp_extension *extension,
                int broker, bool files, struct error *e);
void server_close(struct server *s);

/* Runs until server_stop(), or until the broker exits. */
void server_run(struct server *s);
void server_stop(struct server *s);

/* NULL if there are too many sessions. The session's box is started by its first call. */
struct session *session_open(struct server *s);
void session_close(struct session *s);

/*
 * Handles a client's message, which must not be MCP_INVALID, and takes ownership of it. A request is answered through
 * the route, at once or later. Until its last message is sent or request_drop() is called, *slot is the request; `slot`
 * may be NULL.
 */
void server_handle_message(struct session *s, struct mcp_message *m, const struct transport_ops *route, void *transport,
                 struct pending_request **slot);

/* Cancels the call of a request whose client has disconnected, and frees it without using the route. */
void request_drop(struct pending_request *x);

/* Each sends the reply and frees the request. They take ownership of `result` and `data`. */
void request_answer_result(struct pending_request *x, json_t *result);
void request_answer_error(struct pending_request *x, int code, const char *message, json_t *data, int status);

/* Sends a message before the reply, and takes ownership of it. */
void request_send(struct pending_request *x, json_t *message);

#endif
