/*
 * Path expansion; see expand_path.h. The text stays escaped until the end, so that a variable with the value `/a*b`
 * cannot become a pattern. Literal paths are unescaped as the last step.
 */
#include "policy/expand_path.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "policy/input_limits.h"
#include "policy/path_pattern.h"

struct variable {
        const char *name, *written; /* without braces, and with them */
        size_t offset; /* in struct path_variables */
};

static const struct variable variables[] = {
        { "workspace", "{workspace}", offsetof(struct path_variables, workspace) },
        { "user-data", "{user-data}", offsetof(struct path_variables, user_data) },
        { "user-state", "{user-state}", offsetof(struct path_variables, user_state) },
        { "ad-hoc", "{ad-hoc}", offsetof(struct path_variables, ad_hoc) },
};

struct expansion {
        struct arena *arena;
        const struct path_variables *names;
        struct text buffer; /* the escaped path so far */
        struct expanded_path result;
};

/* Makes the expansion fail with this sentence. NULL: there was no memory for one. */
static void refuse(struct expansion *x, const char *sentence)
{
        x->result.wrong = sentence;
        x->buffer.failed |= !sentence;
}

static void add_value(struct expansion *x, const char *value, const char *what)
{
        if (!value || !*value) {
                refuse(x, arena_format(x->arena, "%s has no value here, so the rule would mean nothing", what));
                return;
        }
        const char *escaped = path_pattern_escape(x->arena, value);
        if (escaped)
                text_add(&x->buffer, escaped);
        else
                x->buffer.failed = true;
}

/* Parses {name} or {{name}} and moves *p past it. */
static bool read_name(const char **p, const char **ret_name, size_t *ret_length)
{
        size_t braces = (*p)[1] == '{' ? 2 : 1;
        const char *name = *p + braces;
        size_t length = strcspn(name, "{}/");
        if (length == 0 || strncmp(name + length, "}}", braces) != 0)
                return false;
        *p = name + length + braces;
        *ret_name = name;
        *ret_length = length;
        return true;
}

static void add_variable(struct expansion *x, const char **p)
{
        const char *name = NULL;
        size_t length = 0;
        x->result.hint = "known: {workspace}, {user-data}, {user-state}, {ad-hoc}; write \\{ for the character itself";
        if (!read_name(p, &name, &length)) {
                x->result.wrong = "a '{' begins a variable such as {workspace}";
                return;
        }
        for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
                const struct variable *v = &variables[i];
                const char *value = NULL;
                memcpy(&value, (const char *)x->names + v->offset, sizeof value);
                if (strlen(v->name) != length || strncmp(v->name, name, length) != 0)
                        continue;
                x->result.hint = NULL;
                add_value(x, value, v->written);
                return;
        }
        refuse(x, arena_format(x->arena, "the variable {%.*s} is not known", (int)length, name));
}

static const char *add_start(struct expansion *x, const char *base, const char *text)
{
        if (*text == '~') {
                if (text[1] != '/' && text[1] != '\0') {
                        x->result.wrong = "only ~ and ~/… are supported, not the home of another user";
                        x->result.hint = "write \\~ for the character itself";
                        return text;
                }
                add_value(x, x->names->home, "~");
                return text + 1;
        }
        if (*text != '/' && *text != '{') {
                add_value(x, base, "the directory that a relative path starts from");
                text_add(&x->buffer, "/");
        }
        return text;
}

static void add_rest(struct expansion *x, const char *text)
{
        while (*text && !x->result.wrong && !x->buffer.failed) {
                if (*text == '{') {
                        add_variable(x, &text);
                } else if (*text == '\\' && text[1] && strchr("{~", text[1])) {
                        /* '{' and '~' are not special in a pattern, so the backslash is dropped. */
                        text_add_bytes(&x->buffer, text + 1, 1);
                        text += 2;
                } else {
                        size_t n = *text != '\\' ? strcspn(text, "{\\") : text[1] ? 2 : 1;
                        text_add_bytes(&x->buffer, text, n);
                        text += n;
                }
        }
}

static void finish(struct expansion *x, bool pattern)
{
        if (x->buffer.failed || !x->buffer.data)
                return;
        if (x->buffer.data[0] != '/') {
                x->result.wrong = "the path is not absolute once its variables are filled in";
                return;
        }
        if (x->buffer.length > POLICY_TEXT_MAX) {
                x->result.wrong = "the path is longer than 4096 bytes";
                return;
        }
        const char *path = path_normalize(x->arena, x->buffer.data);
        for (const char *name = path; name && *name; name += strcspn(name, "/")) {
                name++;
                if (strcspn(name, "/") > PATH_NAME_MAX) {
                        x->result.wrong = "a name in the path is longer than 255 bytes";
                        return;
                }
        }
        /* The reader checked the text; check again, because a variable or `..` may be inside a character class. */
        x->result.wrong = path ? path_pattern_check(path) : "the path has too many names";
        if (path && !x->result.wrong)
                x->result.path = pattern ? path : path_pattern_unescape(x->arena, path);
}

/* A path without variables and escapes: only ~ alone and a leading ~/ are special. */
static void add_literal(struct expansion *x, const char *base, const char *text)
{
        if (text[0] == '~' && (text[1] == '/' || text[1] == '\0')) {
                add_value(x, x->names->home, "~");
                text++;
        } else if (*text != '/') {
                add_value(x, base, "the current directory");
                text_add(&x->buffer, "/");
        }
        const char *escaped = path_pattern_escape(x->arena, text);
        if (escaped)
                text_add(&x->buffer, escaped);
        x->buffer.failed |= !escaped;
}

struct expanded_path expand_path(struct arena *a, const struct path_variables *names, const char *base,
                                 const char *text, bool pattern, bool literal)
{
        struct expansion x = { .arena = a, .names = names };
        if (literal)
                add_literal(&x, base, text);
        else
                add_rest(&x, add_start(&x, base, text));
        if (!x.result.wrong)
                finish(&x, pattern);
        text_done(&x.buffer);
        return x.result;
}
