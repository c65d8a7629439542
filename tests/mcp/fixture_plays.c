/*
 * Answers that do not come at once; see fixture.h.
 *
 * A play says one thing after the other, and then its result. A question goes to the client on the call's own stream, and the
 * client's answer, which comes with a request of its own, becomes the result. Who listens for changes gets no result at all.
 * What an exchange needs for this is its x->data, until end_play().
 */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

enum { INTERVAL_MS = 50 };

struct play {
        struct event *timer;
        void (*say)(struct exchange *x, size_t step);
        size_t steps, step;
        const char *result;

        json_int_t question;  /* that the client has not answered; 0: none */
        const char *prefix;   /* of the result that its answer becomes */

        const json_t *wanted; /* changes to be told of, in the request; NULL: none */
};

static struct play *begin(struct exchange *x)
{
        return x->data = calloc(1, sizeof(struct play));
}

void end_play(struct exchange *x)
{
        struct play *p = x->data;
        if (p && p->timer)
                event_free(p->timer);
        free(p);
        x->data = NULL;
}

/* --- one thing after the other --- */

static void on_step(evutil_socket_t fd, short what, void *data)
{
        struct exchange *x = data;
        struct play *p = x->data;
        (void)fd;
        (void)what;
        if (p->step < p->steps)
                p->say(x, p->step++);
        else
                answer_text(x, p->result);
}

static void play(struct exchange *x, void (*say)(struct exchange *x, size_t step), size_t steps, const char *result)
{
        const struct timeval interval = { .tv_usec = INTERVAL_MS * 1000 };
        struct play *p = begin(x);
        *p = (struct play){ .say = say, .steps = steps, .result = result };
        p->timer = event_new(x->session->server->base, -1, EV_PERSIST, on_step, x);
        (void)event_add(p->timer, &interval);
}

static const char *const messages[] = { "Tool execution started", "Tool processing data", "Tool execution completed" };

static void log_message(struct exchange *x, const char *message)
{
        json_t *params = json_pack("{s:s, s:s}", "level", "info", "data", message);
        exchange_send(x, mcp_notification("notifications/message", params));
}

static void say_message(struct exchange *x, size_t step)
{
        log_message(x, messages[step]);
}

void play_logging(struct exchange *x)
{
        play(x, say_message, ARRAY_SIZE(messages), "done");
}

static void say_progress(struct exchange *x, size_t step)
{
        enum { EACH = 50, TOTAL = 100 };
        json_t *token = json_object_get(json_object_get(x->message.params, "_meta"), "progressToken");
        if (!token)
                return;
        json_t *params = json_pack("{s:O, s:i, s:i}", "progressToken", token, "progress", EACH * (int)step, "total", TOTAL);
        exchange_send(x, mcp_notification("notifications/progress", params));
}

void play_progress(struct exchange *x)
{
        play(x, say_progress, 3, "done");
}

/* The client is sent away, and finds the result when it comes back. */
static void say_goodbye(struct exchange *x, size_t step)
{
        if (step == 0)
                x->route->detach(x);
}

void play_reconnection(struct exchange *x)
{
        play(x, say_goodbye, 3, "Reconnection test completed");
}

/* Modern clients hear what a tool has to log only if they say so with the call. */
void log_when_asked(struct exchange *x)
{
        if (json_object_get(json_object_get(x->message.params, "_meta"), MCP_META "logLevel"))
                log_message(x, "diagnostic");
        answer_text(x, "ok");
}

/* --- questions to a legacy client --- */

static void ask(struct exchange *x, const char *method, json_t *params, const char *prefix)
{
        static json_int_t last;
        struct play *p = begin(x);
        *p = (struct play){ .question = ++last, .prefix = prefix };
        exchange_send(x, json_pack("{s:s, s:I, s:s, s:o}", "jsonrpc", "2.0", "id", p->question, "method", method, "params",
                                   params));
}

static void elicit(struct exchange *x, const char *message, const char *schema, const char *prefix)
{
        ask(x, "elicitation/create", json_pack("{s:s, s:o}", "message", message, "requestedSchema", quoted(schema)), prefix);
}

void ask_sampling(struct exchange *x)
{
        ask(x, "sampling/createMessage",
            json_pack("{s:[{s:s, s:{s:s, s:s}}], s:i}", "messages", "role", "user", "content", "type", "text", "text",
                      argument(x, "prompt"), "maxTokens", 100), "LLM response: ");
}

void ask_elicitation(struct exchange *x)
{
        elicit(x, argument(x, "message"), "{'type':'object','required':['username','email'],"
               "'properties':{'username':{'type':'string'},'email':{'type':'string'}}}", "User response: ");
}

void ask_defaults(struct exchange *x)
{
        elicit(x, "Please look at these", "{'type':'object','properties':{'name':{'type':'string','default':'John Doe'},"
               "'age':{'type':'integer','default':30},'score':{'type':'number','default':95.5},"
               "'status':{'type':'string','enum':['active','inactive','pending'],'default':'active'},"
               "'verified':{'type':'boolean','default':true}}}", "Elicitation completed: ");
}

#define NAMES "['option1','option2','option3']"
#define TITLED "[{'const':'value1','title':'First'},{'const':'value2','title':'Second'},{'const':'value3','title':'Third'}]"

void ask_choices(struct exchange *x)
{
        elicit(x, "Please choose", "{'type':'object','properties':{'untitledSingle':{'type':'string','enum':" NAMES "},"
               "'titledSingle':{'type':'string','oneOf':" TITLED "},"
               "'legacyEnum':{'type':'string','enum':['opt1','opt2','opt3'],"
               "'enumNames':['Option One','Option Two','Option Three']},"
               "'untitledMulti':{'type':'array','items':{'type':'string','enum':" NAMES "}},"
               "'titledMulti':{'type':'array','items':{'anyOf':" TITLED "}}}}", "Elicitation completed: ");
}

static void answer_question(struct exchange *x, const char *prefix, const json_t *result)
{
        const char *action = json_string_value(json_object_get(result, "action"));
        const json_t *content = json_object_get(result, "content");
        const char *words = json_string_value(json_object_get(content, "text"));
        CLEANUP_TEXT struct text out = { 0 };
        text_add(&out, prefix);
        if (action)
                text_format(&out, "action=%s, content=", action);
        if (words)
                text_add(&out, words);
        else if (content)
                (void)json_write(content, &out, false);
        answer_text(x, out.data);
}

void hear_answer(struct session *s, const struct mcp_message *response)
{
        struct exchange *x;
        LIST_FOREACH (x, &s->exchanges, others) {
                const struct play *p = x->data;
                if (p && p->question && p->question == json_integer_value(response->id)) {
                        answer_question(x, p->prefix, json_object_get(response->whole, "result"));
                        return;
                }
        }
}

/* --- listening --- */

static void notify(struct exchange *x, const char *method, json_t *params)
{
        json_object_set_new(params, "_meta", json_pack("{s:O}", MCP_META "subscriptionId", x->message.id));
        exchange_send(x, mcp_notification(method, params));
}

void listen_for_changes(struct exchange *x)
{
        static const char *const known[] = { "toolsListChanged", "promptsListChanged" };
        struct play *p = begin(x);
        json_t *agreed = json_object();
        p->wanted = json_object_get(x->message.params, "notifications");
        for (size_t i = 0; i < ARRAY_SIZE(known); i++)
                if (json_is_true(json_object_get(p->wanted, known[i])))
                        json_object_set_new(agreed, known[i], json_true());
        notify(x, "notifications/subscriptions/acknowledged", json_pack("{s:o}", "notifications", agreed));
}

/* Whoever listens has the session of all modern clients, as the tool's caller has. */
static void change(struct exchange *x, const char *key, const char *method)
{
        struct exchange *other;
        LIST_FOREACH (other, &x->session->exchanges, others) {
                const struct play *p = other->data;
                if (p && json_is_true(json_object_get(p->wanted, key)))
                        notify(other, method, json_object());
        }
        answer_text(x, "ok");
}

void change_tools(struct exchange *x)
{
        change(x, "toolsListChanged", "notifications/tools/list_changed");
}

void change_prompts(struct exchange *x)
{
        change(x, "promptsListChanged", "notifications/prompts/list_changed");
}
