/*
 * Finds where the values of JSON text are, so that one of them can be replaced and every other byte stays. The text
 * must have been parsed by json_parse_bounded(), which proves that it is JSON, and must end with a NUL.
 */
#ifndef RINGWALL_TOOLS_JSON_WALK_H
#define RINGWALL_TOOLS_JSON_WALK_H

#include <jansson.h>
#include <stdbool.h>

struct json_span {
        const char *start, *end;
};

struct json_item {
        struct json_span key; /* with its quotes; of an array's item: NULL */
        struct json_span value;
};

struct json_walk {
        const char *at;
        bool is_object;
};

/* The value that starts here, or after white space. */
struct json_span json_span_of(const char *text);

/* The items of the object or array that starts here, in their order. */
void json_walk_start(struct json_walk *w, const char *value);
bool json_walk_next(struct json_walk *w, struct json_item *ret);

/* Finds a member of `object`, which was parsed from the text that starts at `value`. */
bool json_walk_find(const json_t *object, const char *value, const char *name, struct json_item *ret);

#endif
