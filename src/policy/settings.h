/*
 * All values from policy files and flags, as one flat list in order of precedence: files first, flags last. Of a scalar
 * the last setting counts, of a list all of them.
 */
#ifndef RINGWALL_POLICY_SETTINGS_H
#define RINGWALL_POLICY_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "policy/host_pattern.h"
#include "policy/keys.h"
#include "policy/diagnostics.h"

enum sign { SIGN_NONE, SIGN_PLUS, SIGN_MINUS };

struct setting {
        enum key_id key;
        enum sign sign;
        bool empty;         /* an empty list was given */
        bool literal;       /* taken as it is: a path without variables or escapes, an argument that is not split */
        bool optional;      /* a path that was written with ?, or that srt ignores when it is missing */
        const char *text;   /* as written, without the sign, :ro, :rw and ? */
        uint64_t number;
        struct host_pattern domain; /* hosts only */
        const char *server; /* of keys below an MCP server: its name */
        const char *member; /* of other keys with a star: the chosen name */
        const char *base;   /* the directory where a relative path starts; NULL: the workspace */
        unsigned layer;     /* the number of the file or set of flags */
        struct source from;
};

struct settings {
        struct arena *arena;
        struct setting *list;
        size_t count;
        unsigned layer;
        to_ascii_function *to_ascii;
        struct diagnostics *messages;
};

/* The arena and the messages must outlive the settings. */
void settings_init(struct settings *s, struct arena *a, struct diagnostics *m, to_ascii_function *to_ascii);

/* Reads one file. A relative workdir in it starts at `base`. Returns 0, 1 after error messages, or -ENOMEM. */
int settings_parse_policy(struct settings *s, const char *name, const char *text, size_t length, const char *base);

/* The same for srt's JSON settings; all relative paths start at `base`. */
int settings_parse_srt(struct settings *s, const char *name, const char *text, size_t length, const char *base);

/* Is this a JSON object with keys of srt's settings? */
bool settings_is_srt(const char *text, size_t length);

/* Adds one value from a flag: `from` is the flag's name, `base` the current directory. */
int settings_add_flag(struct settings *s, enum key_id key, const char *text, const char *from, const char *base);
/* The same for --ro and --rw, whose path has no suffix but ?. */
int settings_add_grant(struct settings *s, enum access access, const char *path, const char *from, const char *base);

/*
 * Parses the text and appends the value. `in` has everything that does not come from the text, which must outlive the
 * settings. Returns 0, 1 after an error message, or -ENOMEM.
 */
int settings_add(struct settings *s, struct setting in, const char *text);

/* Appends a setting without checking its value. Returns the same. */
int settings_append(struct settings *s, const struct setting *in);

#endif
