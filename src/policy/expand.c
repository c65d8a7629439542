/*
 * Expanding paths; see expand.h. Works on escaped text throughout, so that a directory called `a*b` in a variable
 * cannot turn into a pattern, and resolves the escapes of literal paths at the end.
 */
#include "policy/expand.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "policy/caps.h"
#include "policy/pattern.h"

struct variable {
        const char *name, *written;
        size_t offset; /* in struct expand_names */
        bool internal;
};

static const struct variable variables[] = {
        { "workspace", "{workspace}", offsetof(struct expand_names, workspace), false },
        { "user-data", "{user-data}", offsetof(struct expand_names, user_data), false },
        { "ad-hoc", "{ad-hoc}", offsetof(struct expand_names, ad_hoc), false },
        { "writable", "{writable}", offsetof(struct expand_names, writable), true },
};

struct work {
        struct arena *arena;
        const struct expand_names *names;
        struct text out;
        struct expanded result;
};

/* Whatever happens, the result is then no path: without memory for the sentence, `failed` says so. */
static void refuse(struct work *w, const char *sentence)
{
        w->result.wrong = sentence;
        w->out.failed |= !sentence;
}

static void add_value(struct work *w, const char *value, const char *what)
{
        if (!value || !*value) {
                refuse(w, arena_format(w->arena, "%s has no value here, so the rule would mean nothing", what));
                return;
        }
        const char *escaped = pattern_escape(w->arena, value);
        if (escaped)
                text_add(&w->out, escaped);
        else
                w->out.failed = true;
}

/* The name in {name} or {{name}}; moves *p behind it. */
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

static void add_variable(struct work *w, const char **p)
{
        const char *name = NULL;
        size_t length = 0;
        w->result.hint = "known: {workspace}, {user-data}, {ad-hoc}; write \\{ for the character itself";
        if (!read_name(p, &name, &length)) {
                w->result.wrong = "a '{' begins a variable such as {workspace}";
                return;
        }
        for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
                const struct variable *v = &variables[i];
                const char *value = NULL;
                memcpy(&value, (const char *)w->names + v->offset, sizeof value);
                if (strlen(v->name) != length || strncmp(v->name, name, length) != 0 || (v->internal && !value))
                        continue;
                w->result.hint = NULL;
                add_value(w, value, v->written);
                return;
        }
        refuse(w, arena_format(w->arena, "the variable {%.*s} is not known", (int)length, name));
}

static const char *add_start(struct work *w, const char *base, const char *text)
{
        if (*text == '~') {
                if (text[1] != '/' && text[1] != '\0') {
                        w->result.wrong = "only ~ and ~/… are known, not other people's homes";
                        w->result.hint = "write \\~ for the character itself";
                        return text;
                }
                add_value(w, w->names->home, "~");
                return text + 1;
        }
        if (*text != '/' && *text != '{') {
                add_value(w, base, "the directory that a relative path starts from");
                text_add(&w->out, "/");
        }
        return text;
}

static void add_rest(struct work *w, const char *text)
{
        while (*text && !w->result.wrong && !w->out.failed) {
                if (*text == '{') {
                        add_variable(w, &text);
                } else if (*text == '\\' && text[1] && strchr("{~", text[1])) {
                        text_add_bytes(&w->out, text + 1, 1);
                        text += 2;
                } else {
                        size_t n = *text == '\\' && text[1] ? 2 : strcspn(text, "{\\");
                        text_add_bytes(&w->out, text, n);
                        text += n;
                }
        }
}

static void finish(struct work *w, bool pattern)
{
        if (w->out.failed || !w->out.data)
                return;
        if (w->out.data[0] != '/') {
                w->result.wrong = "the path is not absolute once its variables are filled in";
                return;
        }
        if (w->out.length > CAP_TEXT) {
                w->result.wrong = "the path is longer than 4096 bytes";
                return;
        }
        const char *path = pattern_normalise(w->arena, w->out.data);
        w->result.path = path && !pattern ? pattern_unescape(w->arena, path) : path;
        if (!w->result.path)
                w->result.wrong = "the path has too many names";
}

struct expanded expand_path(struct arena *a, const struct expand_names *names, const char *base, const char *text,
                            bool pattern, bool literal)
{
        struct work w = { .arena = a, .names = names };
        if (literal && !(text[0] == '~' && (text[1] == '/' || text[1] == '\0'))) {
                text = pattern_escape(a, text);
                if (!text)
                        return w.result;
                if (*text != '/')
                        add_value(&w, base, "the current directory");
                text_add(&w.out, *text == '/' ? "" : "/");
                text_add(&w.out, text);
        } else {
                add_rest(&w, add_start(&w, base, text));
        }
        if (!w.result.wrong)
                finish(&w, pattern);
        text_done(&w.out);
        return w.result;
}
