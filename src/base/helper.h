/* Helper programs: code that needs a heavy library is in programs of its own, so that ringwall does not load it. */
#ifndef RINGWALL_BASE_HELPER_H
#define RINGWALL_BASE_HELPER_H

#include <stddef.h>

#include "base/error.h"

/*
 * Executes the helper in this process, with these arguments after its name. Returns only on failure: -ENOENT when the
 * helper is not installed, -errno otherwise.
 */
int helper_exec(const char *name, char *const *arguments, struct error *e);

/*
 * Runs the helper in a child and waits for it. `ret` gets its standard output, as far as it fits. Returns the helper's
 * exit status, or -errno with an error: also when the helper exits with 125, and then its output is the error. The
 * caller must be single-threaded.
 */
int helper_run(const char *name, char *const *arguments, char *ret, size_t size, struct error *e);

/*
 * Starts the helper in a child that is killed when this process exits. fds[i] becomes the child's descriptor i; it gets
 * no others, and no environment. Returns the child's pid, or -errno with an error. The caller must be single-threaded.
 * If the helper cannot be executed, the child prints the reason to its descriptor 2 and exits with 125.
 */
int helper_spawn(const char *name, const int *fds, size_t count, struct error *e);

#endif
