/*
 * Checks an index of git that a box wrote: would git outside the box, using this index, write only into the work tree?
 *
 * git checks the paths of a commit when it reads them into the index, and trusts the index afterwards: `git checkout --
 * .` writes `.git/hooks/post-checkout` or `../.bashrc` if the index has such an entry. So every path must be one that
 * git itself would have accepted: relative, and without the components "..", ".", ".git" and empty ones.
 */
#ifndef RINGWALL_POLICY_GIT_INDEX_H
#define RINGWALL_POLICY_GIT_INDEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/* Bytes of an object id. The repository's configuration says which; the index does not. */
enum { GIT_ID_SHA1 = 20, GIT_ID_SHA256 = 32 };

/*
 * `repository` is the path of the repository, which no path may lead into; or NULL. False also if the data is not an
 * index of version 2, 3 or 4. Then appends the reason to `why`, which may be NULL.
 */
bool git_index_is_harmless(const char *data, size_t length, size_t id_size, const char *repository, struct text *why);

#endif
