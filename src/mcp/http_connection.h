/*
 * One HTTP connection of a client. Requests are handled one at a time; a reply is sent as a whole or as a stream of
 * events. Theory of operation: http_connection.c.
 */
#ifndef RINGWALL_MCP_HTTP_CONNECTION_H
#define RINGWALL_MCP_HTTP_CONNECTION_H

#include <event2/event.h>
#include <stdint.h>

#include "wire/http_request.h"

struct http_connection;

struct http_connection_ops {
        /* The head of a request has arrived. False: the owner has sent a reply, and the body is not read. */
        bool (*on_head)(struct http_connection *c);
        /* c->request is complete. The owner replies at once or later, by http_connection_reply() or a stream. */
        void (*on_request)(struct http_connection *c);
        /* The connection was closed, whether the request was answered or not. It is freed after this call. */
        void (*on_closed)(struct http_connection *c);
        size_t body_max;
};

struct http_connection {
        const struct http_connection_ops *owner;
        void *data; /* the owner's own data */
        struct bufferevent *io;
        struct http_request request;
        bool accepted;         /* on_head() has accepted a request on this connection */
        int64_t request_began; /* when the first byte of the request arrived; 0: not yet */
        enum {
                CONNECTION_READING,
                CONNECTION_ANSWERING,
                CONNECTION_STREAMING,
                CONNECTION_CLOSING,   /* closes when all output has been sent */
                CONNECTION_LINGERING, /* all output is sent; input is discarded until the client closes */
        } state;
};

/* Takes ownership of the socket. NULL without memory. */
struct http_connection *http_connection_new(struct event_base *base, int fd, const struct http_connection_ops *owner,
                                            void *data);

/* Closes the connection at once. Only the event loop may be calling into this connection: not its on_*() functions. */
void http_connection_close(struct http_connection *c);

/* The same without calling on_closed(). */
void http_connection_free(struct http_connection *c);

/*
 * Sends a complete reply. `headers`: additional header lines, each with its CRLF; NULL: none. `type`: the Content-Type;
 * NULL if there is no body.
 */
void http_connection_reply(struct http_connection *c, int status, const char *headers, const char *type,
                           const char *body, size_t length);

/* Replies with a JSON-RPC error whose message is `sentence`. */
void http_connection_reply_error(struct http_connection *c, int status, const char *headers, const char *sentence);

/* A reply as a stream of events: its head, then any number of chunks, then the end. */
void connection_begin_stream(struct http_connection *c, const char *headers);
void connection_send_chunk(struct http_connection *c, const char *bytes, size_t length);
void connection_end_stream(struct http_connection *c);

#endif
