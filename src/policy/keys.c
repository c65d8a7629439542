/* The table of keys, and how each kind of value is written; see keys.h. */
#include "policy/keys.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "policy/input_limits.h"
#include "policy/module_rights.h"
#include "policy/path_pattern.h"
#include "policy/units.h"

const char *const level_words[] = { "off", "standard", "strict", "maximum", NULL };
const char *const namespace_words[] = { "user", "pid", "mount", "ipc", "uts", "cgroup", "net", NULL };
const char *const read_words[] = { "listed", "broad", NULL };
const char *const live_words[] = { "off", "new", "all", NULL };
const char *const workspace_words[] = { "rw", "ro", NULL };
const char *const mode_words[] = { "accept-edits", "auto", NULL };
const char *const transport_words[] = { "stdio", "sse", "http", NULL };
#define WORD(word, granted, of_server) word,
const char *const permission_words[] = { PERMISSIONS(WORD) NULL };

#define KEY(id_, path_, kind_, ...) \
        [KEY_##id_] = { .path = (path_), .kind = (kind_), __VA_ARGS__, .flag.id = KEY_FLAG_ID + KEY_##id_ },
#define SCALAR_KEY(id_, path_, kind_, name_, ceiling_, ...) \
        KEY(id_, path_, kind_, .scalar = PLAN_##id_, .name = (name_), .ceiling = (ceiling_), __VA_ARGS__)
const struct key keys[KEY_COUNT] = {
#include "policy/keys.inc"
};

int key_word_index(const char *const *words, const char *word)
{
        for (int i = 0; words[i]; i++)
                if (strcmp(words[i], word) == 0)
                        return i;
        return -1;
}

static const char *check_quantity(const struct key *key, bool parsed, uint64_t number, struct value *ret)
{
        if (!parsed)
                return "this is not a valid value";
        if (number < key->min)
                return "this is too small";
        if (number > key->max)
                return "this is too large";
        ret->number = number;
        return NULL;
}

static const char *parse_word(const struct key *key, const char *text, struct value *ret)
{
        int index = key_word_index(key->words, text);
        if (index < 0)
                return "this is not a known word";
        ret->number = (uint64_t)index;
        return NULL;
}

static const char *parse_bool(const char *text, struct value *ret)
{
        ret->number = strcmp(text, "true") == 0;
        return ret->number || strcmp(text, "false") == 0 ? NULL : "this is neither true nor false";
}

/* Removes a suffix :ro or :rw. Only a whole suffix at the end counts: /data/repo is a path. */
static const char *parse_grant(const struct key *key, struct value *ret)
{
        ret->number = key->defaults_to_write ? ACCESS_WRITE : ACCESS_READ;
        size_t n = ret->length;
        if (n < 3 || ret->text[n - 3] != ':')
                return NULL;
        bool ro = strcmp(ret->text + n - 2, "ro") == 0, rw = strcmp(ret->text + n - 2, "rw") == 0;
        if (!ro && !rw)
                return NULL;
        ret->number = rw ? ACCESS_WRITE : ACCESS_READ_ONLY;
        ret->length = n - 3;
        return ret->length ? NULL : "the path before the suffix is empty";
}

static const char *parse_path(struct arena *a, const struct key *key, const char *text, struct value *ret)
{
        size_t n = ret->length;
        if (key->may_be_optional && n > 1 && text[n - 1] == '?' && text[n - 2] != '\\') {
                ret->optional = true;
                ret->length = n - 1;
                ret->text = text = arena_strndup(a, text, n - 1);
                if (!text)
                        return "there is no memory for it";
        }
        if (!*text)
                return "the path is empty";
        if (key->kind == VALUE_PATTERN)
                return path_pattern_check(text);
        if (path_pattern_is_glob(text))
                return "a pattern cannot be granted: name the directory (write \\* for the character itself)";
        const char *wrong = path_pattern_check(text);
        if (wrong)
                return wrong;
        return key->kind == VALUE_GRANT ? parse_grant(key, ret) : NULL;
}

/* A name, or a name and the words after it: git push. */
static const char *parse_command(const char *text)
{
        if (!*text)
                return "the name is empty";
        if (strchr(text, '/'))
                return "a command is denied in every directory: write its name alone";
        if (strpbrk(text, "\t\n") || *text == ' ' || strstr(text, "  ") || text[strlen(text) - 1] == ' ')
                return "one space separates a command and its subcommand";
        if (strstr(text, " -"))
                return "options cannot be denied: write a command, or a command and its subcommand, such as git push";
        if (strlen(text) > PATH_NAME_MAX)
                return "this is longer than a file name can be";
        if (strcmp(text, "**") == 0)
                return "write * for every name";
        return path_pattern_check(text);
}

static const char *parse_env(const char *text)
{
        size_t n = strcspn(text, "=");
        if (n == 0 || isdigit((unsigned char)*text))
                return "a variable's name begins with a letter or '_'";
        for (size_t i = 0; i < n; i++)
                if (!isalnum((unsigned char)text[i]) && text[i] != '_' && text[i] != '*')
                        return "a variable's name has only letters, digits and '_'";
        return text[n] && memchr(text, '*', n) ? "a pattern passes variables on and can have no value" : NULL;
}

const char *key_parse_value(struct arena *a, const struct key *key, const char *text, to_ascii_function *to_ascii,
                            struct value *ret)
{
        uint64_t n = 0;
        unsigned long long number = 0;
        *ret = (struct value){ .text = text, .length = strlen(text) };
        switch (key->kind) {
        case VALUE_WORD:
                return parse_word(key, text, ret);
        case VALUE_BOOL:
                return parse_bool(text, ret);
        case VALUE_NUMBER: {
                bool parsed = text_parse_unsigned(text, ret->length, &number);
                return check_quantity(key, parsed, number, ret);
        }
        case VALUE_SIZE: {
                bool parsed = units_parse_size(text, &n);
                return check_quantity(key, parsed, n, ret);
        }
        case VALUE_CPU: {
                bool parsed = units_parse_cpu(text, &n);
                return check_quantity(key, parsed, n, ret);
        }
        case VALUE_DURATION: {
                bool parsed = units_parse_duration(text, &n);
                return check_quantity(key, parsed, n, ret);
        }
        case VALUE_PATH:
        case VALUE_GRANT:
        case VALUE_PATTERN:
                return parse_path(a, key, text, ret);
        case VALUE_DOMAIN:
                return host_pattern_parse(a, text, to_ascii, &ret->domain);
        case VALUE_COMMAND:
                return parse_command(text);
        case VALUE_ENV:
                return parse_env(text);
        case VALUE_TEXT:
        case VALUE_MAP:
                break;
        }
        return NULL;
}

const char *key_check_secret(const char *name, const char *expression)
{
        size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
        if (!length || name[length])
                return "the name of a secret may have only lower-case letters, digits and hyphens";
        if (!*expression)
                return "an empty expression matches everything";
        return strlen(expression) > POLICY_EXPRESSION_MAX ? "the expression is too long" : NULL;
}

static void describe_bounds(const struct key *key, const char *what, void (*print)(uint64_t, struct text *),
                            struct text *out)
{
        text_format(out, "%s of at least ", what);
        print(key->min, out);
        text_add(out, " and at most ");
        print(key->max, out);
}

void key_expected_text(const struct key *key, struct text *out)
{
        switch (key->kind) {
        case VALUE_WORD:
                text_add(out, "one of ");
                for (size_t i = 0; key->words[i]; i++)
                        text_format(out, "%s%s", i ? ", " : "", key->words[i]);
                break;
        case VALUE_BOOL:
                text_add(out, "true or false");
                break;
        case VALUE_NUMBER:
                text_format(out, "a whole number from %llu to %llu", (unsigned long long)key->min,
                            (unsigned long long)key->max);
                break;
        case VALUE_SIZE:
                describe_bounds(key, "a size such as 512MB or 1.5GiB,", units_print_size, out);
                break;
        case VALUE_CPU:
                describe_bounds(key, "a number of cores such as 2, 0.5 or 150%,", units_print_cpu, out);
                break;
        case VALUE_DURATION:
                describe_bounds(key, "seconds, or a duration such as 10m or 1h30m,", units_print_duration, out);
                break;
        case VALUE_PATH:
                text_add(out, "a path: absolute, ~/…, {workspace}/…, or relative");
                break;
        case VALUE_GRANT:
                text_add(out, "a path, optionally followed by :ro or :rw, and by ? if it may be missing");
                break;
        case VALUE_PATTERN:
                text_add(out, "a path or a pattern with *, ?, [] and **");
                break;
        case VALUE_DOMAIN:
                text_add(out, "a host such as example.com, *.example.com or example.com:8443");
                break;
        case VALUE_COMMAND:
                text_add(out, "a command's name, or a pattern with *, ? and []");
                break;
        case VALUE_ENV:
                text_add(out, "NAME, NAME=VALUE, or a pattern such as PREFIX_*");
                break;
        case VALUE_TEXT:
                text_add(out, "text");
                break;
        case VALUE_MAP:
                text_add(out, "a map");
                break;
        }
}

const struct key *key_find(const char *path)
{
        for (size_t i = 0; i < KEY_COUNT; i++)
                if (strcmp(keys[i].path, path) == 0)
                        return &keys[i];
        return NULL;
}

/* The name directly below prefix in this row's path, or NULL. */
static const char *child_of(const char *path, const char *prefix, size_t *ret_length)
{
        size_t n = strlen(prefix);
        if (n) {
                if (strncmp(path, prefix, n) != 0 || path[n] != '.')
                        return NULL;
                path += n + 1;
        }
        *ret_length = strcspn(path, ".");
        return path;
}

bool key_iterate_children(const char *prefix, size_t *position, const char **ret_name, size_t *ret_length)
{
        for (; *position < KEY_COUNT; ++*position) {
                const char *name = child_of(keys[*position].path, prefix, ret_length);
                bool seen = false;
                for (size_t i = 0; name && !seen && i < *position; i++) {
                        size_t length = 0;
                        const char *earlier = child_of(keys[i].path, prefix, &length);
                        seen = earlier && length == *ret_length && strncmp(earlier, name, length) == 0;
                }
                if (!name || seen)
                        continue;
                *ret_name = name;
                ++*position;
                return true;
        }
        return false;
}

bool key_is_for_ceilings(const struct key *key)
{
        return key->name ? key->ceiling != CEILING_NOT_ALLOWED : key->in_ceiling;
}

bool key_has_single_value(const struct key *key)
{
        return key->name && !key->list;
}

uint64_t key_default_scalar(const struct key *key)
{
        struct value v = { 0 };
        return key->fallback && !key_parse_value(NULL, key, key->fallback, NULL, &v) ? v.number : 0;
}
