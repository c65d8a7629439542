/*
 * HTTP connections; see http_connection.h.
 *
 * How it works: input that arrives while a request is being answered stays in a bounded buffer and is parsed
 * afterwards. A disconnect is noticed at any time.
 *
 * An attacker controls every byte and its timing. A request must be complete within a minute, and the owner may close a
 * connection on which it has not accepted a request. A client that does not read its reply is disconnected after a
 * minute, or at once if too much output is buffered.
 */
#include "mcp/http_connection.h"

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
        TIMEOUT_SECONDS = 60,       /* for a request to be complete, and for any output to be accepted */
        LINGER_SECONDS = 2,
        IDLE_SECONDS = 300,         /* between two requests */
        FIRST_REQUEST_SECONDS = 10, /* between two pieces of input until the first request is accepted */
        INPUT_MAX = 64 << 10,       /* bytes that are buffered after the current request */
        OUTPUT_PAUSE = 256 << 10,   /* with more unsent bytes than this, no further request is parsed */
        OUTPUT_MAX = 64 << 20,      /* with more unsent bytes than this, the connection is closed */
};

void http_connection_free(struct http_connection *c)
{
        http_request_done(&c->request);
        bufferevent_free(c->io);
        free(c);
}

void http_connection_close(struct http_connection *c)
{
        c->owner->on_closed(c);
        http_connection_free(c);
}

/* There is no read timeout while a request is being answered. */
static void set_timeouts(struct http_connection *c)
{
        const struct timeval write = { .tv_sec = TIMEOUT_SECONDS };
        const struct timeval read = { .tv_sec = !c->accepted       ? FIRST_REQUEST_SECONDS
                                                : c->request_began ? TIMEOUT_SECONDS
                                                                   : IDLE_SECONDS };
        (void)bufferevent_set_timeouts(c->io, c->state == CONNECTION_READING ? &read : NULL, &write);
}

static void begin_request(struct http_connection *c)
{
        http_request_done(&c->request);
        http_request_init(&c->request, c->owner->body_max);
        c->request_began = 0;
        c->state = CONNECTION_READING;
        set_timeouts(c);
}

/* The reply is in the output buffer. Reads the next request, or closes the connection when the output is sent. */
static void finish_reply(struct http_connection *c, bool keep_alive)
{
        if (keep_alive) {
                begin_request(c);
                bufferevent_trigger(c->io, EV_READ, BEV_TRIG_DEFER_CALLBACKS | BEV_TRIG_IGNORE_WATERMARKS);
        } else {
                c->state = CONNECTION_CLOSING;
                bufferevent_trigger(c->io, EV_WRITE, BEV_TRIG_DEFER_CALLBACKS);
        }
}

static void send_head(struct http_connection *c, int status, const char *headers, const char *more)
{
        (void)evbuffer_add_printf(bufferevent_get_output(c->io), "HTTP/1.1 %d %s\r\n%s%s\r\n", status,
                                  http_status_reason(status), headers ? headers : "", more);
}

void http_connection_reply(struct http_connection *c, int status, const char *headers, const char *type,
                           const char *body, size_t length)
{
        char more[160];
        bool keep_alive = c->request.keep_alive && c->request.state == HTTP_DONE;
        /* The reply to HEAD has the length, but not the body. */
        bool head = c->request.method && strcmp(c->request.method, "HEAD") == 0;
        (void)snprintf(more, sizeof more, "%s%s%sContent-Length: %zu\r\n%s", type ? "Content-Type: " : "",
                       type ? type : "", type ? "\r\n" : "", length, keep_alive ? "" : "Connection: close\r\n");
        send_head(c, status, headers, more);
        (void)evbuffer_add(bufferevent_get_output(c->io), body, head ? 0 : length);
        finish_reply(c, keep_alive);
}

void http_connection_reply_error(struct http_connection *c, int status, const char *headers, const char *sentence)
{
        CLEANUP_TEXT struct text out = { 0 };
        CLEANUP_JSON json_t *body = mcp_error(NULL, MCP_HTTP_REJECTED, sentence, NULL);
        if (!body || json_write(body, &out, false) < 0)
                text_add(&out, "{}");
        http_connection_reply(c, status, headers, "application/json", out.data ? out.data : "", out.length);
}

void connection_begin_stream(struct http_connection *c, const char *headers)
{
        c->state = CONNECTION_STREAMING;
        send_head(c, 200, headers, "Content-Type: text/event-stream\r\nCache-Control: no-cache, no-transform\r\n"
                  "X-Accel-Buffering: no\r\nTransfer-Encoding: chunked\r\n");
}

void connection_send_chunk(struct http_connection *c, const char *bytes, size_t length)
{
        struct evbuffer *out = bufferevent_get_output(c->io);
        if (!length) /* an empty chunk would end the stream */
                return;
        (void)evbuffer_add_printf(out, "%zx\r\n", length);
        (void)evbuffer_add(out, bytes, length);
        (void)evbuffer_add(out, "\r\n", 2);
        if (evbuffer_get_length(out) > OUTPUT_MAX) /* deferred: the caller still uses the connection */
                bufferevent_trigger_event(c->io, BEV_EVENT_ERROR, BEV_TRIG_DEFER_CALLBACKS);
}

void connection_end_stream(struct http_connection *c)
{
        (void)evbuffer_add(bufferevent_get_output(c->io), "0\r\n\r\n", 5);
        finish_reply(c, c->request.keep_alive);
}

/* --- input --- */

static void take_input(struct http_connection *c)
{
        static const char continue_reply[] = "HTTP/1.1 100 Continue\r\n\r\n";
        struct evbuffer *in = bufferevent_get_input(c->io);
        int status = 0;
        if (evbuffer_get_length(bufferevent_get_output(c->io)) > OUTPUT_PAUSE)
                return; /* on_write() continues */
        while (c->state == CONNECTION_READING && status == 0 && evbuffer_get_length(in)) {
                size_t length = evbuffer_get_contiguous_space(in), used = 0;
                const char *bytes = (const char *)evbuffer_pullup(in, (ev_ssize_t)length);
                bool had_continue = c->request.expects_continue, in_head = c->request.state == HTTP_HEAD;
                if (!c->request_began)
                        c->request_began = clock_ms();
                status = http_request_feed(&c->request, bytes, length, &used);
                (void)evbuffer_drain(in, used);
                if (status >= 0 && in_head && c->request.state != HTTP_HEAD) {
                        c->state = CONNECTION_ANSWERING;
                        if (!c->owner->on_head(c))
                                return;
                        c->accepted = true;
                        c->state = CONNECTION_READING;
                }
                if (status == 0 && c->request.expects_continue && !had_continue)
                        (void)evbuffer_add(bufferevent_get_output(c->io), continue_reply, sizeof continue_reply - 1);
        }
        if (status == 0 && c->request_began && clock_ms() - c->request_began > TIMEOUT_SECONDS * 1000)
                status = -408;
        if (c->state != CONNECTION_READING || status == 0) {
                set_timeouts(c);
                return;
        }
        c->state = CONNECTION_ANSWERING;
        set_timeouts(c);
        if (status == 1)
                c->owner->on_request(c);
        else
                http_connection_reply_error(c, -status, NULL,
                                            status == -413 ? "the request is too large" : "malformed HTTP request");
}

static void on_read(struct bufferevent *io, void *data)
{
        struct http_connection *c = data;
        if (c->state == CONNECTION_LINGERING)
                (void)evbuffer_drain(bufferevent_get_input(io), evbuffer_get_length(bufferevent_get_input(io)));
        else
                take_input(c);
}

/* Closing a socket with unread input resets the connection, and the client could lose the reply. So read on first. */
static void linger(struct http_connection *c)
{
        const struct timeval timeout = { .tv_sec = LINGER_SECONDS };
        c->state = CONNECTION_LINGERING;
        (void)shutdown(bufferevent_getfd(c->io), SHUT_WR);
        (void)bufferevent_set_timeouts(c->io, &timeout, NULL);
        on_read(c->io, c);
}

static void on_write(struct bufferevent *io, void *data)
{
        struct http_connection *c = data;
        if (c->state == CONNECTION_READING)
                take_input(c);
        if (c->state != CONNECTION_CLOSING || evbuffer_get_length(bufferevent_get_output(io)))
                return;
        if (c->request.state == HTTP_DONE)
                http_connection_close(c);
        else
                linger(c);
}

/* EOF, an error or a timeout. */
static void on_event(struct bufferevent *io, short what, void *data)
{
        (void)io;
        (void)what;
        http_connection_close(data);
}

struct http_connection *http_connection_new(struct event_base *base, int fd, const struct http_connection_ops *owner,
                                            void *data)
{
        struct http_connection *c = calloc(1, sizeof *c);
        struct bufferevent *io = c ? bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE) : NULL;
        if (!io) {
                free(c);
                return NULL;
        }
        *c = (struct http_connection){ .owner = owner, .data = data, .io = io };
        bufferevent_setcb(io, on_read, on_write, on_event, c);
        bufferevent_setwatermark(io, EV_READ, 0, INPUT_MAX);
        begin_request(c);
        (void)bufferevent_enable(io, EV_READ | EV_WRITE);
        return c;
}
