/*
 * Reads the native policy file: walks its tree of nodes along the table of keys. A key that is not in the table is an
 * error, which suggests the nearest key.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/input_limits.h"
#include "policy/node.h"
#include "policy/settings.h"

enum { LONGEST_PATH = 160, CHILDREN_MAX = 32, STARS_MAX = 2 };

struct reader {
        struct settings *settings;
        const char *base;
        char path[LONGEST_PATH];       /* the current place in the table: dotted, with stars */
        const char *chosen[STARS_MAX]; /* the names that the file has for the stars */
        size_t chosen_count;
        struct source key_place; /* of the key whose value is being read */
        bool failed;
};

static int read_node(struct reader *r, const struct node *n);

static struct setting make_setting(const struct reader *r, const struct key *key, const struct node *n)
{
        size_t of_server = text_has_prefix(key->path, keys[KEY_SERVER].path) ? 1 : 0;
        return (struct setting){
                .key = (enum key_id)(key - keys),
                .server = of_server ? r->chosen[0] : NULL,
                .member = r->chosen_count > of_server ? r->chosen[of_server] : NULL,
                .base = key->list ? NULL : r->base,
                .from = key->kind == VALUE_MAP ? r->key_place : n->from,
        };
}

static void report_type(struct reader *r, const struct key *key, const struct node *n, bool in_list)
{
        CLEANUP_TEXT struct text hint = { 0 };
        char buffer[96];
        text_add(&hint, key->list && !in_list ? "expected a list, each entry " : "expected ");
        key_expected_text(key, &hint);
        diagnostic_error(r->settings->messages, n->from, hint.data, "%s cannot be %s", key->path,
                         node_describe(n, buffer, sizeof buffer));
        r->failed = true;
}

static int read_scalar(struct reader *r, const struct key *key, const struct node *n, bool in_list)
{
        bool is_null = n->scalar == SCALAR_NULL;
        if (n->kind != NODE_SCALAR || is_null) {
                report_type(r, key, n, in_list);
                return 0;
        }
        struct setting setting = make_setting(r, key, n);
        setting.literal = in_list && key->one_or_list; /* one argument, not a command line to split */
        int e = settings_add(r->settings, setting, n->text);
        r->failed |= e > 0;
        return e < 0 ? e : 0;
}

static int read_list(struct reader *r, const struct key *key, const struct node *n)
{
        if (n->kind == NODE_SCALAR && n->scalar != SCALAR_NULL && key->one_or_list)
                return read_scalar(r, key, n, false);
        bool is_null = n->kind == NODE_SCALAR && n->scalar == SCALAR_NULL;
        if (n->kind != NODE_LIST && !is_null) {
                report_type(r, key, n, false);
                return 0;
        }
        if (n->count == 0) {
                struct setting empty = make_setting(r, key, n);
                empty.empty = true;
                return settings_append(r->settings, &empty);
        }
        for (size_t i = 0; i < n->count; i++) {
                int e = read_scalar(r, key, n->items[i], true);
                if (e)
                        return e;
        }
        return 0;
}

/* Lists the names of the keys below `path`, for a message; a star is left out. */
static size_t list_children(const char *path, char names[CHILDREN_MAX][40], const char *pointers[CHILDREN_MAX])
{
        size_t position = 0, count = 0, length = 0;
        const char *name = NULL;
        while (count < CHILDREN_MAX && key_iterate_children(path, &position, &name, &length)) {
                if (*name == '*')
                        continue;
                (void)snprintf(names[count], sizeof names[count], "%.*s", (int)length, name);
                pointers[count] = names[count];
                count++;
        }
        return count;
}

/* The path of a key whose last name is this one, for a key in the wrong place; NULL if there is none. */
static const char *find_same_name(const char *name)
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
        char names[CHILDREN_MAX][40];
        const char *pointers[CHILDREN_MAX];
        size_t count = list_children(r->path, names, pointers);
        CLEANUP_TEXT struct text hint = { 0 };
        const char *near = text_suggest(name, pointers, count);
        const char *elsewhere = near ? NULL : find_same_name(name);
        if (near)
                text_format(&hint, "did you mean '%s'?", near);
        else if (elsewhere)
                text_format(&hint, "it belongs at %s", elsewhere);
        else
                text_add(&hint, "known here:");
        for (size_t i = 0; !near && !elsewhere && i < count; i++)
                text_format(&hint, "%s %s", i ? "," : "", pointers[i]);
        diagnostic_error(r->settings->messages, place, hint.data, "unknown key '%.100s'%s%s", name,
                         *r->path ? " in " : "", r->path);
        r->failed = true;
}

/* Extends r->path by the child for `name`: the key of that name, or a star. */
static bool enter_child(struct reader *r, const char *name)
{
        size_t position = 0, length = 0, used = strlen(r->path);
        const char *child = NULL;
        while (key_iterate_children(r->path, &position, &child, &length)) {
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

static bool check_chosen_name(struct reader *r, const char *name, struct source place)
{
        CLEANUP_TEXT struct text visible = { 0 };
        text_add_escaped(&visible, name, strlen(name));
        if (*name && strlen(name) <= 100 && visible.data && strcmp(visible.data, name) == 0)
                return true;
        diagnostic_error(r->settings->messages, place, "a name has from 1 to 100 bytes and no control characters",
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
                if (!enter_child(r, n->names[i]))
                        report_unknown_key(r, n->names[i], n->name_places[i]);
                else if (r->chosen_count == stars || check_chosen_name(r, n->names[i], n->name_places[i]))
                        e = read_node(r, n->items[i]);
                r->path[used] = '\0';
                r->chosen_count = stars;
                if (e)
                        return e;
        }
        return 0;
}

/* The table bounds the recursion: its longest path has nine names. */
static int read_node(struct reader *r, const struct node *n)
{
        const struct key *key = key_find(r->path);
        bool is_null = n->kind == NODE_SCALAR && n->scalar == SCALAR_NULL;
        if (key && key->kind != VALUE_MAP)
                return key->list ? read_list(r, key, n) : read_scalar(r, key, n, false);
        if (n->kind != NODE_MAP && !is_null) {
                char buffer[96];
                diagnostic_error(r->settings->messages, n->from, "expected a map of keys", "%s cannot be %s",
                                 *r->path ? r->path : "the policy", node_describe(n, buffer, sizeof buffer));
                r->failed = true;
                return 0;
        }
        if (key) {
                struct setting present = make_setting(r, key, n);
                int e = settings_append(r->settings, &present);
                if (e)
                        return e;
        }
        return read_map(r, n);
}

int settings_parse_policy(struct settings *s, const char *name, const char *text, size_t length, const char *base)
{
        size_t errors_before = diagnostics_count(s->messages, DIAGNOSTIC_ERROR);
        struct node *root = NULL;
        int e = diagnostics_add_input(s->messages, name, text,
                                      length < POLICY_FILE_BYTES_MAX ? length : POLICY_FILE_BYTES_MAX);
        if (e)
                return e;
        e = node_from_yaml(s->arena, name, text, length, s->messages, &root);
        if (e)
                return e;
        struct reader r = { .settings = s, .base = arena_strdup(s->arena, base) };
        if (!r.base)
                return -ENOMEM;
        s->layer++;
        e = read_node(&r, root);
        if (e < 0)
                return e;
        return e || r.failed || diagnostics_count(s->messages, DIAGNOSTIC_ERROR) > errors_before;
}
