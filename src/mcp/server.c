/*
 * The server; see server.h.
 *
 *   transport (stdio, HTTP) ── messages ── session ── frames ── tools, in a box of their own
 *
 * How it works: a transport parses a client's message and passes it on with its session. Most requests are answered at
 * once. A call is sent to the session's tools as a frame; the request stays pending under the call's number, and the
 * answer is sent by the route that the transport provided. One event loop does all of it. It blocks only while the
 * broker starts or ends a box.
 *
 * What it trusts: only the broker. A client controls its messages. The tools' answers are not trusted either: the
 * agent's commands run in the same box. The server itself runs in a box (src/session/broker.c), opens no file and
 * starts no program.
 *
 * If the tools exit, pending calls get an error that says so, and the next call starts a new box.
 */
#include "mcp/server.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/json.h"
#include "base/random.h"
#include "session/tool_worker.h"

enum { EXCHANGES_MAX = 64 }; /* pending in a session of one client */
enum { SHARED_EXCHANGES_MAX = 1024 };

/* --- pending requests --- */

static const char *tool_name(const struct pending_request *x)
{
        const char *name = json_string_value(json_object_get(x->message.params, "name"));
        return name ? name : "";
}

static void free_request(struct pending_request *x)
{
        if (x->by_extension && x->session->server->extension->on_done)
                x->session->server->extension->on_done(x);
        if (x->slot)
                *x->slot = NULL;
        LIST_REMOVE(x, others);
        x->session->waiting--;
        mcp_message_done(&x->message);
        free(x);
}

void request_send(struct pending_request *x, json_t *message)
{
        if (message)
                x->route->send(x, message, false, 200);
}

/* Takes ownership of the message. */
static void finish(struct pending_request *x, json_t *message, int status)
{
        x->route->send(x, message, true, status);
        free_request(x);
}

/* Every request gets a reply: if it could not be built, an error. */
static void send_reply(struct pending_request *x, json_t *reply, int status)
{
        finish(x, reply ? reply : mcp_error(x->message.id, MCP_INTERNAL_ERROR, "the reply could not be built", NULL),
               status);
}

void request_answer_result(struct pending_request *x, json_t *result)
{
        send_reply(x, mcp_result(x->message.id, x->message.modern, result), 200);
}

void request_answer_error(struct pending_request *x, int code, const char *message, json_t *data, int status)
{
        send_reply(x, mcp_error(x->message.id, code, message, data), status);
}

/* `removed`: counts by pattern; NULL: none. */
static void record_secrets(const struct pending_request *x, const json_t *removed)
{
        const struct session *s = x->session;
        if (json_object_size(removed) && s->readable)
                broker_log_event(s->server->broker, s->number, "secrets_redacted",
                                 json_pack("{s:s, s:O}", "tool", tool_name(x), "patterns", removed));
}

/* Removes secrets from a tool's result or progress message; false if that failed, and the value must not be sent. */
static bool scrub(const struct pending_request *x, json_t *value)
{
        const struct session *s = x->session;
        const struct gate *gate = s->server->gate;
        bool failed = false;
        json_t *removed = gate && value ? gate_scrub_result(gate, value, &failed) : NULL;
        record_secrets(x, removed);
        json_decref(removed);
        return !failed;
}

static void refuse_unscrubbed(struct pending_request *x)
{
        request_answer_result(x, mcp_tool_error("the result could not be searched for secrets, so it is not shown"));
}

/* Sends the result of a call that the server makes in place of the tool. */
static void send_tool_result(struct pending_request *x, json_t *result)
{
        if (scrub(x, result)) {
                request_answer_result(x, result);
                return;
        }
        json_decref(result);
        refuse_unscrubbed(x);
}

/* Removes secrets from the strings of an answer, as scrub() does; image data is not scanned. */
static bool scrub_answer(const struct pending_request *x, struct worker_message *answer)
{
        const struct gate *gate = x->session->server->gate;
        bool ok = !gate || *answer->image_type || scrub_text(gate->scrubber, &answer->text) == 0;
        for (size_t i = 0; gate && ok && i < answer->field_count; i++)
                ok = scrub_text(gate->scrubber, &answer->fields[i].string) == 0;
        CLEANUP_JSON json_t *removed = gate ? scrubber_take_counts(gate->scrubber) : NULL;
        record_secrets(x, removed);
        return ok;
}

/* Sends the tool's answer. A route that takes no line gets it parsed: the server wrote it, so it is valid. */
static void send_tool_answer(struct pending_request *x, struct worker_message *answer)
{
        CLEANUP_TEXT struct text line = { 0 };
        json_t *reply = NULL;
        record_secrets(x, answer->secrets); /* the worker removed these */
        if (!scrub_answer(x, answer)) {
                refuse_unscrubbed(x);
                return;
        }
        int r = mcp_write_tool_reply(&line, x->message.id, x->message.modern, answer);
        if (r == 0 && x->route->send_tool_reply) {
                x->route->send_tool_reply(x, &line);
                free_request(x);
                return;
        }
        if (r == 0)
                (void)json_parse_bounded(line.data, line.length, JSON_WRITE_MAX, JSON_DEPTH_MAX, &reply, NULL, NULL,
                                         NULL);
        send_reply(x, reply, 200);
}

static struct pending_request *find_call(const struct session *s, json_int_t call)
{
        struct pending_request *x;
        LIST_FOREACH (x, &s->pending, others)
                if (x->call == call)
                        return x;
        return NULL;
}

static struct pending_request *find_id(const struct session *s, const json_t *id)
{
        struct pending_request *x;
        LIST_FOREACH (x, &s->pending, others)
                if (json_equal(x->message.id, id))
                        return x;
        return NULL;
}

/* --- the tools --- */

static void update_write_event(struct session *s)
{
        if (channel_flush(&s->channel) == 0 && (channel_poll_events(&s->channel) & POLLOUT))
                (void)event_add(s->writable, NULL);
}

static void close_tools(struct session *s)
{
        if (!s->readable)
                return;
        event_free(s->readable);
        event_free(s->writable);
        s->readable = s->writable = NULL;
        (void)shutdown(s->channel.fd, SHUT_RDWR); /* close() is not enough: a keeper may have inherited this end */
        channel_close(&s->channel);
}

/* The tools have exited: pending calls get an error with the reason. */
static void on_tools_ended(struct session *s)
{
        struct error why = { 0 };
        CLEANUP_TEXT struct text sentence = { 0 };
        struct pending_request *x, *next;
        close_tools(s);
        broker_end_session(s->server->broker, s->number, &why);
        text_format(&sentence, "the call got no answer: %s", why.text);
        for (x = LIST_FIRST(&s->pending); x; x = next) {
                next = LIST_NEXT(x, others);
                if (x->call)
                        send_tool_result(x, mcp_tool_error(sentence.data ? sentence.data
                                                                           : "the call got no answer"));
        }
}

static const json_t *progress_token(const struct pending_request *x)
{
        const json_t *token = json_object_get(json_object_get(x->message.params, "_meta"), "progressToken");
        return json_is_string(token) || json_is_integer(token) ? token : NULL;
}

static void send_progress(struct pending_request *x, const struct worker_message *report)
{
        const json_t *token = progress_token(x);
        if (!token || report->progress <= x->progress)
                return;
        x->progress = report->progress;
        json_t *params = json_pack("{s:O, s:I, s:s}", "progressToken", token, "progress", x->progress, "message",
                                   report->text.data ? report->text.data : "");
        if (scrub(x, params))
                request_send(x, mcp_notification("notifications/progress", params));
        else
                json_decref(params);
}

static void handle_worker_message(struct session *s, struct worker_message *m)
{
        struct pending_request *x = m->call ? find_call(s, m->call) : NULL;
        if (x && m->is_progress)
                send_progress(x, m);
        else if (x)
                send_tool_answer(x, m);
}

static void on_tools(evutil_socket_t fd, short what, void *data)
{
        struct session *s = data;
        (void)fd;
        (void)what;
        int r = channel_pump(&s->channel);
        while (r == 0) {
                CLEANUP_WORKER_MESSAGE struct worker_message m = { 0 };
                if ((r = worker_receive(&s->channel, &m)) != 1)
                        break;
                handle_worker_message(s, &m);
                r = 0;
        }
        if (r < 0 || s->channel.peer_closed)
                on_tools_ended(s);
        else
                update_write_event(s);
}

/* Starts a box of tools if the session has none. Returns 0 or -errno with an error. */
static int ensure_tools(struct session *s, struct error *e)
{
        if (s->readable)
                return 0;
        int fd = broker_start_session(s->server->broker, s->number, e);
        if (fd < 0)
                return fd;
        int r = channel_open(&s->channel, fd);
        s->readable = event_new(s->server->base, fd, EV_READ | EV_PERSIST, on_tools, s);
        s->writable = event_new(s->server->base, fd, EV_WRITE, on_tools, s);
        if (r == 0 && s->readable && s->writable && event_add(s->readable, NULL) == 0)
                return 0;
        if (s->readable && s->writable)
                close_tools(s);
        else
                channel_close(&s->channel);
        broker_end_session(s->server->broker, s->number, NULL);
        return error_errno(e, r < 0 ? -r : ENOMEM, "cannot reach the tools");
}

/* --- requests --- */

static void answer_initialize(struct pending_request *x)
{
        const char *why = NULL;
        json_t *result = mcp_initialize(x->session->server->offer, x->message.params, &why);
        if (why)
                request_answer_error(x, MCP_INVALID_PARAMS, why, NULL, 200);
        else
                request_answer_result(x, result);
}

static void answer_ping(struct pending_request *x)
{
        request_answer_result(x, json_object());
}

/* A shared session means a protocol without sessions: the client may send the key with its calls, to have a box. */
static void answer_discover(struct pending_request *x)
{
        char key[33];
        json_t *result = mcp_discover(x->session->server->offer);
        if (result && x->session->shared && random_hex(key, sizeof key) == 0)
                json_object_set_new(result, "_meta", json_pack("{s:s}", MCP_META_SESSION, key));
        request_answer_result(x, result);
}

static void answer_list(struct pending_request *x)
{
        const char *why = NULL;
        json_t *result = mcp_list_tools(x->session->server->offer, x->message.params, x->message.modern, &why);
        if (why)
                request_answer_error(x, MCP_INVALID_PARAMS, why, NULL, 200);
        else
                request_answer_result(x, result);
}

static void answer_call(struct pending_request *x)
{
        struct session *s = x->session;
        const json_t *params = x->message.params, *arguments = json_object_get(params, "arguments");
        const struct tool *tool = mcp_find_tool(s->server->offer, params);
        CLEANUP_TEXT struct text sentence = { 0 };
        struct error e = { 0 };
        if (!tool) {
                text_format(&sentence, "there is no tool '%.60s'", tool_name(x));
                if (sentence.data)
                        text_remove_invalid_utf8(sentence.data); /* the name may be truncated inside a character */
                request_answer_error(x, MCP_INVALID_PARAMS, sentence.data ? sentence.data : "there is no such tool",
                                     NULL, 200);
                return;
        }
        int r = ensure_tools(s, &e); /* first, because the record of a refusal belongs to the session's box */
        if (r == 0 && s->server->gate && gate_check_call(s->server->gate, tool->name, arguments, &sentence)) {
                const char *why = sentence.data ? sentence.data : "refused";
                broker_log_event(s->server->broker, s->number, "call_refused",
                                 json_pack("{s:s, s:s}", "tool", tool->name, "why", why));
                send_tool_result(x, mcp_tool_error(why));
                return;
        }
        if (r == 0)
                r = worker_call(&s->channel, s->last_call + 1, tool->name, arguments, progress_token(x) != NULL);
        if (r < 0) {
                send_tool_result(x, mcp_tool_error(e.code ? e.text : "the call could not be sent"));
                return;
        }
        x->call = ++s->last_call;
        s->has_shells |= json_is_true(json_object_get(arguments, "run_in_background"));
        update_write_event(s);
}

static const struct {
        const char *name;
        bool legacy, modern;
        void (*answer)(struct pending_request *x);
} methods[] = {
        { "initialize", true, false, answer_initialize },
        { "ping", true, false, answer_ping },
        { "server/discover", false, true, answer_discover },
        { "tools/list", true, true, answer_list },
        { "tools/call", true, true, answer_call },
};

static void dispatch(struct pending_request *x)
{
        const struct mcp_message *m = &x->message;
        for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
                if (strcmp(methods[i].name, m->method) == 0 && (m->modern ? methods[i].modern : methods[i].legacy)) {
                        methods[i].answer(x);
                        return;
                }
        }
        request_answer_error(x, MCP_UNKNOWN_METHOD, "there is no such method", NULL, m->modern ? 404 : 200);
}

/* Asks the tools to stop working on the call. */
static void cancel_call(struct pending_request *x)
{
        struct session *s = x->session;
        if (x->call && s->readable && worker_cancel(&s->channel, x->call) == 0)
                update_write_event(s);
}

void request_drop(struct pending_request *x)
{
        cancel_call(x);
        free_request(x);
}

/* The client cancelled the request. The protocol wants no reply to it. */
static void cancel_request(const struct session *s, const json_t *id)
{
        struct pending_request *x = s->shared ? NULL : find_id(s, id);
        if (!x)
                return;
        cancel_call(x);
        finish(x, NULL, 200);
}

static void take_request(struct session *s, struct pending_request *x)
{
        const struct mcp_extension *extension = s->server->extension;
        const struct pending_request *same = s->shared ? NULL : find_id(s, x->message.id);
        bool full = s->waiting >= (s->shared ? SHARED_EXCHANGES_MAX : EXCHANGES_MAX);
        LIST_INSERT_HEAD(&s->pending, x, others);
        s->waiting++;
        if (x->slot)
                *x->slot = x;
        if (same || full) {
                request_answer_error(x, MCP_INVALID_REQUEST, same ? "a request with this id is still pending"
                                                            : "too many pending requests", NULL, same ? 400 : 503);
                return;
        }
        x->by_extension = extension != NULL; /* set before the call, which may already free the request */
        if (extension && extension->on_request(x))
                return;
        x->by_extension = false;
        dispatch(x);
}

void server_handle_message(struct session *s, struct mcp_message *m, const struct transport_ops *route, void *transport,
                 struct pending_request **slot)
{
        const struct mcp_extension *extension = s->server->extension;
        struct pending_request *x = m->kind == MCP_REQUEST ? calloc(1, sizeof *x) : NULL;
        if (x) {
                *x = (struct pending_request){
                        .session = s, .message = *m, .route = route, .transport = transport, .slot = slot
                };
                *m = (struct mcp_message){ .kind = MCP_INVALID };
                take_request(s, x);
                return;
        }
        if (m->kind == MCP_REQUEST) /* out of memory */
                server_stop(s->server);
        else if (m->kind == MCP_NOTIFICATION && strcmp(m->method, "notifications/cancelled") == 0)
                cancel_request(s, json_object_get(m->params, "requestId"));
        else if (m->kind == MCP_RESPONSE && extension && extension->on_response)
                extension->on_response(s, m);
        mcp_message_done(m);
}

/* --- sessions --- */

struct session *session_open(struct server *s)
{
        for (uint32_t i = 0; i < BROKER_SESSIONS_MAX; i++) {
                if (s->sessions[i])
                        continue;
                struct session *new = calloc(1, sizeof *new);
                if (new)
                        *new = (struct session){ .server = s, .number = i, .channel.fd = -1 };
                return s->sessions[i] = new;
        }
        return NULL;
}

void session_close(struct session *s)
{
        for (struct pending_request *x = LIST_FIRST(&s->pending), *next; x; x = next) {
                next = LIST_NEXT(x, others);
                cancel_call(x);
                finish(x, NULL, 404);
        }
        if (s->readable) {
                close_tools(s);
                broker_end_session(s->server->broker, s->number, NULL);
        }
        s->server->sessions[s->number] = NULL;
        free(s);
}

/* --- the server --- */

static void on_broker_closed(evutil_socket_t fd, short what, void *data)
{
        (void)fd;
        (void)what;
        server_stop(data);
}

int server_open(struct server *s, const struct mcp_server_config *offer, const struct mcp_extension *extension,
                int broker, bool files, struct error *e)
{
        *s = (struct server){ .offer = offer, .extension = extension, .broker = broker };
        struct event_config *config = event_config_new();
        if (config && files)
                (void)event_config_require_features(config, EV_FEATURE_FDS);
        if (config) {
                (void)event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
                s->base = event_base_new_with_config(config);
                event_config_free(config);
        }
        s->broker_closed = s->base ? event_new(s->base, broker, EV_READ, on_broker_closed, s) : NULL;
        struct session *first = s->broker_closed && event_add(s->broker_closed, NULL) == 0 ? session_open(s) : NULL;
        if (!first)
                return error_errno(e, ENOMEM, "cannot prepare the server");
        return ensure_tools(first, e);
}

void server_close(struct server *s)
{
        for (size_t i = 0; i < BROKER_SESSIONS_MAX; i++)
                if (s->sessions[i])
                        session_close(s->sessions[i]);
        if (s->broker_closed)
                event_free(s->broker_closed);
        if (s->base)
                event_base_free(s->base);
        *s = (struct server){ .broker = -1 };
}

void server_run(struct server *s)
{
        (void)event_base_dispatch(s->base);
}

void server_stop(struct server *s)
{
        (void)event_base_loopbreak(s->base);
}
