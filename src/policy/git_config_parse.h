/* Parses a git configuration as git does. */
#ifndef RINGWALL_POLICY_GIT_CONFIG_PARSE_H
#define RINGWALL_POLICY_GIT_CONFIG_PARSE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"
#include "base/text.h"

enum {
        GIT_CONFIG_BYTES_MAX = 1 << 20,
        GIT_CONFIG_ENTRIES_MAX = 10000,
        GIT_CONFIG_ARENA_BYTES = 16 << 20, /* enough for two files of these sizes */
};

struct git_config_entry {
        const char *base;  /* "core", "remote.origin": the section in lower case, the subsection as git keeps it */
        const char *key;   /* in lower case; the full name is BASE.KEY */
        const char *value; /* NULL: there was no "=" */
        const char *raw;   /* the value as written; points into the parsed text */
        size_t raw_length;
        bool ambiguous;    /* has an unquoted tab or CR inside, which git before 2.45 turns into a space */
        unsigned line;
};

struct git_config {
        struct git_config_entry *entries; /* in the order of the file, in the arena */
        size_t count;
};

/*
 * For what a box wrote: refuses text that git refuses or that versions of git parse differently. On failure appends a
 * reason such as "line 7 cannot be parsed" to `why` (or NULL). `text` must outlive the result.
 */
bool git_config_parse(struct arena *a, const char *text, size_t length, struct git_config *ret, struct text *why);

/*
 * For what the person wrote: accepts whatever git accepts. Returns 0, -EINVAL (git cannot parse it either) or -ENOMEM.
 * `text` must outlive the result.
 */
int git_config_parse_as_git(struct arena *a, const char *text, size_t length, struct git_config *ret);

/* The last value of the key, which is the one that git uses. NULL: the key is not set, or has no "=". */
const char *git_config_last(const struct git_config *config, const char *base, const char *key);

#endif
