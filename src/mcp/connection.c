/*
 * HTTP connections; see connection.h.
 *
 * How it works: while a request is being answered, what the client sends behind it stays where it is, in bounds, and is
 * looked at afterwards. That the client has gone is noticed at any time.
 *
 * What the client controls: every byte, and when it comes. A request has a minute to be whole; a client that does not take
 * its answer is left after as long; one that lets too much pile up, at once.
 */
#include "mcp/connection.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/json.h"
#include "mcp/protocol.h"

enum {
        PATIENCE_SECONDS = 60,
        LINGER_SECONDS = 2,
        IDLE_SECONDS = 300,    /* between two requests */
        STRANGER_SECONDS = 10, /* before the first one that may be made */
        AHEAD_MOST = 64 << 10, /* bytes that may wait behind a request */
        UNREAD_MORE = 256 << 10, /* bytes of answers behind which no further request is taken until they are read */
        UNREAD_MOST = 64 << 20,
};

void connection_free(struct connection *c)
{
        http_done(&c->request);
        bufferevent_free(c->io);
        free(c);
}

static void lose(struct connection *c)
{
        c->owner->closed(c);
        connection_free(c);
}

/* Between requests a client may be silent for a while; while it is answered, as long as that takes. */
static void set_patience(struct connection *c)
{
        const struct timeval write = { .tv_sec = PATIENCE_SECONDS };
        const struct timeval read = { .tv_sec = c->began ? PATIENCE_SECONDS : c->known ? IDLE_SECONDS : STRANGER_SECONDS };
        (void)bufferevent_set_timeouts(c->io, c->state == CONNECTION_READING ? &read : NULL, &write);
}

static void begin_request(struct connection *c)
{
        http_done(&c->request);
        http_begin(&c->request, c->owner->body_most);
        c->began = 0;
        c->state = CONNECTION_READING;
        set_patience(c);
}

/* The answer is given. What it says has to get out before the end. */
static void answered(struct connection *c, bool keep)
{
        if (keep) {
                begin_request(c);
                bufferevent_trigger(c->io, EV_READ, BEV_TRIG_DEFER_CALLBACKS | BEV_TRIG_IGNORE_WATERMARKS);
        } else {
                c->state = CONNECTION_CLOSING;
                bufferevent_trigger(c->io, EV_WRITE, BEV_TRIG_DEFER_CALLBACKS);
        }
}

static void send_head(struct connection *c, int status, const char *headers, const char *more)
{
        (void)evbuffer_add_printf(bufferevent_get_output(c->io), "HTTP/1.1 %d %s\r\n%s%s\r\n", status, http_reason(status),
                                  headers ? headers : "", more);
}

void connection_reply(struct connection *c, int status, const char *headers, const char *type, const char *body, size_t length)
{
        char more[160];
        bool keep = c->request.keep_alive && c->request.state == HTTP_DONE;
        bool head = c->request.method && strcmp(c->request.method, "HEAD") == 0; /* wants to know how long it would be */
        (void)snprintf(more, sizeof more, "%s%s%sContent-Length: %zu\r\n%s", type ? "Content-Type: " : "", type ? type : "",
                       type ? "\r\n" : "", length, keep ? "" : "Connection: close\r\n");
        send_head(c, status, headers, more);
        (void)evbuffer_add(bufferevent_get_output(c->io), body, head ? 0 : length);
        answered(c, keep);
}

void connection_refuse(struct connection *c, int status, const char *headers, const char *sentence)
{
        CLEANUP_TEXT struct text out = { 0 };
        CLEANUP_JSON json_t *body = mcp_error(NULL, MCP_REFUSED, sentence, NULL);
        if (!body || json_write(body, &out, false) < 0)
                text_add(&out, "{}");
        connection_reply(c, status, headers, "application/json", out.data ? out.data : "", out.length);
}

void connection_stream(struct connection *c, const char *headers)
{
        c->state = CONNECTION_STREAMING;
        send_head(c, 200, headers, "Content-Type: text/event-stream\r\nCache-Control: no-cache, no-transform\r\n"
                  "X-Accel-Buffering: no\r\nTransfer-Encoding: chunked\r\n");
}

void connection_piece(struct connection *c, const char *bytes, size_t length)
{
        struct evbuffer *out = bufferevent_get_output(c->io);
        if (!length) /* which would be the end */
                return;
        (void)evbuffer_add_printf(out, "%zx\r\n", length);
        (void)evbuffer_add(out, bytes, length);
        (void)evbuffer_add(out, "\r\n", 2);
        if (evbuffer_get_length(out) > UNREAD_MOST) /* noticed behind whatever is being done now */
                bufferevent_trigger_event(c->io, BEV_EVENT_ERROR, BEV_TRIG_DEFER_CALLBACKS);
}

void connection_end(struct connection *c)
{
        (void)evbuffer_add(bufferevent_get_output(c->io), "0\r\n\r\n", 5);
        answered(c, c->request.keep_alive);
}

/* --- what comes --- */

static void take_input(struct connection *c)
{
        static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
        struct evbuffer *in = bufferevent_get_input(c->io);
        int status = 0;
        if (evbuffer_get_length(bufferevent_get_output(c->io)) > UNREAD_MORE)
                return; /* on_write() goes on */
        while (c->state == CONNECTION_READING && status == 0 && evbuffer_get_length(in)) {
                size_t length = evbuffer_get_contiguous_space(in), used = 0;
                const char *bytes = (const char *)evbuffer_pullup(in, (ev_ssize_t)length);
                bool waited = c->request.continues, in_head = c->request.state == HTTP_HEAD;
                if (!c->began)
                        c->began = clock_ms();
                status = http_take(&c->request, bytes, length, &used);
                (void)evbuffer_drain(in, used);
                if (status >= 0 && in_head && c->request.state != HTTP_HEAD) {
                        c->state = CONNECTION_ANSWERING;
                        if (!c->owner->head(c))
                                return;
                        c->known = true;
                        c->state = CONNECTION_READING;
                }
                if (status == 0 && c->request.continues && !waited)
                        (void)evbuffer_add(bufferevent_get_output(c->io), go_on, sizeof go_on - 1);
        }
        if (status == 0 && c->began && clock_ms() - c->began > PATIENCE_SECONDS * 1000)
                status = -408;
        if (c->state != CONNECTION_READING || status == 0) {
                set_patience(c);
                return;
        }
        c->state = CONNECTION_ANSWERING;
        set_patience(c);
        if (status == 1)
                c->owner->request(c);
        else
                connection_refuse(c, -status, NULL, status == -413 ? "this is too large" : "this is no request that can be read");
}

static void on_read(struct bufferevent *io, void *data)
{
        struct connection *c = data;
        if (c->state == CONNECTION_LINGERING)
                (void)evbuffer_drain(bufferevent_get_input(io), evbuffer_get_length(bufferevent_get_input(io)));
        else
                take_input(c);
}

/* To close while something is unread would take the answer from the client before it has read it. */
static void linger(struct connection *c)
{
        const struct timeval patience = { .tv_sec = LINGER_SECONDS };
        c->state = CONNECTION_LINGERING;
        (void)shutdown(bufferevent_getfd(c->io), SHUT_WR);
        (void)bufferevent_set_timeouts(c->io, &patience, NULL);
        on_read(c->io, c);
}

static void on_write(struct bufferevent *io, void *data)
{
        struct connection *c = data;
        if (c->state == CONNECTION_READING)
                take_input(c);
        if (c->state != CONNECTION_CLOSING || evbuffer_get_length(bufferevent_get_output(io)))
                return;
        if (c->request.state == HTTP_DONE)
                lose(c);
        else
                linger(c);
}

/* The end, an error, or too long a silence. */
static void on_event(struct bufferevent *io, short what, void *data)
{
        (void)io;
        (void)what;
        lose(data);
}

struct connection *connection_open(struct event_base *base, int fd, const struct connection_owner *owner, void *data)
{
        struct connection *c = calloc(1, sizeof *c);
        struct bufferevent *io = c ? bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE) : NULL;
        if (!io) {
                free(c);
                return NULL;
        }
        *c = (struct connection){ .owner = owner, .data = data, .io = io };
        bufferevent_setcb(io, on_read, on_write, on_event, c);
        bufferevent_setwatermark(io, EV_READ, 0, AHEAD_MOST);
        begin_request(c);
        (void)bufferevent_enable(io, EV_READ | EV_WRITE);
        return c;
}
