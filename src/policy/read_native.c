/*
 * The native file: a tree of nodes, read against the table of keys. Nothing here knows a key by name; what the table
 * does not list is an error that names the nearest key it does list.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/caps.h"
#include "policy/node.h"
#include "policy/settings.h"

enum { LONGEST_PATH = 160, MOST_CHILDREN = 32, MOST_STARS = 2 };

struct reader {
        struct settings *settings;
        const char *base;
        char path[LONGEST_PATH];       /* where we are in the table: dotted, with stars */
        const char *chosen[MOST_STARS]; /* the names that stand for the stars */
        size_t chosen_count;
        struct source key_place; /* of the key whose value is being read */
        bool failed;
};

static int read_node(struct reader *r, const struct node *n);

static struct setting setting_here(const struct reader *r, const struct key *key, const struct node *n)
{
        size_t of_server = text_starts(key->path, keys[KEY_SERVER].path) ? 1 : 0;
        return (struct setting){
                .key = (enum key_id)(key - keys),
                .server = of_server ? r->chosen[0] : NULL,
                .member = r->chosen_count > of_server ? r->chosen[of_server] : NULL,
                .base = key->list ? NULL : r->base,
                .from = key->kind == VALUE_MAP ? r->key_place : n->from,
        };
}

static void report_type(struct reader *r, const struct key *key, const struct node *n, bool entry)
{
        CLEANUP_TEXT struct text hint = { 0 };
        char buffer[96];
        text_add(&hint, key->list && !entry ? "expected a list, each entry " : "expected ");
        key_describe_value(key, &hint);
        message_error(r->settings->messages, n->from, hint.data, "%s cannot be %s", key->path,
                      node_describe(n, buffer, sizeof buffer));
        r->failed = true;
}

static int read_scalar(struct reader *r, const struct key *key, const struct node *n, bool entry)
{
        /* An unquoted ~ is YAML's null and everybody else's home directory. */
        bool is_null = n->scalar == SCALAR_NULL;
        if (n->kind != NODE_SCALAR || is_null) {
                report_type(r, key, n, entry);
                return 0;
        }
        struct setting in = setting_here(r, key, n);
        in.literal = entry && key->one_or_list; /* a word of the person's, not a line to split */
        int e = settings_add(r->settings, in, n->text);
        r->failed |= e > 0;
        return e < 0 ? e : 0;
}

static int read_list(struct reader *r, const struct key *key, const struct node *n)
{
        if (n->kind == NODE_SCALAR && n->scalar != SCALAR_NULL && key->one_or_list)
                return read_scalar(r, key, n, false);
        bool nothing = n->kind == NODE_SCALAR && n->scalar == SCALAR_NULL;
        if (n->kind != NODE_LIST && !nothing) {
                report_type(r, key, n, false);
                return 0;
        }
        if (n->count == 0) {
                struct setting none = setting_here(r, key, n);
                none.empty = true;
                return settings_append(r->settings, &none);
        }
        for (size_t i = 0; i < n->count; i++) {
                int e = read_scalar(r, key, n->items[i], true);
                if (e)
                        return e;
        }
        return 0;
}

/* The children that the table has here, as strings for the message; a star is not among them. */
static size_t known_children(const char *path, char names[MOST_CHILDREN][40], const char *pointers[MOST_CHILDREN])
{
        size_t position = 0, count = 0, length = 0;
        const char *name = NULL;
        while (count < MOST_CHILDREN && key_next_child(path, &position, &name, &length)) {
                if (*name == '*')
                        continue;
                (void)snprintf(names[count], sizeof names[count], "%.*s", (int)length, name);
                pointers[count] = names[count];
                count++;
        }
        return count;
}

/* Where a key of this name does exist, if it stands in the wrong place; NULL if nowhere. */
static const char *same_name_elsewhere(const char *name)
{
        for (size_t i = 0; i < KEY_COUNT; i++) {
                const char *last = strrchr(keys[i].path, '.');
                if (strcmp(last ? last + 1 : keys[i].path, name) == 0)
                        return keys[i].path;
        }
        return NULL;
}

static void report_unknown_key(struct reader *r, const char *name, struct source place)
{
        char names[MOST_CHILDREN][40];
        const char *pointers[MOST_CHILDREN];
        size_t count = known_children(r->path, names, pointers);
        CLEANUP_TEXT struct text hint = { 0 };
        const char *near = text_nearest(name, pointers, count);
        const char *elsewhere = near ? NULL : same_name_elsewhere(name);
        if (near)
                text_format(&hint, "did you mean '%s'?", near);
        else if (elsewhere)
                text_format(&hint, "it belongs at %s", elsewhere);
        else
                text_add(&hint, "known here:");
        for (size_t i = 0; !near && !elsewhere && i < count; i++)
                text_format(&hint, "%s %s", i ? "," : "", pointers[i]);
        message_error(r->settings->messages, place, hint.data, "unknown key '%.100s'%s%s", name,
                      *r->path ? " in " : "", r->path);
        r->failed = true;
}

/* Extends r->path by the child that fits `name`: its own name, or a star. */
static bool enter(struct reader *r, const char *name)
{
        size_t position = 0, length = 0, used = strlen(r->path);
        const char *child = NULL;
        while (key_next_child(r->path, &position, &child, &length)) {
                bool star = *child == '*';
                if (!star && (strlen(name) != length || strncmp(child, name, length) != 0))
                        continue;
                if (star)
                        r->chosen[r->chosen_count++] = name;
                (void)snprintf(r->path + used, sizeof r->path - used, "%s%.*s", used ? "." : "", (int)length, child);
                return true;
        }
        return false;
}

static bool star_name_ok(struct reader *r, const char *name, struct source place)
{
        CLEANUP_TEXT struct text visible = { 0 };
        text_add_visible(&visible, name, strlen(name));
        if (*name && strlen(name) <= 100 && visible.data && strcmp(visible.data, name) == 0)
                return true;
        message_error(r->settings->messages, place, "a name has from 1 to 100 bytes and no control characters",
                      "this name cannot be used");
        r->failed = true;
        return false;
}

static int read_map(struct reader *r, const struct node *n)
{
        size_t used = strlen(r->path), stars = r->chosen_count;
        for (size_t i = 0; i < n->count; i++) {
                int e = 0;
                r->key_place = n->name_places[i];
                if (!enter(r, n->names[i]))
                        report_unknown_key(r, n->names[i], n->name_places[i]);
                else if (r->chosen_count == stars || star_name_ok(r, n->names[i], n->name_places[i]))
                        e = read_node(r, n->items[i]);
                r->path[used] = '\0';
                r->chosen_count = stars;
                if (e)
                        return e;
        }
        return 0;
}

/* Recursion ends with the table: its longest path has eight names. */
static int read_node(struct reader *r, const struct node *n)
{
        const struct key *key = key_find(r->path);
        bool nothing = n->kind == NODE_SCALAR && n->scalar == SCALAR_NULL;
        if (key && key->kind != VALUE_MAP)
                return key->list ? read_list(r, key, n) : read_scalar(r, key, n, false);
        if (n->kind != NODE_MAP && !nothing) {
                char buffer[96];
                message_error(r->settings->messages, n->from, "expected a map of keys", "%s cannot be %s",
                              *r->path ? r->path : "the policy", node_describe(n, buffer, sizeof buffer));
                r->failed = true;
                return 0;
        }
        if (key) {
                struct setting present = setting_here(r, key, n);
                int e = settings_append(r->settings, &present);
                if (e)
                        return e;
        }
        return read_map(r, n);
}

int settings_read_native(struct settings *s, const char *name, const char *text, size_t length, const char *base)
{
        size_t errors_before = messages_count(s->messages, MESSAGE_ERROR);
        struct node *root = NULL;
        int e = messages_add_input(s->messages, name, text, length < CAP_FILE_BYTES ? length : CAP_FILE_BYTES);
        if (e)
                return e;
        e = node_from_yaml(s->arena, name, text, length, s->messages, &root);
        if (e)
                return e;
        struct reader r = { .settings = s, .base = arena_string(s->arena, base) };
        if (!r.base)
                return -ENOMEM;
        s->layer++;
        e = read_node(&r, root);
        if (e < 0)
                return e;
        return e || r.failed || messages_count(s->messages, MESSAGE_ERROR) > errors_before;
}
