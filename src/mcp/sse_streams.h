/*
 * Streams of server-sent events. A legacy client's stream outlives its connection: the client can reconnect with the id
 * of the last event that it got, and receives the rest. A modern client's stream ends with its connection.
 */
#ifndef RINGWALL_MCP_SSE_STREAMS_H
#define RINGWALL_MCP_SSE_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "mcp/http_connection.h"

struct kept_event {
        STAILQ_ENTRY(kept_event) next;
        uint64_t number;
        size_t length;
        char text[]; /* as it is sent */
};

struct sse_stream {
        LIST_ENTRY(sse_stream) entry;
        const void *owner;             /* only this client may resume the stream */
        struct http_connection *connection; /* NULL: the client is not connected now */
        uint64_t number;               /* 0: the stream cannot be resumed; events have no ids and are not kept */
        uint64_t events;               /* the number of the last event */
        STAILQ_HEAD(event_list, kept_event) kept;
        size_t kept_bytes;
        bool ended;
        int64_t disconnected_at;
};

struct sse_streams {
        LIST_HEAD(stream_list, sse_stream) list;
        uint64_t last; /* number of the last resumable stream */
};

/* Begins a stream as the reply to the connection's request. NULL without memory. */
struct sse_stream *sse_stream_open(struct sse_streams *all, const void *owner, struct http_connection *c,
                                   const char *headers, bool resumable);

/* Sends an empty first event, whose id lets the client resume the stream before any message was sent. */
void sse_stream_send_id(struct sse_stream *s);

/* Sends one event; the text must not contain a line break. */
void sse_stream_send(struct sse_stream *s, const char *text, size_t length);

/* Sends a comment, so that no proxy closes the connection for inactivity. */
void sse_stream_keep_alive(struct sse_stream *s);

/* Ends the stream. If the client is not connected, its events stay available for a while and are freed later. */
void sse_stream_end(struct sse_stream *s);

/* The connection was closed. The client may resume the stream. */
void stream_disconnected(struct sse_stream *s);
/* Closes the connection, so that the client has to resume the stream. */
void stream_disconnect(struct sse_stream *s);

/* Continues a stream over the connection `c`, after the event with this id. False if the owner has no such stream. */
bool sse_stream_resume(struct sse_streams *all, const void *owner, struct http_connection *c, const char *last_event);

/* The stream that uses this connection, or NULL. */
struct sse_stream *sse_streams_find(const struct sse_streams *all, const struct http_connection *c);

/* Frees ended streams that no client resumed in time, and keeps the connections of the others alive. */
void sse_streams_expire(struct sse_streams *all, int64_t now);

/* Ends all streams of this owner; NULL: of all owners. */
void sse_streams_end_owner(struct sse_streams *all, const void *owner);

#endif
