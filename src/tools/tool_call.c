/* What the tools share: calls, answers, paths; see tool.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "policy/path_pattern.h"
#include "tools/tool.h"
#include "tools/tool_arguments.h"

const struct tool *const tool_table[] = {
        &tool_read, &tool_write, &tool_edit, &tool_multi_edit, &tool_notebook_edit, &tool_list, &tool_move, &tool_glob,
        &tool_grep, &tool_bash, &tool_bash_output, &tool_kill_shell, &tool_web_fetch,
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

static const struct tool_param workspace_field = {
        .name = "workspace",
        .type = TOOL_STRING,
        .help = "The workspace for relative paths and commands; default: the first.",
};

static json_t *describe_parameters(const struct tool *t, const struct named_workspace *names, size_t count)
{
        const struct tool_fields fields = { t->parameters, t->parameter_count, NULL };
        json_t *schema = tool_fields_describe(&fields);
        if (!t->in_workspace || count < 2)
                return schema;
        json_t *field = tool_field_describe(&workspace_field), *words = json_array();
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
        bool is_denied = by && (by->kind == RULE_PROTECT || by->kind == RULE_DENY_WRITE);
        bool is_same = by && by->kind == RULE_DENY_READ && strcmp(by->path, path) == 0; /* a grant would not win */
        if (is_denied && group)
                text_format(out, "filesystem.protect: [-%s] in the policy would allow it", group + 1);
        else if (is_denied || is_same)
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
        if (!refused || !tools->plan || *path != '/' || rules_decide(&tools->plan->rules, path, write, &by)) {
                tool_fail(answer, "%s", e->text); /* the plan allows it, so the file's mode refused it */
                return;
        }
        tool_fail(answer, "OS sandbox blocked '%s': [Errno %d] %s", tools->called->name, e->code, e->text);
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
        bool named = t->in_workspace && tools->workspace_count > 1;
        const struct tool_fields fields = { t->parameters, t->parameter_count, named ? &workspace_field : NULL };
        *answer = (struct tool_result){ 0 };
        tools->called = t;
        CLEANUP_JSON json_t *taken = tool_fields_take(&fields, t->name, arguments, answer);
        if (taken && choose_workspace(tools, taken, answer)) {
                if (t->start)
                        started = t->start(tools, taken, answer);
                else
                        t->run(tools, taken, answer);
        }
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
