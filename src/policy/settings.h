/*
 * What a person wrote, from all places, as one flat list in order of precedence: files first, flags last. Composition
 * is concatenation: of a scalar the last setting counts, of a list all of them.
 */
#ifndef RINGWALL_POLICY_SETTINGS_H
#define RINGWALL_POLICY_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "policy/domain.h"
#include "policy/keys.h"
#include "policy/messages.h"

enum sign { SIGN_NONE, SIGN_PLUS, SIGN_MINUS };

struct setting {
        enum key_id key;
        enum sign sign;
        bool empty;         /* the list was given and has no entry */
        bool literal;       /* taken as it is: a path without variables or escapes, a word that is not split */
        const char *text;   /* as written, without sign and :ro */
        uint64_t number;
        struct domain domain; /* hosts only */
        const char *server; /* keys below an MCP server: its name */
        const char *member; /* keys of a map whose names are free: the name */
        const char *base;   /* where a relative path starts; NULL: the workspace */
        unsigned layer;     /* which file or set of flags */
        struct source from;
};

struct settings {
        struct arena *arena;
        struct setting *list;
        size_t count;
        unsigned layer;
        domain_to_ascii *to_ascii;
        struct messages *messages;
};

/* Both arena and messages must outlive the settings. */
void settings_init(struct settings *s, struct arena *a, struct messages *m, domain_to_ascii *to_ascii);

/* One file. `base` is the directory that its workdir starts from. 0, 1 when messages say why not, or -ENOMEM. */
int settings_read_native(struct settings *s, const char *name, const char *text, size_t length, const char *base);

/* The same for srt's JSON settings; relative paths start from `base`. */
int settings_read_srt(struct settings *s, const char *name, const char *text, size_t length, const char *base);

/* Is this JSON with keys that only srt's settings have? */
bool settings_is_srt(const char *text, size_t length);

/* One value from a flag: `from` is the flag's name, `base` the current directory. */
int settings_add_flag(struct settings *s, enum key_id key, const char *text, const char *from, const char *base);
/* The same for --ro and --rw, whose path has no suffix. */
int settings_add_grant(struct settings *s, enum access access, const char *path, const char *from, const char *base);

/*
 * Checks and appends one value; `in` brings everything but what the text says, and the text lives as long as the
 * settings. 0, 1 or -ENOMEM.
 */
int settings_add(struct settings *s, struct setting in, const char *text);

/* Appends as it is. */
int settings_append(struct settings *s, const struct setting *in);

#endif
