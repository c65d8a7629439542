/* Expands a path as written in a policy to a normalised absolute path: ~, variables, relative paths. */
#ifndef RINGWALL_POLICY_EXPAND_PATH_H
#define RINGWALL_POLICY_EXPAND_PATH_H

#include <stdbool.h>

#include "base/memory.h"

struct path_variables {
        const char *workspace, *home, *user_data, *user_state, *ad_hoc; /* NULL or empty: has no value */
};

struct expanded_path {
        const char *path;  /* NULL on failure */
        const char *wrong; /* why it failed; NULL with a NULL path: out of memory */
        const char *hint;  /* may be NULL */
};

/*
 * A relative path starts from `base`. With `pattern` the result is a pattern: it keeps its escapes, and the values of
 * variables are escaped; otherwise the result is an unescaped path. With `literal` the text has no variables and no
 * escapes; only ~ alone and a leading ~/ are special.
 */
struct expanded_path expand_path(struct arena *a, const struct path_variables *names, const char *base,
                                 const char *text, bool pattern, bool literal);

#endif
