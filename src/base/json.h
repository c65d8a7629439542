/*
 * Reads and writes JSON with jansson, within bounds. Reading is strict: one value and nothing after it, no duplicate
 * keys, no NUL inside strings, valid UTF-8, and never more bytes or deeper nesting than the caller allows; the nesting
 * is counted before jansson recurses. Writing keeps the order in which keys were added, so equal values built the same
 * way give equal bytes.
 *
 * Two properties of jansson matter: its first object reads /dev/urandom (once, to seed its hash), and it writes reals
 * with 17 digits (0.1 becomes 0.10000000000000001), so numbers for users should be integers or strings.
 */
#ifndef RINGWALL_BASE_JSON_H
#define RINGWALL_BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

enum {
        JSON_DEPTH_MAX = 64,       /* enough for files written by people */
        JSON_WRITE_MAX = 64 << 20, /* bytes of one value in json_write(), before DEL is escaped */
};

#define CLEANUP_JSON CLEANUP(json_decrefp)

/*
 * Parses length bytes of text. Returns 0 with a new reference in *ret; -EFBIG beyond cap_bytes, -ELOOP beyond
 * cap_depth, -EINVAL for anything that is not strict JSON, -ENOMEM. For -ELOOP and -EINVAL the error's text names the
 * position, which is also stored in *ret_line and *ret_column (each may be NULL; both count from 1, columns in
 * characters; 0 when there is no position). A syntax error is reported at the end of the offending token.
 */
int json_parse_bounded(const char *text, size_t length, size_t cap_bytes, size_t cap_depth, json_t **ret,
                       struct error *e, unsigned *ret_line, unsigned *ret_column);

/*
 * Adds value to t: on one line without spaces, or indented by two. Adds no newline at the end. Returns 0, -EFBIG beyond
 * JSON_WRITE_MAX, -ENOMEM, -EINVAL for a value that JSON cannot represent (a cycle); a failure leaves t as it was.
 */
int json_write(const json_t *value, struct text *t, bool pretty);

#endif
