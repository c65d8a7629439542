/*
 * YAML text to nodes, on libyaml's event interface.
 *
 * How it works: events arrive one at a time; a stack of open maps and lists says where the next value belongs. Aliases
 * share the anchored subtree instead of copying it, and its weight is counted again at every use, so an alias bomb
 * reaches POLICY_NODES_MAX after a few lines. Scalars stay text: `off` is the word off, `no` is the word no; the key
 * that a value belongs to decides what it means.
 *
 * An attacker controls the whole text. libyaml keeps nested flow collections on a stack of its own on the heap, which
 * POLICY_DEPTH_MAX and POLICY_FILE_BYTES_MAX bound.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "policy/input_limits.h"
#include "policy/node.h"

struct anchor {
        const char *name;
        struct node *node;
        bool complete;
};

struct loader {
        struct arena *arena;
        const char *name;
        struct diagnostics *m;
        struct node *open[POLICY_DEPTH_MAX];
        const char *key[POLICY_DEPTH_MAX]; /* in an open map: the key whose value comes next */
        struct source key_place[POLICY_DEPTH_MAX];
        size_t depth;
        struct anchor *anchors;
        size_t anchor_count;
        struct node *root;
        size_t weight;
};

enum { STOP = 1 }; /* a message was added; parsing stops */

static struct source place(const struct loader *l, yaml_mark_t mark)
{
        return (struct source){ l->name, (unsigned)mark.line + 1, (unsigned)mark.column + 1 };
}

static int attach_key(struct loader *l, struct node *scalar)
{
        size_t top = l->depth - 1;
        struct node *map = l->open[top];
        if (scalar->kind != NODE_SCALAR) {
                diagnostic_error(l->m, scalar->from, NULL, "a key must be a word, not %s",
                                 scalar->kind == NODE_MAP ? "a map" : "a list");
                return STOP;
        }
        if (map->count == POLICY_KEYS_MAX) {
                diagnostic_error(l->m, scalar->from, NULL, "the map has more than %d keys", POLICY_KEYS_MAX);
                return STOP;
        }
        for (size_t i = 0; i < map->count; i++)
                if (strcmp(map->names[i], scalar->text) == 0) {
                        char hint[64];
                        (void)snprintf(hint, sizeof hint, "it is first given in line %u", map->name_places[i].line);
                        diagnostic_error(l->m, scalar->from, hint, "the key '%.100s' is given twice", scalar->text);
                        break;
                }
        l->key[top] = scalar->text;
        l->key_place[top] = scalar->from;
        return 0;
}

/* Adds a value to the innermost open map or list, or makes it the root. */
static int attach(struct loader *l, struct node *n)
{
        l->weight += n->weight;
        if (l->weight > POLICY_NODES_MAX) {
                diagnostic_error(l->m, n->from, "aliases count as often as they are used",
                                 "the file has more than %d values", POLICY_NODES_MAX);
                return STOP;
        }
        if (l->depth == 0) {
                l->root = n;
                return 0;
        }
        size_t top = l->depth - 1;
        if (l->open[top]->kind == NODE_MAP && !l->key[top])
                return attach_key(l, n);
        if (!node_add(l->arena, l->open[top], l->key[top], l->key_place[top], n))
                return -ENOMEM;
        l->key[top] = NULL;
        return 0;
}

static struct node *node_new(struct loader *l, enum node_kind kind, yaml_mark_t mark)
{
        struct node *n = ARENA_NEW(l->arena, struct node);
        if (!n)
                return NULL;
        n->kind = kind;
        n->from = place(l, mark);
        n->weight = 1;
        return n;
}

static int remember_anchor(struct loader *l, const yaml_char_t *name, struct node *n, bool complete)
{
        if (!name)
                return 0;
        if (l->anchor_count == POLICY_ANCHORS_MAX) {
                diagnostic_error(l->m, n->from, NULL, "the file has more than %d anchors", POLICY_ANCHORS_MAX);
                return STOP;
        }
        struct anchor *slot = arena_array_push(l->arena, &l->anchors, &l->anchor_count, sizeof *slot);
        if (!slot)
                return -ENOMEM;
        *slot = (struct anchor){ arena_strdup(l->arena, (const char *)name), n, complete };
        return slot->name ? 0 : -ENOMEM;
}

static int check_tag(struct loader *l, const yaml_char_t *tag, yaml_mark_t mark)
{
        if (!tag)
                return 0;
        diagnostic_error(l->m, place(l, mark), "leave the tag out", "the tag '%.60s' is not used in a policy",
                         (const char *)tag);
        return STOP;
}

static int on_scalar(struct loader *l, const yaml_event_t *event)
{
        int r = check_tag(l, event->data.scalar.tag, event->start_mark);
        if (r)
                return r;
        struct node *n = node_new(l, NODE_SCALAR, event->start_mark);
        if (!n)
                return -ENOMEM;
        const char *value = (const char *)event->data.scalar.value;
        size_t length = event->data.scalar.length;
        bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        /* A plain ~, which is null in YAML, stays text: it is the home directory. */
        n->scalar = !plain ? SCALAR_QUOTED : length == 0 || strcmp(value, "null") == 0 ? SCALAR_NULL : SCALAR_PLAIN;
        if (length > POLICY_TEXT_MAX || memchr(value, '\0', length)) {
                diagnostic_error(l->m, n->from, "a value may have at most 4096 bytes and no NUL",
                                 length > POLICY_TEXT_MAX ? "the value is too long" : "the value contains a NUL");
                return STOP;
        }
        n->text = arena_strndup(l->arena, value, length);
        if (!n->text)
                return -ENOMEM;
        r = remember_anchor(l, event->data.scalar.anchor, n, true);
        return r ? r : attach(l, n);
}

static int on_start(struct loader *l, enum node_kind kind, const yaml_event_t *event)
{
        const yaml_char_t *tag = kind == NODE_MAP ? event->data.mapping_start.tag : event->data.sequence_start.tag;
        const yaml_char_t *anchor =
                kind == NODE_MAP ? event->data.mapping_start.anchor : event->data.sequence_start.anchor;
        int r = check_tag(l, tag, event->start_mark);
        if (r)
                return r;
        struct node *n = node_new(l, kind, event->start_mark);
        if (!n)
                return -ENOMEM;
        if (l->depth == POLICY_DEPTH_MAX) {
                diagnostic_error(l->m, n->from, NULL, "maps and lists are nested more than %d deep", POLICY_DEPTH_MAX);
                return STOP;
        }
        r = remember_anchor(l, anchor, n, false);
        if (r)
                return r;
        l->open[l->depth] = n;
        l->key[l->depth] = NULL;
        l->depth++;
        return 0;
}

static int on_end(struct loader *l)
{
        struct node *n = l->open[--l->depth];
        for (size_t i = 0; i < l->anchor_count; i++)
                if (l->anchors[i].node == n)
                        l->anchors[i].complete = true;
        /* The members were counted when they were attached, so that attach() now adds only the collection itself. */
        l->weight -= n->weight - 1;
        return attach(l, n);
}

static int on_alias(struct loader *l, const yaml_event_t *event)
{
        const char *name = (const char *)event->data.alias.anchor;
        struct source from = place(l, event->start_mark);
        for (size_t i = l->anchor_count; i-- > 0;) {
                if (strcmp(l->anchors[i].name, name) != 0)
                        continue;
                if (l->anchors[i].complete)
                        return attach(l, l->anchors[i].node);
                diagnostic_error(l->m, from, NULL, "the alias '*%.60s' refers to a value that contains it", name);
                return STOP;
        }
        diagnostic_error(l->m, from, "an anchor is defined with &name before it is used", "no anchor is called '%.60s'",
                         name);
        return STOP;
}

static int on_event(struct loader *l, const yaml_event_t *event)
{
        switch (event->type) {
        case YAML_SCALAR_EVENT:
                return on_scalar(l, event);
        case YAML_SEQUENCE_START_EVENT:
                return on_start(l, NODE_LIST, event);
        case YAML_MAPPING_START_EVENT:
                return on_start(l, NODE_MAP, event);
        case YAML_SEQUENCE_END_EVENT:
        case YAML_MAPPING_END_EVENT:
                return on_end(l);
        case YAML_ALIAS_EVENT:
                return on_alias(l, event);
        case YAML_DOCUMENT_START_EVENT:
                if (!l->root)
                        return 0;
                diagnostic_error(l->m, place(l, event->start_mark), "give each policy its own file",
                                 "a second document begins here");
                return STOP;
        case YAML_NO_EVENT:
        case YAML_STREAM_START_EVENT:
        case YAML_STREAM_END_EVENT:
        case YAML_DOCUMENT_END_EVENT:
                break;
        }
        return 0;
}

/* A tab used for indentation is the most common mistake, and libyaml's message about it does not help. */
static void report_syntax(struct loader *l, const yaml_parser_t *parser, const char *text, size_t length)
{
        struct source from = place(l, parser->problem_mark);
        /* libyaml's reader, which refuses characters that YAML does not allow, reports an offset and no mark. */
        if (parser->error == YAML_READER_ERROR)
                from = node_position(l->name, text, parser->problem_offset < length ? parser->problem_offset : length);
        const char *problem = parser->problem ? parser->problem : "the text cannot be read";
        if (strstr(problem, "cannot start any token"))
                diagnostic_error(l->m, from,
                                 "tabs cannot indent YAML, and a value that starts with @, ` or % needs quotes", "%s",
                                 problem);
        else if (parser->context)
                diagnostic_error(l->m, from, NULL, "%s, %s (which begins in line %zu)", problem, parser->context,
                                 parser->context_mark.line + 1);
        else
                diagnostic_error(l->m, from, NULL, "%s", problem);
}

static int load(struct loader *l, const char *text, size_t length)
{
        yaml_parser_t parser;
        if (!yaml_parser_initialize(&parser))
                return -ENOMEM;
        yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
        int r = 0;
        for (bool end = false; !end && r == 0;) {
                yaml_event_t event;
                if (!yaml_parser_parse(&parser, &event)) {
                        r = parser.error == YAML_MEMORY_ERROR ? -ENOMEM : STOP;
                        if (r == STOP)
                                report_syntax(l, &parser, text, length);
                        break;
                }
                r = on_event(l, &event);
                end = event.type == YAML_STREAM_END_EVENT;
                yaml_event_delete(&event);
        }
        yaml_parser_delete(&parser);
        return r;
}

/* No policy needs directives, and libyaml takes quadratic time for a long list of %TAG. */
static int refuse_directives(const char *name, const char *text, size_t length, struct diagnostics *m)
{
        for (size_t i = 0; i < length; i++)
                if (text[i] == '%' && (i == 0 || text[i - 1] == '\n')) {
                        diagnostic_error(m, node_position(name, text, i), "leave the line out",
                                         "directives (lines that begin with %%) are not used in a policy");
                        return STOP;
                }
        return 0;
}

int node_from_yaml(struct arena *a, const char *name, const char *text, size_t length, struct diagnostics *m,
                   struct node **ret)
{
        int r = node_check_text(name, text, length, m);
        if (r)
                return r;
        /* Some editors begin a file with a byte order mark, which would shift the columns of its first line. */
        if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
                text += 3;
                length -= 3;
        }
        r = refuse_directives(name, text, length, m);
        if (r)
                return r;
        struct loader l = { .arena = a, .name = arena_strdup(a, name), .m = m };
        if (!l.name)
                return -ENOMEM;
        r = load(&l, text, length);
        if (r)
                return r;
        if (!l.root || (l.root->kind == NODE_SCALAR && l.root->scalar == SCALAR_NULL)) {
                l.root = node_new(&l, NODE_MAP, (yaml_mark_t){ 0 });
                if (!l.root)
                        return -ENOMEM;
        }
        *ret = l.root;
        return 0;
}
