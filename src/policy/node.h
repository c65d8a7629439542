/*
 * A parsed file: maps, lists and scalars, each with its place. Both file formats are parsed into nodes, so that every
 * rule can name its line.
 */
#ifndef RINGWALL_POLICY_NODE_H
#define RINGWALL_POLICY_NODE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"
#include "policy/diagnostics.h"

enum node_kind { NODE_SCALAR, NODE_LIST, NODE_MAP };

/* How a scalar was written. An unquoted word in YAML may be of any type; JSON's numbers and booleans are plain too. */
enum scalar_kind { SCALAR_PLAIN, SCALAR_QUOTED, SCALAR_NULL };

struct node {
        enum node_kind kind;
        enum scalar_kind scalar;
        const char *text; /* scalars: terminated, no NUL inside */
        struct node **items;
        const char **names; /* maps: the key of each item */
        struct source *name_places;
        size_t count;
        struct source from;
        size_t weight; /* nodes in this subtree, including itself */
};

/*
 * Parse a file. Both return 0 with a tree in the arena, 1 after error messages about the text, or -ENOMEM. An empty
 * YAML file is an empty map.
 */
int node_from_yaml(struct arena *a, const char *name, const char *text, size_t length, struct diagnostics *m,
                   struct node **ret);
int node_from_json(struct arena *a, const char *name, const char *text, size_t length, struct diagnostics *m,
                   struct node **ret);

/* Line and column of a byte. */
struct source node_position(const char *name, const char *text, size_t offset);

/*
 * The checks before either parser: size, NUL, UTF-8, and line breaks that only some programs recognise, because a rule
 * after such a break could look like part of a comment. Returns 0, or 1 with a message.
 */
int node_check_text(const char *name, const char *text, size_t length, struct diagnostics *m);

/* Adds one item; `key` is NULL in lists. False if out of memory. */
bool node_add(struct arena *a, struct node *parent, const char *key, struct source key_place, struct node *item);

/* For tests. */
const struct node *node_get(const struct node *map, const char *name);

/* "a list", "a map", "nothing" or the quoted text, for messages. */
const char *node_describe(const struct node *n, char *buffer, size_t size);

#endif
