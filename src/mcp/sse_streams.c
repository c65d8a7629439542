/*
 * Streams of events; see sse_streams.h. The id of an event is STREAM-NUMBER. The events kept for a client that
 * reconnects are bounded: the oldest are dropped first, and the last event, which has the reply, is always kept.
 */
#include "mcp/sse_streams.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"

enum { KEPT_MAX = 1 << 20, KEPT_MS = 300000, RETRY_MS = 1000, UNFETCHED_MAX = 32 /* ended streams of one owner */ };

static void stream_free(struct sse_stream *s)
{
        for (struct kept_event *e; (e = STAILQ_FIRST(&s->kept));) {
                STAILQ_REMOVE_HEAD(&s->kept, next);
                free(e);
        }
        LIST_REMOVE(s, entry);
        free(s);
}

/* Bounds the replies that are kept for a client that never reconnects. */
static void drop_oldest(struct sse_streams *all, const void *owner)
{
        struct sse_stream *oldest = NULL; /* the last one in the list: new streams are inserted at the head */
        size_t unfetched = 0;
        for (struct sse_stream *s = LIST_FIRST(&all->list); s; s = LIST_NEXT(s, entry)) {
                if (s->owner == owner && s->ended && s->number) {
                        oldest = s;
                        unfetched++;
                }
        }
        if (unfetched >= UNFETCHED_MAX)
                stream_free(oldest);
}

struct sse_stream *sse_stream_open(struct sse_streams *all, const void *owner, struct http_connection *c,
                                   const char *headers, bool resumable)
{
        struct sse_stream *s = calloc(1, sizeof *s);
        if (!s)
                return NULL;
        drop_oldest(all, owner);
        s->owner = owner;
        s->connection = c;
        s->number = resumable ? ++all->last : 0;
        STAILQ_INIT(&s->kept);
        LIST_INSERT_HEAD(&all->list, s, entry);
        connection_begin_stream(c, headers);
        return s;
}

static void keep_event(struct sse_stream *s, const struct text *event)
{
        struct kept_event *e = malloc(sizeof *e + event->length);
        if (!e)
                return;
        *e = (struct kept_event){ .number = s->events, .length = event->length };
        memcpy(e->text, event->data, event->length);
        STAILQ_INSERT_TAIL(&s->kept, e, next);
        s->kept_bytes += e->length;
        for (struct kept_event *first; s->kept_bytes > KEPT_MAX && (first = STAILQ_FIRST(&s->kept)) != e;) {
                STAILQ_REMOVE_HEAD(&s->kept, next);
                s->kept_bytes -= first->length;
                free(first);
        }
}

static void add_event(struct sse_stream *s, const char *fields, const char *text, size_t length)
{
        CLEANUP_TEXT struct text event = { 0 };
        if (s->number)
                text_format(&event, "id: %llu-%llu\n", (unsigned long long)s->number, (unsigned long long)++s->events);
        text_format(&event, "%sdata: ", fields);
        text_add_bytes(&event, text, length);
        text_add(&event, "\n\n");
        if (event.failed)
                return;
        if (s->number)
                keep_event(s, &event);
        if (s->connection)
                connection_send_chunk(s->connection, event.data, event.length);
}

void sse_stream_send_id(struct sse_stream *s)
{
        char fields[32];
        (void)snprintf(fields, sizeof fields, "retry: %d\n", RETRY_MS);
        add_event(s, fields, "", 0);
}

void sse_stream_send(struct sse_stream *s, const char *text, size_t length)
{
        add_event(s, "event: message\n", text, length);
}

void sse_stream_keep_alive(struct sse_stream *s)
{
        static const char comment[] = ": still here\n\n";
        if (s->connection)
                connection_send_chunk(s->connection, comment, sizeof comment - 1);
}

void sse_stream_end(struct sse_stream *s)
{
        s->ended = true;
        if (!s->connection)
                return;
        connection_end_stream(s->connection);
        stream_free(s);
}

void stream_disconnected(struct sse_stream *s)
{
        s->connection = NULL;
        s->disconnected_at = clock_ms();
        if (!s->number)
                s->ended = true;
}

void stream_disconnect(struct sse_stream *s)
{
        if (!s->connection)
                return;
        connection_end_stream(s->connection);
        stream_disconnected(s);
}

static struct sse_stream *find_stream(const struct sse_streams *all, unsigned long long number)
{
        struct sse_stream *s;
        LIST_FOREACH (s, &all->list, entry)
                if (s->number == number)
                        return s;
        return NULL;
}

bool sse_stream_resume(struct sse_streams *all, const void *owner, struct http_connection *c, const char *last_event)
{
        unsigned long long number, event;
        size_t digits = strcspn(last_event, "-");
        const char *event_digits = last_event + digits + (last_event[digits] == '-');
        if (!text_parse_unsigned(last_event, digits, &number) ||
            !text_parse_unsigned(event_digits, strlen(event_digits), &event) || !number)
                return false;
        struct sse_stream *s = find_stream(all, number);
        if (!s || s->owner != owner)
                return false;
        stream_disconnect(s); /* the old connection is dead, even if the server has not noticed yet */
        s->connection = c;
        connection_begin_stream(c, NULL);
        const struct kept_event *e;
        STAILQ_FOREACH (e, &s->kept, next)
                if (e->number > event)
                        connection_send_chunk(c, e->text, e->length);
        if (s->ended)
                sse_stream_end(s);
        return true;
}

void sse_streams_expire(struct sse_streams *all, int64_t now)
{
        struct sse_stream *s, *next;
        for (s = LIST_FIRST(&all->list); s; s = next) {
                next = LIST_NEXT(s, entry);
                if (s->connection)
                        sse_stream_keep_alive(s);
                else if (s->ended && (!s->number || now - s->disconnected_at > KEPT_MS))
                        stream_free(s);
        }
}

struct sse_stream *sse_streams_find(const struct sse_streams *all, const struct http_connection *c)
{
        struct sse_stream *s;
        LIST_FOREACH (s, &all->list, entry)
                if (s->connection == c)
                        return s;
        return NULL;
}

void sse_streams_end_owner(struct sse_streams *all, const void *owner)
{
        struct sse_stream *s, *next;
        for (s = LIST_FIRST(&all->list); s; s = next) {
                next = LIST_NEXT(s, entry);
                if (owner && s->owner != owner)
                        continue;
                if (s->connection)
                        sse_stream_end(s);
                else
                        stream_free(s);
        }
}
