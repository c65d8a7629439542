/* Shared by ceiling.c, ceiling_paths.c and ceiling_network.c. */
#ifndef RINGWALL_POLICY_CEILING_PARTS_H
#define RINGWALL_POLICY_CEILING_PARTS_H

#include "policy/compile.h"

/* Appends the entries of one list of a ceiling. A +name becomes the entries of the managed set that it names. */
void ceiling_collect_entries(struct compiler *c, const struct settings *ceiling, enum key_id key, struct entries *list);

/* The path rules of one ceiling. Built again for each use, because ceilings are small. */
struct ceiling_view {
        struct rules rules; /* grants and deny_read rules */
        bool limits_reads, limits_writes, limits_workspace;
        struct source reads_by, writes_by; /* the settings that limit reads and writes */
        struct source read_listed_by;      /* the setting `filesystem.read: listed`; name is NULL if there is none */
};
struct ceiling_view ceiling_view_new(struct compiler *c, const struct settings *ceiling);

/* The ceiling's deny_read rule that decides for this path, or NULL. A narrower grant of that ceiling overrides it. */
const struct rule *ceiling_view_denies(const struct ceiling_view *v, const char *path);

#endif
