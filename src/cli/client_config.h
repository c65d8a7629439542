/*
 * Adds an entry to the text of a client's configuration file. Both formats are edited as text: every byte outside the
 * entry is kept, with its order, indentation and comments.
 *
 * The text is untrusted: it comes from the user's home directory or project. A text that is not well-formed, or that
 * has the entry in a form that cannot be replaced, is refused with its line and column.
 */
#ifndef RINGWALL_CLI_CLIENT_CONFIG_H
#define RINGWALL_CLI_CLIENT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

enum { CONFIG_BYTES_MAX = 32 << 20 }; /* of a file; large, because some clients keep their history in it */

struct client_entry {
        const char *section; /* "mcpServers" */
        const char *name;    /* letters, digits, - and _ */
        json_t *value;       /* an object of strings and arrays of strings */
};

/* The result of a change. */
enum edit_outcome {
        EDIT_ADDED,
        EDIT_REPLACED,
        EDIT_UNCHANGED,  /* the file already has the entry, with the same value */
        EDIT_CONFLICT, /* the file has an entry of that name with another value, and `force` was not set */
};

struct edit_result {
        struct text text;      /* the whole new file; with EDIT_CONFLICT, the existing entry */
        unsigned line, column; /* the position of a failure, counted from 1; 0 if it has none */
};
void edit_result_done(struct edit_result *c);
#define CLEANUP_CONFIG_CHANGE CLEANUP(edit_result_done)

/* A file format of configurations. */
struct client_config_format {
        const char *name; /* for messages: "JSON" */
        /* Prints a file that has only this entry. */
        void (*print)(const struct client_entry *entry, struct text *out);
        /*
         * Adds the entry to a text, which must be followed by a NUL. Replaces an entry of the same name only with
         * `force`. Returns an enum edit_outcome, or -errno with an error and its position.
         */
        int (*set)(const struct client_entry *entry, const char *text, size_t length, bool force,
                   struct edit_result *ret, struct error *e);
};

extern const struct client_config_format client_config_json, client_config_toml;

/* For the formats: the line ending that the text uses. */
const char *edit_newline(const char *text);

/* For the formats: fails if the text is not UTF-8, or contains a NUL. */
int edit_check_text(struct edit_result *c, const char *text, size_t length, struct error *e);

/* For the formats: sets the line and column of an offset and the error; returns -EINVAL. */
int edit_fail_at(struct edit_result *c, const char *text, size_t offset, struct error *e, const char *message);

#endif
