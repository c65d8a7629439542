/*
 * Streams of server-sent events, which outlive their connections: a client that lost one comes back with the last event
 * that it saw and gets the rest. Modern clients do not: their streams end with their connections.
 */
#ifndef RINGWALL_MCP_STREAMS_H
#define RINGWALL_MCP_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "mcp/connection.h"

struct event_kept {
        STAILQ_ENTRY(event_kept) later;
        uint64_t number;
        size_t length;
        char text[]; /* as it is sent */
};

struct stream {
        LIST_ENTRY(stream) others;
        const void *owner;             /* whose it is, and nobody else's to resume */
        struct connection *connection; /* NULL: nobody listens now */
        uint64_t number;               /* 0: events have no names, and nothing is kept */
        uint64_t events;               /* that were made */
        STAILQ_HEAD(event_list, event_kept) kept;
        size_t kept_bytes;
        bool ended;
        int64_t lost_at;               /* when nobody listened any more */
};

struct streams {
        LIST_HEAD(stream_list, stream) list;
        uint64_t last;
};

/* The answer to the connection's request becomes a stream. `named`: it can be resumed. NULL without memory. */
struct stream *stream_open(struct streams *all, const void *owner, struct connection *c, const char *headers, bool named);

/* The first event of a stream that can be resumed has nothing to say but its name. */
void stream_prime(struct stream *s);

/* One event; the text has no line break in it. */
void stream_send(struct stream *s, const char *text, size_t length);

/* Nothing, so that nobody in between takes the silence for the end. */
void stream_keep_alive(struct stream *s);

/* There will be nothing more. A stream that nobody listens to is kept for who comes back for it, and freed later. */
void stream_end(struct stream *s);

/* Its connection is closed, or is to be: the client may come back. */
void stream_lost(struct stream *s);
void stream_part(struct stream *s);

/* The connection's request gets what came behind this event. False when the owner has no such stream. */
bool stream_resume(struct streams *all, const void *owner, struct connection *c, const char *last_event);

/* The stream that goes over this connection, or NULL. */
struct stream *streams_find(const struct streams *all, const struct connection *c);

/* Forgets streams that ended, and that nobody came back for in time. */
void streams_tidy(struct streams *all, int64_t now);

/* Ends all of this owner's; NULL: all. */
void streams_end(struct streams *all, const void *owner);

#endif
