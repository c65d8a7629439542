/* Positions in JSON text; see json_walk.h. Nothing recurses, so the depth of the text costs no stack. */
#include "tools/json_walk.h"

#include <stdint.h>
#include <string.h>

static const char *skip_space(const char *p)
{
        return p + strspn(p, " \t\r\n");
}

static const char *skip_string(const char *p)
{
        for (p++; *p && *p != '"'; p++)
                p += *p == '\\' && p[1];
        return *p ? p + 1 : p;
}

static const char *skip_brackets(const char *p)
{
        size_t depth = 0;
        while (*p) {
                if (*p == '"') {
                        p = skip_string(p);
                        continue;
                }
                depth += *p == '[' || *p == '{';
                depth -= *p == ']' || *p == '}';
                p++;
                if (!depth)
                        break;
        }
        return p;
}

struct json_span json_span_of(const char *text)
{
        const char *start = skip_space(text);
        if (*start == '"')
                return (struct json_span){ start, skip_string(start) };
        if (*start == '[' || *start == '{')
                return (struct json_span){ start, skip_brackets(start) };
        return (struct json_span){ start, start + strcspn(start, ",]} \t\r\n") };
}

void json_walk_start(struct json_walk *w, const char *value)
{
        const char *start = skip_space(value);
        *w = (struct json_walk){ start + 1, *start == '{' };
}

bool json_walk_next(struct json_walk *w, struct json_item *ret)
{
        const char *p = skip_space(w->at);
        if (*p == ',')
                p = skip_space(p + 1);
        if (!*p || *p == ']' || *p == '}')
                return false;
        *ret = (struct json_item){ 0 };
        if (w->is_object) {
                ret->key = json_span_of(p);
                p = skip_space(ret->key.end);
                p += *p == ':';
        }
        ret->value = json_span_of(p);
        w->at = ret->value.end;
        return true;
}

/* jansson keeps the order of the text, and two members of one name were refused. So the names need no decoding here. */
bool json_walk_find(const json_t *object, const char *value, const char *name, struct json_item *ret)
{
        struct json_walk w;
        const char *key;
        json_t *member;
        json_walk_start(&w, value);
        json_object_foreach ((json_t *)(uintptr_t)object, key, member) {
                if (!json_walk_next(&w, ret))
                        return false;
                if (strcmp(key, name) == 0)
                        return true;
        }
        return false;
}
