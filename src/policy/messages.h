/*
 * Errors and warnings about a policy: the place, the line with a caret, what was expected, and what to do. A
 * compilation collects all of them instead of stopping at the first.
 */
#ifndef RINGWALL_POLICY_MESSAGES_H
#define RINGWALL_POLICY_MESSAGES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"

/* Where a rule or a value came from: a place in a file, or a name alone ("default", "--rw"). */
struct source {
        const char *name;
        unsigned line, column; /* from 1; 0 without a place in a file */
};

enum message_kind { MESSAGE_ERROR, MESSAGE_WARNING, MESSAGE_NOTE };

struct messages;

struct messages *messages_new(void);
void messages_free(struct messages *m);
static inline void messages_free_pointer(struct messages **m)
{
        messages_free(*m);
}
#define CLEANUP_MESSAGES CLEANUP(messages_free_pointer)

/* Keeps a copy of an input's text, so that a line of it can be shown later. Returns 0 or -ENOMEM. */
int messages_add_input(struct messages *m, const char *name, const char *text, size_t length);

/* Adds a message. `hint` says what was expected or what to do; it may be NULL. */
void message_add(struct messages *m, enum message_kind kind, struct source from, const char *hint, const char *format,
                 ...) __attribute__((format(printf, 5, 6)));
#define message_error(m, from, hint, ...) message_add((m), MESSAGE_ERROR, (from), (hint), __VA_ARGS__)
#define message_warning(m, from, hint, ...) message_add((m), MESSAGE_WARNING, (from), (hint), __VA_ARGS__)

/* Includes messages beyond POLICY_MESSAGES_MAX, which are not kept. */
size_t messages_count(const struct messages *m, enum message_kind kind);

/* Prints all messages for a person, in colour if `colour`. */
void messages_print(const struct messages *m, struct text *out, bool colour);

/* All messages as a JSON array; NULL if out of memory. */
json_t *messages_to_json(const struct messages *m);

/* Adds "file:line:column", or the name alone. */
void source_print(struct source from, struct text *out);

/* Is it a rule or a value that ringwall has by itself? A file of that name has lines. */
#define SOURCE_DEFAULT "default"
bool source_is_default(struct source from);

/* Sets the error that a rule of the plan cannot be enforced, with the rule's source. Returns -ENOTSUP. */
int error_not_enforceable(struct source from, const char *what, struct error *e);

#endif
