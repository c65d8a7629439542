/*
 * ringwall mcp install: prints a client's configuration entry for `ringwall mcp`, or adds it to the client's file. With
 * --only it also switches off the client's own tools, which no box confines.
 *
 * The entry starts this very executable, by its absolute path, with the given options. The options are compiled as
 * `ringwall mcp` would compile them, so a mistake is reported here and not in a client's log.
 *
 * All changes are made in memory first, so that nothing is written if one of them is impossible.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "box/load_flags.h"
#include "box/load_policy.h"
#include "cli/load_options.h"
#include "cli/mcp_options.h"
#include "cli/mcp_place.h"
#include "cli/policy.h"
#include "cli/program.h"
#include "cli/verbs.h"
#include "policy/path_pattern.h"

static const char verb[] = "mcp install";

struct install {
        struct mcp_place place;
        const struct options_result *options;
        const struct mcp_client *client;
        struct arena *arena;
        struct client_entry entry;
        bool only;
};

/* --- the entry --- */

/* The path of this executable. argv[0] may name another program in the client's PATH or directory. */
static const char *find_own_executable(struct install *in)
{
        char path[PATH_MAX];
        struct stat st;
        ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
        if (length <= 0)
                return NULL;
        path[length] = '\0';
        return stat(path, &st) == 0 ? arena_strdup(in->arena, path) : NULL;
}

/* First characters that have a special meaning in the path of this option, so that it must not be made absolute. */
static const char *special_starts(int id)
{
        switch (id) {
        case FLAG_ID_WORKSPACE:
        case FLAG_ID_DENY_READ:
        case FLAG_ID_DENY_WRITE:
                return "~{"; /* paths as in a policy */
        case FLAG_ID_RO:
        case FLAG_ID_RW:
                return "~";
        default:
                return ""; /* a plain file name */
        }
}

/* Escapes a path so that a policy takes it literally. */
static const char *escape_for_policy(struct install *in, const char *path)
{
        CLEANUP_TEXT struct text escaped = { 0 };
        const char *pattern = path_pattern_escape(in->arena, path);
        for (const char *p = pattern; p && *p; p++) {
                text_add(&escaped, *p == '{' ? "\\" : ""); /* '{' would begin a variable */
                text_add_bytes(&escaped, p, 1);
        }
        return escaped.data && !escaped.failed ? arena_strdup(in->arena, escaped.data) : NULL;
}

/* Makes relative paths absolute, because the client may start the server in any directory. */
static const char *absolute_value(struct install *in, const struct option_occurrence *use)
{
        enum option_kind kind = use->row->kind;
        const char *special = special_starts(use->row->id), *path = use->value;
        size_t name = 0;
        if (use->row->id == FLAG_ID_WORKSPACE)
                path = parse_workspace_option(use->value, &name);
        if ((kind != OPTION_FILE && kind != OPTION_DIR) || *path == '/' || strchr(special, *path))
                return use->value;
        const char *base = strchr(special, '{') ? escape_for_policy(in, in->place.facts.cwd) : in->place.facts.cwd;
        const char *joined = base ? arena_format(in->arena, "%s/%s", base, path) : NULL;
        const char *absolute = joined ? path_normalize(in->arena, joined) : NULL;
        return absolute ? arena_format(in->arena, "%.*s%s%s", (int)name, use->value, name ? "=" : "", absolute) : NULL;
}

static int add_argument(struct install *in, json_t *args, const char *text)
{
        if (!text)
                return program_error(verb, "no memory");
        if (text_utf8_valid_length(text, strlen(text)) < strlen(text))
                return program_error(verb, "'%s' is not UTF-8, which %s requires", mcp_printable(&in->place, text),
                                     in->client->format->name);
        if (mcp_client_would_expand(in->client, text))
                return program_error(verb, "%s would expand a variable in '%s'; use a path without '$'",
                                     in->client->title, mcp_printable(&in->place, text));
        return json_array_append_new(args, json_string(text)) < 0 ? program_error(verb, "no memory") : 0;
}

/* Adds the options that are passed on to `ringwall mcp` to `args`, and those about the policy also to `request`. */
static int add_options(struct install *in, json_t *args, struct load_request *request)
{
        struct load_item *items = NULL;
        for (size_t i = 0; i < in->options->use_count; i++) {
                const struct option_occurrence *use = &in->options->uses[i];
                struct load_item item, *slot;
                if (use->row->id >= MCP_OPTION_PRINT && use->row->id <= MCP_OPTION_FORCE)
                        continue;
                const char *value = use->value ? absolute_value(in, use) : NULL;
                int failed = add_argument(in, args, arena_format(in->arena, "--%s", use->row->name));
                if (!failed && use->value)
                        failed = add_argument(in, args, value);
                if (failed)
                        return failed;
                if (!load_item_from_option(in->options, use, value, &item))
                        continue;
                slot = arena_array_push(in->arena, &items, &request->count, sizeof *slot);
                if (!slot)
                        return program_error(verb, "no memory");
                *slot = item;
        }
        request->items = items;
        return 0;
}

/* Only errors are printed: warnings depend on the directory, and the server will print them. */
static int check_policy(const struct load_request *request)
{
        CLEANUP_DIAGNOSTICS struct diagnostics *m = diagnostics_new();
        CLEANUP_PLAN struct plan *plan = NULL;
        struct error e = { 0 };
        if (!request->count)
                return 0;
        int loaded = m ? load_plan(request, m, &plan, &e) : error_set(&e, ENOMEM, "no memory");
        if (loaded < 0)
                return program_error(verb, "%s", e.text);
        if (loaded > 0)
                policy_print_diagnostics(m);
        return loaded > 0 ? EXIT_RINGWALL : 0;
}

static int make_entry(struct install *in)
{
        CLEANUP_JSON json_t *args = json_pack("[s]", "mcp");
        struct load_request request = { 0 };
        const char *program = find_own_executable(in);
        if (!program)
                return program_error(verb, "cannot find ringwall's own executable (is /proc mounted? was ringwall "
                                           "replaced?)");
        CLEANUP_JSON json_t *words = json_array();
        int failed = args && words ? add_argument(in, words, program) : program_error(verb, "no memory");
        if (!failed)
                failed = add_options(in, args, &request);
        if (!failed)
                failed = check_policy(&request);
        if (failed)
                return failed;
        if (in->client->folder && !options_has(in->options, FLAG_ID_WORKSPACE)) {
                json_array_append_new(args, json_string("--workspace"));
                json_array_append_new(args, json_string(in->client->folder));
        }
        json_t *value = in->client->typed ? json_pack("{s:s}", "type", "stdio") : json_object();
        in->entry.value = value;
        bool failed_to_set = json_object_set_new(value, "command", json_string(program)) < 0 ||
                   json_object_set(value, "args", args) < 0;
        return failed_to_set ? program_error(verb, "no memory") : 0;
}

/* --- print --- */

/* What the file gets to switch off the client's own tools; NULL for nothing. */
static const struct client_switches *switches_for(const struct install *in, const struct client_file *f)
{
        return in->only && f->has_switches ? in->client->switches : NULL;
}

/* Does the file get anything? */
static bool concerns(const struct install *in, const struct client_file *f)
{
        return f->has_entry || switches_for(in, f);
}

static void add_hint(struct install *in, const struct client_file *f, struct text *hint)
{
        CLEANUP_TEXT struct text command = { 0 };
        text_format(hint, "put this into %s", mcp_printable(&in->place, f->path));
        if (f->has_entry && !switches_for(in, f)) /* the client's command adds the entry alone */
                mcp_client_add_command(&command, in->client, in->place.scope, &in->entry);
        if (command.length)
                text_format(hint, ", or run: %s", command.data);
        text_add(hint, "\n");
}

static int print_file(struct install *in, const struct client_file *f)
{
        CLEANUP_TEXT struct text out = { 0 }, hint = { 0 };
        if (!concerns(in, f))
                return 0;
        in->client->format->print(f->has_entry ? &in->entry : NULL, switches_for(in, f), &out);
        add_hint(in, f, &hint);
        int code = program_print(&out, 0);
        (void)program_print_error(&hint);
        return code;
}

/* --- write --- */

static int refuse_edit(struct install *in, const struct client_file *f, const struct edit_result *c,
                       const struct error *e)
{
        CLEANUP_TEXT struct text by_hand = { 0 };
        text_add(&by_hand, "Add this by hand:\n");
        in->client->format->print(f->has_entry ? &in->entry : NULL, switches_for(in, f), &by_hand);
        return mcp_refuse_edit(&in->place, f, c, e, &by_hand);
}

static int refuse_different(struct install *in, const struct client_file *f)
{
        CLEANUP_TEXT struct text out = { 0 };
        text_format(&out,
                    PROGRAM_NAME " %s: %s has another '%s'; --force replaces it, --name chooses another name. "
                                 "It is:\n",
                    verb, mcp_file_path(&in->place, f), in->entry.name);
        mcp_add_lines(&out, &f->entry.text);
        return program_print_error(&out);
}

static int change_entry(struct install *in, struct client_file *f)
{
        struct error e = { 0 };
        bool force = options_has(in->options, MCP_OPTION_FORCE);
        const struct client_config_file *file = &f->content;
        f->entry_outcome = in->client->format->set(&in->entry, file->data, file->length, force, &f->entry, &e);
        if (f->entry_outcome < 0)
                return refuse_edit(in, f, &f->entry, &e);
        if (f->entry_outcome == EDIT_CONFLICT)
                return refuse_different(in, f);
        if (f->entry_outcome != EDIT_UNCHANGED)
                f->changed = &f->entry.text;
        return f->entry.text.failed ? program_error(verb, "no memory") : 0;
}

static int change_switches(struct install *in, struct client_file *f)
{
        struct error e = { 0 };
        const char *text = f->changed ? f->changed->data : f->content.data;
        size_t length = f->changed ? f->changed->length : f->content.length;
        f->switches_outcome = in->client->format->switch_off(in->client->switches, text, length, &f->switches, &e);
        if (f->switches_outcome < 0)
                return refuse_edit(in, f, &f->switches, &e);
        if (f->switches_outcome != EDIT_UNCHANGED)
                f->changed = &f->switches.text;
        return f->switches.text.failed ? program_error(verb, "no memory") : 0;
}

/* Makes the changes of one file in memory. */
static int change_file(struct install *in, struct client_file *f)
{
        int failed = mcp_read_file(&in->place, f);
        if (!failed && f->has_entry)
                failed = change_entry(in, f);
        return !failed && switches_for(in, f) ? change_switches(in, f) : failed;
}

/* --- the report --- */

/* How to undo all: uninstalling, if nothing was installed before; else by the backups. */
static void add_undo(struct install *in, struct text *out)
{
        if (in->place.files[0].entry_outcome == EDIT_ADDED) {
                text_format(out, "to undo: " PROGRAM_NAME " mcp uninstall %s", in->client->name);
                text_add(out, in->place.scope == MCP_SCOPE_PROJECT ? " --scope project" : "");
                if (strcmp(in->entry.name, "ringwall") != 0)
                        text_format(out, " --name %s", in->entry.name);
                text_add(out, " --write\n");
                return;
        }
        for (size_t i = 0; i < CLIENT_FILES_MAX; i++) {
                const struct client_file *f = &in->place.files[i];
                if (!f->changed)
                        continue;
                text_add(out, f->backup.length ? "to undo: mv " : "to undo: rm ");
                if (f->backup.length) {
                        mcp_client_add_word(out, f->backup.data);
                        text_add(out, " ");
                }
                mcp_client_add_word(out, f->content.held.path);
                text_add(out, "\n");
        }
}

static void add_entry_report(struct install *in, const struct client_file *f, struct text *out)
{
        const char *name = in->entry.name, *path = mcp_file_path(&in->place, f);
        if (f->entry_outcome == EDIT_UNCHANGED)
                text_format(out, "'%s' is already there: %s\n", name, path);
        else if (f->entry_outcome == EDIT_REPLACED)
                text_format(out, "replaced '%s' in %s\n", name, path);
        else
                text_format(out, "added '%s' to %s\n", name, path);
}

static void add_switches_report(struct install *in, const struct client_file *f, struct text *out)
{
        const struct client_switches *switches = in->client->switches;
        const char *path = mcp_file_path(&in->place, f);
        uint32_t before = f->switches.present, added = client_switches_all(switches) & ~before;
        if (added) {
                text_format(out, "switched off in %s: ", path);
                mcp_add_names(out, switches, added);
                text_add(out, "\n");
        }
        if (before) {
                text_format(out, "already off in %s: ", path);
                mcp_add_names(out, switches, before);
                text_add(out, "\n");
        }
}

/* --- what is said about the client's own tools --- */

static void add_own_tools(struct text *out, const struct mcp_client *client)
{
        if (client->own_tools)
                text_add(out, client->own_tools);
        else
                mcp_add_names(out, client->switches, client_switches_all(client->switches));
}

static void add_warning(struct text *out, const struct mcp_client *client)
{
        text_format(out, "%s keeps its own tools, which ringwall does not confine: ", client->title);
        add_own_tools(out, client);
        if (client->switches)
                text_add(out, "; --only switches them off\n");
        else
                text_format(out, "; no file switches them off: %s\n", client->by_hand);
}

/* Are the client's own tools off already? A file that cannot be read does not switch them off. */
static bool are_tools_off(struct install *in)
{
        struct client_file *f = mcp_switches_file(&in->place);
        CLEANUP_CONFIG_CHANGE struct edit_result query = { 0 };
        struct error e = { 0 };
        if (!f)
                return false;
        if (!f->content.data && client_config_file_read(in->place.root, f->path, CONFIG_BYTES_MAX, &f->content, &e) < 0)
                return false;
        const struct client_switches *s = in->client->switches;
        (void)in->client->format->switch_on(s, 0, f->content.data, f->content.length, &query, &e);
        return query.present == client_switches_all(s);
}

static void add_note(struct install *in, struct text *out)
{
        if (!in->only && !are_tools_off(in))
                add_warning(out, in->client);
        if (in->client->remaining)
                text_format(out, "%s\n", in->client->remaining);
}

/* --- the verb --- */

static int print_all(struct install *in)
{
        CLEANUP_TEXT struct text note = { 0 };
        for (size_t i = 0; i < CLIENT_FILES_MAX; i++) {
                int failed = print_file(in, &in->place.files[i]);
                if (failed)
                        return failed;
        }
        add_note(in, &note);
        if (note.length)
                (void)program_print_error(&note);
        return 0;
}

static int write_all(struct install *in)
{
        CLEANUP_TEXT struct text out = { 0 };
        bool changed = false;
        int failed = 0;
        for (size_t i = 0; !failed && i < CLIENT_FILES_MAX; i++)
                if (concerns(in, &in->place.files[i]))
                        failed = change_file(in, &in->place.files[i]);
        for (size_t i = 0; !failed && i < CLIENT_FILES_MAX; i++) {
                struct client_file *f = &in->place.files[i];
                if (!concerns(in, f))
                        continue;
                failed = f->changed ? mcp_write_file(&in->place, f) : 0;
                if (failed)
                        break;
                if (f->has_entry)
                        add_entry_report(in, f, &out);
                if (f->has_switches && in->only)
                        add_switches_report(in, f, &out);
                if (f->backup.length)
                        text_format(&out, "backup: %s\n", mcp_printable(&in->place, f->backup.data));
                changed |= f->changed != NULL;
        }
        if (changed && !failed) {
                add_undo(in, &out);
                text_format(&out, "%s will read it at its next start\n", in->client->title);
        }
        if (!failed)
                add_note(in, &out);
        return out.length ? program_print(&out, failed) : failed;
}

static int install(struct install *in)
{
        in->options = in->place.options;
        in->client = in->place.client;
        in->arena = in->place.arena;
        in->entry.name = in->place.name;
        in->entry.section = in->client->section;
        in->only = options_has(in->options, MCP_OPTION_ONLY);
        if (in->only && !in->client->switches)
                return program_error(verb, "--only: no file of %s switches off its own tools; %s", in->client->title,
                                     in->client->by_hand);
        int failed = make_entry(in);
        if (failed)
                return failed;
        return options_has(in->options, MCP_OPTION_WRITE) ? write_all(in) : print_all(in);
}

int verb_mcp_install(struct options_result *r)
{
        struct install in = { 0 };
        int failed = mcp_place_find(verb, r, &in.place);
        if (!failed)
                failed = install(&in);
        json_decref(in.entry.value);
        mcp_place_done(&in.place);
        return failed;
}
