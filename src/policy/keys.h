/*
 * Every key of the policy file, in one table: its place, its type and bounds, its default, what it is for. The reader,
 * the JSON Schema, the manual page and the tests are all made from it.
 */
#ifndef RINGWALL_POLICY_KEYS_H
#define RINGWALL_POLICY_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "policy/domain.h"

enum key_id {
        KEY_MODE,
        KEY_BEST_EFFORT,
        KEY_WORKDIR,
        KEY_TIMEOUT,
        KEY_ENV,
        KEY_LEVEL,
        KEY_NAMESPACES,
        KEY_POOL_SIZE,
        KEY_POOL_MAX,
        KEY_SESSION_TIMEOUT,
        KEY_IDLE_TIMEOUT,
        KEY_SNAPSHOT,
        KEY_AUDIT,
        KEY_MDWE,
        KEY_ALLOW_PATHS,
        KEY_RESOURCES,
        KEY_MEMORY,
        KEY_CPU,
        KEY_PROCESSES,
        KEY_READ,
        KEY_WORKSPACE,
        KEY_ALLOW_WRITE,
        KEY_DENY_WRITE,
        KEY_DENY_READ,
        KEY_PROTECT,
        KEY_ALLOWED_DOMAINS,
        KEY_DENIED_DOMAINS,
        KEY_ALLOW_PRIVATE,
        KEY_ALLOW_LOCAL_PORTS,
        KEY_PUBLISH,
        KEY_PROXY_VARIABLES,
        KEY_LIVE,
        KEY_UNIX_SOCKETS,
        KEY_DENIED_COMMANDS,
        KEY_SECRET,
        KEY_MODULES,
        KEY_MODULE_FILESYSTEM,
        KEY_MODULE_FILESYSTEM_PATHS,
        KEY_MODULE_SHELL,
        KEY_MODULE_GIT,
        KEY_MODULE_WEB,
        KEY_MODULE_WEB_DOMAINS,
        KEY_MODULE_HTTP,
        KEY_MODULE_HTTP_DOMAINS,
        KEY_MODULE_DATABASE,
        KEY_MODULE_DATABASE_DOMAINS,
        KEY_MODULE_LLM,
        KEY_MODULE_LLM_DOMAINS,
        KEY_MODULE_MCP,
        KEY_SERVER,
        KEY_SERVER_TRANSPORT,
        KEY_SERVER_COMMAND,
        KEY_SERVER_ARGS,
        KEY_SERVER_ENV,
        KEY_SERVER_URL,
        KEY_SERVER_SANDBOX,
        KEY_SERVER_PERMISSIONS,
        KEY_SERVER_READ,
        KEY_SERVER_WRITE,
        KEY_SERVER_HOSTS,
        KEY_GRANT,
        KEY_DENY,
        KEY_COUNT
};

enum value_kind {
        VALUE_WORD,     /* one of key.words; its number is the index */
        VALUE_BOOL,     /* true or false */
        VALUE_NUMBER,   /* min … max */
        VALUE_SIZE,     /* bytes */
        VALUE_CPU,      /* thousandths of a core */
        VALUE_DURATION, /* seconds */
        VALUE_PATH,     /* a literal path */
        VALUE_GRANT,    /* a literal path, :ro or :rw behind it; its number is an enum access */
        VALUE_PATTERN,  /* a path pattern; + and - in front name entries of a managed set */
        VALUE_DOMAIN,   /* a host pattern; + and - likewise where the key is `managed` */
        VALUE_COMMAND,  /* a command's name or a pattern of such; + and - likewise */
        VALUE_ENV,      /* NAME or NAME=VALUE */
        VALUE_TEXT,     /* anything */
        VALUE_MAP,      /* a map whose presence means something; it may be empty */
};

enum access {
        ACCESS_READ,
        ACCESS_WRITE,
        ACCESS_READ_ONLY, /* said with :ro or --ro: inside a writable place it takes writing away */
};

struct key {
        const char *path; /* dotted; a star is a name that the person chose */
        enum value_kind kind;
        bool list;        /* a list of such values; files add up */
        bool replaces;    /* … but here the last file's list counts alone */
        bool one_or_list; /* a single value stands for a list of one */
        bool managed;     /* +name and -name edit a managed set */
        bool in_ceiling;  /* has a meaning in a ceiling */
        bool defaults_to_write; /* VALUE_GRANT without a suffix */
        const char *const *words;
        uint64_t min, max;
        const char *fallback; /* the default as it would be written, NULL where there is none */
        const char *help;
};

extern const struct key keys[KEY_COUNT];

/* Words whose order is their number; NULL ends each list. */
extern const char *const level_words[], *const namespace_words[], *const read_words[], *const live_words[], *const workspace_words[],
        *const mode_words[], *const transport_words[], *const permission_words[];

/* A parsed value. */
struct value {
        uint64_t number;  /* index, bool, quantity, enum access */
        const char *text; /* as given */
        size_t length;    /* of the part that counts: without :ro or :rw */
        struct domain domain;
};

/*
 * Checks one value as it was written. NULL and a value, or what is wrong with it. A leading + or - must be gone, and
 * paths are not resolved here. A host's name goes into the arena.
 */
const char *key_parse_value(struct arena *a, const struct key *key, const char *text, domain_to_ascii *to_ascii,
                            struct value *ret);

/* What is wrong with a secret of a policy's, or NULL. Whether the expression compiles is seen where it is used. */
const char *key_check_secret(const char *name, const char *expression);

/* "a whole number from 1 to 32", for messages. */
void key_describe_value(const struct key *key, struct text *out);

/* The index of a word in a NULL-terminated list, or -1. */
int key_word_index(const char *const *words, const char *word);

/*
 * Walks one level of the table: the next distinct name below `prefix` (a dotted path with stars, "" at the top),
 * starting at *position, which the caller sets to 0 first. The name is not terminated. False at the end.
 */
bool key_next_child(const char *prefix, size_t *position, const char **ret_name, size_t *ret_length);

/* The row at this dotted path, or NULL. */
const struct key *key_find(const char *path);

#endif
