/* The client's files, for `mcp install` and `mcp uninstall`; see mcp_place.h. */
#include "cli/mcp_place.h"

#include <string.h>
#include <sys/stat.h>

#include "box/gather_facts.h"
#include "cli/mcp_options.h"
#include "cli/program.h"
#include "policy/input_limits.h"

enum { NAME_MAX_LENGTH = 64 };

void mcp_place_done(struct mcp_place *p)
{
        for (size_t i = 0; i < CLIENT_FILES_MAX; i++) {
                struct client_file *f = &p->files[i];
                client_config_file_done(&f->content);
                edit_result_done(&f->entry);
                edit_result_done(&f->switches);
                text_done(&f->backup);
        }
        arena_free(p->arena);
        p->arena = NULL;
}

/* --- messages --- */

const char *mcp_printable(struct mcp_place *p, const char *text)
{
        CLEANUP_TEXT struct text visible = { 0 };
        text_add_escaped(&visible, text, strlen(text));
        const char *copy = visible.data ? arena_strdup(p->arena, visible.data) : NULL;
        return copy ? copy : "?";
}

const char *mcp_file_path(struct mcp_place *p, const struct client_file *f)
{
        return mcp_printable(p, f->content.held.path ? f->content.held.path : f->path);
}

void mcp_add_names(struct text *out, const struct client_switches *s, uint32_t which)
{
        const char *separator = "";
        for (size_t i = 0; i < SWITCHES_MAX && s->names[i]; i++)
                if (which & (uint32_t)1 << i) {
                        text_format(out, "%s%s", separator, s->names[i]);
                        separator = ", ";
                }
}

void mcp_add_lines(struct text *out, const struct text *lines)
{
        for (const char *p = lines->data; p && *p; p += *p == '\n') {
                size_t length = strcspn(p, "\n");
                text_add_escaped(out, p, length - (length && p[length - 1] == '\r'));
                text_add(out, "\n");
                p += length;
        }
}

int mcp_refuse_edit(struct mcp_place *p, const struct client_file *f, const struct edit_result *c,
                    const struct error *e, const struct text *by_hand)
{
        CLEANUP_TEXT struct text out = { 0 };
        if (!c->line)
                return program_error(p->verb, "%s", e->text);
        text_format(&out, PROGRAM_NAME " %s: %s:%u:%u: %s\n", p->verb, mcp_file_path(p, f), c->line, c->column,
                    e->text);
        text_format(&out, "Nothing was written: only plain %s can be changed safely. ", p->client->format->name);
        text_add(&out, by_hand->data ? by_hand->data : "");
        return program_print_error(&out);
}

/* --- the files --- */

static const char *project_file(struct mcp_place *p, const char *name)
{
        return arena_format(p->arena, "%s/%s", strcmp(p->root, "/") == 0 ? "" : p->root, name);
}

static int choose_files(struct mcp_place *p)
{
        struct error e = { 0 };
        const struct mcp_client *client = p->client;
        if (host_facts_gather(p->arena, &p->facts, &e) < 0)
                return program_error(p->verb, "%s", e.text);
        const char *scope = options_value(p->options, MCP_OPTION_SCOPE), *home = p->facts.home;
        p->scope = scope && strcmp(scope, "project") == 0 ? MCP_SCOPE_PROJECT : MCP_SCOPE_USER;
        bool in_project = p->scope == MCP_SCOPE_PROJECT;
        p->root = in_project ? p->facts.cwd : "/";

        struct client_file *first = &p->files[0], *second = &p->files[1];
        first->path = in_project ? project_file(p, client->file.in_project)
                                 : mcp_client_user_file(p->arena, &client->file, home);
        first->has_entry = true;
        if (client->switches && !client->switches_file)
                first->has_switches = true;
        if (client->switches_file) {
                second->path = in_project ? project_file(p, client->switches_file->in_project)
                                          : mcp_client_user_file(p->arena, client->switches_file, home);
                second->has_switches = true;
        }
        if (!first->path || (second->has_switches && !second->path))
                return program_error(p->verb, "the home directory is unknown; set HOME, or use --scope project");
        return 0;
}

static int choose_name(struct mcp_place *p)
{
        static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
        const char *name = options_value(p->options, MCP_OPTION_NAME);
        p->name = name ? name : "ringwall";
        if (p->name[strspn(p->name, allowed)] || strlen(p->name) > NAME_MAX_LENGTH)
                return program_usage_error(p->verb,
                                           "the name '%s' cannot be used: clients take letters, digits, - and _, "
                                           "%d at most",
                                           mcp_printable(p, p->name), NAME_MAX_LENGTH);
        return 0;
}

int mcp_place_find(const char *verb, const struct options_result *options, struct mcp_place *ret)
{
        *ret = MCP_PLACE_NONE;
        ret->verb = verb;
        ret->options = options;
        ret->arena = arena_new(ARENA_BYTES_MAX);
        if (!ret->arena)
                return program_error(verb, "no memory");
        ret->client = mcp_client_find(options->positionals[0]);
        if (!ret->client)
                return program_usage_error(verb, "unknown client '%s'; use one of %s",
                                           mcp_printable(ret, options->positionals[0]), options->verb->synopsis);
        if (options_has(options, MCP_OPTION_PRINT) && options_has(options, MCP_OPTION_WRITE))
                return program_usage_error(verb, "--print and --write exclude each other");
        int failed = choose_name(ret);
        return failed ? failed : choose_files(ret);
}

struct client_file *mcp_switches_file(struct mcp_place *p)
{
        for (size_t i = 0; i < CLIENT_FILES_MAX; i++)
                if (p->files[i].has_switches)
                        return &p->files[i];
        return NULL;
}

int mcp_read_file(struct mcp_place *p, struct client_file *f)
{
        struct error e = { 0 };
        if (client_config_file_read(p->root, f->path, CONFIG_BYTES_MAX, &f->content, &e) < 0)
                return program_error(p->verb, "%s", e.text);
        return 0;
}

/* A user's file may contain secrets; a project's file is shared by all who work on the project. */
static mode_t mode_of_new(const struct mcp_place *p)
{
        mode_t mask = umask(0);
        (void)umask(mask);
        return p->scope == MCP_SCOPE_USER ? 0600 : 0666 & ~mask;
}

int mcp_write_file(struct mcp_place *p, struct client_file *f)
{
        struct error e = { 0 };
        if (client_config_file_write(&f->content, f->changed, mode_of_new(p), &f->backup, &e) < 0)
                return program_error(p->verb, "%s", e.text);
        return 0;
}
