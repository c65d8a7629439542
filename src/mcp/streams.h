/*
 * Streams of server-sent events. A legacy client's stream outlives its connection: the client can reconnect with the id
 * of the last event that it got, and receives the rest. A modern client's stream ends with its connection.
 */
#ifndef RINGWALL_MCP_STREAMS_H
#define RINGWALL_MCP_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "mcp/connection.h"

struct kept_event {
        STAILQ_ENTRY(kept_event) next;
        uint64_t number;
        size_t length;
        char text[]; /* as it is sent */
};

struct stream {
        LIST_ENTRY(stream) entry;
        const void *owner;             /* only this client may resume the stream */
        struct connection *connection; /* NULL: the client is not connected now */
        uint64_t number;               /* 0: the stream cannot be resumed; events have no ids and are not kept */
        uint64_t events;               /* the number of the last event */
        STAILQ_HEAD(event_list, kept_event) kept;
        size_t kept_bytes;
        bool ended;
        int64_t disconnected_at;
};

struct streams {
        LIST_HEAD(stream_list, stream) list;
        uint64_t last; /* number of the last resumable stream */
};

/* Begins a stream as the reply to the connection's request. NULL without memory. */
struct stream *stream_open(struct streams *all, const void *owner, struct connection *c, const char *headers,
                           bool resumable);

/* Sends an empty first event, whose id lets the client resume the stream before any message was sent. */
void stream_prime(struct stream *s);

/* Sends one event; the text must not contain a line break. */
void stream_send(struct stream *s, const char *text, size_t length);

/* Sends a comment, so that no proxy closes the connection for inactivity. */
void stream_keep_alive(struct stream *s);

/* Ends the stream. If the client is not connected, its events stay available for a while and are freed later. */
void stream_end(struct stream *s);

/* The connection was closed. The client may resume the stream. */
void stream_disconnected(struct stream *s);
/* Closes the connection, so that the client has to resume the stream. */
void stream_disconnect(struct stream *s);

/* Continues a stream over the connection `c`, after the event with this id. False if the owner has no such stream. */
bool stream_resume(struct streams *all, const void *owner, struct connection *c, const char *last_event);

/* The stream that uses this connection, or NULL. */
struct stream *streams_find(const struct streams *all, const struct connection *c);

/* Frees ended streams that no client resumed in time, and keeps the connections of the others alive. */
void streams_tidy(struct streams *all, int64_t now);

/* Ends all streams of this owner; NULL: of all owners. */
void streams_end(struct streams *all, const void *owner);

#endif
