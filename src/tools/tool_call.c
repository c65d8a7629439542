/* What the tools share: arguments, answers, paths; see tool.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "policy/path_pattern.h"
#include "tools/tool.h"

const struct tool *const tool_table[] = {
        &tool_read, &tool_write, &tool_edit, &tool_glob, &tool_grep, &tool_bash, &tool_bash_output, &tool_kill_shell,
        &tool_web_fetch,
};
const size_t tool_count = ARRAY_SIZE(tool_table);

const struct tool *tool_find(const char *name)
{
        for (size_t i = 0; i < tool_count; i++)
                if (strcmp(tool_table[i]->name, name) == 0)
                        return tool_table[i];
        return NULL;
}

/* --- descriptions for a client --- */

static const char *type_name(enum tool_type type)
{
        return type == TOOL_STRING ? "string" : type == TOOL_INTEGER ? "integer" : "boolean";
}

static json_t *describe_field(const struct tool_param *f)
{
        json_t *o = json_pack("{s:s, s:s}", "type", type_name(f->type), "description", f->help);
        if (o && (f->min || f->max)) {
                json_object_set_new(o, "minimum", json_integer(f->min));
                json_object_set_new(o, "maximum", json_integer(f->max));
        }
        return o;
}

static json_t *describe_fields(const struct tool_param *fields, size_t count)
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

static const struct tool_param workspace_field = {
        "workspace", TOOL_STRING,
        false,       "The workspace for relative paths and commands; default: the first.",
        0,           0,
};

static json_t *describe_parameters(const struct tool *t, const struct named_workspace *names, size_t count)
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

json_t *tool_describe(const struct tool *t, const struct named_workspace *names, size_t count)
{
        json_t *annotations = json_pack("{s:s, s:b, s:b, s:b, s:b}", "title", t->title, "readOnlyHint", t->reads_only,
                                        "destructiveHint", t->destructive, "idempotentHint", t->idempotent,
                                        "openWorldHint", t->open_world);
        return json_pack("{s:s, s:s, s:s, s:o, s:o}", "name", t->name, "title", t->title, "description", t->help,
                         "inputSchema", describe_parameters(t, names, count), "annotations", annotations);
}

/* --- calling --- */

void tool_result_done(struct tool_result *answer)
{
        text_done(&answer->text);
        json_decref(answer->details);
        answer->details = NULL;
}

void tool_fail(struct tool_result *answer, const char *format, ...)
{
        char sentence[1024];
        va_list args;
        va_start(args, format);
        (void)vsnprintf(sentence, sizeof sentence, format, args);
        va_end(args);
        text_remove_invalid_utf8(sentence); /* vsnprintf() may have cut inside a character */
        tool_result_done(answer);
        *answer = (struct tool_result){ .is_error = true };
        text_add(&answer->text, sentence);
}

/* Adds what the user would have to change. */
static void add_remedy(struct text *out, const struct rule *by, const char *path, bool write)
{
        const char *group = by && by->set ? strrchr(by->set, ' ') : NULL;
        if (by && (by->kind == RULE_PROTECT || by->kind == RULE_DENY_WRITE) && group)
                text_format(out, "filesystem.protect: [-%s] in the policy would allow it", group + 1);
        else if (by && (by->kind == RULE_PROTECT || by->kind == RULE_DENY_WRITE))
                text_add(out, "to allow it, remove that rule");
        else
                text_format(out, "ringwall mcp --%s %s would allow it", write ? "rw" : "ro", path);
}

void tool_fail_with_rule(const struct tool_context *tools, struct tool_result *answer, const struct error *e,
                         const char *path, bool write)
{
        const struct rule *by = NULL;
        CLEANUP_TEXT struct text source = { 0 };
        bool refused = e->code == EACCES || e->code == EPERM || e->code == EROFS;
        tool_fail(answer, "%s", e->text);
        if (!refused || !tools->plan || *path != '/' || rules_decide(&tools->plan->rules, path, write, &by))
                return; /* the plan allows it, so the file's mode refused it */
        if (by)
                source_print(by->from, &source);
        text_add(&answer->text, "; the box does not allow it");
        if (by)
                text_format(&answer->text, " (%s %s, from %s)",
                            by->kind == RULE_READ ? "only read" : rule_kind_words[by->kind], by->path,
                            source.data ? source.data : "");
        text_add(&answer->text, "; ");
        add_remedy(&answer->text, by, path, write);
}

static const struct tool_param *find_field(const struct tool_context *tools, const struct tool *t, const char *name)
{
        if (t->in_workspace && tools->workspace_count > 1 && strcmp(name, workspace_field.name) == 0)
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

static bool check_argument(const struct tool_context *tools, const struct tool *t, const char *name,
                           const json_t *value, struct tool_result *answer)
{
        const struct tool_param *f = find_field(tools, t, name);
        if (!f) {
                tool_fail(answer, "%s has no parameter '%.60s'", t->name, name);
        } else if (!has_type(value, f->type)) {
                tool_fail(answer, "the parameter %s of %s must be %s %s", f->name, t->name,
                          f->type == TOOL_INTEGER ? "an" : "a", type_name(f->type));
        } else if (f->type == TOOL_INTEGER && (f->min || f->max) &&
                   (json_integer_value(value) < f->min || json_integer_value(value) > f->max)) {
                tool_fail(answer, "the parameter %s of %s must be from %lld to %lld", f->name, t->name,
                          (long long)f->min, (long long)f->max);
        } else {
                return true;
        }
        return false;
}

static bool check_arguments(const struct tool_context *tools, const struct tool *t, const json_t *arguments,
                            struct tool_result *answer)
{
        const char *name;
        json_t *value;
        json_object_foreach ((json_t *)(uintptr_t)arguments, name, value)
                if (!check_argument(tools, t, name, value, answer))
                        return false;
        for (size_t i = 0; i < t->parameter_count; i++) {
                if (t->parameters[i].required && !json_object_get(arguments, t->parameters[i].name)) {
                        tool_fail(answer, "%s needs the parameter %s", t->name, t->parameters[i].name);
                        return false;
                }
        }
        return true;
}

/* Replaces invalid UTF-8 and NUL by U+FFFD: files and their names may have both, and a JSON string cannot. */
static void make_json_safe(struct text *text)
{
        struct text valid = { 0 }, safe = { 0 };
        (void)tool_add_utf8(&valid, text->data, text->length);
        for (size_t at = 0; !valid.failed && at < valid.length;) {
                size_t n = strnlen(valid.data + at, valid.length - at);
                text_add_bytes(&safe, valid.data + at, n);
                at += n;
                if (at < valid.length)
                        text_add(&safe, "\xef\xbf\xbd");
                at++;
        }
        safe.failed |= valid.failed;
        text_done(&valid);
        text_done(text);
        *text = safe;
}

static void complete_answer(const struct tool *t, struct tool_result *answer)
{
        struct text *text = &answer->text;
        if (text->length &&
            (text_utf8_valid_length(text->data, text->length) != text->length || strlen(text->data) != text->length))
                make_json_safe(text);
        if (text->failed || (!answer->is_error && !answer->details))
                tool_fail(answer, "%s ran out of memory", t->name);
}

/* Sets the workspace of this call. */
static bool choose_workspace(struct tool_context *tools, const json_t *arguments, struct tool_result *answer)
{
        const char *asked = tool_arg_string(arguments, workspace_field.name);
        CLEANUP_TEXT struct text known = { 0 };
        tools->current = 0;
        for (size_t i = 0; asked && i < tools->workspace_count; i++) {
                text_format(&known, "%s%s", i ? ", " : "", tools->names[i].name);
                if (strcmp(tools->names[i].name, asked) == 0) {
                        tools->current = i;
                        return true;
                }
        }
        if (asked)
                tool_fail(answer, "unknown workspace '%.60s'; the workspaces are %s", asked,
                          known.data ? known.data : "none");
        return !asked;
}

struct job *tool_call(struct tool_context *tools, const struct tool *t, const json_t *arguments,
                      struct tool_result *answer)
{
        struct job *started = NULL;
        *answer = (struct tool_result){ 0 };
        if (!json_is_object(arguments))
                tool_fail(answer, "the arguments of %s must be an object", t->name);
        else if (check_arguments(tools, t, arguments, answer) && choose_workspace(tools, arguments, answer) && t->start)
                started = t->start(tools, arguments, answer);
        else if (!answer->is_error)
                t->run(tools, arguments, answer);
        if (!started)
                complete_answer(t, answer);
        return started;
}

void tool_finish(const struct tool *t, struct job *j, struct tool_result *answer)
{
        *answer = (struct tool_result){ 0 };
        t->finish(j, answer);
        complete_answer(t, answer);
}

/* --- for the tools --- */

bool tool_add_utf8(struct text *out, const char *bytes, size_t length)
{
        bool invalid = false;
        while (length) {
                size_t good = text_utf8_valid_length(bytes, length);
                text_add_bytes(out, bytes, good);
                if (good == length)
                        break;
                text_add(out, "\xef\xbf\xbd");
                invalid = true;
                bytes += good + 1;
                length -= good + 1;
        }
        return invalid;
}

const char *tool_arg_string(const json_t *arguments, const char *name)
{
        return json_string_value(json_object_get(arguments, name));
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

/* An absolute path that is in none of several workspaces. */
static void fail_outside_all(const struct tool_context *tools, const char *path, struct tool_result *answer)
{
        CLEANUP_TEXT struct text shown = { 0 }, roots = { 0 };
        text_add_escaped(&shown, path, strlen(path));
        for (size_t i = 0; i < tools->workspace_count; i++)
                text_format(&roots, "%s%s", i ? ", " : "", workspace_root(tools->workspaces[i]));
        tool_fail(answer, "path is outside workspace root: %s is in none of %s", shown.data ? shown.data : "it",
                  roots.data ? roots.data : "them");
}

static void make_absolute(const struct workspace *w, const char *path, struct text *ret)
{
        if (*path != '/')
                text_format(ret, "%s/", workspace_root(w));
        text_add(ret, path);
}

/* The path could not be resolved. tool_fail_with_rule() needs it absolute, to find the rule that denies it. */
static void fail_to_find(const struct tool_context *tools, const struct workspace *w, const char *path,
                         const struct error *e, struct tool_result *answer)
{
        CLEANUP_TEXT struct text absolute = { 0 };
        CLEANUP_ARENA struct arena *arena = arena_new((size_t)1 << 20);
        make_absolute(w, path, &absolute);
        const char *normalised = arena && absolute.data ? path_normalize(arena, absolute.data) : NULL;
        tool_fail_with_rule(tools, answer, e, normalised ? normalised : "", false);
}

/* Resolves a path that leads out of the workspaces. The walls of the box decide whether the tool reaches it. */
static const struct workspace *resolve_outside(const struct tool_context *tools, const char *path,
                                               struct held_path *ret, struct tool_result *answer)
{
        CLEANUP_TEXT struct text absolute = { 0 };
        struct error e = { 0 };
        make_absolute(tools->workspaces[tools->current], path, &absolute);
        if (!absolute.failed && workspace_resolve(tools->outside, absolute.data, ret, &e) == 0)
                return tools->outside;
        if (absolute.failed)
                tool_fail(answer, "out of memory");
        else
                fail_to_find(tools, tools->outside, absolute.data, &e, answer);
        return NULL;
}

const struct workspace *tool_resolve_path(const struct tool_context *tools, const char *path, struct held_path *ret,
                                          struct tool_result *answer)
{
        bool is_absolute = *path == '/';
        for (size_t i = is_absolute ? 0 : tools->current; i < tools->workspace_count; i++) {
                struct error e = { 0 };
                if (workspace_resolve(tools->workspaces[i], path, ret, &e) == 0)
                        return tools->workspaces[i];
                bool is_outside = e.code == EXDEV;
                if (is_outside && is_absolute && i + 1 < tools->workspace_count)
                        continue; /* it may be in another workspace */
                if (is_outside && tools->outside)
                        return resolve_outside(tools, path, ret, answer);
                if (is_outside && is_absolute && tools->workspace_count > 1)
                        break;
                fail_to_find(tools, tools->workspaces[i], path, &e, answer);
                return NULL;
        }
        fail_outside_all(tools, path, answer);
        return NULL;
}

bool tool_check_read_gate(const struct tool_context *tools, const struct held_path *s, const char *verb,
                          struct tool_result *answer)
{
        switch (tracker_check(tools->tracker, s->path, &s->st)) {
        case READ_STATE_UNREAD:
                tool_fail(answer, "refusing to %s %s: Read it first", verb, s->path);
                return false;
        case READ_STATE_STALE:
                tool_fail(answer, "refusing to %s %s: it changed since you read it: Read it again", verb, s->path);
                return false;
        case READ_STATE_CURRENT:
                break;
        }
        return true;
}

const char *file_kind_name(mode_t mode)
{
        return S_ISDIR(mode) ? "a directory" : S_ISFIFO(mode) ? "a fifo" : S_ISSOCK(mode) ? "a socket"
             : S_ISBLK(mode) || S_ISCHR(mode) ? "a device" : "not a regular file";
}
