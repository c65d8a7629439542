/* A path as a person wrote it to the absolute path it means: ~, variables, relative paths, one spelling. */
#ifndef RINGWALL_POLICY_EXPAND_H
#define RINGWALL_POLICY_EXPAND_H

#include <stdbool.h>

#include "base/memory.h"

struct expand_names {
        const char *workspace, *home, *user_data, *ad_hoc; /* NULL or empty: has no value here */
};

struct expanded {
        const char *path; /* NULL when `wrong` says why, or without memory */
        const char *wrong;
        const char *hint;
};

/*
 * `base` is where a relative path starts. A pattern keeps its escapes and the values that go into it are escaped; a
 * literal path comes out unescaped. With `literal`, the text is a path as the system spells it and only a leading ~/
 * is special.
 */
struct expanded expand_path(struct arena *a, const struct expand_names *names, const char *base, const char *text,
                            bool pattern, bool literal);

#endif
