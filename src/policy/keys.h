/*
 * Every key of the policy file, in one table (keys.inc): its path, type, bounds, default, flag and help. The reader,
 * the plan, the ceilings, the JSON Schema, the command line and the manual pages are all made from it.
 */
#ifndef RINGWALL_POLICY_KEYS_H
#define RINGWALL_POLICY_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/options.h"
#include "base/text.h"
#include "policy/host_pattern.h"
#include "policy/plan.h"

/* KEY_LEVEL and the like: one for each row of keys.inc. */
enum key_id {
#define KEY(id, ...) KEY_##id,
#define SCALAR_KEY(id, ...) KEY_##id,
#include "policy/keys.inc"
        KEY_COUNT
};

enum value_kind {
        VALUE_WORD,     /* one of key.words; its number is the index */
        VALUE_BOOL,     /* true or false */
        VALUE_NUMBER,   /* a whole number, min … max */
        VALUE_SIZE,     /* bytes */
        VALUE_CPU,      /* thousandths of a core */
        VALUE_DURATION, /* seconds */
        VALUE_PATH,     /* a literal path */
        VALUE_GRANT,    /* a literal path, with or without :ro or :rw; its number is an enum access */
        VALUE_PATTERN,  /* a path pattern; after + or - a name in a managed set */
        VALUE_DOMAIN,   /* a host pattern; + and - likewise if the key is `managed` */
        VALUE_COMMAND,  /* a command's name or a pattern; + and - likewise */
        VALUE_ENV,      /* NAME, NAME=VALUE, or a pattern of names with * */
        VALUE_TEXT,     /* anything */
        VALUE_MAP,      /* a map whose presence means something; it may be empty */
};

enum access {
        ACCESS_READ,
        ACCESS_WRITE,
        ACCESS_READ_ONLY, /* written with :ro or --ro: read-only, even inside a writable directory */
};

/* How a ceiling's number bounds the plan's. */
enum ceiling_rule {
        CEILING_NOT_ALLOWED, /* not allowed in a ceiling */
        CEILING_AT_MOST,     /* the plan's must not be higher */
        CEILING_AT_LEAST,    /* must not be lower */
        CEILING_LIMIT,       /* must not be higher; 0 means no limit, which is higher than any number */
        CEILING_ADDS,        /* its bits are added to the plan's */
};

struct key {
        const char *path; /* dotted; a star is a name that the policy's author chooses */
        enum value_kind kind;
        bool list;        /* a list of such values; the lists of all files are concatenated */
        bool one_or_list; /* a single value is accepted as a list of one */
        bool managed;     /* +name and -name edit a managed set */
        bool in_ceiling;  /* allowed in a ceiling; for a scalar of the plan see `ceiling` instead */
        const char *name; /* of the scalar of the plan that the key sets; NULL if it sets none */
        enum plan_scalar scalar;
        enum ceiling_rule ceiling;
        bool defaults_to_write; /* VALUE_GRANT without a suffix */
        bool may_be_optional;   /* a ? at the end says that the path may be missing */
        const char *const *words;
        uint64_t min, max;
        const char *fallback; /* the default as it would be written, or a description of it; NULL if there is none */
        const char *help;
        struct option_row flag; /* the option that sets the key; it has no name if there is none */
};

/* The id of a key's option is KEY_FLAG_ID plus the key's id. */
enum { KEY_FLAG_ID = 1000 };

/* The headings of options in --help. */
#define FLAG_POLICY "Policy"
#define FLAG_FILES "Files"
#define FLAG_NETWORK "Network"
#define FLAG_RESOURCES "Resources"
#define FLAG_ENVIRONMENT "Environment"
#define FLAG_TOOLS "Tools"

extern const struct key keys[KEY_COUNT];

/* Words of VALUE_WORD, each list ended by NULL; a word's index is its number. */
extern const char *const level_words[];
extern const char *const namespace_words[];
extern const char *const read_words[];
extern const char *const live_words[];
extern const char *const workspace_words[];
extern const char *const mode_words[];
extern const char *const transport_words[];
extern const char *const permission_words[];

/* A parsed value. */
struct value {
        uint64_t number;  /* index, bool, quantity, enum access */
        const char *text; /* as given */
        size_t length;    /* of text, without :ro, :rw or ? */
        bool optional;    /* the text ended with ? */
        struct host_pattern domain;
};

/*
 * Parses one value as it was written. Returns NULL and sets *ret, or returns what is wrong. The caller has removed a
 * leading + or -. Paths are not resolved here. The name of a host is allocated in the arena.
 */
const char *key_parse_value(struct arena *a, const struct key *key, const char *text, to_ascii_function *to_ascii,
                            struct value *ret);

/* What is wrong with a secret that a policy adds, or NULL. Does not check that the expression compiles. */
const char *key_check_secret(const char *name, const char *expression);

/* Adds what the key takes, for messages: "a whole number from 1 to 32". */
void key_expected_text(const struct key *key, struct text *out);

/* The index of a word in a NULL-terminated list, or -1. */
int key_word_index(const char *const *words, const char *word);

/*
 * Iterates over one level of the table: finds the next distinct name below `prefix` (a dotted path with stars, "" at
 * the top). The caller sets *position to 0 first. The name is not terminated. False at the end.
 */
bool key_iterate_children(const char *prefix, size_t *position, const char **ret_name, size_t *ret_length);

/* May a ceiling have this key? */
bool key_is_for_ceilings(const struct key *key);

/* Does the key set a scalar of the plan by a single value, not by a list? */
bool key_has_single_value(const struct key *key);

/* The scalar of the plan when no policy sets the key: `fallback`, or 0 if that is not a value. */
uint64_t key_default_scalar(const struct key *key);

/* The row at this dotted path, or NULL. */
const struct key *key_find(const char *path);

#endif
