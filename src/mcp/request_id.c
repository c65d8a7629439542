/*
 * The id of a request that cannot be parsed; see request_id.h. An attacker controls every byte. Only the keys of the
 * outermost object are examined; what a value contains is skipped by counting its brackets outside of strings.
 */
#include "mcp/request_id.h"

#include <string.h>

#include "base/json.h"

static bool is_space(char c)
{
        return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Returns false if the key or the id is too long to be the one that is looked for. */
static bool add_byte(struct request_id *r, char c)
{
        if (r->length < sizeof r->text)
                r->text[r->length++] = c;
        return r->length < sizeof r->text;
}

static void step_in_key(struct request_id *r, char c)
{
        if (c == '"' && !r->escaped) {
                r->is_id = r->length == 2 && memcmp(r->text, "id", 2) == 0;
                r->state = REQUEST_ID_AFTER_KEY;
                return;
        }
        r->escaped = c == '\\' && !r->escaped;
        (void)add_byte(r, c); /* a key that is too long is not "id" */
}

static void end_value(struct request_id *r, bool is_last)
{
        r->state = r->is_id ? REQUEST_ID_FOUND : is_last ? REQUEST_ID_NONE : REQUEST_ID_BEFORE_KEY;
}

static void step_in_value(struct request_id *r, char c)
{
        bool closes = c == '}' || c == ']';
        if (!r->in_string && r->depth == 0 && (closes || c == ',')) {
                end_value(r, closes);
                return;
        }
        if (r->is_id && !add_byte(r, c)) {
                r->state = REQUEST_ID_NONE;
                return;
        }
        if (c == '"' && !r->escaped)
                r->in_string = !r->in_string;
        else if (!r->in_string)
                r->depth += (c == '{' || c == '[') - (size_t)closes;
        r->escaped = r->in_string && c == '\\' && !r->escaped;
}

/* Between keys and values: white space is skipped, and one of the expected bytes leads to the next state. */
static void step_between(struct request_id *r, char c)
{
        static const struct {
                enum request_id_state from;
                char byte;
                enum request_id_state to;
        } steps[] = {
                { REQUEST_ID_START, '{', REQUEST_ID_BEFORE_KEY },
                { REQUEST_ID_BEFORE_KEY, '"', REQUEST_ID_IN_KEY },
                { REQUEST_ID_AFTER_KEY, ':', REQUEST_ID_BEFORE_VALUE },
        };
        if (is_space(c))
                return;
        enum request_id_state next = REQUEST_ID_NONE;
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
                if (steps[i].from == r->state && steps[i].byte == c)
                        next = steps[i].to;
        r->state = next;
        r->length = 0;
        r->in_string = r->escaped = false;
        r->depth = 0;
}

void request_id_feed(struct request_id *r, const char *bytes, size_t length)
{
        for (size_t i = 0; i < length && r->state < REQUEST_ID_FOUND; i++) {
                if (r->state == REQUEST_ID_BEFORE_VALUE && !is_space(bytes[i]))
                        r->state = REQUEST_ID_IN_VALUE;
                if (r->state == REQUEST_ID_IN_KEY)
                        step_in_key(r, bytes[i]);
                else if (r->state == REQUEST_ID_IN_VALUE)
                        step_in_value(r, bytes[i]);
                else
                        step_between(r, bytes[i]);
        }
}

json_t *request_id_take(const struct request_id *r)
{
        CLEANUP_JSON json_t *id =
                r->state == REQUEST_ID_FOUND ? json_loadb(r->text, r->length, JSON_DECODE_ANY, NULL) : NULL;
        return json_is_string(id) || json_is_integer(id) ? json_incref(id) : NULL;
}
