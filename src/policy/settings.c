/* Settings: the checks that files and flags share; see settings.h. */
#include "policy/settings.h"

#include <errno.h>
#include <string.h>

#include "policy/input_limits.h"

void settings_init(struct settings *s, struct arena *a, struct diagnostics *m, to_ascii_function *to_ascii)
{
        *s = (struct settings){ .arena = a, .messages = m, .to_ascii = to_ascii };
}

int settings_append(struct settings *s, const struct setting *in)
{
        if (s->count >= POLICY_SETTINGS_MAX) {
                diagnostic_error(s->messages, in->from, NULL, "the policy has more than %d values",
                                 POLICY_SETTINGS_MAX);
                return 1;
        }
        struct setting *slot = arena_array_push(s->arena, &s->list, &s->count, sizeof *slot);
        if (!slot)
                return -ENOMEM;
        *slot = *in;
        slot->layer = s->layer;
        return 0;
}

static size_t count_words(const char *const *words)
{
        size_t n = 0;
        while (words[n])
                n++;
        return n;
}

static void report_value(struct settings *s, const struct setting *in, const char *text, const char *wrong)
{
        const struct key *key = &keys[in->key];
        CLEANUP_TEXT struct text hint = { 0 };
        text_add(&hint, "expected ");
        key_expected_text(key, &hint);
        const char *near = key->kind == VALUE_WORD ? text_suggest(text, key->words, count_words(key->words)) : NULL;
        if (near)
                text_format(&hint, "; did you mean '%s'?", near);
        diagnostic_error(s->messages, in->from, hint.data, "'%.100s' for %s: %s", text, key->path, wrong);
}

int settings_add(struct settings *s, struct setting in, const char *text)
{
        const struct key *key = &keys[in.key];
        if (key->managed && (*text == '+' || *text == '-')) {
                in.sign = *text == '+' ? SIGN_PLUS : SIGN_MINUS;
                text++;
                /* The compiler checks the name: it may be a set, a group or a pattern. */
                in.text = text;
                if (!*text)
                        diagnostic_error(s->messages, in.from, "write +name or -name", "a sign alone is not a name");
                return !*text ? 1 : settings_append(s, &in);
        }
        struct value v;
        const char *wrong = key_parse_value(s->arena, key, text, s->to_ascii, &v);
        if (wrong) {
                report_value(s, &in, text, wrong);
                return 1;
        }
        in.text = text[v.length] ? arena_strndup(s->arena, text, v.length) : text;
        in.number = v.number;
        in.optional |= v.optional;
        in.domain = v.domain;
        return in.text ? settings_append(s, &in) : -ENOMEM;
}

/* The checks that a file gets as a whole, for a value from the command line. */
static int check_flag_text(struct settings *s, struct source from, const char *text)
{
        size_t length = strlen(text);
        if (length <= POLICY_TEXT_MAX && text_utf8_valid_length(text, length) == length)
                return 0;
        diagnostic_error(s->messages, from, "a value is UTF-8 text of at most 4096 bytes", "the value cannot be used");
        return 1;
}

int settings_add_flag(struct settings *s, enum key_id key, const char *text, const char *from, const char *base)
{
        struct setting in = { .key = key, .base = base, .from = { .name = from } };
        int r = check_flag_text(s, in.from, text);
        if (r)
                return r;
        const char *copy = arena_strdup(s->arena, text);
        return copy ? settings_add(s, in, copy) : -ENOMEM;
}

int settings_add_grant(struct settings *s, enum access access, const char *path, const char *from, const char *base)
{
        struct setting in = {
                .key = KEY_ALLOW_PATHS, .number = access, .literal = true, .base = base, .from = { .name = from },
        };
        int r = check_flag_text(s, in.from, path);
        if (r)
                return r;
        if (!*path) {
                diagnostic_error(s->messages, in.from, "name a file or a directory", "the path is empty");
                return 1;
        }
        size_t length = strlen(path);
        in.optional = length > 1 && path[length - 1] == '?';
        in.text = arena_strndup(s->arena, path, length - in.optional);
        return in.text ? settings_append(s, &in) : -ENOMEM;
}
