/*
 * The server; see server.h.
 *
 *   a carrier (stdio, HTTP) ── messages ── session ── frames ── tools, in a box of their own
 *
 * How it works: a carrier reads a client's message and hands it over with the session that it belongs to. What can be
 * answered at once is. A call goes to the session's tools as a frame, the exchange waits with the call's number, and the
 * answer goes back by the route that the carrier gave. All of it happens in one loop that never waits for one thing alone.
 *
 * What it trusts: nothing. A client controls its messages; the tools, which run an agent's commands beside them, control
 * their answers. It runs in a box itself (src/session/broker.c), opens no file, and starts no program.
 *
 * If the tools die, those who wait get an honest error, and the next call has new ones made.
 */
#include "mcp/server.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/json.h"
#include "session/worker.h"

enum { EXCHANGES_AT_ONCE = 64 }; /* in a session of one client */
enum { SHARED_AT_ONCE = 1024 };

/* --- exchanges --- */

static const char *tool_name(const struct exchange *x)
{
        const char *name = json_string_value(json_object_get(x->message.params, "name"));
        return name ? name : "";
}

static void forget(struct exchange *x)
{
        if (x->extended && x->session->server->extension->gone)
                x->session->server->extension->gone(x);
        if (x->place)
                *x->place = NULL;
        LIST_REMOVE(x, others);
        x->session->waiting--;
        mcp_message_done(&x->message);
        free(x);
}

void exchange_send(struct exchange *x, json_t *message)
{
        if (message)
                x->route->send(x, message, false, 200);
}

/* Takes the message over. */
static void finish(struct exchange *x, json_t *message, int status)
{
        x->route->send(x, message, true, status);
        forget(x);
}

/* Whatever happens, there is an answer: one that could not be made is an error. */
static void answer_with(struct exchange *x, json_t *reply, int status)
{
        finish(x, reply ? reply : mcp_error(x->message.id, MCP_INTERNAL_ERROR, "the answer could not be made", NULL), status);
}

void exchange_result(struct exchange *x, json_t *result)
{
        answer_with(x, mcp_result(x->message.id, x->message.modern, result), 200);
}

void exchange_error(struct exchange *x, int code, const char *message, json_t *data, int status)
{
        answer_with(x, mcp_error(x->message.id, code, message, data), status);
}

/* Counts by shape; NULL: none. */
static void record_secrets(const struct exchange *x, const json_t *taken)
{
        const struct session *s = x->session;
        if (json_object_size(taken) && s->readable)
                broker_record(s->server->broker, s->number, "secrets_redacted",
                              json_pack("{s:s, s:O}", "tool", tool_name(x), "shapes", taken));
}

/* Takes secrets out of what a tool says; false when that failed, and it must not be said. */
static bool scrub(const struct exchange *x, json_t *value)
{
        const struct session *s = x->session;
        const struct gate *gate = s->server->gate;
        bool failed = false;
        json_t *taken = gate && value ? gate_scrub(gate, value, &failed) : NULL;
        record_secrets(x, taken);
        json_decref(taken);
        return !failed;
}

/* What a tool, or one of us in its place, answers. */
static void answer_for_tool(struct exchange *x, json_t *result)
{
        if (!scrub(x, result)) {
                json_decref(result);
                result = mcp_tool_failure("the answer could not be looked through for secrets, so it is not shown");
        }
        exchange_result(x, result);
}

static struct exchange *find_call(const struct session *s, json_int_t call)
{
        struct exchange *x;
        LIST_FOREACH (x, &s->exchanges, others)
                if (x->call == call)
                        return x;
        return NULL;
}

static struct exchange *find_id(const struct session *s, const json_t *id)
{
        struct exchange *x;
        LIST_FOREACH (x, &s->exchanges, others)
                if (json_equal(x->message.id, id))
                        return x;
        return NULL;
}

/* --- the tools --- */

static void flush_calls(struct session *s)
{
        if (channel_flush(&s->channel) == 0 && (channel_events(&s->channel) & POLLOUT))
                (void)event_add(s->writable, NULL);
}

static void leave_tools(struct session *s)
{
        if (!s->readable)
                return;
        event_free(s->readable);
        event_free(s->writable);
        s->readable = s->writable = NULL;
        (void)shutdown(s->channel.fd, SHUT_RDWR); /* a keeper may have our end too, since it was forked */
        channel_close(&s->channel);
}

/* Whoever waits for them is told why that is in vain. */
static void tools_ended(struct session *s)
{
        struct error why = { 0 };
        CLEANUP_TEXT struct text sentence = { 0 };
        struct exchange *x, *next;
        leave_tools(s);
        broker_end(s->server->broker, s->number, &why);
        text_format(&sentence, "the call did not come back: %s", why.text);
        for (x = LIST_FIRST(&s->exchanges); x; x = next) {
                next = LIST_NEXT(x, others);
                if (x->call)
                        answer_for_tool(x, mcp_tool_failure(sentence.data ? sentence.data : "the call did not come back"));
        }
}

static const json_t *progress_token(const struct exchange *x)
{
        const json_t *token = json_object_get(json_object_get(x->message.params, "_meta"), "progressToken");
        return json_is_string(token) || json_is_integer(token) ? token : NULL;
}

static void tell_progress(struct exchange *x, const json_t *report)
{
        const json_t *token = progress_token(x);
        json_int_t progress = json_integer_value(json_object_get(report, "progress"));
        const char *message = json_string_value(json_object_get(report, "message"));
        if (!token || progress <= x->progress)
                return;
        x->progress = progress;
        json_t *params = json_pack("{s:O, s:I, s:s}", "progressToken", token, "progress", progress, "message", message ? message : "");
        if (scrub(x, params))
                exchange_send(x, mcp_notification("notifications/progress", params));
        else
                json_decref(params);
}

static void take_answer(struct session *s, const json_t *answer)
{
        json_int_t call = json_integer_value(json_object_get(answer, "id"));
        struct exchange *x = call ? find_call(s, call) : NULL;
        if (x && json_object_get(answer, "progress"))
                tell_progress(x, answer);
        else if (x) {
                record_secrets(x, json_object_get(answer, "secrets")); /* those that never left the box */
                answer_for_tool(x, mcp_tool_result(answer));
        }
}

static void on_tools(evutil_socket_t fd, short what, void *data)
{
        struct session *s = data;
        json_t *answer = NULL;
        (void)fd;
        (void)what;
        int r = channel_move(&s->channel);
        while (r == 0 && (r = worker_answer(&s->channel, &answer)) == 1) {
                take_answer(s, answer);
                json_decref(answer);
                r = 0;
        }
        if (r < 0 || s->channel.ended)
                tools_ended(s);
        else
                flush_calls(s);
}

/* Returns 0 or -errno with an error. */
static int need_tools(struct session *s, struct error *e)
{
        if (s->readable)
                return 0;
        int fd = broker_start(s->server->broker, s->number, e);
        if (fd < 0)
                return fd;
        int r = channel_open(&s->channel, fd);
        s->readable = event_new(s->server->base, fd, EV_READ | EV_PERSIST, on_tools, s);
        s->writable = event_new(s->server->base, fd, EV_WRITE, on_tools, s);
        if (r == 0 && s->readable && s->writable && event_add(s->readable, NULL) == 0)
                return 0;
        if (s->readable && s->writable)
                leave_tools(s);
        else
                channel_close(&s->channel);
        broker_end(s->server->broker, s->number, NULL);
        return error_errno(e, r < 0 ? -r : ENOMEM, "mcp", "cannot reach the tools");
}

/* --- requests --- */

static void answer_initialize(struct exchange *x)
{
        const char *why = NULL;
        json_t *result = mcp_initialize(x->session->server->offer, x->message.params, &why);
        if (why)
                exchange_error(x, MCP_INVALID_PARAMS, why, NULL, 200);
        else
                exchange_result(x, result);
}

static void answer_ping(struct exchange *x)
{
        exchange_result(x, json_object());
}

static void answer_discover(struct exchange *x)
{
        exchange_result(x, mcp_discover(x->session->server->offer));
}

static void answer_list(struct exchange *x)
{
        const char *why = NULL;
        json_t *result = mcp_list_tools(x->session->server->offer, x->message.params, x->message.modern, &why);
        if (why)
                exchange_error(x, MCP_INVALID_PARAMS, why, NULL, 200);
        else
                exchange_result(x, result);
}

static void answer_call(struct exchange *x)
{
        struct session *s = x->session;
        const json_t *params = x->message.params, *arguments = json_object_get(params, "arguments");
        const struct tool *tool = mcp_find_tool(s->server->offer, params);
        CLEANUP_JSON json_t *none = json_object();
        CLEANUP_TEXT struct text sentence = { 0 };
        struct error e = { 0 };
        if (!tool) {
                text_format(&sentence, "there is no tool '%.60s'", tool_name(x));
                if (sentence.data)
                        text_drop_malformed(sentence.data); /* it may be cut in a character */
                exchange_error(x, MCP_INVALID_PARAMS, sentence.data ? sentence.data : "there is no such tool", NULL, 200);
                return;
        }
        int r = need_tools(s, &e);
        if (r == 0 && s->server->gate && gate_refuses(s->server->gate, tool->name, arguments, &sentence)) {
                const char *why = sentence.data ? sentence.data : "refused";
                broker_record(s->server->broker, s->number, "call_refused", json_pack("{s:s, s:s}", "tool", tool->name, "why", why));
                answer_for_tool(x, mcp_tool_failure(why));
                return;
        }
        if (r == 0)
                r = worker_call(&s->channel, s->last_call + 1, tool->name, arguments ? arguments : none, progress_token(x) != NULL);
        if (r < 0) {
                answer_for_tool(x, mcp_tool_failure(e.code ? e.text : "the call could not be sent"));
                return;
        }
        x->call = ++s->last_call;
        flush_calls(s);
}

static const struct {
        const char *name;
        bool legacy, modern;
        void (*answer)(struct exchange *x);
} methods[] = {
        { "initialize", true, false, answer_initialize },
        { "ping", true, false, answer_ping },
        { "server/discover", false, true, answer_discover },
        { "tools/list", true, true, answer_list },
        { "tools/call", true, true, answer_call },
};

static void answer(struct exchange *x)
{
        const struct mcp_message *m = &x->message;
        for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
                if (strcmp(methods[i].name, m->method) == 0 && (m->modern ? methods[i].modern : methods[i].legacy)) {
                        methods[i].answer(x);
                        return;
                }
        }
        exchange_error(x, MCP_UNKNOWN_METHOD, "there is no such method", NULL, m->modern ? 404 : 200);
}

static void end_call(struct exchange *x)
{
        struct session *s = x->session;
        if (x->call && s->readable && worker_cancel(&s->channel, x->call) == 0)
                flush_calls(s);
}

void exchange_drop(struct exchange *x)
{
        end_call(x);
        forget(x);
}

/* The client does not wait for it any more: an answer would only confuse it. */
static void cancel(const struct session *s, const json_t *id)
{
        struct exchange *x = s->shared ? NULL : find_id(s, id);
        if (!x)
                return;
        end_call(x);
        finish(x, NULL, 200);
}

static void take_request(struct session *s, struct exchange *x)
{
        const struct mcp_extension *extension = s->server->extension;
        const struct exchange *same = s->shared ? NULL : find_id(s, x->message.id);
        bool full = s->waiting >= (s->shared ? SHARED_AT_ONCE : EXCHANGES_AT_ONCE);
        LIST_INSERT_HEAD(&s->exchanges, x, others);
        s->waiting++;
        if (x->place)
                *x->place = x;
        if (same || full) {
                exchange_error(x, MCP_INVALID_REQUEST, same ? "a request with this id is being answered"
                                                            : "too many requests at once", NULL, same ? 400 : 503);
                return;
        }
        x->extended = extension != NULL; /* when it has taken it, it may be over already */
        if (extension && extension->take(x))
                return;
        x->extended = false;
        answer(x);
}

void server_take(struct session *s, struct mcp_message *m, const struct route *route, void *carrier, struct exchange **place)
{
        const struct mcp_extension *extension = s->server->extension;
        struct exchange *x = m->kind == MCP_REQUEST ? calloc(1, sizeof *x) : NULL;
        if (x) {
                *x = (struct exchange){ .session = s, .message = *m, .route = route, .carrier = carrier, .place = place };
                *m = (struct mcp_message){ .kind = MCP_BAD };
                take_request(s, x);
                return;
        }
        if (m->kind == MCP_REQUEST) /* without memory for so little, there is nothing to serve with */
                server_stop(s->server);
        else if (m->kind == MCP_NOTIFICATION && strcmp(m->method, "notifications/cancelled") == 0)
                cancel(s, json_object_get(m->params, "requestId"));
        else if (m->kind == MCP_RESPONSE && extension && extension->hear)
                extension->hear(s, m);
        mcp_message_done(m);
}

/* --- sessions --- */

struct session *session_open(struct server *s)
{
        for (uint32_t i = 0; i < BROKER_SESSIONS; i++) {
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
        for (struct exchange *x = LIST_FIRST(&s->exchanges), *next; x; x = next) {
                next = LIST_NEXT(x, others);
                end_call(x);
                finish(x, NULL, 404);
        }
        if (s->readable) {
                leave_tools(s);
                broker_end(s->server->broker, s->number, NULL);
        }
        s->server->sessions[s->number] = NULL;
        free(s);
}

/* --- the server --- */

static void on_orphaned(evutil_socket_t fd, short what, void *data)
{
        (void)fd;
        (void)what;
        server_stop(data);
}

int server_open(struct server *s, const struct mcp_offer *offer, const struct mcp_extension *extension, int broker, bool files,
                struct error *e)
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
        s->orphaned = s->base ? event_new(s->base, broker, EV_READ, on_orphaned, s) : NULL;
        struct session *first = s->orphaned && event_add(s->orphaned, NULL) == 0 ? session_open(s) : NULL;
        if (!first)
                return error_errno(e, ENOMEM, "mcp", "cannot prepare the server");
        return need_tools(first, e);
}

void server_close(struct server *s)
{
        for (size_t i = 0; i < BROKER_SESSIONS; i++)
                if (s->sessions[i])
                        session_close(s->sessions[i]);
        if (s->orphaned)
                event_free(s->orphaned);
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
