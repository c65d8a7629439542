/* Resolves the symbolic links of a path, also if the file that it names does not exist yet. */
#ifndef RINGWALL_PATH_REAL_PATH_H
#define RINGWALL_PATH_REAL_PATH_H

#include <stddef.h>

#include "base/memory.h"

enum { REAL_PATH_LINKS_MAX = 40 }; /* in one path; the kernel's own limit */

/* The links that were followed, each by its own real path. */
struct followed_links {
        const char *paths[REAL_PATH_LINKS_MAX];
        size_t count;
};

/*
 * Resolves the absolute `path` and appends `rest`. Dangling links are followed too, so that *ret is where a file would
 * be created. Returns 0, or -ELOOP beyond REAL_PATH_LINKS_MAX, -ENAMETOOLONG or -ENOMEM, and then *ret is NULL.
 * ret_links gets the links that were followed, also after -ELOOP.
 */
int real_path(struct arena *a, const char *path, const char *rest, const char **ret, struct followed_links *ret_links);

#endif
