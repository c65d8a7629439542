/*
 * Finds the id of a request that cannot be parsed, so that its client gets an error for that request and does not wait
 * for ever: JSON with \u0000 in a string, with half of a surrogate pair, with a number out of range, nested too deeply,
 * or too long. Works on a message in pieces, so a message that is too long need not be stored.
 */
#ifndef RINGWALL_MCP_REQUEST_ID_H
#define RINGWALL_MCP_REQUEST_ID_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { REQUEST_ID_BYTES_MAX = 256 };

enum request_id_state {
        REQUEST_ID_START,
        REQUEST_ID_BEFORE_KEY,
        REQUEST_ID_IN_KEY,
        REQUEST_ID_AFTER_KEY,
        REQUEST_ID_BEFORE_VALUE,
        REQUEST_ID_IN_VALUE,
        REQUEST_ID_FOUND,
        REQUEST_ID_NONE,
};

/* All zero in the beginning. */
struct request_id {
        enum request_id_state state;
        bool is_id;              /* the current key is "id" */
        bool in_string, escaped; /* in the current value */
        size_t depth;            /* of objects and arrays in the current value */
        size_t length;
        char text[REQUEST_ID_BYTES_MAX]; /* the current key, or the JSON of the id */
};

void request_id_feed(struct request_id *r, const char *bytes, size_t length);

/* A string or an integer, as a new reference; NULL if the message has no valid id. */
json_t *request_id_take(const struct request_id *r);

#endif
