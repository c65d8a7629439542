/*
 * Replies that do not come at once; see fixture.h.
 *
 * Some requests get several messages at intervals, and then their result. Others send a question to the client on the
 * stream of the call; the client's answer comes with another request and becomes the result. A subscription to changes
 * never gets a result. The state of such a request is x->data, until free_pending().
 */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

enum { INTERVAL_MS = 50 };

/* The state of a request that has no result yet. */
struct running_call {
        struct event *timer;
        void (*send_step)(struct pending_request *x, size_t step);
        size_t steps, step;
        const char *result;

        json_int_t question;  /* the id of a question that the client has not answered; 0: none */
        const char *prefix;   /* of the result that is made of its answer */

        const json_t *wanted; /* the changes to notify of, in the request; NULL: none */
};

static struct running_call *add_pending(struct pending_request *x)
{
        return x->data = calloc(1, sizeof(struct running_call));
}

void free_pending(struct pending_request *x)
{
        struct running_call *p = x->data;
        if (p && p->timer)
                event_free(p->timer);
        free(p);
        x->data = NULL;
}

/* --- messages before the result --- */

static void on_step(evutil_socket_t fd, short what, void *data)
{
        struct pending_request *x = data;
        struct running_call *p = x->data;
        (void)fd;
        (void)what;
        if (p->step < p->steps)
                p->send_step(x, p->step++);
        else
                answer_text(x, p->result);
}

/* Calls send_step() once per interval, and then replies with the result. */
static void reply_after_steps(struct pending_request *x, void (*send_step)(struct pending_request *x, size_t step),
                              size_t steps, const char *result)
{
        const struct timeval interval = { .tv_usec = INTERVAL_MS * 1000 };
        struct running_call *p = add_pending(x);
        *p = (struct running_call){ .send_step = send_step, .steps = steps, .result = result };
        p->timer = event_new(x->session->server->base, -1, EV_PERSIST, on_step, x);
        (void)event_add(p->timer, &interval);
}

static const char *const messages[] = { "Tool execution started", "Tool processing data", "Tool execution completed" };

static void log_message(struct pending_request *x, const char *message)
{
        json_t *params = json_pack("{s:s, s:s}", "level", "info", "data", message);
        request_send(x, mcp_notification("notifications/message", params));
}

static void send_log_message(struct pending_request *x, size_t step)
{
        log_message(x, messages[step]);
}

void reply_after_logging(struct pending_request *x)
{
        reply_after_steps(x, send_log_message, ARRAY_SIZE(messages), "done");
}

static void send_progress(struct pending_request *x, size_t step)
{
        enum { PER_STEP = 50, TOTAL = 100 };
        json_t *token = json_object_get(json_object_get(x->message.params, "_meta"), "progressToken");
        if (!token)
                return;
        json_t *params =
                json_pack("{s:O, s:i, s:i}", "progressToken", token, "progress", PER_STEP * (int)step, "total", TOTAL);
        request_send(x, mcp_notification("notifications/progress", params));
}

void reply_after_progress(struct pending_request *x)
{
        reply_after_steps(x, send_progress, 3, "done");
}

/* Closes the connection. The client must reconnect to get the result. */
static void disconnect_client(struct pending_request *x, size_t step)
{
        if (step == 0)
                x->route->detach(x);
}

void reply_after_reconnection(struct pending_request *x)
{
        reply_after_steps(x, disconnect_client, 3, "Reconnection test completed");
}

/* A modern client gets log messages of a tool only if it requests them with the call. */
void log_if_requested(struct pending_request *x)
{
        if (json_object_get(json_object_get(x->message.params, "_meta"), MCP_META "logLevel"))
                log_message(x, "diagnostic");
        answer_text(x, "ok");
}

/* --- questions to a legacy client --- */

static void ask(struct pending_request *x, const char *method, json_t *params, const char *prefix)
{
        static json_int_t last_question;
        struct running_call *p = add_pending(x);
        *p = (struct running_call){ .question = ++last_question, .prefix = prefix };
        request_send(x, json_pack("{s:s, s:I, s:s, s:o}", "jsonrpc", "2.0", "id", p->question, "method", method,
                                   "params", params));
}

static void elicit(struct pending_request *x, const char *message, const char *schema, const char *prefix)
{
        ask(x, "elicitation/create",
            json_pack("{s:s, s:o}", "message", message, "requestedSchema", parse_quoted(schema)), prefix);
}

void ask_sampling(struct pending_request *x)
{
        ask(x, "sampling/createMessage",
            json_pack("{s:[{s:s, s:{s:s, s:s}}], s:i}", "messages", "role", "user", "content", "type", "text", "text",
                      argument(x, "prompt"), "maxTokens", 100), "LLM response: ");
}

void ask_elicitation(struct pending_request *x)
{
        elicit(x, argument(x, "message"), "{'type':'object','required':['username','email'],"
               "'properties':{'username':{'type':'string'},'email':{'type':'string'}}}", "User response: ");
}

void ask_defaults(struct pending_request *x)
{
        elicit(x, "Please look at these",
               "{'type':'object','properties':{'name':{'type':'string','default':'John Doe'},"
               "'age':{'type':'integer','default':30},'score':{'type':'number','default':95.5},"
               "'status':{'type':'string','enum':['active','inactive','pending'],'default':'active'},"
               "'verified':{'type':'boolean','default':true}}}",
               "Elicitation completed: ");
}

#define NAMES "['option1','option2','option3']"
#define TITLED                                                                                                         \
        "[{'const':'value1','title':'First'},{'const':'value2','title':'Second'},{'const':'value3','title':'Third'}]"

void ask_choices(struct pending_request *x)
{
        elicit(x, "Please choose", "{'type':'object','properties':{'untitledSingle':{'type':'string','enum':" NAMES "},"
               "'titledSingle':{'type':'string','oneOf':" TITLED "},"
               "'legacyEnum':{'type':'string','enum':['opt1','opt2','opt3'],"
               "'enumNames':['Option One','Option Two','Option Three']},"
               "'untitledMulti':{'type':'array','items':{'type':'string','enum':" NAMES "}},"
               "'titledMulti':{'type':'array','items':{'anyOf':" TITLED "}}}}", "Elicitation completed: ");
}

static void answer_question(struct pending_request *x, const char *prefix, const json_t *result)
{
        const char *action = json_string_value(json_object_get(result, "action"));
        const json_t *content = json_object_get(result, "content");
        const char *text = json_string_value(json_object_get(content, "text"));
        CLEANUP_TEXT struct text out = { 0 };
        text_add(&out, prefix);
        if (action)
                text_format(&out, "action=%s, content=", action);
        if (text)
                text_add(&out, text);
        else if (content)
                (void)json_write(content, &out, false);
        answer_text(x, out.data);
}

void on_client_answer(struct session *s, const struct mcp_message *response)
{
        struct pending_request *x;
        LIST_FOREACH (x, &s->pending, others) {
                const struct running_call *p = x->data;
                if (p && p->question && p->question == json_integer_value(response->id)) {
                        answer_question(x, p->prefix, json_object_get(response->json, "result"));
                        return;
                }
        }
}

/* --- subscriptions --- */

static void notify(struct pending_request *x, const char *method, json_t *params)
{
        json_object_set_new(params, "_meta", json_pack("{s:O}", MCP_META "subscriptionId", x->message.id));
        request_send(x, mcp_notification(method, params));
}

void subscribe_to_changes(struct pending_request *x)
{
        static const char *const known[] = { "toolsListChanged", "promptsListChanged" };
        struct running_call *p = add_pending(x);
        json_t *accepted = json_object();
        p->wanted = json_object_get(x->message.params, "notifications");
        for (size_t i = 0; i < ARRAY_SIZE(known); i++)
                if (json_is_true(json_object_get(p->wanted, known[i])))
                        json_object_set_new(accepted, known[i], json_true());
        notify(x, "notifications/subscriptions/acknowledged", json_pack("{s:o}", "notifications", accepted));
}

/* Notifies the subscribers. They are in the server's first session, as are all modern requests but calls. */
static void announce_change(struct pending_request *x, const char *key, const char *method)
{
        struct pending_request *other;
        LIST_FOREACH (other, &x->session->server->sessions[0]->pending, others) {
                const struct running_call *p = other->data;
                if (p && json_is_true(json_object_get(p->wanted, key)))
                        notify(other, method, json_object());
        }
        answer_text(x, "ok");
}

void announce_changed_tools(struct pending_request *x)
{
        announce_change(x, "toolsListChanged", "notifications/tools/list_changed");
}

void announce_changed_prompts(struct pending_request *x)
{
        announce_change(x, "promptsListChanged", "notifications/prompts/list_changed");
}
