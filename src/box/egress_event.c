/* Events of egress as text and as JSON; see egress_event.h. */
#include "box/egress_event.h"

void egress_add_rule(const struct host_rule *rule, struct text *out)
{
        char domain[HOST_PATTERN_TEXT_SIZE];
        host_pattern_print(&rule->domain, domain);
        text_format(out, "%s %s", rule->allow ? "allow" : "deny", domain);
}

void egress_event_explain(const struct egress_event *event, const struct host_rule *rule, struct text *out)
{
        text_add(out, "refused");
        if (event->count > 1)
                text_format(out, " %u times", event->count);
        text_add(out, ": ");
        egress_event_add_reason(event, out);
        if (rule) {
                text_add(out, ", by ");
                egress_add_rule(rule, out);
                text_add(out, " (");
                source_print(rule->from, out);
                text_add(out, ")");
        }
        egress_event_add_remedy(event, egress_allowance_prefix, out);
}

static void set_text(json_t *o, const char *key, const char *text)
{
        if (text && *text)
                json_object_set_new(o, key, json_string(text));
}

json_t *egress_event_to_json(const struct egress_event *event, const struct host_rule *rule)
{
        CLEANUP_TEXT struct text allowance = { 0 }, rule_text = { 0 }, source = { 0 };
        json_t *o = json_object();
        set_text(o, "host", event->host);
        if (event->port)
                json_object_set_new(o, "port", json_integer(event->port));
        set_text(o, "address", event->address);
        set_text(o, "way", egress_listener_names[event->listener]);
        if (event->proxied)
                json_object_set_new(o, "proxied", json_true());
        if (event->kind == EGRESS_EVENT_CLOSED) {
                json_object_set_new(o, "sent", json_integer((json_int_t)event->sent));
                json_object_set_new(o, "received", json_integer((json_int_t)event->received));
        } else {
                set_text(o, "reason", deny_reasons[event->reason].word);
                set_text(o, "why", deny_reasons[event->reason].why);
                set_text(o, "other", event->other);
                json_object_set_new(o, "count", json_integer(event->count));
                egress_event_add_remedy(event, "", &allowance);
                set_text(o, "allow", allowance.data);
        }
        if (rule) {
                egress_add_rule(rule, &rule_text);
                source_print(rule->from, &source);
                set_text(o, "rule", rule_text.data);
                set_text(o, "source", source.data);
        }
        return o;
}
