/*
 * Streams of events; see streams.h. An event is named STREAM-NUMBER. What is kept for a client that comes back is bounded: the
 * oldest goes first, and the last, which is the answer, stays.
 */
#include "mcp/streams.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"

enum { KEPT_MOST = 1 << 20, KEPT_MS = 300000, RETRY_MS = 1000, UNHEARD_MOST = 32 /* of one owner */ };

static void stream_free(struct stream *s)
{
        for (struct event_kept *e; (e = STAILQ_FIRST(&s->kept));) {
                STAILQ_REMOVE_HEAD(&s->kept, later);
                free(e);
        }
        LIST_REMOVE(s, others);
        free(s);
}

/* A client that never comes back does not have all of its answers kept. */
static void drop_oldest(struct streams *all, const void *owner)
{
        struct stream *oldest = NULL; /* the newest are in front */
        size_t unheard = 0;
        for (struct stream *s = LIST_FIRST(&all->list); s; s = LIST_NEXT(s, others)) {
                if (s->owner == owner && s->ended && s->number) {
                        oldest = s;
                        unheard++;
                }
        }
        if (unheard >= UNHEARD_MOST)
                stream_free(oldest);
}

struct stream *stream_open(struct streams *all, const void *owner, struct connection *c, const char *headers, bool named)
{
        struct stream *s = calloc(1, sizeof *s);
        if (!s)
                return NULL;
        drop_oldest(all, owner);
        s->owner = owner;
        s->connection = c;
        s->number = named ? ++all->last : 0;
        STAILQ_INIT(&s->kept);
        LIST_INSERT_HEAD(&all->list, s, others);
        connection_stream(c, headers);
        return s;
}

static void keep(struct stream *s, const struct text *event)
{
        struct event_kept *e = malloc(sizeof *e + event->length);
        if (!e)
                return;
        *e = (struct event_kept){ .number = s->events, .length = event->length };
        memcpy(e->text, event->data, event->length);
        STAILQ_INSERT_TAIL(&s->kept, e, later);
        s->kept_bytes += e->length;
        for (struct event_kept *first; s->kept_bytes > KEPT_MOST && (first = STAILQ_FIRST(&s->kept)) != e;) {
                STAILQ_REMOVE_HEAD(&s->kept, later);
                s->kept_bytes -= first->length;
                free(first);
        }
}

static void add_event(struct stream *s, const char *fields, const char *text, size_t length)
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
                keep(s, &event);
        if (s->connection)
                connection_piece(s->connection, event.data, event.length);
}

void stream_prime(struct stream *s)
{
        char fields[32];
        (void)snprintf(fields, sizeof fields, "retry: %d\n", RETRY_MS);
        add_event(s, fields, "", 0);
}

void stream_send(struct stream *s, const char *text, size_t length)
{
        add_event(s, "event: message\n", text, length);
}

void stream_keep_alive(struct stream *s)
{
        static const char comment[] = ": still here\n\n";
        if (s->connection)
                connection_piece(s->connection, comment, sizeof comment - 1);
}

void stream_end(struct stream *s)
{
        s->ended = true;
        if (!s->connection)
                return;
        connection_end(s->connection);
        stream_free(s);
}

void stream_lost(struct stream *s)
{
        s->connection = NULL;
        s->lost_at = clock_ms();
        if (!s->number)
                s->ended = true;
}

void stream_part(struct stream *s)
{
        if (!s->connection)
                return;
        connection_end(s->connection);
        stream_lost(s);
}

static struct stream *find(const struct streams *all, unsigned long long number)
{
        struct stream *s;
        LIST_FOREACH (s, &all->list, others)
                if (s->number == number)
                        return s;
        return NULL;
}

bool stream_resume(struct streams *all, const void *owner, struct connection *c, const char *last_event)
{
        unsigned long long number, event;
        size_t digits = strcspn(last_event, "-");
        const char *behind = last_event + digits + (last_event[digits] == '-');
        if (!text_to_number(last_event, digits, &number) || !text_to_number(behind, strlen(behind), &event) || !number)
                return false;
        struct stream *s = find(all, number);
        if (!s || s->owner != owner)
                return false;
        stream_part(s); /* the client knows better than we that its connection is gone */
        s->connection = c;
        connection_stream(c, NULL);
        const struct event_kept *e;
        STAILQ_FOREACH (e, &s->kept, later)
                if (e->number > event)
                        connection_piece(c, e->text, e->length);
        if (s->ended)
                stream_end(s);
        return true;
}

void streams_tidy(struct streams *all, int64_t now)
{
        struct stream *s, *next;
        for (s = LIST_FIRST(&all->list); s; s = next) {
                next = LIST_NEXT(s, others);
                if (s->connection)
                        stream_keep_alive(s);
                else if (s->ended && (!s->number || now - s->lost_at > KEPT_MS))
                        stream_free(s);
        }
}

struct stream *streams_find(const struct streams *all, const struct connection *c)
{
        struct stream *s;
        LIST_FOREACH (s, &all->list, others)
                if (s->connection == c)
                        return s;
        return NULL;
}

void streams_end(struct streams *all, const void *owner)
{
        struct stream *s, *next;
        for (s = LIST_FIRST(&all->list); s; s = next) {
                next = LIST_NEXT(s, others);
                if (owner && s->owner != owner)
                        continue;
                if (s->connection)
                        stream_end(s);
                else
                        stream_free(s);
        }
}
