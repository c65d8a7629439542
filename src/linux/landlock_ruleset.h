/*
 * A Landlock ruleset under construction. It handles all rights that this kernel knows, so that nothing is allowed
 * because it was forgotten. confine.c (under mounts) and landlock_only.c (Landlock alone) add the rules.
 */
#ifndef RINGWALL_LINUX_LANDLOCK_RULESET_H
#define RINGWALL_LINUX_LANDLOCK_RULESET_H

#include <stdbool.h>

#include "base/error.h"
#include "linux/kernel_abi.h"

struct ruleset {
        int fd;
        int abi;
        struct landlock_attr attr;
        struct error *error; /* where the functions below put their errors */
};

enum ruleset_access {
        RULESET_READ,
        RULESET_WRITE, /* reading too, and every right that changing files in a directory needs */
};

/* Without `network` the ruleset handles ports too, and grants none. Release it with ruleset_enforce(), or close fd. */
int ruleset_new(struct ruleset *ret, bool network, struct error *e);

/* Grants access by an O_PATH descriptor; `path` is for the error. */
int ruleset_allow_path(struct ruleset *r, int fd, const char *path, enum ruleset_access access);

/* Grants connecting to this TCP port of any address. Needs FEATURE_LANDLOCK_TCP. */
int ruleset_allow_connect(struct ruleset *r, uint16_t port);

/* A ruleset that only scopes signals and abstract unix sockets; fd is -1 without FEATURE_LANDLOCK_SCOPE. */
int ruleset_begin_scopes(struct ruleset *ret, struct error *e);

/* Restricts the calling thread, and all that it starts, permanently. Needs no_new_privs. Closes the ruleset. */
int ruleset_enforce(struct ruleset *r, struct error *e);

/*
 * From now on the calling process, and all that it starts, can signal only each other. Returns 0 or -errno; -ENOTSUP
 * without FEATURE_LANDLOCK_SCOPE.
 */
int ruleset_scope_signals(void);

#endif
