/*
 * Changes the text of a client's configuration file: adds and removes the entry of a server, and switches the client's
 * own tools off and on. Both formats are edited as text: every byte outside the change is kept, with its order,
 * indentation and comments. A removal undoes an addition; what was left empty by it is removed too.
 *
 * The text is untrusted: it comes from the user's home directory or project. A text that is not well-formed, or that
 * has the entry in a form that cannot be changed, is refused with its line and column.
 */
#ifndef RINGWALL_CLI_CLIENT_CONFIG_H
#define RINGWALL_CLI_CLIENT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

enum { CONFIG_BYTES_MAX = 32 << 20 }; /* of a file; large, because some clients keep their history in it */

struct client_entry {
        const char *section; /* "mcpServers" */
        const char *name;    /* letters, digits, - and _ */
        json_t *value;       /* an object of strings and arrays of strings */
};

/*
 * How a client switches off its own tools. In JSON: by their names in a list, the member `key` of the object `table`.
 * In TOML: by keys with these names in the table `table`, each with the value false.
 */
struct client_switches {
        const char *table, *key;  /* "permissions", "deny"; `key` is NULL in TOML */
        const char *const *names; /* NULL after the last; letters, digits and _ */
};
enum { SWITCHES_MAX = 32 };

/* Sets of the names are bits, the first name is bit 0. This is the set of all. */
uint32_t client_switches_all(const struct client_switches *s);

/* The result of a change. */
enum edit_outcome {
        EDIT_ADDED,
        EDIT_REPLACED,
        EDIT_REMOVED,
        EDIT_UNCHANGED, /* the file is already as it should be */
        EDIT_CONFLICT,  /* the file has an entry of that name with another value, and `force` was not set */
};

struct edit_result {
        struct text text;       /* the whole new file; with EDIT_CONFLICT, the existing entry */
        struct text removed;    /* with EDIT_REMOVED: the entry as it was written */
        json_t *removed_value;  /* the same, as far as it could be parsed */
        uint32_t present;       /* which tools were switched off before the change */
        unsigned line, column;  /* the position of a failure, counted from 1; 0 if it has none */
};
void edit_result_done(struct edit_result *c);
#define CLEANUP_CONFIG_CHANGE CLEANUP(edit_result_done)

/* A file format of configurations. */
struct client_config_format {
        const char *name; /* for messages: "JSON" */
        /* Prints a file that has only this; each may be NULL. */
        void (*print)(const struct client_entry *entry, const struct client_switches *switches, struct text *out);

        /*
         * The functions below change a text, which must be followed by a NUL. They return an enum edit_outcome, or
         * -errno with an error and its position.
         */

        /* Adds the entry. Replaces an entry of the same name only with `force`. */
        int (*set)(const struct client_entry *entry, const char *text, size_t length, bool force,
                   struct edit_result *ret, struct error *e);
        /* Removes the entry of this section and name, whatever its value is. */
        int (*remove)(const struct client_entry *entry, const char *text, size_t length, struct edit_result *ret,
                      struct error *e);
        /* Switches off all tools: EDIT_ADDED, or EDIT_UNCHANGED if all were off. */
        int (*switch_off)(const struct client_switches *s, const char *text, size_t length, struct edit_result *ret,
                          struct error *e);
        /* Removes what switched these tools off: EDIT_REMOVED, or EDIT_UNCHANGED if none of them was off. */
        int (*switch_on)(const struct client_switches *s, uint32_t which, const char *text, size_t length,
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
