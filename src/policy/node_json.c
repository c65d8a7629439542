/*
 * JSON text to nodes. jansson parses the text but keeps no line numbers, so a cursor walks over the text in step with
 * jansson's tree: jansson iterates members in the order of the text, and in text that it accepted a token ends at the
 * next punctuation. Strings come from jansson; the cursor supplies positions, and the spelling of numbers and booleans.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "policy/input_limits.h"
#include "policy/node.h"

struct cursor {
        struct arena *arena;
        struct diagnostics *m;
        const char *p, *end;
        struct source at;
        size_t nodes;
};

static void step(struct cursor *c)
{
        size_t n = text_utf8_sequence_length(c->p, (size_t)(c->end - c->p));
        if (*c->p == '\n') {
                c->at.line++;
                c->at.column = 0;
        }
        c->p += n;
        c->at.column++;
}

/* Skips white space, commas and colons up to the next key or value. */
static void skip_to_value(struct cursor *c)
{
        while (c->p < c->end && strchr(" \t\r\n,:", *c->p))
                step(c);
}

static void skip_string(struct cursor *c)
{
        step(c);
        while (c->p < c->end && *c->p != '"') {
                if (*c->p == '\\')
                        step(c);
                if (c->p < c->end)
                        step(c);
        }
        if (c->p < c->end)
                step(c);
}

static void skip_scalar(struct cursor *c)
{
        if (c->p < c->end && *c->p == '"') {
                skip_string(c);
                return;
        }
        while (c->p < c->end && !strchr(" \t\r\n,:]}", *c->p))
                step(c);
}

/* Skips the closing bracket after the last member. */
static void skip_close(struct cursor *c)
{
        skip_to_value(c);
        if (c->p < c->end)
                step(c);
}

static const char *scalar_text(struct cursor *c, const json_t *value, const char *start, struct node *n)
{
        switch (json_typeof(value)) {
        case JSON_STRING:
                n->scalar = SCALAR_QUOTED;
                return arena_strdup(c->arena, json_string_value(value));
        case JSON_NULL:
                n->scalar = SCALAR_NULL;
                return arena_strdup(c->arena, "");
        case JSON_TRUE:
        case JSON_FALSE:
        case JSON_INTEGER:
        case JSON_REAL:
                n->scalar = SCALAR_PLAIN; /* as written: 1e3 must not turn into 1000.0 in a message */
                return arena_strndup(c->arena, start, (size_t)(c->p - start));
        case JSON_OBJECT:
        case JSON_ARRAY:
                break;
        }
        return NULL;
}

static int convert(struct cursor *c, const json_t *value, struct node **ret);

static int convert_object(struct cursor *c, const json_t *value, struct node *n)
{
        const char *key = NULL;
        json_t *member = NULL;
        step(c);
        json_object_foreach((json_t *)value, key, member) {
                skip_to_value(c);
                struct source key_place = c->at;
                skip_string(c);
                skip_to_value(c);
                struct node *item = NULL;
                int r = convert(c, member, &item);
                if (r)
                        return r;
                const char *name = arena_strdup(c->arena, key);
                if (!name || !node_add(c->arena, n, name, key_place, item))
                        return -ENOMEM;
        }
        skip_close(c);
        return 0;
}

static int convert_array(struct cursor *c, const json_t *value, struct node *n)
{
        size_t i = 0;
        json_t *member = NULL;
        step(c);
        json_array_foreach(value, i, member) {
                skip_to_value(c);
                struct node *item = NULL;
                int r = convert(c, member, &item);
                if (r)
                        return r;
                if (!node_add(c->arena, n, NULL, c->at, item))
                        return -ENOMEM;
        }
        skip_close(c);
        return 0;
}

/* Recursion is bounded: the text was accepted with POLICY_DEPTH_MAX. */
static int convert(struct cursor *c, const json_t *value, struct node **ret)
{
        struct node *n = ARENA_NEW(c->arena, struct node);
        if (!n)
                return -ENOMEM;
        n->from = c->at;
        n->weight = 1;
        *ret = n;
        if (++c->nodes > POLICY_NODES_MAX) {
                diagnostic_error(c->m, n->from, NULL, "the file has more than %d values", POLICY_NODES_MAX);
                return 1;
        }
        if (json_is_object(value)) {
                n->kind = NODE_MAP;
                return convert_object(c, value, n);
        }
        if (json_is_array(value)) {
                n->kind = NODE_LIST;
                return convert_array(c, value, n);
        }
        const char *start = c->p;
        skip_scalar(c);
        n->kind = NODE_SCALAR;
        n->text = scalar_text(c, value, start, n);
        if (!n->text)
                return -ENOMEM;
        if (strlen(n->text) > POLICY_TEXT_MAX) {
                diagnostic_error(c->m, n->from, "a value may have at most 4096 bytes", "the value is too long");
                return 1;
        }
        return 0;
}

int node_from_json(struct arena *a, const char *name, const char *text, size_t length, struct diagnostics *m,
                   struct node **ret)
{
        int r = node_check_text(name, text, length, m);
        if (r)
                return r;
        struct cursor c = {
                .arena = a,
                .m = m,
                .p = text,
                .end = text + length,
                .at = { .name = arena_strdup(a, name), .line = 1, .column = 1 },
        };
        if (!c.at.name)
                return -ENOMEM;
        CLEANUP_JSON json_t *root = NULL;
        struct error e = { 0 };
        struct source from = { .name = name };
        r = json_parse_bounded(text, length, POLICY_FILE_BYTES_MAX, POLICY_DEPTH_MAX, &root, &e, &from.line,
                               &from.column);
        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                diagnostic_error(m, from, "settings are one JSON object", "%s", e.text);
                return 1;
        }
        skip_to_value(&c);
        return convert(&c, root, ret);
}
