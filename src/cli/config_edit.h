/*
 * One entry of a client's configuration, put into the text of its file. Both formats are edited as text: what is not
 * the entry stays as it is, byte by byte, with its order, its indentation and its comments.
 *
 * The text is whatever lies in a person's home or project. It is never guessed at: what is not well-formed, or holds
 * the entry in a form that cannot be replaced, is refused with its place.
 */
#ifndef RINGWALL_CLI_CONFIG_EDIT_H
#define RINGWALL_CLI_CONFIG_EDIT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

enum { CONFIG_BYTES_MAX = 32 << 20 }; /* of a file; some clients keep their history in it */

struct config_entry {
        const char *section; /* "mcpServers" */
        const char *name;    /* letters, digits, - and _ */
        json_t *value;       /* an object of strings and arrays of strings */
};

/* What a change came to. */
enum config_outcome {
        CONFIG_ADDED,
        CONFIG_REPLACED,
        CONFIG_SAME,  /* it is there already, with the same meaning */
        CONFIG_OTHER, /* another one of that name is there, and was not to be replaced */
};

struct config_change {
        struct text text;      /* the whole new file, or with CONFIG_OTHER the entry that is there */
        unsigned line, column; /* after a failure: where, from 1; 0 when it is about no place */
};
void config_change_done(struct config_change *c);
#define CLEANUP_CONFIG_CHANGE CLEANUP(config_change_done)

/* A way to write configurations. */
struct config_format {
        const char *name; /* what a file must be: "JSON" */
        /* The entry by itself, as a file that has nothing else. */
        void (*print)(const struct config_entry *entry, struct text *out);
        /*
         * Puts the entry into a text that ends in a NUL behind its length. Replaces another of its name only with
         * `force`. Returns an enum config_outcome, or -errno with an error and a place.
         */
        int (*set)(const struct config_entry *entry, const char *text, size_t length, bool force,
                   struct config_change *ret, struct error *e);
};

extern const struct config_format config_json, config_toml;

/* For the formats: how the text ends its lines. */
const char *config_newline(const char *text);

/* For the formats: fails when it is not UTF-8, or has a NUL. */
int config_check_text(struct config_change *c, const char *text, size_t length, struct error *e);

/* For the formats: keeps the place of an offset, and returns the failure. */
int config_fail_at(struct config_change *c, const char *text, size_t offset, struct error *e, const char *message);

#endif
