/*
 * MCP over standard input and output; see serve_stdio.h.
 *
 * Writes block: a client that does not read its replies delays only itself. At the end of the input the server still
 * answers the pending calls, but waits no longer than GRACE_SECONDS for them.
 */
#include "mcp/serve_stdio.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"

enum { READ_SIZE = 64 << 10, GRACE_SECONDS = 2 };

struct client {
        struct server *server;
        struct session *session;
        struct event *readable; /* standard input */
        struct text line;       /* the part of a line that has arrived */
        bool skipping;          /* the line is too long, so only the id of its request is looked for, in skipped_id */
        struct request_id skipped_id;
        bool input_ended;
};

static void write_line(struct client *c, struct text *line)
{
        text_add(line, "\n");
        if (line->failed || fd_write_all(STDOUT_FILENO, line->data, line->length) < 0)
                server_stop(c->server); /* the client has closed its end, or memory ran out */
}

static void send_message(struct client *c, json_t *message)
{
        CLEANUP_TEXT struct text out = { 0 };
        if (message && json_write(message, &out, false) == 0)
                write_line(c, &out);
        json_decref(message);
}

static void stop_after_last_reply(struct client *c, const struct pending_request *x)
{
        if (c->input_ended && x->session->waiting == 1)
                server_stop(c->server);
}

static void send_line(struct pending_request *x, json_t *message, bool last, int status)
{
        struct client *c = x->transport;
        (void)status;
        send_message(c, message);
        if (last)
                stop_after_last_reply(c, x);
}

static void send_tool_reply(struct pending_request *x, struct text *line)
{
        write_line(x->transport, line);
        stop_after_last_reply(x->transport, x);
}

static const struct transport_ops route = { .send = send_line, .send_tool_reply = send_tool_reply };

static void take_line(struct client *c, const char *line, size_t length)
{
        struct mcp_message m;
        while (length && (line[length - 1] == '\r' || line[length - 1] == ' '))
                length--;
        if (!length)
                return;
        mcp_parse_message(NULL, line, length, &m);
        if (m.kind == MCP_INVALID) {
                send_message(c, json_incref(m.error));
                mcp_message_done(&m);
        } else {
                server_handle_message(c->session, &m, &route, c, NULL);
        }
}

/* Replies that the line was too long. */
static void reject_line(struct client *c)
{
        struct mcp_message m;
        mcp_reject_message(&c->skipped_id, "the message is longer than 10 MiB", &m);
        send_message(c, json_incref(m.error));
        mcp_message_done(&m);
}

static void end_line(struct client *c)
{
        if (c->skipping)
                reject_line(c);
        else
                take_line(c, c->line.data ? c->line.data : "", c->line.length);
        c->line.length = 0;
        c->skipping = false;
}

/* Adds a part of the current line. What is too long is not stored, because the client decides how long it is. */
static void add_to_line(struct client *c, const char *bytes, size_t length)
{
        if (!c->skipping && c->line.length + length > MCP_BYTES_MAX) {
                c->skipping = true;
                c->skipped_id = (struct request_id){ 0 };
                request_id_feed(&c->skipped_id, c->line.data, c->line.length);
                c->line.length = 0;
        }
        if (c->skipping)
                request_id_feed(&c->skipped_id, bytes, length);
        else
                text_add_bytes(&c->line, bytes, length);
}

static void add_input(struct client *c, const char *bytes, size_t length)
{
        for (const char *end; (end = memchr(bytes, '\n', length));) {
                size_t n = (size_t)(end - bytes);
                add_to_line(c, bytes, n);
                end_line(c);
                bytes += n + 1;
                length -= n + 1;
        }
        add_to_line(c, bytes, length);
        if (c->line.failed)
                server_stop(c->server);
}

static void on_input(evutil_socket_t fd, short what, void *data)
{
        struct client *c = data;
        char buffer[READ_SIZE];
        (void)what;
        ssize_t n = read(fd, buffer, sizeof buffer);
        if (n > 0)
                add_input(c, buffer, (size_t)n);
        if (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)))
                return;
        const struct timeval grace = { .tv_sec = GRACE_SECONDS };
        if (c->skipping)
                reject_line(c);
        c->input_ended = true;
        (void)event_del(c->readable);
        if (c->session->waiting)
                (void)event_base_loopexit(c->server->base, &grace);
        else
                server_stop(c->server);
}

int serve_stdio(struct server *s, struct error *e)
{
        struct client c = { .server = s, .session = s->sessions[0] };
        c.readable = event_new(s->base, STDIN_FILENO, EV_READ | EV_PERSIST, on_input, &c);
        int r = c.readable && event_add(c.readable, NULL) == 0 ? 0 : error_set(e, EIO, "cannot watch standard input");
        if (r == 0)
                server_run(s);
        session_close(s->sessions[0]);
        if (c.readable)
                event_free(c.readable);
        text_done(&c.line);
        return r;
}
