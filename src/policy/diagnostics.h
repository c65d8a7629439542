/*
 * Errors and warnings about a policy: the place, the line with a caret, what was expected, and what to do. A
 * compilation collects all of them instead of stopping at the first.
 */
#ifndef RINGWALL_POLICY_DIAGNOSTICS_H
#define RINGWALL_POLICY_DIAGNOSTICS_H

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

enum diagnostic_kind { DIAGNOSTIC_ERROR, DIAGNOSTIC_WARNING, DIAGNOSTIC_NOTE };

struct diagnostics;

struct diagnostics *diagnostics_new(void);
void diagnostics_free(struct diagnostics *m);
static inline void diagnostics_free_pointer(struct diagnostics **m)
{
        diagnostics_free(*m);
}
#define CLEANUP_DIAGNOSTICS CLEANUP(diagnostics_free_pointer)

/* Keeps a copy of an input's text, so that a line of it can be shown later. Returns 0 or -ENOMEM. */
int diagnostics_add_input(struct diagnostics *m, const char *name, const char *text, size_t length);

/* Adds a message. `hint` says what was expected or what to do; it may be NULL. */
void diagnostic_add(struct diagnostics *m, enum diagnostic_kind kind, struct source from, const char *hint,
                    const char *format, ...) __attribute__((format(printf, 5, 6)));
#define diagnostic_error(m, from, hint, ...) diagnostic_add((m), DIAGNOSTIC_ERROR, (from), (hint), __VA_ARGS__)
#define diagnostic_warning(m, from, hint, ...) diagnostic_add((m), DIAGNOSTIC_WARNING, (from), (hint), __VA_ARGS__)

/* Includes messages beyond POLICY_MESSAGES_MAX, which are not kept. */
size_t diagnostics_count(const struct diagnostics *m, enum diagnostic_kind kind);

/* Prints all messages for a person, in colour if `colour`. */
void diagnostics_print(const struct diagnostics *m, struct text *out, bool colour);

/* All messages as a JSON array; NULL if out of memory. */
json_t *diagnostics_to_json(const struct diagnostics *m);

/* Adds "file:line:column", or the name alone. */
void source_print(struct source from, struct text *out);

/* Is it a rule or a value that ringwall has by itself? A file of that name has lines. */
#define SOURCE_DEFAULT "default"
bool source_is_default(struct source from);

/* Sets the error that a rule of the plan cannot be enforced, with the rule's source. Returns -ENOTSUP. */
int error_not_enforceable(struct source from, const char *what, struct error *e);

#endif
