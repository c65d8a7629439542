/*
 * ringwall mcp install: prints a client's configuration entry for `ringwall mcp`, or adds it to the client's file.
 *
 * The entry starts this very executable, by its absolute path, with the given options. The options are compiled as
 * `ringwall mcp` would compile them, so a mistake is reported here and not in a client's log.
 *
 * For the user's file every symlink is followed. In a project an agent may have created one, so there a symlink must
 * not lead out of the project.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "box/gather_facts.h"
#include "box/load_flags.h"
#include "box/load_policy.h"
#include "cli/client_config_file.h"
#include "cli/program.h"
#include "cli/mcp_clients.h"
#include "cli/mcp_options.h"
#include "cli/policy.h"
#include "cli/load_options.h"
#include "cli/verbs.h"
#include "policy/input_limits.h"
#include "policy/path_pattern.h"

static const char verb[] = "mcp install";

enum { NAME_MAX_LENGTH = 64 };

struct install {
        const struct options_result *options;
        const struct mcp_client *client;
        enum mcp_scope scope;
        struct arena *arena;
        struct host_facts facts;
        const char *root, *file; /* the client's file, and a directory that its symlinks must not lead out of */
        struct client_entry entry;
};

/* Makes untrusted text safe to print in a message. */
static const char *printable(struct install *in, const char *text)
{
        CLEANUP_TEXT struct text visible = { 0 };
        text_add_escaped(&visible, text, strlen(text));
        const char *copy = visible.data ? arena_strdup(in->arena, visible.data) : NULL;
        return copy ? copy : "?";
}

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
        const char *base = strchr(special, '{') ? escape_for_policy(in, in->facts.cwd) : in->facts.cwd;
        const char *joined = base ? arena_format(in->arena, "%s/%s", base, path) : NULL;
        const char *absolute = joined ? path_normalize(in->arena, joined) : NULL;
        return absolute ? arena_format(in->arena, "%.*s%s%s", (int)name, use->value, name ? "=" : "", absolute) : NULL;
}

static int add_argument(struct install *in, json_t *args, const char *text)
{
        if (!text)
                return program_error(verb, "no memory");
        if (text_utf8_valid_length(text, strlen(text)) < strlen(text))
                return program_error(verb, "'%s' is not UTF-8, which %s requires", printable(in, text),
                                     in->client->format->name);
        if (mcp_client_would_expand(in->client, text))
                return program_error(verb, "%s would expand a variable in '%s'; use a path without '$'",
                                     in->client->title, printable(in, text));
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

/* --- its place --- */

static int choose_file(struct install *in)
{
        struct error e = { 0 };
        if (host_facts_gather(in->arena, &in->facts, &e) < 0)
                return program_error(verb, "%s", e.text);
        const char *scope = options_value(in->options, MCP_OPTION_SCOPE);
        in->scope = scope && strcmp(scope, "project") == 0 ? MCP_SCOPE_PROJECT : MCP_SCOPE_USER;
        if (in->scope == MCP_SCOPE_PROJECT) {
                in->root = in->facts.cwd;
                in->file = arena_format(in->arena, "%s/%s", strcmp(in->root, "/") == 0 ? "" : in->root,
                                        in->client->in_project);
        } else {
                in->root = "/";
                in->file = mcp_client_user_file(in->arena, in->client, in->facts.home);
        }
        return in->file ? 0 : program_error(verb, "the home directory is unknown; set HOME, or use --scope project");
}

static int choose_name(struct install *in)
{
        static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
        const char *name = options_value(in->options, MCP_OPTION_NAME);
        in->entry.name = name ? name : "ringwall";
        in->entry.section = in->client->section;
        if (in->entry.name[strspn(in->entry.name, allowed)] || strlen(in->entry.name) > NAME_MAX_LENGTH)
                return program_usage_error(verb,
                                           "the name '%s' cannot be used: clients take letters, digits, - and _, "
                                           "%d at most",
                                           printable(in, in->entry.name), NAME_MAX_LENGTH);
        return 0;
}

/* --- print --- */

static int print_entry(struct install *in)
{
        CLEANUP_TEXT struct text out = { 0 }, hint = { 0 }, command = { 0 };
        in->client->format->print(&in->entry, &out);
        mcp_client_add_command(&command, in->client, in->scope, &in->entry);
        text_format(&hint, "put this into %s", printable(in, in->file));
        if (command.length)
                text_format(&hint, ", or run: %s", command.data);
        text_add(&hint, "\n");
        int code = program_print(&out, 0);
        (void)program_print_error(&hint);
        return code;
}

/* --- write --- */

static int refuse_edit(struct install *in, const struct client_config_file *f, const struct edit_result *c,
                       const struct error *e)
{
        CLEANUP_TEXT struct text out = { 0 };
        const char *path = printable(in, f->held.path ? f->held.path : in->file);
        if (!c->line)
                return program_error(verb, "%s", e->text);
        text_format(&out, PROGRAM_NAME " %s: %s:%u:%u: %s\n", verb, path, c->line, c->column, e->text);
        text_format(&out, "Nothing was written: only plain %s can be changed safely. Add this by hand:\n",
                    in->client->format->name);
        in->client->format->print(&in->entry, &out);
        return program_print_error(&out);
}

static int refuse_different(struct install *in, const struct client_config_file *f, const struct edit_result *c)
{
        CLEANUP_TEXT struct text out = { 0 };
        text_format(&out,
                    PROGRAM_NAME " %s: %s has another '%s'; --force replaces it, --name chooses another name. "
                                 "It is:\n",
                    verb, printable(in, f->held.path), in->entry.name);
        for (const char *p = c->text.data; p && *p; p += *p == '\n') {
                size_t length = strcspn(p, "\n");
                text_add_escaped(&out, p, length - (length && p[length - 1] == '\r'));
                text_add(&out, "\n");
                p += length;
        }
        return program_print_error(&out);
}

static int print_written(struct install *in, const struct client_config_file *f, int outcome, const struct text *backup)
{
        CLEANUP_TEXT struct text out = { 0 };
        text_format(&out, outcome == EDIT_REPLACED ? "replaced '%s' in %s\n" : "added '%s' to %s\n", in->entry.name,
                    printable(in, f->held.path));
        if (backup->length)
                text_format(&out, "backup: %s\n", printable(in, backup->data));
        text_add(&out, backup->length ? "to undo: mv " : "to undo: rm ");
        if (backup->length) {
                mcp_client_add_word(&out, backup->data);
                text_add(&out, " ");
        }
        mcp_client_add_word(&out, f->held.path);
        text_format(&out, "\n%s will read it at its next start\n", in->client->title);
        return program_print(&out, 0);
}

/* A user's file may contain secrets; a project's file is shared by all who work on the project. */
static mode_t mode_of_new(const struct install *in)
{
        mode_t mask = umask(0);
        (void)umask(mask);
        return in->scope == MCP_SCOPE_USER ? 0600 : 0666 & ~mask;
}

static int write_entry(struct install *in)
{
        CLEANUP_CONFIG_FILE struct client_config_file f = CONFIG_FILE_NONE;
        CLEANUP_CONFIG_CHANGE struct edit_result change = { 0 };
        CLEANUP_TEXT struct text backup = { 0 };
        struct error e = { 0 };
        if (client_config_file_read(in->root, in->file, CONFIG_BYTES_MAX, &f, &e) < 0)
                return program_error(verb, "%s", e.text);
        bool force = options_has(in->options, MCP_OPTION_FORCE);
        int outcome = in->client->format->set(&in->entry, f.data, f.length, force, &change, &e);
        if (outcome < 0)
                return refuse_edit(in, &f, &change, &e);
        if (outcome == EDIT_CONFLICT)
                return refuse_different(in, &f, &change);
        if (outcome == EDIT_UNCHANGED) {
                CLEANUP_TEXT struct text out = { 0 };
                text_format(&out, "'%s' is already there: %s\n", in->entry.name, printable(in, f.held.path));
                return program_print(&out, 0);
        }
        if (client_config_file_write(&f, &change.text, mode_of_new(in), &backup, &e) < 0)
                return program_error(verb, "%s", e.text);
        return print_written(in, &f, outcome, &backup);
}

int verb_mcp_install(struct options_result *r)
{
        CLEANUP_ARENA struct arena *arena = arena_new(ARENA_BYTES_MAX);
        struct install in = { .options = r, .client = mcp_client_find(r->positionals[0]), .arena = arena };
        if (!arena)
                return program_error(verb, "no memory");
        if (!in.client)
                return program_usage_error(verb, "unknown client '%s'; use one of %s",
                                           printable(&in, r->positionals[0]), mcp_install_usage.synopsis);
        if (options_has(r, MCP_OPTION_PRINT) && options_has(r, MCP_OPTION_WRITE))
                return program_usage_error(verb, "--print and --write exclude each other");
        int failed = choose_name(&in);
        if (!failed)
                failed = choose_file(&in);
        if (!failed)
                failed = make_entry(&in);
        if (!failed)
                failed = options_has(r, MCP_OPTION_WRITE) ? write_entry(&in) : print_entry(&in);
        json_decref(in.entry.value);
        return failed;
}
