/* The parameters of tools; see tool_arguments.h. */
#include "tools/tool_arguments.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"

enum { ITEMS_MAX = 1000 }; /* of a list */

static const struct {
        const char *name, *article;
} types[] = {
        [TOOL_STRING] = { "string", "a" },
        [TOOL_INTEGER] = { "integer", "an" },
        [TOOL_BOOLEAN] = { "boolean", "a" },
        [TOOL_LIST] = { "array", "an" },
};

/* --- schemas --- */

static json_t *describe_words(const char *const *words)
{
        json_t *list = json_array();
        for (; *words; words++)
                json_array_append_new(list, json_string(*words));
        return list;
}

json_t *tool_field_describe(const struct tool_param *f)
{
        json_t *o = json_pack("{s:s, s:s}", "type", types[f->type].name, "description", f->help);
        if (o && f->words)
                json_object_set_new(o, "enum", describe_words(f->words));
        if (o && (f->min || f->max)) {
                json_object_set_new(o, "minimum", json_integer(f->min));
                json_object_set_new(o, "maximum", json_integer(f->max));
        }
        if (o && f->type == TOOL_LIST) {
                const struct tool_fields items = { f->items, f->item_count, NULL };
                json_object_set_new(o, "items", tool_fields_describe(&items));
                json_object_set_new(o, "minItems", json_integer(1));
                json_object_set_new(o, "maxItems", json_integer(ITEMS_MAX));
        }
        return o;
}

json_t *tool_fields_describe(const struct tool_fields *fields)
{
        json_t *properties = json_object(), *required = json_array();
        for (size_t i = 0; i < fields->count; i++) {
                const struct tool_param *f = &fields->list[i];
                json_object_set_new(properties, f->name, tool_field_describe(f));
                if (f->required)
                        json_array_append_new(required, json_string(f->name));
        }
        return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties", properties, "required", required,
                         "additionalProperties", 0);
}

/* --- checks --- */

static bool has_name(const struct tool_param *f, const char *name)
{
        return strcmp(f->name, name) == 0 || (f->also && strcmp(f->also, name) == 0);
}

static const struct tool_param *find_field(const struct tool_fields *fields, const char *name)
{
        for (size_t i = 0; i < fields->count; i++)
                if (has_name(&fields->list[i], name))
                        return &fields->list[i];
        return fields->more && has_name(fields->more, name) ? fields->more : NULL;
}

/* Models write 5.0 where an integer is wanted. Returns the integer, or the value itself; a new reference. */
static json_t *without_fraction(const json_t *value, enum tool_type type)
{
        double number = json_is_real(value) && type == TOOL_INTEGER ? json_real_value(value) : 0.5;
        bool fits = fabs(number) <= 0x1p53;
        if (fits && number == (double)(json_int_t)number)
                return json_integer((json_int_t)number);
        return json_incref((json_t *)(uintptr_t)value);
}

static bool has_type(const json_t *value, enum tool_type type)
{
        switch (type) {
        case TOOL_STRING:
                return json_is_string(value);
        case TOOL_INTEGER:
                return json_is_integer(value);
        case TOOL_BOOLEAN:
                return json_is_boolean(value);
        case TOOL_LIST:
                return json_is_array(value);
        }
        return false;
}

static bool is_allowed_word(const struct tool_param *f, const json_t *value)
{
        for (size_t i = 0; f->words && f->words[i]; i++)
                if (strcmp(f->words[i], json_string_value(value)) == 0)
                        return true;
        return !f->words;
}

static void fail_with_words(const struct tool_param *f, const char *owner, struct tool_result *answer)
{
        CLEANUP_TEXT struct text known = { 0 };
        for (size_t i = 0; f->words[i]; i++)
                text_format(&known, "%s%s", i ? ", " : "", f->words[i]);
        tool_fail(answer, "the parameter %s of %s must be one of %s", f->name, owner, known.data ? known.data : "");
}

static bool check_value(const struct tool_param *f, const char *owner, const json_t *value, struct tool_result *answer)
{
        size_t items = json_array_size(value);
        if (!has_type(value, f->type)) {
                tool_fail(answer, "the parameter %s of %s must be %s %s", f->name, owner, types[f->type].article,
                          types[f->type].name);
        } else if (f->type == TOOL_INTEGER && (f->min || f->max) &&
                   (json_integer_value(value) < f->min || json_integer_value(value) > f->max)) {
                tool_fail(answer, "the parameter %s of %s must be from %lld to %lld", f->name, owner, (long long)f->min,
                          (long long)f->max);
        } else if (f->type == TOOL_STRING && !is_allowed_word(f, value)) {
                fail_with_words(f, owner, answer);
        } else if (f->type == TOOL_LIST && (!items || items > ITEMS_MAX)) {
                tool_fail(answer, "the parameter %s of %s must have from 1 to %d items", f->name, owner, ITEMS_MAX);
        } else {
                return true;
        }
        return false;
}

/* Returns the list with each of its items checked, or NULL with an error in the answer. */
static json_t *take_items(const struct tool_param *f, const char *owner, const json_t *list, struct tool_result *answer)
{
        const struct tool_fields fields = { f->items, f->item_count, NULL };
        CLEANUP_JSON json_t *taken = json_array();
        size_t i;
        json_t *item;
        json_array_foreach (list, i, item) {
                CLEANUP_TEXT struct text name = { 0 };
                text_format(&name, "%s[%zu] of %s", f->name, i, owner);
                json_t *checked = tool_fields_take(&fields, name.data ? name.data : owner, item, answer);
                if (!checked || json_array_append_new(taken, checked) < 0)
                        return NULL;
        }
        return TAKE_PTR(taken);
}

/* Adds one argument, under the name that the tool's code knows. Null means the default, as if it was left out. */
static bool take_argument(const struct tool_fields *fields, const char *owner, const char *name, const json_t *given,
                          json_t *taken, struct tool_result *answer)
{
        const struct tool_param *f = find_field(fields, name);
        if (!f) {
                tool_fail(answer, "%s has no parameter '%.60s'", owner, name);
                return false;
        }
        if (json_is_null(given) && !f->required)
                return true;
        if (json_object_get(taken, f->name)) {
                tool_fail(answer, "%s was given %s and %s, which are the same parameter", owner, f->name, f->also);
                return false;
        }
        CLEANUP_JSON json_t *value = without_fraction(given, f->type);
        if (!check_value(f, owner, value, answer))
                return false;
        json_t *items = f->type == TOOL_LIST ? take_items(f, owner, value, answer) : NULL;
        if (f->type == TOOL_LIST && !items)
                return false;
        if (items ? json_object_set_new(taken, f->name, items) == 0 : json_object_set(taken, f->name, value) == 0)
                return true;
        tool_fail(answer, "no memory");
        return false;
}

json_t *tool_fields_take(const struct tool_fields *fields, const char *owner, const json_t *object,
                         struct tool_result *answer)
{
        CLEANUP_JSON json_t *taken = json_object();
        const char *name;
        json_t *value;
        if (!json_is_object(object)) {
                tool_fail(answer, strchr(owner, '[') ? "%s must be an object" : "the arguments of %s must be an object",
                          owner);
                return NULL;
        }
        json_object_foreach ((json_t *)(uintptr_t)object, name, value)
                if (!take_argument(fields, owner, name, value, taken, answer))
                        return NULL;
        for (size_t i = 0; i < fields->count; i++) {
                if (fields->list[i].required && !json_object_get(taken, fields->list[i].name)) {
                        tool_fail(answer, "%s needs the parameter %s", owner, fields->list[i].name);
                        return NULL;
                }
        }
        if (!taken)
                tool_fail(answer, "no memory");
        return TAKE_PTR(taken);
}

/* --- for the tools --- */

const char *tool_arg_string(const json_t *arguments, const char *name)
{
        return json_string_value(json_object_get(arguments, name));
}

size_t tool_arg_word(const json_t *arguments, const char *name, const char *const *words)
{
        const char *word = tool_arg_string(arguments, name);
        for (size_t i = 0; word && words[i]; i++)
                if (strcmp(words[i], word) == 0)
                        return i;
        return 0;
}

json_int_t tool_arg_integer(const json_t *arguments, const char *name, json_int_t fallback)
{
        const json_t *value = json_object_get(arguments, name);
        return value ? json_integer_value(value) : fallback;
}

bool tool_arg_bool(const json_t *arguments, const char *name)
{
        return json_is_true(json_object_get(arguments, name));
}
