/*
 * A Landlock ruleset that is being put together: all rights that this kernel knows are handled, so that nothing is
 * allowed because it was forgotten. Who grants what: confine.c (under mounts), carve.c (Landlock alone).
 */
#ifndef RINGWALL_LINUX_RULESET_H
#define RINGWALL_LINUX_RULESET_H

#include <stdbool.h>

#include "base/error.h"
#include "linux/kernel_abi.h"

struct ruleset {
        int fd;
        int abi;
        struct landlock_attr attr;
        struct error *error; /* of who puts it together */
};

enum ruleset_access {
        RULESET_READ,
        RULESET_WRITE, /* reading too, and everything that changing files in a directory takes */
};

/* The ABI of this kernel, or -errno where there is no Landlock. */
int ruleset_abi(void);

/* Without `network` ports are handled too, and none is granted. Ends with ruleset_enforce(), or by closing fd. */
int ruleset_begin(struct ruleset *ret, bool network, struct error *e);

/* By an O_PATH descriptor; `path` is for the error. */
int ruleset_allow(struct ruleset *r, int fd, const char *path, enum ruleset_access access);

/* Connecting to this TCP port, of whichever address. Needs ABI 4. */
int ruleset_allow_port(struct ruleset *r, uint16_t port);

/* The calling thread, and all that it starts, for good. Needs no_new_privs. Closes the ruleset. */
int ruleset_enforce(struct ruleset *r, struct error *e);

/*
 * Signals of the calling process, and of all that it starts, reach only itself and what it starts. Returns 0, or -errno:
 * before ABI 6 the kernel cannot do it.
 */
int ruleset_scope_signals(void);

#endif
