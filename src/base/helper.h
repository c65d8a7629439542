/* Helper programs: what needs a heavy library lives in programs of its own, found as git finds its own. */
#ifndef RINGWALL_BASE_HELPER_H
#define RINGWALL_BASE_HELPER_H

#include <stddef.h>

#include "base/error.h"

/*
 * Replaces this process by the helper, with these arguments behind its name. Returns only when that failed: -ENOENT
 * when there is no such helper, -errno otherwise.
 */
int helper_exec(const char *name, char *const *arguments, struct error *e);

/*
 * Runs the helper in a child and waits for it. What it wrote to its standard output, as far as it fits, is in `ret`.
 * Returns its exit status, or -errno with an error. The caller has one thread.
 */
int helper_run(const char *name, char *const *arguments, char *ret, size_t size, struct error *e);

/*
 * Starts the helper in a child that ends with this process. fds[i] becomes its descriptor i; it gets no others, and no
 * environment. Returns its process id, or -errno with an error. The caller has one thread. A helper that is not there exits with
 * 125, and says so on its standard error.
 */
int helper_start(const char *name, const int *fds, size_t count, struct error *e);

#endif
