/* What the tools have in common; see tool.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "policy/pattern.h"
#include "tools/tool.h"

const struct tool *const tools[] = {
        &tool_read, &tool_write, &tool_edit, &tool_glob, &tool_grep, &tool_bash, &tool_bash_output, &tool_kill_shell,
        &tool_web_fetch,
};
const size_t tool_count = ARRAY_SIZE(tools);

const struct tool *tool_find(const char *name)
{
        for (size_t i = 0; i < tool_count; i++)
                if (strcmp(tools[i]->name, name) == 0)
                        return tools[i];
        return NULL;
}

/* --- what a client is told --- */

static const char *type_name(enum tool_type type)
{
        return type == TOOL_STRING ? "string" : type == TOOL_INTEGER ? "integer" : "boolean";
}

static json_t *describe_field(const struct tool_field *f)
{
        json_t *o = json_pack("{s:s, s:s}", "type", type_name(f->type), "description", f->help);
        if (o && (f->least || f->most)) {
                json_object_set_new(o, "minimum", json_integer(f->least));
                json_object_set_new(o, "maximum", json_integer(f->most));
        }
        return o;
}

static json_t *describe_fields(const struct tool_field *fields, size_t count)
{
        json_t *properties = json_object(), *required = json_array();
        for (size_t i = 0; i < count; i++) {
                json_object_set_new(properties, fields[i].name, describe_field(&fields[i]));
                if (fields[i].required)
                        json_array_append_new(required, json_string(fields[i].name));
        }
        return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties", properties, "required", required,
                         "additionalProperties", 0);
}

static const struct tool_field workspace_field = {
        "workspace", TOOL_STRING, false, "The workspace that relative paths and commands belong to; the first if it is left out.", 0, 0,
};

static json_t *describe_parameters(const struct tool *t, const struct workspace_name *names, size_t count)
{
        json_t *schema = describe_fields(t->parameters, t->parameter_count);
        if (!t->in_workspace || count < 2)
                return schema;
        json_t *field = describe_field(&workspace_field), *words = json_array();
        for (size_t i = 0; i < count; i++)
                json_array_append_new(words, json_string(names[i].name));
        json_object_set_new(field, "enum", words);
        json_object_set_new(json_object_get(schema, "properties"), workspace_field.name, field);
        return schema;
}

json_t *tool_describe(const struct tool *t, const struct workspace_name *names, size_t count)
{
        json_t *annotations = json_pack("{s:s, s:b, s:b, s:b, s:b}", "title", t->title, "readOnlyHint", t->reads_only,
                                        "destructiveHint", t->destructive, "idempotentHint", t->idempotent,
                                        "openWorldHint", t->open_world);
        return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "name", t->name, "title", t->title, "description", t->help,
                         "inputSchema", describe_parameters(t, names, count), "outputSchema",
                         describe_fields(t->results, t->result_count), "annotations", annotations);
}

/* --- calling --- */

void tool_answer_done(struct tool_answer *answer)
{
        text_done(&answer->text);
        json_decref(answer->structured);
        answer->structured = NULL;
}

void tool_fail(struct tool_answer *answer, const char *format, ...)
{
        char sentence[1024];
        va_list args;
        va_start(args, format);
        (void)vsnprintf(sentence, sizeof sentence, format, args);
        va_end(args);
        text_drop_malformed(sentence); /* it may have been cut inside a character */
        tool_answer_done(answer);
        *answer = (struct tool_answer){ .is_error = true };
        text_add(&answer->text, sentence);
}

/* What a person would have to change. */
static void add_way_out(struct text *out, const struct rule *by, const char *path, bool write)
{
        const char *group = by && by->set ? strrchr(by->set, ' ') : NULL;
        if (by && (by->kind == RULE_PROTECT || by->kind == RULE_DENY_WRITE) && group)
                text_format(out, "filesystem.protect: [-%s] in the policy would allow it", group + 1);
        else if (by && (by->kind == RULE_PROTECT || by->kind == RULE_DENY_WRITE))
                text_add(out, "to allow it, take that rule out");
        else
                text_format(out, "ringwall mcp --%s %s would allow it", write ? "rw" : "ro", path);
}

void toolbox_fail(const struct toolbox *box, struct tool_answer *answer, const struct error *e, const char *path, bool write)
{
        const struct rule *by = NULL;
        CLEANUP_TEXT struct text source = { 0 };
        bool refused = e->code == EACCES || e->code == EPERM || e->code == EROFS;
        tool_fail(answer, "%s", e->text);
        if (!refused || !box->plan || *path != '/' || rules_decide(&box->plan->rules, path, write, &by))
                return; /* or the file's own mode refuses it */
        if (by)
                source_print(by->from, &source);
        text_add(&answer->text, "; the box does not allow it");
        if (by)
                text_format(&answer->text, " (%s %s, from %s)", by->kind == RULE_READ ? "only read" : rule_kind_words[by->kind], by->path,
                            source.data ? source.data : "");
        text_add(&answer->text, "; ");
        add_way_out(&answer->text, by, path, write);
}

static const struct tool_field *find_field(const struct toolbox *box, const struct tool *t, const char *name)
{
        if (t->in_workspace && box->workspace_count > 1 && strcmp(name, workspace_field.name) == 0)
                return &workspace_field;
        for (size_t i = 0; i < t->parameter_count; i++)
                if (strcmp(t->parameters[i].name, name) == 0)
                        return &t->parameters[i];
        return NULL;
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
        }
        return false;
}

static bool check_argument(const struct toolbox *box, const struct tool *t, const char *name, const json_t *value,
                           struct tool_answer *answer)
{
        const struct tool_field *f = find_field(box, t, name);
        if (!f) {
                tool_fail(answer, "%s has no parameter '%.60s'", t->name, name);
        } else if (!has_type(value, f->type)) {
                tool_fail(answer, "the parameter %s of %s must be %s %s", f->name, t->name,
                          f->type == TOOL_INTEGER ? "an" : "a", type_name(f->type));
        } else if (f->type == TOOL_INTEGER && (f->least || f->most) &&
                   (json_integer_value(value) < f->least || json_integer_value(value) > f->most)) {
                tool_fail(answer, "the parameter %s of %s must be from %lld to %lld", f->name, t->name, (long long)f->least,
                          (long long)f->most);
        } else {
                return true;
        }
        return false;
}

static bool check_arguments(const struct toolbox *box, const struct tool *t, const json_t *arguments, struct tool_answer *answer)
{
        const char *name;
        json_t *value;
        json_object_foreach ((json_t *)(uintptr_t)arguments, name, value)
                if (!check_argument(box, t, name, value, answer))
                        return false;
        for (size_t i = 0; i < t->parameter_count; i++) {
                if (t->parameters[i].required && !json_object_get(arguments, t->parameters[i].name)) {
                        tool_fail(answer, "%s needs the parameter %s", t->name, t->parameters[i].name);
                        return false;
                }
        }
        return true;
}

/* An answer is UTF-8 without a NUL, whatever files have in them and are called: no text of JSON could carry it otherwise. */
static void clean(struct text *text)
{
        struct text whole = { 0 }, part = { 0 };
        (void)tool_add_utf8(&whole, text->data, text->length);
        for (size_t at = 0; !whole.failed && at < whole.length;) {
                size_t n = strnlen(whole.data + at, whole.length - at);
                text_add_bytes(&part, whole.data + at, n);
                at += n;
                if (at < whole.length)
                        text_add(&part, "\xef\xbf\xbd");
                at++;
        }
        part.failed |= whole.failed;
        text_done(&whole);
        text_done(text);
        *text = part;
}

static void complete(const struct tool *t, struct tool_answer *answer)
{
        struct text *text = &answer->text;
        if (text->length && (text_utf8_valid(text->data, text->length) != text->length || strlen(text->data) != text->length))
                clean(text);
        if (text->failed || (!answer->is_error && !answer->structured))
                tool_fail(answer, "%s ran out of memory", t->name);
}

/* The workspace that the call is about. */
static bool choose_workspace(struct toolbox *box, const json_t *arguments, struct tool_answer *answer)
{
        const char *asked = tool_string(arguments, workspace_field.name);
        CLEANUP_TEXT struct text known = { 0 };
        box->current = 0;
        for (size_t i = 0; asked && i < box->workspace_count; i++) {
                text_format(&known, "%s%s", i ? ", " : "", box->names[i].name);
                if (strcmp(box->names[i].name, asked) == 0) {
                        box->current = i;
                        return true;
                }
        }
        if (asked)
                tool_fail(answer, "there is no workspace '%.60s'; there are %s", asked, known.data ? known.data : "none");
        return !asked;
}

struct job *toolbox_call(struct toolbox *box, const struct tool *t, const json_t *arguments, struct tool_answer *answer)
{
        struct job *started = NULL;
        *answer = (struct tool_answer){ 0 };
        if (!json_is_object(arguments))
                tool_fail(answer, "%s needs its arguments as an object", t->name);
        else if (check_arguments(box, t, arguments, answer) && choose_workspace(box, arguments, answer) && t->start)
                started = t->start(box, arguments, answer);
        else if (!answer->is_error)
                t->run(box, arguments, answer);
        if (!started)
                complete(t, answer);
        return started;
}

void toolbox_finish(const struct tool *t, struct job *j, struct tool_answer *answer)
{
        *answer = (struct tool_answer){ 0 };
        t->finish(j, answer);
        complete(t, answer);
}

/* --- for the tools --- */

bool tool_add_utf8(struct text *out, const char *bytes, size_t length)
{
        bool foreign = false;
        while (length) {
                size_t good = text_utf8_valid(bytes, length);
                text_add_bytes(out, bytes, good);
                if (good == length)
                        break;
                text_add(out, "\xef\xbf\xbd");
                foreign = true;
                bytes += good + 1;
                length -= good + 1;
        }
        return foreign;
}

const char *tool_string(const json_t *arguments, const char *name)
{
        return json_string_value(json_object_get(arguments, name));
}

json_int_t tool_integer(const json_t *arguments, const char *name, json_int_t fallback)
{
        const json_t *value = json_object_get(arguments, name);
        return value ? json_integer_value(value) : fallback;
}

bool tool_flag(const json_t *arguments, const char *name)
{
        return json_is_true(json_object_get(arguments, name));
}

/* An absolute path that is in none of several. */
static void fail_outside_all(const struct toolbox *box, const char *path, struct tool_answer *answer)
{
        CLEANUP_TEXT struct text shown = { 0 }, roots = { 0 };
        text_add_visible(&shown, path, strlen(path));
        for (size_t i = 0; i < box->workspace_count; i++)
                text_format(&roots, "%s%s", i ? ", " : "", workspace_root(box->workspaces[i]));
        tool_fail(answer, "path is outside workspace root: %s is in none of %s", shown.data ? shown.data : "it",
                  roots.data ? roots.data : "them");
}

/* On its way to a path it was refused: which one that is, the rules know. */
static void fail_to_find(const struct toolbox *box, const struct workspace *w, const char *path, const struct error *e,
                         struct tool_answer *answer)
{
        CLEANUP_TEXT struct text whole = { 0 };
        CLEANUP_ARENA struct arena *arena = arena_new((size_t)1 << 20);
        if (*path != '/')
                text_format(&whole, "%s/", workspace_root(w));
        text_add(&whole, path);
        const char *normal = arena && whole.data ? pattern_normalise(arena, whole.data) : NULL;
        toolbox_fail(box, answer, e, normal ? normal : "", false);
}

const struct workspace *toolbox_find(const struct toolbox *box, const char *path, struct spot *ret, struct tool_answer *answer)
{
        bool anywhere = *path == '/';
        for (size_t i = anywhere ? 0 : box->current; i < box->workspace_count; i++) {
                struct error e = { 0 };
                if (workspace_find(box->workspaces[i], path, ret, &e) == 0)
                        return box->workspaces[i];
                if (anywhere && e.code == EXDEV && box->workspace_count > 1)
                        continue; /* it may be another's */
                fail_to_find(box, box->workspaces[i], path, &e, answer);
                return NULL;
        }
        fail_outside_all(box, path, answer);
        return NULL;
}

bool toolbox_may_change(const struct toolbox *box, const struct spot *s, const char *verb, struct tool_answer *answer)
{
        switch (tracker_ask(box->tracker, s->path, &s->st)) {
        case TRACKED_NEVER:
                tool_fail(answer, "refusing to %s %s: Read it first", verb, s->path);
                return false;
        case TRACKED_CHANGED:
                tool_fail(answer, "refusing to %s %s: it changed since you read it: Read it again", verb, s->path);
                return false;
        case TRACKED_SAME:
                break;
        }
        return true;
}

const char *tool_kind_of(mode_t mode)
{
        return S_ISDIR(mode) ? "a directory" : S_ISFIFO(mode) ? "a fifo" : S_ISSOCK(mode) ? "a socket"
             : S_ISBLK(mode) || S_ISCHR(mode) ? "a device" : "no regular file";
}
