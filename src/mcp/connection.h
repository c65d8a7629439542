/*
 * One HTTP connection: requests in, one at a time; answers out, whole or as a stream of events. Theory of operation:
 * connection.c.
 */
#ifndef RINGWALL_MCP_CONNECTION_H
#define RINGWALL_MCP_CONNECTION_H

#include <event2/event.h>
#include <stdint.h>

#include "wire/http_request.h"

struct connection;

struct connection_owner {
        /* The head of a request is there, and its body is to come. False: it has been answered, and nothing more is read. */
        bool (*head)(struct connection *c);
        /* A request is complete: c->request. It is answered now or later, by connection_reply() or connection_stream(). */
        void (*request)(struct connection *c);
        /* It is gone, and with it what was not answered; the connection is freed behind this. */
        void (*closed)(struct connection *c);
        size_t body_most;
};

struct connection {
        const struct connection_owner *owner;
        void *data; /* the owner's own */
        struct bufferevent *io;
        struct http_request request;
        bool known;    /* a request of its was accepted by its head */
        int64_t began; /* when the request's first byte came; 0: none has */
        enum {
                CONNECTION_READING,
                CONNECTION_ANSWERING,
                CONNECTION_STREAMING,
                CONNECTION_CLOSING,   /* when all has been sent */
                CONNECTION_LINGERING, /* all has, and the client may still be sending what nobody wants */
        } state;
};

/* Takes the socket over. NULL without memory. */
struct connection *connection_open(struct event_base *base, int fd, const struct connection_owner *owner, void *data);

/* At once; closed() is not called. */
void connection_free(struct connection *c);

/* The whole answer. `headers` is more of them, each with its CRLF; NULL: none. `type` NULL: there is no body. */
void connection_reply(struct connection *c, int status, const char *headers, const char *type, const char *body, size_t length);

/* An answer of JSON that is an error of ours: a sentence. */
void connection_refuse(struct connection *c, int status, const char *headers, const char *sentence);

/* A stream of events begins; each piece is sent as it is, until the end. */
void connection_stream(struct connection *c, const char *headers);
void connection_piece(struct connection *c, const char *bytes, size_t length);
void connection_end(struct connection *c);

#endif
