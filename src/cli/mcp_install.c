/*
 * ringwall mcp install: prints a client's configuration for `ringwall mcp`, or puts it into the client's file.
 *
 * What it writes is what would start now: the file of this program, by its absolute path, with the options that were
 * given. They are compiled like those of `ringwall mcp` itself, so a mistake is seen here and not in a client's log.
 *
 * For the user's file any link is followed. In a project an agent may have put one, so there none may lead out.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "box/facts.h"
#include "box/load.h"
#include "cli/config_file.h"
#include "cli/front.h"
#include "cli/mcp_clients.h"
#include "cli/mcp_options.h"
#include "cli/policy.h"
#include "cli/request.h"
#include "cli/verbs.h"
#include "policy/caps.h"
#include "policy/pattern.h"

static const char verb[] = "mcp install";

enum { NAME_LONGEST = 64 };

struct install {
        const struct options_result *options;
        const struct mcp_client *client;
        enum mcp_scope scope;
        struct arena *arena;
        struct facts facts;
        const char *root, *file; /* the file, and the directory that no link of it may lead out of */
        struct config_entry entry;
};

/* A text of somebody else's for a message. */
static const char *shown(struct install *in, const char *text)
{
        CLEANUP_TEXT struct text visible = { 0 };
        text_add_visible(&visible, text, strlen(text));
        const char *copy = visible.data ? arena_string(in->arena, visible.data) : NULL;
        return copy ? copy : "?";
}

/* --- what is started --- */

/* Not the name that it was called by, which need not mean the same to the client. */
static const char *own_program(struct install *in)
{
        char path[PATH_MAX];
        struct stat st;
        ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
        if (length <= 0)
                return NULL;
        path[length] = '\0';
        return stat(path, &st) == 0 ? arena_string(in->arena, path) : NULL;
}

/* What is special in the value of an option that takes a path. */
static const char *special_starts(int id)
{
        switch (id) {
        case RUN_OPTION_WORKSPACE:
        case RUN_OPTION_DENY_READ:
        case RUN_OPTION_DENY_WRITE:
                return "~{"; /* follows the rules of a policy */
        case RUN_OPTION_RO:
        case RUN_OPTION_RW:
                return "~";
        default:
                return ""; /* a file, which is opened by this name */
        }
}

/* A path that means itself in a policy. */
static const char *policy_text_of(struct install *in, const char *path)
{
        CLEANUP_TEXT struct text escaped = { 0 };
        const char *pattern = pattern_escape(in->arena, path);
        for (const char *p = pattern; p && *p; p++) {
                text_add(&escaped, *p == '{' ? "\\" : ""); /* would begin a variable */
                text_add_bytes(&escaped, p, 1);
        }
        return escaped.data && !escaped.failed ? arena_string(in->arena, escaped.data) : NULL;
}

/* A client starts the server in a directory of its choice, so a relative path must not stay one. */
static const char *absolute_value(struct install *in, const struct option_use *use)
{
        enum option_kind kind = use->row->kind;
        const char *special = special_starts(use->row->id), *path = use->value;
        size_t name = 0;
        if (use->row->id == RUN_OPTION_WORKSPACE)
                path = request_workspace(use->value, &name);
        if ((kind != OPTION_FILE && kind != OPTION_DIR) || *path == '/' || strchr(special, *path))
                return use->value;
        const char *base = strchr(special, '{') ? policy_text_of(in, in->facts.cwd) : in->facts.cwd;
        const char *joined = base ? arena_format(in->arena, "%s/%s", base, path) : NULL;
        const char *absolute = joined ? pattern_normalise(in->arena, joined) : NULL;
        return absolute ? arena_format(in->arena, "%.*s%s%s", (int)name, use->value, name ? "=" : "", absolute) : NULL;
}

static int add_argument(struct install *in, json_t *args, const char *text)
{
        if (!text)
                return front_complain(verb, "no memory");
        if (text_utf8_valid(text, strlen(text)) < strlen(text))
                return front_complain(verb, "'%s' is no UTF-8, and %s cannot say it", shown(in, text),
                                      in->client->format->name);
        if (mcp_client_expands(in->client, text))
                return front_complain(verb, "%s would take a part of '%s' for a variable; use a path without '$'",
                                      in->client->title, shown(in, text));
        return json_array_append_new(args, json_string(text)) < 0 ? front_complain(verb, "no memory") : 0;
}

/* The options of `ringwall mcp` among those that were given; the items that a plan is made of go to `request`. */
static int pass_on(struct install *in, json_t *args, struct load_request *request)
{
        struct load_item *items = NULL;
        for (size_t i = 0; i < in->options->use_count; i++) {
                const struct option_use *use = &in->options->uses[i];
                struct load_item item, *slot;
                if (use->row->id >= MCP_OPTION_PRINT)
                        continue;
                const char *value = use->value ? absolute_value(in, use) : NULL;
                int failed = add_argument(in, args, arena_format(in->arena, "--%s", use->row->name));
                if (!failed && use->value)
                        failed = add_argument(in, args, value);
                if (failed)
                        return failed;
                if (!request_item(in->options, use, value, &item))
                        continue;
                slot = arena_array_add(in->arena, &items, &request->count, sizeof *slot);
                if (!slot)
                        return front_complain(verb, "no memory");
                *slot = item;
        }
        request->items = items;
        return 0;
}

/* A warning would be about the directory that this runs in, and is left to the server. */
static int check_policy(const struct load_request *request)
{
        CLEANUP_MESSAGES struct messages *m = messages_new();
        CLEANUP_PLAN struct plan *plan = NULL;
        struct error e = { 0 };
        if (!request->count)
                return 0;
        int loaded = m ? load_plan(request, m, &plan, &e) : error_set(&e, ENOMEM, verb, "no memory");
        if (loaded < 0)
                return front_complain(verb, "%s", e.text);
        if (loaded > 0)
                policy_print_messages(m);
        return loaded > 0 ? FRONT_FAILED : 0;
}

static int make_entry(struct install *in)
{
        CLEANUP_JSON json_t *args = json_pack("[s]", "mcp");
        struct load_request request = { 0 };
        const char *program = own_program(in);
        if (!program)
                return front_complain(verb, "cannot find my own file (is /proc mounted? was ringwall replaced?)");
        CLEANUP_JSON json_t *words = json_array();
        int failed = args && words ? add_argument(in, words, program) : front_complain(verb, "no memory");
        if (!failed)
                failed = pass_on(in, args, &request);
        if (!failed)
                failed = check_policy(&request);
        if (failed)
                return failed;
        if (in->client->folder && !options_has(in->options, RUN_OPTION_WORKSPACE)) {
                json_array_append_new(args, json_string("--workspace"));
                json_array_append_new(args, json_string(in->client->folder));
        }
        json_t *value = in->client->typed ? json_pack("{s:s}", "type", "stdio") : json_object();
        in->entry.value = value;
        bool bad = json_object_set_new(value, "command", json_string(program)) < 0 ||
                   json_object_set(value, "args", args) < 0;
        return bad ? front_complain(verb, "no memory") : 0;
}

/* --- where it goes --- */

static int choose_file(struct install *in)
{
        struct error e = { 0 };
        if (facts_gather(in->arena, &in->facts, &e) < 0)
                return front_complain(verb, "%s", e.text);
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
        return in->file ? 0 : front_complain(verb, "no home directory is known; set HOME, or use --scope project");
}

static int choose_name(struct install *in)
{
        static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
        const char *name = options_value(in->options, MCP_OPTION_NAME);
        in->entry.name = name ? name : "ringwall";
        in->entry.section = in->client->section;
        if (in->entry.name[strspn(in->entry.name, allowed)] || strlen(in->entry.name) > NAME_LONGEST)
                return front_refuse(verb, "the name '%s' cannot be used: clients take letters, digits, - and _, "
                                    "%d at most", shown(in, in->entry.name), NAME_LONGEST);
        return 0;
}

/* --- print --- */

static int print_entry(struct install *in)
{
        CLEANUP_TEXT struct text out = { 0 }, hint = { 0 }, command = { 0 };
        in->client->format->print(&in->entry, &out);
        mcp_client_add_command(&command, in->client, in->scope, &in->entry);
        text_format(&hint, "put this into %s", shown(in, in->file));
        if (command.length)
                text_format(&hint, ", or run: %s", command.data);
        text_add(&hint, "\n");
        int code = front_print(&out, 0);
        (void)front_print_error(&hint);
        return code;
}

/* --- write --- */

static int refuse_file(struct install *in, const struct config_file *f, const struct config_change *c,
                       const struct error *e)
{
        CLEANUP_TEXT struct text out = { 0 };
        const char *path = shown(in, f->spot.path ? f->spot.path : in->file);
        if (!c->line)
                return front_complain(verb, "%s", e->text);
        text_format(&out, FRONT_PROGRAM " %s: %s:%u:%u: %s\n", verb, path, c->line, c->column, e->text);
        text_format(&out, "Nothing was written: only plain %s can be changed safely. Add this by hand:\n",
                    in->client->format->name);
        in->client->format->print(&in->entry, &out);
        return front_print_error(&out);
}

static int refuse_other(struct install *in, const struct config_file *f, const struct config_change *c)
{
        CLEANUP_TEXT struct text out = { 0 };
        text_format(&out, FRONT_PROGRAM " %s: %s has another '%s'; --force replaces it, --name chooses another name. "
                    "It is:\n", verb, shown(in, f->spot.path), in->entry.name);
        for (const char *p = c->text.data; p && *p; p += *p == '\n') {
                size_t length = strcspn(p, "\n");
                text_add_visible(&out, p, length - (length && p[length - 1] == '\r'));
                text_add(&out, "\n");
                p += length;
        }
        return front_print_error(&out);
}

static int tell_written(struct install *in, const struct config_file *f, int outcome, const struct text *backup)
{
        CLEANUP_TEXT struct text out = { 0 };
        text_format(&out, outcome == CONFIG_REPLACED ? "replaced '%s' in %s\n" : "added '%s' to %s\n", in->entry.name,
                    shown(in, f->spot.path));
        if (backup->length)
                text_format(&out, "the file as it was: %s\n", shown(in, backup->data));
        text_add(&out, backup->length ? "to undo: mv " : "to undo: rm ");
        if (backup->length) {
                mcp_client_add_word(&out, backup->data);
                text_add(&out, " ");
        }
        mcp_client_add_word(&out, f->spot.path);
        text_format(&out, "\n%s reads it when it starts the next time\n", in->client->title);
        return front_print(&out, 0);
}

/* The user's files may hold secrets; a project's belong to all who work on it. */
static mode_t mode_of_new(const struct install *in)
{
        mode_t mask = umask(0);
        (void)umask(mask);
        return in->scope == MCP_SCOPE_USER ? 0600 : 0666 & ~mask;
}

static int write_entry(struct install *in)
{
        CLEANUP_CONFIG_FILE struct config_file f = CONFIG_FILE_NONE;
        CLEANUP_CONFIG_CHANGE struct config_change change = { 0 };
        CLEANUP_TEXT struct text backup = { 0 };
        struct error e = { 0 };
        if (config_file_read(in->root, in->file, CONFIG_BYTES_MAX, &f, &e) < 0)
                return front_complain(verb, "%s", e.text);
        bool force = options_has(in->options, MCP_OPTION_FORCE);
        int outcome = in->client->format->set(&in->entry, f.data, f.length, force, &change, &e);
        if (outcome < 0)
                return refuse_file(in, &f, &change, &e);
        if (outcome == CONFIG_OTHER)
                return refuse_other(in, &f, &change);
        if (outcome == CONFIG_SAME) {
                CLEANUP_TEXT struct text out = { 0 };
                text_format(&out, "'%s' is already there: %s\n", in->entry.name, shown(in, f.spot.path));
                return front_print(&out, 0);
        }
        if (config_file_write(&f, &change.text, mode_of_new(in), &backup, &e) < 0)
                return front_complain(verb, "%s", e.text);
        return tell_written(in, &f, outcome, &backup);
}

int verb_mcp_install(struct options_result *r)
{
        CLEANUP_ARENA struct arena *arena = arena_new(CAP_ARENA_BYTES);
        struct install in = { .options = r, .client = mcp_client_find(r->positionals[0]), .arena = arena };
        if (!arena)
                return front_complain(verb, "no memory");
        if (!in.client)
                return front_refuse(verb, "no client is called '%s'; there are %s", shown(&in, r->positionals[0]),
                                    mcp_install_usage.synopsis);
        if (options_has(r, MCP_OPTION_PRINT) && options_has(r, MCP_OPTION_WRITE))
                return front_refuse(verb, "--print and --write exclude each other");
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
