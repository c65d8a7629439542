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
};

static const struct variable variables[] = {
        { "workspace", "{workspace}", offsetof(struct expand_names, workspace) },
        { "user-data", "{user-data}", offsetof(struct expand_names, user_data) },
        { "ad-hoc", "{ad-hoc}", offsetof(struct expand_names, ad_hoc) },
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
                if (strlen(v->name) != length || strncmp(v->name, name, length) != 0)
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
                        /* Past this point they are ordinary. */
                        text_add_bytes(&w->out, text + 1, 1);
                        text += 2;
                } else {
                        size_t n = *text != '\\' ? strcspn(text, "{\\") : text[1] ? 2 : 1;
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
        for (const char *name = path; name && *name; name += strcspn(name, "/")) {
                name++;
                if (strcspn(name, "/") > CAP_NAME) {
                        w->result.wrong = "a name in the path is longer than 255 bytes";
                        return;
                }
        }
        /* Once more, because a variable or a `..` may have fallen into the middle of a class. */
        w->result.wrong = path ? pattern_check(path) : "the path has too many names";
        if (path && !w->result.wrong)
                w->result.path = pattern ? path : pattern_unescape(w->arena, path);
}

/* A path as the system spells it: only a leading ~/ is special. */
static void add_literal(struct work *w, const char *base, const char *text)
{
        if (text[0] == '~' && (text[1] == '/' || text[1] == '\0')) {
                add_value(w, w->names->home, "~");
                text++;
        } else if (*text != '/') {
                add_value(w, base, "the current directory");
                text_add(&w->out, "/");
        }
        const char *escaped = pattern_escape(w->arena, text);
        if (escaped)
                text_add(&w->out, escaped);
        w->out.failed |= !escaped;
}

struct expanded expand_path(struct arena *a, const struct expand_names *names, const char *base, const char *text,
                            bool pattern, bool literal)
{
        struct work w = { .arena = a, .names = names };
        if (literal)
                add_literal(&w, base, text);
        else
                add_rest(&w, add_start(&w, base, text));
        if (!w.result.wrong)
                finish(&w, pattern);
        text_done(&w.out);
        return w.result;
}
