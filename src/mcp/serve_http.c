/*
 * MCP over HTTP; see serve_http.h.
 *
 * How it works: each message is a POST. The reply is JSON; it becomes a stream of events if a message has to be sent
 * before the reply, or if the reply takes longer than STREAM_AFTER_MS. A legacy client has a session, with its own box
 * of tools, from its `initialize` to its DELETE, and may open a stream with GET. The modern protocol has no sessions: a
 * client that sends a key with its requests has a session under that key, and each call without a key has a box of its
 * own, which ends with the call.
 *
 * An attacker controls the whole request. Access is checked first: Host and Origin keep out web pages in a browser; the
 * token, or the uid on a unix socket, keeps out other users. A session's name cannot be guessed, and works only for the
 * principal that opened the session. A client without access cannot keep others out: if there are too many connections,
 * the oldest on which nothing was accepted yet is closed.
 *
 * A session that is idle for SESSION_IDLE_MS is closed, with its box.
 */
#include "mcp/serve_http.h"

#include <errno.h>
#include <event2/listener.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/random.h"
#include "mcp/http_connection.h"
#include "mcp/sse_streams.h"

enum {
        CONNECTIONS_MAX = 512,
        SESSION_IDLE_MS = 30 * 60 * 1000,
        STREAM_AFTER_MS = 1000, /* a call that takes longer is answered by a stream */
        TIDY_SECONDS = 15,
        SESSION_ID_SIZE = 33,   /* of the session of a legacy client, and of a key that the server proposes */
        SESSION_HEADER_SIZE = 96,
        SESSION_NAME_SIZE = 65, /* of a key that a modern client chose */
};

/* The identity of a client: its uid on a unix socket; on TCP all holders of the token are one. */
typedef int64_t principal;
enum { TOKEN_HOLDER = -1 };

struct client {
        char name[SESSION_NAME_SIZE]; /* "": unused, or the session for requests that need no box */
        bool is_modern;               /* the name is a key that the client sends with each request */
        bool is_temporary;            /* for one call without a key; it ends with the call */
        bool is_over;                 /* temporary, and the call was answered or its client has gone */
        struct http *http;            /* set when it is over */
        struct session *session;
        principal who;
        int64_t last_used;
        struct sse_stream *get_stream; /* opened by its GET; NULL: none */
};

TAILQ_HEAD(peers, peer);

struct http {
        struct server *server;
        const struct http_config *setup;
        struct evconnlistener *listeners[8];
        struct event *tidy_timer;
        struct sse_streams streams;
        struct client clients[BROKER_SESSIONS_MAX]; /* with the indexes of the server's sessions */
        size_t connections;
        struct peers strangers; /* the peers of connections without an accepted request, oldest first */
};

/* The reply to a pending request. */
struct reply {
        struct http *http;
        struct client *client;
        struct http_connection *connection; /* NULL: closed, or left to the stream */
        struct sse_stream *stream;         /* NULL: the reply is not a stream yet */
        struct pending_request *pending;
        struct event *stream_timer;    /* turns the reply into a stream */
        bool accepts_stream;           /* the client accepts event streams */
        bool wants_priming;            /* the client knows empty events: sse_stream_send_id() */
        bool opens_session;            /* the reply has the new session's name in a header */
};

/* The data of a connection. */
struct peer {
        struct http *http;
        struct http_connection *connection;
        principal who;
        bool local;
        bool is_stranger;    /* in the list of strangers */
        TAILQ_ENTRY(peer) others;
        struct reply *reply; /* NULL: no request is pending */
};

/* --- access --- */

/* "localhost", "127.0.0.1" or "[::1]", with or without a port. */
static bool is_loopback(const char *host)
{
        static const char *const names[] = { "localhost", "127.0.0.1", "[::1]" };
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                size_t n = strlen(names[i]);
                unsigned long long port;
                if (strncasecmp(host, names[i], n) == 0 &&
                    (!host[n] || (host[n] == ':' && text_parse_unsigned(host + n + 1, strlen(host + n + 1), &port))))
                        return true;
        }
        return false;
}

static bool is_loopback_origin(const char *origin)
{
        static const char *const schemes[] = { "http://", "https://" };
        for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
                if (text_has_prefix(origin, schemes[i]))
                        return is_loopback(origin + strlen(schemes[i]));
        return false;
}

/* Compares in constant time. */
static bool token_matches(const char *given, const char *token)
{
        size_t length = strlen(token);
        char difference = 0;
        if (strlen(given) != length) /* the length is not secret */
                return false;
        for (size_t i = 0; i < length; i++)
                difference |= (char)(token[i] ^ given[i]);
        return !difference;
}

/* NULL if the client has access; else the reason why not, and the HTTP status. */
static const char *check_access(const struct peer *p, const struct http_request *r, int *ret_status)
{
        static const char bearer[] = "Bearer ";
        const char *origin = http_request_header(r, "Origin"), *authorization = http_request_header(r, "Authorization");
        const char *token = p->local ? NULL : p->http->setup->token;
        *ret_status = 403;
        if (!p->local && !is_loopback(http_request_header(r, "Host")))
                return "Host not allowed: only localhost, 127.0.0.1 and [::1]";
        if (origin && !is_loopback_origin(origin))
                return "Origin not allowed: only pages of localhost, 127.0.0.1 and [::1]";
        if (p->local && p->who != (principal)getuid())
                return "this server belongs to another user";
        *ret_status = 401;
        if (token && (!authorization || strncasecmp(authorization, bearer, sizeof bearer - 1) != 0 ||
                      !token_matches(authorization + sizeof bearer - 1, token)))
                return "the header Authorization must be 'Bearer TOKEN', with the token that ringwall mcp printed or "
                       "was given";
        return NULL;
}

/* --- sessions --- */

static struct client *find_client(struct http *h, const char *name, bool is_modern, principal who)
{
        for (size_t i = 0; i < BROKER_SESSIONS_MAX; i++)
                if (*h->clients[i].name && strcmp(h->clients[i].name, name) == 0 && h->clients[i].who == who &&
                    h->clients[i].is_modern == is_modern)
                        return &h->clients[i];
        return NULL;
}

static void close_client(struct http *h, struct client *c)
{
        c->name[0] = '\0';
        session_close(c->session);
        sse_streams_end_owner(&h->streams, c);
        *c = (struct client){ 0 };
}

/* Does the client still use the session, although no request is pending? */
static bool is_in_use(const struct client *c)
{
        return c->get_stream || c->session->has_shells;
}

/* Closes the session that was idle longest, preferably one that is not in use; never one with pending requests. */
static void make_room(struct http *h)
{
        struct client *oldest = NULL;
        for (size_t i = 0; i < BROKER_SESSIONS_MAX; i++) {
                struct client *c = &h->clients[i];
                if (!*c->name || c->session->waiting)
                        continue;
                bool used = is_in_use(c), oldest_used = oldest && is_in_use(oldest);
                if (!oldest || (oldest_used && !used) || (oldest_used == used && c->last_used < oldest->last_used))
                        oldest = c;
        }
        if (oldest)
                close_client(h, oldest);
}

/* `key`: the name of a modern client's session; NULL: a name is made up. */
static struct client *open_client(struct http *h, const char *key, principal who)
{
        char name[SESSION_NAME_SIZE] = "";
        if (key)
                (void)snprintf(name, sizeof name, "%s", key);
        else if (random_hex(name, SESSION_ID_SIZE) < 0)
                return NULL;
        struct session *s = session_open(h->server);
        if (!s) {
                make_room(h);
                s = session_open(h->server);
        }
        if (!s)
                return NULL;
        struct client *c = &h->clients[s->number];
        *c = (struct client){ .session = s, .who = who, .last_used = clock_ms() };
        memcpy(c->name, name, sizeof name);
        return c;
}

static void on_expire_timer(evutil_socket_t fd, short what, void *data)
{
        struct http *h = data;
        int64_t now = clock_ms();
        (void)fd;
        (void)what;
        sse_streams_expire(&h->streams, now);
        for (size_t i = 0; i < BROKER_SESSIONS_MAX; i++) {
                struct client *c = &h->clients[i];
                if (*c->name && !c->session->waiting && !c->get_stream && now - c->last_used > SESSION_IDLE_MS)
                        close_client(h, c);
        }
}

/* --- answers --- */

static void detach_connection(struct reply *r)
{
        if (r->connection)
                ((struct peer *)r->connection->data)->reply = NULL;
        r->connection = NULL;
}

static void free_reply(struct reply *r)
{
        if (r->pending)
                r->pending->slot = NULL;
        detach_connection(r);
        if (r->stream_timer)
                event_free(r->stream_timer);
        free(r);
}

static void session_header(const struct reply *r, char ret[SESSION_HEADER_SIZE])
{
        ret[0] = '\0';
        if (r->opens_session)
                (void)snprintf(ret, SESSION_HEADER_SIZE, "Mcp-Session-Id: %s\r\n", r->client->name);
}

static void begin_stream(struct reply *r)
{
        char header[SESSION_HEADER_SIZE];
        if (r->stream || !r->connection || !r->accepts_stream)
                return;
        session_header(r, header);
        r->stream = sse_stream_open(&r->http->streams, r->client, r->connection, header, !r->client->is_modern);
        if (r->stream && r->wants_priming)
                sse_stream_send_id(r->stream);
        if (r->stream && r->stream->number) /* the client may resume it on another connection */
                detach_connection(r);
}

static void send_complete(struct reply *r, const struct text *message, int status)
{
        char header[SESSION_HEADER_SIZE];
        session_header(r, header);
        if (message->length)
                http_connection_reply(r->connection, status, header, "application/json", message->data,
                                      message->length);
        else
                http_connection_reply(r->connection, status == 200 ? 202 : status, header, NULL, "", 0);
}

/* The agent would otherwise not understand why a file that it has read counts as unread. */
static void add_note_of_temporary_session(json_t *message)
{
        static const char note[] = "(This call had a box of its own, which has ended with it: its temporary files, its "
                                   "background commands and the record of files that were read are gone. Requests with "
                                   "the same HTTP header " MCP_HEADER_SESSION " share a box.)";
        json_t *content = json_object_get(json_object_get(message, "result"), "content");
        if (json_is_array(content))
                json_array_append_new(content, json_pack("{s:s, s:s}", "type", "text", "text", note));
}

/* Deferred, because the server still uses the session of a request that it answers. */
static void on_temporary_session_over(evutil_socket_t fd, short what, void *data)
{
        struct client *c = data;
        (void)fd;
        (void)what;
        if (c->is_temporary && c->is_over)
                close_client(c->http, c);
}

static void end_temporary_session(struct http *h, struct client *c)
{
        const struct timeval at_once = { 0 };
        c->http = h;
        c->is_over = true;
        (void)event_base_once(h->server->base, -1, EV_TIMEOUT, on_temporary_session_over, c, &at_once);
}

static void send_message(struct pending_request *x, json_t *message, bool last, int status)
{
        struct reply *r = x->transport;
        CLEANUP_TEXT struct text out = { 0 };
        if (last && r->client->is_temporary)
                add_note_of_temporary_session(message);
        if (message)
                (void)json_write(message, &out, false);
        json_decref(message);
        if (!last)
                begin_stream(r);
        if (r->stream && out.length)
                sse_stream_send(r->stream, out.data, out.length);
        else if (last && !r->stream && r->connection)
                send_complete(r, &out, status);
        r->client->last_used = clock_ms();
        if (!last)
                return;
        if (r->stream)
                sse_stream_end(r->stream);
        if (r->client->is_temporary)
                end_temporary_session(r->http, r->client);
        free_reply(r);
}

/* Makes the client reconnect for the rest. */
static void detach_request(struct pending_request *x)
{
        struct reply *r = x->transport;
        begin_stream(r);
        if (r->stream && r->stream->number)
                stream_disconnect(r->stream);
}

static const char *find_header(const struct pending_request *x, const char *name)
{
        const struct reply *r = x->transport;
        return r->connection ? http_request_header(&r->connection->request, name) : NULL;
}

static const struct transport_ops route = {
        .send = send_message,
        .detach = detach_request,
        .header = find_header,
};

static void on_stream_timer(evutil_socket_t fd, short what, void *data)
{
        (void)fd;
        (void)what;
        begin_stream(data);
}

/* --- requests --- */

static bool accepts(const struct http_request *r, const char *type)
{
        const char *accept = http_request_header(r, "Accept");
        return !accept || strcasestr(accept, type) || strstr(accept, "*/*");
}

static const char too_many_sessions[] = "too many sessions; end one, or retry later";

/* Letters, digits, '.', '_' and '-'. */
static bool is_valid_key(const char *key)
{
        size_t length = strspn(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");
        return length && length < SESSION_NAME_SIZE && !key[length];
}

/* Finds or opens the session of a modern request. NULL: the request has been refused. */
static struct client *choose_modern_client(struct http_connection *c, const struct mcp_message *m)
{
        const struct peer *p = c->data;
        const char *key = json_string_value(json_object_get(json_object_get(m->params, "_meta"), MCP_META_SESSION));
        bool is_call = strcmp(m->method, "tools/call") == 0;
        if (!key)
                key = http_request_header(&c->request, MCP_HEADER_SESSION);
        if (key && !is_valid_key(key)) {
                http_connection_reply_error(c, 400, NULL,
                                            "the session key must be 1 to 64 letters, digits, '.', '_' or "
                                            "'-'");
                return NULL;
        }
        if (!is_call)
                return &p->http->clients[0];
        struct client *client = key ? find_client(p->http, key, true, p->who) : NULL;
        if (!client) {
                client = open_client(p->http, key, p->who);
                if (client) {
                        client->session->shared = client->is_modern = true;
                        client->is_temporary = !key;
                }
        }
        if (!client)
                http_connection_reply_error(c, 503, NULL, too_many_sessions);
        return client;
}

/* Finds or opens the session of a message. NULL: the request has been refused. */
static struct client *choose_client(struct http_connection *c, const struct mcp_message *m)
{
        const struct peer *p = c->data;
        struct http *h = p->http;
        const char *name = http_request_header(&c->request, "Mcp-Session-Id");
        const char *version = http_request_header(&c->request, "MCP-Protocol-Version");
        bool initialize = m->kind == MCP_REQUEST && !m->modern && strcmp(m->method, "initialize") == 0;
        struct client *client = NULL;
        if (m->modern)
                return choose_modern_client(c, m);
        if (m->kind == MCP_NOTIFICATION && !name && version && !mcp_legacy_version_supported(version))
                return &h->clients[0];
        if (initialize && !json_is_string(json_object_get(m->params, "protocolVersion")))
                return &h->clients[0]; /* the server will reply with an error, so no session is opened */
        if (initialize) {
                client = open_client(h, NULL, p->who);
                if (!client)
                        http_connection_reply_error(c, 503, NULL, too_many_sessions);
        } else if (!name) {
                http_connection_reply_error(c, 400, NULL,
                                            "the header Mcp-Session-Id is missing; the reply to initialize has it");
        } else {
                client = find_client(h, name, false, p->who);
                if (!client)
                        http_connection_reply_error(c, 404, NULL, "unknown session; open one with initialize");
        }
        return client;
}

static void take_request(struct http_connection *c, struct client *client, struct mcp_message *m)
{
        struct peer *p = c->data;
        const char *version = http_request_header(&c->request, "MCP-Protocol-Version");
        const struct timeval delay = { .tv_sec = STREAM_AFTER_MS / 1000, .tv_usec = STREAM_AFTER_MS % 1000 * 1000 };
        struct reply *r = calloc(1, sizeof *r);
        if (!r) {
                http_connection_reply_error(c, 503, NULL, "no memory");
                mcp_message_done(m);
                return;
        }
        *r = (struct reply){ .http = p->http, .client = client, .connection = c,
                             .accepts_stream = accepts(&c->request, "text/event-stream"),
                             .wants_priming = !m->modern && version && strcmp(version, "2025-11-25") == 0,
                             .opens_session = !m->modern && strcmp(m->method, "initialize") == 0 && *client->name };
        p->reply = r;
        r->stream_timer = event_new(p->http->server->base, -1, 0, on_stream_timer, r);
        if (r->stream_timer)
                (void)event_add(r->stream_timer, &delay);
        server_handle_message(client->session, m, &route, r, &r->pending);
}

static void take_post(struct http_connection *c)
{
        const struct http_request *r = &c->request;
        const struct mcp_headers headers = { http_request_header(r, "MCP-Protocol-Version"),
                                             http_request_header(r, "Mcp-Method"), http_request_header(r, "Mcp-Name") };
        const char *type = http_request_header(r, "Content-Type");
        CLEANUP_TEXT struct text out = { 0 };
        struct mcp_message m;
        size_t word = type ? strcspn(type, "; \t") : 0;
        if (word != strlen("application/json") || strncasecmp(type, "application/json", word) != 0) {
                http_connection_reply_error(c, 415, NULL, "the header Content-Type must be application/json");
                return;
        }
        if (!accepts(r, "application/json")) {
                http_connection_reply_error(c, 406, NULL,
                                            "the header Accept must list application/json and text/event-stream");
                return;
        }
        mcp_parse_message(&headers, r->body.data ? r->body.data : "", r->body.length, &m);
        if (m.kind == MCP_INVALID) {
                (void)json_write(m.error, &out, false);
                http_connection_reply(c, m.status, NULL, "application/json", out.data ? out.data : "", out.length);
                mcp_message_done(&m);
                return;
        }
        struct client *client = choose_client(c, &m);
        if (!client) {
                mcp_message_done(&m);
                return;
        }
        client->last_used = clock_ms();
        if (m.kind == MCP_REQUEST) {
                take_request(c, client, &m);
        } else {
                server_handle_message(client->session, &m, NULL, NULL, NULL);
                http_connection_reply(c, 202, NULL, NULL, "", 0);
        }
}

/* The session of a legacy client's GET or DELETE. NULL: the request has been refused. */
static struct client *require_client(struct http_connection *c)
{
        const struct peer *p = c->data;
        const char *name = http_request_header(&c->request, "Mcp-Session-Id");
        const char *version = http_request_header(&c->request, "MCP-Protocol-Version");
        struct client *client = name ? find_client(p->http, name, false, p->who) : NULL;
        if (!name || (version && strcmp(version, MCP_VERSION_MODERN) == 0))
                http_connection_reply_error(c, 405, "Allow: POST\r\n", "without a session, only POST is supported");
        else if (version && !mcp_legacy_version_supported(version))
                http_connection_reply_error(c, 400, NULL, "this protocol version is not supported");
        else if (!client)
                http_connection_reply_error(c, 404, NULL, "unknown session; open one with initialize");
        else
                return client;
        return NULL;
}

static void take_get(struct http_connection *c)
{
        struct peer *p = c->data;
        const char *last = http_request_header(&c->request, "Last-Event-ID");
        struct client *client = require_client(c);
        if (!client)
                return;
        client->last_used = clock_ms();
        if (!accepts(&c->request, "text/event-stream")) {
                http_connection_reply_error(c, 406, NULL, "the header Accept must list text/event-stream");
        } else if (last) {
                if (!sse_stream_resume(&p->http->streams, client, c, last))
                        http_connection_reply_error(c, 404, NULL,
                                                    "unknown event: its stream cannot be resumed any more");
        } else {
                if (client->get_stream) /* a client has one; the new one replaces it */
                        sse_stream_end(client->get_stream);
                client->get_stream = sse_stream_open(&p->http->streams, client, c, NULL, false);
                if (client->get_stream)
                        sse_stream_keep_alive(client->get_stream);
        }
}

static void take_delete(struct http_connection *c)
{
        const struct peer *p = c->data;
        struct client *client = require_client(c);
        if (!client)
                return;
        close_client(p->http, client);
        http_connection_reply(c, 200, NULL, NULL, "", 0);
}

static void remove_stranger(struct peer *p)
{
        if (p->is_stranger)
                TAILQ_REMOVE(&p->http->strangers, p, others);
        p->is_stranger = false;
}

/* Checks access before the body is read, so that clients without access cannot use memory for a body. */
static bool on_head(struct http_connection *c)
{
        int status;
        const char *objection = check_access(c->data, &c->request, &status);
        if (objection) {
                http_connection_reply_error(
                        c, status, status == 401 ? "WWW-Authenticate: Bearer realm=\"ringwall\"\r\n" : NULL, objection);
                return false;
        }
        if (strcmp(c->request.target, HTTP_PATH) != 0) {
                http_connection_reply_error(c, 404, NULL, "not found; MCP is at " HTTP_PATH);
                return false;
        }
        remove_stranger(c->data);
        return true;
}

static void on_request(struct http_connection *c)
{
        static const struct {
                const char *name;
                void (*take)(struct http_connection *c);
        } methods[] = { { "POST", take_post }, { "GET", take_get }, { "DELETE", take_delete } };
        const struct http_request *r = &c->request;
        for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
                if (strcmp(methods[i].name, r->method) == 0) {
                        methods[i].take(c);
                        return;
                }
        }
        http_connection_reply_error(c, 405, "Allow: POST, GET, DELETE\r\n", "unknown HTTP method");
}

/* --- connections --- */

/* A modern client cancels its request by disconnecting; a legacy client may reconnect and resume. */
static void on_closed(struct http_connection *c)
{
        struct peer *p = c->data;
        struct http *h = p->http;
        struct reply *r = p->reply;
        struct sse_stream *s = sse_streams_find(&h->streams, c);
        if (s)
                stream_disconnected(s);
        for (size_t i = 0; s && i < BROKER_SESSIONS_MAX; i++)
                if (h->clients[i].get_stream == s)
                        h->clients[i].get_stream = NULL;
        if (r && r->pending && r->pending->message.modern) {
                request_drop(r->pending);
                if (r->client->is_temporary)
                        end_temporary_session(h, r->client);
                free_reply(r);
        } else if (r) {
                r->connection = NULL;
        }
        h->connections--;
        remove_stranger(p);
        free(p);
}

static const struct http_connection_ops owner = { on_head, on_request, on_closed, MCP_BYTES_MAX };

static principal peer_uid(int fd)
{
        struct ucred peer;
        socklen_t length = sizeof peer;
        return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 ? (principal)peer.uid : TOKEN_HOLDER - 1;
}

/* If there are too many connections, closes the oldest of those that have not shown that they have access. */
static bool make_room_for_connection(struct http *h)
{
        const struct peer *oldest = TAILQ_FIRST(&h->strangers);
        if (h->connections >= CONNECTIONS_MAX && oldest)
                http_connection_close(oldest->connection);
        return h->connections < CONNECTIONS_MAX;
}

static void on_connection(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *from, int length,
                          void *data)
{
        struct http *h = data;
        struct peer *p = make_room_for_connection(h) ? calloc(1, sizeof *p) : NULL;
        (void)from;
        (void)length;
        bool local = false;
        for (size_t i = 0; i < h->setup->listener_count; i++)
                if (h->listeners[i] == listener)
                        local = h->setup->listeners[i].local;
        if (p)
                *p = (struct peer){ .http = h, .local = local, .who = local ? peer_uid(fd) : TOKEN_HOLDER };
        if (p)
                p->connection = http_connection_new(h->server->base, fd, &owner, p);
        if (p && p->connection) {
                h->connections++;
                p->is_stranger = true;
                TAILQ_INSERT_TAIL(&h->strangers, p, others);
                return;
        }
        free(p);
        (void)close(fd);
}

static int listen_on(struct http *h, struct error *e)
{
        const struct http_config *setup = h->setup;
        if (setup->listener_count > ARRAY_SIZE(h->listeners))
                return error_set(e, E2BIG, "too many addresses to listen on");
        for (size_t i = 0; i < setup->listener_count; i++) {
                if (evutil_make_socket_nonblocking(setup->listeners[i].fd) < 0)
                        return error_errno(e, errno, "cannot listen");
                h->listeners[i] = evconnlistener_new(h->server->base, on_connection, h,
                                                     LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0,
                                                     setup->listeners[i].fd);
                if (!h->listeners[i])
                        return error_errno(e, ENOMEM, "cannot listen");
        }
        return 0;
}

int serve_http(struct server *s, const struct http_config *setup, struct error *e)
{
        static struct http h; /* too large for a stack */
        const struct timeval interval = { .tv_sec = TIDY_SECONDS };
        h = (struct http){ .server = s, .setup = setup };
        s->sessions[0]->shared = true;
        TAILQ_INIT(&h.strangers);
        h.clients[0] = (struct client){ .session = s->sessions[0], .is_modern = true, .who = TOKEN_HOLDER };
        h.tidy_timer = event_new(s->base, -1, EV_PERSIST, on_expire_timer, &h);
        int r = h.tidy_timer && event_add(h.tidy_timer, &interval) == 0 ? listen_on(&h, e)
                                                                        : error_errno(e, ENOMEM, "cannot serve");
        if (r == 0)
                server_run(s);
        for (size_t i = 0; i < ARRAY_SIZE(h.listeners); i++)
                if (h.listeners[i])
                        evconnlistener_free(h.listeners[i]);
        if (h.tidy_timer)
                event_free(h.tidy_timer);
        return r;
}
