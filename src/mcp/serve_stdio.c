/*
 * MCP over standard input and output; see serve_stdio.h.
 *
 * A client that does not read makes us wait, which is its own loss. One that has said all is waited for, until its last
 * call is answered, but not for long.
 */
#include "mcp/serve_stdio.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"

enum { PIECE = 64 << 10, LEAVE_SECONDS = 2 };

struct client {
        struct server *server;
        struct session *session;
        struct event *input;
        struct text in;
        bool skipping; /* a line that is too long: to its end */
        bool said_all;
};

static void say(struct client *c, json_t *message)
{
        CLEANUP_TEXT struct text out = { 0 };
        if (message && json_write(message, &out, false) == 0)
                text_add(&out, "\n");
        if (out.length && (out.failed || fd_write_all(STDOUT_FILENO, out.data, out.length) < 0))
                server_stop(c->server); /* nobody reads us */
        json_decref(message);
}

static void send_line(struct exchange *x, json_t *message, bool last, int status)
{
        struct client *c = x->carrier;
        (void)status;
        say(c, message);
        if (last && c->said_all && x->session->waiting == 1)
                server_stop(c->server);
}

static const struct route route = { .send = send_line };

static void take_line(struct client *c, const char *line, size_t length)
{
        struct mcp_message m;
        while (length && (line[length - 1] == '\r' || line[length - 1] == ' '))
                length--;
        if (!length)
                return;
        mcp_read(NULL, line, length, &m);
        if (m.kind == MCP_BAD) {
                say(c, json_incref(m.error));
                mcp_message_done(&m);
        } else {
                server_take(c->session, &m, &route, c, NULL);
        }
}

static void add_input(struct client *c, const char *bytes, size_t length)
{
        for (const char *end; (end = memchr(bytes, '\n', length));) {
                size_t n = (size_t)(end - bytes);
                text_add_bytes(&c->in, bytes, n);
                if (!c->skipping)
                        take_line(c, c->in.data ? c->in.data : "", c->in.length);
                c->in.length = 0;
                c->skipping = false;
                bytes += n + 1;
                length -= n + 1;
        }
        text_add_bytes(&c->in, bytes, length);
        if (c->in.length > MCP_MOST_BYTES && !c->skipping) {
                take_line(c, c->in.data, c->in.length); /* which says that it is too long */
                c->skipping = true;
        }
        if (c->skipping)
                c->in.length = 0;
        if (c->in.failed)
                server_stop(c->server);
}

static void on_input(evutil_socket_t fd, short what, void *data)
{
        struct client *c = data;
        char piece[PIECE];
        (void)what;
        ssize_t n = read(fd, piece, sizeof piece);
        if (n > 0)
                add_input(c, piece, (size_t)n);
        if (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)))
                return;
        const struct timeval patience = { .tv_sec = LEAVE_SECONDS };
        c->said_all = true;
        (void)event_del(c->input);
        if (c->session->waiting)
                (void)event_base_loopexit(c->server->base, &patience);
        else
                server_stop(c->server);
}

int serve_stdio(struct server *s, struct error *e)
{
        struct client c = { .server = s, .session = s->sessions[0] };
        c.input = event_new(s->base, STDIN_FILENO, EV_READ | EV_PERSIST, on_input, &c);
        int r = c.input && event_add(c.input, NULL) == 0 ? 0 : error_set(e, EIO, "mcp", "cannot listen to standard input");
        if (r == 0)
                server_run(s);
        session_close(s->sessions[0]);
        if (c.input)
                event_free(c.input);
        text_done(&c.in);
        return r;
}
