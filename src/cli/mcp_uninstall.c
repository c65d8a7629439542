/*
 * ringwall mcp uninstall: prints what `mcp install` has put into a client's files, or removes it: the server's entry,
 * and what switches off the client's own tools.
 *
 * An entry that starts another program than ringwall is not removed, unless it is forced. A client's own tools are
 * switched on only if all of them are off, as --only leaves them, and only those which were on before --only: the
 * newest backup that has not all of them tells. If what is removed now is all that the file has more than a backup, the
 * file gets the bytes of that backup back; so nothing stays of an added empty list or line end.
 *
 * The backups are untrusted like the file. A forged one can do no more than keep tools switched off, or change the
 * white space and the empty objects in places where an installation would have changed them.
 */
#include <string.h>

#include "cli/mcp_options.h"
#include "cli/mcp_place.h"
#include "cli/program.h"
#include "cli/verbs.h"

static const char verb[] = "mcp uninstall";

enum { BACKUPS_READ_MAX = 32 }; /* of one file, the newest */

/* What is done to one of the files. */
struct removal {
        struct client_file *file;
        bool has_entry;      /* the entry is removed */
        uint32_t off;        /* the client's own tools that were off, */
        uint32_t on;         /* and those that are switched on */
        bool is_left;        /* some stay off because not all were off */
        uint32_t off_before; /* those that were off before --only */
        struct text result;  /* the new text, */
        bool is_restored;    /* which is that of a backup */
};

struct uninstall {
        struct mcp_place place;
        const struct client_config_format *format;
        const struct client_switches *switches;
        struct client_entry entry; /* without a value */
        bool force;
        struct removal removals[CLIENT_FILES_MAX];
};

/* --- what was there before --- */

struct backup {
        char *text;
        size_t length;
};

static void backup_done(struct backup *b)
{
        free(b->text);
}
#define CLEANUP_BACKUP CLEANUP(backup_done)

static uint32_t tools_off(const struct uninstall *un, const char *text, size_t length)
{
        CLEANUP_CONFIG_CHANGE struct edit_result query = { 0 };
        struct error e = { 0 };
        (void)un->format->switch_on(un->switches, 0, text, length, &query, &e);
        return query.present;
}

/* Would the same installation make the present file of this backup? */
static bool leads_to_file(const struct uninstall *un, const struct removal *r, const struct backup *b)
{
        CLEANUP_CONFIG_CHANGE struct edit_result entry = { 0 }, switches = { 0 };
        const struct client_config_file *now = &r->file->content;
        struct text text = { .data = b->text, .length = b->length };
        struct error e = { 0 };
        if (r->has_entry) {
                const struct client_entry old = { un->entry.section, un->entry.name, r->file->entry.removed_value };
                if (un->format->set(&old, text.data, text.length, false, &entry, &e) != EDIT_ADDED || entry.text.failed)
                        return false;
                text = entry.text;
        }
        if (r->on) {
                if (un->format->switch_off(un->switches, text.data, text.length, &switches, &e) != EDIT_ADDED ||
                    switches.text.failed)
                        return false;
                text = switches.text;
        }
        return text.length == now->length && memcmp(text.data, now->data, now->length) == 0;
}

/* Calls `use` for the backups, from the newest on, until it returns true. Those that cannot be read are left out. */
static bool find_backup(const struct uninstall *un, struct removal *r,
                        bool (*use)(const struct uninstall *, struct removal *, const struct backup *))
{
        const struct client_config_file *f = &r->file->content;
        unsigned count = client_config_file_count_backups(f);
        unsigned first = count > BACKUPS_READ_MAX ? count - BACKUPS_READ_MAX : 0;
        for (unsigned i = count; i > first; i--) {
                CLEANUP_BACKUP struct backup b = { 0 };
                struct error e = { 0 };
                if (client_config_file_read_backup(f, i - 1, CONFIG_BYTES_MAX, &b.text, &b.length, &e) == 0 &&
                    use(un, r, &b))
                        return true;
        }
        return false;
}

static bool note_tools(const struct uninstall *un, struct removal *r, const struct backup *b)
{
        uint32_t off = tools_off(un, b->text, b->length);
        if (off == client_switches_all(un->switches))
                return false;
        r->off_before = off;
        return true;
}

static bool restore(const struct uninstall *un, struct removal *r, const struct backup *b)
{
        if (!leads_to_file(un, r, b))
                return false;
        text_done(&r->result);
        text_add_bytes(&r->result, b->text, b->length);
        return true;
}

/* --- the changes, in memory --- */

static int refuse_edit(struct uninstall *un, const struct client_file *f, const struct edit_result *c,
                       const struct error *e)
{
        CLEANUP_TEXT struct text by_hand = { 0 };
        text_add(&by_hand, "Remove this by hand: ");
        if (f->has_entry)
                text_format(&by_hand, "'%s' in %s", un->place.name, un->entry.section);
        text_add(&by_hand, f->has_entry && f->has_switches ? ", and " : "");
        if (f->has_switches)
                text_format(&by_hand, "what --only has added to %s", un->switches->table);
        text_add(&by_hand, "\n");
        return mcp_refuse_edit(&un->place, f, c, e, &by_hand);
}

/* Does the entry start ringwall? */
static bool is_ringwall(const json_t *entry)
{
        const char *command = json_string_value(json_object_get(entry, "command"));
        const char *verb_word = json_string_value(json_array_get(json_object_get(entry, "args"), 0));
        const char *slash = command ? strrchr(command, '/') : NULL;
        return command && strcmp(slash ? slash + 1 : command, PROGRAM_NAME) == 0 && verb_word &&
               strcmp(verb_word, "mcp") == 0;
}

static int refuse_other(struct uninstall *un, const struct client_file *f)
{
        CLEANUP_TEXT struct text out = { 0 };
        text_format(&out, PROGRAM_NAME " %s: '%s' in %s does not start ringwall; --force removes it. It is:\n", verb,
                    un->place.name, mcp_file_path(&un->place, f));
        mcp_add_lines(&out, &f->entry.removed);
        return program_print_error(&out);
}

static int remove_entry(struct uninstall *un, struct removal *r)
{
        struct client_file *f = r->file;
        struct error e = { 0 };
        int outcome = un->format->remove(&un->entry, f->content.data, f->content.length, &f->entry, &e);
        if (outcome < 0)
                return refuse_edit(un, f, &f->entry, &e);
        r->has_entry = outcome == EDIT_REMOVED;
        if (r->has_entry && !un->force && !is_ringwall(f->entry.removed_value))
                return refuse_other(un, f);
        if (r->has_entry)
                f->changed = &f->entry.text;
        return 0;
}

static int switch_on(struct uninstall *un, struct removal *r)
{
        struct client_file *f = r->file;
        struct error e = { 0 };
        const char *text = f->changed ? f->changed->data : f->content.data;
        size_t length = text ? (f->changed ? f->changed->length : f->content.length) : 0;
        uint32_t all = client_switches_all(un->switches);
        text = text ? text : ""; /* removing the entry may have left nothing */
        int outcome = un->format->switch_on(un->switches, 0, text, length, &f->switches, &e);
        if (outcome < 0)
                return refuse_edit(un, f, &f->switches, &e);
        r->off = f->switches.present;
        r->is_left = r->off && r->off != all;
        if (!r->off || r->is_left)
                return 0;
        (void)find_backup(un, r, note_tools);
        r->on = r->off & ~r->off_before;
        outcome = un->format->switch_on(un->switches, r->on, text, length, &f->switches, &e);
        if (outcome < 0)
                return refuse_edit(un, f, &f->switches, &e);
        if (outcome == EDIT_REMOVED)
                f->changed = &f->switches.text;
        return 0;
}

static int change_file(struct uninstall *un, struct removal *r)
{
        struct client_file *f = r->file;
        int failed = mcp_read_file(&un->place, f);
        if (!failed && f->has_entry)
                failed = remove_entry(un, r);
        if (!failed && f->has_switches)
                failed = switch_on(un, r);
        if (failed || !f->changed)
                return failed;
        text_add_bytes(&r->result, f->changed->data ? f->changed->data : "", f->changed->length);
        r->is_restored = find_backup(un, r, restore);
        if (r->result.failed || f->changed->failed)
                return program_error(verb, "no memory");
        f->changed = &r->result;
        return 0;
}

/* --- the report --- */

static void add_names_line(struct text *out, const struct uninstall *un, uint32_t which, const char *start)
{
        if (!which)
                return;
        text_add(out, start);
        mcp_add_names(out, un->switches, which);
        text_add(out, "\n");
}

/* Which tools stay off, and why. */
static void add_kept_tools(struct text *out, const struct uninstall *un, const struct removal *r)
{
        if (r->is_left)
                add_names_line(out, un, r->off, "left off, because --only switches off more than these: ");
        else
                add_names_line(out, un, r->off & ~r->on, "left off, because they were off before --only: ");
}

static void add_plan(struct text *out, struct uninstall *un, const struct removal *r)
{
        const char *path = mcp_file_path(&un->place, r->file);
        if (r->has_entry) {
                text_format(out, "'%s' in %s:\n", un->place.name, path);
                mcp_add_lines(out, &r->file->entry.removed);
                text_add(out, r->file->entry.removed.length && out->data[out->length - 1] != '\n' ? "\n" : "");
        }
        if (r->on) {
                text_format(out, "what switches off in %s: ", path);
                add_names_line(out, un, r->on, "");
        }
        add_kept_tools(out, un, r);
}

static void add_done(struct text *out, struct uninstall *un, const struct removal *r, bool is_gone)
{
        const char *path = mcp_file_path(&un->place, r->file);
        if (r->has_entry)
                text_format(out, "removed '%s' from %s\n", un->place.name, path);
        if (r->on) {
                text_format(out, "switched on in %s: ", path);
                add_names_line(out, un, r->on, "");
        }
        add_kept_tools(out, un, r);
        if (is_gone)
                text_format(out, "removed %s, in which nothing else was\n", path);
        if (r->file->backup.length)
                text_format(out, "backup: %s\n", mcp_printable(&un->place, r->file->backup.data));
}

/* --- the verb --- */

/* Is nothing left in the text but white space and the brackets of the root? */
static bool is_empty(const struct text *t)
{
        const char *text = t->data ? t->data : "";
        const char *rest = text + strspn(text, " \t\r\n{}");
        return !*rest;
}

/* A file in which nothing is left was made by the installation, if it was not like that in a backup. */
static int write_file(struct uninstall *un, struct removal *r, bool *ret_is_gone)
{
        struct client_file *f = r->file;
        struct error e = { 0 };
        *ret_is_gone = false;
        if (!is_empty(f->changed) || r->is_restored)
                return mcp_write_file(&un->place, f);
        if (client_config_file_remove(&f->content, f->changed, &f->backup, &e) < 0)
                return program_error(verb, "%s", e.text);
        *ret_is_gone = true;
        return 0;
}

static int write_all(struct uninstall *un)
{
        CLEANUP_TEXT struct text out = { 0 };
        int failed = 0;
        for (size_t i = 0; !failed && i < CLIENT_FILES_MAX; i++) {
                struct removal *r = &un->removals[i];
                bool is_gone = false;
                if (!r->file)
                        continue;
                failed = r->file->changed ? write_file(un, r, &is_gone) : 0;
                if (!failed)
                        add_done(&out, un, r, is_gone);
        }
        if (!failed)
                text_format(&out, "%s will notice it at its next start\n", un->place.client->title);
        return out.length ? program_print(&out, failed) : failed;
}

static int print_all(struct uninstall *un)
{
        CLEANUP_TEXT struct text out = { 0 };
        for (size_t i = 0; i < CLIENT_FILES_MAX; i++)
                if (un->removals[i].file)
                        add_plan(&out, un, &un->removals[i]);
        text_add(&out, "--write removes this\n");
        return program_print(&out, 0);
}

static int print_nothing(struct uninstall *un)
{
        CLEANUP_TEXT struct text out = { 0 };
        for (size_t i = 0; i < CLIENT_FILES_MAX; i++) {
                const struct removal *r = &un->removals[i];
                if (r->file && r->file->has_entry)
                        text_format(&out, "there is no '%s' in %s\n", un->place.name,
                                    mcp_file_path(&un->place, r->file));
                if (r->file)
                        add_kept_tools(&out, un, r);
        }
        return program_print(&out, 0);
}

static int uninstall(struct uninstall *un)
{
        int failed = 0;
        bool changes = false;
        un->format = un->place.client->format;
        un->switches = un->place.client->switches;
        un->entry = (struct client_entry){ un->place.client->section, un->place.name, NULL };
        un->force = options_has(un->place.options, MCP_OPTION_FORCE);
        for (size_t i = 0; !failed && i < CLIENT_FILES_MAX; i++) {
                struct client_file *f = &un->place.files[i];
                if (!f->has_entry && !f->has_switches)
                        continue;
                un->removals[i].file = f;
                failed = change_file(un, &un->removals[i]);
                changes |= f->changed != NULL;
        }
        if (failed)
                return failed;
        if (!changes)
                return print_nothing(un);
        return options_has(un->place.options, MCP_OPTION_WRITE) ? write_all(un) : print_all(un);
}

int verb_mcp_uninstall(struct options_result *r)
{
        struct uninstall un = { 0 };
        int failed = mcp_place_find(verb, r, &un.place);
        if (!failed)
                failed = uninstall(&un);
        for (size_t i = 0; i < CLIENT_FILES_MAX; i++)
                text_done(&un.removals[i].result);
        mcp_place_done(&un.place);
        return failed;
}
