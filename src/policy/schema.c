/*
 * JSON Schema; see schema.h. A schema checks words, bounds and unknown keys. Checks that depend on the machine or on
 * two keys at once are left to the compiler.
 */
#include "policy/schema.h"

#include <stdio.h>
#include <string.h>

#include "policy/input_limits.h"
#include "policy/keys.h"

/* The regular expressions of values that have one. Quantities may be numbers too. */
static const char *const expressions[] = {
        [VALUE_SIZE] = "^[0-9]+(\\.[0-9]{1,9})? *([KkMmGgTt]?[Ii]?[Bb]?|bytes)$",
        [VALUE_CPU] = "^[0-9]+(\\.[0-9]{1,9})? *(cores?|cpus?|%)?$",
        [VALUE_DURATION] = "^[0-9]+(\\.[0-9]{1,9})? *(d|h|m|s|min|seconds|minutes|hours)?$|^([0-9]+[dhms])+$",
        [VALUE_ENV] = "^[A-Za-z_*][A-Za-z0-9_*]*$|^[A-Za-z_][A-Za-z0-9_]*=[\\s\\S]*$",
        [VALUE_DOMAIN] = "^[+-]?[^\\s/@?#]+$",
        [VALUE_COMMAND] = "^[^\\s/]+( [^\\s/-][^\\s/]*)*$",
        [VALUE_MAP] = NULL,
};

static json_t *bounded_number(const struct key *key, const char *type)
{
        json_t *o = json_pack("{s:s}", "type", type);
        if (key->kind == VALUE_NUMBER || key->kind == VALUE_DURATION || key->kind == VALUE_SIZE) {
                json_object_set_new(o, "minimum", json_integer((json_int_t)key->min));
                json_object_set_new(o, "maximum", json_integer((json_int_t)key->max));
        }
        if (key->kind == VALUE_CPU)
                json_object_set_new(o, "exclusiveMinimum", json_integer(0));
        return o;
}

static json_t *schema_of_words(const struct key *key)
{
        json_t *words = json_array();
        for (size_t i = 0; key->words[i]; i++)
                json_array_append_new(words, json_string(key->words[i]));
        return json_pack("{s:o}", "enum", words);
}

static json_t *schema_of_value(const struct key *key)
{
        switch (key->kind) {
        case VALUE_WORD:
                return schema_of_words(key);
        case VALUE_BOOL:
                return json_pack("{s:s}", "type", "boolean");
        case VALUE_NUMBER:
                return bounded_number(key, "integer");
        case VALUE_SIZE:
        case VALUE_CPU:
        case VALUE_DURATION:
                return json_pack("{s:[o, {s:s, s:s}]}", "anyOf",
                                 bounded_number(key, key->kind == VALUE_CPU ? "number" : "integer"), "type", "string",
                                 "pattern", expressions[key->kind]);
        case VALUE_ENV:
        case VALUE_DOMAIN:
        case VALUE_COMMAND:
                return json_pack("{s:s, s:s}", "type", "string", "pattern", expressions[key->kind]);
        case VALUE_PATH:
        case VALUE_GRANT:
        case VALUE_PATTERN:
                return json_pack("{s:s, s:i, s:i}", "type", "string", "minLength", 1, "maxLength", 4096);
        case VALUE_TEXT:
                return json_pack("{s:[s, s, s]}", "type", "string", "number", "boolean");
        case VALUE_MAP:
                break;
        }
        return json_object();
}

static json_t *schema_of_key(const struct key *key)
{
        json_t *value = schema_of_value(key);
        if (key->list) {
                /* A list without a value (null) is empty. */
                json_t *list = json_pack("{s:[s, s], s:o}", "type", "array", "null", "items", value);
                value = key->one_or_list ? json_pack("{s:[o, {s:s}]}", "anyOf", list, "type", "string") : list;
        }
        json_object_set_new(value, "description", json_string(key->help));
        if (key->fallback)
                json_object_set_new(value, "$comment", json_sprintf("default: %s", key->fallback));
        return value;
}

static json_t *schema_of_map(const char *path);

static json_t *schema_at(const char *path)
{
        const struct key *key = key_find(path);
        if (key && key->kind != VALUE_MAP)
                return schema_of_key(key);
        json_t *map = schema_of_map(path);
        if (key)
                json_object_set_new(map, "description", json_string(key->help));
        return map;
}

/* The recursion follows the table, whose depth is fixed. */
static json_t *schema_of_map(const char *path)
{
        json_t *map = json_pack("{s:[s, s]}", "type", "object", "null"), *properties = json_object();
        size_t position = 0, length = 0;
        const char *name = NULL;
        bool has_star = false;
        while (key_iterate_children(path, &position, &name, &length)) {
                char child[160];
                (void)snprintf(child, sizeof child, "%s%s%.*s", path, *path ? "." : "", (int)length, name);
                has_star = *name == '*';
                if (has_star)
                        json_object_set_new(map, "additionalProperties", schema_at(child));
                else
                        json_object_set_new(properties, strrchr(child, '.') ? strrchr(child, '.') + 1 : child,
                                            schema_at(child));
        }
        json_object_set_new(map, "properties", properties);
        if (!has_star)
                json_object_set_new(map, "additionalProperties", json_false());
        if (strcmp(path, keys[KEY_SERVER].path) == 0)
                json_object_set_new(map, "required", json_pack("[s]", "sandbox"));
        if (has_star && text_has_prefix(keys[KEY_SECRET].path, path)) {
                json_object_set_new(map, "propertyNames", json_pack("{s:s}", "pattern", "^[a-z0-9-]+$"));
                json_object_set_new(map, "maxProperties", json_integer(POLICY_SECRETS_MAX));
        }
        return map;
}

json_t *schema_of_policy(void)
{
        json_t *schema = json_pack("{s:s, s:s, s:s}", "$schema", "https://json-schema.org/draft/2020-12/schema",
                                   "title", "ringwall policy", "description",
                                   "What an agent's programs may do. See ringwall-policy(5).");
        json_t *map = schema_of_map("");
        if (schema && map)
                json_object_update(schema, map);
        json_decref(map);
        return schema;
}
